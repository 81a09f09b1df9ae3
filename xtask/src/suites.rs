//! The test programs of the workspace, built in one go.
//!
//! One build with one choice of packages: each other choice changes what features the
//! dependencies have, and builds many of them once more.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{cargo, show};

/// Packages whose tests measure real streams. They run one test at a time, since two cores are
/// few, and with their output, which says what was skipped or void.
const MEASURING: [&str; 2] = ["proxies", "holdup"];

/// Packages whose passing tests say something: how often nginx and the reader agree.
const SPEAKING: [&str; 1] = ["config-reader"];

/// One test program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    package: String,
    folder: PathBuf,
    program: PathBuf,
}

/// Builds them all; those that measure come last.
pub(crate) fn build() -> Result<Vec<Suite>> {
    let mut build = cargo(&["test", "--no-run", "--message-format=json-render-diagnostics"]);
    let shown = show(&build);
    eprintln!("$ {shown}");
    let output =
        build.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {shown}"))?;
    if !output.status.success() {
        bail!("{shown}: {}", output.status);
    }
    let lines = String::from_utf8(output.stdout).context("cargo's messages are no UTF-8")?;
    let mut suites: Vec<Suite> = lines.lines().filter_map(Suite::of).collect();
    if suites.is_empty() {
        bail!("{shown}: it named no test program");
    }
    suites.sort_by_key(Suite::measures);
    Ok(suites)
}

impl Suite {
    /// The one that a line of cargo's tells of, if it does.
    fn of(line: &str) -> Option<Suite> {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let program = message["executable"].as_str()?.into();
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
        let package = folder.file_name()?.to_str()?.to_string();
        Some(Suite { package, folder, program })
    }

    /// Whether its tests measure real streams.
    pub(crate) fn measures(&self) -> bool {
        MEASURING.contains(&self.package.as_str())
    }

    /// What runs it: in its package's folder, as cargo does.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder);
        if self.measures() {
            command.arg("--test-threads=1");
        }
        if self.measures() || SPEAKING.contains(&self.package.as_str()) {
            command.arg("--show-output");
        }
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_told_from_the_other_things_that_are_built() {
        let line = |test: bool, program: &str| {
            format!(
                "{{\"reason\":\"compiler-artifact\",\"manifest_path\":\"/w/holdup/Cargo.toml\",\
                 \"profile\":{{\"test\":{test}}},\"executable\":{program}}}"
            )
        };
        let suite = Suite::of(&line(true, "\"/w/target/debug/deps/browser-1\"")).unwrap();
        assert!(suite.measures());
        let command = suite.command();
        assert_eq!(command.get_current_dir(), Some(Path::new("/w/holdup")));
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["--test-threads=1", "--show-output"]);
        assert_eq!(Suite::of(&line(false, "\"/w/target/debug/holdup\"")), None);
        assert_eq!(Suite::of(&line(true, "null")), None);
        assert_eq!(Suite::of("{\"reason\":\"build-finished\",\"success\":true}"), None);
    }
}
