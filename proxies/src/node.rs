//! An origin in Node.js whose own compression holds its stream: what no proxy is to be blamed for.
//!
//! Node itself is whatever is on PATH; its packages are pinned by the lock file.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::source::npm::{self, NpmError};
use crate::source::{Cache, system};
use crate::supervise::{Command, SuperviseError, Supervised, Supervisor};

/// How long it may take to listen; half a second is usual.
const READY_LIMIT: Duration = Duration::from_secs(15);

/// Between two looks.
const POLL: Duration = Duration::from_millis(20);

/// What it says, before its port.
const LISTENING: &str = "listening on ";

/// What the application does about the middleware that holds its stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// Nothing.
    Never,
    /// It flushes after each event.
    EachEvent,
    /// It answers `Cache-Control: no-transform`, so that nothing is compressed.
    NoTransform,
}

impl Flush {
    /// The mode's name, as the origin reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::EachEvent => "each-event",
            Self::NoTransform => "no-transform",
        }
    }
}

/// The Node origin cannot be had or started.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// No Node.js.
    #[error("no node on PATH; install Node.js 18 or later")]
    NoNode,
    /// Its packages.
    #[error(transparent)]
    Npm(#[from] NpmError),
    /// A scratch folder.
    #[error("cannot create a scratch folder: {0}; check that the temporary folder can be written")]
    Scratch(io::Error),
    /// Its process.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    /// It ended, or does not listen.
    #[error("the Node origin does not listen: it says: {}", .0.join(" | "))]
    NotReady(Vec<String>),
}

/// The origin, running. Dropping it ends it.
#[derive(Debug)]
pub struct NodeOrigin {
    address: SocketAddr,
    // The process goes before the folder its log is in.
    _process: Supervised,
    _scratch: TempDir,
}

impl NodeOrigin {
    /// Fetches what it needs, starts it on a free port and waits until it listens. Blocking.
    ///
    /// # Errors
    /// When there is no Node.js, its packages cannot be had, or it does not listen.
    pub fn start(
        cache: &Cache,
        flush: Flush,
        supervisor: &Supervisor,
    ) -> Result<NodeOrigin, NodeError> {
        let node = system::find("node").ok_or(NodeError::NoNode)?;
        let folder = npm::node_origin(cache)?;
        let scratch = tempfile::Builder::new()
            .prefix("holdup-node-")
            .tempdir()
            .map_err(NodeError::Scratch)?;
        let mut process = Command::new(supervisor, node)
            .arg(folder.join("server.js"))
            .env("HOLDUP_FLUSH", flush.name())
            .cwd(&folder)
            .remove_after(scratch.path())
            .spawn(&scratch.path().join("log"))?;
        let deadline = Instant::now() + READY_LIMIT;
        loop {
            let log = process.log_tail(5);
            let port = log.iter().find_map(|line| line.strip_prefix(LISTENING)?.parse().ok());
            if let Some(port) = port {
                let address = (Ipv4Addr::LOCALHOST, port).into();
                return Ok(NodeOrigin { address, _process: process, _scratch: scratch });
            }
            if process.try_wait()?.is_some() || Instant::now() > deadline {
                return Err(NodeError::NotReady(process.log_tail(5)));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
