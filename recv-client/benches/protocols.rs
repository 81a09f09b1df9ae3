//! What TLS, HTTP/2 and HTTP/3 add to the native reader's own delay: the same paced stream by five
//! ways, in turn on the same machine in one run.
//!
//! The own delay of an event is from the kernel's receive stamp of its last segment to the moment
//! at which its decoded bytes are handed on: wake-up, decryption, frames, parsing. The goal is
//! that a way's median is at most [`GOAL`] above that of plain HTTP/1.1; medians are taken within
//! a round and their differences over the rounds. What the event took in all, from before the
//! server's write, is shown beside it: it holds the work of the bench's own small servers too.
//!
//! `cargo bench -p recv-client`; `-- --strict` fails when a goal is missed (1) or was not measured
//! (4); `-- --rounds N` plays more.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on may end")]

#[path = "../tests/server/mod.rs"]
mod server;
#[path = "../tests/server/http3.rs"]
mod server3;

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use bytes::Bytes;
use measure::stats::median;
use measure::{End, Protocol, RunId, Span};
use recv_client::{Ask, Http};
use server::*;
use wire::Moment;

/// An event's way through TLS and HTTP/2 stays far below what a proxy's hold is.
const GOAL: Span = Span::micros(200);

/// Rounds of all ways: enough that one disturbed round does not move the median.
const ROUNDS: usize = 15;

/// Events of a stream, and the pace: that of the densest preset.
const COUNT: usize = 60;
const PACE: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    Tls,
    Http2,
    TlsHttp2,
    Http3,
}

const WAYS: [Way; 5] = [Way::Plain, Way::Tls, Way::Http2, Way::TlsHttp2, Way::Http3];

impl Way {
    fn name(self) -> &'static str {
        match self {
            Way::Plain => "HTTP/1.1",
            Way::Tls => "HTTP/1.1 by TLS",
            Way::Http2 => "HTTP/2",
            Way::TlsHttp2 => "HTTP/2 by TLS",
            Way::Http3 => "HTTP/3",
        }
    }
}

/// Medians of one stream.
#[derive(Clone, Copy)]
struct Figures {
    /// Kernel's stamp to handed on.
    own: Span,
    /// Kernel's stamp to the read's return: the part that no protocol is in.
    wake: Span,
    /// Server's write to handed on.
    whole: Span,
    /// Connected to handshake done; the call to that over HTTP/3.
    handshake: Option<Span>,
}

/// An event that tells when it was handed to the server's protocol.
fn event() -> Vec<u8> {
    format!("data: {}\n\n", Moment::now().micros()).into_bytes()
}

fn play(stream: &mut impl Write) {
    stream.write_all(HEAD).unwrap();
    for _ in 0..COUNT {
        std::thread::sleep(PACE);
        stream.write_all(&event()).unwrap();
        stream.flush().unwrap();
    }
}

fn ask(way: Way, authority: &Authority) -> Ask {
    let over_http2 = |config| {
        http2(config, |_, mut respond| async move {
            let mut stream = respond.send_response(ok(), false).unwrap();
            for _ in 0..COUNT {
                tokio::time::sleep(PACE).await;
                stream.send_data(Bytes::from(event()), false).unwrap();
            }
            stream.send_data(Bytes::new(), true).unwrap();
            Then::Stay
        })
    };
    match way {
        Way::Plain => bounded(raw(|mut stream| {
            if read_request(&mut stream) {
                play(&mut stream);
            }
        })),
        Way::Tls => {
            let address = over_tls(authority.server(&[]), |mut stream| {
                play(&mut stream);
                stream.conn.send_close_notify();
                stream.flush().unwrap();
            });
            secure(address, authority.file(), Http::One)
        }
        Way::Http2 => Ask { http: Http::Two, ..bounded(over_http2(None)) },
        Way::TlsHttp2 => {
            let address = over_http2(Some(authority.server(&["h2"])));
            secure(address, authority.file(), Http::Two)
        }
        Way::Http3 => {
            let address = server3::http3(authority.server(&["h3"]), |_, mut stream| async move {
                stream.send_response(ok()).await.unwrap();
                for _ in 0..COUNT {
                    tokio::time::sleep(PACE).await;
                    stream.send_data(Bytes::from(event())).await.unwrap();
                }
                stream.finish().await.unwrap();
                server3::Then3::Stay
            });
            secure(address, authority.file(), Http::Three)
        }
    }
}

/// Plays one stream; `None` when it did not come whole and each event by itself.
fn measure(way: Way, authority: &Authority) -> Option<Figures> {
    let mut handed = Vec::new();
    let seen = recv_client::observe_with(&ask(way, authority), RunId(7), &mut |at, bytes| {
        let now = Moment::now().micros();
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        let sent = text.trim().strip_prefix("data: ").and_then(|sent| sent.parse::<i64>().ok());
        handed.extend(sent.map(|sent| (at, sent, now)));
    });
    let expected = match way {
        Way::Plain | Way::Tls => Protocol::Http11,
        Way::Http2 | Way::TlsHttp2 => Protocol::Http2,
        Way::Http3 => Protocol::Http3,
    };
    let whole = seen.arrivals.end == End::Closed && handed.len() == COUNT;
    if !whole || seen.transport.protocol != Some(expected) {
        return None;
    }
    let (mut own, mut wake) = (Vec::new(), Vec::new());
    for delivery in &seen.arrivals.deliveries {
        let found = handed.iter().find(|(at, _, _)| *at == delivery.at);
        if let (Some((at, _, now)), Some(kernel)) = (found, delivery.kernel) {
            own.push(Span::micros(now - kernel.0));
            wake.push(Span::micros(at.0 - kernel.0));
        }
    }
    let all: Vec<Span> = handed.iter().map(|(_, sent, now)| Span::micros(now - sent)).collect();
    let done = seen.transport.tls.map(|tls| tls.handshake_done);
    // QUIC makes its connection by the handshake.
    let from = match way {
        Way::Http3 => Some(seen.arrivals.call),
        _ => seen.arrivals.connected,
    };
    let handshake = done.zip(from).map(|(done, from)| done - from);
    Some(Figures { own: median(&own)?, wake: median(&wake)?, whole: median(&all)?, handshake })
}

fn run(rounds: usize) -> Option<bool> {
    let authority = Authority::new();
    let mut played: Vec<[Option<Figures>; 5]> = Vec::new();
    // One round unseen: the first handshake loads what the others find loaded.
    for round in 0..=rounds {
        let mut figures = [None; 5];
        for turn in 0..WAYS.len() {
            let at = (round + turn) % WAYS.len();
            figures[at] = measure(WAYS[at], &authority);
        }
        if round > 0 {
            played.push(figures);
        }
    }
    println!("{COUNT} events, {} ms apart, {rounds} rounds; medians, µs", PACE.as_millis());
    println!("way               rounds   wake    own  whole  handshake  own less plain (from, to)");
    let mut met = Some(true);
    for (at, way) in WAYS.into_iter().enumerate() {
        let of = |figure: fn(&Figures) -> Option<Span>| {
            let all: Vec<Span> =
                played.iter().filter_map(|round| figure(round[at].as_ref()?)).collect();
            median(&all).map_or_else(|| "–".into(), |span| span.0.to_string())
        };
        let pairs: Vec<(Span, Span)> = played
            .iter()
            .filter_map(|round| Some((round[0].as_ref()?.own, round[at].as_ref()?.own)))
            .collect();
        let differences: Vec<Span> = pairs.iter().map(|(plain, own)| *own - *plain).collect();
        let wake = of(|figures| Some(figures.wake));
        let own = of(|figures| Some(figures.own));
        let whole = of(|figures| Some(figures.whole));
        let handshake = of(|figures| figures.handshake);
        print!("{:16} {:7} {wake:>6} {own:>6} {whole:>6} {handshake:>10}", way.name(), pairs.len());
        let Some(difference) = median(&differences) else {
            println!("  not measured");
            met = None;
            continue;
        };
        if way == Way::Plain {
            println!("  –");
            continue;
        }
        let mut ratios: Vec<f64> =
            pairs.iter().map(|(plain, own)| own.0 as f64 / plain.0.max(1) as f64).collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = measure::stats::nearest_rank(&ratios, 0.5).unwrap_or_default();
        let (least, most) = (differences.iter().min(), differences.iter().max());
        let spread = least.zip(most).map_or((0, 0), |(least, most)| (least.0, most.0));
        let verdict = if difference <= GOAL { "met" } else { "missed" };
        println!(
            "  {:+} ({:+}, {:+}), × {ratio:.2}; goal at most {}: {verdict}",
            difference.0, spread.0, spread.1, GOAL.0
        );
        met = met.map(|met| met && difference <= GOAL);
    }
    met
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` starts this without `--bench`: there is nothing to measure.
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("started without --bench: use cargo bench -p recv-client");
        return ExitCode::SUCCESS;
    }
    let strict = arguments.iter().any(|argument| argument == "--strict");
    let rounds = arguments.iter().position(|argument| argument == "--rounds");
    let rounds = rounds.and_then(|at| arguments.get(at + 1)?.parse().ok()).unwrap_or(ROUNDS);
    match run(rounds) {
        Some(true) => ExitCode::SUCCESS,
        Some(false) if strict => ExitCode::from(1),
        None if strict => ExitCode::from(4),
        _ => ExitCode::SUCCESS,
    }
}
