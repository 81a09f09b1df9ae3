//! A probe as a check: exit status, one line, a case of a JUnit file.

use measure::verdict::Verdict;

use super::cli::Expected;
use super::document::Document;
use super::engine::measured;
use super::kind::Kind;
use super::ways::WayResult;
use crate::exit::Exit;
use crate::junit::{Case, State};

/// What the check comes to, and its line.
pub(crate) fn check(document: &Document, expected: Option<Expected>) -> (Exit, Option<String>) {
    let found = &document.verdict;
    let said = format!("{}: {}", found.name.name(), found.because);
    if !measured(&document.rows) {
        let line = expected.map(|_| format!("expected live, and nothing was measured: {said}"));
        return (Exit::Nothing, line);
    }
    let Some(Expected::Live) = expected else { return (Exit::Done, None) };
    match found.name {
        Verdict::Live if failed(document).is_some() => {
            let bad = failed(document).unwrap_or_default();
            (Exit::Found, Some(format!("expected live: {bad}; the others are live")))
        }
        Verdict::Live => (Exit::Done, Some(format!("live, as expected: {}", found.because))),
        Verdict::CannotTell | Verdict::Void => {
            (Exit::Void, Some(format!("expected live, and it cannot be told: {said}")))
        }
        _ => (Exit::Found, Some(format!("expected live: {said}"))),
    }
}

/// The requests that came to no whole answer, in words; absent where all did.
fn failed(document: &Document) -> Option<String> {
    let way = document.ways.first()?;
    let all: u32 = way.kinds.values().sum();
    let bad: Vec<String> = way
        .kinds
        .iter()
        .filter(|(kind, _)| !matches!(kind, Kind::Complete | Kind::Left))
        .map(|(kind, count)| format!("{count} of {all} {}", kind.words()))
        .collect();
    (!bad.is_empty()).then(|| bad.join(", "))
}

/// The JUnit case of the URL; the other way is what it is held against. It says what the exit
/// status says.
pub(crate) fn cases(document: &Document) -> Vec<Case> {
    let found = &document.verdict;
    let said = format!("{}: {}", found.name.name(), found.because);
    let state = match found.name {
        _ if !document.complete && found.name == Verdict::Live => {
            let why = document.stopped.as_deref().unwrap_or("it ended early");
            State::Error(format!("{why}; until then {said}"))
        }
        Verdict::Live => match failed(document) {
            Some(bad) => State::Failed(format!("{bad}; the others are live")),
            None => State::Passed,
        },
        Verdict::Void | Verdict::CannotTell => State::Skipped(said.clone()),
        Verdict::Failed => State::Error(said.clone()),
        _ => State::Failed(said.clone()),
    };
    let case = |way: &WayResult| Case {
        group: "endpoint".into(),
        name: way.url.clone(),
        time: None,
        state: state.clone(),
        details: said.clone(),
    };
    document.ways.first().map(case).into_iter().collect()
}
