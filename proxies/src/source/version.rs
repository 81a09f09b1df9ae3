//! Asking a binary for its version. What cannot say it is not measured.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::names::Version;
use crate::registry::VersionCommand;

/// A program that is asked for its version answers within a second even from a cold
/// disk; one that does not answer by now has started to serve, or hangs.
const LIMIT: Duration = Duration::from_secs(20);

/// How often its end is looked for.
const POLL: Duration = Duration::from_millis(2);

/// What it says is read up to here: the version is on the first lines.
const ENOUGH: u64 = 64 * 1024;

/// A program that does not say its version.
#[derive(Debug, thiserror::Error)]
pub enum VersionError {
    /// It cannot be run.
    #[error("cannot ask {} for its version: {error}; check that it is executable and made for this machine", .path.display())]
    Run {
        /// The program.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It does not come to an end.
    #[error("cannot ask {} for its version: no answer to {args} within {} s; check that it is the right program", .path.display(), LIMIT.as_secs())]
    Silent {
        /// The program.
        path: PathBuf,
        /// What it was called with.
        args: String,
    },
    /// What it says holds no version.
    #[error("cannot measure {}: it does not say its version, but `{said}`; check that it is the right program", .path.display())]
    Unsaid {
        /// The program.
        path: PathBuf,
        /// The beginning of what it says.
        said: String,
    },
}

/// Runs the program's version command and finds the version in what it prints.
pub(super) fn ask(
    path: &Path,
    command: &VersionCommand,
    environment: &BTreeMap<String, String>,
) -> Result<Version, VersionError> {
    let failed = |error| VersionError::Run { path: path.to_owned(), error };
    let silent = || VersionError::Silent { path: path.to_owned(), args: command.args.join(" ") };
    let said = run(path, &command.args, environment).map_err(failed)?.ok_or_else(silent)?;
    find(&said, &command.after).ok_or_else(|| VersionError::Unsaid {
        path: path.to_owned(),
        said: said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned(),
    })
}

/// What it prints to either stream; none if it does not end.
fn run(
    path: &Path,
    args: &[String],
    environment: &BTreeMap<String, String>,
) -> io::Result<Option<String>> {
    // A file rather than pipes: both streams in one, and nothing that can fill up.
    let mut output = tempfile::tempfile()?;
    let mut child = Command::new(path)
        .args(args)
        .envs(environment)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()?;
    let deadline = Instant::now() + LIMIT;
    while child.try_wait()?.is_none() {
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
    let mut said = Vec::new();
    output.rewind()?;
    output.take(ENOUGH).read_to_end(&mut said)?;
    Ok(Some(String::from_utf8_lossy(&said).into_owned()))
}

/// The version behind the markers: the next word, if it begins with a digit.
pub(super) fn find(said: &str, after: &[String]) -> Option<Version> {
    let mut rest = said;
    for marker in after {
        rest = rest.split_once(marker.as_str())?.1;
    }
    let rest = rest.trim_start();
    let end = rest
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+' | '~')))
        .unwrap_or(rest.len());
    let word = &rest[..end];
    let begins_well = word.starts_with(|c: char| c.is_ascii_digit());
    if begins_well && word.contains('.') { word.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    #[test]
    fn what_each_engine_says_is_understood() {
        let said = [
            ("nginx", "nginx version: nginx/1.31.3\n", "1.31.3"),
            ("nginx", "nginx version: nginx/1.22.1 (Debian)\n", "1.22.1"),
            ("caddy", "v2.11.4 h1:XKxkMTgNSizEvKG6QHue6cAsFOteU2qA61w2tKkCWi0=\n", "2.11.4"),
            ("traefik", "Version:      3.7.13\nCodename:     langres\n", "3.7.13"),
            (
                "haproxy",
                "HAProxy version 2.8.25-5cf5d0683 2026/06/26 - https://h/\n",
                "2.8.25-5cf5d0683",
            ),
            (
                "envoy",
                "\n/opt/envoy/envoy  version: 9e55/1.40.0/Clean/RELEASE/BoringSSL\n",
                "1.40.0",
            ),
        ];
        let registry = Registry::embedded().unwrap();
        for (engine, text, version) in said {
            let after = &registry.engine(engine).unwrap().version_command.after;
            assert_eq!(find(text, after).unwrap().as_str(), version, "{engine}");
            assert_eq!(find("Usage: try --help\n", after), None, "{engine}");
        }
    }

    #[test]
    fn what_says_nothing_is_refused() {
        let command = VersionCommand { args: vec!["hello".into()], after: vec!["v".into()] };
        let error = ask(Path::new("/bin/echo"), &command, &BTreeMap::new()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot measure /bin/echo: it does not say its version, but `hello`; \
             check that it is the right program"
        );
        let error = ask(Path::new("/none"), &command, &BTreeMap::new()).unwrap_err();
        assert!(matches!(error, VersionError::Run { .. }));
    }
}
