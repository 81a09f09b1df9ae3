//! What the `h3` crate asks of a QUIC connection, on one that is polled by hand.
//!
//! Nobody is ever woken: what has nothing now is asked again after the next datagram.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use h3::error::Code;
use h3::quic::{self, ConnectionErrorIncoming, StreamErrorIncoming, WriteBuf};
use quinn_proto::{ConnectionError, Dir, StreamId, VarInt};

use super::quic::{Given, Quic};

/// A connection that is looked at from several sides, in turn.
pub(super) type Shared = Rc<RefCell<Quic>>;

/// The connection, and who opens streams on it.
pub(super) struct Streams(pub(super) Shared);

/// One stream, of any direction.
pub(super) struct Stream {
    quic: Shared,
    id: StreamId,
}

fn incoming(lost: &ConnectionError) -> ConnectionErrorIncoming {
    match lost {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other.clone())),
    }
}

fn of_stream(lost: &ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: incoming(lost) }
}

impl Streams {
    fn open(&self, dir: Dir) -> Poll<Result<Stream, StreamErrorIncoming>> {
        let mut quic = self.0.borrow_mut();
        if let Some(lost) = quic.lost() {
            return Poll::Ready(Err(of_stream(lost)));
        }
        match quic.open(dir) {
            Some(id) => Poll::Ready(Ok(Stream { quic: Rc::clone(&self.0), id })),
            None => Poll::Pending,
        }
    }

    fn accept(&self, dir: Dir) -> Poll<Result<Stream, ConnectionErrorIncoming>> {
        let mut quic = self.0.borrow_mut();
        if let Some(id) = quic.accept(dir) {
            return Poll::Ready(Ok(Stream { quic: Rc::clone(&self.0), id }));
        }
        match quic.lost() {
            Some(lost) => Poll::Ready(Err(incoming(lost))),
            None => Poll::Pending,
        }
    }
}

impl quic::OpenStreams<Bytes> for Streams {
    type BidiStream = Stream;
    type SendStream = Stream;

    fn poll_open_bidi(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        self.open(Dir::Bi)
    }

    fn poll_open_send(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        self.open(Dir::Uni)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.0.borrow_mut().close(code.value(), reason);
    }
}

impl quic::Connection<Bytes> for Streams {
    type RecvStream = Stream;
    type OpenStreams = Streams;

    fn poll_accept_recv(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        self.accept(Dir::Uni)
    }

    fn poll_accept_bidi(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        self.accept(Dir::Bi)
    }

    fn opener(&self) -> Self::OpenStreams {
        Streams(Rc::clone(&self.0))
    }
}

impl Stream {
    fn number(&self) -> quic::StreamId {
        let number = VarInt::from(self.id).into_inner();
        // Both libraries have the standard's numbers.
        quic::StreamId::try_from(number).expect("a QUIC stream's number is below 2^62")
    }
}

impl quic::RecvStream for Stream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<Result<Option<Self::Buf>, StreamErrorIncoming>> {
        let mut quic = self.quic.borrow_mut();
        match quic.read(self.id) {
            Given::Bytes(bytes) => Poll::Ready(Ok(Some(bytes))),
            Given::End => Poll::Ready(Ok(None)),
            Given::Reset(error_code) => {
                Poll::Ready(Err(StreamErrorIncoming::StreamTerminated { error_code }))
            }
            Given::Nothing => match quic.lost() {
                Some(lost) => Poll::Ready(Err(of_stream(lost))),
                None => Poll::Pending,
            },
        }
    }

    fn stop_sending(&mut self, error_code: u64) {
        self.quic.borrow_mut().stop(self.id, error_code);
    }

    fn recv_id(&self) -> quic::StreamId {
        self.number()
    }
}

impl quic::SendStream<Bytes> for Stream {
    /// What is sent is kept until the windows let it through: it is one request.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.quic.borrow_mut().write(self.id, data.into());
        Ok(())
    }

    fn poll_finish(&mut self, _: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.quic.borrow_mut().finish(self.id);
        Poll::Ready(Ok(()))
    }

    fn reset(&mut self, reset_code: u64) {
        self.quic.borrow_mut().reset(self.id, reset_code);
    }

    fn send_id(&self) -> quic::StreamId {
        self.number()
    }
}
