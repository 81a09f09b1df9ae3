//! One request over HTTP/2, by the `h2` crate on a pipe in memory.
//!
//! The crate never sees a socket: a read's bytes are put into the pipe, the crate is polled by
//! hand until it wants more, and what it hands out then is what that read brought.

use std::cell::RefCell;
use std::io;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::{Builder, Connection, ResponseFuture, SendRequest};
use h2::{Reason, RecvStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use wire::http1::Head;

use crate::ask::Ask;
use crate::request;
use crate::units::{Units, frame_length};

/// Chromium's window of a stream: `kSpdyStreamMaxRecvWindowSize` in its
/// net/http/http_network_session.cc, 6 MiB.
const STREAM_WINDOW: u32 = 6 << 20;
/// Chromium's window of a connection: `kSpdySessionMaxRecvWindowSize`, same file, 15 MiB.
const CONNECTION_WINDOW: u32 = 15 << 20;
/// Chromium's `SETTINGS_HEADER_TABLE_SIZE`: `kSpdyMaxHeaderTableSize`, same file.
const HEADER_TABLE: u32 = 64 << 10;
/// Chromium's `SETTINGS_MAX_HEADER_LIST_SIZE`: `kSpdyMaxHeaderListSize`, same file. It also bounds
/// a head without an end.
const HEADER_LIST: u32 = 256 << 10;

/// Frame types (RFC 9113, 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// An answer that is no proper HTTP/2, or was ended.
#[derive(Debug, thiserror::Error)]
pub enum Http2Error {
    /// The peer speaks HTTP/1.
    #[error("the server answers in HTTP/1, not in HTTP/2: ask with --http 1.1")]
    Http1,
    /// The peer wants HTTP/1 for this request.
    #[error("the server wants HTTP/1.1 for this (RST_STREAM HTTP_1_1_REQUIRED): --http 1.1")]
    Http1Required,
    /// The peer gave the stream up.
    #[error("the server reset the stream (RST_STREAM {0:?})")]
    Reset(Reason),
    /// The peer gave the connection up.
    #[error("the server ended the HTTP/2 connection (GOAWAY {0:?})")]
    GoAway(Reason),
    /// The peer's frames are none.
    #[error("the answer breaks HTTP/2 ({0:?})")]
    Broken(Reason),
    /// The request cannot be put into HTTP/2.
    #[error("the request cannot be sent by HTTP/2: {0}")]
    Request(String),
    /// Anything else.
    #[error("HTTP/2 failed: {0}")]
    Other(String),
}

impl From<h2::Error> for Http2Error {
    fn from(error: h2::Error) -> Http2Error {
        match error.reason() {
            Some(Reason::HTTP_1_1_REQUIRED) => Http2Error::Http1Required,
            Some(reason) if error.is_remote() && error.is_go_away() => Http2Error::GoAway(reason),
            Some(reason) if error.is_remote() => Http2Error::Reset(reason),
            Some(reason) => Http2Error::Broken(reason),
            None => Http2Error::Other(error.to_string()),
        }
    }
}

/// Two buffers that the crate takes for a connection.
#[derive(Default)]
struct Pipe {
    incoming: Vec<u8>,
    taken: usize,
    ended: bool,
    outgoing: Vec<u8>,
}

/// The crate's end of the pipe.
struct PipeEnd(Rc<RefCell<Pipe>>);

impl AsyncRead for PipeEnd {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut pipe = self.0.borrow_mut();
        let left = &pipe.incoming[pipe.taken..];
        if left.is_empty() && pipe.ended {
            return Poll::Ready(Ok(()));
        }
        if left.is_empty() {
            // Nobody is woken: the exchange polls again after the next read.
            return Poll::Pending;
        }
        let take = left.len().min(buffer.remaining());
        buffer.put_slice(&left[..take]);
        pipe.taken += take;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.borrow_mut().outgoing.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// One request and its answer.
pub(crate) struct Exchange {
    pipe: Rc<RefCell<Pipe>>,
    connection: Connection<PipeEnd, Bytes>,
    response: ResponseFuture,
    body: Option<RecvStream>,
    head: Option<Head>,
    done: bool,
    frames: Units<9>,
    data_frames: u32,
    /// Bytes of frames with fields, their headers included.
    head_bytes: usize,
    /// Whether anything came yet.
    begun: bool,
    /// Bytes that are kept from the windows, in a stop on purpose.
    kept: Option<usize>,
    /// Keeps the connection open: the crate ends one that nobody can ask on.
    _requests: SendRequest<Bytes>,
}

impl Exchange {
    /// An exchange and the bytes that begin it.
    pub(crate) fn open(ask: &Ask) -> Result<(Exchange, Vec<u8>), Http2Error> {
        let pipe = Rc::new(RefCell::new(Pipe::default()));
        let mut builder = Builder::new();
        builder
            .header_table_size(HEADER_TABLE)
            .enable_push(false)
            .initial_window_size(ask.pause.and_then(|pause| pause.window).unwrap_or(STREAM_WINDOW))
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(HEADER_LIST);
        let mut context = Context::from_waker(Waker::noop());
        let begun = pin!(builder.handshake(PipeEnd(Rc::clone(&pipe)))).poll(&mut context);
        // The beginning is written to memory and awaits nothing.
        let Poll::Ready(begun) = begun else {
            return Err(Http2Error::Other("the connection does not begin".into()));
        };
        let (mut requests, connection) = begun?;
        let refused = |error: h2::Error| Http2Error::Request(error.to_string());
        let request =
            request::http2(ask).map_err(|error| Http2Error::Request(error.to_string()))?;
        let body = &ask.form.body;
        let (response, mut sending) =
            requests.send_request(request, body.is_empty()).map_err(refused)?;
        if !body.is_empty() {
            // The crate keeps what the peer's window does not let through yet.
            sending.send_data(Bytes::copy_from_slice(body), true).map_err(refused)?;
        }
        let mut exchange = Exchange {
            pipe,
            connection,
            response,
            body: None,
            head: None,
            done: false,
            frames: Units::new(frame_length),
            data_frames: 0,
            head_bytes: 0,
            begun: false,
            kept: None,
            _requests: requests,
        };
        exchange.drive()?;
        let first = exchange.outgoing();
        Ok((exchange, first))
    }

    /// Takes one read's plaintext; the body's bytes in it are added to `body`.
    pub(crate) fn feed(&mut self, bytes: &[u8], body: &mut Vec<u8>) -> Result<(), Http2Error> {
        self.count(bytes);
        {
            let mut pipe = self.pipe.borrow_mut();
            let taken = std::mem::take(&mut pipe.taken);
            pipe.incoming.drain(..taken);
            pipe.incoming.extend_from_slice(bytes);
            if !self.begun && pipe.incoming.starts_with(b"HTTP/") {
                return Err(Http2Error::Http1);
            }
            self.begun |= !bytes.is_empty();
        }
        let driven = self.drive();
        // What the crate has is handed out, whatever it said.
        let given = self.hand_out(body);
        if self.done {
            return Ok(());
        }
        given?;
        driven?;
        // Room that was given back makes window updates.
        self.drive()
    }

    /// The connection is closed; says whether the peer had told why.
    pub(crate) fn end(&mut self) -> Result<(), Http2Error> {
        self.pipe.borrow_mut().ended = true;
        match self.drive() {
            // It has no more to say than that the connection is closed.
            Err(Http2Error::Other(_)) | Ok(()) => Ok(()),
            Err(Http2Error::GoAway(Reason::NO_ERROR)) => Ok(()),
            told => told,
        }
    }

    fn count(&mut self, bytes: &[u8]) {
        let (mut data, mut head_bytes) = (0, 0);
        self.frames.feed(bytes, |header, length| match header[3] {
            DATA => data += 1,
            HEADERS | CONTINUATION => head_bytes += header.len() + length,
            _ => {}
        });
        self.data_frames = data;
        if self.head.is_none() {
            self.head_bytes += head_bytes;
        }
    }

    fn drive(&mut self) -> Result<(), Http2Error> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.connection).poll(&mut context) {
            Poll::Pending | Poll::Ready(Ok(())) => Ok(()),
            Poll::Ready(Err(error)) => Err(error.into()),
        }
    }

    fn hand_out(&mut self, body: &mut Vec<u8>) -> Result<(), Http2Error> {
        let mut context = Context::from_waker(Waker::noop());
        if self.body.is_none() {
            let Poll::Ready(response) = Pin::new(&mut self.response).poll(&mut context) else {
                return Ok(());
            };
            let (parts, stream) = response?.into_parts();
            self.head = Some(request::head(parts.status, &parts.headers, self.head_bytes));
            self.body = Some(stream);
        }
        let Some(stream) = &mut self.body else { return Ok(()) };
        while !self.done {
            match stream.poll_data(&mut context) {
                Poll::Pending => break,
                Poll::Ready(None) => self.done = true,
                Poll::Ready(Some(data)) => {
                    let data = data?;
                    body.extend_from_slice(&data);
                    if let Some(kept) = &mut self.kept {
                        *kept += data.len();
                        continue;
                    }
                    // At once: this reader is never what a window waits for, unless it is to be.
                    // It fails only for more than was received.
                    let _ = stream.flow_control().release_capacity(data.len());
                }
            }
        }
        // Asked for here, since the last frame often says the end with the last bytes.
        self.done |= stream.is_end_stream();
        Ok(())
    }

    /// Gives nothing back to the windows from now on.
    pub(crate) fn hold_back(&mut self) {
        self.kept.get_or_insert(0);
    }

    /// Gives back what was kept, and from now on all at once.
    pub(crate) fn give_back(&mut self) {
        if let (Some(kept), Some(stream)) = (self.kept.take(), &mut self.body) {
            let _ = stream.flow_control().release_capacity(kept);
        }
        // What is wrong with the connection comes up again at the next read.
        let _ = self.drive();
    }

    /// What is to be sent by now.
    pub(crate) fn outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.pipe.borrow_mut().outgoing)
    }

    /// The answer's head; HTTP/2 has no minor version.
    pub(crate) fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// Whether the stream has ended properly.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// DATA frames that the last bytes completed.
    pub(crate) fn data_frames(&self) -> u32 {
        self.data_frames
    }
}
