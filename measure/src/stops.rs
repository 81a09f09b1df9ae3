//! Where the path took nothing: a ledger's waits beside what arrived meanwhile.

use super::Stop;
use crate::arrivals::Arrivals;
use crate::ledger::{Ledger, Wait};
use crate::units::{Span, Stamp};

/// The waits of a ledger that came to an end.
pub(super) fn of(ledger: &Ledger, arrivals: &Arrivals) -> Vec<Stop> {
    if ledger.waits.is_empty() {
        return Vec::new();
    }
    let ends = ledger.script.frame_ends();
    let end_of = |seq: u32| ends.get(seq as usize).copied();
    let paused = arrivals.transport.as_ref().and_then(|transport| transport.paused);
    let stop = |wait: &Wait| {
        let until = wait.until?;
        // Not before the frame was due, nor before the one before it had left.
        let due = ledger.entry(wait.seq).map_or(wait.since, |entry| entry.due);
        let since = wait.since.max(due);
        let came = arrivals.deliveries.iter().filter(|delivery| {
            delivery.body_bytes.map_or(!delivery.frames.is_empty(), |bytes| bytes > 0)
        });
        let (mut last, mut silent, mut onward, mut arrived) = (since, Span::ZERO, None, 0);
        for delivery in came {
            let at = delivery.arrived();
            if at <= since {
                let seqs = delivery.frames.iter().filter_map(|frame| end_of(frame.seq?));
                arrived = seqs.max().unwrap_or(arrived).max(arrived);
            }
            silent = silent.max(at.min(until).max(last) - last);
            last = at.min(until).max(last);
            if at > until && onward.is_none() {
                onward = Some(at - until);
            }
        }
        silent = silent.max(until.max(last) - last);
        let meets = |(from, to): (Stamp, Stamp)| from < until && to > since;
        Some(Stop {
            seq: wait.seq,
            by: wait.by,
            waited: until - since,
            silent,
            onward,
            left: wait.bytes,
            on_the_way: wait.bytes.saturating_sub(arrived),
            connection: wait.connection_bytes,
            of_reader: paused.is_some_and(meets),
        })
    };
    ledger.waits.iter().filter_map(stop).collect()
}
