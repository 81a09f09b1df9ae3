//! `holdup judge`: verdicts made again from the runs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
#[allow(dead_code, reason = "each of the tests that share it uses its own part")]
mod synthetic;

use std::path::Path;
use std::process::Output;

use common::{run, status, stderr};
use measure::verdict::{Finding, Verdict};

fn judge(folder: &Path) -> (Output, String) {
    let output = run(&["judge", folder.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, said)
}

#[test]
fn verdicts_that_follow_from_their_runs_are_the_same() {
    for results in [synthetic::headline(), synthetic::browser()] {
        let folder = tempfile::tempdir().unwrap();
        results.write(folder.path());
        let (output, said) = judge(folder.path());
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let rows = results.document.cells.len();
        let end = format!("0 with another verdict, 0 with other words, {rows} the same.\n");
        assert!(said.ends_with(&end), "{said}");
    }
}

#[test]
fn a_verdict_that_came_out_otherwise_is_shown_beside_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut results = synthetic::headline();
    let row = results.document.cells.iter_mut().find(|row| row.cell.endpoint == "haproxy").unwrap();
    let id = row.id.clone();
    row.summary.verdict = Finding::new(Verdict::CannotTell, "in no known pattern");
    results.write(folder.path());
    let (output, said) = judge(folder.path());
    assert_eq!(status(&output), 1, "{}", stderr(&output));
    assert!(said.starts_with(&format!("{id}: cannot-tell there, corked now\n")), "{said}");
    assert!(said.contains("1 with another verdict, 0 with other words, "), "{said}");
}

#[test]
fn without_runs_there_is_nothing_to_judge() {
    let folder = tempfile::tempdir().unwrap();
    synthetic::headline().write(folder.path());
    std::fs::remove_file(folder.path().join("runs.ndjson")).unwrap();
    let (output, _) = judge(folder.path());
    assert_eq!(status(&output), 4);
    assert!(stderr(&output).lines().last().unwrap().contains("holds no runs.ndjson"));
}
