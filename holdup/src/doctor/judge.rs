//! What a stream shows: by the origin's own times where they are known, else by its arrivals.

use measure::cell::{Cell, Link, Request};
use measure::guards::Guards;
use measure::units::decimal;
use measure::verdict::arrivals::{Origin, Sighting, of_arrivals};
use measure::verdict::{Finding, Sure, Thresholds, Verdict, of_run};
use measure::{Arrivals, End, Ledger, Measurement, Reader, Script, Span};

use super::evidence::Raw;

/// How far before its own write a frame may seem to arrive, beyond the clock's uncertainty: the
/// conversion of the kernel's wall-clock stamp, and the scheduler between two looks at a clock.
const BEFORE_ITS_TIME: Span = Span::millis(1);

/// What a stream shows by itself.
pub(crate) fn alone(raw: &Raw) -> Sighting {
    let thresholds = Thresholds::standard();
    match (&raw.ledger, &raw.script) {
        (Some(ledger), _) => by_ledger(raw, ledger, &thresholds),
        (None, Some(script)) => of_arrivals(&raw.arrivals, Origin::Script(script), &thresholds),
        (None, None) => unknown(raw, Origin::Unknown, &thresholds),
    }
}

/// What a stream shows beside another reading of it.
pub(crate) fn against(raw: &Raw, control: &Raw) -> Sighting {
    let whole = as_whole(control);
    unknown(raw, Origin::Direct(&whole), &Thresholds::standard())
}

/// What a stream shows beside the same one that was asked in another way, on the same path; `how`
/// says which way.
pub(crate) fn against_same(raw: &Raw, other: &Raw, how: &str) -> Sighting {
    let mut found = against(raw, other);
    let figures = |raw: &Raw| {
        let measured = Measurement::join(None, &raw.arrivals);
        let ratio = measured.frames_per_read().unwrap_or_default();
        (decimal(ratio, 2), measured.first_event.unwrap_or_default())
    };
    let ((here, first), (there, other_first)) = (figures(raw), figures(other));
    // Its own sentence speaks of a direct way, and of the path.
    found.finding.because = format!(
        "{here} events per read, the first after {first}; {how} {there}, the first after {other_first}"
    );
    found
}

/// A stream that the reader left at its own limit is judged by what it had read, as if that were
/// all of it. So is one that ends well-formed without a terminal event where none is known to be
/// sent: most services have markers of their own.
fn unknown(raw: &Raw, origin: Origin<'_>, thresholds: &Thresholds) -> Sighting {
    let found = of_arrivals(&as_whole(raw), origin, thresholds);
    let guessed =
        found.finding.name == Verdict::Truncated && found.finding.sure == Some(Sure::Likely);
    if !guessed {
        return found;
    }
    let mut shape = of_arrivals(&ended(&raw.arrivals), origin, thresholds);
    shape.finding.because.push_str("; it ended without a terminal event that is known here");
    shape
}

fn as_whole(raw: &Raw) -> Arrivals {
    if raw.stopped { ended(&raw.arrivals) } else { raw.arrivals.clone() }
}

/// The same arrivals, taken as a stream that ended well with its last event.
fn ended(arrivals: &Arrivals) -> Arrivals {
    let mut arrivals = Arrivals { end: End::StoppedAtTerminal, tail_bytes: 0, ..arrivals.clone() };
    let frames = arrivals.deliveries.iter_mut().flat_map(|delivery| &mut delivery.frames);
    if let Some(last) = frames.filter(|frame| frame.event).last() {
        last.terminal = true;
    }
    arrivals
}

fn by_ledger(raw: &Raw, ledger: &Ledger, thresholds: &Thresholds) -> Sighting {
    let guards = Guards::default();
    let cell = cell(&ledger.script);
    if let Some(exclusion) = guards.check(&cell, Some(ledger), &raw.arrivals) {
        return plain(Finding::new(Verdict::Void, exclusion.why()));
    }
    let measured = Measurement::join(Some(ledger), &raw.arrivals);
    let earliest = measured.holds.iter().map(|hold| hold.before).min();
    let limit = -(raw.uncertainty + BEFORE_ITS_TIME);
    if let Some(early) = earliest.filter(|early| *early < limit) {
        let why = format!(
            "a frame seems to have come {} before it was written: a clock was stepped",
            -early
        );
        return plain(Finding::new(Verdict::Void, why));
    }
    plain(of_run(&measured, thresholds))
}

fn plain(finding: Finding) -> Sighting {
    Sighting { finding, candidates: Vec::new() }
}

/// What the guards ask of a run's cell: its script, and that nobody reads slowly on purpose.
fn cell(script: &Script) -> Cell {
    Cell {
        endpoint: "doctor".into(),
        preset: "doctor".into(),
        reader: Reader::Recv,
        engine: None,
        request: Request::plain(),
        link: Link { mss: None, pooled: None, nagle: script.nagle },
        concurrency: 1,
        stream: None,
        page_work_us: None,
        script: script.clone(),
    }
}

/// The same ledger with its stamps moved by so much, onto another clock.
pub(crate) fn shifted(ledger: Ledger, by: Span) -> Ledger {
    let move_to = |stamp: measure::Stamp| measure::Stamp(stamp.0 + by.as_micros());
    let entries = ledger
        .entries
        .iter()
        .map(|entry| measure::ledger::Entry {
            due: move_to(entry.due),
            before: move_to(entry.before),
            after: move_to(entry.after),
            ..*entry
        })
        .collect();
    let handed = ledger.handed.iter().copied().map(move_to).collect();
    let waits = ledger
        .waits
        .iter()
        .map(|wait| measure::ledger::Wait {
            since: move_to(wait.since),
            until: wait.until.map(move_to),
            ..*wait
        })
        .collect();
    let (started, done) = (move_to(ledger.started), ledger.done.map(move_to));
    Ledger { started, done, entries, handed, waits, ..ledger }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
