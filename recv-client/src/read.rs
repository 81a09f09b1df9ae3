//! Follows one response from the call to its end.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use measure::frames::FrameReader;
use measure::{Arrivals, Delivery, End, Reader, RunId, Stamp, Transport};
use wire::decode::Decoder;
use wire::http1::Head;
use wire::{DatagramSocket, Moment, RECV_BUFFER, Socket};

use crate::ask::{Ask, Http, SILENCE};
use crate::bounded::Bounded;
use crate::line::{Line, LineError};
use crate::pause::Stop;

/// Most decoded bytes that are handed on at once: a compression bomb is never held whole.
pub const MOST_AT_ONCE: usize = 1 << 20;

/// Most frames that are kept of one answer, ten times what a script may have: a bomb of empty
/// comments must not fill the memory with their marks.
pub const MOST_FRAMES: usize = 1 << 20;

/// Most reads that are kept, for the same reason: a stream of single bytes takes a delivery for
/// each. More than twice the frames of the longest script.
pub const MOST_READS: usize = 1 << 18;

/// Takes decoded body bytes and the time at which the read that brought them returned.
pub type Sink<'a> = &'a mut dyn FnMut(Stamp, &[u8]);

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
    /// What carried it.
    pub transport: Transport,
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
    let call = stamp(Moment::now());
    let mut arrivals = Arrivals::begin(run, Reader::Recv, call);
    let mut seen = Seen { stopped: false, told: Told::default() };
    arrivals.end = match over_socket(ask, &mut arrivals, &mut seen, sink) {
        Ok(end) => end,
        Err(error) => End::Failed { what: error.to_string() },
    };
    arrivals.ended = stamp(Moment::now());
    let Seen { stopped, told: Told { head, transport, .. } } = seen;
    Observed { arrivals, head, stopped, transport }
}

fn over_socket(
    ask: &Ask,
    arrivals: &mut Arrivals,
    seen: &mut Seen,
    sink: Sink<'_>,
) -> io::Result<End> {
    if ask.http == Http::Three {
        let mut socket = DatagramSocket::connect(ask.address)?;
        let end = within_limit(ask, &mut socket, arrivals, seen, sink);
        // A connection over datagrams stands when its handshake is done; where it fails, somebody
        // is there all the same.
        let done = seen.told.transport.tls.as_ref().map(|tls| tls.handshake_done);
        arrivals.connected = done.or(socket.first_heard().map(stamp));
        arrivals.datagrams_lost = socket.lost();
        for datagram in std::mem::take(&mut seen.told.farewell) {
            // Good manners, and no more.
            let _ = socket.send(&datagram);
        }
        return Ok(end);
    }
    let (mut socket, connected) = wire::connect(ask.address, &ask.options)?;
    arrivals.connected = Some(stamp(connected));
    arrivals.segment_bytes = socket.segment_bytes();
    // A peer that reads nothing must not hold the reader up. It fails only for zero.
    let _ = socket.stream().set_write_timeout(Some(silence(ask)));
    let end = within_limit(ask, &mut socket, arrivals, seen, sink);
    arrivals.segments_in = socket.segments_in();
    Ok(end)
}

fn within_limit(
    ask: &Ask,
    socket: &mut impl Socket,
    arrivals: &mut Arrivals,
    seen: &mut Seen,
    sink: Sink<'_>,
) -> End {
    let Some(limit) = ask.limit else {
        return converse(ask, socket, arrivals, &mut seen.told, sink);
    };
    let mut bounded = Bounded::new(socket, limit, arrivals.call, silence(ask), ask.leave.clone());
    let end = converse(ask, &mut bounded, arrivals, &mut seen.told, sink);
    seen.stopped = bounded.stopped();
    let limit_us = limit.time.as_micros() as i64;
    if seen.stopped { End::TimedOut { limit_us } } else { end }
}

struct Seen {
    stopped: bool,
    told: Told,
}

#[derive(Default)]
struct Told {
    head: Option<Head>,
    transport: Transport,
    /// What is still to be sent.
    farewell: Vec<Vec<u8>>,
}

fn stamp(moment: Moment) -> Stamp {
    Stamp(moment.micros())
}

fn silence(ask: &Ask) -> Duration {
    ask.options.read_timeout.unwrap_or(SILENCE)
}

/// Asks on a connected socket and follows the answer.
fn converse(
    ask: &Ask,
    socket: &mut impl Socket,
    arrivals: &mut Arrivals,
    told: &mut Told,
    sink: Sink<'_>,
) -> End {
    let line = match Line::open(ask, socket) {
        Ok((line, _)) => line,
        Err(error) => return not_opened(error, ask.address, silence(ask)),
    };
    told.transport.tls = line.tls().cloned();
    let frames = if ask.named { FrameReader::new(arrivals.run) } else { FrameReader::of_any_run() };
    Response::of(line, frames, sink).follow(socket, arrivals, told, ask)
}

fn not_opened(error: LineError, address: SocketAddr, silence: Duration) -> End {
    match error {
        LineError::Read(error) => not_read(&error, silence),
        LineError::Send(error) if is_silence(&error) => not_read(&error, silence),
        LineError::Send(error) => {
            End::Failed { what: format!("send the request {address}: {error}") }
        }
        LineError::Protocol(error) => End::Failed { what: error.to_string() },
    }
}

fn not_read(error: &io::Error, silence: Duration) -> End {
    if is_silence(error) {
        return End::TimedOut { limit_us: silence.as_micros() as i64 };
    }
    End::Failed { what: format!("the connection broke while reading: {error}") }
}

fn is_silence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// An answer that is being read.
struct Response<'a> {
    line: Line,
    decoder: Option<Decoder>,
    frames: FrameReader,
    frame_count: usize,
    body_bytes: u64,
    sink: Sink<'a>,
    /// What was decoded and not handed on yet; kept for its room.
    decoded: Vec<u8>,
}

impl<'a> Response<'a> {
    fn of(line: Line, frames: FrameReader, sink: Sink<'a>) -> Response<'a> {
        Response {
            line,
            decoder: None,
            frames,
            frame_count: 0,
            body_bytes: 0,
            sink,
            decoded: Vec::new(),
        }
    }

    /// Reads until the framing, the connection or its silence ends it. A slow reader offers so
    /// many bytes at each read and pauses after it; another stops once and goes on.
    fn follow(
        mut self,
        socket: &mut impl Socket,
        arrivals: &mut Arrivals,
        told: &mut Told,
        ask: &Ask,
    ) -> End {
        let (slow, silence) = (ask.slow, silence(ask));
        let mut stop = Stop::new(ask.pause);
        let room = slow.map_or(RECV_BUFFER, |(bytes, _)| bytes.max(1));
        let mut buffer = vec![0; RECV_BUFFER.max(room)];
        let end = loop {
            // What had come in a stop may have been the rest.
            if self.line.is_done() {
                break End::Closed;
            }
            if let Some(left) = stop.left()
                && let Err(error) = socket.wait_at_most(left)
            {
                break not_read(&error, silence);
            }
            let wait = stop.left().unwrap_or(silence);
            let read = match self.line.recv(socket, &mut buffer, room, wait) {
                Ok(read) => read,
                Err(error) if is_silence(&error) && stop.left().is_some() => {
                    match self.go_on(&mut stop, socket, silence, arrivals, told) {
                        Ok(()) => continue,
                        Err(end) => break end,
                    }
                }
                Err(error) => break not_read(&error, silence),
            };
            if read.bytes == 0 {
                break self.closed();
            }
            let mut delivery = Delivery {
                entered: Some(stamp(read.entered)),
                kernel: read.kernel.map(stamp),
                bytes: Some(read.bytes as u64),
                ..Delivery::at(stamp(read.at))
            };
            let fed = self.feed(&buffer[..read.bytes], &mut delivery, arrivals);
            self.keep(delivery, arrivals, told);
            if let Err(what) = fed {
                break End::Failed { what };
            }
            if self.line.is_done() {
                break End::Closed;
            }
            if self.line.is_closed() {
                break self.closed();
            }
            if self.frame_count > MOST_FRAMES {
                break End::Failed { what: format!("more than {MOST_FRAMES} frames came") };
            }
            if arrivals.deliveries.len() > MOST_READS {
                break End::Failed { what: format!("it took more than {MOST_READS} reads") };
            }
            if let Err(error) = self.line.reply(socket) {
                break not_read(&error, silence);
            }
            if stop.begins(self.body_bytes, self.line.has_windows()) {
                self.line.hold_back();
            }
            if let Err(end) = self.go_on(&mut stop, socket, silence, arrivals, told) {
                break end;
            }
            // A slow reader begins to be slow with the body: a pause after a head that came alone
            // would be billed to who sent it alone.
            if let Some((_, pause)) = slow.filter(|_| self.body_bytes > 0) {
                std::thread::sleep(pause);
            }
        };
        arrivals.foreign_frames = self.frames.foreign_frames();
        arrivals.tail_bytes = self.frames.finish();
        told.head = self.line.head().cloned();
        told.transport.protocol = self.line.protocol();
        told.transport.paused = stop.was();
        told.farewell = self.line.farewell();
        end
    }

    /// Gives back what was kept from the windows, once a stop is over.
    fn go_on(
        &mut self,
        stop: &mut Stop,
        socket: &mut impl Socket,
        silence: Duration,
        arrivals: &mut Arrivals,
        told: &mut Told,
    ) -> Result<(), End> {
        if !stop.ends() {
            return Ok(());
        }
        socket.wait_at_most(silence).map_err(|error| not_read(&error, silence))?;
        let given = self.line.give_back();
        if !self.line.body().is_empty() {
            let mut delivery = Delivery { bytes: Some(0), ..Delivery::at(stamp(Moment::now())) };
            // What cannot be decoded comes up again with the next bytes.
            let _ = self.decode(&mut delivery);
            self.keep(delivery, arrivals, told);
        }
        given.map_err(|error| End::Failed { what: error.to_string() })?;
        self.line.reply(socket).map_err(|error| not_read(&error, silence))
    }

    /// Notes a delivery, and what its bytes completed below the answer.
    fn keep(&self, delivery: Delivery, arrivals: &mut Arrivals, told: &mut Told) {
        arrivals.deliveries.push(delivery);
        told.transport.records_per_read.extend(self.line.records());
        told.transport.data_frames_per_read.extend(self.line.data_frames());
        told.transport.datagrams_per_read.extend(self.line.datagrams());
    }

    /// What it means that no more will come.
    fn closed(&mut self) -> End {
        if self.line.may_end() {
            return End::Closed;
        }
        match self.line.end() {
            Ok(()) => End::Cut,
            Err(error) => End::Failed { what: error.to_string() },
        }
    }

    /// Takes one read apart; the frames it completed go into its delivery.
    fn feed(
        &mut self,
        bytes: &[u8],
        delivery: &mut Delivery,
        arrivals: &mut Arrivals,
    ) -> Result<(), String> {
        let taken = self.line.take(bytes);
        if let (Some(head), None) = (self.line.head(), arrivals.head) {
            arrivals.head = Some(delivery.at);
            arrivals.head_bytes = Some(head.bytes as u64);
            arrivals.status = Some(head.status);
            arrivals.content_type = head.header("content-type").map(String::from);
            arrivals.content_encoding = head.header("content-encoding").map(String::from);
            self.decoder = Some(
                Decoder::new(head.header("content-encoding")).map_err(|error| error.to_string())?,
            );
        }
        let decoded = self.decode(delivery);
        taken.map_err(|error| error.to_string())?;
        decoded
    }

    fn decode(&mut self, delivery: &mut Delivery) -> Result<(), String> {
        delivery.body_bytes = Some(0);
        let (body, Some(decoder)) = (self.line.body(), &mut self.decoder) else { return Ok(()) };
        if body.is_empty() {
            return Ok(());
        }
        let (frames, sink, decoded) = (&mut self.frames, &mut self.sink, &mut self.decoded);
        let (mut bytes, mut count) = (0, self.frame_count);
        let fed = decoder.feed(body, |ready| {
            bytes += ready.len() as u64;
            let marks = frames.feed(ready);
            count += marks.len();
            if count <= MOST_FRAMES {
                delivery.frames.extend(marks);
            }
            if decoded.is_empty() && ready.len() >= MOST_AT_ONCE {
                return sink(delivery.at, ready);
            }
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
        self.frame_count = count;
        self.body_bytes += bytes;
        delivery.body_bytes = Some(bytes);
        fed.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
