//! Streams made up to the microsecond.

use super::*;
use measure::ledger::Entry;
use measure::{Delivery, FrameMark, RunId, Stamp};

const RUN: RunId = RunId(7);

/// Arrivals of frames at these milliseconds after the call; equal times are one read.
fn arrivals(times: &[i64], terminal: bool) -> Arrivals {
    let mut arrivals = Arrivals::begin(RUN, Reader::Recv, Stamp(1_000_000));
    arrivals.status = Some(200);
    arrivals.content_type = Some("text/event-stream".into());
    let mut end = 0;
    for (seq, at) in times.iter().enumerate() {
        let at = Stamp(1_000_000 + at * 1_000);
        end += 60;
        let last = seq + 1 == times.len();
        let mark = FrameMark {
            seq: Some(seq as u32),
            event: true,
            text: !(last && terminal),
            terminal: last && terminal,
            end: Some(end),
        };
        match arrivals.deliveries.last_mut().filter(|delivery| delivery.at == at) {
            Some(delivery) => {
                delivery.frames.push(mark);
                delivery.bytes = delivery.bytes.map(|bytes| bytes + 66);
                delivery.body_bytes = delivery.body_bytes.map(|bytes| bytes + 60);
            }
            None => arrivals.deliveries.push(Delivery {
                bytes: Some(66),
                body_bytes: Some(60),
                frames: vec![mark],
                ..Delivery::at(at)
            }),
        }
    }
    arrivals.end = End::Closed;
    arrivals.ended = arrivals.deliveries.last().map_or(arrivals.call, |delivery| delivery.at);
    arrivals
}

fn raw(arrivals: Arrivals) -> Raw {
    Raw { arrivals, ledger: None, uncertainty: Span::ZERO, script: None, stopped: false }
}

fn paced(count: i64) -> Vec<i64> {
    (0..count).map(|index| 5 + index * 50).collect()
}

/// The emitter's record of frames 50 ms apart, its clock off by so many milliseconds.
fn ledger(count: u32, off_ms: i64) -> Ledger {
    let started = Stamp(1_004_000 + off_ms * 1_000);
    let entry = |seq: u32| {
        let at = Stamp(started.0 + i64::from(seq) * 50_000);
        Entry { seq, due: at, before: at, after: at + Span::micros(30), write: seq }
    };
    Ledger {
        run: RUN,
        instance: "i".into(),
        attempts: 1,
        script: Script::paced(count, Span::millis(50), 60).unwrap(),
        upstream_protocol: "HTTP/1.1".into(),
        segment_bytes: Some(1448),
        started,
        entries: (0..count).map(entry).collect(),
        writes: count,
        body_bytes: u64::from(count) * 60,
        done: Some(started),
        handed: Vec::new(),
        waits: Vec::new(),
        broken: None,
    }
}

#[test]
fn a_stream_left_at_the_limit_is_judged_by_what_came() {
    let mut left = raw(arrivals(&paced(20), false));
    left.arrivals.end = End::TimedOut { limit_us: 1_000_000 };
    assert_eq!(alone(&left).finding.name, Verdict::Failed, "silent is not left");
    left.stopped = true;
    left.arrivals.tail_bytes = 30;
    assert_eq!(alone(&left).finding.name, Verdict::Live);
}

#[test]
fn a_service_with_a_marker_of_its_own_is_not_called_cut() {
    let stream = raw(arrivals(&paced(20), false));
    let found = alone(&stream).finding;
    assert_eq!(found.name, Verdict::Live, "{}", found.because);
    assert!(found.because.contains("without a terminal event"), "{}", found.because);
    let whole = raw(arrivals(&paced(20), true));
    assert_eq!(against(&stream, &whole).finding.name, Verdict::Truncated, "beside, it has one");
}

#[test]
fn held_is_told_from_the_origins_doing_only_beside_another_reading() {
    let held = raw(arrivals(&[1_000; 20], true));
    let found = alone(&held);
    assert_eq!(found.finding.name, Verdict::CannotTell);
    assert_eq!(found.candidates, [Verdict::Held, Verdict::BatchedAtOrigin]);
    let live = raw(arrivals(&paced(20), true));
    assert_eq!(against(&held, &live).finding.name, Verdict::Held);
    assert_eq!(against(&held, &held).finding.name, Verdict::BatchedAtOrigin);
}

#[test]
fn a_stepped_clock_voids_and_a_known_offset_does_not() {
    let stream = |off, uncertainty| {
        let ledger = Some(ledger(20, off));
        Raw { ledger, uncertainty, ..raw(arrivals(&paced(20), true)) }
    };
    assert_eq!(alone(&stream(0, Span::ZERO)).finding.name, Verdict::Live);
    let stepped = alone(&stream(400, Span::ZERO)).finding;
    assert_eq!(stepped.name, Verdict::Void, "{}", stepped.because);
    assert!(stepped.because.contains("clock was stepped"), "{}", stepped.because);
    assert_eq!(alone(&stream(5, Span::millis(6))).finding.name, Verdict::Live);
    let moved = shifted(ledger(20, 400), Span::millis(-400));
    assert_eq!(moved, ledger(20, 0));
}

#[test]
fn an_emitter_that_was_late_voids() {
    let mut late = ledger(20, 0);
    late.entries[3].after = late.entries[3].after + Span::millis(40);
    let stream = Raw { ledger: Some(late), ..raw(arrivals(&paced(20), true)) };
    assert_eq!(alone(&stream).finding.name, Verdict::Void);
}
