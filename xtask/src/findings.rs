//! Makes `docs/findings.md` from a real run of the presets.

use std::path::Path;

use anyhow::Result;

use crate::{cargo, check};

/// Where the results go: under the build's own folder, never committed.
const RESULTS: &str = "target/findings";
/// Presets and how many rounds of each: the published number where there is one.
const PARTS: [(&str, &str); 4] =
    [("published", "5"), ("haproxy-trigger", "1"), ("nginx-grid", "2"), ("no-delay-cost", "3")];

/// Measures, unless the last run's results are to be kept, and writes the document.
pub(crate) fn make(keep: bool) -> Result<()> {
    if !keep {
        let _ = std::fs::remove_dir_all(RESULTS);
        for (preset, runs) in PARTS {
            let out = Path::new(RESULTS).join(preset);
            check(
                cargo(&["run", "--quiet", "--package", "holdup", "--", "measure"])
                    .args(["--preset", preset, "--runs", runs, "--seed", "1", "--out"])
                    .arg(out),
            )?;
        }
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
