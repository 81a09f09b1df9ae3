//! Arrivals held against the due times of the script that the origin was asked for.

use super::arrivals::Sighting;
use super::{Sure, Thresholds, Verdict, of_run};
use crate::arrivals::Arrivals;
use crate::ledger::{Entry, Ledger};
use crate::measurement::Measurement;
use crate::script::{Header, Script};
use crate::units::Span;

/// Holds the arrivals against the script's own due times. The one thing that they cannot show is
/// a delay that all events share.
pub(super) fn by_script(arrivals: &Arrivals, script: &Script, thresholds: &Thresholds) -> Sighting {
    let measured = Measurement::join(supposed(arrivals, script).as_ref(), arrivals);
    // Since the frame that was held least may have been held, too, every write may really have
    // been earlier by as much as a live path takes.
    let coarse = Thresholds { stamp_early: thresholds.live_hold, ..thresholds.clone() };
    let found = of_run(&measured, &coarse);
    if timer_or_write(&measured, found.name, thresholds) {
        let because = format!(
            "{}; but without the origin's own times the kernel's 200 ms timer cannot be told from an event's write close to it: play it at another interval",
            found.because
        );
        return Sighting::open(&[Verdict::Corked, Verdict::BufferBursts], because);
    }
    let because = format!("{}; by the script's pace, not by the origin's own times", found.because);
    match found.name {
        Verdict::CannotTell => Sighting::open(&[], because),
        // A count of frames needs no times.
        name @ (Verdict::Failed | Verdict::Truncated | Verdict::NoToken) => {
            Sighting::sure(name, Sure::Certain, found.because)
        }
        name => Sighting::sure(name, Sure::Likely, because),
    }
}

/// Whether most bursts waited as long as the kernel's timer, so close to a write that this may
/// have released them as well.
fn timer_or_write(measured: &Measurement, named: Verdict, thresholds: &Thresholds) -> bool {
    let near = |last: Span| match named {
        // Released by a write, as far as these times can tell.
        Verdict::BufferBursts => true,
        Verdict::Corked => last <= thresholds.live_hold,
        _ => false,
    };
    let timed = |first: Span| first >= thresholds.cork_min && first <= thresholds.cork_max;
    let whole = measured.bursts.len().saturating_sub(1);
    let fitting = measured.bursts[..whole]
        .iter()
        .filter(|b| b.first_hold.is_some_and(timed) && b.last_hold.is_some_and(near))
        .count();
    fitting > 0 && fitting as f64 >= thresholds.pattern_share * whole as f64
}

/// What is held where no hop is, the origin itself holds: no proxy is to blame for it.
pub(super) fn own(arrivals: &Arrivals, script: &Script, thresholds: &Thresholds) -> Sighting {
    // Nobody changed its type on the way, either.
    let sends = arrivals
        .content_type
        .iter()
        .map(|came| Header { name: "content-type".into(), value: came.clone() });
    let script = Script { headers: sends.collect(), ..script.clone() };
    let found = by_script(arrivals, &script, thresholds);
    match found.finding.name {
        Verdict::Held | Verdict::Corked | Verdict::BufferBursts | Verdict::OneBehind => {
            let because = format!(
                "read at the origin itself, so no hop is to blame: {} there: {}",
                found.finding.name.name(),
                found.finding.because
            );
            Sighting::sure(Verdict::BatchedAtOrigin, Sure::Likely, because)
        }
        _ => found,
    }
}

/// The ledger of an origin that kept to the script, begun as late as the arrivals allow: the
/// frame that was held least was not held at all.
fn supposed(arrivals: &Arrivals, script: &Script) -> Option<Ledger> {
    let writes = script.write_of_frames();
    let due = |seq: u32| script.due(*writes.get(seq as usize)?);
    let started = arrivals
        .frames()
        .filter_map(|(delivery, frame)| Some(delivery.arrived() - due(frame.seq?)?))
        .min()?;
    let entry = |seq: u32| {
        let at = started + due(seq)?;
        let write = *writes.get(seq as usize)? as u32;
        Some(Entry { seq, due: at, before: at, after: at, write })
    };
    let entries: Vec<Entry> = (0..script.frame_count()).filter_map(entry).collect();
    Some(Ledger {
        run: arrivals.run,
        instance: String::new(),
        attempts: 1,
        script: script.clone(),
        upstream_protocol: String::new(),
        segment_bytes: None,
        started,
        done: entries.last().map(|entry| entry.after),
        writes: script.write_count() as u32,
        body_bytes: script.total_bytes(),
        entries,
        handed: Vec::new(),
        waits: Vec::new(),
        broken: None,
    })
}
