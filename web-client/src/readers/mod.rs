//! The three readers of this page behind one face: `EventSource`, `fetch`, and `fetch` in a worker.
//!
//! A reader takes the time first, in its callback, then writes into a plain [`Log`]; nothing
//! reactive is touched there, and bytes are laid by unread: what is done with one stream's
//! delivery comes out of another's time. They are parsed when somebody looks, which a view does
//! before it draws. Dropping a [`Stream`] closes it and lets its handlers go.

pub(crate) mod chunks;
pub mod eventsource;
pub mod fetch;
pub mod open;
pub mod tasks;
pub mod worker;

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::Uint8Array;
use measure::arrivals::{Arrivals, Delivery, End, FrameMark, Reader};
use measure::frames::FrameReader;
use measure::{RunId, Span, Stamp};

use crate::once::Once;
use worker::{Shift, Worker};

/// Text kept for the eye: more than two lines of the widest lane can show.
const TEXT_TAIL: usize = 900;

/// Whether a reader's deliveries are an estimate: to an `EventSource` nobody tells which events
/// came with one read (see [`tasks`]).
pub fn deliveries_are_estimated(reader: Reader) -> bool {
    reader == Reader::Eventsource
}

/// Bytes that came and were not looked at yet.
struct Unread {
    at_us: i64,
    paged_us: Option<i64>,
    bytes: Uint8Array,
}

/// What one stream has given so far, in the page's own clock.
pub struct Log {
    /// The arrivals, as far as they have been parsed ([`Log::parse`]); their stamps are local
    /// until the run converts them.
    pub arrivals: Arrivals,
    /// The end of the text so far, as a chat reader would see it.
    pub text: String,
    /// When something was last heard, local microseconds.
    pub heard_us: i64,
    /// Whether the stream has ended.
    pub ended: bool,
    /// How often the browser opened the stream anew.
    pub reconnects: u32,
    /// The longest task of the worker that read, microseconds; absent where none did.
    pub worker_longest_us: Option<i64>,
    unread: Vec<Unread>,
    /// Parses a byte stream; absent until it has one.
    frames: Option<FrameReader>,
    /// How many deliveries' text the view has taken to show.
    shown: usize,
    /// For how many deliveries it is known whether, and when, they were painted.
    painted: usize,
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
            worker_longest_us: None,
            unread: Vec::new(),
            frames: None,
            shown: 0,
            painted: 0,
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

    /// Notes a delivery of bytes that the reader had then, and in the page's thread then, where
    /// that is another.
    fn deliver(&mut self, at_us: i64, paged_us: Option<i64>, bytes: Uint8Array) {
        self.heard_us = paged_us.unwrap_or(at_us);
        self.unread.push(Unread { at_us, paged_us, bytes });
    }

    /// Parses what has come.
    pub fn parse(&mut self) {
        if self.unread.is_empty() {
            return;
        }
        let run = self.arrivals.run;
        let mut frames = self.frames.take().unwrap_or_else(|| FrameReader::new(run));
        for Unread { at_us, paged_us, bytes } in std::mem::take(&mut self.unread) {
            let bytes = bytes.to_vec();
            let marks = frames.feed_with(&bytes, |mark, data| self.say(mark, data));
            self.arrivals.deliveries.push(Delivery {
                paged: paged_us.map(Stamp),
                bytes: Some(bytes.len() as u64),
                body_bytes: Some(bytes.len() as u64),
                frames: marks,
                ..Delivery::at(Stamp(at_us))
            });
        }
        self.frames = Some(frames);
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

    /// The text for the view to show, of all that has come by now.
    pub fn show(&mut self) -> String {
        self.parse();
        self.shown = self.arrivals.deliveries.len();
        self.text.clone()
    }

    /// Notes that the text of the first `drawn` deliveries was painted, as far as the view has
    /// shown it. The first time counts.
    pub fn note_painted(&mut self, drawn: usize, at_us: i64) {
        let drawn = drawn.min(self.shown);
        if let Some(fresh) = self.arrivals.deliveries.get_mut(self.painted..drawn) {
            for delivery in fresh.iter_mut().filter(|one| one.frames.iter().any(|mark| mark.text)) {
                delivery.painted = Some(Stamp(at_us));
            }
            self.painted = drawn;
        }
    }

    /// Whether there is text whose painting is not known yet.
    pub fn awaits_paint(&self) -> bool {
        let fresh = self.arrivals.deliveries.get(self.painted..).unwrap_or_default();
        fresh.iter().any(|delivery| delivery.frames.iter().any(|mark| mark.text))
    }

    /// Ends the stream; the first end is the one that counts.
    pub fn finish(&mut self, end: End, at_us: i64) {
        if !self.ended {
            self.parse();
            if let Some(frames) = self.frames.take() {
                self.arrivals.foreign_frames = frames.foreign_frames();
                self.arrivals.tail_bytes = frames.finish();
            }
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
    /// By `fetch` in a worker.
    FetchWorker(worker::Reading),
}

/// Who reads, with what it needs for it.
#[derive(Clone)]
pub enum Means {
    /// `EventSource`.
    EventSource,
    /// `fetch` on the page's own thread.
    Fetch,
    /// `fetch` in this worker, whose stamps are brought to the page's clock.
    FetchWorker(Rc<Worker>, Shift),
}

/// Calls the stream. What comes goes into the log; `done` is set at the end. After each delivery
/// the page works for `work`, on purpose.
///
/// # Errors
/// When the browser refuses even to begin.
pub fn open(
    means: Means,
    url: &str,
    run: RunId,
    work: Option<Span>,
    log: &SharedLog,
    done: &Once<()>,
) -> Result<Stream, String> {
    let (log, done) = (log.clone(), done.clone());
    match means {
        Means::EventSource => {
            eventsource::Source::open(url, run, work, log, done).map(Stream::EventSource)
        }
        Means::Fetch => fetch::Fetching::open(url, work, log, done).map(Stream::Fetch),
        Means::FetchWorker(worker, shift) => {
            worker::Reading::open(&worker, shift, url, work, log, done).map(Stream::FetchWorker)
        }
    }
}
