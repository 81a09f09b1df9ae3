//! Turns a connection's stamped writes into ledger lines.
//!
//! The bytes that leave are followed through the response's own framing, so a frame's line is
//! written at the write that really carried its last body byte, whether the kernel took a part
//! of what it was given or a server library put several frames into one write.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

use measure::ledger::{Entry, Refusal, Wait};
use measure::script::{Body, Script};
use measure::{Ledger, Span, Stamp};
use wire::http1::ResponseFramer;

/// Most waits that a ledger keeps, 6 KB of them: beside the lines, whose number is known, they come
/// unasked. A frame whose wait is not kept is late, and its run is not judged.
const MOST_WAITS: usize = 128;
/// What is shorter is no wait: a quarter of the least tolerance of lateness, and what a runtime that
/// has not yet asked a new socket for its state takes to ask.
const BRIEF: Span = Span::micros(500);

/// A ledger that is being filled.
pub type SharedLedger = Arc<Mutex<Ledger>>;

/// Changes a ledger.
pub fn with<T>(ledger: &SharedLedger, change: impl FnOnce(&mut Ledger) -> T) -> T {
    // Nothing panics while it holds the lock; were it so, the lines written so far are true.
    change(&mut ledger.lock().unwrap_or_else(PoisonError::into_inner))
}

/// How much of a response's body has left, for whom it concerns that nothing of it waits.
#[derive(Debug, Default)]
pub struct Progress(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    left: u64,
    waiting: Option<Waker>,
    handed: Option<Stamp>,
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether so many bytes of the body have left; if not, the task is woken when more have.
    pub fn has_left(&self, bytes: u64, context: &Context<'_>) -> bool {
        let state = &mut *self.lock();
        if state.left < bytes {
            state.waiting = Some(context.waker().clone());
        }
        state.left >= bytes
    }

    /// Notes that the next bytes were handed over to what stands between them and the socket.
    /// Nothing else waits there meanwhile, so they are the next that leave.
    pub fn handed(&self, at: Stamp) {
        self.lock().handed = Some(at);
    }

    /// Returns when the bytes that left were handed over, if that was noted.
    fn set(&self, bytes: u64) -> Option<Stamp> {
        let state = &mut *self.lock();
        state.left = bytes;
        if let Some(waker) = state.waiting.take() {
            waker.wake();
        }
        state.handed
    }
}

/// Follows the writes of one response.
#[derive(Debug)]
pub struct Follow {
    ledger: SharedLedger,
    progress: Arc<Progress>,
    framer: ResponseFramer,
    frames: Frames,
    started: Stamp,
    next: usize,
    body: u64,
    write: u32,
    /// Whether the path has refused what is to leave next.
    refused: bool,
}

impl Follow {
    /// Follows the response to the run of this ledger.
    pub fn new(ledger: SharedLedger) -> Follow {
        let (frames, started) = with(&ledger, |ledger| {
            let frames = Frames::of(&ledger.script);
            ledger.entries.reserve_exact(frames.count());
            (frames, ledger.started)
        });
        Follow {
            ledger,
            progress: Arc::default(),
            framer: ResponseFramer::new(),
            frames,
            started,
            next: 0,
            body: 0,
            write: 0,
            refused: false,
        }
    }

    /// How far it has come.
    pub fn progress(&self) -> Arc<Progress> {
        Arc::clone(&self.progress)
    }

    /// Notes one write: the bytes it took, in order. Returns whether the response is whole.
    pub fn wrote<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a [u8]>,
        before: Stamp,
        after: Stamp,
    ) -> bool {
        let (body, mut understood) = (&mut self.body, true);
        for part in parts {
            // These are our own server's bytes; bytes that are no response cannot be followed,
            // and the ledger then simply has no lines: the run fails, it is not misjudged.
            if self.framer.feed(part, |bytes| *body += bytes.len() as u64).is_err() {
                understood = false;
                break;
            }
        }
        // Nobody should wait for bytes that cannot be counted.
        let handed = self.progress.set(if understood { self.body } else { u64::MAX });
        let total = self.frames.count().checked_sub(1).and_then(|last| self.frames.get(last));
        let total = total.map_or(0, |(end, _)| end);
        let whole = self.framer.is_done() || self.framer.close_is_the_end() && self.body >= total;
        self.enter(whole, handed, before, after);
        whole
    }

    /// Notes one write that carried so many bytes of the body, or of its head none, where the
    /// framing is known without the response's bytes. Returns whether the response is whole.
    pub fn left(&mut self, bytes: u64, whole: bool, before: Stamp, after: Stamp) -> bool {
        self.body += bytes;
        let handed = self.progress.set(self.body);
        self.enter(whole, handed, before, after);
        whole
    }

    /// Notes that the path does not take what is to leave; `connection` is what all streams of the
    /// connection have sent, where there are several.
    pub fn refused(&mut self, by: Refusal, at: Stamp, connection: Option<u64>) {
        if std::mem::replace(&mut self.refused, true) {
            return;
        }
        let seq = self.next as u32;
        let new = Wait {
            seq,
            by,
            since: at,
            until: None,
            bytes: self.body,
            connection_bytes: connection,
        };
        with(&self.ledger, |Ledger { waits, .. }| {
            let room = waits.len() < MOST_WAITS;
            match waits.last_mut() {
                // A large frame leaves in parts: it is one wait to its end.
                Some(wait) if wait.seq == seq => wait.until = None,
                _ if room => waits.push(new),
                _ => {}
            }
        });
    }

    /// Notes that the path takes bytes again.
    pub fn taken(&mut self, at: Stamp) {
        if !std::mem::take(&mut self.refused) {
            return;
        }
        with(&self.ledger, |ledger| match ledger.waits.last_mut() {
            Some(wait) if wait.until.is_none() && at - wait.since < BRIEF => {
                ledger.waits.pop();
            }
            Some(wait) if wait.until.is_none() => wait.until = Some(at),
            _ => {}
        });
    }

    /// What leaves cannot be told any more: there are no further lines, and the ledger says why.
    pub fn lose(self, why: &str) {
        with(&self.ledger, |ledger| {
            ledger.broken.get_or_insert_with(|| why.to_string());
        });
        self.progress.set(u64::MAX);
    }

    fn enter(&mut self, whole: bool, handed: Option<Stamp>, before: Stamp, after: Stamp) {
        self.taken(before);
        with(&self.ledger, |ledger| {
            while let Some((_, due)) =
                self.frames.get(self.next).filter(|(end, _)| *end <= self.body)
            {
                ledger.entries.push(Entry {
                    seq: self.next as u32,
                    due: self.started + due,
                    before,
                    after,
                    write: self.write,
                });
                ledger.handed.extend(handed);
                self.next += 1;
            }
            self.write += 1;
            ledger.writes = self.write;
            ledger.body_bytes = self.body;
            if whole {
                ledger.done = Some(after);
            }
        });
    }
}

/// For each frame: the body offset at which it is complete, and its due time.
#[derive(Debug)]
enum Frames {
    /// Frames of one size at one pace need no table, and most streams are such.
    Paced {
        count: usize,
        bytes: u64,
        interval: Span,
    },
    Table(Box<[(u64, Span)]>),
}

impl Frames {
    fn of(script: &Script) -> Frames {
        match &script.body {
            Body::Paced { frames, interval_us, frame_bytes } => Frames::Paced {
                count: *frames as usize,
                bytes: u64::from(*frame_bytes),
                interval: *interval_us,
            },
            Body::Writes { .. } => {
                let due = |write: usize| script.due(write).unwrap_or_default();
                let ends = script.frame_ends().into_iter();
                let writes = script.write_of_frames();
                Frames::Table(ends.zip(writes).map(|(end, write)| (end, due(write))).collect())
            }
        }
    }

    fn count(&self) -> usize {
        match self {
            Frames::Paced { count, .. } => *count,
            Frames::Table(table) => table.len(),
        }
    }

    fn get(&self, seq: usize) -> Option<(u64, Span)> {
        match self {
            Frames::Paced { count, bytes, interval } => (seq < *count).then(|| {
                let due = Span(interval.as_micros() * seq as i64);
                ((seq as u64 + 1) * bytes, due)
            }),
            Frames::Table(table) => table.get(seq).copied(),
        }
    }
}

/// Bytes of memory that following a script's stream takes beside its ledger's lines.
pub fn table_bytes(script: &Script) -> usize {
    match &script.body {
        Body::Paced { .. } => 0,
        Body::Writes { .. } => script.frame_count() as usize * size_of::<(u64, Span)>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::RunId;

    fn ledger(script: Script) -> SharedLedger {
        Arc::new(Mutex::new(Ledger {
            run: RunId(1),
            instance: String::new(),
            attempts: 1,
            script,
            upstream_protocol: "HTTP/1.1".into(),
            segment_bytes: None,
            started: Stamp(0),
            entries: Vec::new(),
            handed: Vec::new(),
            waits: Vec::new(),
            writes: 0,
            body_bytes: 0,
            done: None,
            broken: None,
        }))
    }

    fn response(script: &Script) -> Vec<u8> {
        let mut bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for (_, frame) in script.player(RunId(1)) {
            bytes.extend_from_slice(format!("{:X}\r\n", frame.len()).as_bytes());
            bytes.extend_from_slice(&frame);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        bytes
    }

    #[test]
    fn a_frame_is_entered_at_the_write_that_carried_its_last_byte() {
        let script = Script::paced(4, Span::millis(10), 60).unwrap();
        let bytes = response(&script);
        for step in [1, 13, 66, 70, 150, bytes.len()] {
            let shared = ledger(script.clone());
            let mut follow = Follow::new(Arc::clone(&shared));
            // Offsets in the response at which each frame's last byte has left.
            let head = 47;
            let ends: Vec<usize> = (0..4).map(|seq| head + seq * 66 + 64).collect();
            let mut at = 0;
            let mut whole = false;
            for (index, part) in bytes.chunks(step).enumerate() {
                let stamp = Stamp(index as i64 * 100);
                whole = follow.wrote([part].into_iter(), stamp, stamp + Span(7));
                at += part.len();
                let entries = with(&shared, |ledger| ledger.entries.clone());
                assert_eq!(entries.len(), ends.iter().filter(|end| **end <= at).count());
                for entry in entries.iter().filter(|entry| entry.write == index as u32) {
                    assert_eq!((entry.before, entry.after), (stamp, stamp + Span(7)));
                    assert_eq!(entry.due, Stamp(10_000 * i64::from(entry.seq)));
                }
            }
            assert!(whole);
            let ledger = with(&shared, |ledger| ledger.clone());
            assert_eq!(ledger.body_bytes, 240);
            assert!(ledger.done.is_some());
            let merged = ledger.merged_writes();
            assert_eq!(merged > 0, step >= 150, "writes of {step} bytes merged {merged}");
        }
    }

    #[test]
    fn a_close_delimited_response_is_whole_with_its_last_body_byte() {
        let script = Script::paced(2, Span::ZERO, 60).unwrap();
        let shared = ledger(script.clone());
        let mut follow = Follow::new(Arc::clone(&shared));
        let body: Vec<u8> = script.player(RunId(1)).flat_map(|(_, bytes)| bytes).collect();
        let head = b"HTTP/1.0 200 OK\r\n\r\n".as_slice();
        assert!(!follow.wrote([head, &body[..119]].into_iter(), Stamp(0), Stamp(1)));
        assert!(follow.wrote([&body[119..]].into_iter(), Stamp(2), Stamp(3)));
        assert_eq!(with(&shared, |ledger| ledger.done), Some(Stamp(3)));
    }
}
