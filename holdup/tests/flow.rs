//! Flow control by construction: readers that stop on purpose on every protocol, straight from the
//! emitter and behind real proxies, and readers that are only slow.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use certs::Authority;
use common::alone;
use emitter::{Config, Emitter, Lookup};
use measure::cell::{Cell, Link, Pause, Request};
use measure::guards::Guards;
use measure::ledger::Refusal;
use measure::transport::ClientProtocol;
use measure::verdict::{Finding, Thresholds, Verdict, of_run};
use measure::{Ledger, Measurement, Reader, RunId, Script, Span};
use proxies::supervise::Supervisor;
use proxies::{Proxies, Running, StartOptions};
use recv_client::{Ask, Http, Trust};

/// 64 KB each 10 ms: in the stop more comes due than the sockets between hold.
const FRAMES: u32 = 300;
const BYTES: u32 = 65_536;
const STOP: Span = Span::millis(1_500);
/// What HTTP/2 begins with (RFC 9113, 6.9.2).
const WINDOW: u32 = 65_535;

struct Bench {
    authority: Authority,
    emitter: Emitter,
}

impl Bench {
    fn start() -> Bench {
        let authority = Authority::in_memory().unwrap();
        let leaf = authority.leaf().unwrap();
        let tls = Some(emitter::Tls { listen: ([127, 0, 0, 1], 0).into(), leaf });
        let emitter = Emitter::start(Config { tls, ..Config::loopback() }).unwrap();
        Bench { authority, emitter }
    }

    fn proxy(&self, name: &str) -> Option<Running> {
        let proxies = Proxies::of_user(Vec::new()).unwrap();
        let supervisor = Supervisor::program(env!("CARGO_BIN_EXE_holdup"));
        let leaf = Some(Arc::new(self.authority.leaf().unwrap()));
        let options = StartOptions { leaf, ..StartOptions::with_supervisor(supervisor) };
        match proxies.start(name, self.emitter.address(), &options, &mut |_| ()) {
            Ok(running) => Some(running),
            Err(why) => {
                println!("SKIPPED({name}: {why})");
                None
            }
        }
    }

    fn ask(&self, protocol: ClientProtocol, through: Option<&Running>, run: RunId) -> Ask {
        let direct = if protocol.is_secure() {
            self.emitter.tls_address().unwrap()
        } else {
            self.emitter.address()
        };
        let address = through.map_or(direct, Running::listen);
        let query = format!("frames={FRAMES}&interval_ms=10&frame_bytes={BYTES}");
        let mut ask = Ask::plain(address, format!("/stream?run={run}&{query}"));
        ask.http = match protocol {
            ClientProtocol::Http2 | ClientProtocol::Http2Clear => Http::Two,
            ClientProtocol::Http3 => Http::Three,
            ClientProtocol::Http11 | ClientProtocol::Http11Tls => Http::One,
        };
        if protocol.is_secure() {
            let trust = Trust::only(self.authority.certificate_pem()).unwrap();
            ask.secure = Some(trust.secure("127.0.0.1").unwrap());
        }
        ask
    }

    /// Reads a stream and judges it; none, and said so, where the guards take the ground away.
    fn judge(
        &self,
        ask: &Ask,
        protocol: ClientProtocol,
        run: RunId,
        pause: Option<Pause>,
    ) -> Option<(Finding, Ledger, Measurement)> {
        let observed = std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                wire::priority::raise();
                recv_client::observe(ask, run)
            });
            reader.join().unwrap()
        });
        let mut arrivals = observed.arrivals;
        arrivals.transport = Some(observed.transport);
        let Lookup::Known(ledger) = self.emitter.ledgers().lookup(run) else { panic!("no ledger") };
        let client_protocol = protocol.name().into();
        let cell = Cell {
            endpoint: "made".into(),
            preset: "made".into(),
            reader: Reader::Recv,
            engine: None,
            request: Request { pause, client_protocol, ..Request::plain() },
            link: Link { mss: None, pooled: None, nagle: false },
            concurrency: 1,
            stream: None,
            page_work_us: None,
            script: Script::paced(FRAMES, Span::millis(10), BYTES).unwrap(),
        };
        if let Some(excluded) = Guards::default().check(&cell, Some(&ledger), &arrivals) {
            println!("SKIPPED(void: {run}: {})", excluded.why());
            return None;
        }
        let measured = Measurement::join(Some(&ledger), &arrivals).of_cell(&cell);
        let found = of_run(&measured, &Thresholds::standard());
        println!("{}: {}: {}", protocol.name(), found.name.name(), found.because);
        Some((found, *ledger, measured))
    }

    /// The same with a reader that stops once.
    fn stop(
        &self,
        protocol: ClientProtocol,
        through: Option<&Running>,
        run: u128,
    ) -> Option<(Finding, Ledger, Measurement)> {
        let run = RunId(run);
        let mut ask = self.ask(protocol, through, run);
        let pause = Pause { after_bytes: 200_000, pause_us: STOP, window_bytes: Some(WINDOW) };
        ask.pause = Some(recv_client::Pause {
            after_bytes: pause.after_bytes.into(),
            time: Duration::from_micros(STOP.as_micros() as u64),
            window: pause.window_bytes,
        });
        self.judge(&ask, protocol, run, Some(pause))
    }
}

#[test]
fn a_reader_that_stops_is_flow_control_on_every_protocol() {
    let _alone = alone();
    let bench = Bench::start();
    for (protocol, run) in ClientProtocol::ALL.into_iter().zip(1..) {
        let Some((found, ledger, measured)) = bench.stop(protocol, None, run) else { continue };
        assert_eq!(found.name, Verdict::FlowControl, "{}: {}", protocol.name(), found.because);
        assert!(found.because.contains("the reader had stopped on purpose"), "{}", found.because);
        let longest = measured.stops.iter().max_by_key(|stop| stop.waited).unwrap();
        assert_eq!(ledger.entries.len(), FRAMES as usize);
        if !matches!(protocol, ClientProtocol::Http11 | ClientProtocol::Http11Tls) {
            assert_eq!(longest.by, Refusal::Window);
            // The reader stopped with a read; up to half a window it may not have given back yet.
            let window = u64::from(WINDOW);
            let most = 200_000 + wire::RECV_BUFFER as u64 + window;
            assert!((200_000 + window / 4..=most).contains(&longest.left), "{longest:?}");
            // All that the window let through had come: it is not the network that is full. Over
            // HTTP/3 it lies unread.
            let unread = if protocol == ClientProtocol::Http3 { window } else { 0 };
            assert!(longest.on_the_way < u64::from(BYTES) + unread, "{longest:?}");
        } else {
            assert_eq!(longest.by, Refusal::Socket);
        }
    }
}

#[test]
fn a_reader_that_is_slow_all_the_time_is_no_flow_control() {
    let _alone = alone();
    let bench = Bench::start();
    for (protocol, run) in ClientProtocol::ALL.into_iter().zip(11..) {
        let run = RunId(run);
        let mut ask = bench.ask(protocol, None, run);
        // About half of what comes due. The cell does not say that it is slow on purpose: so is a
        // link. That its reader is away from its socket is not held against it here.
        ask.slow = Some((65_536, Duration::from_millis(20)));
        let pause = Some(Pause { after_bytes: 0, pause_us: Span::ZERO, window_bytes: None });
        let Some((found, ..)) = bench.judge(&ask, protocol, run, pause) else { continue };
        assert_ne!(found.name, Verdict::FlowControl, "{}: {}", protocol.name(), found.because);
    }
}

/// The proxy's own buffers are full first; then the emitter's writes wait.
#[test]
fn proxies_pass_a_stop_on_over_http2() {
    let _alone = alone();
    let bench = Bench::start();
    for (name, run) in
        ["nginx-buffering-off-tls", "haproxy-tls", "haproxy-no-delay-tls"].into_iter().zip(21..)
    {
        let Some(running) = bench.proxy(name) else { continue };
        let protocol = ClientProtocol::Http2;
        let Some((found, _, measured)) = bench.stop(protocol, Some(&running), run) else {
            continue;
        };
        assert_eq!(found.name, Verdict::FlowControl, "{name}: {}", found.because);
        let longest = measured.stops.iter().max_by_key(|stop| stop.waited).unwrap();
        assert_eq!(longest.by, Refusal::Socket, "{name}: the emitter is asked by HTTP/1.1");
        assert!(longest.on_the_way > u64::from(WINDOW), "{name}: {longest:?}");
    }
}

/// It takes what it is given, into a file if need be: no write of the emitter's waits.
#[test]
fn a_proxy_that_buffers_is_no_flow_control_though_its_reader_stops() {
    let _alone = alone();
    let bench = Bench::start();
    let Some(running) = bench.proxy("nginx-tls") else { return };
    for (protocol, run) in [(ClientProtocol::Http2, 31), (ClientProtocol::Http11Tls, 32)] {
        let Some((found, ..)) = bench.stop(protocol, Some(&running), run) else { continue };
        assert_ne!(found.name, Verdict::FlowControl, "{}", found.because);
    }
}
