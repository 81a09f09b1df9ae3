//! Sessions of the tests' own in all three engines, with real typing: what a page does under
//! hands, and not under a plan.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::page::{Group, free_port};

/// The engines by their names in results.
pub(crate) const ENGINES: [&str; 3] = ["chromium", "firefox", "webkit"];

/// A browser with one page, its driver, and its screen where it needs one.
pub(crate) struct Driven {
    client: Client,
    _driver: Group,
    _screen: Option<Group>,
    _home: tempfile::TempDir,
}

/// A program on PATH.
fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// The first file below a folder that some folders below it hold.
fn below(folder: &Path, depth: u32, name: &str) -> Option<PathBuf> {
    let file = folder.join(name);
    if file.is_file() {
        return Some(file);
    }
    let entries = std::fs::read_dir(folder).ok().filter(|_| depth > 0)?;
    let folders = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir());
    folders.into_iter().find_map(|inner| below(&inner, depth - 1, name))
}

/// Driver and capabilities of an engine; what is missing otherwise.
fn way(engine: &str, home: &Path) -> Result<(PathBuf, Value), &'static str> {
    let root = nix::unistd::geteuid().is_root();
    match engine {
        "chromium" => {
            let driver = on_path("chromedriver").ok_or("no chromedriver")?;
            let profile = format!("--user-data-dir={}", home.join("profile").display());
            let mut arguments =
                vec!["--headless", "--disable-gpu", "--disable-dev-shm-usage", &profile];
            arguments.extend(root.then_some("--no-sandbox"));
            let options = json!({ "args": arguments });
            Ok((driver, json!({ "browserName": "chrome", "goog:chromeOptions": options })))
        }
        "firefox" => {
            let user = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
            let kept = || below(&user.join(".cache/holdup/drivers"), 4, "geckodriver");
            let installed = || Some(user.join(".cargo/bin/geckodriver")).filter(|f| f.is_file());
            let driver = on_path("geckodriver").or_else(installed).or_else(kept);
            let driver = driver.ok_or("no geckodriver")?;
            let names = ["firefox", "firefox-esr"];
            let browser = names.into_iter().find_map(on_path).ok_or("no Firefox")?;
            let options = json!({ "args": ["-headless"], "binary": browser });
            Ok((driver, json!({ "browserName": "firefox", "moz:firefoxOptions": options })))
        }
        _ => {
            let driver = on_path("WebKitWebDriver").ok_or("no WebKitWebDriver")?;
            let browser = below(Path::new("/usr/lib"), 3, "MiniBrowser").ok_or("no MiniBrowser")?;
            let options = json!({ "binary": browser, "args": ["--automation"] });
            let wanted =
                json!({ "browserName": "MiniBrowser", "webkitgtk:browserOptions": options });
            Ok((driver, wanted))
        }
    }
}

/// An X server for WebKit, which has no headless mode.
fn screen(home: &Path) -> Result<(Group, String), &'static str> {
    let program = on_path("Xvfb").ok_or("no Xvfb")?;
    let log = home.join("screen.log");
    let out = std::fs::File::create(&log).unwrap();
    let server = Group::spawn(
        Command::new(program)
            .args(["-displayfd", "1", "-screen", "0", "1600x1200x24", "-nolisten", "tcp"])
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::null()),
    );
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let text = std::fs::read_to_string(&log).unwrap();
        if let Some(number) = text.strip_suffix('\n').and_then(|all| all.lines().last()) {
            return Ok((server, format!(":{number}")));
        }
        assert!(Instant::now() < end, "Xvfb does not start");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Driven {
    /// Starts it; what is missing here otherwise.
    pub(crate) async fn start(engine: &str) -> Result<Driven, &'static str> {
        let home = tempfile::tempdir().unwrap();
        let (driver, wanted) = way(engine, home.path())?;
        let has_screen = std::env::var_os("DISPLAY").is_some_and(|name| !name.is_empty());
        let screen = match engine == "webkit" && !has_screen {
            true => Some(screen(home.path())?),
            false => None,
        };
        let port = free_port();
        let mut command = Command::new(driver);
        command.arg(format!("--port={port}"));
        for folder in ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR"] {
            command.env(folder, home.path());
        }
        if let Some((_, name)) = &screen {
            command.env("DISPLAY", name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let group = Group::spawn(&mut command);
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            assert!(Instant::now() < end, "{engine}'s driver does not listen");
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(wanted.as_object().unwrap().clone())
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        let screen = screen.map(|(server, _)| server);
        Ok(Driven { client, _driver: group, _screen: screen, _home: home })
    }

    pub(crate) async fn open(&self, url: &str) {
        self.client.goto(url).await.unwrap();
    }

    /// Types into a field, over what stands in it, by the engine's own key events.
    pub(crate) async fn type_in(&self, selector: &str, text: &str) {
        let field = self.client.find(Locator::Css(selector)).await.unwrap();
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// A click where a mouse would.
    pub(crate) async fn click(&self, selector: &str) {
        self.client.find(Locator::Css(selector)).await.unwrap().click().await.unwrap();
    }

    /// What a script gives back.
    pub(crate) async fn ask(&self, script: &str) -> Value {
        self.client.execute(&format!("return {script}"), Vec::new()).await.unwrap()
    }

    /// What an expression's text is.
    pub(crate) async fn text(&self, script: &str) -> String {
        self.ask(script).await.as_str().unwrap_or_default().into()
    }

    /// Waits for one of the states that the page tells its drivers.
    pub(crate) async fn state(&self, wanted: &[&str], limit: Duration) -> String {
        let end = Instant::now() + limit;
        loop {
            let state = self.text("document.documentElement.dataset.state").await;
            if wanted.contains(&state.as_str()) {
                return state;
            }
            let page = self.text("document.body.innerText").await;
            assert!(
                Instant::now() < end,
                "waited for {wanted:?}: it is {state:?} and says\n{page}"
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    pub(crate) async fn close(self) {
        // The group's end takes along what does not close.
        let _ = tokio::time::timeout(Duration::from_secs(5), self.client.close()).await;
    }
}
