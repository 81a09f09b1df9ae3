//! A Chromium of the tests' own, with a page in it.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "without its browser a test or a benchmark has failed")]

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// Whether a browser can be driven here; says so when not.
pub(crate) fn no_browser() -> bool {
    let missing = !["chromedriver", "chromium"].iter().all(|program| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    if missing {
        println!("SKIPPED(no Chromium with its driver: apt-get install chromium chromium-driver)");
    }
    missing
}

/// A port that is free now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

/// A child in a process group of its own, which ends with this value, whatever the test does.
pub(crate) struct Group(Child);

impl Group {
    pub(crate) fn spawn(command: &mut Command) -> Group {
        Group(command.process_group(0).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// What it prints, if that was piped and not taken yet.
    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.0.stdout.take()
    }

    /// Ends it at once, as a crash would.
    pub(crate) fn kill(&mut self) {
        let _ = killpg(Pid::from_raw(self.0.id() as i32), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A browser with one page.
pub(crate) struct Browser {
    client: Client,
    _driver: Group,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) async fn start() -> Browser {
        let (port, profile) = (free_port(), tempfile::tempdir().unwrap());
        let driver = Group::spawn(
            Command::new("chromedriver")
                .arg(format!("--port={port}"))
                .env("HOME", profile.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(Instant::now() < end, "chromedriver does not listen");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        let mut arguments: Vec<String> = [
            "--headless",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            // Memory is measured when it is asked for, not at some later collection.
            "--enable-blink-features=ForceEagerMeasureMemory",
        ]
        .map(String::from)
        .into();
        arguments.push(format!("--user-data-dir={}", profile.path().join("profile").display()));
        if nix::unistd::geteuid().is_root() {
            arguments.push("--no-sandbox".into());
        }
        let wanted =
            json!({ "browserName": "chrome", "goog:chromeOptions": { "args": arguments } });
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(wanted.as_object().unwrap().clone())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        Browser { client, _driver: driver, _profile: profile }
    }

    pub(crate) async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// Runs a script with arguments.
    pub(crate) async fn run(&self, script: &str, arguments: Vec<Value>) {
        self.client.execute(script, arguments).await.unwrap();
    }

    /// What a script gives back.
    pub(crate) async fn ask(&self, script: &str) -> Value {
        self.client.execute(&format!("return {script}"), Vec::new()).await.unwrap()
    }

    /// The bytes that page, document and workers hold, but for the module's own memory. Only an
    /// isolated page is told.
    pub(crate) async fn bytes(&self) -> i64 {
        let measured = "performance.measureUserAgentSpecificMemory().then((told) => told.bytes)";
        self.await_number(measured).await
    }

    /// The bytes of the module's own memory, which only grows.
    pub(crate) async fn module_bytes(&self) -> i64 {
        // A module that is there already is not loaded again.
        let memory = "import('/pkg/web_client.js').then((page) => page.default())
            .then((module) => module.memory.buffer.byteLength)";
        self.await_number(memory).await
    }

    async fn await_number(&self, promise: &str) -> i64 {
        let script =
            format!("const done = arguments[0]; {promise}.then(done, (e) => done(`${{e}}`))");
        let told = self.client.execute_async(&script, Vec::new()).await.unwrap();
        told.as_f64().unwrap_or_else(|| panic!("{promise}: {told}")) as i64
    }

    /// The text of the whole page.
    pub(crate) async fn text(&self) -> String {
        self.ask("document.body.innerText").await.as_str().unwrap_or_default().into()
    }

    /// Waits for one of the states that the page tells its drivers.
    pub(crate) async fn state(&self, wanted: &[&str], limit: Duration) -> String {
        let end = Instant::now() + limit;
        loop {
            let state = self.ask("document.documentElement.dataset.state").await;
            let state = state.as_str().unwrap_or_default();
            if wanted.contains(&state) {
                return state.into();
            }
            assert!(
                Instant::now() < end,
                "waited {limit:?} for {wanted:?}: it is {state:?} and says\n{}",
                self.text().await
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Presses a key of the page's own.
    pub(crate) async fn press(&self, key: &str) {
        let script = format!(
            "document.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}', bubbles: true }}))"
        );
        self.ask(&script).await;
    }

    /// Opens a second tab and looks at it, so that the page is hidden; then at the page again.
    pub(crate) async fn look_away(&self, time: Duration) {
        let page = self.client.window().await.unwrap();
        let other = self.client.new_window(true).await.unwrap();
        self.client.switch_to_window(other.handle).await.unwrap();
        tokio::time::sleep(time).await;
        self.client.close_window().await.unwrap();
        self.client.switch_to_window(page).await.unwrap();
    }

    /// A command of Chromium's DevTools protocol.
    pub(crate) async fn devtools(&self, method: &str) -> Value {
        self.devtools_with(method, json!({})).await
    }

    /// The same with parameters.
    pub(crate) async fn devtools_with(&self, method: &str, parameters: Value) -> Value {
        self.client.issue_cmd(DevTools(method.into(), parameters)).await.unwrap()
    }

    pub(crate) async fn close(self) {
        // The group's end takes along what does not close.
        let _ = tokio::time::timeout(Duration::from_secs(5), self.client.close()).await;
    }
}

#[derive(Debug)]
struct DevTools(String, Value);

impl WebDriverCompatibleCommand for DevTools {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "cmd": self.0, "params": self.1 }).to_string()))
    }
}
