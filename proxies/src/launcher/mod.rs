//! Starting an endpoint: ports, configuration, the process, and the wait until it is ready.

mod container;
mod error;
mod listening;
mod plan;
mod ports;
mod probe;
mod ready;
mod running;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use certs::Leaf;

use crate::registry::{Endpoint, Engine};
use crate::source::Program;
use crate::supervise::Supervisor;

pub use error::StartError;
use plan::{Outcome, Plan};
pub use probe::Probe;
pub(crate) use running::join_files;
pub use running::{Rendered, Running};

/// How long an endpoint may take to be ready. The slowest takes well under a second on
/// an idle machine; the rest is for a busy one.
pub const READY_LIMIT: Duration = Duration::from_secs(15);

/// A port is found by asking the kernel for a free one and letting go of it; somebody
/// else may take it before the proxy does. Three losses in a row are no accident.
pub const PORT_TRIES: usize = 3;

/// How many of its last lines a failed proxy's error shows.
const LOG_LINES: usize = 5;

/// How an endpoint is started.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// Where it accepts streams; port 0 is a free one.
    pub listen: SocketAddr,
    /// How long it may take to be ready.
    pub ready_limit: Duration,
    /// What supervises it.
    pub supervisor: Supervisor,
    /// What an endpoint that speaks TLS shows; the others need none.
    pub leaf: Option<Arc<Leaf>>,
}

impl StartOptions {
    /// A free port of the loopback address, and this program as the supervisor.
    pub fn new() -> io::Result<Self> {
        Ok(Self::with_supervisor(Supervisor::this_program()?))
    }

    /// The same with another supervisor.
    pub fn with_supervisor(supervisor: Supervisor) -> Self {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { listen, ready_limit: READY_LIMIT, supervisor, leaf: None }
    }
}

/// Starts an endpoint in front of `upstream` and waits until it is ready.
///
/// Blocking: call it outside of an async task. The emitter is never contacted.
pub fn start(
    endpoint: &Endpoint,
    engine: &Engine,
    program: &Program,
    upstream: SocketAddr,
    options: &StartOptions,
) -> Result<Running, StartError> {
    let mut lost = options.listen;
    for _ in 0..PORT_TRIES {
        let plan = Plan::new(endpoint, engine, program, upstream, options)?;
        lost = plan.listen;
        match plan.run(options)? {
            Outcome::Ready(running) => return Ok(*running),
            Outcome::PortLost => {}
        }
    }
    Err(StartError::PortLost { endpoint: endpoint.name.clone(), address: lost })
}
