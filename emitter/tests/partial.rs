//! The ledger when the kernel takes a part of what it is given, and when a write holds several
//! frames: its lines against the bytes that a reader really gets.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::io::{ErrorKind, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use emitter::follow::{Follow, SharedLedger, with};
use emitter::listener::Stamped;
use emitter::{Config, Emitter, Lookup};
use measure::frames::FrameReader;
use measure::{Ledger, RunId, Script, Span, Stamp};
use socket2::{Domain, SockRef, Socket, Type};
use tokio::io::AsyncWriteExt as _;
use wire::http1::ResponseFramer;

/// A connection whose own buffer is as small as the kernel makes it, so that the other side
/// soon has nowhere to write to.
fn narrow(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

fn ask(address: SocketAddr, run: RunId, query: &str) -> TcpStream {
    let mut stream = narrow(address);
    let request = format!("GET /stream?run={run}&{query} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

fn known(emitter: &Emitter, run: RunId) -> Option<Ledger> {
    match emitter.ledgers().lookup(run) {
        Lookup::Known(ledger) => Some(*ledger),
        Lookup::Dropped | Lookup::Unknown => None,
    }
}

/// The ledger once it has stood still for a while with a stream in it.
fn at_rest(emitter: &Emitter, run: RunId) -> Ledger {
    let end = Instant::now() + Duration::from_secs(10);
    let mut before = None;
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now = known(emitter, run);
        match &now {
            Some(ledger) if ledger.body_bytes > 0 && now == before => return now.unwrap(),
            _ => assert!(Instant::now() < end, "the stream does not stall: {now:?}"),
        }
        before = now;
    }
}

#[test]
fn lines_are_of_frames_whose_last_byte_left_when_the_client_does_not_read() {
    const FRAME: u64 = 1 << 20;
    let mut emitter = Emitter::start(Config::loopback()).unwrap();
    let run = RunId(21);
    // 40 MB: more than both ends' buffers may grow to.
    let mut stream = ask(emitter.address(), run, "frames=40&interval_ms=0&frame_bytes=1048576");
    let stalled = at_rest(&emitter, run);
    assert!(stalled.done.is_none());
    assert!(
        !stalled.body_bytes.is_multiple_of(FRAME),
        "the kernel took a part: {}",
        stalled.body_bytes
    );
    assert_eq!(stalled.entries.len() as u64, stalled.body_bytes / FRAME);
    // The emitter goes away; what the kernel had taken is still delivered, and is all there is.
    emitter.stop();
    let mut framer = ResponseFramer::new();
    let mut frames = FrameReader::new(run);
    let (mut body, mut complete, mut buffer) = (0, 0, vec![0; wire::RECV_BUFFER]);
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) => break,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            read => read.unwrap(),
        };
        let fed = framer.feed(&buffer[..read], |part| {
            body += part.len() as u64;
            complete += frames.feed(part).len();
        });
        fed.unwrap();
    }
    let ledger = known(&emitter, run).unwrap();
    assert!(!framer.is_done());
    assert_eq!(body, ledger.body_bytes, "bytes that the reader got, and bytes that left");
    assert_eq!(complete, ledger.entries.len(), "frames that the reader got, and lines");
    assert_eq!(ledger.entries, stalled.entries);
    assert!(ledger.broken.is_some());
}

#[test]
fn no_frame_is_read_before_it_has_a_line_when_the_client_reads_slowly() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let run = RunId(22);
    let frame = 256 << 10;
    let mut stream = ask(emitter.address(), run, "frames=60&interval_ms=0&frame_bytes=262144");
    // Nothing is read until the kernel takes no more: one frame at least leaves in parts.
    let stalled = at_rest(&emitter, run);
    assert!(stalled.done.is_none() && !stalled.body_bytes.is_multiple_of(frame));
    let mut framer = ResponseFramer::new();
    let (mut body, mut buffer) = (0_u64, vec![0; 96 << 10]);
    while !framer.is_done() {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "the stream ended after {body} bytes");
        framer.feed(&buffer[..read], |part| body += part.len() as u64).unwrap();
        // The write may not have returned when its first bytes are read: its line is in the
        // ledger a moment later.
        let end = Instant::now() + Duration::from_secs(5);
        loop {
            let ledger = known(&emitter, run).unwrap();
            assert_eq!(ledger.entries.len() as u64, ledger.body_bytes / frame);
            if ledger.body_bytes >= body {
                break;
            }
            assert!(Instant::now() < end, "{body} bytes read, {} left", ledger.body_bytes);
        }
    }
    let ledger = known(&emitter, run).unwrap();
    assert_eq!(ledger.entries.len(), 60);
    assert_eq!(ledger.merged_writes(), 0);
    assert!(ledger.writes > 60, "{} writes: one for each frame, and more", ledger.writes);
    for pair in ledger.entries.windows(2) {
        assert!(pair[0].write < pair[1].write && pair[0].after <= pair[1].before);
    }
}

fn empty_ledger(script: &Script) -> SharedLedger {
    Arc::new(Mutex::new(Ledger {
        run: RunId(23),
        instance: String::new(),
        attempts: 1,
        script: script.clone(),
        upstream_protocol: "HTTP/1.1".into(),
        segment_bytes: None,
        started: Stamp(0),
        entries: Vec::new(),
        handed: Vec::new(),
        waits: Vec::new(),
        writes: 0,
        body_bytes: 0,
        done: None,
        broken: None,
    }))
}

/// Writes a whole response as one piece into a narrow socket, as a server does that merges
/// frames, and checks the ledger against what the kernel had taken after each write.
async fn merge_into(io: &mut Stamped, bytes: &[u8], vectored: bool, ledger: &SharedLedger) {
    let mut left = 0;
    while left < bytes.len() {
        let rest = &bytes[left..];
        let taken = if vectored {
            let (one, two) = rest.split_at(rest.len() / 3);
            io.write_vectored(&[one, two].map(std::io::IoSlice::new)).await.unwrap()
        } else {
            io.write(rest).await.unwrap()
        };
        left += taken;
        let mut body = 0;
        ResponseFramer::new().feed(&bytes[..left], |part| body += part.len() as u64).unwrap();
        with(ledger, |ledger| {
            assert_eq!(ledger.body_bytes, body);
            let complete = ledger.script.frame_ends().iter().filter(|end| **end <= body).count();
            assert_eq!(ledger.entries.len(), complete);
        });
    }
}

#[test]
fn a_write_that_merges_frames_gives_each_its_line_and_is_counted() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (frames, size, vectored) in
        [(3, 60, false), (50, 60, true), (5_000, 60, false), (5_000, 60, true)]
    {
        let script = Script::paced(frames, Span::ZERO, size).unwrap();
        let mut bytes = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        for (_, frame) in script.player(RunId(23)) {
            bytes.extend_from_slice(format!("{:X}\r\n", frame.len()).as_bytes());
            bytes.extend_from_slice(&frame);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let shared = empty_ledger(&script);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = narrow(listener.local_addr().unwrap());
        let reader = std::thread::spawn(move || {
            // The first writes meet a reader that does not read.
            std::thread::sleep(Duration::from_millis(100));
            let mut got = Vec::new();
            client.read_to_end(&mut got).unwrap();
            got
        });
        runtime.block_on(async {
            let (stream, remote) = listener.accept().unwrap();
            SockRef::from(&stream).set_send_buffer_size(8192).unwrap();
            stream.set_nonblocking(true).unwrap();
            let stream = tokio::net::TcpStream::from_std(stream).unwrap();
            let mut io = Stamped::new(stream, remote);
            io.connection().follow(Follow::new(Arc::clone(&shared)));
            merge_into(&mut io, &bytes, vectored, &shared).await;
        });
        assert_eq!(reader.join().unwrap(), bytes);
        let ledger = with(&shared, |ledger| ledger.clone());
        assert!(ledger.done.is_some());
        assert_eq!(ledger.entries.len(), frames as usize);
        let writes = ledger.entries.iter().map(|entry| entry.write).collect::<Vec<_>>();
        let shared_writes = writes.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert_eq!(ledger.merged_writes() as usize, shared_writes);
        assert!(shared_writes > 0);
        // A few go in one piece; a third of a megabyte does not.
        assert_eq!(ledger.writes > 1, frames == 5_000, "{} writes", ledger.writes);
    }
}
