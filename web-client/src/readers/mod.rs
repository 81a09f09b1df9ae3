//! The two readers of this page behind one face: `EventSource` and `fetch`.
//!
//! A reader takes the time first, in its callback, then writes into a plain [`Log`]; nothing
//! reactive is touched there. Dropping a [`Stream`] closes it and lets its handlers go.

pub mod eventsource;
pub mod fetch;
pub mod tasks;

use std::cell::RefCell;
use std::rc::Rc;

use measure::arrivals::{Arrivals, Delivery, End, FrameMark, Reader};
use measure::{RunId, Stamp};

use crate::once::Once;

/// Text kept for the eye: more than two lines of the widest lane can show.
const TEXT_TAIL: usize = 900;

/// What one stream has given so far, in the page's own clock.
pub struct Log {
    /// The arrivals; their stamps are local until the run converts them.
    pub arrivals: Arrivals,
    /// The end of the text so far, as a chat reader would see it.
    pub text: String,
    /// When something was last heard, local microseconds.
    pub heard_us: i64,
    /// Whether the stream has ended.
    pub ended: bool,
    /// How often the browser opened the stream anew.
    pub reconnects: u32,
}

/// A log as its reader, its run and its lane share it.
pub type SharedLog = Rc<RefCell<Log>>;

impl Log {
    /// The log of a run that is being called now.
    pub fn begin(run: RunId, reader: Reader, call_us: i64) -> SharedLog {
        Rc::new(RefCell::new(Log {
            arrivals: Arrivals::begin(run, reader, Stamp(call_us)),
            text: String::new(),
            heard_us: call_us,
            ended: false,
            reconnects: 0,
        }))
    }

    /// Notes a frame: in the last delivery when it came together with it, else in a new one.
    pub fn frame(&mut self, at_us: i64, together: bool, mark: FrameMark) {
        self.heard_us = at_us;
        match self.arrivals.deliveries.last_mut().filter(|_| together) {
            Some(delivery) => delivery.frames.push(mark),
            None => self
                .arrivals
                .deliveries
                .push(Delivery { frames: vec![mark], ..Delivery::at(Stamp(at_us)) }),
        }
    }

    /// Adds an event's text to what the eye sees.
    pub fn say(&mut self, mark: &FrameMark, data: &str) {
        if !mark.text {
            return;
        }
        if !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(data);
        if self.text.len() > 2 * TEXT_TAIL {
            let mut cut = self.text.len() - TEXT_TAIL;
            while !self.text.is_char_boundary(cut) {
                cut += 1;
            }
            self.text.drain(..cut);
        }
    }

    /// Ends the stream; the first end is the one that counts.
    pub fn finish(&mut self, end: End, at_us: i64) {
        if !self.ended {
            self.ended = true;
            self.arrivals.end = end;
            self.arrivals.ended = Stamp(at_us);
        }
    }
}

/// A stream that is being read.
pub enum Stream {
    /// By `EventSource`.
    EventSource(eventsource::Source),
    /// By `fetch`.
    Fetch(fetch::Fetching),
}

/// Calls the stream. What comes goes into the log; `done` is set at the end.
///
/// # Errors
/// When the browser refuses even to begin, or the reader is not one of this page's.
pub fn open(
    reader: Reader,
    url: &str,
    run: RunId,
    log: &SharedLog,
    done: &Once<()>,
) -> Result<Stream, String> {
    match reader {
        Reader::Eventsource => {
            eventsource::Source::open(url, run, log.clone(), done.clone()).map(Stream::EventSource)
        }
        Reader::Fetch => {
            fetch::Fetching::open(url, run, log.clone(), done.clone()).map(Stream::Fetch)
        }
        other => Err(format!("this page has no reader called {}", other.name())),
    }
}
