//! The three emitters under measure. All keep the same ledgers; the two on axum share the
//! listener that stamps writes, and all ask for the same priority, so that only what keeps time
//! differs.

use std::convert::Infallible;
use std::io::{self, BufRead, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, RawQuery, State};
use axum::http::{HeaderValue, header};
use axum::response::Response;
use axum::routing::get;
use axum::serve::IncomingStream;
use emitter::follow::{Follow, SharedLedger, with};
use emitter::listener::{Connection, Stamped};
use emitter::{Config, Emitter, Ledgers};
use http_body::Frame;
use measure::ledger::Entry;
use measure::{Ledger, RunId, Script, Stamp};

use crate::report::Figures;

/// Room for the ledgers of 10,000 streams.
const LEDGER_BYTES: usize = 512 << 20;

/// Serves until standard input closes; answers `figures N` with the figures of runs 1 to N.
pub(crate) fn run(role: &str) -> io::Result<()> {
    emitter::raise_descriptor_limit()?;
    match role {
        "ours" => {
            let config = Config { ledger_bytes: LEDGER_BYTES, ..Config::loopback() };
            let emitter = Emitter::start(config).map_err(io::Error::other)?;
            answer(emitter.address(), emitter.ledgers())
        }
        "tokio" => {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .on_thread_start(|| {
                    wire::priority::raise();
                })
                .enable_all()
                .build()?;
            let ledgers = Ledgers::new(LEDGER_BYTES);
            let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))?;
            let address = listener.local_addr()?;
            let service = axum::Router::new()
                .route("/stream", get(ticks))
                .with_state(ledgers.clone())
                .into_make_service_with_connect_info::<Reach>();
            runtime.spawn(async move { axum::serve(Listening(listener), service).await });
            answer(address, &ledgers)
        }
        "thread" => {
            let ledgers = Ledgers::new(LEDGER_BYTES);
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let (address, theirs) = (listener.local_addr()?, ledgers.clone());
            std::thread::spawn(move || {
                for socket in listener.incoming().flatten() {
                    let ledgers = theirs.clone();
                    // A client that leaves ends its own stream only.
                    std::thread::spawn(move || {
                        let _ = sleep_and_write(socket, &ledgers);
                    });
                }
            });
            answer(address, &ledgers)
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no role {role:?}"))),
    }
}

fn answer(address: SocketAddr, ledgers: &Ledgers) -> io::Result<()> {
    println!("{address}");
    for line in io::stdin().lock().lines() {
        match line?.strip_prefix("figures ").and_then(|streams| streams.parse().ok()) {
            Some(streams) => println!("{}", Figures::of(ledgers, streams).line()),
            None => println!("what?"),
        }
    }
    Ok(())
}

/// The run and the script that a query asks for.
fn parse(query: &str) -> Option<(RunId, Script)> {
    let pairs = || query.split('&').filter_map(|pair| pair.split_once('='));
    let run = pairs().find(|(key, _)| *key == "run")?.1.parse().ok()?;
    Some((run, Script::from_query(pairs().filter(|(key, _)| *key != "run")).ok()?))
}

fn begin(ledgers: &Ledgers, run: RunId, script: &Script) -> Option<SharedLedger> {
    ledgers.begin(Ledger {
        run,
        instance: String::new(),
        attempts: 1,
        script: script.clone(),
        upstream_protocol: "HTTP/1.1".into(),
        segment_bytes: None,
        started: emitter::now(),
        entries: Vec::new(),
        handed: Vec::new(),
        waits: Vec::new(),
        writes: 0,
        body_bytes: 0,
        done: None,
        broken: None,
    })
}

async fn ticks(
    State(ledgers): State<Ledgers>,
    ConnectInfo(Reach(connection)): ConnectInfo<Reach>,
    RawQuery(query): RawQuery,
) -> Result<Response, &'static str> {
    let (run, script) = parse(query.as_deref().unwrap_or_default()).ok_or("bad query")?;
    let ledger = begin(&ledgers, run, &script).ok_or("one stream a run")?;
    connection.follow(Follow::new(ledger));
    let period = script.shortest_interval().unwrap_or_default().as_micros() as u64;
    #[allow(clippy::disallowed_methods, reason = "it is what this benchmark compares with")]
    let interval = tokio::time::interval(Duration::from_micros(period.max(1)));
    let frames: Vec<Bytes> = script.player(run).map(|(_, bytes)| bytes.into()).collect();
    let mut response = Response::new(Body::new(Ticks { interval, frames: frames.into_iter() }));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

/// axum's own way of serving, over connections that stamp their writes.
struct Listening(tokio::net::TcpListener);

impl axum::serve::Listener for Listening {
    type Io = Stamped;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Stamped, SocketAddr) {
        loop {
            if let Ok((stream, remote)) = self.0.accept().await {
                return (Stamped::new(stream, remote), remote);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}
/// The handler's reach into its connection.
#[derive(Clone)]
struct Reach(Connection);

impl Connected<IncomingStream<'_, Listening>> for Reach {
    fn connect_info(stream: IncomingStream<'_, Listening>) -> Reach {
        Reach(stream.io().connection())
    }
}

/// A frame at each tick.
struct Ticks {
    interval: tokio::time::Interval,
    frames: std::vec::IntoIter<Bytes>,
}

impl http_body::Body for Ticks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.frames.len() == 0 {
            return Poll::Ready(None);
        }
        ready!(self.interval.poll_tick(context));
        Poll::Ready(self.frames.next().map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// One stream on a thread of its own, in the plainest way that can be written.
fn sleep_and_write(mut socket: TcpStream, ledgers: &Ledgers) -> Option<()> {
    wire::priority::raise();
    let mut request = [0; 1024];
    let read = socket.read(&mut request).ok()?;
    let request = std::str::from_utf8(&request[..read]).ok()?;
    let (run, script) = parse(request.split_once('?')?.1.split(' ').next()?)?;
    let ledger = begin(ledgers, run, &script)?;
    let started = with(&ledger, |ledger| ledger.started);
    socket.set_nodelay(true).ok()?;
    socket.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").ok()?;
    for (seq, (due, bytes)) in (0..).zip(script.player(run)) {
        let due = started + due;
        let chunk = [format!("{:X}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
        sleep_until(due);
        let before = emitter::now();
        socket.write_all(&chunk).ok()?;
        let after = emitter::now();
        with(&ledger, |ledger| {
            ledger.entries.push(Entry { seq, due, before, after, write: seq + 1 });
        });
    }
    socket.write_all(b"0\r\n\r\n").ok()
}

/// The system's own sleep to an absolute time.
#[cfg(target_os = "linux")]
fn sleep_until(due: Stamp) {
    use nix::errno::Errno;
    use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
    let flags = ClockNanosleepFlags::TIMER_ABSTIME;
    let due = Duration::from_micros(due.0.max(0) as u64).into();
    // Cut short by a signal: sleep on.
    while clock_nanosleep(ClockId::CLOCK_MONOTONIC, flags, &due) == Err(Errno::EINTR) {}
}

/// Where there is no such call, the rest of the time.
#[cfg(not(target_os = "linux"))]
fn sleep_until(due: Stamp) {
    let left = (due - emitter::now()).as_micros();
    std::thread::sleep(Duration::from_micros(u64::try_from(left).unwrap_or(0)));
}
