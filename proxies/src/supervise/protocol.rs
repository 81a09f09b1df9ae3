//! What parent and supervisor say to each other: an argument list one way, one line back.
//!
//! The child's environment and folder go through the argument list rather than through
//! the supervisor's own, so that a library path meant for a proxy never reaches the
//! supervisor.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

const ENV: &str = "--env";
const CWD: &str = "--cwd";
const REMOVE: &str = "--remove-after";
const FINALLY: &str = "--finally";
const END: &str = "--";

/// What a supervisor is asked to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) program: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: Option<PathBuf>,
    /// A command to run once the child has ended, however it did: one word, one option.
    pub(super) finally: Vec<OsString>,
    /// A folder that goes when the parent has gone.
    pub(super) remove_after: Option<PathBuf>,
}

impl Job {
    pub(super) fn to_args(&self) -> Vec<OsString> {
        let mut args = Vec::new();
        for (name, value) in &self.env {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            args.extend([ENV.into(), pair]);
        }
        for (option, path) in [(CWD, &self.cwd), (REMOVE, &self.remove_after)] {
            if let Some(path) = path {
                args.extend([option.into(), path.into()]);
            }
        }
        for word in &self.finally {
            args.extend([FINALLY.into(), word.clone()]);
        }
        args.extend([END.into(), self.program.clone()]);
        args.extend(self.args.iter().cloned());
        args
    }

    pub(super) fn from_args(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        let mut job = Self::default();
        loop {
            let option = args.next()?;
            if option == ENV {
                job.env.push(split_pair(&args.next()?)?);
            } else if option == CWD {
                job.cwd = Some(args.next()?.into());
            } else if option == REMOVE {
                job.remove_after = Some(args.next()?.into());
            } else if option == FINALLY {
                job.finally.push(args.next()?);
            } else if option == END {
                job.program = args.next()?;
                job.args = args.collect();
                return Some(job);
            } else {
                return None;
            }
        }
    }
}

fn split_pair(pair: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = pair.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=')?;
    let part = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    Some((part(&bytes[..at]), part(&bytes[at + 1..])))
}

/// The one line a supervisor writes to its parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Started(i32),
    Failed(String),
}

impl Answer {
    pub(super) fn to_line(&self) -> String {
        match self {
            Self::Started(pid) => format!("holdup-supervisor started {pid}\n"),
            Self::Failed(why) => format!("holdup-supervisor failed {}\n", why.replace('\n', " ")),
        }
    }

    pub(super) fn from_line(line: &str) -> Option<Self> {
        let (word, rest) = line.trim_end().strip_prefix("holdup-supervisor ")?.split_once(' ')?;
        match word {
            "started" => rest.parse().ok().map(Self::Started),
            "failed" => Some(Self::Failed(rest.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_reads_back_as_it_was_written() {
        let job = Job {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), "--".into(), "--env".into()],
            env: vec![("A".into(), "b=c".into()), ("EMPTY".into(), "".into())],
            cwd: Some("/".into()),
            remove_after: Some("/tmp/x".into()),
            finally: vec!["docker".into(), "rm".into(), "--".into()],
        };
        assert_eq!(Job::from_args(job.to_args()), Some(job));
        assert_eq!(Job::from_args(["--what".into()]), None);
        assert_eq!(Job::from_args(["--".into()]), None);
    }

    #[test]
    fn an_answer_reads_back_as_it_was_written() {
        for answer in [Answer::Started(7), Answer::Failed("no such file".into())] {
            assert_eq!(Answer::from_line(&answer.to_line()), Some(answer));
        }
        assert_eq!(Answer::from_line("running 3 tests"), None);
    }
}
