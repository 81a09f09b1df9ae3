//! Figures and findings in words. Pure: what the page says is tested without a browser.

mod answer;
mod lane;

use measure::Span;
use measure::arrivals::Reader;
use measure::results::CellResult;
use measure::stats::{RatioSpread, Spread};
use measure::units::decimal;

use crate::model::Row;
use crate::split::Measured;

pub use answer::{answer, floor};
pub use lane::{Holder, confirmation, holder, setting, verdict};

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

/// A time that clocks may have blurred: what they leave open is not claimed, only its bound.
pub fn measured(measured: Measured, clock_step_us: i64) -> String {
    if measured.is_claimed() {
        return span(measured.span, clock_step_us);
    }
    ["≤ ", &bound(measured.off + measured.span.max(Span::ZERO), clock_step_us)].concat()
}

/// A bound, rounded up to the last digit shown, or it would be none.
pub fn bound(bound: Span, clock_step_us: i64) -> String {
    let digit = if bound < Span::millis(100) && clock_step_us < 1_000 { 100 } else { 1_000 };
    span(Span((bound.as_micros() + digit - 1) / digit * digit), clock_step_us)
}

/// How far a time may be off; nothing where one clock took both ends.
pub fn off(off: Span) -> String {
    if off <= Span::ZERO { String::new() } else { ["± ", &fine(off.as_micros())].concat() }
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

/// A reader's name for people.
pub fn reader(reader: Reader) -> &'static str {
    match reader {
        Reader::Eventsource => "EventSource",
        Reader::FetchWorker => "worker",
        other => other.name(),
    }
}

/// By whom, in a sentence.
pub fn by(by: Reader) -> &'static str {
    match by {
        Reader::FetchWorker => "fetch in a worker",
        other => reader(other),
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
