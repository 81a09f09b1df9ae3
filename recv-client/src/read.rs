//! Follows one response from the call to its end.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use measure::cell::HeaderSet;
use measure::frames::FrameReader;
use measure::{Arrivals, Delivery, End, Reader, RunId, Stamp};
use wire::decode::Decoder;
use wire::http1::{Head, ResponseFramer};
use wire::{Moment, Options, RECV_BUFFER, Socket};

use crate::bounded::Bounded;
use crate::request::{self, Form, Target};

/// How long a stream may be silent: above every pace and every hold that the presets play
/// (the longest held answer comes after some 10 s), and an end for one that never speaks.
pub const SILENCE: Duration = Duration::from_secs(30);

/// Most decoded bytes that are handed on at once: a compression bomb is never held whole.
pub const MOST_AT_ONCE: usize = 1 << 20;

/// Takes decoded body bytes and the time at which the read that brought them returned.
pub type Sink<'a> = &'a mut dyn FnMut(Stamp, &[u8]);

/// One request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Where to connect.
    pub address: SocketAddr,
    /// What to ask for.
    pub target: Target,
    /// With which headers.
    pub headers: HeaderSet,
    /// `Accept-Encoding` instead of the header set's own; an empty one for none.
    pub accept_encoding: Option<String>,
    /// Method, version, more fields, body.
    pub form: Form,
    /// Whether the run is named in the request, so that frames of another one are strangers; else
    /// whatever comes is the stream.
    pub named: bool,
    /// How much of the stream is read; absent for all of it.
    pub limit: Option<Limit>,
    /// Switches of the connection.
    pub options: Options,
    /// Read this many bytes at a time with this pause after each read; absent for a reader that
    /// reads as fast as it can.
    pub slow: Option<(usize, Duration)>,
}

/// How much of a stream is read: streams of other people's may never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// From the call on.
    pub time: Duration,
    /// Bytes from the socket.
    pub bytes: u64,
}

/// What an answer showed beside its arrivals.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What came when.
    pub arrivals: Arrivals,
    /// The response's head, if it came.
    pub head: Option<Head>,
    /// Whether the reader stopped at its own limit; the arrivals then end with `TimedOut` and
    /// that limit.
    pub stopped: bool,
}

impl Ask {
    /// A plain request for a path at an address.
    pub fn plain(address: SocketAddr, path: impl Into<String>) -> Ask {
        Ask {
            address,
            target: Target {
                host: address.to_string(),
                path: path.into(),
                origin: format!("http://{address}"),
            },
            headers: HeaderSet::Plain,
            accept_encoding: None,
            form: Form::default(),
            named: true,
            limit: None,
            options: Options { read_timeout: Some(SILENCE), ..Options::default() },
            slow: None,
        }
    }
}

/// Asks, reads to the end and says what came when. Whatever fails is in the arrivals' end.
pub fn read(ask: &Ask, run: RunId) -> Arrivals {
    observe(ask, run).arrivals
}

/// The same, with the response's head.
pub fn observe(ask: &Ask, run: RunId) -> Observed {
    observe_with(ask, run, &mut |_, _| ())
}

/// The same; `sink` is given the decoded body as it comes: once for each read that brought any,
/// with the time at which that read returned. A read that decodes to more than [`MOST_AT_ONCE`]
/// bytes is given in parts with one time.
pub fn observe_with(ask: &Ask, run: RunId, sink: Sink<'_>) -> Observed {
    let mut head = None;
    let mut stopped = false;
    let call = stamp(Moment::now());
    let mut arrivals = Arrivals::begin(run, Reader::Recv, call);
    match wire::connect(ask.address, &ask.options) {
        Ok((mut socket, connected)) => {
            arrivals.connected = Some(stamp(connected));
            arrivals.segment_bytes = socket.segment_bytes();
            let encoding = ask.accept_encoding.as_deref();
            let request = request::render(&ask.target, ask.headers, encoding, &ask.form);
            let silence = ask.options.read_timeout.unwrap_or(SILENCE);
            arrivals.end = match socket.send_all(&request) {
                Ok(_) => {
                    let frames =
                        if ask.named { FrameReader::new(run) } else { FrameReader::of_any_run() };
                    let response = Response::of(frames, sink);
                    let (end, came) = match ask.limit {
                        None => response.follow(&mut socket, &mut arrivals, silence, ask.slow),
                        Some(limit) => {
                            let mut bounded = Bounded::new(&mut socket, limit, call, silence);
                            let came =
                                response.follow(&mut bounded, &mut arrivals, silence, ask.slow);
                            stopped = bounded.stopped();
                            came
                        }
                    };
                    head = came;
                    match ask.limit.filter(|_| stopped) {
                        Some(limit) => End::TimedOut { limit_us: limit.time.as_micros() as i64 },
                        None => end,
                    }
                }
                Err(error) => failed("send the request", ask.address, &error),
            };
            arrivals.segments_in = socket.segments_in();
        }
        Err(error) => arrivals.end = End::Failed { what: error.to_string() },
    }
    arrivals.ended = stamp(Moment::now());
    Observed { arrivals, head, stopped }
}

fn stamp(moment: Moment) -> Stamp {
    Stamp(moment.micros())
}

fn failed(what: &str, address: SocketAddr, error: &io::Error) -> End {
    End::Failed { what: format!("{what} {address}: {error}") }
}

/// Reads a response until its framing, its connection or its silence ends it.
/// A slow reader offers so many bytes at each read and pauses after it.
pub fn follow(
    socket: &mut impl Socket,
    arrivals: &mut Arrivals,
    silence: Duration,
    slow: Option<(usize, Duration)>,
) -> End {
    Response::of(FrameReader::new(arrivals.run), &mut |_, _| ())
        .follow(socket, arrivals, silence, slow)
        .0
}

struct Response<'a> {
    framer: ResponseFramer,
    decoder: Option<Decoder>,
    frames: FrameReader,
    sink: Sink<'a>,
    /// What was decoded and not handed on yet; kept for its room.
    decoded: Vec<u8>,
}

impl<'a> Response<'a> {
    fn of(frames: FrameReader, sink: Sink<'a>) -> Response<'a> {
        Response { framer: ResponseFramer::new(), decoder: None, frames, sink, decoded: Vec::new() }
    }

    /// Also returns the response's head, if it came.
    fn follow(
        mut self,
        socket: &mut impl Socket,
        arrivals: &mut Arrivals,
        silence: Duration,
        slow: Option<(usize, Duration)>,
    ) -> (End, Option<Head>) {
        let mut buffer = vec![0; slow.map_or(RECV_BUFFER, |(bytes, _)| bytes.max(1))];
        let end = loop {
            let read = match socket.recv(&mut buffer) {
                Ok(read) => read,
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
                    ) =>
                {
                    break End::TimedOut { limit_us: silence.as_micros() as i64 };
                }
                Err(error) => {
                    break End::Failed {
                        what: format!("the connection broke while reading: {error}"),
                    };
                }
            };
            if read.bytes == 0 {
                break if self.framer.close_is_the_end() { End::Closed } else { End::Cut };
            }
            let mut delivery = Delivery {
                entered: Some(stamp(read.entered)),
                kernel: read.kernel.map(stamp),
                bytes: Some(read.bytes as u64),
                ..Delivery::at(stamp(read.at))
            };
            let fed = self.feed(&buffer[..read.bytes], &mut delivery, arrivals);
            arrivals.deliveries.push(delivery);
            if let Err(what) = fed {
                break End::Failed { what };
            }
            if self.framer.is_done() {
                break End::Closed;
            }
            // A slow reader begins to be slow with the body: a pause after a head that came alone
            // would be billed to who sent it alone.
            let begun =
                arrivals.deliveries.iter().any(|d| d.body_bytes.is_some_and(|bytes| bytes > 0));
            if let Some((_, pause)) = slow.filter(|_| begun) {
                std::thread::sleep(pause);
            }
        };
        arrivals.foreign_frames = self.frames.foreign_frames();
        arrivals.tail_bytes = self.frames.finish();
        (end, self.framer.head().cloned())
    }

    /// Takes one read apart; the frames it completed go into its delivery.
    fn feed(
        &mut self,
        bytes: &[u8],
        delivery: &mut Delivery,
        arrivals: &mut Arrivals,
    ) -> Result<(), String> {
        let mut body = Vec::new();
        let had_head = self.framer.head().is_some();
        self.framer
            .feed(bytes, |part| body.extend_from_slice(part))
            .map_err(|error| error.to_string())?;
        if let Some(head) = self.framer.head().filter(|_| !had_head) {
            arrivals.head = Some(delivery.at);
            arrivals.head_bytes = Some(head.bytes as u64);
            arrivals.status = Some(head.status);
            arrivals.content_type = head.header("content-type").map(String::from);
            arrivals.content_encoding = head.header("content-encoding").map(String::from);
            self.decoder = Some(
                Decoder::new(head.header("content-encoding")).map_err(|error| error.to_string())?,
            );
        }
        let mut count = 0;
        let mut fed = Ok(());
        if let (Some(decoder), false) = (&mut self.decoder, body.is_empty()) {
            let (frames, sink, decoded) = (&mut self.frames, &mut self.sink, &mut self.decoded);
            fed = decoder.feed(&body, |ready| {
                count += ready.len() as u64;
                delivery.frames.extend(frames.feed(ready));
                decoded.extend_from_slice(ready);
                if decoded.len() >= MOST_AT_ONCE {
                    sink(delivery.at, decoded);
                    decoded.clear();
                }
            });
            if !decoded.is_empty() {
                sink(delivery.at, decoded);
                decoded.clear();
            }
        }
        delivery.body_bytes = Some(count);
        fed.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
