//! The emitter over real sockets: streams, ledgers, refusals, a clean stop.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use emitter::{Assets, Config, Emitter};
use measure::frames::FrameReader;
use measure::{Ledger, RunId};
use wire::http1::{Head, ResponseFramer};
use wire::{Options, Socket, TcpSocket};

struct Answer {
    head: Head,
    body: Vec<u8>,
    reads: u64,
    whole: bool,
}

fn open(address: SocketAddr, request: &str) -> TcpSocket {
    let options = Options { read_timeout: Some(Duration::from_secs(10)), ..Options::default() };
    let (mut socket, _) = wire::connect(address, &options).unwrap();
    socket.send_all(request.as_bytes()).unwrap();
    socket
}

fn read(mut socket: TcpSocket) -> Answer {
    let mut framer = ResponseFramer::new();
    let (mut body, mut buffer) = (Vec::new(), vec![0; wire::RECV_BUFFER]);
    let mut closed = false;
    while !framer.is_done() && !closed {
        let read = socket.recv(&mut buffer).unwrap();
        closed = read.bytes == 0;
        framer.feed(&buffer[..read.bytes], |part| body.extend_from_slice(part)).unwrap();
    }
    Answer {
        head: framer.head().unwrap().clone(),
        body,
        reads: socket.reads(),
        whole: framer.is_done() || closed && framer.close_is_the_end(),
    }
}

fn get(emitter: &Emitter, path: &str) -> Answer {
    read(open(emitter.address(), &format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")))
}

fn text(answer: &Answer) -> String {
    String::from_utf8_lossy(&answer.body).trim_end().to_string()
}

/// The ledger once its last byte has left.
fn ledger(emitter: &Emitter, run: RunId) -> Ledger {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let answer = get(emitter, &format!("/runs/{run}"));
        assert_eq!(answer.head.status, 200, "{}", text(&answer));
        let ledger: Ledger = serde_json::from_slice(&answer.body).unwrap();
        if ledger.done.is_some() || ledger.broken.is_some() || Instant::now() > end {
            return ledger;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_stream_is_played_frame_by_frame_and_each_has_its_line() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let run = RunId(1);
    let answer = get(&emitter, &format!("/stream?run={run}&frames=8&interval_ms=50"));
    assert_eq!(answer.head.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.head.header("transfer-encoding"), Some("chunked"));
    assert_eq!(answer.head.header("timing-allow-origin"), None, "nobody asked");
    assert_eq!(answer.head.header("holdup-run"), None, "the client named it");
    assert!(answer.whole);
    assert_eq!(FrameReader::new(run).feed(&answer.body).len(), 8);
    assert!(answer.reads >= 8, "{} reads", answer.reads);

    let ledger = ledger(&emitter, run);
    assert_eq!(ledger.instance, emitter.instance());
    assert_eq!(ledger.entries.len(), 8);
    assert_eq!(ledger.body_bytes, 480);
    assert_eq!((ledger.attempts, ledger.merged_writes()), (1, 0));
    for pair in ledger.entries.windows(2) {
        assert_eq!((pair[1].due - pair[0].due).as_micros(), 50_000);
        assert!(pair[0].after < pair[1].before);
    }
    for entry in &ledger.entries {
        assert!(entry.before >= entry.due, "a frame left before it was due: {entry:?}");
        assert!(entry.before <= entry.after);
    }
}

#[test]
fn a_page_of_another_origin_may_read_the_stream_and_its_timing() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let request = "GET /stream?frames=1 HTTP/1.1\r\nHost: x\r\nOrigin: http://a\r\n\r\n";
    let answer = read(open(emitter.address(), request));
    for (name, value) in [
        ("access-control-allow-origin", "*"),
        ("timing-allow-origin", "*"),
        ("cross-origin-resource-policy", "cross-origin"),
    ] {
        assert_eq!(answer.head.header(name), Some(value), "{name}");
    }
    assert_eq!(answer.head.header("holdup-run").map(str::len), Some(32), "a run of its own");
}

#[test]
fn frames_due_at_once_still_leave_in_writes_of_their_own() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let run = RunId(2);
    get(&emitter, &format!("/stream?run={run}&frames=50&interval_ms=0"));
    assert_eq!(ledger(&emitter, run).merged_writes(), 0);
}

#[test]
fn a_stream_can_be_close_delimited() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    for (run, version, query) in [(3, "1.1", "&framing=close"), (4, "1.0", "")] {
        let run = RunId(run);
        let request = format!(
            "GET /stream?run={run}&frames=3&interval_ms=10{query} HTTP/{version}\r\nHost: x\r\n\r\n"
        );
        let answer = read(open(emitter.address(), &request));
        assert_eq!(answer.head.header("transfer-encoding"), None);
        assert_eq!(answer.head.header("content-length"), None);
        assert!(answer.whole);
        assert_eq!(answer.body.len(), 180);
        assert_eq!(ledger(&emitter, run).entries.len(), 3);
        assert!(ledger(&emitter, run).done.is_some());
    }
}

#[test]
fn headers_asked_for_are_sent() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let answer = get(&emitter, "/stream?frames=1&header=X-Accel-Buffering:%20no");
    assert_eq!(answer.head.header("x-accel-buffering"), Some("no"));
}

#[test]
fn a_second_request_under_one_run_is_counted() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let path = format!("/stream?run={}&frames=2&interval_ms=0", RunId(5));
    get(&emitter, &path);
    get(&emitter, &path);
    let ledger = ledger(&emitter, RunId(5));
    assert_eq!((ledger.attempts, ledger.entries.len()), (2, 2));
}

#[test]
fn a_head_request_is_no_run() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let path = format!("/stream?run={}&frames=1", RunId(6));
    let request = format!("HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let mut socket = open(emitter.address(), &request);
    while socket.recv(&mut [0; 4096]).unwrap().bytes > 0 {}
    assert_eq!(get(&emitter, &format!("/runs/{}", RunId(6))).head.status, 404);
}

#[test]
fn what_cannot_be_played_is_refused_with_its_bound() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    for (query, why) in [
        ("frames=0", "frames is 0: it must be from 1 to 99999"),
        ("frame_bytes=10", "frame_bytes is 10: it must be from 60 to 1048576"),
        (
            "interval_ms=1000000000",
            "interval_ms is 1000000000 ms: it must be from 0.0 ms to 60000 ms",
        ),
        (
            "script=nope",
            "no script is called \"nope\": known are headline, cases, halves, batched, late-first",
        ),
        (
            "colour=red",
            "no parameter is called \"colour\": known are script, frames, interval_ms, frame_bytes, framing, nagle, header",
        ),
        ("run=12", "run: a run id is 32 hexadecimal digits, not \"12\""),
        (
            "header=Content-Length:1",
            "header \"Content-Length\" may not be set: it belongs to the response's framing, which the script decides itself",
        ),
    ] {
        let answer = get(&emitter, &format!("/stream?{query}"));
        assert_eq!((answer.head.status, text(&answer).as_str()), (400, why));
    }
}

#[test]
fn an_unknown_run_and_an_unknown_path_say_so() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let answer = get(&emitter, &format!("/runs/{}", RunId(9)));
    assert_eq!(answer.head.status, 404);
    assert!(
        text(&answer).starts_with("no stream was asked for under run 0000"),
        "{}",
        text(&answer)
    );
    assert_eq!(get(&emitter, "/runs/xyz").head.status, 400);
    assert_eq!(get(&emitter, "/nothing").head.status, 404);
    assert_eq!(get(&emitter, "/instance").head.status, 200);
}

#[test]
fn a_dropped_run_is_told_from_an_unknown_one() {
    let emitter = Emitter::start(Config { ledger_bytes: 1, ..Config::loopback() }).unwrap();
    for run in [11, 12] {
        get(&emitter, &format!("/stream?run={}&frames=1", RunId(run)));
    }
    let answer = get(&emitter, &format!("/runs/{}", RunId(11)));
    assert_eq!(answer.head.status, 410, "{}", text(&answer));
}

#[test]
fn a_client_that_leaves_mid_stream_is_in_the_ledger() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let run = RunId(13);
    let request =
        format!("GET /stream?run={run}&frames=100&interval_ms=20 HTTP/1.1\r\nHost: x\r\n\r\n");
    let mut socket = open(emitter.address(), &request);
    socket.recv(&mut [0; 4096]).unwrap();
    drop(socket);
    let ledger = ledger(&emitter, run);
    assert_eq!(ledger.broken.as_deref(), Some("the client left before the stream's end"));
    assert_eq!(ledger.done, None);
}

#[test]
fn a_stop_ends_running_streams_with_their_framings_own_end() {
    let mut emitter = Emitter::start(Config::loopback()).unwrap();
    let run = RunId(14);
    let request =
        format!("GET /stream?run={run}&frames=600&interval_ms=20 HTTP/1.1\r\nHost: x\r\n\r\n");
    let socket = open(emitter.address(), &request);
    let reader = std::thread::spawn(move || read(socket));
    std::thread::sleep(Duration::from_millis(200));
    emitter.stop();
    let answer = reader.join().unwrap();
    assert!(answer.whole, "the last chunk came");
    let emitter::Lookup::Known(ledger) = emitter.ledgers().lookup(run) else { panic!("known") };
    assert_eq!(ledger.broken.as_deref(), Some("the emitter was stopped"));
}

#[test]
fn a_taken_port_is_named() {
    let first = Emitter::start(Config::loopback()).unwrap();
    let error =
        Emitter::start(Config { listen: first.address(), ..Config::loopback() }).err().unwrap();
    assert!(
        error.to_string().starts_with(&format!("cannot listen on {}", first.address())),
        "{error}"
    );
}

#[test]
fn the_page_is_isolated_typed_compressed_and_revalidated() {
    let files =
        [("index.html", b"<!doctype html>".as_slice()), ("pkg/page.wasm", b"\0asm".as_slice())];
    let assets = Assets::Embedded(files.into_iter().collect());
    let emitter = Emitter::start(Config { assets, ..Config::loopback() }).unwrap();
    let answer = get(&emitter, "/?preset=headline");
    assert_eq!(answer.head.header("cross-origin-opener-policy"), Some("same-origin"));
    assert_eq!(answer.head.header("cross-origin-embedder-policy"), Some("require-corp"));
    assert_eq!(answer.body, b"<!doctype html>");
    let wasm = get(&emitter, "/pkg/page.wasm");
    assert_eq!(wasm.head.header("content-type"), Some("application/wasm"));
    let tag = wasm.head.header("etag").unwrap();
    let ask = |extra: &str| {
        read(open(
            emitter.address(),
            &format!("GET /pkg/page.wasm HTTP/1.1\r\nHost: x\r\n{extra}\r\n\r\n"),
        ))
    };
    assert_eq!(ask(&format!("If-None-Match: {tag}")).head.status, 304);
    let zipped = ask("Accept-Encoding: gzip, br");
    assert_eq!(zipped.head.header("content-encoding"), Some("gzip"));
    assert_eq!(&zipped.body[..2], [0x1f, 0x8b]);
}
