//! HTTP/3: a datagram for each frame, ledgers joined to datagrams, windows, resets, clients that
//! vanish or ask for too much.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod client;

use std::time::{Duration, Instant};

use client::{Client, body};
use emitter::{Config, Emitter, Lookup, Tls};
use measure::{Ledger, RunId, Span};

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
    println!("waits: {:?}", ledger.waits);
}
