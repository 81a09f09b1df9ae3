//! TLS and HTTP/2: one write and one record for each frame, streams that do not mix their
//! ledgers, windows, full sockets, resets, clients that speak something else.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod client;
mod windows;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use client::{Client, Io, Speaks};
use emitter::{Config, Emitter, Lookup, Tls};
use measure::frames::FrameReader;
use measure::{Ledger, RunId};

fn emitter() -> (Emitter, certs::Authority) {
    let authority = certs::Authority::in_memory().unwrap();
    let leaf = authority.leaf().unwrap();
    let tls = Some(Tls { listen: ([127, 0, 0, 1], 0).into(), leaf });
    (Emitter::start(Config { tls, ..Config::loopback() }).unwrap(), authority)
}

fn known(emitter: &Emitter, run: RunId) -> Option<Ledger> {
    match emitter.ledgers().lookup(run) {
        Lookup::Known(ledger) => Some(*ledger),
        Lookup::Dropped | Lookup::Unknown => None,
    }
}

fn until(emitter: &Emitter, run: RunId, holds: impl Fn(&Ledger) -> bool) -> Ledger {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match known(emitter, run) {
            Some(ledger) if holds(&ledger) => return ledger,
            other => assert!(Instant::now() < end, "not in time: {other:?}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn done(emitter: &Emitter, run: RunId) -> Ledger {
    until(emitter, run, |ledger| ledger.done.is_some())
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
fn each_frame_leaves_in_a_write_and_a_record_of_its_own() {
    let (emitter, authority) = emitter();
    let mut run = RunId(100);
    for pace in [5, 50] {
        for (speaks, version) in
            [(Speaks::H1Tls, "HTTP/1.1"), (Speaks::H2Tls, "HTTP/2.0"), (Speaks::H2c, "HTTP/2.0")]
        {
            let (frames, said) = (12, format!("{speaks:?} at {pace} ms"));
            let mut client = Client::connect(&emitter, &authority, speaks);
            client.get(1, &format!("/stream?run={run}&frames={frames}&interval_ms={pace}"));
            let mut reader = FrameReader::new(run);
            let (mut pieces, mut complete) = (Vec::new(), 0);
            while let Some(piece) = client.next() {
                let at = emitter::now();
                let here: usize = piece.data.iter().map(|(_, data)| reader.feed(data).len()).sum();
                complete += here;
                pieces.push((at, here));
                if piece.ended.contains(&1) {
                    break;
                }
            }
            assert_eq!(complete, frames, "{said}");
            let ledger = done(&emitter, run);
            assert_eq!(ledger.upstream_protocol, version, "{said}");
            assert_eq!((ledger.merged_writes(), ledger.broken.as_ref()), (0, None), "{said}");
            assert_eq!(ledger.entries.len(), frames, "{said}");
            assert_eq!(ledger.handed.len(), frames, "{said}");
            assert_eq!(ledger.body_bytes, 60 * frames as u64, "{said}");
            for entry in &ledger.entries {
                let handed = ledger.handed(entry.seq).unwrap();
                assert!(entry.due <= handed && handed <= entry.before, "{said}: {entry:?}");
                assert!(entry.before <= entry.after, "{said}: {entry:?}");
            }
            for pair in ledger.entries.windows(2) {
                assert!(pair[0].write < pair[1].write, "{said}: {pair:?}");
            }
            if speaks != Speaks::H2c {
                // A record is taken as it comes off the wire, so these are the server's own.
                let records: Vec<usize> =
                    pieces.iter().map(|(_, here)| *here).filter(|here| *here > 0).collect();
                assert_eq!(records, vec![1; frames], "{said}");
                let came = pieces.iter().filter(|(_, here)| *here > 0).map(|(at, _)| *at);
                for (at, entry) in came.zip(&ledger.entries) {
                    assert!(at >= entry.before, "{said}: read before it was written: {entry:?}");
                }
            }
            run = RunId(run.0 + 1);
        }
    }
}

#[test]
fn plain_http1_has_no_second_stamp() {
    let (emitter, authority) = emitter();
    let run = RunId(1);
    let mut client = Client::connect(&emitter, &authority, Speaks::H1);
    client.get(1, &format!("/stream?run={run}&frames=3&interval_ms=5"));
    while client.next().is_some_and(|piece| piece.ended.is_empty()) {}
    let ledger = done(&emitter, run);
    assert_eq!((ledger.entries.len(), ledger.handed(0)), (3, None));
    assert!(!serde_json::to_string(&ledger).unwrap().contains("handed"));
}

#[test]
fn three_streams_of_one_connection_keep_their_ledgers_apart() {
    let (emitter, authority) = emitter();
    for speaks in [Speaks::H2Tls, Speaks::H2c] {
        let mut client = Client::connect(&emitter, &authority, speaks);
        let base = if speaks == Speaks::H2c { 200 } else { 300 };
        // Of one pace, so that their frames are due together; between them what is no stream.
        let plan = [(1, 5, 60), (5, 11, 100), (9, 17, 300)];
        for (stream, frames, bytes) in plan {
            let run = RunId(base + u128::from(stream));
            let query = format!("frames={frames}&interval_ms=20&frame_bytes={bytes}");
            client.get(stream, &format!("/stream?run={run}&{query}"));
            client.get(stream + 2, "/clock");
        }
        let mut readers =
            plan.map(|(stream, ..)| FrameReader::new(RunId(base + u128::from(stream))));
        let (mut came, mut ended) = ([0; 3], Vec::new());
        while ended.len() < 6 {
            let piece = client.next().unwrap();
            for (stream, data) in &piece.data {
                if let Some(at) = plan.iter().position(|(of, ..)| of == stream) {
                    came[at] += readers[at].feed(data).len();
                }
            }
            ended.extend(piece.ended);
        }
        for (at, (stream, frames, bytes)) in plan.into_iter().enumerate() {
            let ledger = done(&emitter, RunId(base + u128::from(stream)));
            assert_eq!((came[at], ledger.entries.len()), (frames, frames), "{speaks:?} {stream}");
            assert_eq!(ledger.body_bytes, (frames * bytes) as u64, "{speaks:?} {stream}");
            assert_eq!((ledger.merged_writes(), ledger.broken), (0, None), "{speaks:?} {stream}");
        }
    }
}

#[test]
fn a_stream_whose_window_is_used_up_waits_and_its_ledger_shows_it() {
    let (emitter, authority) = emitter();
    for (speaks, run) in [(Speaks::H2c, RunId(31)), (Speaks::H2Tls, RunId(32))] {
        let mut client = Client::connect(&emitter, &authority, speaks);
        client.get(1, &format!("/stream?run={run}&frames=40&interval_ms=0&frame_bytes=4096"));
        // Everything that comes is read; nothing of it is given back to the window.
        let mut data = 0;
        while data < client::WINDOW {
            data += client.next().unwrap().data.iter().map(|(_, data)| data.len()).sum::<usize>();
        }
        let stalled = at_rest(&emitter, run);
        assert_eq!((data, stalled.body_bytes), (client::WINDOW, client::WINDOW as u64));
        assert_eq!((stalled.entries.len(), stalled.done), (client::WINDOW / 4096, None));
        client.more_window(0, 1 << 20);
        client.more_window(1, 1 << 20);
        while client.next().unwrap().ended.is_empty() {}
        let ledger = done(&emitter, run);
        assert_eq!((ledger.entries.len(), ledger.merged_writes(), ledger.broken), (40, 0, None));
    }
}

#[test]
fn lines_are_of_frames_whose_record_left_when_the_client_does_not_read() {
    const FRAME: u64 = 256 << 10;
    let (emitter, authority) = emitter();
    let run = RunId(41);
    let mut client = Client::connect(&emitter, &authority, Speaks::H1Tls);
    client.get(1, &format!("/stream?run={run}&frames=60&interval_ms=0&frame_bytes={FRAME}"));
    let stalled = at_rest(&emitter, run);
    assert!(stalled.done.is_none() && !stalled.body_bytes.is_multiple_of(FRAME));
    assert_eq!(stalled.entries.len() as u64, stalled.body_bytes / FRAME);
    let (mut reader, mut frames) = (FrameReader::new(run), 0);
    while let Some(piece) = client.next() {
        frames += piece.data.iter().map(|(_, data)| reader.feed(data).len()).sum::<usize>();
        let ledger = known(&emitter, run).unwrap();
        assert_eq!(ledger.entries.len() as u64, ledger.body_bytes / FRAME);
        if !piece.ended.is_empty() {
            break;
        }
    }
    let ledger = done(&emitter, run);
    assert_eq!((frames, ledger.entries.len(), ledger.broken.as_ref()), (60, 60, None));
    assert_eq!(ledger.merged_writes(), 0);
}

#[test]
fn a_stream_that_is_reset_is_broken_and_its_neighbour_goes_on() {
    let (emitter, authority) = emitter();
    let mut client = Client::connect(&emitter, &authority, Speaks::H2Tls);
    for (stream, frames) in [(1, 10_000), (3, 20)] {
        let run = RunId(50 + u128::from(stream));
        client.get(stream, &format!("/stream?run={run}&frames={frames}&interval_ms=10"));
    }
    while !client.next().unwrap().data.iter().any(|(stream, _)| *stream == 1) {}
    client.reset(1);
    while !client.next().unwrap().ended.contains(&3) {}
    let reset = until(&emitter, RunId(51), |ledger| ledger.broken.is_some());
    assert!(reset.broken.unwrap().contains("client left") && reset.done.is_none());
    let ledger = done(&emitter, RunId(53));
    assert_eq!((ledger.entries.len(), ledger.broken), (20, None));
}

#[test]
fn a_client_that_leaves_is_in_every_ledger_of_its_connection() {
    let (emitter, authority) = emitter();
    for (speaks, streams) in
        [(Speaks::H1Tls, [1].as_slice()), (Speaks::H2Tls, &[1, 3]), (Speaks::H2c, &[1, 3])]
    {
        let run = |stream: u32| RunId(70 + 10 * speaks as u128 + u128::from(stream));
        let mut client = Client::connect(&emitter, &authority, speaks);
        for stream in streams {
            let run = run(*stream);
            client.get(*stream, &format!("/stream?run={run}&frames=10000&interval_ms=10"));
        }
        for stream in streams {
            until(&emitter, run(*stream), |ledger| !ledger.entries.is_empty());
        }
        drop(client);
        for stream in streams {
            let ledger = until(&emitter, run(*stream), |ledger| ledger.broken.is_some());
            assert!(ledger.broken.unwrap().contains("client left"), "{speaks:?}");
        }
    }
}

#[test]
fn a_stop_ends_streams_cleanly_on_every_protocol() {
    for speaks in [Speaks::H1Tls, Speaks::H2Tls, Speaks::H2c] {
        let (mut emitter, authority) = emitter();
        let run = RunId(61);
        let mut client = Client::connect(&emitter, &authority, speaks);
        client.get(1, &format!("/stream?run={run}&frames=10000&interval_ms=10"));
        // Connections without a request, or without a handshake, hold nothing up.
        let _idle = Client::connect(&emitter, &authority, speaks);
        let _silent = TcpStream::connect(emitter.tls_address().unwrap()).unwrap();
        let _silent = TcpStream::connect(emitter.address()).unwrap();
        until(&emitter, run, |ledger| ledger.entries.len() > 2);
        let reading = std::thread::spawn(move || {
            let mut ended = false;
            while let Some(piece) = client.next() {
                ended |= piece.ended.contains(&1);
            }
            ended
        });
        let began = Instant::now();
        emitter.stop();
        assert!(began.elapsed() < Duration::from_secs(2), "{speaks:?}: {:?}", began.elapsed());
        assert!(reading.join().unwrap(), "{speaks:?}");
        let broken = known(&emitter, run).unwrap().broken.unwrap();
        assert_eq!(broken, "the emitter was stopped", "{speaks:?}");
    }
}

#[test]
fn clients_that_speak_something_else_are_let_go() {
    let (emitter, authority) = emitter();
    // Plain HTTP to the TLS port.
    let mut stream = TcpStream::connect(emitter.tls_address().unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(b"GET /clock HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    // A protocol that is not offered.
    let error = Io::tls(&emitter, &authority, &["h3"]).shake_hands().unwrap_err();
    assert!(error.to_string().contains("NoApplicationProtocol"), "{error}");
    // No protocol named is HTTP/1.1, as for any client of old.
    let mut io = Io::tls(&emitter, &authority, &[]);
    io.shake_hands().unwrap();
    io.send(b"GET /clock HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(io.piece().unwrap().starts_with(b"HTTP/1.1 200"));
    // A preface in pieces is one still, and what begins like it is HTTP/1.
    for (pieces, answer) in [
        (["P", "RI * HTTP/2.0\r\n\r\nSM\r\n\r\n"], b"\0".as_slice()),
        (["P", "UT /stream HTTP/1.1\r\nHost: x\r\n\r\n"], b"HTTP/1.1 405"),
        (["PR", "OPFIND /stream HTTP/1.1\r\nHost: x\r\n\r\n"], b"HTTP/1.1 405"),
    ] {
        let mut io = Io::plain(&emitter);
        for piece in pieces {
            io.send(piece.as_bytes());
            std::thread::sleep(Duration::from_millis(20));
        }
        let came = io.piece().unwrap();
        assert!(came.starts_with(answer), "{:?}", String::from_utf8_lossy(&came));
    }
}
