//! What the tests of this crate share: an origin that takes notes, a client, and the one
//! set of programs.

#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

mod h2c;
pub(crate) mod tls;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use proxies::source::SourceError;
use proxies::supervise::Supervisor;
use proxies::{Proxies, ProxyError, Running, StartOptions};

pub(crate) const SUPERVISOR: &str = env!("CARGO_BIN_EXE_holdup-supervisor");
pub(crate) const BODY: &str = "data: token\n\n";

/// How many frames the origin sends for `/stream/long`, each in a chunk and a write of its own.
pub(crate) const LONG: usize = 100;

/// How many it sends for `/stream/paced`, this far apart: as tokens come.
pub(crate) const PACED: usize = 20;
pub(crate) const PACE: Duration = Duration::from_millis(50);

/// What the origin sends for `/bulk`: far more than all sockets and buffers hold.
pub(crate) const BULK: usize = 32 * 1024 * 1024;

/// The programs, found and hashed once for all tests of a file.
pub(crate) static PROXIES: LazyLock<Proxies> =
    LazyLock::new(|| Proxies::of_user(Vec::new()).unwrap());

pub(crate) fn options() -> StartOptions {
    let leaf = tls::AUTHORITY.leaf().unwrap();
    let options = StartOptions::with_supervisor(Supervisor::program(SUPERVISOR));
    StartOptions { leaf: Some(leaf.into()), ..options }
}

/// An emitter of one frame that notes the head of each request and its connection.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let origin = Self { address, heads: Arc::default(), connections: Arc::default() };
        let noting = origin.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                *noting.connections.lock().unwrap() += 1;
                let heads = Arc::clone(&noting.heads);
                std::thread::spawn(move || {
                    let stream = stream.unwrap();
                    if h2c::is_spoken(&stream) {
                        return h2c::answer(stream, &heads);
                    }
                    while answer(&stream, &heads) {}
                });
            }
        });
        origin
    }

    pub(crate) fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Answers one request as its protocol asks for; true if the connection stays.
fn answer(mut stream: &TcpStream, heads: &Mutex<Vec<String>>) -> bool {
    let mut request = Vec::new();
    let mut byte = [0];
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => request.push(byte[0]),
            _ => return false,
        }
    }
    let request = String::from_utf8(request).unwrap();
    heads.lock().unwrap().push(request.clone());
    let line = request.lines().next().unwrap();
    if line.contains(" /bulk ") {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
        let piece = [b'x'; 64 * 1024];
        // Until the other side has had enough.
        for _ in 0..BULK / piece.len() {
            if stream.write_all(&piece).is_err() {
                break;
            }
        }
        return false;
    }
    let chunked = line.ends_with("HTTP/1.1");
    let closes = !chunked || request.to_ascii_lowercase().contains("\r\nconnection: close\r\n");
    let version = if chunked { "HTTP/1.1" } else { "HTTP/1.0" };
    let mut text = format!("{version} 200 OK\r\nContent-Type: text/event-stream\r\n");
    if closes {
        text.push_str("Connection: close\r\n");
    }
    if chunked {
        text.push_str("Transfer-Encoding: chunked\r\n");
    }
    text.push_str("\r\n");
    let mut sent = stream.write_all(text.as_bytes());
    let (before, after) = match chunked {
        true => (format!("{:x}\r\n", BODY.len()), "\r\n"),
        false => (String::new(), ""),
    };
    let (frames, pace) = match line.split(' ').nth(1) {
        Some("/stream/long") => (LONG, Duration::from_millis(1)),
        Some("/stream/paced") => (PACED, PACE),
        _ => (1, Duration::from_millis(1)),
    };
    for _ in 0..frames {
        std::thread::sleep(pace);
        sent = sent.and_then(|()| stream.write_all(format!("{before}{BODY}{after}").as_bytes()));
    }
    if chunked {
        sent = sent.and_then(|()| stream.write_all(b"0\r\n\r\n"));
    }
    sent.is_ok() && !closes
}

/// A request whose answer is the other side's to end.
pub(crate) fn ask(address: SocketAddr, path: &str, more: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{more}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

pub(crate) fn get(address: SocketAddr, path: &str, more: &str) -> String {
    let mut answer = Vec::new();
    ask(address, path, more).read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

/// Starts an endpoint; none, and the reason is printed, if its program cannot be had here.
pub(crate) fn start(endpoint: &str, origin: &Origin) -> Option<Running> {
    let mut progress = |step: proxies::Progress| println!("{step}");
    match PROXIES.start(endpoint, origin.address, &options(), &mut progress) {
        Ok(running) => Some(running),
        Err(ProxyError::Source(
            why @ (SourceError::Nowhere { .. }
            | SourceError::OtherInstalled { .. }
            | SourceError::Needs { .. }),
        )) => {
            println!("SKIPPED({endpoint}: {why})");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !holds() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Written by another process: while this one holds the file open for writing, another
/// test may fork and keep a copy of that, and what is open for writing cannot be executed.
pub(crate) fn executable(path: &Path, script: &str) {
    let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let mut shell = std::process::Command::new("/bin/sh");
    let status = shell.args(["-c", write]).arg(path).arg(script).status().unwrap();
    assert!(status.success());
}

/// Whatever a fetch left behind in a cache, but for the lock.
pub(crate) fn left_in(cache: &Path) -> Vec<String> {
    let names = std::fs::read_dir(cache.join("proxies")).into_iter().flatten().flatten();
    names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".lock"))
        .collect()
}
