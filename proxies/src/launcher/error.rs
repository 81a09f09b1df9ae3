//! What can go wrong when an endpoint is started, in one line each.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use super::PORT_TRIES;
use crate::names::EndpointName;
use crate::supervise::SuperviseError;
use crate::template::RenderError;

/// An endpoint that does not come up.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No free port.
    #[error("cannot start {endpoint}: no free port at {address}: {error}; choose another address")]
    Port {
        /// The endpoint.
        endpoint: EndpointName,
        /// Where one was looked for.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// It speaks TLS, and nobody gave it a certificate.
    #[error(
        "cannot start {endpoint}: it speaks TLS and was given no certificate; start it with one of the local authority"
    )]
    NoCertificate {
        /// The endpoint.
        endpoint: EndpointName,
    },
    /// Its certificate cannot be written.
    #[error("cannot start {endpoint}: {error}")]
    Certificate {
        /// The endpoint.
        endpoint: EndpointName,
        /// Why.
        error: certs::Error,
    },
    /// Its port was taken by another each time.
    #[error(
        "cannot start {endpoint}: its port was taken by another process {PORT_TRIES} times (last {address}); choose another or end that process"
    )]
    PortLost {
        /// The endpoint.
        endpoint: EndpointName,
        /// The last one tried.
        address: SocketAddr,
    },
    /// Its scratch folder or a file in it.
    #[error("cannot start {endpoint}: cannot write {}: {error}; check the folder for temporary files", .path.display())]
    Scratch {
        /// The endpoint.
        endpoint: EndpointName,
        /// The folder or file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Its configuration.
    #[error("cannot start {endpoint}: {error}")]
    Render {
        /// The endpoint.
        endpoint: EndpointName,
        /// Why.
        error: RenderError,
    },
    /// Its process.
    #[error("cannot start {endpoint}: {error}")]
    Supervise {
        /// The endpoint.
        endpoint: EndpointName,
        /// Why.
        error: SuperviseError,
    },
    /// It ended at once.
    #[error("cannot start {endpoint}: it ended with status {status}; it says: {}", show(.log))]
    Ended {
        /// The endpoint.
        endpoint: EndpointName,
        /// Its status, as a shell says it.
        status: i32,
        /// Its last lines.
        log: Vec<String>,
    },
    /// It runs, but is not ready.
    #[error("cannot start {endpoint}: not ready after {} s ({waiting_for}); it says: {}", .limit.as_secs_f32(), show(.log))]
    NotReady {
        /// The endpoint.
        endpoint: EndpointName,
        /// How long it had.
        limit: Duration,
        /// What did not come true.
        waiting_for: String,
        /// Its last lines.
        log: Vec<String>,
    },
}

impl StartError {
    /// The proxy's last lines, where it has said something.
    pub fn log(&self) -> &[String] {
        match self {
            Self::Ended { log, .. } | Self::NotReady { log, .. } => log,
            _ => &[],
        }
    }
}

fn show(log: &[String]) -> String {
    if log.is_empty() { "nothing".to_owned() } else { log.join(" | ") }
}
