//! The UDP socket: one datagram at a time, each with the times around its send.

use std::future::Future;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use tokio::io::Interest;

use super::seal::Seals;
use crate::now;

/// A UDP socket that stamps every send.
#[derive(Debug)]
pub(super) struct Datagrams {
    socket: tokio::net::UdpSocket,
    state: UdpSocketState,
    seals: Seals,
}

impl Datagrams {
    /// Within a runtime, whose socket it will be.
    pub(super) fn new(socket: UdpSocket, seals: Seals) -> io::Result<Datagrams> {
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new((&socket).into())?;
        Ok(Datagrams { socket: tokio::net::UdpSocket::from_std(socket)?, state, seals })
    }
}

impl AsyncUdpSocket for Datagrams {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Writable { socket: self, waiting: None })
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let before = now();
        // Not `send`, which keeps errors to itself: a datagram that did not leave must not be
        // entered as one that did.
        let sent = self
            .socket
            .try_io(Interest::WRITABLE, || self.state.try_send((&self.socket).into(), transmit));
        match &sent {
            Ok(()) => self.seals.left(transmit.contents, Some((before, now()))),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.seals.refused(transmit.contents, before);
            }
            Err(_) => self.seals.left(transmit.contents, None),
        }
        match sent {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => {
                // To QUIC it is a datagram that was lost; a client that is gone is noticed by its
                // silence, and one address that cannot be reached must not end the others.
                Ok(())
            }
            sent => sent,
        }
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_recv_ready(context))?;
            let receive = || self.state.recv((&self.socket).into(), buffers, meta);
            if let Ok(count) = self.socket.try_io(Interest::READABLE, receive) {
                return Poll::Ready(Ok(count));
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    // One transmit is one datagram, and has one time.
    fn max_transmit_segments(&self) -> usize {
        1
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

type Waiting = Pin<Box<dyn Future<Output = io::Result<()>> + Send + Sync>>;

/// Waits until the socket may take a datagram.
struct Writable {
    socket: Arc<Datagrams>,
    waiting: Option<Waiting>,
}

impl std::fmt::Debug for Writable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writable").finish_non_exhaustive()
    }
}

impl UdpPoller for Writable {
    fn poll_writable(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let waiting = this.waiting.get_or_insert_with(|| {
            let socket = Arc::clone(&this.socket);
            Box::pin(async move { socket.socket.writable().await })
        });
        let result = ready!(waiting.as_mut().poll(context));
        this.waiting = None;
        Poll::Ready(result)
    }
}
