//! An endpoint that runs.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use super::probe::Probe;
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
    pub(super) probe: Probe,
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

    /// Its processes: see [`Probe::processes`].
    pub fn processes(&self) -> Vec<i32> {
        self.probe.processes()
    }

    /// Its largest unlinked temporary file: see [`Probe::temp_file_bytes`].
    pub fn temp_file_bytes(&self) -> Option<u64> {
        self.probe.temp_file_bytes()
    }

    /// The processor time it has taken: see [`Probe::cpu`].
    pub fn cpu(&self) -> Option<Duration> {
        self.probe.cpu()
    }

    /// The same looks for another thread.
    pub fn probe(&self) -> Probe {
        self.probe.clone()
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
