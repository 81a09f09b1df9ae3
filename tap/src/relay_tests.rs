//! Relays over real sockets, with a hand-made origin that writes on time.

use super::*;
use measure::frames::FrameReader;
use measure::script::{Body, Piece, Script, Write};
use measure::{End, Span};
use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use wire::http1::ResponseFramer;

const RUN: RunId = RunId(0xfeed);

fn any() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

/// Answers one connection with the script, one write each.
fn origin(script: Script) -> SocketAddr {
    let listener = TcpListener::bind(any()).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut socket = TcpSocket::new(stream.try_clone().unwrap()).unwrap();
        socket.recv(&mut [0; 4096]).unwrap();
        let mut stream = stream;
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").unwrap();
        let start = Moment::now();
        for (due, bytes) in script.player(RUN) {
            let wait = start.micros() + due.as_micros() - Moment::now().micros();
            std::thread::sleep(Duration::from_micros(wait.max(0) as u64));
            let chunk = [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
            if stream.write_all(&chunk).is_err() {
                return;
            }
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    address
}

/// Reads through a tap; frames of each read, and what the tap saw.
fn through(behaviour: Behaviour, script: Script) -> (Vec<usize>, Arrivals) {
    let tap = Tap::start(any(), origin(script), behaviour, Some(1448)).unwrap();
    let options = Options { read_timeout: Some(Duration::from_secs(10)), ..Options::default() };
    let (mut socket, _) = wire::connect(tap.address(), &options).unwrap();
    socket
        .send_all(format!("GET /stream?run={RUN} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
        .unwrap();
    let (mut framer, mut frames) = (ResponseFramer::new(), FrameReader::new(RUN));
    let (mut per_read, mut buffer) = (Vec::new(), vec![0; RECV_BUFFER]);
    while !framer.is_done() {
        let read = socket.recv(&mut buffer).unwrap();
        assert!(read.bytes > 0, "the answer was cut");
        let mut got = 0;
        framer.feed(&buffer[..read.bytes], |part| got += frames.feed(part).len()).unwrap();
        per_read.extend((got > 0).then_some(got));
    }
    std::thread::sleep(Duration::from_millis(20));
    let seen = tap.arrivals(RUN).expect("the tap noted the run");
    (per_read, seen)
}

fn ten() -> Script {
    Script::paced(10, Span::millis(40), 60).unwrap()
}

#[test]
fn the_honest_tap_changes_nothing_and_notes_everything() {
    let (per_read, seen) = through(Behaviour::Honest, ten());
    assert_eq!(per_read, [1; 10]);
    assert_eq!(seen.end, End::Closed);
    assert_eq!(seen.segment_bytes, Some(1448));
    let with_frames: Vec<&Delivery> =
        seen.deliveries.iter().filter(|delivery| !delivery.frames.is_empty()).collect();
    assert_eq!(with_frames.len(), 10);
    for delivery in &with_frames {
        assert!(delivery.forwarded.unwrap() >= delivery.at);
        assert!(delivery.kernel.is_some());
    }
}

#[test]
fn draining_gives_all_frames_in_one_read() {
    let (per_read, seen) = through(Behaviour::Drain, ten());
    assert_eq!(per_read, [10]);
    assert_eq!(seen.frames().count(), 10, "the tap itself saw them one by one");
    assert!(seen.deliveries.len() >= 10);
}

#[test]
fn a_cut_ends_both_connections_before_the_framing_does() {
    let tap = Tap::start(any(), origin(ten()), Behaviour::Cut(4), None).unwrap();
    let options = Options { read_timeout: Some(Duration::from_secs(10)), ..Options::default() };
    let (mut socket, _) = wire::connect(tap.address(), &options).unwrap();
    socket.send_all(b"GET /stream HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let (mut framer, mut frames) = (ResponseFramer::new(), FrameReader::new(RUN));
    let (mut got, mut buffer) = (0, vec![0; RECV_BUFFER]);
    loop {
        let read = socket.recv(&mut buffer).unwrap();
        if read.bytes == 0 {
            break;
        }
        framer.feed(&buffer[..read.bytes], |part| got += frames.feed(part).len()).unwrap();
    }
    assert!((1..=4).contains(&got), "{got} frames");
    assert!(!framer.is_done());
}

#[test]
fn a_cork_gives_bursts() {
    let (per_read, _) = through(Behaviour::Cork, Script::paced(20, Span::millis(40), 60).unwrap());
    assert!(per_read.len() <= 8, "{per_read:?}");
    assert_eq!(per_read.iter().sum::<usize>(), 20);
}

#[test]
fn collecting_gives_groups() {
    let (per_read, _) = through(Behaviour::Collect(190), ten());
    assert!(per_read[..per_read.len() - 1].iter().all(|frames| *frames >= 2), "{per_read:?}");
}

#[test]
fn an_event_in_two_writes_is_whole_only_with_the_second() {
    let part = |due, from, to| Write {
        due_us: Span::millis(due),
        pieces: vec![Piece::Part { bytes: 80, from, to }],
    };
    let writes = vec![part(0, 0, 30), part(80, 30, 80)];
    let script = Script { body: Body::Writes { writes }, ..Script::headline() };
    let (_, seen) = through(Behaviour::WaitForEvent, script);
    let forwarded: Vec<bool> = seen.deliveries.iter().map(|d| d.forwarded.is_some()).collect();
    assert!(forwarded.contains(&false), "the first half went on at once: {forwarded:?}");
}

#[test]
fn an_upstream_that_is_not_there_is_a_closed_connection() {
    let nobody = TcpListener::bind(any()).unwrap().local_addr().unwrap();
    let tap = Tap::start(any(), nobody, Behaviour::Honest, None).unwrap();
    let options = Options { read_timeout: Some(Duration::from_secs(5)), ..Options::default() };
    // The reset may come before the connect has returned.
    if let Ok((mut socket, _)) = wire::connect(tap.address(), &options) {
        let ended = socket.recv(&mut [0; 16]);
        assert!(ended.is_err() || ended.is_ok_and(|read| read.bytes == 0));
    }
}
