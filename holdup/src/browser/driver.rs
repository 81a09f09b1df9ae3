//! A supervised driver and its one session.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use proxies::supervise::{Command, Supervised, Supervisor};
use serde_json::Value;

use crate::browser::Engine;

/// How long a driver may take to listen, and a browser to start on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long one WebDriver command may take. A dead browser answers not at all.
const COMMAND_LIMIT: Duration = Duration::from_secs(20);

/// A browser that cannot be driven.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriverError {
    #[error("no {driver} found for {engine}: {install}")]
    Missing { engine: &'static str, driver: &'static str, install: &'static str },
    #[error("{driver} did not start: {why}{}", last(log))]
    Start { driver: &'static str, why: String, log: Vec<String> },
    #[error(
        "{engine} did not start within {START_LIMIT:?}: {why} (is the browser itself there? {install}){}",
        last(log)
    )]
    Session { engine: &'static str, install: &'static str, why: String, log: Vec<String> },
    #[error("{engine} stopped answering: {why}{}", last(log))]
    Gone { engine: &'static str, why: String, log: Vec<String> },
}

fn last(log: &[String]) -> String {
    match log.last() {
        Some(line) => format!("; its last words: {}", line.trim()),
        None => String::new(),
    }
}

/// A running driver with one browser session.
pub(crate) struct Driver {
    engine: Engine,
    client: Client,
    child: Supervised,
    // Removed when the driver goes.
    _scratch: tempfile::TempDir,
}

impl Driver {
    /// Starts driver and browser.
    pub(crate) async fn start(engine: Engine) -> Result<Driver, DriverError> {
        let program = engine.find_driver().ok_or(DriverError::Missing {
            engine: engine.name(),
            driver: engine.driver(),
            install: engine.install(),
        })?;
        let fail = |why: String, log: Vec<String>| DriverError::Start {
            driver: engine.driver(),
            why,
            log,
        };
        let scratch = tempfile::Builder::new()
            .prefix("holdup-browser-")
            .tempdir()
            .map_err(|error| fail(format!("no scratch folder: {error}"), Vec::new()))?;
        let port =
            free_port().map_err(|error| fail(format!("no free port: {error}"), Vec::new()))?;
        let child = spawn(engine, program, port, scratch.path().into())
            .map_err(|why| fail(why, Vec::new()))?;
        let deadline = Instant::now() + START_LIMIT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if Instant::now() > deadline {
                return Err(fail(format!("it does not listen on port {port}"), child.log_tail(3)));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let mut wanted = ClientBuilder::new(HttpConnector::new());
        if let Value::Object(capabilities) = engine.capabilities(&scratch.path().join("profile")) {
            wanted.capabilities(capabilities);
        }
        let address = format!("http://127.0.0.1:{port}");
        let session = |why: String| DriverError::Session {
            engine: engine.name(),
            install: engine.install(),
            why,
            log: child.log_tail(3),
        };
        let client = tokio::time::timeout(START_LIMIT, wanted.connect(&address))
            .await
            .map_err(|_| session("no answer".into()))?
            .map_err(|error| session(one_line(&error.to_string())))?;
        Ok(Driver { engine, client, child, _scratch: scratch })
    }

    /// Goes to an address. Nothing else is asked of the page: it posts what it has to say.
    pub(crate) async fn open(&self, address: &str) -> Result<(), DriverError> {
        self.limited(self.client.goto(address)).await
    }

    /// Whether the browser still answers.
    pub(crate) async fn check(&self) -> Result<(), DriverError> {
        self.limited(self.client.current_url()).await.map(|_| ())
    }

    /// A PNG of the page at a window size in a colour scheme.
    pub(crate) async fn picture(
        &self,
        width: u32,
        height: u32,
        scheme: &str,
    ) -> Result<Vec<u8>, DriverError> {
        let devtools =
            |method: &str, parameters: Value| DevTools { method: method.into(), parameters };
        for command in [
            devtools(
                "Emulation.setDeviceMetricsOverride",
                serde_json::json!({ "width": width, "height": height,
                    "deviceScaleFactor": 1, "mobile": false }),
            ),
            devtools(
                "Emulation.setEmulatedMedia",
                serde_json::json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
            ),
        ] {
            self.limited(self.client.issue_cmd(command)).await?;
        }
        // One frame to lay out and paint in the new size.
        tokio::time::sleep(Duration::from_millis(300)).await;
        self.limited(self.client.screenshot()).await
    }

    async fn limited<T>(
        &self,
        command: impl Future<Output = Result<T, fantoccini::error::CmdError>>,
    ) -> Result<T, DriverError> {
        let gone = |why: String| DriverError::Gone {
            engine: self.engine.name(),
            why,
            log: self.child.log_tail(3),
        };
        tokio::time::timeout(COMMAND_LIMIT, command)
            .await
            .map_err(|_| gone(format!("no answer within {COMMAND_LIMIT:?}")))?
            .map_err(|error| gone(one_line(&error.to_string())))
    }

    /// Ends the session; the supervisor ends what is left.
    pub(crate) async fn close(self) {
        let _ = tokio::time::timeout(Duration::from_secs(5), self.client.close()).await;
    }
}

/// A command of Chromium's own DevTools protocol, through its driver.
#[derive(Debug)]
struct DevTools {
    method: String,
    parameters: Value,
}

impl fantoccini::wd::WebDriverCompatibleCommand for DevTools {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        let body = serde_json::json!({ "cmd": self.method, "params": self.parameters });
        (http::Method::POST, Some(body.to_string()))
    }
}

fn spawn(
    engine: Engine,
    program: PathBuf,
    port: u16,
    scratch: PathBuf,
) -> Result<Supervised, String> {
    let supervisor = Supervisor::this_program().map_err(|error| error.to_string())?;
    Command::new(&supervisor, program)
        .args(engine.driver_arguments(port))
        // Chromium keeps settings and crash reports in the home folder otherwise.
        .env("HOME", &scratch)
        .env("XDG_CONFIG_HOME", &scratch)
        .env("XDG_CACHE_HOME", &scratch)
        .spawn(&scratch.join("driver.log"))
        .map_err(|error| error.to_string())
}

fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// A driver's error as one line: what comes after the first line is its own stack.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(300).collect()
}
