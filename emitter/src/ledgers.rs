//! Keeps ledgers by run id, in bounded memory: the oldest run goes first, and its id is
//! remembered so that asking for it says "dropped", not "unknown".

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use measure::ledger::Entry;
use measure::script::{Body, Piece, Script};
use measure::{Ledger, RunId, Stamp};

use crate::follow::{SharedLedger, table_bytes, with};

/// Memory for ledgers by default: 64 MiB hold some 40,000 runs of the headline stream.
pub const DEFAULT_BYTES: usize = 64 << 20;
/// How many dropped ids are remembered: 5 MB of them, order and set.
const DROPPED_REMEMBERED: usize = 100_000;
/// A ledger's fixed part, strings and map entry included.
const FIXED_BYTES: usize = 512;

/// What a run takes: its lines, its script, and what following its stream takes meanwhile.
fn bytes_of(ledger: &Ledger) -> usize {
    let script = &ledger.script;
    let lines = script.frame_count() as usize * size_of::<Entry>()
        + ledger.handed.capacity() * size_of::<Stamp>();
    FIXED_BYTES + lines + script_bytes(script) + table_bytes(script)
}

fn script_bytes(script: &Script) -> usize {
    let headers: usize = script
        .headers
        .iter()
        .map(|header| size_of_val(header) + header.name.len() + header.value.len())
        .sum();
    let writes: usize = match &script.body {
        Body::Paced { .. } => 0,
        Body::Writes { writes } => {
            writes.iter().map(|write| size_of_val(write) + size_of_val(&*write.pieces)).sum()
        }
    };
    headers + writes + text_bytes(script)
}

/// A chat answer's text, which its script holds as it is.
fn text_bytes(script: &Script) -> usize {
    let Body::Writes { writes } = &script.body else { return 0 };
    let literal = |piece: &Piece| match piece {
        Piece::Literal { text, .. } => text.len(),
        _ => 0,
    };
    writes.iter().flat_map(|write| &write.pieces).map(literal).sum()
}

/// What is known of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Lookup {
    /// The ledger as it stands.
    Known(Box<Ledger>),
    /// It was here and had to make room.
    Dropped,
    /// Nobody asked for a stream under this id.
    Unknown,
}

#[derive(Default)]
struct Store {
    runs: HashMap<RunId, (SharedLedger, usize)>,
    order: VecDeque<RunId>,
    /// The dropped, to be asked, and their order, to be forgotten in turn.
    dropped: HashSet<RunId>,
    dropped_order: VecDeque<RunId>,
    bytes: usize,
}

/// Ledgers by run id. Cloned handles share them.
#[derive(Clone)]
pub struct Ledgers {
    store: Arc<Mutex<Store>>,
    limit: usize,
}

impl Ledgers {
    /// An empty store that keeps at most about `limit` bytes.
    pub fn new(limit: usize) -> Ledgers {
        Ledgers { store: Arc::default(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a run. A second request under the same id is counted on the first one's ledger
    /// and gets none of its own: `None`.
    pub fn begin(&self, ledger: Ledger) -> Option<SharedLedger> {
        let mut store = self.lock();
        if let Some((first, _)) = store.runs.get(&ledger.run) {
            with(first, |first| first.attempts += 1);
            return None;
        }
        let run = ledger.run;
        let bytes = bytes_of(&ledger);
        let shared = Arc::new(Mutex::new(ledger));
        store.runs.insert(run, (Arc::clone(&shared), bytes));
        store.order.push_back(run);
        store.bytes += bytes;
        while store.bytes > self.limit && store.order.len() > 1 {
            store.drop_oldest();
        }
        Some(shared)
    }

    /// What is known of a run.
    pub fn lookup(&self, run: RunId) -> Lookup {
        let store = self.lock();
        match store.runs.get(&run) {
            Some((ledger, _)) => Lookup::Known(Box::new(with(ledger, |ledger| ledger.clone()))),
            None if store.dropped.contains(&run) => Lookup::Dropped,
            None => Lookup::Unknown,
        }
    }
}

impl Store {
    fn drop_oldest(&mut self) {
        let Some(oldest) = self.order.pop_front() else { return };
        if let Some((_, bytes)) = self.runs.remove(&oldest) {
            self.bytes -= bytes;
        }
        // The same id may be asked for, and dropped, more than once.
        if self.dropped.insert(oldest) {
            self.dropped_order.push_back(oldest);
        }
        if self.dropped_order.len() > DROPPED_REMEMBERED
            && let Some(forgotten) = self.dropped_order.pop_front()
        {
            self.dropped.remove(&forgotten);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Script;

    fn ledger(run: u128) -> Ledger {
        Ledger {
            run: RunId(run),
            instance: String::new(),
            attempts: 1,
            script: Script::headline(),
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
        }
    }

    #[test]
    fn the_oldest_run_makes_room_and_is_remembered_as_dropped() {
        let one = bytes_of(&ledger(0));
        let ledgers = Ledgers::new(2 * one);
        for run in 1..=3 {
            assert!(ledgers.begin(ledger(run)).is_some());
        }
        assert_eq!(ledgers.lookup(RunId(1)), Lookup::Dropped);
        assert!(matches!(ledgers.lookup(RunId(2)), Lookup::Known(_)));
        assert!(matches!(ledgers.lookup(RunId(3)), Lookup::Known(_)));
        assert_eq!(ledgers.lookup(RunId(4)), Lookup::Unknown);
    }

    #[test]
    fn a_second_request_is_an_attempt_of_the_first_run() {
        let ledgers = Ledgers::new(DEFAULT_BYTES);
        assert!(ledgers.begin(ledger(1)).is_some());
        assert!(ledgers.begin(ledger(1)).is_none());
        let Lookup::Known(known) = ledgers.lookup(RunId(1)) else { panic!("known") };
        assert_eq!(known.attempts, 2);
    }

    #[test]
    fn dropped_ids_are_remembered_up_to_a_number_and_each_once() {
        let ledgers = Ledgers::new(1);
        let last = DROPPED_REMEMBERED as u128 + 10;
        for run in 0..=last {
            ledgers.begin(ledger(run));
        }
        assert_eq!(ledgers.lookup(RunId(0)), Lookup::Unknown);
        assert_eq!(ledgers.lookup(RunId(9)), Lookup::Unknown);
        assert_eq!(ledgers.lookup(RunId(10)), Lookup::Dropped);
        assert_eq!(ledgers.lookup(RunId(last - 1)), Lookup::Dropped);
        // A dropped id that comes again is a run again, and is dropped again.
        ledgers.begin(ledger(last - 1));
        assert!(matches!(ledgers.lookup(RunId(last - 1)), Lookup::Known(_)));
        ledgers.begin(ledger(last + 1));
        assert_eq!(ledgers.lookup(RunId(last - 1)), Lookup::Dropped);
        let store = ledgers.lock();
        assert_eq!(
            (store.dropped.len(), store.dropped_order.len()),
            (DROPPED_REMEMBERED, DROPPED_REMEMBERED)
        );
    }

    #[test]
    fn the_table_of_an_uneven_script_is_counted() {
        let even = ledger(1);
        let mut uneven = ledger(2);
        let piece = measure::script::Piece::Frame { bytes: 60 };
        let write = |due| measure::script::Write {
            due_us: measure::Span::millis(due),
            pieces: vec![piece.clone()],
        };
        uneven.script.body = Body::Writes { writes: (0..41).map(write).collect() };
        assert!(bytes_of(&uneven) >= bytes_of(&even) + 41 * size_of::<(u64, measure::Span)>());
    }

    #[test]
    fn a_chat_answers_text_is_counted() {
        let mut chat = ledger(1);
        let piece = Piece::Literal { text: "x".repeat(5_000), frame: true };
        let write = measure::script::Write { due_us: measure::Span::ZERO, pieces: vec![piece] };
        chat.script.body = Body::Writes { writes: vec![write] };
        assert!(bytes_of(&chat) >= 5_000);
    }

    #[test]
    fn one_run_larger_than_the_limit_is_still_kept() {
        let ledgers = Ledgers::new(1);
        ledgers.begin(ledger(1));
        assert!(matches!(ledgers.lookup(RunId(1)), Lookup::Known(_)));
    }
}
