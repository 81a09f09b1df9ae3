//! One request over HTTP/3, by the `h3` crate on a QUIC connection without a socket of its own.
//!
//! The reader takes datagrams from its socket, each by one `recvmsg` with its times, and hands
//! them over; the libraries are polled by hand, and what they hand out then is what those
//! datagrams brought.

mod error;
mod frames;
mod quic;
mod streams;
mod witness;

use std::cell::RefCell;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use h3::client::{Connection, RequestStream, SendRequest};
use h3::error::{Code, StreamError};
use measure::{Stamp, Tls};
use quinn_proto::crypto::rustls::QuicClientConfig;
use wire::http1::Head;
use wire::{Moment, RECV_BUFFER, Read, Socket};

use crate::ask::{Ask, Http};
use crate::line::LineError;
use crate::request;
use crate::tls_error;

pub use error::Http3Error;
use quic::{MOST_BESIDE, Quic};
use streams::{Shared, Stream, Streams};
use witness::Witness;

/// Room that a datagram needs at most: what we tell the peer that it may send, an Ethernet frame's.
const LARGEST: usize = 1472;

/// One request and its answer.
pub(crate) struct Exchange {
    quic: Shared,
    host: String,
    connection: Connection<Streams, Bytes>,
    stream: RequestStream<Stream, Bytes>,
    /// Keeps the connection open: the library ends one that nobody can ask on.
    _requests: SendRequest<Streams, Bytes>,
    /// Sizes of the datagrams that the last read took.
    sizes: Vec<usize>,
    head: Option<Head>,
    done: bool,
    closed: bool,
    data_frames: u32,
    datagrams: u32,
    /// When something of the answer came last.
    heard: Instant,
}

/// Polls once what waits for nothing but memory.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut context()) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

impl Exchange {
    /// Makes the handshake over the socket, and puts the request on a stream: [`Exchange::reply`]
    /// sends it.
    pub(crate) fn open(ask: &Ask, socket: &mut impl Socket) -> Result<(Exchange, Tls), LineError> {
        let secure = ask.secure.as_ref().ok_or(Http3Error::Plain)?;
        let host = secure.name.to_str().into_owned();
        let witness = Witness::of(secure.verifier());
        let mut config = (*secure.config).clone();
        config.dangerous().set_certificate_verifier(Arc::clone(&witness) as _);
        config.alpn_protocols =
            Http::Three.offered().iter().map(|name| name.as_bytes().into()).collect();
        let crypto = QuicClientConfig::try_from(config)
            .map_err(|error| Http3Error::Other(error.to_string()))?;
        let window = ask.pause.and_then(|pause| pause.window);
        let mut quic =
            Quic::new(ask.address, &host, Arc::new(crypto), window).map_err(Http3Error::Request)?;
        let handshake_reads = handshake(&mut quic, ask, &host, &witness, socket)?;
        if quic.alpn().as_deref() != Some(b"h3") {
            return Err(Http3Error::NoHttp3(host).into());
        }
        let tls = Tls {
            version: "TLSv1.3".into(),
            alpn: Some("h3".into()),
            handshake_done: Stamp(Moment::now().micros()),
            handshake_reads,
        };
        Ok((Exchange::ask(ask, quic, host)?, tls))
    }

    fn ask(ask: &Ask, quic: Quic, host: String) -> Result<Exchange, Http3Error> {
        let request =
            request::http3(ask).map_err(|error| Http3Error::Request(error.to_string()))?;
        let quic = Rc::new(RefCell::new(quic));
        let mut builder = h3::client::builder();
        builder.max_field_section_size(MOST_BESIDE).send_grease(false);
        let begun = at_once(builder.build::<_, Streams, Bytes>(Streams(Rc::clone(&quic))));
        let (connection, mut requests) =
            begun.ok_or(Http3Error::NoStream)?.map_err(|error| error::of_connection(&error))?;
        let refused = |error: StreamError| Http3Error::Request(error.to_string());
        let stream = at_once(requests.send_request(request));
        let mut stream = stream.ok_or(Http3Error::NoStream)?.map_err(refused)?;
        let body = &ask.form.body;
        if !body.is_empty() {
            at_once(stream.send_data(Bytes::copy_from_slice(body))).transpose().map_err(refused)?;
        }
        at_once(stream.finish()).transpose().map_err(refused)?;
        Ok(Exchange {
            quic,
            host,
            connection,
            stream,
            _requests: requests,
            sizes: Vec::new(),
            head: None,
            done: false,
            closed: false,
            data_frames: 0,
            datagrams: 0,
            heard: Instant::now(),
        })
    }

    /// Takes what lies in the socket: waits for one datagram, and takes those behind it that are
    /// there already, up to `room` bytes. What QUIC has to do meanwhile is done. It waits no longer
    /// than `silence` after something of the answer came.
    pub(crate) fn recv(
        &mut self,
        socket: &mut impl Socket,
        buffer: &mut [u8],
        room: usize,
        silence: Duration,
    ) -> io::Result<Read> {
        self.sizes.clear();
        let since = if self.quic.borrow().is_held() { Instant::now() } else { self.heard };
        // One wait in several looks: it began with the first of them, and the reader was away
        // from its socket only between two.
        let (mut waits_since, mut returned) = (None::<i64>, None::<i64>);
        let mut read = loop {
            let now = Moment::now();
            if self.quic.borrow().lost().is_some() {
                return Ok(Read { bytes: 0, entered: now, at: now, kernel: None });
            }
            let away = returned.map_or(0, |returned| now.micros() - returned);
            let entered = waits_since.map_or(now.micros(), |since| since + away);
            let left = silence.saturating_sub(since.elapsed());
            if left.is_zero() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let due = self.quic.borrow_mut().until_due();
            if due.is_none_or(|due| !due.is_zero()) {
                socket.wait_at_most(due.map_or(left, |due| due.min(left)))?;
                match socket.recv(buffer) {
                    // An empty datagram says nothing.
                    Ok(read) if read.bytes == 0 => {}
                    Ok(mut read) => {
                        if returned.is_some() {
                            read.entered = Moment::from_micros(entered);
                        }
                        break read;
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Err(error),
                }
            }
            (waits_since, returned) = (Some(entered), Some(Moment::now().micros()));
            self.quic.borrow_mut().on_time();
            self.reply(socket)?;
        };
        self.sizes.push(read.bytes);
        while read.bytes < room && buffer.len() - read.bytes >= LARGEST {
            let Some(more) = socket.recv_now(&mut buffer[read.bytes..])? else { break };
            if more.bytes > 0 {
                self.sizes.push(more.bytes);
                read.bytes += more.bytes;
                (read.at, read.kernel) = (more.at, more.kernel.or(read.kernel));
            }
        }
        Ok(read)
    }

    /// Takes the datagrams of one read; the body's bytes in them are added to `body`.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], body: &mut Vec<u8>) -> Result<(), Http3Error> {
        self.datagrams = self.sizes.len() as u32;
        for size in std::mem::take(&mut self.sizes) {
            let (datagram, rest) = bytes.split_at(size.min(bytes.len()));
            self.quic.borrow_mut().take(datagram);
            bytes = rest;
        }
        self.progress(body)
    }

    /// Whatever can be read now is the answer's, also after an error.
    fn progress(&mut self, body: &mut Vec<u8>) -> Result<(), Http3Error> {
        let (had_head, had) = (self.head.is_some(), body.len());
        let given = self.hand_out(body);
        if had_head != self.head.is_some() || body.len() > had {
            self.heard = Instant::now();
        }
        self.data_frames = self.quic.borrow_mut().take_data_frames();
        if self.done {
            return Ok(());
        }
        let driven = match self.connection.poll_close(&mut context()) {
            Poll::Pending => Ok(()),
            Poll::Ready(error) => Err(error::of_connection(&error)),
        };
        let quic = self.quic.borrow();
        if let Some(what) = quic.endless() {
            return Err(Http3Error::Endless(what, MOST_BESIDE));
        }
        match quic.lost() {
            Some(lost) if error::is_quiet(lost) => {
                self.closed = true;
                Ok(())
            }
            Some(lost) => Err(error::lost(lost, &self.host)),
            None => given.and(driven),
        }
    }

    fn hand_out(&mut self, body: &mut Vec<u8>) -> Result<(), Http3Error> {
        while self.head.is_none() {
            let Some(response) = at_once(self.stream.recv_response()) else { return Ok(()) };
            let (parts, ()) = response.map_err(|error| error::of_stream(&error))?.into_parts();
            // What comes before the head itself (103 Early Hints) is passed over.
            if parts.status.is_informational() {
                continue;
            }
            let bytes = self.quic.borrow().head_bytes() as usize;
            self.head = Some(request::head(parts.status, &parts.headers, bytes));
        }
        while !self.done {
            match self.stream.poll_recv_data(&mut context()) {
                Poll::Pending => break,
                Poll::Ready(Ok(Some(mut data))) => {
                    while data.has_remaining() {
                        let chunk = data.chunk();
                        body.extend_from_slice(chunk);
                        let taken = chunk.len();
                        data.advance(taken);
                    }
                }
                // Also said of an empty DATA frame, which is no end, and of an end within a frame.
                Poll::Ready(Ok(None)) => {
                    let quic = self.quic.borrow();
                    if quic.is_finished() && quic.is_within_frame() {
                        let why =
                            format!("{}: the stream ends within a frame", Code::H3_FRAME_ERROR);
                        return Err(Http3Error::Broken(why));
                    }
                    self.done = quic.is_finished();
                }
                Poll::Ready(Err(error)) => return Err(error::of_stream(&error)),
            }
        }
        Ok(())
    }

    /// Sends what is to be sent by now, a datagram a call.
    pub(crate) fn reply(&mut self, socket: &mut impl Socket) -> io::Result<()> {
        send(&mut self.quic.borrow_mut(), socket)
    }

    /// Reads nothing of the answer's stream from now on, so that its window is used up.
    pub(crate) fn hold_back(&mut self) {
        self.quic.borrow_mut().hold(true);
    }

    /// Reads it again: what had come meanwhile is added to `body`.
    pub(crate) fn give_back(&mut self, body: &mut Vec<u8>) -> Result<(), Http3Error> {
        self.quic.borrow_mut().hold(false);
        self.heard = Instant::now();
        self.datagrams = 0;
        self.progress(body)
    }

    /// The datagrams that end the connection: without them the server would send on into nothing.
    pub(crate) fn farewell(&mut self) -> Vec<Vec<u8>> {
        let mut quic = self.quic.borrow_mut();
        quic.close(Code::H3_NO_ERROR.value(), b"");
        std::iter::from_fn(|| quic.outgoing()).collect()
    }

    /// No more will come; says whether the peer, or QUIC, had told why.
    pub(crate) fn end(&self) -> Result<(), Http3Error> {
        match self.quic.borrow().lost() {
            Some(lost) if !error::is_quiet(lost) => Err(error::lost(lost, &self.host)),
            _ => Ok(()),
        }
    }

    /// The answer's head; HTTP/3 has no minor version.
    pub(crate) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Whether the stream has ended properly.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the peer ended the connection without a complaint.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// DATA frames that the last read completed.
    pub(crate) fn data_frames(&self) -> u32 {
        self.data_frames
    }

    /// Datagrams that the last read took.
    pub(crate) fn datagrams(&self) -> u32 {
        self.datagrams
    }
}

fn send(quic: &mut Quic, socket: &mut impl Socket) -> io::Result<()> {
    while let Some(datagram) = quic.outgoing() {
        socket.send(&datagram)?;
    }
    Ok(())
}

/// Makes the handshake; says how many datagrams it took.
fn handshake(
    quic: &mut Quic,
    ask: &Ask,
    host: &str,
    witness: &Witness,
    socket: &mut impl Socket,
) -> Result<u32, LineError> {
    let at = || match host.contains(':') {
        true => format!("[{host}]:{}", ask.address.port()),
        false => format!("{host}:{}", ask.address.port()),
    };
    let broken = |error: io::Error| match error.kind() {
        io::ErrorKind::ConnectionRefused => Http3Error::Refused(at()).into(),
        _ => LineError::Read(error),
    };
    let patience = ask.options.connect_timeout;
    let began = Instant::now();
    let mut buffer = vec![0; RECV_BUFFER];
    let mut reads = 0;
    send(quic, socket).map_err(broken)?;
    while quic.is_handshaking() {
        let left = patience.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(match reads {
                0 => Http3Error::Silent { at: at(), patience },
                _ => Http3Error::Other(format!(
                    "{} answered over UDP, but its handshake was not done within {} s",
                    at(),
                    patience.as_secs_f32()
                )),
            }
            .into());
        }
        let due = quic.until_due().map_or(left, |due| due.min(left));
        socket.wait_at_most(due.max(Duration::from_micros(1))).map_err(LineError::Read)?;
        match socket.recv(&mut buffer) {
            Ok(read) => {
                reads += u32::from(read.bytes > 0);
                quic.take(&buffer[..read.bytes]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => quic.on_time(),
            Err(error) => return Err(broken(error)),
        }
        let sent = send(quic, socket);
        if quic.lost().is_none() {
            sent.map_err(broken)?;
        }
    }
    match (quic.lost(), witness.refused()) {
        (None, _) => Ok(reads),
        (Some(_), Some(refused)) => Err(tls_error::explain(refused, host, &[], Http::Three).into()),
        (Some(lost), None) => Err(error::lost(lost, host).into()),
    }
}
