//! What passes a tap under TLS: it stays sealed, and its records show size and time.
//!
//! The run is found by time, since its id is sealed too: streams of one lane go one at a time, so
//! a run's records are those of the connection that asked last before the emitter began, up to the
//! next question. Frames are joined to records by [`join`], and only where that proves it.

mod headers;
mod join;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::frames::FrameReader;
use measure::{Arrivals, Delivery, End, FrameMark, Ledger, Reader, Span, Stamp};

use headers::{Headers, Trouble};
use join::Unjoined;

/// Shortest record that may hold a request: a stream's address alone has 32 digits of its run id,
/// of which HPACK leaves 20 bytes at the least, the script, and the record's own 26 bytes; what
/// clients send beside requests (windows, settings, pings) is shorter.
const REQUEST: u32 = 60;
/// Two connections that ask within this time ask at once: which run is whose cannot be told.
const AT_ONCE: Span = Span::millis(250);
/// How many connections, reads, and requests of a connection are kept of a tap: some hundred streams of a headline each.
const CONNECTIONS_KEPT: usize = 64;
const READS_KEPT: usize = 65_536;
const ASKED_KEPT: usize = 4_096;

/// Why a tap cannot tell what it saw of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// No connection asked for anything before the emitter began.
    NotSeen,
    /// Two connections asked at the same time.
    AtOnce,
    /// What passed is no TLS.
    NoTls,
    /// An older TLS than 1.3.
    OldTls,
    /// The emitter did not write the whole stream.
    Unfinished,
    /// Frames that are all due at once: a wrong join would not show.
    Unpaced,
    /// The script's bytes are not frames alone.
    Unframed,
    /// No division of the frames among the records fits.
    NoFit,
    /// More than one fits.
    SeveralFit,
    /// What fits would have frames pass before they were written.
    BeforeWritten,
}

impl std::fmt::Display for Untold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Untold::NotSeen => "no request under TLS passed the tap before the emitter began",
            Untold::AtOnce => {
                "several connections asked at once, and under TLS nothing tells whose answer is whose"
            }
            Untold::NoTls => "what passed the tap is no TLS",
            Untold::OldTls => "an older TLS than 1.3 was spoken: its records' sizes are not known",
            Untold::Unfinished => "the emitter did not write the whole stream",
            Untold::Unpaced => "frames that are all due at once are not told apart under TLS",
            Untold::Unframed => "the script's frames are not known by their sizes",
            Untold::NoFit => {
                "the sizes of the TLS records fit no order of the frames: they were cut, compressed, or merged beyond what sizes show"
            }
            Untold::SeveralFit => "the sizes of the TLS records fit the frames in more than one way",
            Untold::BeforeWritten => {
                "the only order of frames that fits the TLS records has some pass before they were written"
            }
        })
    }
}

/// One read of an answer, with the lengths of the records that it completed.
#[derive(Clone, Debug)]
struct Read {
    delivery: Delivery,
    records: Vec<u32>,
}

#[derive(Debug, Default)]
struct Connection {
    number: u64,
    segment: Option<u32>,
    /// When records that may be requests passed.
    asked: VecDeque<Stamp>,
    reads: VecDeque<Read>,
    trouble: Option<Trouble>,
}

#[derive(Debug, Default)]
struct Store {
    connections: VecDeque<Connection>,
    opened: u64,
    reads: usize,
}

/// What a tap saw pass sealed. Cloned handles share it.
#[derive(Clone, Debug, Default)]
pub struct Sealed(Arc<Mutex<Store>>);

/// One connection's own handle.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    sealed: Sealed,
    number: u64,
}

impl Sealed {
    fn lock(&self) -> MutexGuard<'_, Store> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to follow a connection.
    pub(crate) fn open(&self, segment: Option<u32>) -> Watched {
        let mut store = self.lock();
        store.opened += 1;
        let number = store.opened;
        store.connections.push_back(Connection { number, segment, ..Connection::default() });
        if store.connections.len() > CONNECTIONS_KEPT {
            store.drop_oldest();
        }
        Watched { sealed: self.clone(), number }
    }

    /// What was seen of the run that a ledger is of.
    ///
    /// # Errors
    /// Why that cannot be told.
    pub fn join(&self, ledger: &Ledger) -> Result<Arrivals, Untold> {
        let marks = frames_of(ledger)?;
        let store = self.lock();
        let asked =
            |own: &Connection| own.asked.iter().rev().find(|at| **at <= ledger.started).copied();
        let last = store.connections.iter().filter_map(|own| Some((asked(own)?, own)));
        let (call, own) = last.max_by_key(|(at, _)| *at).ok_or(Untold::NotSeen)?;
        let others = store.connections.iter().filter(|other| other.number != own.number);
        let near = |at: &Stamp| (*at - call).max(call - *at) < AT_ONCE;
        if others.flat_map(|other| &other.asked).any(near) {
            return Err(Untold::AtOnce);
        }
        match own.trouble {
            Some(Trouble::NoTls) => return Err(Untold::NoTls),
            Some(Trouble::Old) => return Err(Untold::OldTls),
            None => {}
        }
        let next = own.asked.iter().find(|at| **at > ledger.started);
        let reads: Vec<&Read> = own
            .reads
            .iter()
            .filter(|read| read.delivery.at >= call)
            .take_while(|read| next.is_none_or(|next| read.delivery.at < *next))
            .collect();
        let arrivals = joined(ledger, &marks, &reads)?;
        Ok(Arrivals { call, segment_bytes: own.segment, ..arrivals })
    }
}

/// The frames of a ledger's script with their sizes, as its reader knows them.
fn frames_of(ledger: &Ledger) -> Result<Vec<(FrameMark, u32)>, Untold> {
    let script = &ledger.script;
    if ledger.done.is_none() || ledger.entries.len() != script.frame_count() as usize {
        return Err(Untold::Unfinished);
    }
    if script.shortest_interval().is_none_or(|interval| interval <= Span::ZERO) {
        return Err(Untold::Unpaced);
    }
    let mut reader = FrameReader::new(ledger.run);
    let marks: Vec<FrameMark> =
        script.player(ledger.run).flat_map(|(_, bytes)| reader.feed(&bytes)).collect();
    let mut end = 0;
    let mut sized = Vec::with_capacity(marks.len());
    for mark in marks {
        let own = mark.end.filter(|own| *own > end).ok_or(Untold::Unframed)?;
        let bytes = u32::try_from(own - end).map_err(|_| Untold::Unframed)?;
        end = own;
        // A reader that counts no bytes of its own has no ends.
        sized.push((FrameMark { end: None, ..mark }, bytes));
    }
    let whole = end == script.total_bytes() && sized.len() == ledger.entries.len();
    if whole { Ok(sized) } else { Err(Untold::Unframed) }
}

fn joined(
    ledger: &Ledger,
    marks: &[(FrameMark, u32)],
    reads: &[&Read],
) -> Result<Arrivals, Untold> {
    let sizes: Vec<u32> = marks.iter().map(|(_, bytes)| *bytes).collect();
    let (mut records, mut of_read) = (Vec::new(), Vec::new());
    for (read, own) in reads.iter().enumerate() {
        records.extend(&own.records);
        of_read.resize(records.len(), read);
    }
    let found = join::join(&sizes, &records).map_err(|why| match why {
        Unjoined::None => Untold::NoFit,
        Unjoined::Several => Untold::SeveralFit,
    })?;
    let mut arrivals = Arrivals::begin(ledger.run, Reader::Tap, ledger.started);
    arrivals.deliveries = reads.iter().map(|read| read.delivery.clone()).collect();
    for (record, (mark, _)) in found.into_iter().zip(marks) {
        // Each record came with a read.
        let delivery = &mut arrivals.deliveries[of_read[record]];
        let written = mark.seq.and_then(|seq| ledger.entry(seq)).map(|entry| entry.before);
        if written.is_none_or(|written| delivery.at < written) {
            return Err(Untold::BeforeWritten);
        }
        arrivals.ended = delivery.at;
        delivery.frames.push(*mark);
    }
    arrivals.end = End::Closed;
    Ok(arrivals)
}

impl Store {
    fn drop_oldest(&mut self) {
        if let Some(oldest) = self.connections.pop_front() {
            self.reads -= oldest.reads.len();
        }
    }
}

impl Watched {
    /// Changes what is kept of the connection, unless it had to make room.
    fn with(&self, change: impl FnOnce(&mut Connection)) {
        let mut store = self.sealed.lock();
        let own = store.connections.iter_mut().find(|own| own.number == self.number);
        let Some(own) = own else { return };
        let before = own.reads.len();
        change(own);
        let added = own.reads.len() - before;
        store.reads += added;
        while store.reads > READS_KEPT && store.connections.len() > 1 {
            store.drop_oldest();
        }
        let full = store.reads > READS_KEPT;
        if let (true, Some(only)) = (full, store.connections.front_mut()) {
            // One endless stream: its beginning goes, and with it the join.
            only.reads.pop_front();
            store.reads -= 1;
        }
    }

    /// Records that a client sent.
    pub(crate) fn asked(&self, records: &[u32], at: Stamp) {
        if records.iter().any(|length| *length >= REQUEST) {
            self.with(|own| {
                if own.asked.len() == ASKED_KEPT {
                    own.asked.pop_front();
                }
                own.asked.push_back(at);
            });
        }
    }

    /// A read of the answer's side.
    pub(crate) fn answered(&self, delivery: Delivery, records: Vec<u32>, trouble: Option<Trouble>) {
        self.with(|own| {
            own.trouble = trouble;
            own.reads.push_back(Read { delivery, records });
        });
    }
}

/// One direction of a sealed connection.
pub(crate) struct Direction {
    headers: Headers,
    watched: Watched,
}

impl Direction {
    pub(crate) fn new(watched: Watched) -> Direction {
        Direction { headers: Headers::default(), watched }
    }

    /// What a client sent, after it was passed on.
    pub(crate) fn request(&mut self, bytes: &[u8], at: Stamp) {
        let records = self.headers.feed(bytes);
        self.watched.asked(&records, at);
    }

    /// What came back, after it was passed on.
    pub(crate) fn answer(&mut self, bytes: &[u8], delivery: Delivery) {
        let records = self.headers.feed(bytes);
        let delivery = Delivery { bytes: Some(bytes.len() as u64), ..delivery };
        self.watched.answered(delivery, records, self.headers.trouble);
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
