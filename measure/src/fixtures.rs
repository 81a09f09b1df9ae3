//! Streams whose truth is known, for the ruler's own tests.

use crate::arrivals::{Arrivals, Delivery, End, FrameMark, Reader};
use crate::ledger::{Entry, Ledger};
use crate::script::Script;
use crate::units::{RunId, Span, Stamp};

/// Bytes of a 60-byte frame in a chunk: size line, frame, line end.
pub(crate) const WIRE_FRAME: u64 = 66;
pub(crate) const RUN: RunId = RunId(0x51);
pub(crate) const START: i64 = 1_000_000;

/// A ledger that kept to its script, each write taking 20 µs.
pub(crate) fn ledger(script: &Script) -> Ledger {
    let writes = script.write_of_frames();
    let entries: Vec<Entry> = (0..script.frame_count())
        .map(|seq| {
            let due = Stamp(START) + script.due(writes[seq as usize]).unwrap();
            Entry { seq, due, before: due, after: due + Span(20), write: seq + 1 }
        })
        .collect();
    Ledger {
        run: RUN,
        instance: "test".into(),
        attempts: 1,
        script: script.clone(),
        upstream_protocol: "HTTP/1.1".into(),
        segment_bytes: None,
        started: Stamp(START),
        done: entries.last().map(|entry| entry.after),
        writes: entries.len() as u32 + 1,
        body_bytes: script.total_bytes(),
        entries,
        handed: Vec::new(),
        waits: Vec::new(),
        broken: None,
    }
}

/// Arrivals in which frame `seq` comes `hold(seq)` µs after its write; frames that come at the
/// same microsecond share a delivery.
pub(crate) fn arrivals(ledger: &Ledger, hold: impl Fn(u32) -> i64) -> Arrivals {
    let mut arrivals = Arrivals::begin(RUN, Reader::Recv, Stamp(START - 1_000));
    arrivals.connected = Some(Stamp(START - 800));
    arrivals.status = Some(200);
    arrivals.segment_bytes = Some(1448);
    let last = ledger.entries.len() as u32 - 1;
    for entry in &ledger.entries {
        let at = entry.after + Span(hold(entry.seq));
        let mark = FrameMark {
            seq: Some(entry.seq),
            event: true,
            text: entry.seq != last,
            terminal: entry.seq == last,
            end: None,
        };
        match arrivals.deliveries.last_mut() {
            Some(delivery) if delivery.at == at => {
                delivery.frames.push(mark);
                delivery.bytes = delivery.bytes.map(|bytes| bytes + WIRE_FRAME);
            }
            _ => arrivals.deliveries.push(Delivery {
                kernel: Some(at),
                bytes: Some(WIRE_FRAME),
                frames: vec![mark],
                ..Delivery::at(at)
            }),
        }
    }
    arrivals.end = End::Closed;
    arrivals.ended = arrivals.deliveries.last().map_or(arrivals.call, |delivery| delivery.at);
    arrivals
}

/// Each frame at once.
pub(crate) fn live(ledger: &Ledger) -> Arrivals {
    arrivals(ledger, |_| 150)
}

/// Everything when the last frame is written.
pub(crate) fn held(ledger: &Ledger) -> Arrivals {
    let end = ledger.done.unwrap();
    arrivals(ledger, |seq| (end - ledger.entries[seq as usize].after).as_micros() + 200)
}

/// A cork: what waits leaves `timer` after the first byte of it was written.
pub(crate) fn corked(ledger: &Ledger, timer: Span) -> Arrivals {
    let mut release = vec![Span::ZERO; ledger.entries.len()];
    let mut index = 0;
    while index < ledger.entries.len() {
        let leaves = ledger.entries[index].after + timer;
        let end = ledger.entries.len() - 1;
        while index <= end && ledger.entries[index].after <= leaves {
            // The stream's last chunk goes without the flag and takes the rest along.
            let at = if ledger.entries[end].after <= leaves {
                ledger.entries[end].after + Span(150)
            } else {
                leaves
            };
            release[index] = at - ledger.entries[index].after;
            index += 1;
        }
    }
    arrivals(ledger, |seq| release[seq as usize].as_micros())
}
