//! One connection with one request on it: TLS or none, HTTP/1, HTTP/2 or HTTP/3, behind one face.
//!
//! A reader lets [`Line::recv`] make one read of its socket, notes its time, and hands the bytes to
//! [`Line::take`].

use std::io;
use std::time::Duration;

use measure::{Protocol, Stamp, Tls};
use wire::http1::{FramingError, Head, ResponseFramer};
use wire::{Moment, Read, Socket};

use crate::ask::{Ask, Http};
use crate::http2::{Exchange, Http2Error};
use crate::http3::{self, Http3Error};
use crate::request;
use crate::tls::Channel;
use crate::tls_error::TlsError;

/// Bytes that are no proper answer.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// They are no HTTP/1.
    #[error(transparent)]
    Framing(#[from] FramingError),
    /// They are no HTTP/2, or it was ended.
    #[error(transparent)]
    Http2(#[from] Http2Error),
    /// They are no HTTP/3, or it was ended, or it cannot be had.
    #[error(transparent)]
    Http3(#[from] Http3Error),
    /// TLS failed.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Why a line cannot be opened.
#[derive(Debug)]
pub(crate) enum LineError {
    /// A read failed, or took too long.
    Read(io::Error),
    /// The request cannot be written.
    Send(io::Error),
    /// The peer does not do its part.
    Protocol(ProtocolError),
}

impl<E: Into<ProtocolError>> From<E> for LineError {
    fn from(error: E) -> LineError {
        LineError::Protocol(error.into())
    }
}

/// What follows a request.
enum Session {
    One(ResponseFramer),
    Two(Box<Exchange>),
    Three(Box<http3::Exchange>),
}

/// A connection on which a request was sent.
pub(crate) struct Line {
    tls: Option<Channel>,
    told: Option<Tls>,
    session: Session,
    body: Vec<u8>,
}

impl Line {
    /// A plain HTTP/1 answer that is awaited on a scripted socket.
    #[cfg(test)]
    pub(crate) fn plain() -> Line {
        Line {
            tls: None,
            told: None,
            session: Session::One(ResponseFramer::new()),
            body: Vec::new(),
        }
    }

    /// Makes the handshake if there is to be TLS, and sends the request; also says when it began
    /// to send it.
    pub(crate) fn open(ask: &Ask, socket: &mut impl Socket) -> Result<(Line, Stamp), LineError> {
        if ask.http == Http::Three {
            let (mut exchange, told) = http3::Exchange::open(ask, socket)?;
            let sent = Stamp(Moment::now().micros());
            exchange.reply(socket).map_err(LineError::Send)?;
            let session = Session::Three(Box::new(exchange));
            return Ok((Line { tls: None, told: Some(told), session, body: Vec::new() }, sent));
        }
        let (mut channel, told) = match &ask.secure {
            None => (None, None),
            Some(secure) => {
                let (channel, told) = Channel::open(secure, ask.http, socket)?;
                (Some(channel), Some(told))
            }
        };
        let two = channel.as_ref().map_or(ask.http == Http::Two, Channel::speaks_http2);
        let (session, request) = if two {
            let (exchange, request) = Exchange::open(ask)?;
            (Session::Two(Box::new(exchange)), request)
        } else {
            let encoding = ask.accept_encoding.as_deref();
            let request = request::render(&ask.target, ask.headers, encoding, &ask.form);
            (Session::One(ResponseFramer::new()), request)
        };
        let sent = Stamp(Moment::now().micros());
        match &mut channel {
            None => socket.send_all(&request).map(|_| ()),
            Some(channel) => channel.send(&request, socket),
        }
        .map_err(LineError::Send)?;
        Ok((Line { tls: channel, told, session, body: Vec::new() }, sent))
    }

    /// What the handshake settled on; `None` without TLS.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.told.as_ref()
    }

    /// One read: one `recv()` of a stream, or what datagrams lie in the socket, up to `room` bytes.
    /// Datagrams are waited for no longer than `silence`; a stream's wait is the socket's own.
    ///
    /// # Errors
    /// What the system call says.
    pub(crate) fn recv(
        &mut self,
        socket: &mut impl Socket,
        buffer: &mut [u8],
        room: usize,
        silence: Duration,
    ) -> io::Result<Read> {
        match &mut self.session {
            Session::Three(exchange) => exchange.recv(socket, buffer, room, silence),
            _ => {
                let room = room.min(buffer.len());
                socket.recv(&mut buffer[..room])
            }
        }
    }

    /// Takes one read's bytes apart; afterwards [`Line::body`] has the body bytes among them. After
    /// an error too: what came before the fault is the answer's.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        self.body.clear();
        let Some(channel) = &mut self.tls else {
            return self.session.feed(bytes, &mut self.body);
        };
        let decrypted = channel.take(bytes);
        let fed = self.session.feed(channel.plain(), &mut self.body);
        channel.plain().clear();
        fed.and(decrypted.map_err(ProtocolError::Tls))
    }

    /// Sends what the read calls for: acknowledgements and window updates.
    ///
    /// # Errors
    /// When the peer takes no more bytes. That it is gone is no error here: the next read tells
    /// what it said before.
    pub(crate) fn reply(&mut self, socket: &mut impl Socket) -> io::Result<()> {
        let sent = match &mut self.session {
            Session::One(_) => return Ok(()),
            Session::Two(exchange) => {
                let outgoing = exchange.outgoing();
                if outgoing.is_empty() {
                    return Ok(());
                }
                match &mut self.tls {
                    None => socket.send_all(&outgoing).map(|_| ()),
                    Some(channel) => channel.send(&outgoing, socket),
                }
            }
            Session::Three(exchange) => exchange.reply(socket),
        };
        match sent {
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Whether the protocol has windows of its own: then a reader may go on reading and give
    /// nothing back to them.
    pub(crate) fn has_windows(&self) -> bool {
        !matches!(self.session, Session::One(_))
    }

    /// Gives nothing back to the windows from now on.
    pub(crate) fn hold_back(&mut self) {
        match &mut self.session {
            Session::One(_) => {}
            Session::Two(exchange) => exchange.hold_back(),
            Session::Three(exchange) => exchange.hold_back(),
        }
    }

    /// Gives back to the windows what was kept from them, and again what comes. Afterwards
    /// [`Line::body`] has what had come meanwhile, after an error too.
    ///
    /// # Errors
    /// What the peer said meanwhile on a stream that was not read; it is told once.
    pub(crate) fn give_back(&mut self) -> Result<(), ProtocolError> {
        self.body.clear();
        match &mut self.session {
            Session::One(_) => {}
            Session::Two(exchange) => exchange.give_back(),
            Session::Three(exchange) => exchange.give_back(&mut self.body)?,
        }
        Ok(())
    }

    /// What is to be sent at the end: datagrams, since no end of a connection tells for them.
    pub(crate) fn farewell(&mut self) -> Vec<Vec<u8>> {
        match &mut self.session {
            Session::Three(exchange) => exchange.farewell(),
            _ => Vec::new(),
        }
    }

    /// Body bytes of the last read, content encoding still on.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The answer's head, once it is complete.
    pub(crate) fn head(&self) -> Option<&Head> {
        match &self.session {
            Session::One(framer) => framer.head(),
            Session::Two(exchange) => exchange.head(),
            Session::Three(exchange) => exchange.head(),
        }
    }

    /// What is spoken, once the answer's head has told.
    pub(crate) fn protocol(&self) -> Option<Protocol> {
        match &self.session {
            Session::One(framer) => framer.head().map(|head| match head.minor {
                0 => Protocol::Http10,
                _ => Protocol::Http11,
            }),
            Session::Two(exchange) => exchange.head().map(|_| Protocol::Http2),
            Session::Three(exchange) => exchange.head().map(|_| Protocol::Http3),
        }
    }

    /// Whether the framing says that the body is whole.
    pub(crate) fn is_done(&self) -> bool {
        match &self.session {
            Session::One(framer) => framer.is_done(),
            Session::Two(exchange) => exchange.is_done(),
            Session::Three(exchange) => exchange.is_done(),
        }
    }

    /// Whether TLS or QUIC said that no more will come. It may come with the last bytes.
    pub(crate) fn is_closed(&self) -> bool {
        match &self.session {
            Session::Three(exchange) => exchange.is_closed(),
            _ => self.tls.as_ref().is_some_and(Channel::is_closed),
        }
    }

    /// Whether it would be a whole answer if no more came. Under TLS that a connection is closed
    /// says nothing, since anyone on the way can close it: TLS must say so itself.
    pub(crate) fn may_end(&self) -> bool {
        let framing = match &self.session {
            Session::One(framer) => framer.close_is_the_end(),
            Session::Two(exchange) => exchange.is_done(),
            Session::Three(exchange) => exchange.is_done(),
        };
        framing && (self.tls.is_none() || self.is_closed() || self.is_done())
    }

    /// The connection is closed where the answer may not end. An error is why, if the peer had
    /// announced it; else it was cut.
    pub(crate) fn end(&mut self) -> Result<(), ProtocolError> {
        match &mut self.session {
            Session::One(_) => Ok(()),
            Session::Two(exchange) => Ok(exchange.end()?),
            Session::Three(exchange) => Ok(exchange.end()?),
        }
    }

    /// TLS records that the last read completed; `None` without TLS.
    pub(crate) fn records(&self) -> Option<u32> {
        self.tls.as_ref().map(Channel::record_count)
    }

    /// DATA frames that the last read completed; `None` in HTTP/1.
    pub(crate) fn data_frames(&self) -> Option<u32> {
        match &self.session {
            Session::One(_) => None,
            Session::Two(exchange) => Some(exchange.data_frames()),
            Session::Three(exchange) => Some(exchange.data_frames()),
        }
    }

    /// Datagrams that the last read took; `None` on a stream.
    pub(crate) fn datagrams(&self) -> Option<u32> {
        match &self.session {
            Session::Three(exchange) => Some(exchange.datagrams()),
            _ => None,
        }
    }
}

impl Session {
    fn feed(&mut self, bytes: &[u8], body: &mut Vec<u8>) -> Result<(), ProtocolError> {
        match self {
            Session::One(framer) => {
                framer.feed(bytes, |part| body.extend_from_slice(part))?;
            }
            Session::Two(exchange) => exchange.feed(bytes, body)?,
            Session::Three(exchange) => exchange.feed(bytes, body)?,
        }
        Ok(())
    }
}
