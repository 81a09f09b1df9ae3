//! An endpoint that runs.

use std::net::SocketAddr;
use std::path::Path;

use tempfile::TempDir;

use crate::registry::Endpoint;
use crate::source::Program;
use crate::supervise::{SuperviseError, Supervised};

/// A file as the proxy was given it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    /// Its path below `proxies/`.
    pub path: &'static str,
    /// Its text.
    pub text: String,
}

/// An endpoint that accepts streams. Dropping it ends it and waits until it has gone
/// (blocking, usually for milliseconds); its scratch folder goes too.
#[derive(Debug)]
pub struct Running {
    pub(super) endpoint: Endpoint,
    pub(super) program: Program,
    pub(super) files: Vec<Rendered>,
    pub(super) listen: SocketAddr,
    // The process goes before the folder it writes to.
    pub(super) process: Supervised,
    pub(super) scratch: TempDir,
}

impl Running {
    /// Which endpoint it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What runs it: engine, version, source, hash.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The configuration as rendered, followed by its companions, each under its name.
    pub fn config(&self) -> String {
        join_files(self.files.iter().map(|file| (file.path, file.text.as_str())))
    }

    /// The configuration file and its companions as rendered, in this order.
    pub fn files(&self) -> &[Rendered] {
        &self.files
    }

    /// Where it accepts streams.
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// The folder it writes to.
    pub fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Its last lines.
    pub fn log_tail(&self, lines: usize) -> Vec<String> {
        self.process.log_tail(lines)
    }

    /// Whether it still runs. One that ended by itself makes what was measured void.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Ends it and waits until it has gone.
    pub fn stop(self) -> Result<(), SuperviseError> {
        self.process.stop()
    }
}

/// The text of some files, each under its name where there are several.
pub(crate) fn join_files<'a>(files: impl ExactSizeIterator<Item = (&'a str, &'a str)>) -> String {
    let alone = files.len() == 1;
    let mut text = String::new();
    for (path, file) in files {
        if !alone {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&format!("# {path}\n"));
        }
        text.push_str(file);
    }
    text
}
