//! Makes `docs/findings.md` from a real run of the presets.

use std::path::Path;

use anyhow::{Result, bail};

use crate::{cargo, check};

/// Where the results go: under the build's own folder, never committed.
const RESULTS: &str = "target/findings";
/// Folder, command and preset of each part, and how many rounds: the published number where there
/// is one.
const PARTS: [(&str, &[&str], &str, &str); 6] = [
    ("published", MEASURE, "published", "5"),
    ("haproxy-trigger", MEASURE, "haproxy-trigger", "1"),
    ("nginx-grid", MEASURE, "nginx-grid", "2"),
    ("no-delay-cost", MEASURE, "no-delay-cost", "3"),
    ("protocols", MEASURE, "protocols", "3"),
    ("protocols-browsers", &["browse", "--browser", "all"], "protocols", "1"),
];
const MEASURE: &[&str] = &["measure"];

/// Measures what is asked for, or all of it, unless the last run's results are to be kept, and
/// writes the document.
pub(crate) fn make(asked: &[String]) -> Result<()> {
    let keep = asked.iter().any(|word| word == "--keep");
    let named: Vec<&str> =
        asked.iter().map(String::as_str).filter(|word| *word != "--keep").collect();
    if let Some(word) = named.iter().find(|word| PARTS.iter().all(|(part, ..)| part != *word)) {
        let known: Vec<&str> = PARTS.iter().map(|(part, ..)| *part).collect();
        bail!("no part of the findings is called {word:?}: there are {}", known.join(", "));
    }
    for (part, command, preset, runs) in PARTS {
        if keep || !(named.is_empty() || named.contains(&part)) {
            continue;
        }
        let out = Path::new(RESULTS).join(part);
        let _ = std::fs::remove_dir_all(&out);
        check(
            cargo(&["run", "--quiet", "--package", "holdup", "--"])
                .args(command)
                .args(["--preset", preset, "--runs", runs, "--seed", "1", "--out"])
                .arg(out),
        )?;
    }
    check(&mut cargo(&[
        "run",
        "--quiet",
        "--package",
        "holdup",
        "--",
        "findings",
        RESULTS,
        "--out",
        "docs/findings.md",
    ]))
}
