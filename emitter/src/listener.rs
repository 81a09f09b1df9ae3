//! Connections that stamp every write.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use measure::Stamp;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::follow::Follow;
use crate::now;

/// A handler's reach into its own connection.
#[derive(Clone, Debug)]
pub struct Connection {
    shared: Arc<Shared>,
    /// Who connected.
    pub remote: SocketAddr,
    /// Segment payload that the kernel uses towards them (`snd_mss`), bytes.
    pub segment_bytes: Option<u32>,
}

#[derive(Debug)]
struct Shared {
    follow: Mutex<Option<Follow>>,
    nagle: AtomicBool,
}

impl Shared {
    fn follow(&self) -> MutexGuard<'_, Option<Follow>> {
        self.follow.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Enters the writes of the response that comes next into a ledger.
    pub fn follow(&self, follow: Follow) {
        *self.shared.follow() = Some(follow);
    }

    /// Leaves Nagle's algorithm on or switches it off, from the next write on.
    pub fn set_nagle(&self, nagle: bool) {
        self.shared.nagle.store(nagle, Ordering::Relaxed);
    }
}

/// A connection that stamps every write.
pub struct Stamped {
    stream: TcpStream,
    remote: SocketAddr,
    shared: Arc<Shared>,
    /// What the socket is set to.
    nagle: bool,
}

impl Stamped {
    /// Wraps an accepted connection, with `TCP_NODELAY` set.
    pub fn new(stream: TcpStream, remote: SocketAddr) -> Stamped {
        // A connection that is already gone fails here; its first read says so too.
        let _ = stream.set_nodelay(true);
        let shared = Arc::new(Shared { follow: Mutex::new(None), nagle: AtomicBool::new(false) });
        Stamped { stream, remote, shared, nagle: false }
    }

    /// A handler's reach into this connection.
    pub fn connection(&self) -> Connection {
        Connection {
            shared: Arc::clone(&self.shared),
            remote: self.remote,
            segment_bytes: socket2::SockRef::from(&self.stream).tcp_mss().ok(),
        }
    }

    fn apply_nagle(&mut self) {
        let wanted = self.shared.nagle.load(Ordering::Relaxed);
        if wanted != self.nagle && self.stream.set_nodelay(!wanted).is_ok() {
            self.nagle = wanted;
        }
    }

    fn wrote<'a>(&self, parts: impl Iterator<Item = &'a [u8]>, before: Stamp, after: Stamp) {
        let mut follow = self.shared.follow();
        if follow.as_mut().is_some_and(|follow| follow.wrote(parts, before, after)) {
            *follow = None;
        }
    }
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
        if let Poll::Ready(Ok(taken)) = &result {
            self.wrote([&bytes[..*taken]].into_iter(), before, now());
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
        if let Poll::Ready(Ok(taken)) = &result {
            let after = now();
            let mut left = *taken;
            let parts = slices.iter().map_while(|slice| {
                let part = &slice[..slice.len().min(left)];
                left -= part.len();
                (!part.is_empty()).then_some(part)
            });
            self.wrote(parts, before, after);
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
