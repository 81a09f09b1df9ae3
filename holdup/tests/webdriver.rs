//! Browsers from a WebDriver service: one that works, ones that do not, and a tab that is hidden
//! behind the command's back.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use common::{alone, document, holdup, run, status, stderr, void, wait_for};
use measure::verdict::Verdict;

/// A driver of the test's own, ended with it.
struct Driver {
    child: Child,
    address: SocketAddr,
    _home: tempfile::TempDir,
}

impl Driver {
    /// Starts one on a free port; says why not when it is not here.
    fn start(program: &str, port: &str) -> Option<Driver> {
        let Some(path) = find(program) else {
            println!("SKIPPED(no {program} here)");
            return None;
        };
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        let home = tempfile::tempdir().unwrap();
        let child = Command::new(path)
            .arg(format!("{port}{}", address.port()))
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for(program, Duration::from_secs(30), || TcpStream::connect(address).is_ok());
        Some(Driver { child, address, _home: home })
    }

    fn chromium() -> Option<Driver> {
        Driver::start("chromedriver", "--port=")
    }

    fn firefox() -> Option<Driver> {
        find("firefox").or_else(|| find("firefox-esr")).or_else(|| {
            println!("SKIPPED(no Firefox here)");
            None
        })?;
        Driver::start("geckodriver", "--port=")
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program on PATH, or where the command finds geckodriver beside it.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo/bin")));
    let drivers = proxies::cache_folder().ok().map(|folder| folder.join("drivers"));
    let kept = drivers.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
    folders.extend(kept.flatten().map(|entry| entry.path().join("bin")));
    folders.into_iter().map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// A plan of the direct path alone, by a service.
fn by(service: &str, browser: &str, runs: &str) -> Command {
    let plan = "browse --endpoints direct --readers fetch --json";
    let mut command = holdup(&plan.split(' ').collect::<Vec<_>>());
    command.args(["--webdriver", service, "--browser", browser, "--runs", runs]);
    command
}

#[test]
fn a_service_plays_the_browsers_it_has() {
    let _alone = alone();
    for (driver, engine) in [(Driver::chromium(), "chromium"), (Driver::firefox(), "firefox")] {
        let Some(driver) = driver else { return };
        let service = format!("http://{}", driver.address);
        let output = by(&service, engine, "1").output().unwrap();
        assert!(matches!(status(&output), 0 | 3), "{}", stderr(&output));
        let document = document(&output);
        let browser = document.cells[0].browser.as_ref().unwrap();
        assert_eq!(browser.name, engine);
        assert!(browser.version.contains('.'), "{browser:?}");
        // What it does not have is said by it, and is one line.
        let output = by(&service, "webkit", "1").output().unwrap();
        assert_eq!(status(&output), 4, "{}", stderr(&output));
        let begin = format!("holdup: webkit is not to be had from {service}: ");
        assert!(stderr(&output).starts_with(&begin), "{}", stderr(&output));
        assert_eq!(stderr(&output).lines().count(), 1);
    }
}

#[test]
fn a_service_that_is_not_there_or_says_nothing_is_one_line() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let addresses = [silent.local_addr().unwrap(), closed.local_addr().unwrap()];
    drop(closed);
    for (address, why) in addresses.iter().zip(["no answer within 10 s", "Connection refused"]) {
        let begun = Instant::now();
        let output = run(&["browse", "--webdriver", &format!("http://{address}")]);
        assert_eq!(status(&output), 4);
        let said = stderr(&output);
        let begin = format!("holdup: nothing can be driven at http://{address}: {why}");
        assert!(said.starts_with(&begin), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn a_service_that_cannot_reach_the_page_is_refused_before_anything_starts() {
    for (arguments, line) in [
        (&["http://grid.example:4444"][..], "holdup: http://grid.example:4444 is another machine"),
        (&["https://127.0.0.1"], "error: invalid value"),
        (&["grid:4444"], "error: invalid value"),
    ] {
        let output = holdup(&["browse", "--webdriver"]).args(arguments).output().unwrap();
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(stderr(&output).starts_with(line), "{arguments:?}: {}", stderr(&output));
    }
}

/// Passes everything on to a driver and hears which session it makes.
struct Listening {
    address: SocketAddr,
    session: Arc<Mutex<Option<String>>>,
}

impl Listening {
    fn before(driver: SocketAddr) -> Listening {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let session = Arc::<Mutex<Option<String>>>::default();
        let heard = Arc::clone(&session);
        // Ends with the test's process; nothing waits for it.
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(upstream) = TcpStream::connect(driver) else { return };
                let mut from = client.try_clone().unwrap();
                let mut to = upstream.try_clone().unwrap();
                // geckodriver answers only to its own port.
                let (ours, its) = (format!("Host: {address}"), format!("Host: {driver}"));
                std::thread::spawn(move || pass(&mut from, &mut to, (&ours, &its)));
                let heard = Arc::clone(&heard);
                std::thread::spawn(move || pass_and_hear(upstream, client, &heard));
            }
        });
        Listening { address, session }
    }

    fn session(&self) -> Option<String> {
        self.session.lock().unwrap().clone()
    }
}

/// Passes requests on; a head comes in one piece from the client that we know.
fn pass(from: &mut TcpStream, to: &mut TcpStream, (ours, its): (&str, &str)) {
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..count]);
        let text = text.replace(ours, its).replace(&ours.to_lowercase(), its);
        if to.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

fn pass_and_hear(mut from: TcpStream, mut to: TcpStream, heard: &Mutex<Option<String>>) {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            return;
        }
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let mut parts = text.split("\"sessionId\":\"");
        if let Some((session, _)) = parts.nth(1).and_then(|rest| rest.split_once('"')) {
            heard.lock().unwrap().get_or_insert_with(|| session.to_string());
        }
    }
}

/// A command to a driver, beside the one that plays.
fn command(driver: SocketAddr, path: &str, body: &str) -> String {
    let mut socket = TcpStream::connect(driver).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {driver}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    socket.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    let mut buffer = [0; 4096];
    // Drivers leave the connection open: the answer's one object is its end.
    while !answer.ends_with("}") {
        match socket.read(&mut buffer) {
            Ok(count @ 1..) => answer.push_str(&String::from_utf8_lossy(&buffer[..count])),
            _ => break,
        }
    }
    answer
}

/// Hides the window for a while in the middle of a plan.
fn hidden_tab(driver: Option<Driver>, engine: &str) {
    let _alone = alone();
    let Some(driver) = driver else { return };
    let listening = Listening::before(driver.address);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let mut child = by(&format!("http://{}", listening.address), engine, "6")
        .args(["--out", out.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the first run", Duration::from_secs(120), || {
        std::fs::metadata(out.join("runs.ndjson")).is_ok_and(|file| file.len() > 0)
            || child.try_wait().unwrap().is_some()
    });
    if child.try_wait().unwrap().is_some() {
        panic!("it ended early: {}", stderr(&child.wait_with_output().unwrap()));
    }
    let session = listening.session().unwrap();
    // Into the next run, but not to its end.
    std::thread::sleep(Duration::from_millis(700));
    let hidden = command(driver.address, &format!("/session/{session}/window/minimize"), "{}");
    std::thread::sleep(Duration::from_millis(200));
    let back = r#"{"x":0,"y":0,"width":1000,"height":800}"#;
    command(driver.address, &format!("/session/{session}/window/rect"), back);
    let output = child.wait_with_output().unwrap();
    assert!(matches!(status(&output), 0 | 3), "{hidden}: {}", stderr(&output));
    let document = document(&output);
    assert!(document.complete, "the plan goes on");
    let summary = &document.cells[0].summary;
    let hidden = summary.excluded.get("page").copied().unwrap_or_default();
    assert!((1..6).contains(&hidden), "some were hidden, some not: {:?}", summary.excluded);
    let why = summary.excluded_because.iter().find(|why| why.contains("hidden")).unwrap();
    assert!(why.contains("the tab was hidden during the run"), "{why}");
    if void(&document) {
        return;
    }
    assert!(summary.runs >= 1, "the other runs count");
    assert_eq!(summary.verdict.name, Verdict::Live, "{}", summary.verdict.because);
}

#[test]
fn hidden_tab_in_chromium() {
    hidden_tab(Driver::chromium(), "chromium");
}

#[test]
fn hidden_tab_in_firefox() {
    hidden_tab(Driver::firefox(), "firefox");
}
