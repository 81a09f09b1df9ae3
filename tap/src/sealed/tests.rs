//! Synthetic records of one connection, played as a tap would note them, and one real stream.

use super::*;
use measure::ledger::Entry;
use measure::{RunId, Script};

const RUN: RunId = RunId(0xfeed);
/// A record with one DATA frame of 60 bytes.
const ONE: u32 = 9 + 60 + 17;
const HEAD: u32 = 118 + 17;
const ASKED: i64 = 1_000_000;
const STARTED: i64 = ASKED + 500;
const PACE: i64 = 50_000;

fn ledger() -> Ledger {
    let script = Script::paced(11, Span(PACE), 60).unwrap();
    let entries = (0..11u32)
        .map(|seq| {
            let due = Stamp(STARTED + i64::from(seq) * PACE);
            Entry { seq, due, before: due, after: due + Span(20), write: seq + 1 }
        })
        .collect::<Vec<Entry>>();
    Ledger {
        run: RUN,
        instance: "test".into(),
        attempts: 1,
        upstream_protocol: "HTTP/1.1".into(),
        segment_bytes: None,
        started: Stamp(STARTED),
        done: entries.last().map(|entry| entry.after),
        writes: 12,
        body_bytes: script.total_bytes(),
        script,
        entries,
        handed: Vec::new(),
        waits: Vec::new(),
        broken: None,
    }
}

/// A connection that asked, and was answered with records at times after the start.
fn seen(answers: &[(i64, &[u32])]) -> Sealed {
    let sealed = Sealed::default();
    watch(&sealed, ASKED, answers);
    sealed
}

fn watch(sealed: &Sealed, asked: i64, answers: &[(i64, &[u32])]) {
    let watched = sealed.open(Some(1448));
    watched.asked(&[69], Stamp(asked - 20_000));
    watched.asked(&[30], Stamp(asked - 10));
    watched.asked(&[200], Stamp(asked));
    for (at, records) in answers {
        watched.answered(Delivery::at(Stamp(STARTED + at)), records.to_vec(), None);
    }
}

/// How many frames each read with any brought.
fn per_read(arrivals: &Arrivals) -> Vec<usize> {
    let frames = arrivals.deliveries.iter().map(|delivery| delivery.frames.len());
    frames.filter(|frames| *frames > 0).collect()
}

#[test]
fn a_live_stream_is_joined_frame_by_frame() {
    let mut answers: Vec<(i64, &[u32])> = vec![(100, &[HEAD])];
    answers.extend((0..11).map(|seq| (seq * PACE + 300, &[ONE][..])));
    answers.push((10 * PACE + 400, &[26]));
    let arrivals = seen(&answers).join(&ledger()).unwrap();
    assert_eq!(per_read(&arrivals), [1; 11]);
    assert_eq!(arrivals.call, Stamp(ASKED));
    assert_eq!(arrivals.ended, Stamp(STARTED + 10 * PACE + 300));
    assert_eq!(arrivals.segment_bytes, Some(1448));
    let (_, last) = arrivals.frames().last().unwrap();
    assert!(last.terminal && last.seq == Some(10));
}

#[test]
fn a_corked_stream_is_joined_in_its_bursts_and_a_merged_one_in_one() {
    let four = [ONE; 4];
    let corked: [(i64, &[u32]); 4] =
        [(200_300, &[HEAD, ONE]), (400_300, &four), (600_300, &four), (600_400, &[ONE + 69, 26])];
    assert_eq!(per_read(&seen(&corked).join(&ledger()).unwrap()), [1, 4, 4, 2]);
    let merged: [(i64, &[u32]); 1] = [(600_300, &[118 + 9 + 11 * 60 + 17, 26])];
    assert_eq!(per_read(&seen(&merged).join(&ledger()).unwrap()), [11]);
}

#[test]
fn a_cut_stream_is_not_joined_nor_one_that_would_come_before_it_was_written() {
    let cut: [(i64, &[u32]); 2] = [(300, &[HEAD, ONE]), (600_000, &[39 + 17, 39 + 17])];
    assert_eq!(seen(&cut).join(&ledger()), Err(Untold::NoFit));
    // The last frame is missing, and a head that might hold one lies before: each would stand
    // one too early.
    let mut short: Vec<(i64, &[u32])> = vec![(100, &[HEAD])];
    short.extend((0..10).map(|seq| (seq * PACE + 300, &[ONE][..])));
    assert_eq!(seen(&short).join(&ledger()), Err(Untold::BeforeWritten));
}

#[test]
fn what_cannot_be_known_is_said() {
    let live: Vec<(i64, &[u32])> = (0..11).map(|seq| (seq * PACE + 300, &[ONE][..])).collect();
    assert_eq!(Sealed::default().join(&ledger()), Err(Untold::NotSeen));
    let broken = Ledger { done: None, ..ledger() };
    assert_eq!(seen(&live).join(&broken), Err(Untold::Unfinished));
    let mut at_once = ledger();
    at_once.script = Script::paced(11, Span::ZERO, 60).unwrap();
    assert_eq!(seen(&live).join(&at_once), Err(Untold::Unpaced));
    let sealed = seen(&live);
    watch(&sealed, ASKED + 1_000, &live);
    assert_eq!(sealed.join(&ledger()), Err(Untold::AtOnce));
    let sealed = Sealed::default();
    let watched = sealed.open(None);
    watched.asked(&[200], Stamp(ASKED));
    watched.answered(Delivery::at(Stamp(STARTED)), vec![ONE], Some(Trouble::Old));
    assert_eq!(sealed.join(&ledger()), Err(Untold::OldTls));
}

#[test]
fn another_run_of_the_lane_is_another_runs() {
    let live: Vec<(i64, &[u32])> = (0..11).map(|seq| (seq * PACE + 300, &[ONE][..])).collect();
    let sealed = Sealed::default();
    let watched = sealed.open(None);
    for (number, asked) in [ASKED - 2_000_000, ASKED, ASKED + 2_000_000].into_iter().enumerate() {
        watched.asked(&[200], Stamp(asked));
        for (at, records) in &live {
            let at = Stamp(asked + 500 + at);
            let delivery = Delivery { bytes: Some(number as u64), ..Delivery::at(at) };
            watched.answered(delivery, records.to_vec(), None);
        }
    }
    let arrivals = sealed.join(&ledger()).unwrap();
    assert_eq!(arrivals.deliveries.len(), 11);
    assert!(arrivals.deliveries.iter().all(|delivery| delivery.bytes == Some(1)));
}

#[test]
fn old_reads_and_connections_make_room() {
    let sealed = Sealed::default();
    let watched = sealed.open(None);
    for at in 0..READS_KEPT as i64 + 10 {
        watched.answered(Delivery::at(Stamp(at)), Vec::new(), None);
    }
    assert_eq!(sealed.lock().reads, READS_KEPT);
    for _ in 0..CONNECTIONS_KEPT + 5 {
        sealed.open(None).answered(Delivery::at(Stamp(0)), Vec::new(), None);
    }
    let store = sealed.lock();
    assert_eq!((store.connections.len(), store.reads), (CONNECTIONS_KEPT, CONNECTIONS_KEPT));
}
