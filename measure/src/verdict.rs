//! Verdicts: what one run's evidence shows, and what the runs of a cell show together.
//!
//! Every threshold stands in [`Thresholds`], with its reason.

pub mod answers;
pub mod arrivals;
mod browser;
mod bursts;
mod by_script;
mod flow;
mod patterns;
mod pooled;
mod shape;
mod thresholds;

use serde::{Deserialize, Serialize};

use crate::measurement::{Hold, Measurement, Outcome};
use crate::stats::{self, nearest_rank};
use crate::units::{Span, decimal};

use patterns::{batched_at_origin, buffer_bursts, corked, held, one_behind};

pub use browser::{PageEvidence, of_page};
pub use pooled::{of_cell, of_several};
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
    /// The path took nothing for a while, after a window's worth of bytes, and then went on.
    FlowControl,
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
            Verdict::FlowControl => "flow-control",
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

/// What a browser's run shows that no tap could follow: what came to the page at once was held
/// by nobody; of anything else it cannot be said whether path or browser held it.
pub fn without_wire(own: &Measurement, holds: &[Hold], thresholds: &Thresholds) -> Finding {
    let seen = Measurement { holds: holds.to_vec(), ..own.clone() };
    let found = of_run(&seen, thresholds);
    match found.name {
        Verdict::Held
        | Verdict::Corked
        | Verdict::BufferBursts
        | Verdict::OneBehind
        | Verdict::BatchedAtOrigin => Finding::new(
            Verdict::CannotTell,
            format!(
                "{} as the page saw it, {}; path or browser, which the wire's side would tell",
                found.name.name(),
                found.because
            ),
        ),
        _ => found,
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
    if let Some(stopped) = flow::flow_control(measurement, thresholds) {
        return stopped;
    }
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

fn truncated(measurement: &Measurement) -> Finding {
    let planned = match measurement.frames_planned {
        Some(_) if measurement.all_came() => ", all that the origin wrote,".into(),
        Some(planned) => format!(" of {planned}"),
        None => String::new(),
    };
    Finding::new(
        Verdict::Truncated,
        format!(
            "it ended after {} frames{planned} and {}, before its terminal event",
            measurement.frames, measurement.total
        ),
    )
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
