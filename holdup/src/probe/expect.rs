//! A probe as a check: exit status, one line, a case of a JUnit file.

use measure::verdict::Verdict;

use super::cli::Expected;
use super::document::Document;
use super::engine::measured;
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
    let failed: u32 = document.ways.first().map_or(0, |way| {
        let bad = way.kinds.iter().filter(|(kind, _)| {
            !matches!(kind, super::kind::Kind::Complete | super::kind::Kind::Left)
        });
        bad.map(|(_, count)| *count).sum()
    });
    match found.name {
        Verdict::Live if failed > 0 => {
            let line =
                format!("expected live: {failed} requests came to no answer; the others are live");
            (Exit::Found, Some(line))
        }
        Verdict::Live => (Exit::Done, Some(format!("live, as expected: {}", found.because))),
        Verdict::CannotTell | Verdict::Void => {
            (Exit::Void, Some(format!("expected live, and it cannot be told: {said}")))
        }
        _ => (Exit::Found, Some(format!("expected live: {said}"))),
    }
}

/// The JUnit case of the URL; the other way is what it is held against.
pub(crate) fn cases(document: &Document) -> Vec<Case> {
    let found = &document.verdict;
    let said = format!("{}: {}", found.name.name(), found.because);
    let state = match found.name {
        Verdict::Live => State::Passed,
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
