//! A real stream under TLS through a tap: what the tap proves is what the reader saw.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::net::{Ipv4Addr, SocketAddr};

use certs::Authority;
use emitter::{Config, Emitter, Lookup, Tls};
use measure::{RunId, Script, Span};
use recv_client::{Ask, Http, Trust};
use tap::Tap;

const RUN: RunId = RunId(0xbeef);

#[test]
fn a_stream_over_http2_passes_untouched_and_is_joined_to_its_records() {
    let authority = Authority::in_memory().unwrap();
    let any: SocketAddr = (Ipv4Addr::LOCALHOST, 0).into();
    let tls = Tls { listen: any, leaf: authority.leaf().unwrap() };
    let emitter = Emitter::start(Config { tls: Some(tls), ..Config::loopback() }).unwrap();
    let tap = Tap::before_tls(any, emitter.tls_address().unwrap(), Some(1448)).unwrap();
    let script = Script::paced(20, Span::millis(20), 60).unwrap();
    let query: Vec<String> =
        script.to_query().unwrap().iter().map(|(key, value)| format!("&{key}={value}")).collect();
    let mut ask = Ask::plain(tap.address(), format!("/stream?run={RUN}{}", query.concat()));
    let trust = Trust::only(authority.certificate_pem()).unwrap();
    ask.secure = Some(trust.secure("127.0.0.1").unwrap());
    ask.http = Http::Two;
    let read = recv_client::observe(&ask, RUN).arrivals;
    assert_eq!(read.frames().count(), 20, "{:?}", read.end);
    // The tap notes after it has passed on, and the emitter after it has written.
    std::thread::sleep(std::time::Duration::from_millis(100));
    let Lookup::Known(ledger) = emitter.ledgers().lookup(RUN) else { panic!("no ledger") };
    let seen = tap.sealed().unwrap().join(&ledger).unwrap();
    let frames = |arrivals: &measure::Arrivals| -> Vec<(Option<u32>, bool, bool)> {
        arrivals.frames().map(|(_, own)| (own.seq, own.text, own.terminal)).collect()
    };
    assert_eq!(frames(&seen), frames(&read));
    for ((tapped, _), (came, _)) in seen.frames().zip(read.frames()) {
        assert!(tapped.at <= came.at, "the tap sees a frame before its reader");
        assert!(tapped.forwarded.is_some());
    }
    assert!(tap.arrivals(RUN).is_none(), "nothing was read of what passed");
}
