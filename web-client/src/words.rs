//! Figures and findings in words. Pure: what the page says is tested without a browser.

use measure::arrivals::Reader;
use measure::results::CellResult;
use measure::stats::{RatioSpread, Spread};
use measure::units::decimal;
use measure::{Span, Verdict};

use crate::model::Row;

/// What stands where there is no figure.
pub const NONE: &str = "–";

/// Milliseconds without their unit: at most one decimal, and none where the clock's step is
/// too coarse to carry one.
pub fn millis(span: Span, clock_step_us: i64) -> String {
    let us = span.as_micros();
    let whole = us.abs() >= 99_950 || clock_step_us >= 1_000;
    let rounded = (us.abs() + if whole { 500 } else { 50 }) / if whole { 1_000 } else { 100 };
    // A sign before nothing but zeros would claim a direction that was not measured.
    let sign = if us < 0 && rounded > 0 { "−" } else { "" };
    if whole {
        format!("{sign}{rounded}")
    } else {
        format!("{sign}{}.{}", rounded / 10, rounded % 10)
    }
}

/// Milliseconds with their unit.
pub fn span(span: Span, clock_step_us: i64) -> String {
    format!("{} ms", millis(span, clock_step_us))
}

/// A ratio such as frames per read.
pub fn ratio(spread: Option<&RatioSpread>) -> String {
    spread.map_or(NONE.into(), |spread| decimal(spread.median, 2))
}

/// Short spans, for a clock: microseconds under a millisecond.
pub fn fine(us: i64) -> String {
    if us.abs() < 1_000 {
        format!("{us} µs")
    } else {
        format!("{} ms", decimal(us as f64 / 1_000.0, 1))
    }
}

/// How good a finding is for someone who waits for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// Nobody holds anything.
    Good,
    /// Someone does, or the stream broke.
    Bad,
    /// Nothing can be said.
    Open,
}

/// A verdict's name in words, and its mood.
pub fn verdict(verdict: Verdict) -> (&'static str, Mood) {
    match verdict {
        Verdict::Live => ("Live: nobody holds them", Mood::Good),
        Verdict::Held => ("Held to the end", Mood::Bad),
        Verdict::Corked => ("Corked: let go in bursts", Mood::Bad),
        Verdict::BufferBursts => ("Buffered: let go when a buffer is full", Mood::Bad),
        Verdict::OneBehind => ("One behind: each waits for the next", Mood::Bad),
        Verdict::BatchedAtOrigin => ("Batched by the origin itself", Mood::Open),
        Verdict::BatchedInBrowser => ("Live, but the browser batched them", Mood::Open),
        Verdict::PageBusy => ("Live, but the page was busy", Mood::Open),
        Verdict::ConnectionLimit => ("Waited for a connection", Mood::Open),
        Verdict::TypeChanged => ("Live, but its content type was changed", Mood::Bad),
        Verdict::Truncated => ("Cut short", Mood::Bad),
        Verdict::NoToken => ("Ended without a token", Mood::Bad),
        Verdict::Failed => ("Failed", Mood::Bad),
        Verdict::Void => ("Void: not to be judged", Mood::Open),
        Verdict::CannotTell => ("Cannot tell", Mood::Open),
    }
}

/// A reader's name for people.
pub fn reader(reader: Reader) -> &'static str {
    match reader {
        Reader::Eventsource => "EventSource",
        Reader::Fetch => "fetch",
        other => other.name(),
    }
}

/// An engine's name for people.
pub fn engine(name: &str) -> String {
    match name {
        "webkit" => "WebKit".into(),
        "unknown" => "this browser".into(),
        other => {
            let mut name = other.to_string();
            capital(&mut name);
            name
        }
    }
}

/// Names in a sentence: `a`, `a and b`, `a, b and c`.
pub fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [most @ .., last] => format!("{} and {last}", joined(most, ", ")),
    }
}

fn joined<S: AsRef<str>>(parts: &[S], between: &str) -> String {
    let mut text = String::new();
    for part in parts {
        if !text.is_empty() {
            text.push_str(between);
        }
        text.push_str(part.as_ref());
    }
    text
}

/// How many, and of what: `1 run`, `3 runs`.
pub fn count(n: u32, what: &str) -> String {
    if n == 1 { format!("{n} {what}") } else { format!("{n} {what}s") }
}

/// Runs that a guard set aside.
pub fn excluded(row: &CellResult) -> u32 {
    row.summary.excluded.values().sum()
}

/// The figure below which these rows claim nothing: the clock's uncertainty, its step, and how
/// far apart the two ends of a write stand; `None` when no row claims anything.
pub fn floor(rows: &[&CellResult], clock_step_us: i64) -> Option<Span> {
    let limits = rows
        .iter()
        .flat_map(|row| [row.summary.clock_uncertainty_us, row.summary.path_uncertainty_us])
        .flatten();
    Some(limits.max()?.max(Span(clock_step_us)))
}

/// The whole run in a sentence or two, from the rows of one reader; `None` before a run.
pub fn answer(rows: &[&CellResult], engine_name: &str, clock_step_us: i64) -> Option<String> {
    let ran: Vec<&CellResult> =
        rows.iter().copied().filter(|row| row.summary.runs + excluded(row) > 0).collect();
    let first = ran.first()?;
    let named = |wanted: &[Verdict]| -> Vec<&str> {
        ran.iter()
            .filter(|row| wanted.contains(&row.summary.verdict.name))
            .map(|row| row.cell.endpoint.as_str())
            .collect()
    };
    let holders = ran.iter().filter_map(|row| holding(row, clock_step_us));
    let mut said: Vec<String> = holders.collect();
    let live = named(&[Verdict::Live]);
    if !live.is_empty() {
        let pass = if live.len() == 1 { "passes" } else { "pass" };
        said.push(format!("{} {pass} every token on as it comes", list(&live)));
    }
    for (verdicts, what) in [
        (&[Verdict::TypeChanged][..], "changed the content type, which EventSource refuses"),
        (&[Verdict::Truncated][..], "cut the stream short"),
        (&[Verdict::Failed, Verdict::NoToken][..], "gave no stream"),
        (&[Verdict::Void, Verdict::CannotTell][..], "cannot be judged"),
    ] {
        let names = named(verdicts);
        if !names.is_empty() {
            said.push(format!("{} {what}", list(&names)));
        }
    }
    let at_once = match first.cell.concurrency {
        1 => String::new(),
        lanes => format!(", {lanes} lanes at once"),
    };
    let floor = floor(&ran, clock_step_us).map_or(String::new(), |floor| {
        format!(" Nothing below {} is claimed.", span(floor, clock_step_us))
    });
    Some(format!(
        "In {}, by {}{at_once}: {}.{floor}",
        engine(engine_name),
        reader(first.cell.reader),
        joined(&said, "; "),
    ))
}

/// What a lane that holds tokens does to them; `None` for one that does not.
fn holding(row: &CellResult, clock_step_us: i64) -> Option<String> {
    let (name, summary) = (&row.cell.endpoint, &row.summary);
    let ttft = summary.ttft_us.as_ref().map(|spread| span(spread.median, clock_step_us));
    let first = ttft.map_or(String::new(), |ttft| format!(", the first after {ttft}"));
    let per_read = summary.wire_frames_per_read.as_ref().or(summary.frames_per_read.as_ref());
    let together = per_read
        .map_or(String::new(), |spread| format!(", {} at a time", decimal(spread.median, 1)));
    Some(match summary.verdict.name {
        Verdict::Held => format!("{name} holds the tokens to the end{first}"),
        Verdict::Corked => format!("{name} holds the tokens back{first}{together}"),
        Verdict::BufferBursts => {
            format!("{name} lets the tokens go a buffer at a time{first}{together}")
        }
        Verdict::OneBehind => format!("{name} holds each token until the next one comes{first}"),
        Verdict::BatchedAtOrigin => {
            format!("through {name} the tokens come as the origin wrote them{together}")
        }
        _ => return None,
    })
}

/// A finding's reason as a sentence: a capital letter at its start, a stop at its end.
pub fn sentence(because: &str) -> String {
    // A sign before nothing but zeros would claim a direction that was not measured.
    let minus = |at: usize| because.get(at..).is_some_and(|rest| rest.starts_with("-0.0 ms"));
    let mut text: String =
        because.char_indices().filter(|(at, _)| !minus(*at)).map(|(_, letter)| letter).collect();
    capital(&mut text);
    if !text.is_empty() && !text.ends_with('.') {
        text.push('.');
    }
    text
}

/// A capital letter at the start: findings and engines begin with letters of ASCII.
fn capital(text: &mut str) {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
}

/// The median of a spread, or what stands where there is none.
pub fn spread_median(spread: Option<&Spread>, clock_step_us: i64) -> String {
    spread.map_or(NONE.into(), |spread| span(spread.median, clock_step_us))
}

/// The greatest sample of a spread, or what stands where there is none.
pub fn spread_max(spread: Option<&Spread>, clock_step_us: i64) -> String {
    spread.map_or(NONE.into(), |spread| span(spread.max, clock_step_us))
}

/// How many runs stand behind a row, and how many a guard set aside.
pub fn runs(row: &Row) -> String {
    let (runs, excluded) = (row.result.summary.runs, excluded(&row.result));
    match (runs + excluded, excluded) {
        (0, _) => String::new(),
        (_, 0) => count(runs, "run"),
        _ => format!("{}, {excluded} excluded", count(runs, "run")),
    }
}

/// A row's finding in a sentence or two: why, and why runs were excluded.
pub fn because(row: &Row) -> String {
    let summary = &row.result.summary;
    let mut text = sentence(&summary.verdict.because);
    // A void row's own sentence holds the reasons already.
    if summary.void.is_none() && !summary.excluded_because.is_empty() {
        let excluded = count(excluded(&row.result), "run");
        let reasons = sentence(&joined(&summary.excluded_because, "; "));
        text.push_str(&format!(" {excluded} excluded: {reasons}"));
    }
    text
}
