//! Bounds what a client can make us keep.
//!
//! The HTTP/3 library collects a frame until it is whole, however long it says it is, except for a
//! body's. Streams that announce such a frame, or that go on for ever where no body is, are refused
//! before they are collected.

use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{
    BidiStream, Connection, ConnectionErrorIncoming, OpenStreams, RecvStream, SendStream,
    StreamErrorIncoming, StreamId, WriteBuf,
};
use h3_quinn as quic;

use super::framing::{DATA, Framing, Piece};

/// Longest frame that is no body's, bytes: more than any browser's headers.
pub(super) const MOST_HEAD: u64 = 64 << 10;
/// Most bytes of a stream that carries no request: settings, priorities, compression.
const MOST_CONTROL: u64 = 1 << 20;

/// A connection, or what opens streams on it, whose streams are bounded.
pub(super) struct Guarded<C>(pub(super) C);

impl<B: Buf> Connection<B> for Guarded<quic::Connection> {
    type RecvStream = Bounded<quic::RecvStream>;
    type OpenStreams = Guarded<quic::OpenStreams>;

    fn poll_accept_recv(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        let stream = ready!(Connection::<B>::poll_accept_recv(&mut self.0, context))?;
        Poll::Ready(Ok(Bounded::new(stream, Limit::Control(MOST_CONTROL))))
    }

    fn poll_accept_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        let stream = ready!(Connection::<B>::poll_accept_bidi(&mut self.0, context))?;
        Poll::Ready(Ok(Bounded::new(stream, Limit::Request(Framing::default()))))
    }

    fn opener(&self) -> Self::OpenStreams {
        Guarded(Connection::<B>::opener(&self.0))
    }
}

impl<B: Buf, C> OpenStreams<B> for Guarded<C>
where
    C: OpenStreams<B, BidiStream = quic::BidiStream<B>, SendStream = quic::SendStream<B>>,
{
    type BidiStream = Bounded<quic::BidiStream<B>>;
    type SendStream = quic::SendStream<B>;

    fn poll_open_bidi(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        let stream = ready!(self.0.poll_open_bidi(context))?;
        Poll::Ready(Ok(Bounded::new(stream, Limit::Request(Framing::default()))))
    }

    fn poll_open_send(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        self.0.poll_open_send(context)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.0.close(code, reason);
    }
}

/// What a stream may bring.
enum Limit {
    /// Frames, of which only a body's may be long.
    Request(Framing),
    /// So many more bytes.
    Control(u64),
}

impl Limit {
    fn allows(&mut self, bytes: &[u8]) -> bool {
        match self {
            Limit::Request(framing) => {
                let mut allowed = true;
                framing.feed(bytes, |piece| {
                    if let Piece::Frame { kind, length } = piece {
                        allowed &= kind == DATA || length <= MOST_HEAD;
                    }
                });
                allowed
            }
            Limit::Control(left) => match left.checked_sub(bytes.len() as u64) {
                Some(less) => {
                    *left = less;
                    true
                }
                None => false,
            },
        }
    }
}

/// A stream that brings no more than it may.
pub(super) struct Bounded<S> {
    stream: S,
    limit: Limit,
    id: StreamId,
    /// Whether the library below has the stream in a read that is not over. It must not be asked
    /// for anything else then: it would panic.
    reading: bool,
}

impl<S: RecvStream> Bounded<S> {
    fn new(stream: S, limit: Limit) -> Bounded<S> {
        let id = stream.recv_id();
        Bounded { stream, limit, id, reading: false }
    }
}

impl<S: RecvStream<Buf = Bytes>> RecvStream for Bounded<S> {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Bytes>, StreamErrorIncoming>> {
        let polled = self.stream.poll_data(context);
        self.reading = polled.is_pending();
        let data = ready!(polled)?;
        if data.as_ref().is_some_and(|data| !self.limit.allows(data)) {
            self.stream.stop_sending(Code::H3_EXCESSIVE_LOAD.value());
            let error_code = Code::H3_EXCESSIVE_LOAD.value();
            return Poll::Ready(Err(StreamErrorIncoming::StreamTerminated { error_code }));
        }
        Poll::Ready(Ok(data))
    }

    fn stop_sending(&mut self, code: u64) {
        // One that is being read is stopped as it is let go.
        if !self.reading {
            self.stream.stop_sending(code);
        }
    }

    fn recv_id(&self) -> StreamId {
        self.id
    }
}

impl<S: SendStream<B>, B: Buf> SendStream<B> for Bounded<S> {
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.stream.poll_ready(context)
    }

    fn send_data<T: Into<WriteBuf<B>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.stream.send_data(data)
    }

    fn poll_finish(&mut self, context: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        self.stream.poll_finish(context)
    }

    fn reset(&mut self, code: u64) {
        self.stream.reset(code);
    }

    fn send_id(&self) -> StreamId {
        self.stream.send_id()
    }
}

impl<B: Buf> BidiStream<B> for Bounded<quic::BidiStream<B>> {
    type SendStream = quic::SendStream<B>;
    type RecvStream = Bounded<quic::RecvStream>;

    fn split(self) -> (Self::SendStream, Self::RecvStream) {
        let Bounded { stream, limit, id, reading } = self;
        let (send, stream) = stream.split();
        (send, Bounded { stream, limit, id, reading })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_body_may_be_long() {
        let request = || Limit::Request(Framing::default());
        // HEADERS of 16,384 bytes, then DATA of 2^30 - 1.
        let long =
            [&[1, 0x80, 0, 0x40, 0][..], &[7; 16_384], &[0, 0xbf, 0xff, 0xff, 0xff]].concat();
        assert!(request().allows(&long));
        // HEADERS, and a kind that nobody knows, of 2^30 - 1.
        for kind in [1, 0x21] {
            assert!(!request().allows(&[kind, 0xbf, 0xff, 0xff, 0xff]), "{kind}");
        }
        let mut control = Limit::Control(3);
        assert!(control.allows(&[0, 4]) && control.allows(&[0]) && !control.allows(&[0]));
    }
}
