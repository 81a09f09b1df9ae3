//! A browser that is driven: its one session, and below it the driver where that is ours.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use proxies::supervise::{Command, Supervised, Supervisor};

use crate::browser::display::Display;
use crate::browser::engine::{Engine, Found, Place, Quic};
use crate::browser::error::{DriverError, no_answer, no_session, too_late};
use crate::browser::service::Service;

/// How long a driver may take to listen, and a browser to start on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long one WebDriver command may take. A dead browser answers not at all.
const COMMAND_LIMIT: Duration = Duration::from_secs(20);

/// A browser with one session.
pub(crate) struct Driver {
    pub(super) engine: Engine,
    pub(super) client: Client,
    // Dropped in this order: the browser before its screen, all before their folder.
    own: Option<Own>,
}

/// What was started for it on this machine.
struct Own {
    child: Supervised,
    _screen: Option<Display>,
    _scratch: tempfile::TempDir,
}

impl Driver {
    /// Starts driver and browser. With `own_windows` the browser's window can be made as narrow
    /// as a phone for pictures. It speaks HTTP/3 where `quic` says.
    pub(crate) async fn start(
        engine: Engine,
        found: &Found,
        own_windows: bool,
        quic: Option<&Quic>,
    ) -> Result<Driver, DriverError> {
        let (own, service) = Own::start(engine, found, own_windows).await?;
        let profile = own._scratch.path().join("profile");
        let place = Place {
            profile: Some(&profile),
            browser: found.browser.as_deref(),
            root: nix::unistd::geteuid().is_root(),
            quic,
        };
        let session = session(engine, &service, place).await;
        let client = session.map_err(|why| DriverError::Session {
            engine: engine.name(),
            install: engine.install(),
            why,
            log: own.child.log_tail(3),
        })?;
        Ok(Driver { engine, client, own: Some(own) })
    }

    /// Asks a service for a browser.
    pub(crate) async fn connect(engine: Engine, service: &Service) -> Result<Driver, DriverError> {
        // Who runs a service on this machine runs it as we are run.
        let root = service.is_here() && nix::unistd::geteuid().is_root();
        let place = Place { root, ..Place::default() };
        let client = session(engine, service, place).await.map_err(|why| DriverError::Refused {
            engine: engine.name(),
            service: service.shown(),
            why,
        })?;
        Ok(Driver { engine, client, own: None })
    }

    /// The browser's full version, as its driver tells it. A user agent holds a part only.
    pub(crate) fn version(&self) -> Option<String> {
        let version = self.client.capabilities()?.get("browserVersion")?.as_str()?;
        (!version.is_empty()).then(|| version.to_string())
    }

    /// Goes to an address. Nothing else is asked of the page: it posts what it has to say.
    pub(crate) async fn open(&self, address: &str) -> Result<(), DriverError> {
        let failed = |why: String| DriverError::Open {
            engine: self.engine.name(),
            address: address.split('?').next().unwrap_or_default().to_string(),
            why,
        };
        match tokio::time::timeout(COMMAND_LIMIT, self.client.goto(address)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(failed(no_answer(&error))),
            Err(_) => Err(failed(too_late(COMMAND_LIMIT))),
        }
    }

    /// Whether the browser still answers.
    pub(crate) async fn check(&self) -> Result<(), DriverError> {
        self.limited(self.client.current_url()).await.map(|_| ())
    }

    pub(super) async fn limited<T>(
        &self,
        command: impl Future<Output = Result<T, fantoccini::error::CmdError>>,
    ) -> Result<T, DriverError> {
        let gone = |why: String| DriverError::Gone {
            engine: self.engine.name(),
            why,
            log: self.own.as_ref().map_or(Vec::new(), |own| own.child.log_tail(3)),
        };
        match tokio::time::timeout(COMMAND_LIMIT, command).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(gone(no_answer(&error))),
            Err(_) => Err(gone(too_late(COMMAND_LIMIT))),
        }
    }

    /// Ends the session; supervisors end what is left.
    pub(crate) async fn close(self) {
        let _ = tokio::time::timeout(Duration::from_secs(5), self.client.close()).await;
    }
}

impl Own {
    /// Starts a driver, and a screen if its browser needs one.
    async fn start(
        engine: Engine,
        found: &Found,
        own_windows: bool,
    ) -> Result<(Own, Service), DriverError> {
        let fail = |why: String, log: Vec<String>| DriverError::Start {
            program: engine.driver(),
            why,
            log,
        };
        let scratch = tempfile::Builder::new()
            .prefix("holdup-browser-")
            .tempdir()
            .map_err(|error| fail(format!("no scratch folder: {error}"), Vec::new()))?;
        let screen = match &found.screen {
            Some(program) => Some(Display::start(program.clone(), scratch.path()).await?),
            None => None,
        };
        let port =
            free_port().map_err(|error| fail(format!("no free port: {error}"), Vec::new()))?;
        let arguments = engine.driver_arguments(port, own_windows);
        let mut child = spawn(engine, found, arguments, screen.as_ref(), scratch.path())
            .map_err(|why| fail(why, Vec::new()))?;
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if !matches!(child.try_wait(), Ok(None)) {
                return Err(fail("it ended at once".into(), child.log_tail(3)));
            }
            if Instant::now() > deadline {
                return Err(fail(format!("it does not listen on port {port}"), child.log_tail(3)));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let service = Service::own(port).map_err(|why| fail(why, Vec::new()))?;
        Ok((Own { child, _screen: screen, _scratch: scratch }, service))
    }
}

fn spawn(
    engine: Engine,
    found: &Found,
    arguments: Vec<std::ffi::OsString>,
    screen: Option<&Display>,
    scratch: &Path,
) -> Result<Supervised, String> {
    let supervisor = Supervisor::this_program().map_err(|error| error.to_string())?;
    let mut command = Command::new(&supervisor, &found.driver);
    command.args(arguments);
    // Browsers keep settings, caches and crash reports in the home folder otherwise.
    for home in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"] {
        command.env(home, scratch);
    }
    if engine == Engine::Firefox {
        // geckodriver makes the profile, and leaves it when it is killed.
        command.env("TMPDIR", scratch);
    }
    if let Some(screen) = screen {
        command.env("DISPLAY", screen.name());
    }
    // Should this program be killed, nobody else would.
    command.remove_after(scratch);
    command.spawn(&scratch.join("driver.log")).map_err(|error| error.to_string())
}

/// Asks for a session. A driver without a screen for its browser never answers, so there is a
/// limit.
async fn session(engine: Engine, service: &Service, place: Place<'_>) -> Result<Client, String> {
    let mut wanted = ClientBuilder::new(HttpConnector::new());
    wanted.capabilities(engine.capabilities(place));
    match tokio::time::timeout(START_LIMIT, wanted.connect(service.address())).await {
        Ok(session) => session.map_err(|error| no_session(&error)),
        Err(_) => Err(too_late(START_LIMIT)),
    }
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
