//! HTTP/3: a datagram for each frame, ledgers joined to datagrams, windows, resets, clients that
//! vanish or ask for too much.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod client;

use std::time::{Duration, Instant};

use client::{Client, LIMIT, body, part, quic};
use emitter::{Config, Emitter, Lookup, StartError, Tls};
use measure::ledger::Refusal;
use measure::{Ledger, RunId, Span};
use quinn::{TransportConfig, VarInt};

fn emitter() -> (Emitter, certs::Authority) {
    let authority = certs::Authority::in_memory().unwrap();
    let leaf = authority.leaf().unwrap();
    let tls = Some(Tls { listen: ([127, 0, 0, 1], 0).into(), leaf });
    (Emitter::start(Config { tls, ..Config::loopback() }).unwrap(), authority)
}

/// Runs a client on threads of its own.
fn client<T>(does: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
        .block_on(does)
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

#[test]
fn each_frame_leaves_in_a_datagram_of_its_own() {
    const FRAMES: usize = 41;
    let (emitter, authority) = emitter();
    let (run, to) = (RunId(100), emitter.tls_address().unwrap());
    let came = client(async {
        let mut client = Client::connect(to, &authority).await;
        let (head, mut stream) =
            client.get(&format!("/stream?run={run}&frames={FRAMES}&interval_ms=50")).await;
        assert_eq!(head.status(), http::StatusCode::OK);
        assert_eq!(head.headers()["content-type"], "text/event-stream");
        assert_eq!(head.headers()["timing-allow-origin"], "*");
        body(&mut stream, run).await
    });
    assert_eq!(came.iter().map(|(_, frames)| *frames).collect::<Vec<_>>(), vec![1; FRAMES]);
    let ledger = done(&emitter, run);
    assert_eq!((ledger.upstream_protocol.as_str(), ledger.broken.as_ref()), ("h3", None));
    assert_eq!(
        (ledger.merged_writes(), ledger.entries.len(), ledger.handed.len()),
        (0, FRAMES, FRAMES)
    );
    assert_eq!(ledger.body_bytes, 60 * FRAMES as u64);
    for (entry, (at, _)) in ledger.entries.iter().zip(&came) {
        let handed = ledger.handed(entry.seq).unwrap();
        assert!(entry.due <= handed && handed <= entry.before, "{entry:?}");
        assert!(entry.before <= entry.after && entry.before <= *at, "{entry:?}, read at {at:?}");
    }
    for pair in ledger.entries.windows(2) {
        assert!(pair[0].write < pair[1].write, "{pair:?}");
    }
    let mut late: Vec<Span> = ledger.entries.iter().map(|entry| entry.lateness()).collect();
    late.sort();
    println!("lateness: median {}, greatest {}", late[FRAMES / 2], late[FRAMES - 1]);
}

#[test]
fn streams_of_one_connection_keep_their_ledgers_apart() {
    let (emitter, authority) = emitter();
    let plan = [(RunId(201), 30, 5, 60), (RunId(202), 3, 0, 1 << 20), (RunId(203), 40, 3, 900)];
    client(async {
        let mut client = Client::connect(emitter.tls_address().unwrap(), &authority).await;
        let mut tasks = Vec::new();
        for (run, frames, pace, bytes) in plan {
            let query = format!("run={run}&frames={frames}&interval_ms={pace}&frame_bytes={bytes}");
            let mut stream = client.ask(&format!("/stream?{query}")).await;
            tasks.push(tokio::spawn(async move {
                stream.recv_response().await.unwrap();
                body(&mut stream, run).await.iter().map(|(_, frames)| frames).sum::<usize>()
            }));
        }
        for (task, (_, frames, ..)) in tasks.into_iter().zip(plan) {
            assert_eq!(task.await.unwrap(), frames);
        }
    });
    for (run, frames, _, bytes) in plan {
        let ledger = done(&emitter, run);
        assert_eq!((ledger.entries.len(), ledger.broken.as_ref()), (frames, None), "{run}");
        assert_eq!(
            (ledger.merged_writes(), ledger.body_bytes),
            (0, (frames * bytes) as u64),
            "{run}"
        );
        // A datagram is no larger than a path of the internet takes.
        assert!(u64::from(ledger.writes) >= ledger.body_bytes / 1_500, "{run}");
    }
}

#[test]
fn a_window_that_is_used_up_is_in_the_ledger_until_it_has_room() {
    const WINDOW: u32 = 65_536;
    let (emitter, authority) = emitter();
    for (of_stream, run) in [(true, RunId(301)), (false, RunId(302))] {
        let mut transport = TransportConfig::default();
        let (stream, all) = if of_stream { (WINDOW, 16 * WINDOW) } else { (16 * WINDOW, WINDOW) };
        transport.stream_receive_window(stream.into()).receive_window(all.into());
        let stalled = client(async {
            let to = emitter.tls_address().unwrap();
            let mut client = Client::with(to, &authority, transport).await;
            let query = format!("run={run}&frames=40&interval_ms=0&frame_bytes=4096");
            let (_, mut stream) = client.get(&format!("/stream?{query}")).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            let stalled = known(&emitter, run).unwrap();
            assert_eq!(body(&mut stream, run).await.iter().map(|(_, n)| n).sum::<usize>(), 40);
            stalled
        });
        let wait = stalled.waits.last().unwrap();
        assert_eq!((wait.by, wait.until), (Refusal::Window, None), "{:?}", stalled.waits);
        assert_eq!(stalled.entries.len() as u64, stalled.body_bytes / 4_096);
        // The window holds the head and the frames' own headers as well.
        assert!((u64::from(WINDOW) - 1_024..u64::from(WINDOW)).contains(&stalled.body_bytes));
        let ledger = done(&emitter, run);
        assert_eq!((ledger.entries.len(), ledger.merged_writes(), ledger.broken), (40, 0, None));
        let wait = ledger.waits.iter().find(|own| own.since == wait.since).unwrap();
        assert!(wait.until.unwrap() - wait.since > Span::millis(100), "{wait:?}");
    }
}

#[test]
fn a_stream_that_is_not_wanted_any_more_is_broken_and_its_neighbour_goes_on() {
    let (emitter, authority) = emitter();
    client(async {
        let mut client = Client::connect(emitter.tls_address().unwrap(), &authority).await;
        // The second is silent when it is given up.
        let mut given_up = Vec::new();
        for (run, frames, pace) in [(RunId(401), 1_000, 10), (RunId(402), 4, 9_000)] {
            let query = format!("run={run}&frames={frames}&interval_ms={pace}");
            let (_, mut stream) = client.get(&format!("/stream?{query}")).await;
            part(&mut stream).await.unwrap();
            given_up.push(stream);
        }
        let (_, mut stream) =
            client.get(&format!("/stream?run={}&frames=20&interval_ms=10", RunId(403))).await;
        // Letting go of a stream asks for no more of it.
        drop(given_up);
        assert_eq!(body(&mut stream, RunId(403)).await.len(), 20);
        for run in [RunId(401), RunId(402)] {
            let reset = until(&emitter, run, |ledger| ledger.broken.is_some());
            assert!(reset.broken.unwrap().contains("client left") && reset.done.is_none());
        }
    });
    assert_eq!(done(&emitter, RunId(403)).broken, None);
}

#[test]
fn a_client_that_leaves_is_in_every_ledger_of_its_connection() {
    let (emitter, authority) = emitter();
    client(async {
        let mut client = Client::connect(emitter.tls_address().unwrap(), &authority).await;
        let mut streams = Vec::new();
        for run in [RunId(501), RunId(502)] {
            streams
                .push(client.get(&format!("/stream?run={run}&frames=1000&interval_ms=20")).await);
        }
        client.quic.close(VarInt::from_u32(0x100), b"");
        for run in [RunId(501), RunId(502)] {
            let ledger = until(&emitter, run, |ledger| ledger.broken.is_some());
            assert!(ledger.broken.unwrap().contains("client left"));
        }
    });
}

#[test]
fn a_stop_ends_streams_cleanly() {
    let (mut emitter, authority) = emitter();
    let run = RunId(601);
    let (ended, took) = client(async {
        let to = emitter.tls_address().unwrap();
        // One without a request holds nothing up.
        let _idle = Client::connect(to, &authority).await;
        let mut client = Client::connect(to, &authority).await;
        let (_, mut stream) =
            client.get(&format!("/stream?run={run}&frames=1000&interval_ms=10")).await;
        part(&mut stream).await.unwrap();
        let stopping = tokio::task::spawn_blocking(move || {
            let began = Instant::now();
            emitter.stop();
            (emitter, began.elapsed())
        });
        while part(&mut stream).await.is_some() {}
        stopping.await.unwrap()
    });
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(known(&ended, run).unwrap().broken.unwrap(), "the emitter was stopped");
}

#[test]
fn bodies_of_requests_come_through_and_are_bounded() {
    let (emitter, authority) = emitter();
    client(async {
        let mut client = Client::connect(emitter.tls_address().unwrap(), &authority).await;
        let asks = r#"{"model": "m", "stream": true, "messages": [{"role": "user", "content": "one two three"}]}"#;
        let (status, mut stream) = client.post("/v1/chat/completions?interval_ms=1", asks).await;
        let mut text = Vec::new();
        while let Some(data) = part(&mut stream).await {
            text.extend_from_slice(&data);
        }
        assert_eq!(status, http::StatusCode::OK);
        assert!(text.ends_with(b"data: [DONE]\n\n"), "{}", String::from_utf8_lossy(&text));
        let (status, _) = client.post("/v1/chat/completions", &"x".repeat(8 << 20)).await;
        assert_eq!(status, http::StatusCode::PAYLOAD_TOO_LARGE);
    });
}

#[test]
fn clients_that_ask_for_too_much_or_speak_something_else_are_let_go() {
    let (emitter, authority) = emitter();
    let to = emitter.tls_address().unwrap();
    client(async {
        let other = quic(to, &authority, &["h2"], TransportConfig::default()).await.unwrap_err();
        assert!(other.to_string().contains("error 120"), "no_application_protocol: {other}");
        let junk = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
        for length in 0..64 {
            junk.send_to(&vec![0xc0 | length as u8; length * 20], to).await.unwrap();
        }
        let (_endpoint, raw) =
            quic(to, &authority, &["h3"], TransportConfig::default()).await.unwrap();
        // HEADERS of 2^30 - 1 bytes.
        let (mut send, _receive) = raw.open_bi().await.unwrap();
        send.write_all(&[1, 0xbf, 0xff, 0xff, 0xff]).await.unwrap();
        let stopped = tokio::time::timeout(LIMIT, send.stopped()).await.unwrap().unwrap();
        assert_eq!(stopped, Some(VarInt::from_u32(0x107)), "H3_EXCESSIVE_LOAD");
        // Streams without a request, as many as there may be.
        let mut streams = Vec::new();
        while let Ok(stream) = tokio::time::timeout(Duration::from_millis(200), raw.open_bi()).await
        {
            let (mut send, receive) = stream.unwrap();
            send.write_all(&[1]).await.unwrap();
            streams.push((send, receive));
            assert!(streams.len() <= 256);
        }
        assert!(streams.len() >= 255, "{}", streams.len());
        // What is no request at all ends its connection, and nobody else's.
        let (_endpoint, raw) =
            quic(to, &authority, &["h3"], TransportConfig::default()).await.unwrap();
        let (mut send, _receive) = raw.open_bi().await.unwrap();
        send.write_all(&[1, 4, 0xff, 0xff, 0xff, 0xff]).await.unwrap();
        tokio::time::timeout(LIMIT, raw.closed()).await.unwrap();
        let mut client = Client::connect(to, &authority).await;
        assert_eq!(client.get("/clock").await.0.status(), http::StatusCode::OK);
        assert_eq!(client.get("/nothing").await.0.status(), http::StatusCode::NOT_FOUND);
    });
}

#[test]
fn a_port_that_is_taken_over_udp_is_said() {
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let leaf = certs::Authority::in_memory().unwrap().leaf().unwrap();
    let tls = Some(Tls { listen: taken.local_addr().unwrap(), leaf });
    let refused = Emitter::start(Config { tls, ..Config::loopback() }).err().unwrap();
    assert!(matches!(refused, StartError::ListenUdp { .. }), "{refused}");
    assert!(refused.to_string().contains("over UDP, for HTTP/3"), "{refused}");
}
