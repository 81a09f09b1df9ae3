//! `holdup matrix` over relays of our own: its document, its files, its exit status.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use boon::{Compiler, Schemas};
use common::{alone, holdup, run, runs, status, stderr};
use serde_json::Value;

/// Holds a value against the committed schema.
fn valid(value: &Value) -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema");
    let read = |name: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    };
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("urn:holdup:results:1", read("results.schema.json")).unwrap();
    compiler.add_resource("urn:holdup:matrix:1", read("matrix.schema.json")).unwrap();
    let index = compiler.compile("urn:holdup:matrix:1", &mut schemas).unwrap();
    schemas.validate(value, index).map_err(|error| error.to_string())
}

#[test]
fn relays_are_called_what_they_are_and_everything_is_left_in_the_folder() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let (markdown, junit) = (folder.path().join("m.md"), folder.path().join("j.xml"));
    let arguments = ["matrix", "--runs", "1", "--json", "--only", "honest,drain,cork", "--out"];
    let files = [out.to_str().unwrap(), "--markdown", markdown.to_str().unwrap()];
    let junit_to = ["--junit", junit.to_str().unwrap()];
    let output = run(&[&arguments[..], &files, &junit_to].concat());
    // 3: a stall of this machine left something open. 1 would be a wrong answer.
    assert!([0, 3].contains(&status(&output)), "{}", stderr(&output));
    let matrix: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(valid(&matrix), Ok(()));
    let rows = matrix["rows"].as_array().unwrap();
    let paths: Vec<&str> = rows.iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert_eq!(
        paths,
        [
            "honest",
            "honest, fast",
            "drain",
            "drain, fast",
            "cork, longer",
            "cork, fast",
            "honest, a slow reader",
            "honest, four events a write",
            "honest, no terminal event",
            "honest, a reader that stops",
            "honest, a reader that stops over h2c"
        ]
    );
    for row in rows {
        assert_eq!(row["runs"], 1, "{row}");
        assert_eq!(row["wrong"], 0, "{row}");
    }
    let kept: Value =
        serde_json::from_str(&std::fs::read_to_string(out.join("matrix.json")).unwrap()).unwrap();
    assert_eq!(kept, matrix);
    // Every path with its control before and after it.
    assert!(runs(&out).len() > rows.len());
    let judged = run(&["judge", out.to_str().unwrap()]);
    // The same runs, the same answer.
    assert_eq!(status(&judged), status(&output), "{}", stderr(&judged));
    assert!(std::fs::read_to_string(&junit).unwrap().contains("tests=\"11\""));
    if status(&output) == 3 {
        println!("SKIPPED(void: too much was left open on this machine)");
        return;
    }
    let summary = std::fs::read_to_string(&markdown).unwrap();
    assert!(summary.contains("| honest | live | 1 |"), "{summary}");
    let causes = run(&["causes", out.to_str().unwrap()]);
    assert_eq!(status(&causes), 0, "{}", stderr(&causes));
    let text = String::from_utf8_lossy(&causes.stdout).into_owned();
    assert!(text.contains("`chunks-corked`") && text.contains("| cork, longer | "), "{text}");
}

#[test]
fn an_interrupt_keeps_what_was_played() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = ["matrix", "--runs", "50", "--only", "honest", "--out"];
    let child = holdup(&[&arguments[..], &[out.to_str().unwrap()]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    common::wait_for("the first run", Duration::from_secs(20), || {
        std::fs::metadata(out.join("runs.ndjson")).is_ok_and(|file| file.len() > 0)
    });
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 130, "{}", stderr(&output));
    let text = std::fs::read_to_string(out.join("matrix.json")).unwrap();
    let matrix: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((valid(&matrix), &matrix["complete"]), (Ok(()), &Value::Bool(false)));
}
