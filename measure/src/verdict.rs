//! Verdicts: what one run's evidence shows, and what the runs of a cell show together.
//!
//! Every threshold stands in [`Thresholds`], with its reason.

pub mod arrivals;
mod browser;
mod bursts;
mod pooled;
mod shape;
mod thresholds;

use serde::{Deserialize, Serialize};

use crate::measurement::{Burst, Measurement, Outcome};
use crate::stats::{self, median, nearest_rank};
use crate::units::{Span, decimal};

pub use browser::{PageEvidence, of_page};
pub use pooled::of_cell;
pub use thresholds::Thresholds;

/// The name of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Frames come one by one, at once.
    Live,
    /// Nearly everything comes at the very end.
    Held,
    /// Bursts with the period of the kernel's cork timer, or of one segment's worth of bytes.
    Corked,
    /// Deliveries of a buffer's size, whatever the period.
    BufferBursts,
    /// Frame k arrives when frame k + 1 is written.
    OneBehind,
    /// The origin wrote frames together, and the path passed them on as they were.
    BatchedAtOrigin,
    /// Live on the wire, but the browser gave the reader several frames at a time.
    BatchedInBrowser,
    /// Live on the wire, but the page was busy.
    PageBusy,
    /// The request left late, because the browser's connections to the origin were taken.
    ConnectionLimit,
    /// The bytes are live, but the content type was rewritten on the way: EventSource refuses it.
    TypeChanged,
    /// The stream ended before its terminal event.
    Truncated,
    /// It ended well without a token.
    NoToken,
    /// An error.
    Failed,
    /// The guards took the ground away.
    Void,
    /// The evidence does not decide.
    CannotTell,
}

impl Verdict {
    /// The name as it stands in results and tables.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Live => "live",
            Verdict::Held => "held",
            Verdict::Corked => "corked",
            Verdict::BufferBursts => "buffer-bursts",
            Verdict::OneBehind => "one-behind",
            Verdict::BatchedAtOrigin => "batched-at-origin",
            Verdict::BatchedInBrowser => "batched-in-browser",
            Verdict::PageBusy => "page-busy",
            Verdict::ConnectionLimit => "connection-limit",
            Verdict::TypeChanged => "type-changed",
            Verdict::Truncated => "truncated",
            Verdict::NoToken => "no-token",
            Verdict::Failed => "failed",
            Verdict::Void => "void",
            Verdict::CannotTell => "cannot-tell",
        }
    }
}

/// A verdict with one sentence that holds its figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was found.
    pub name: Verdict,
    /// Why, in one sentence.
    pub because: String,
    /// How sure the name is; absent where both ends of the stream were timed, or where nothing
    /// is named: there the sentence's own figures say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sure: Option<Sure>,
}

/// How sure a verdict is that was given from arrivals alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sure {
    /// It fits, and little else does.
    Likely,
    /// The bytes themselves say so.
    Certain,
}

impl Finding {
    /// A verdict and its reason.
    pub fn new(name: Verdict, because: impl Into<String>) -> Finding {
        Finding { name, because: because.into(), sure: None }
    }
}

/// What one accepted run shows.
pub fn of_run(measurement: &Measurement, thresholds: &Thresholds) -> Finding {
    let found = of_times(measurement, thresholds);
    match &measurement.type_changed {
        Some(change) => type_changed(found, change),
        None => found,
    }
}

/// A stream whose content type was rewritten: that is the cause where the bytes are live, and
/// stands beside the cause where they are not.
fn type_changed(found: Finding, change: &str) -> Finding {
    let what =
        format!("the content type was changed on the way, {change}, which EventSource refuses");
    match found.name {
        Verdict::Live => Finding {
            name: Verdict::TypeChanged,
            because: format!("{what}; the bytes themselves are live: {}", found.because),
            ..found
        },
        // Another answer than the stream has another type.
        Verdict::Failed => found,
        _ => Finding { because: format!("{}; besides, {what}", found.because), ..found },
    }
}

fn of_times(measurement: &Measurement, thresholds: &Thresholds) -> Finding {
    match &measurement.outcome {
        Outcome::Failed { what } => return Finding::new(Verdict::Failed, what.clone()),
        Outcome::NoToken => {
            return Finding::new(Verdict::NoToken, "the stream ended well, but without a token");
        }
        Outcome::Truncated => return truncated(measurement),
        Outcome::Complete => {}
    }
    let (Some(per_read), false) = (measurement.frames_per_read(), measurement.holds.is_empty())
    else {
        return Finding::new(
            Verdict::CannotTell,
            "the ledger or the wire's side of this stream is missing: nothing to hold its arrivals against",
        );
    };
    if measurement.pace.is_none() {
        return of_first_byte(measurement, thresholds);
    }
    let mut holds: Vec<Span> = measurement.holds.iter().map(|hold| hold.after).collect();
    stats::sort(&mut holds);
    let middle = nearest_rank(&holds, 0.5).unwrap_or_default();
    let high = nearest_rank(&holds, 0.9).unwrap_or_default();
    let first = measurement.holds.first().map_or(Span::ZERO, |hold| hold.after);
    let longest = holds.last().copied().unwrap_or_default();
    if per_read <= thresholds.live_frames_per_read
        && high <= thresholds.live_hold
        && first <= thresholds.live_hold
        && longest <= thresholds.live_longest
    {
        return Finding::new(
            Verdict::Live,
            format!(
                "{} frames per read, held {middle} on the path (90% within {high})",
                decimal(per_read, 2)
            ),
        );
    }
    let corked = corked(measurement, thresholds);
    let one_behind = one_behind(measurement, thresholds);
    if corked.is_some() && one_behind.is_some() {
        return Finding::new(
            Verdict::CannotTell,
            format!(
                "a wait of {middle} is both the kernel's 200 ms timer and the time to the next frame: play it at another interval"
            ),
        );
    }
    let known = batched_at_origin(measurement, high, thresholds)
        .or_else(|| held(measurement, thresholds))
        .or(corked)
        .or(one_behind)
        .or_else(|| buffer_bursts(measurement, thresholds));
    known.unwrap_or_else(|| {
        Finding::new(
            Verdict::CannotTell,
            format!(
                "{} frames per read, held {middle} (90% within {high}, the first {first}, at most {longest}), in no known pattern",
                decimal(per_read, 2)
            ),
        )
    })
}

/// A reader that is slow on purpose, or frames that were all due at once: only the first byte can
/// tell whether somebody waited for more. The first frame's end cannot: a path may cut it in two,
/// and then our own reader's pause lies between.
fn of_first_byte(measurement: &Measurement, thresholds: &Thresholds) -> Finding {
    let Some(first) = measurement.first_byte_hold else {
        return Finding::new(Verdict::CannotTell, "no byte can be held against the ledger");
    };
    if first <= thresholds.live_hold {
        return Finding::new(
            Verdict::Live,
            format!(
                "the first byte came {first} after its write began; the rest follows the reader's own pace"
            ),
        );
    }
    let since_first = |at: Option<&crate::Stamp>| Some(*at? - *measurement.written.first()?);
    let waited_for = |at: Option<Span>| at.is_some_and(|at| first >= at);
    if waited_for(since_first(measurement.written.last())) {
        return Finding::new(
            Verdict::Held,
            format!("the first byte came only {first} after its write, when all had been written"),
        );
    }
    if waited_for(since_first(measurement.written.get(1))) {
        return Finding::new(
            Verdict::BufferBursts,
            format!("the first byte came only {first} after its write, when more had been written"),
        );
    }
    Finding::new(
        Verdict::CannotTell,
        format!("the first byte came {first} after its write, before there was more to wait for"),
    )
}

fn batched_at_origin(
    measurement: &Measurement,
    high: Span,
    thresholds: &Thresholds,
) -> Option<Finding> {
    let mut writes = measurement.written.clone();
    writes.dedup();
    let per_write = measurement.written.len() as f64 / writes.len().max(1) as f64;
    if per_write < thresholds.origin_frames_per_write || high > thresholds.live_hold {
        return None;
    }
    Some(Finding::new(
        Verdict::BatchedAtOrigin,
        format!(
            "the origin wrote {} frames at a time, and the path passed them on within {high}",
            decimal(per_write, 1)
        ),
    ))
}

fn one_behind(measurement: &Measurement, thresholds: &Thresholds) -> Option<Finding> {
    let mut waiting = 0;
    let mut behind = 0;
    let mut waits = Vec::new();
    for hold in measurement.holds.iter().filter(|hold| hold.after > thresholds.live_hold) {
        let index = hold.seq as usize;
        // The last frame has none after it: the stream's end releases it.
        let Some((own, next)) =
            measurement.written.get(index).zip(measurement.written.get(index + 1))
        else {
            continue;
        };
        waiting += 1;
        let after_next = *own + hold.after - *next;
        let interval = (*next - *own).as_micros() as f64;
        let window =
            Span((interval * thresholds.behind_share) as i64).min(thresholds.released_hold);
        // Its arrival may be stamped a little before the next write returned.
        if after_next.abs() <= window {
            behind += 1;
            waits.push(hold.after);
        }
    }
    let single = measurement
        .frames_per_read()
        .is_some_and(|per_read| per_read <= thresholds.live_frames_per_read);
    let most = f64::from(behind) >= thresholds.pattern_share * f64::from(measurement.frames);
    (single && behind == waiting && most).then(|| {
        Finding::new(
            Verdict::OneBehind,
            format!(
                "{behind} of {} frames came when the next one was written, {} after their own write",
                measurement.frames,
                median(&waits).unwrap_or_default()
            ),
        )
    })
}

fn buffer_bursts(measurement: &Measurement, thresholds: &Thresholds) -> Option<Finding> {
    // The stream's end releases whatever is there: the last burst's size says nothing.
    let (_, bursts) = measurement.bursts.split_last()?;
    let released = |burst: &&Burst| {
        burst.frames >= 2
            && burst.first_hold.is_some_and(|hold| hold > thresholds.live_hold)
            && burst.last_hold.is_some_and(|hold| hold <= thresholds.released_hold)
    };
    let full: Vec<&Burst> = bursts.iter().filter(released).collect();
    if full.len() < 2 || !carry_most(&full, bursts, thresholds) {
        return None;
    }
    let mut sizes: Vec<Span> =
        full.iter().filter_map(|burst| Some(Span(burst.bytes? as i64))).collect();
    stats::sort(&mut sizes);
    let size = nearest_rank(&sizes, 0.5)?.as_micros();
    let near = sizes
        .iter()
        .filter(|other| {
            (other.as_micros() - size).abs() as f64 <= thresholds.buffer_spread * size as f64
        })
        .count();
    if (near as f64) < thresholds.pattern_share * sizes.len() as f64 {
        return None;
    }
    let per_read = measurement.frames_per_read()?;
    Some(Finding::new(
        Verdict::BufferBursts,
        format!(
            "{} frames per read, {near} of {} bursts of about {size} bytes, each released by its own last frame: a buffer that is passed on when it is full",
            decimal(per_read, 2),
            bursts.len()
        ),
    ))
}

fn truncated(measurement: &Measurement) -> Finding {
    let planned =
        measurement.frames_planned.map_or(String::new(), |planned| format!(" of {planned}"));
    Finding::new(
        Verdict::Truncated,
        format!(
            "it ended after {} frames{planned} and {}, before its terminal event",
            measurement.frames, measurement.total
        ),
    )
}

fn held(measurement: &Measurement, thresholds: &Thresholds) -> Option<Finding> {
    let last = measurement.bursts.last()?;
    let first = measurement.bursts.first()?;
    let waited = first.first_hold.filter(|hold| *hold > thresholds.live_hold)?;
    let in_last = f64::from(last.frames) / f64::from(measurement.frames.max(1));
    let nothing_before_the_end =
        measurement.frames > 1 && measurement.last_written.is_some_and(|end| first.at >= end);
    if !nothing_before_the_end && (in_last < thresholds.held_share || measurement.frames < 2) {
        return None;
    }
    Some(Finding::new(
        Verdict::Held,
        format!(
            "{} of {} frames came in the last delivery; the first one waited {waited}",
            last.frames, measurement.frames
        ),
    ))
}

fn corked(measurement: &Measurement, thresholds: &Thresholds) -> Option<Finding> {
    let waits = |burst: &Burst| burst.first_hold.is_some_and(|hold| hold > thresholds.live_hold);
    let segment = measurement.segment_bytes.map(u64::from).filter(|bytes| *bytes > 0);
    // A burst that its last frame filled up to a segment, and that left with it: without that
    // frame it was under one.
    let fills = |burst: &Burst| {
        burst.frames >= 2
            && burst.last_hold.is_some_and(|hold| hold <= thresholds.released_hold)
            && burst.bytes.zip(segment).is_some_and(|(bytes, segment)| {
                bytes >= segment && bytes - bytes / u64::from(burst.frames) < segment
            })
    };
    // A burst that a timer released takes along all that had been written by then: a constant
    // latency of the timer's length does not.
    let takes_all = |burst: &Burst| {
        let next = burst.last_seq.and_then(|seq| measurement.written.get(seq as usize + 1));
        next.is_none_or(|written| burst.at <= *written + thresholds.timer_last_hold)
    };
    let timed = |burst: &Burst| {
        burst
            .first_hold
            .is_some_and(|hold| hold >= thresholds.cork_min && hold <= thresholds.cork_max)
            && burst.last_hold.is_some_and(|hold| hold >= thresholds.timer_last_hold)
            && takes_all(burst)
    };
    // The stream's end releases whatever is there: the last burst fits no pattern and breaks none.
    let (_, bursts) = measurement.bursts.split_last()?;
    let waiting: Vec<&Burst> = bursts.iter().filter(|burst| waits(burst)).collect();
    let fitting: Vec<&Burst> =
        waiting.iter().copied().filter(|burst| timed(burst) || fills(burst)).collect();
    if fitting.is_empty() || !carry_most(&fitting, bursts, thresholds) {
        return None;
    }
    let by_timer = fitting.iter().filter(|burst| timed(burst)).count();
    let by_segment = fitting.iter().filter(|burst| fills(burst)).count();
    let per_read = measurement.frames_per_read()?;
    let first_holds: Vec<Span> = waiting.iter().filter_map(|burst| burst.first_hold).collect();
    let wait = median(&first_holds)?;
    let cause = if by_segment > by_timer {
        format!(
            "{by_segment} of {} bursts came as soon as a segment of {} bytes was full",
            waiting.len(),
            segment?
        )
    } else {
        format!(
            "{by_timer} of {} bursts came when the kernel's 200 ms timer for a part-filled segment ran out",
            waiting.len()
        )
    };
    Some(Finding::new(
        Verdict::Corked,
        format!(
            "{} frames per read, the first of each burst held {wait}: {cause}",
            decimal(per_read, 2)
        ),
    ))
}

/// Whether bursts of one pattern carry most of the frames: a stall now and then is none.
fn carry_most(fitting: &[&Burst], all: &[Burst], thresholds: &Thresholds) -> bool {
    let carried: u32 = fitting.iter().map(|burst| burst.frames).sum();
    let frames: u32 = all.iter().map(|burst| burst.frames).sum();
    f64::from(carried) >= thresholds.pattern_share * f64::from(frames)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
