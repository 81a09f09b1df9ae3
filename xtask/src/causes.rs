//! Makes `docs/causes.md` from a real run of the matrix.

use anyhow::Result;

use crate::{cargo, check};

/// Where the run goes: under the build's own folder, never committed.
const RESULTS: &str = "target/causes";

/// Plays the matrix, unless the last run is to be kept, and writes the document.
pub(crate) fn make(keep: bool) -> Result<()> {
    let holdup = |arguments: &[&str]| {
        let mut command = cargo(&["run", "--quiet", "--package", "holdup", "--"]);
        command.args(arguments);
        command
    };
    if !keep {
        let _ = std::fs::remove_dir_all(RESULTS);
        check(&mut holdup(&["matrix", "--runs", "3", "--seed", "1", "--out", RESULTS]))?;
    }
    check(&mut holdup(&["causes", RESULTS, "--out", "docs/causes.md"]))
}
