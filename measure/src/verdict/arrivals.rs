//! Verdicts from arrivals alone, without ledger and tap.
//!
//! A burst may be a path that waits or an origin that writes so. Without the origin's own times a
//! name is given only where bytes or times fit one cause and hardly another; otherwise the answer
//! is `cannot-tell` with its candidates. What is known of the origin's pace ([`Origin`]) decides
//! how much can be said: a script that was asked for gives every name, a reading of the same
//! stream on a direct way most of them, nothing very few.

use super::bursts::{filling, on_timer, specific, timer_or_buffer};
use super::by_script::{by_script, own};
use super::shape::Shape;
use super::{Finding, Sure, Thresholds, Verdict};
use crate::arrivals::{Arrivals, End};
use crate::guards::Guards;
use crate::measurement::{Measurement, Outcome, same_type};
use crate::script::{EVENT_STREAM, Script};
use crate::stats::median;
use crate::units::{Span, decimal};

/// What is known of the origin's own pace.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// Nothing.
    Unknown,
    /// It was asked to play this script; its ledger is not at hand.
    Script(&'a Script),
    /// The same stream, read on a way without the suspect.
    Direct(&'a Arrivals),
    /// This is a reading at the origin itself, with no hop between, which was to play this script.
    Own(&'a Script),
}

/// What arrivals alone show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The verdict, with its figures and how sure it is.
    pub finding: Finding,
    /// Where it is `cannot-tell`: the verdicts that it may be, likelier ones first.
    pub candidates: Vec<Verdict>,
}

impl Sighting {
    pub(super) fn sure(name: Verdict, sure: Sure, because: String) -> Sighting {
        let finding = Finding { sure: Some(sure), ..Finding::new(name, because) };
        Sighting { finding, candidates: Vec::new() }
    }

    pub(super) fn open(candidates: &[Verdict], because: String) -> Sighting {
        let finding = Finding::new(Verdict::CannotTell, because);
        Sighting { finding, candidates: candidates.to_vec() }
    }
}

/// What nobody but the origin can be told from.
const PATH_OR_ORIGIN: &str = "a path that holds, or an origin that writes so";

/// Names what one stream's arrivals show. Of the guards one applies without a ledger: a reader
/// that was late itself makes bursts of its own.
pub fn of_arrivals(arrivals: &Arrivals, origin: Origin<'_>, thresholds: &Thresholds) -> Sighting {
    if let Some(found) = of_outcome(arrivals, origin) {
        return found;
    }
    let guards = Guards::default();
    if let Some(late) = guards.client_lag(arrivals, guards.lateness_us) {
        let finding = Finding::new(Verdict::Void, late.why());
        return Sighting { finding, candidates: Vec::new() };
    }
    let found = match origin {
        Origin::Script(script) => return by_script(arrivals, script, thresholds),
        Origin::Own(script) => return own(arrivals, script, thresholds),
        Origin::Direct(direct) => against(arrivals, direct, thresholds),
        Origin::Unknown => by_shape(&Shape::of(arrivals, thresholds), arrivals, thresholds),
    };
    of_type(found, arrivals, origin)
}

/// How the stream came out, where that is the answer.
fn of_outcome(arrivals: &Arrivals, origin: Origin<'_>) -> Option<Sighting> {
    let seen = Measurement::join(None, arrivals);
    let came = arrivals.content_type.as_deref();
    match seen.outcome {
        Outcome::Failed { what } => Some(Sighting::sure(
            Verdict::Failed,
            Sure::Certain,
            format!("{what}; after {}", seen.total),
        )),
        _ if seen.frames == 0 && came.is_some_and(|came| !same_type(came, EVENT_STREAM)) => {
            let what = format!(
                "it answered {} and no event in {}: no event stream, perhaps a login or error page",
                came.unwrap_or_default(),
                seen.total
            );
            Some(Sighting::sure(Verdict::Failed, Sure::Certain, what))
        }
        Outcome::NoToken => {
            let what =
                format!("the terminal event came after {}, and no text before it", seen.total);
            Some(Sighting::sure(Verdict::NoToken, Sure::Certain, what))
        }
        Outcome::Truncated => truncated(arrivals, &seen, origin),
        Outcome::Complete => None,
    }
}

/// A stream without a terminal event: cut for certain where the bytes show it, or where the
/// terminal event is known to be sent; a stream of a kind that has none is none of these.
fn truncated(arrivals: &Arrivals, seen: &Measurement, origin: Origin<'_>) -> Option<Sighting> {
    let so_far = format!("{} events in {}", seen.frames, seen.total);
    let certain = |why: String| {
        Some(Sighting::sure(
            Verdict::Truncated,
            Sure::Certain,
            format!("it ended after {so_far}: {why}"),
        ))
    };
    if arrivals.tail_bytes > 0 {
        return certain(format!("{} bytes of an unfinished event were left", arrivals.tail_bytes));
    }
    if arrivals.end == End::Cut {
        return certain("the connection closed before the framing said the body was whole".into());
    }
    match origin {
        Origin::Script(_) | Origin::Own(_) => {
            certain("the script's terminal event did not come".into())
        }
        Origin::Direct(direct) if direct.has_terminal() => {
            certain("the terminal event, which comes on the direct way, did not".into())
        }
        Origin::Direct(_) => None,
        Origin::Unknown => Some(Sighting::sure(
            Verdict::Truncated,
            Sure::Likely,
            format!(
                "it ended well-formed after {so_far}, but without a terminal event: likely cut by a hop that closes the framing itself, unless this service sends none"
            ),
        )),
    }
}

/// Holds a stream's shape against that of the same request on a way without the suspect.
fn against(arrivals: &Arrivals, direct: &Arrivals, thresholds: &Thresholds) -> Sighting {
    let own = Shape::of(arrivals, thresholds);
    let control = Shape::of(direct, thresholds);
    let few = own.events.min(control.events);
    if few < thresholds.least_events {
        return Sighting::open(&[], too_few(few));
    }
    let (here, there) = (own.events_per_release(), control.events_per_release());
    let figures = format!(
        "{} events at a time, {} on the direct way, the first after {} and {}",
        decimal(here, 2),
        decimal(there, 2),
        own.waited(),
        control.waited()
    );
    let single = |shape: &Shape| {
        shape.events_per_release() <= thresholds.live_frames_per_read
            && shape.lasted() > thresholds.live_longest
    };
    if single(&own) {
        return behind(&own, &control, thresholds).unwrap_or_else(|| live(&own, thresholds));
    }
    if !single(&control) {
        // Both come together: the origin's doing, if they do so alike.
        let alike = here.max(there) <= thresholds.alike * here.min(there);
        return if alike {
            let because = format!(
                "{figures}: both ways agree, so the origin itself likely writes them together"
            );
            Sighting::sure(Verdict::BatchedAtOrigin, Sure::Likely, because)
        } else {
            let because = format!("{figures}: the origin batches, and the path may add to it");
            Sighting::open(&[Verdict::BatchedAtOrigin], because)
        };
    }
    if here < thresholds.origin_frames_per_write {
        let because = format!("{figures}: put together now and then, by the path or this machine");
        return Sighting::open(&[Verdict::Live], because);
    }
    let path = |name: Verdict, what: String| {
        Sighting::sure(name, Sure::Likely, format!("{figures}: {what}; likely the path"))
    };
    if own.largest_share() >= thresholds.held_share {
        let what = format!("nearly all came at once, {} after the call", own.waited());
        return path(Verdict::Held, what);
    }
    if let Some((name, what)) = specific(&own, arrivals, thresholds) {
        return path(name, what);
    }
    let timer_or_buffer = || timer_or_buffer(&own, arrivals, thresholds);
    match filling(&own, arrivals, thresholds).or_else(timer_or_buffer) {
        Some((name, what)) => path(name, what),
        None => Sighting::open(
            &[Verdict::Corked, Verdict::BufferBursts],
            format!(
                "{figures}: the path puts events together, by a timer or by a buffer; play it at another pace"
            ),
        ),
    }
}

/// A path that keeps each event for the next one: the first comes one interval later than on the
/// direct way, and the last one together with the terminal event, which it does not there.
fn behind(own: &Shape, control: &Shape, thresholds: &Thresholds) -> Option<Sighting> {
    let waits: Vec<Span> = control.spaced().iter().map(|(wait, _)| *wait).collect();
    let interval = median(&waits)?;
    let later = own.waited() - control.waited();
    let window = thresholds.behind_share * interval.as_micros() as f64;
    let by_one = (later - interval).as_micros().abs() as f64 <= window;
    let together = own.terminal_after? <= thresholds.same_release
        && control.terminal_after? > thresholds.live_hold;
    (by_one && together && interval > thresholds.live_hold).then(|| {
        Sighting::sure(
            Verdict::OneBehind,
            Sure::Likely,
            format!(
                "the first event came {later} later than on the direct way, where events are {interval} apart, and the last one only with the terminal event: likely a path that keeps each event for the next"
            ),
        )
    })
}

/// What a stream's shape shows by itself.
fn by_shape(shape: &Shape, arrivals: &Arrivals, thresholds: &Thresholds) -> Sighting {
    if shape.events < thresholds.least_events {
        return Sighting::open(&[], too_few(shape.events));
    }
    if let Some(found) = one_behind(shape, thresholds) {
        return found;
    }
    let per_release = shape.events_per_release();
    let lasted = shape.lasted();
    if per_release <= thresholds.live_frames_per_read && lasted > thresholds.live_longest {
        return live(shape, thresholds);
    }
    if let Some((name, because)) = specific(shape, arrivals, thresholds) {
        return Sighting::sure(name, Sure::Likely, because);
    }
    let head = shape.head.map_or(String::new(), |head| format!(", the head after {head}"));
    if lasted <= thresholds.live_longest || shape.largest_share() >= thresholds.held_share {
        return Sighting::open(
            &[Verdict::Held, Verdict::BatchedAtOrigin],
            format!(
                "{} events came within {lasted}, the first {} after the call{head}: {PATH_OR_ORIGIN}, which its arrivals alone cannot tell",
                shape.events,
                shape.waited()
            ),
        );
    }
    let figures = format!("{} events at a time over {lasted}", decimal(per_release, 2));
    if on_timer(shape, thresholds) {
        let waits: Vec<Span> = shape.spaced().iter().map(|(wait, _)| *wait).collect();
        let wait = median(&waits).unwrap_or_default();
        return Sighting::open(
            &[Verdict::Corked, Verdict::BatchedAtOrigin],
            format!(
                "{figures}, every {wait}, as the kernel's 200 ms timer for a part-filled segment would: {PATH_OR_ORIGIN}"
            ),
        );
    }
    Sighting::open(
        &[Verdict::BufferBursts, Verdict::BatchedAtOrigin],
        format!("{figures}, in bursts: {PATH_OR_ORIGIN}, which its arrivals alone cannot tell"),
    )
}

fn live(shape: &Shape, thresholds: &Thresholds) -> Sighting {
    let longest = shape.spaced().iter().map(|(wait, _)| *wait).max().unwrap_or_default();
    let stalled = if longest > thresholds.live_longest {
        format!(", at most {longest} apart")
    } else {
        String::new()
    };
    Sighting::sure(
        Verdict::Live,
        Sure::Likely,
        format!(
            "{} events came {} at a time over {}, the first {} after the call{stalled}: likely live; a delay that all events share, or by one event, does not show here",
            shape.events,
            decimal(shape.events_per_release(), 2),
            shape.lasted(),
            shape.waited()
        ),
    )
}

/// Each event is complete only with the bytes of the next one. Who keeps its end back does not
/// show.
fn one_behind(shape: &Shape, thresholds: &Thresholds) -> Option<Sighting> {
    let late = shape.ends_late.len();
    (late as f64 >= thresholds.pattern_share * f64::from(shape.events)).then(|| {
        Sighting::sure(
            Verdict::OneBehind,
            Sure::Likely,
            format!(
                "the end of {late} of {} events came only with the beginning of the next one, {} after their own beginning: a path that keeps it back, or an origin that writes it late",
                shape.events,
                median(&shape.ends_late).unwrap_or_default()
            ),
        )
    })
}

/// What the content type adds. EventSource refuses any but its own, whoever chose it.
fn of_type(found: Sighting, arrivals: &Arrivals, origin: Origin<'_>) -> Sighting {
    let Some(came) = arrivals.content_type.as_deref() else { return found };
    if same_type(came, EVENT_STREAM) {
        return found;
    }
    let sent = match origin {
        Origin::Direct(direct) => direct.content_type.as_deref(),
        _ => None,
    };
    match sent {
        Some(sent) if same_type(sent, came) => found,
        Some(sent) if found.finding.name == Verdict::Live => Sighting::sure(
            Verdict::TypeChanged,
            Sure::Certain,
            format!(
                "the content type was changed on the way, from {sent} to {came}, which EventSource refuses; the bytes themselves are live: {}",
                found.finding.because
            ),
        ),
        None if found.finding.name == Verdict::Live => Sighting::open(
            &[Verdict::TypeChanged, Verdict::Live],
            format!(
                "{}; but it came as {came}, which EventSource refuses: changed on the way, or sent so by the origin",
                found.finding.because
            ),
        ),
        _ => found,
    }
}

fn too_few(events: u32) -> String {
    format!("{events} events are too few to show a pattern")
}

#[cfg(test)]
#[path = "arrivals_tests.rs"]
mod tests;
