//! Agreement: the same shape, not the same millisecond.
//!
//! Two measurements agree when they name the same holder by the same order of magnitude: each
//! published figure of a row falls into the same class as ours, or within the stated factor.
//! The classes, with their reasons, are the constants of this file; [`rules`] says them in words.

use super::{Figure, Find, Line, Ours, Published, Quantity, causes};
use crate::cell::DIRECT;
use crate::prompts::{Prompts, REPLAY_SPEED};
use crate::results::{CellResult, Document};
use crate::units::Span;
use crate::verdict::Verdict;

/// Whether a published row and ours show the same.
#[derive(Clone, Debug, PartialEq)]
pub enum Agreement {
    /// Every published figure has the shape of ours.
    Agrees,
    /// Some have not.
    Differs {
        /// Which.
        which: Vec<Quantity>,
        /// Why, where the evidence shows it.
        because: Option<String>,
    },
    /// No cell of this document measured it.
    NotRun,
    /// It was to be measured and could not be.
    Skipped {
        /// Why not.
        why: String,
    },
}

impl Agreement {
    /// The agreement in words.
    pub fn sentence(&self) -> String {
        match self {
            Agreement::Agrees => "agrees".into(),
            Agreement::Differs { which, because } => {
                let names: Vec<&str> = which.iter().map(|quantity| quantity.name()).collect();
                let names = names.join(" and ");
                match because {
                    Some(why) => format!("differs in {names}, because {why}"),
                    None => format!("differs in {names}, cause not known"),
                }
            }
            Agreement::NotRun => "not yet run".into(),
            Agreement::Skipped { why } => format!("skipped: {why}"),
        }
    }
}

/// A first token within this came at once: the 20 ms within which a hold counts as none, and
/// 10 ms for connecting and for the head.
pub(super) const AT_ONCE: Span = Span::millis(30);
/// The kernel's 200 ms cork timer, less the frames that a full segment may release early, and
/// with the room that the verdicts give it on a busy machine.
const CORK: (Span, Span) = (Span::millis(150), Span::millis(260));
/// From this share of the stream's length on, the first token came with the last.
const HELD_SHARE: f64 = 0.9;
/// Gaps under this share of the interval are frames that came together.
const TOGETHER_SHARE: f64 = 0.1;
/// Gaps that differ from the interval by no more than this share kept the emitter's pace.
const PACE_SHARE: f64 = 0.1;
/// A longest gap up to this many intervals is pace with noise.
const MAX_GAP_PACE: f64 = 1.5;
/// Frames per read up to which a path is at its floor (published: 1.02, one merged read in 41).
const FLOOR: f64 = 1.1;
/// Above the floor: counts of reads are small whole numbers (13.67 is 41 frames in 3 reads, 20.5
/// is 41 in 2), so that one read more or less can be half as much again.
const FACTOR: f64 = 2.0;
/// An answer in at most this many reads came at once: its end mark may come apart.
const ONE_READ: u32 = 2;
/// Milestones may lie apart by this share of the stream's length: it tells start, middle and
/// end from each other.
const MILESTONE_SHARE: f64 = 0.2;
/// The emitter was done before this share of the client's time: somebody took it all in.
const AHEAD_SHARE: f64 = 0.25;
/// It was done after this share: it was held back to the client's pace. Sockets' own buffers
/// take some megabytes, so that it is never the whole.
const BACK_PRESSURE_SHARE: f64 = 0.5;
/// Less than this is no temporary file: buffers in memory are kilobytes.
const NO_FILE: u64 = 1_000_000;
/// The greatest share of excluded runs that was published for a condition.
const EXCLUDED_MOST: f64 = 0.117;
/// Published: twice as many with Nagle's algorithm on (5.0% and 10.0%).
const EXCLUDED_MORE: f64 = 1.5;
/// Fewer excluded runs than this in both conditions carry no ratio.
const EXCLUDED_LEAST: u32 = 3;

/// Up to this many times the direct path's time a path added nothing (published for the cure:
/// 1.07), and from [`HELD_TIMES`] on it held (published for the defaults: 4.8 and 7.3).
const AS_DIRECT_TIMES: f64 = 1.5;
/// See [`AS_DIRECT_TIMES`].
const HELD_TIMES: f64 = 2.0;
/// Answers in one read up to this share are none: one of a hundred may be a stall of the machine.
const NO_SINGLE_READS: f64 = 0.01;
/// Fewer prompts than this have no 95th percentile, and their share says little.
const LEAST_PROMPTS: u32 = 20;

/// The rules in words, for the report.
pub fn rules() -> &'static [(&'static str, &'static str)] {
    &[
        (
            "TTFT",
            "the same of: at once (under 30 ms), a later frame's time (30–150 ms), the kernel's cork timer (150–260 ms), with the end (from 90% of the stream's length), other",
        ),
        (
            "gap",
            "the same of: together (under a tenth of the interval), the emitter's pace (within a tenth of it), between; the longest: pace (up to 1.5 intervals), cork timer (150–260 ms and up to an interval more), other",
        ),
        (
            "frames per read",
            "both at the floor (up to 1.10), or both above it and within a factor of 2",
        ),
        ("reads", "both at most 2 (all came at once), or both more and within a factor of 2"),
        (
            "first body, half the bytes, all",
            "within a fifth of the stream's length of each other; without a pace, within a factor of 2",
        ),
        (
            "upstream done",
            "both far ahead of the client (under a quarter of its time), or both held to its pace (from half of it)",
        ),
        (
            "TTFT and TTFT p95 of prompts",
            "the same of: as on the direct path (up to 1.5 times), held (2 times and more), between; on the direct path itself within a factor of 2, its speed taken off",
        ),
        ("in one read", "both none (up to 1%), or both some and within a factor of 2"),
        ("frames", "within a factor of 2: how long an answer is, is its service's own"),
        ("temp file", "both none (under 1 MB), or both at least half of the answer"),
        (
            "excluded",
            "with Nagle off no more than the greatest share published (11.7%); with it on at least half as many again",
        ),
    ]
}

/// Judges a row that has a cell.
pub(super) fn cell(
    document: &Document,
    published: &Published,
    line: &Line,
    find: &Find,
    cell: &CellResult,
) -> Agreement {
    let summary = &cell.summary;
    if matches!(summary.verdict.name, Verdict::Failed | Verdict::Void)
        || summary.outcomes.complete == 0
    {
        let why = format!("{}: {}", summary.verdict.name.name(), summary.verdict.because);
        return Agreement::Skipped { why };
    }
    let complete = summary.outcomes.complete;
    if find.prompts == Some(Prompts::Replay) && complete < LEAST_PROMPTS {
        let why = format!(
            "{complete} prompts are too few for shares and a 95th percentile: `holdup measure --preset chat-replay --runs 200` puts as many as were published"
        );
        return Agreement::Skipped { why };
    }
    let mut which = Vec::new();
    for (quantity, theirs) in published.columns.iter().zip(line.figures) {
        let Some(theirs) = theirs else { continue };
        let Some(ours) = quantity.of(cell) else {
            return Agreement::Skipped { why: format!("no {} was taken", quantity.name()) };
        };
        let same = match beside_direct(document, published, find, *quantity, *theirs, ours) {
            Some(same) => same,
            None => same_shape(*quantity, *theirs, ours, published, line, cell),
        };
        if !same {
            which.push(*quantity);
        }
    }
    if which.is_empty() {
        return Agreement::Agrees;
    }
    let because = causes::known(document, published, find, cell, &which);
    Agreement::Differs { which, because }
}

/// Judges a time of the replay by the direct path's own, published and here: how fast the service
/// is, is its own. `None` for what is judged by itself.
fn beside_direct(
    document: &Document,
    published: &Published,
    find: &Find,
    quantity: Quantity,
    theirs: Figure,
    ours: Figure,
) -> Option<bool> {
    let timed = matches!(quantity, Quantity::Ttft | Quantity::TtftP95);
    let (Figure::Time(theirs), Figure::Time(ours)) = (theirs, ours) else { return None };
    if find.prompts != Some(Prompts::Replay) || !timed {
        return None;
    }
    if find.endpoint == DIRECT {
        let at_published_speed = ours.as_millis_f64() * f64::from(REPLAY_SPEED);
        return Some(within_factor(theirs.as_millis_f64(), at_published_speed));
    }
    let direct = Find { endpoint: DIRECT, ..*find };
    let column = published.columns.iter().position(|other| *other == quantity)?;
    let line = published.rows.iter().find(|line| line.ours == Ours::Cell(direct))?;
    let Some(Figure::Time(their_direct)) = *line.figures.get(column)? else { return None };
    let Some(Figure::Time(our_direct)) = quantity.of(direct.cell(document)?) else {
        // Without a direct path there is nothing to hold it against.
        return Some(false);
    };
    Some(times(theirs, their_direct) == times(ours, our_direct))
}

#[derive(PartialEq)]
enum Times {
    AsDirect,
    Between,
    Held,
}

fn times(time: Span, direct: Span) -> Times {
    let times = time.as_millis_f64() / direct.as_millis_f64().max(f64::MIN_POSITIVE);
    if times <= AS_DIRECT_TIMES {
        Times::AsDirect
    } else if times < HELD_TIMES {
        Times::Between
    } else {
        Times::Held
    }
}

/// Judges the share of excluded runs with Nagle's algorithm off or on: each some of all.
pub(super) fn exclusions(nagle: bool, off: (u32, u32), on: (u32, u32)) -> Agreement {
    let share = |(some, all): (u32, u32)| f64::from(some) / f64::from(all.max(1));
    let differs = || Agreement::Differs { which: vec![Quantity::Excluded], because: None };
    if !nagle {
        return if share(off) <= EXCLUDED_MOST { Agreement::Agrees } else { differs() };
    }
    if on.0 < EXCLUDED_LEAST && off.0 < EXCLUDED_LEAST {
        let why = format!(
            "{} of {} runs excluded with Nagle off and {} of {} with it on are too few to show a ratio",
            off.0, off.1, on.0, on.1
        );
        return Agreement::Skipped { why };
    }
    if share(on) >= EXCLUDED_MORE * share(off) {
        return Agreement::Agrees;
    }
    differs()
}

pub(super) fn same_shape(
    quantity: Quantity,
    theirs: Figure,
    ours: Figure,
    published: &Published,
    line: &Line,
    cell: &CellResult,
) -> bool {
    let script = &cell.cell.script;
    let length = script.duration();
    let interval = script.shortest_interval().unwrap_or_default();
    match (quantity, theirs, ours) {
        // The far end of a published range is its claim.
        (Quantity::Ttft, Figure::Time(theirs) | Figure::Between(_, theirs), Figure::Time(ours)) => {
            wait(theirs, length) == wait(ours, length)
        }
        (Quantity::Gap, Figure::Time(theirs), Figure::Time(ours)) => {
            pace(theirs, interval) == pace(ours, interval)
        }
        (Quantity::MaxGap, Figure::Time(theirs), Figure::Time(ours)) => {
            longest(theirs, interval) == longest(ours, interval)
        }
        (Quantity::FramesPerRead, Figure::Ratio(theirs), Figure::Ratio(ours)) => {
            let floors = (theirs <= FLOOR, ours <= FLOOR);
            floors == (true, true) || floors == (false, false) && within_factor(theirs, ours)
        }
        (Quantity::Reads, Figure::Count(theirs), Figure::Count(ours)) => {
            let at_once = (theirs <= ONE_READ, ours <= ONE_READ);
            at_once == (true, true)
                || at_once == (false, false) && within_factor(f64::from(theirs), f64::from(ours))
        }
        (Quantity::SingleReads, Figure::Of(theirs, of_theirs), Figure::Of(ours, of_ours)) => {
            let share = |some: u32, all: u32| f64::from(some) / f64::from(all.max(1));
            let (theirs, ours) = (share(theirs, of_theirs), share(ours, of_ours));
            let none = (theirs <= NO_SINGLE_READS, ours <= NO_SINGLE_READS);
            none == (true, true) || none == (false, false) && within_factor(theirs, ours)
        }
        (Quantity::Frames, Figure::Count(theirs), Figure::Count(ours)) => {
            within_factor(f64::from(theirs), f64::from(ours))
        }
        (
            Quantity::FirstBody | Quantity::HalfBytes | Quantity::Total,
            Figure::Time(theirs),
            Figure::Time(ours),
        ) => match length {
            Span::ZERO => within_factor(theirs.as_millis_f64(), ours.as_millis_f64()),
            _ => (theirs - ours).abs().as_millis_f64() <= MILESTONE_SHARE * length.as_millis_f64(),
        },
        (Quantity::UpstreamDone, Figure::Time(theirs), Figure::Time(ours)) => {
            let total = |figure: Option<Figure>| match figure {
                Some(Figure::Time(total)) => Some(total),
                _ => None,
            };
            let column = published.columns.iter().position(|other| *other == Quantity::Total);
            let their_total = column.and_then(|index| total(*line.figures.get(index)?));
            let our_total = total(Quantity::Total.of(cell));
            let (Some(their_total), Some(our_total)) = (their_total, our_total) else {
                return false;
            };
            back_pressure(theirs, their_total) == back_pressure(ours, our_total)
        }
        (Quantity::TempFile, Figure::Bytes(theirs), Figure::Bytes(ours)) => {
            let half = script.total_bytes() / 2;
            theirs < NO_FILE && ours < NO_FILE || theirs >= half && ours >= half
        }
        _ => false,
    }
}

fn within_factor(theirs: f64, ours: f64) -> bool {
    theirs <= ours * FACTOR && ours <= theirs * FACTOR
}

#[derive(PartialEq)]
enum Wait {
    AtOnce,
    WithLaterFrame,
    Cork,
    WithTheEnd,
    Other,
}

fn wait(ttft: Span, length: Span) -> Wait {
    let near_the_end = HELD_SHARE * length.as_millis_f64();
    if ttft < AT_ONCE {
        Wait::AtOnce
    } else if ttft < CORK.0 {
        Wait::WithLaterFrame
    } else if ttft <= CORK.1 {
        Wait::Cork
    } else if ttft.as_millis_f64() >= near_the_end {
        Wait::WithTheEnd
    } else {
        Wait::Other
    }
}

#[derive(PartialEq)]
enum Pace {
    Together,
    Between,
    Kept,
    Longer,
}

fn pace(gap: Span, interval: Span) -> Pace {
    let share = gap.as_millis_f64() / interval.as_millis_f64().max(f64::MIN_POSITIVE);
    if share < TOGETHER_SHARE {
        Pace::Together
    } else if share < 1.0 - PACE_SHARE {
        Pace::Between
    } else if share <= 1.0 + PACE_SHARE {
        Pace::Kept
    } else {
        Pace::Longer
    }
}

#[derive(PartialEq)]
enum Longest {
    Pace,
    Cork,
    Other,
}

fn longest(gap: Span, interval: Span) -> Longest {
    if gap.as_millis_f64() <= MAX_GAP_PACE * interval.as_millis_f64() {
        Longest::Pace
    } else if gap >= CORK.0 && gap <= CORK.1 + interval {
        Longest::Cork
    } else {
        Longest::Other
    }
}

#[derive(PartialEq)]
enum BackPressure {
    None,
    Some,
    Full,
}

fn back_pressure(upstream: Span, client: Span) -> BackPressure {
    let share = upstream.as_millis_f64() / client.as_millis_f64().max(f64::MIN_POSITIVE);
    if share < AHEAD_SHARE {
        BackPressure::None
    } else if share < BACK_PRESSURE_SHARE {
        BackPressure::Some
    } else {
        BackPressure::Full
    }
}
