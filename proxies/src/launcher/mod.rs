//! Starting an endpoint: ports, configuration, the process, and the wait until it is ready.

mod listening;
mod ports;
mod ready;

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::names::EndpointName;
use crate::registry::{Endpoint, Engine, Ready};
use crate::source::Program;
use crate::supervise::{Command, SuperviseError, Supervised, Supervisor};
use crate::template::{RenderError, Values};

use ready::NotReady;

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
}

impl StartOptions {
    /// A free port of the loopback address, and this program as the supervisor.
    pub fn new() -> io::Result<Self> {
        Ok(Self::with_supervisor(Supervisor::this_program()?))
    }

    /// The same with another supervisor.
    pub fn with_supervisor(supervisor: Supervisor) -> Self {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self {
            listen,
            ready_limit: READY_LIMIT,
            supervisor,
        }
    }
}

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
        #[source]
        error: RenderError,
    },
    /// Its process.
    #[error("cannot start {endpoint}: {error}")]
    Supervise {
        /// The endpoint.
        endpoint: EndpointName,
        /// Why.
        #[source]
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
    if log.is_empty() {
        "nothing".to_owned()
    } else {
        log.join(" | ")
    }
}

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
    endpoint: Endpoint,
    program: Program,
    files: Vec<Rendered>,
    listen: SocketAddr,
    // The process goes before the folder it writes to.
    process: Supervised,
    scratch: TempDir,
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
        join_files(
            self.files
                .iter()
                .map(|file| (file.path, file.text.as_str())),
        )
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
    Err(StartError::PortLost {
        endpoint: endpoint.name.clone(),
        address: lost,
    })
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

/// One try: ports chosen, files written, arguments rendered.
struct Plan<'a> {
    endpoint: &'a Endpoint,
    engine: &'a Engine,
    program: &'a Program,
    listen: SocketAddr,
    admin: SocketAddr,
    values: Values,
    files: Vec<Rendered>,
    scratch: TempDir,
}

enum Outcome {
    Ready(Box<Running>),
    PortLost,
}

impl<'a> Plan<'a> {
    fn new(
        endpoint: &'a Endpoint,
        engine: &'a Engine,
        program: &'a Program,
        upstream: SocketAddr,
        options: &StartOptions,
    ) -> Result<Self, StartError> {
        let admin = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let [listen, admin] =
            ports::choose([options.listen, admin]).map_err(|(address, error)| {
                StartError::Port {
                    endpoint: endpoint.name.clone(),
                    address,
                    error,
                }
            })?;
        let scratch_error = |path: PathBuf, error| StartError::Scratch {
            endpoint: endpoint.name.clone(),
            path,
            error,
        };
        let scratch = tempfile::Builder::new()
            .prefix(&format!("holdup-{}-", endpoint.name))
            .tempdir()
            .map_err(|error| scratch_error(std::env::temp_dir(), error))?;

        let mut values = Values::new();
        values.set_address(["listen", "listen_host", "listen_port"], listen);
        values.set_address(["admin", "admin_host", "admin_port"], admin);
        values.set_address(["upstream", "upstream_host", "upstream_port"], upstream);
        values.set_path("scratch", scratch.path());
        values.set_path("config", &scratch.path().join(endpoint.config.file_name()));

        let mut files = Vec::new();
        for file in std::iter::once(&endpoint.config).chain(&endpoint.companions) {
            let text =
                values
                    .render(file.path, file.template)
                    .map_err(|error| StartError::Render {
                        endpoint: endpoint.name.clone(),
                        error,
                    })?;
            let path = scratch.path().join(file.file_name());
            fs::write(&path, &text).map_err(|error| scratch_error(path, error))?;
            files.push(Rendered {
                path: file.path,
                text,
            });
        }
        Ok(Self {
            endpoint,
            engine,
            program,
            listen,
            admin,
            values,
            files,
            scratch,
        })
    }

    fn run(self, options: &StartOptions) -> Result<Outcome, StartError> {
        let render_error = |error| StartError::Render {
            endpoint: self.endpoint.name.clone(),
            error,
        };
        let render = |text: &String| self.values.render("registry.toml", text);

        let mut command = Command::new(&options.supervisor, self.program.path.clone());
        command
            .cwd(self.scratch.path())
            .remove_after(self.scratch.path());
        for arg in &self.engine.run {
            command.arg(render(arg).map_err(render_error)?);
        }
        for (name, value) in &self.engine.environment {
            command.env(name, render(value).map_err(render_error)?);
        }
        for (name, value) in &self.program.environment {
            command.env(name, value);
        }
        let check = match &self.engine.ready {
            Ready::Connect {} => ready::Check::Connect(self.listen),
            Ready::Admin { path, contains } => ready::Check::Admin {
                address: self.admin,
                path: render(path).map_err(render_error)?,
                contains: contains.clone(),
            },
        };

        let supervise_error = |error| StartError::Supervise {
            endpoint: self.endpoint.name.clone(),
            error,
        };
        let log = self.scratch.path().join("log");
        let mut process = command.spawn(&log).map_err(supervise_error)?;
        let outcome = ready::wait(&check, self.listen, &mut process, options.ready_limit);
        let endpoint = self.endpoint.name.clone();
        match outcome {
            Ok(()) => Ok(Outcome::Ready(Box::new(Running {
                endpoint: self.endpoint.clone(),
                program: self.program.clone(),
                files: self.files,
                listen: self.listen,
                process,
                scratch: self.scratch,
            }))),
            Err(NotReady::PortLost) => Ok(Outcome::PortLost),
            Err(NotReady::Ended(status)) => {
                let log = process.log_tail(LOG_LINES);
                Err(StartError::Ended {
                    endpoint,
                    status,
                    log,
                })
            }
            Err(NotReady::Late(waiting_for)) => Err(StartError::NotReady {
                endpoint,
                limit: options.ready_limit,
                waiting_for,
                log: process.log_tail(LOG_LINES),
            }),
            Err(NotReady::Watch(error)) => Err(supervise_error(error)),
        }
    }
}
