//! The response body that yields a script's writes at their due times.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body, Frame};
use measure::script::{Player, Script};
use measure::{RunId, Stamp};

use crate::follow::{Progress, SharedLedger, with};
use crate::now;
use crate::pacer::Pacer;

/// Where what leaves is entered.
pub struct Entered {
    /// The lines.
    pub ledger: SharedLedger,
    /// How much of the body has left.
    pub progress: Arc<Progress>,
    /// Whether something stands between this body and the socket, so that handing over and
    /// leaving are two times.
    pub layered: bool,
}

/// A script being played.
pub struct Play {
    script: Arc<Script>,
    run: RunId,
    started: Stamp,
    position: (usize, u32),
    pacer: Pacer,
    /// The write that the pacer will wake us for, and whom it will wake.
    alarm: Option<(usize, Waker)>,
    /// Body bytes yielded so far.
    yielded: u64,
    entered: Option<Entered>,
    stopping: Arc<AtomicBool>,
    finished: bool,
}

impl Play {
    /// Plays a script from `started` on; due times are counted from there and never shifted.
    pub fn new(
        script: Arc<Script>,
        run: RunId,
        started: Stamp,
        pacer: Pacer,
        entered: Option<Entered>,
        stopping: Arc<AtomicBool>,
    ) -> Play {
        Play {
            script,
            run,
            started,
            position: (0, 0),
            pacer,
            alarm: None,
            yielded: 0,
            entered,
            stopping,
            finished: false,
        }
    }

    fn broke(&mut self, why: &str) {
        self.finished = true;
        if let Some(entered) = &self.entered {
            with(&entered.ledger, |ledger| {
                ledger.broken.get_or_insert_with(|| why.to_string());
            });
        }
    }
}

impl Body for Play {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if this.finished {
            return Poll::Ready(None);
        }
        if this.stopping.load(Ordering::Relaxed) {
            this.broke("the emitter was stopped");
            return Poll::Ready(None);
        }
        let Some(due) = this.script.due(this.position.0) else {
            this.finished = true;
            return Poll::Ready(None);
        };
        let at = this.started + due;
        if now() < at {
            let index = this.position.0;
            let set = this
                .alarm
                .as_ref()
                .is_some_and(|(armed, waker)| *armed == index && waker.will_wake(context.waker()));
            if !set {
                this.alarm = Some((index, context.waker().clone()));
                this.pacer.wake_at(at, context.waker().clone());
            }
            return Poll::Pending;
        }
        // A server that asks for more before it has flushed, or whose client does not read, would
        // put two due writes into one: a catch-up burst that the script did not ask for.
        let flushed = |entered: &Entered| entered.progress.has_left(this.yielded, context);
        if !this.entered.as_ref().is_none_or(flushed) {
            return Poll::Pending;
        }
        let mut player = Player::resume(&this.script, this.run, this.position);
        let Some((_, bytes)) = player.next() else {
            this.finished = true;
            return Poll::Ready(None);
        };
        this.position = player.position();
        this.yielded += bytes.len() as u64;
        if let Some(entered) = this.entered.as_ref().filter(|entered| entered.layered) {
            entered.progress.handed(now());
        }
        Poll::Ready(Some(Ok(Frame::data(Bytes::from(bytes)))))
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        // A body that the server lets go before its end has lost its client.
        if self.script.due(self.position.0).is_some() {
            self.broke("the client left before the stream's end");
        }
    }
}
