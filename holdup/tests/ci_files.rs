//! The files that a CI shows.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{alone, document, run, status, stderr, void};

#[test]
fn a_measurement_leaves_a_summary_and_a_junit_file() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let (markdown, junit) = (folder.path().join("summary.md"), folder.path().join("junit.xml"));
    let arguments = ["measure", "--runs", "1", "--endpoints", "direct", "--json", "--markdown"];
    let files = [markdown.to_str().unwrap(), "--junit", junit.to_str().unwrap()];
    let output = run(&[&arguments[..], &files].concat());
    let found = document(&output);
    let xml = std::fs::read_to_string(&junit).unwrap();
    let text = std::fs::read_to_string(&markdown).unwrap();
    assert!(xml.contains(&format!("name=\"{}\"", found.cells[0].id)), "{xml}");
    if void(&found) {
        assert!(xml.contains("skipped=\"1\""), "{xml}");
        return;
    }
    assert!(xml.contains("tests=\"1\" skipped=\"0\" failures=\"0\" errors=\"0\""), "{xml}");
    assert!(text.contains("| direct | live | "), "{text}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "nothing else is left");
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let _alone = alone();
    let arguments =
        ["measure", "--runs", "1", "--endpoints", "direct", "--junit", "/nonexistent/x"];
    let output = run(&arguments);
    assert_eq!(status(&output), 2, "before anything is measured");
    assert!(output.stdout.is_empty());
    let last = stderr(&output).lines().last().unwrap_or_default().to_string();
    assert!(last.starts_with("holdup: cannot write /nonexistent/x: "), "{last}");
}
