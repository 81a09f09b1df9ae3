//! Connections that stamp every write.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use measure::Stamp;
use measure::ledger::Refusal;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::follow::Follow;
use crate::h2::Streams;
use crate::h3;
use crate::now;
use crate::tls::{Left, Records};

/// A handler's reach into its own connection, and where it has several into its own stream of it.
#[derive(Clone, Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    /// Who connected.
    pub remote: SocketAddr,
    /// Segment payload that the kernel uses towards them (`snd_mss`), bytes.
    pub segment_bytes: Option<u32>,
    /// Whether TLS, HTTP/2 or QUIC stands between what is played and the socket.
    pub layered: bool,
    /// The stream, of HTTP/2 or QUIC.
    stream: u64,
}

#[derive(Debug)]
struct Shared {
    following: Mutex<Following>,
    nagle: AtomicBool,
}

/// Whose bytes are followed, and how they are found among what leaves.
#[derive(Debug)]
enum Following {
    /// HTTP/1: one response at a time.
    One(Option<Follow>),
    /// HTTP/2: each response by its stream.
    Streams(Streams),
    /// QUIC: the same, in packets.
    Packets(h3::Streams),
}

impl Shared {
    fn following(&self) -> MutexGuard<'_, Following> {
        self.following.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrote<'a>(&self, parts: impl Iterator<Item = &'a [u8]>, before: Stamp, after: Stamp) {
        match &mut *self.following() {
            Following::One(one) => {
                if one.as_mut().is_some_and(|follow| follow.wrote(parts, before, after)) {
                    *one = None;
                }
            }
            Following::Streams(streams) => streams.wrote(parts, before, after),
            Following::Packets(_) => {}
        }
    }

    /// The socket takes nothing.
    fn refused(&self, at: Stamp) {
        match &mut *self.following() {
            Following::One(Some(follow)) => follow.refused(Refusal::Socket, at, None),
            Following::One(None) => {}
            Following::Streams(streams) => streams.refused(at),
            Following::Packets(_) => {}
        }
    }
}

impl Connection {
    /// Enters the writes of the response that comes next into a ledger.
    pub fn follow(&self, follow: Follow) {
        match &mut *self.shared.following() {
            Following::One(one) => *one = Some(follow),
            Following::Streams(streams) => streams.follow(self.stream, follow),
            Following::Packets(packets) => packets.follow(self.stream, follow),
        }
    }

    /// Leaves Nagle's algorithm on or switches it off, from the next write on.
    pub fn set_nagle(&self, nagle: bool) {
        self.shared.nagle.store(nagle, Ordering::Relaxed);
    }

    /// The same connection under HTTP/2, before its first byte has left.
    pub(crate) fn multiplexed(self) -> Connection {
        *self.shared.following() = Following::Streams(Streams::default());
        Connection { layered: true, ..self }
    }

    /// The same connection under TLS.
    pub(crate) fn secured(self) -> Connection {
        Connection { layered: true, ..self }
    }

    /// A stream of the connection.
    pub(crate) fn of_stream(&self, stream: u64) -> Connection {
        Connection { stream, ..self.clone() }
    }

    /// The client's window has no room for the stream.
    pub(crate) fn no_window(&self) {
        match &mut *self.shared.following() {
            Following::One(_) => {}
            Following::Streams(streams) => streams.no_window(self.stream, now()),
            Following::Packets(packets) => packets.no_window(self.stream, now()),
        }
    }

    /// It has room again.
    pub(crate) fn window(&self) {
        match &mut *self.shared.following() {
            Following::One(_) => {}
            Following::Streams(streams) => streams.window(self.stream, now()),
            Following::Packets(packets) => packets.window(self.stream, now()),
        }
    }

    /// The stream is over before its end has left.
    pub(crate) fn forget(&self) {
        match &mut *self.shared.following() {
            Following::One(_) => {}
            Following::Streams(streams) => streams.forget(self.stream),
            Following::Packets(packets) => packets.forget(self.stream),
        }
    }

    /// Notes one write of plaintext that came to the socket by way of TLS.
    pub(crate) fn wrote<'a>(
        &self,
        parts: impl Iterator<Item = &'a [u8]>,
        before: Stamp,
        after: Stamp,
    ) {
        self.shared.wrote(parts, before, after);
    }

    /// What leaves cannot be told any more.
    pub(crate) fn lose(&self, why: &str) {
        match &mut *self.shared.following() {
            Following::One(one) => one.take().into_iter().for_each(|follow| follow.lose(why)),
            Following::Streams(streams) => streams.take().for_each(|follow| follow.lose(why)),
            Following::Packets(packets) => packets.lose(why),
        }
    }

    /// A connection over QUIC, of a client that is not known yet.
    pub(crate) fn over_quic() -> Connection {
        let following = Mutex::new(Following::Packets(h3::Streams::default()));
        Connection {
            shared: Arc::new(Shared { following, nagle: AtomicBool::new(false) }),
            remote: SocketAddr::from(([0, 0, 0, 0], 0)),
            segment_bytes: None,
            layered: true,
            stream: 0,
        }
    }

    /// The same connection, of this client.
    pub(crate) fn from(self, remote: SocketAddr) -> Connection {
        Connection { remote, ..self }
    }

    /// Does something with the packets of a connection over QUIC.
    pub(crate) fn packets<T>(&self, act: impl FnOnce(&mut h3::Streams) -> T) -> Option<T> {
        match &mut *self.shared.following() {
            Following::Packets(packets) => Some(act(packets)),
            Following::One(_) | Following::Streams(_) => None,
        }
    }

    /// The stream, of HTTP/2 or QUIC.
    pub(crate) fn stream(&self) -> u64 {
        self.stream
    }
}

/// A connection that stamps every write.
pub struct Stamped {
    stream: TcpStream,
    remote: SocketAddr,
    shared: Arc<Shared>,
    /// What the socket is set to.
    nagle: bool,
    /// Under TLS the bytes are records, and what they carry is not followed here.
    records: Option<Records>,
}

impl Stamped {
    /// Wraps an accepted connection, with `TCP_NODELAY` set.
    pub fn new(stream: TcpStream, remote: SocketAddr) -> Stamped {
        // A connection that is already gone fails here; its first read says so too.
        let _ = stream.set_nodelay(true);
        let following = Mutex::new(Following::One(None));
        let shared = Arc::new(Shared { following, nagle: AtomicBool::new(false) });
        Stamped { stream, remote, shared, nagle: false, records: None }
    }

    /// A handler's reach into this connection.
    pub fn connection(&self) -> Connection {
        Connection {
            shared: Arc::clone(&self.shared),
            remote: self.remote,
            segment_bytes: socket2::SockRef::from(&self.stream).tcp_mss().ok(),
            layered: false,
            stream: 0,
        }
    }

    /// The socket.
    pub(crate) fn socket(&self) -> &TcpStream {
        &self.stream
    }

    /// From now on TLS records leave here, and are counted.
    pub(crate) fn count_records(&mut self) {
        self.records = Some(Records::default());
    }

    /// The records that have left since this was last asked.
    pub(crate) fn records_left(&mut self) -> Vec<Left> {
        self.records.as_mut().map(Records::take).unwrap_or_default()
    }

    fn apply_nagle(&mut self) {
        let wanted = self.shared.nagle.load(Ordering::Relaxed);
        if wanted != self.nagle && self.stream.set_nodelay(!wanted).is_ok() {
            self.nagle = wanted;
        }
    }

    fn wrote<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>, before: Stamp, after: Stamp) {
        match &mut self.records {
            None => self.shared.wrote(parts, before, after),
            Some(records) => records.wrote(parts, before, after),
        }
    }
}

/// The first bytes of some slices.
pub(crate) fn taken_of<'a>(
    slices: &'a [IoSlice<'_>],
    taken: usize,
) -> impl Iterator<Item = &'a [u8]> + Clone {
    let mut left = taken;
    slices.iter().map_while(move |slice| {
        let part = &slice[..slice.len().min(left)];
        left -= part.len();
        (!part.is_empty()).then_some(part)
    })
}

impl AsyncRead for Stamped {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Stamped {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.apply_nagle();
        let before = now();
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        match &result {
            Poll::Ready(Ok(taken)) => self.wrote([&bytes[..*taken]].into_iter(), before, now()),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.shared.refused(before),
        }
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.apply_nagle();
        let before = now();
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        match &result {
            Poll::Ready(Ok(taken)) => self.wrote(taken_of(slices, *taken), before, now()),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.shared.refused(before),
        }
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
