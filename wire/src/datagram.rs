//! A UDP socket for one peer: one datagram a call, with its times.

use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

#[cfg(target_os = "linux")]
use nix::sys::socket::{ControlMessageOwned, RecvMsg, setsockopt, sockopt};
use nix::sys::socket::{MsgFlags, SockaddrStorage, recvmsg};
use nix::sys::time::TimeSpec;

use crate::moment::Moment;
use crate::socket::{Read, Socket, Write, stamp};

/// Room that is asked of the kernel for datagrams that wait: Chromium's for QUIC
/// (`kQuicSocketReceiveBufferSize`, 1 MiB). The kernel may give less.
const KERNEL_BUFFER: usize = 1 << 20;

/// A UDP socket that is connected to one peer, with the kernel's receive stamps switched on. Its
/// datagrams are never put together by the kernel (`UDP_GRO` is off), so that each has its own
/// stamp.
#[derive(Debug)]
pub struct DatagramSocket {
    socket: UdpSocket,
    control: Vec<u8>,
    waits: Option<Duration>,
    heard: Option<Moment>,
    #[cfg(target_os = "linux")]
    lost: u32,
}

impl DatagramSocket {
    /// A socket that sends to that address and hears nobody else. Nothing is sent yet.
    ///
    /// # Errors
    /// When there is no way to that address, or the stamps cannot be switched on.
    pub fn connect(address: SocketAddr) -> io::Result<DatagramSocket> {
        let any: SocketAddr = match address {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("UDP to {address}: {error}"));
        let socket = UdpSocket::bind(any).map_err(named)?;
        socket.connect(address).map_err(named)?;
        // A smaller one works as well.
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(KERNEL_BUFFER);
        #[cfg(target_os = "linux")]
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        // Where it cannot be switched on, what finds no room is not known.
        #[cfg(target_os = "linux")]
        let _ = setsockopt(&socket, sockopt::RxqOvfl, &1);
        Ok(DatagramSocket {
            socket,
            control: nix::cmsg_space!(TimeSpec, u32),
            waits: None,
            heard: None,
            #[cfg(target_os = "linux")]
            lost: 0,
        })
    }

    /// Datagrams that found no room in this socket before the last one that was read came
    /// (`SO_RXQ_OVFL`): the reader lost them, not the way to it. `None` where the kernel does not
    /// tell.
    pub fn lost(&self) -> Option<u32> {
        #[cfg(target_os = "linux")]
        return Some(self.lost);
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// When the first datagram came.
    pub fn first_heard(&self) -> Option<Moment> {
        self.heard
    }

    fn receive(&mut self, buffer: &mut [u8], flags: MsgFlags) -> io::Result<Read> {
        loop {
            let mut slices = [IoSliceMut::new(buffer)];
            let entered = Moment::now();
            let result = recvmsg::<SockaddrStorage>(
                self.socket.as_raw_fd(),
                &mut slices,
                Some(&mut self.control),
                flags,
            );
            // The clock first, as on a stream.
            match result {
                Ok(message) => {
                    let (at, kernel) = Moment::now_with_wall(stamp(&message));
                    let bytes = message.bytes;
                    #[cfg(target_os = "linux")]
                    if let Some(lost) = overflow(&message) {
                        self.lost = lost;
                    }
                    self.heard.get_or_insert(at);
                    return Ok(Read { bytes, entered, at, kernel });
                }
                Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

/// How many datagrams had found no room when this one came; the kernel says it once there are some.
#[cfg(target_os = "linux")]
fn overflow<S>(message: &RecvMsg<'_, '_, S>) -> Option<u32> {
    message.cmsgs().ok()?.find_map(|control| match control {
        ControlMessageOwned::RxqOvfl(lost) => Some(lost),
        _ => None,
    })
}

impl Socket for DatagramSocket {
    /// One datagram; of one that is larger than the buffer the rest is lost. An empty one is no
    /// end.
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        self.receive(buffer, MsgFlags::empty())
    }

    fn recv_now(&mut self, buffer: &mut [u8]) -> io::Result<Option<Read>> {
        match self.receive(buffer, MsgFlags::MSG_DONTWAIT) {
            Ok(read) => Ok(Some(read)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn wait_at_most(&mut self, time: Duration) -> io::Result<()> {
        if self.waits != Some(time) {
            self.socket.set_read_timeout(Some(time))?;
            self.waits = Some(time);
        }
        Ok(())
    }

    /// One datagram.
    fn send(&mut self, bytes: &[u8]) -> io::Result<Write> {
        loop {
            let before = Moment::now();
            match self.socket.send(bytes) {
                Ok(bytes) => return Ok(Write { bytes, before, after: Moment::now() }),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_datagram_is_a_read_with_a_stamp_of_its_own() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut near = DatagramSocket::connect(peer.local_addr().unwrap()).unwrap();
        near.send(b"who").unwrap();
        let (_, back) = peer.recv_from(&mut [0; 8]).unwrap();
        let before = Moment::now();
        peer.send_to(b"first", back).unwrap();
        peer.send_to(b"", back).unwrap();
        peer.send_to(b"third one", back).unwrap();
        let mut buffer = [0; 64];
        near.wait_at_most(Duration::from_millis(30)).unwrap();
        let first = near.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..first.bytes], b"first");
        let kernel = first.kernel.expect("this kernel stamps datagrams");
        assert!((before.micros() - 500..=first.at.micros() + 500).contains(&kernel.micros()));
        assert_eq!(near.recv_now(&mut buffer).unwrap().unwrap().bytes, 0);
        assert_eq!(near.recv_now(&mut buffer).unwrap().unwrap().bytes, 9);
        assert!(near.recv_now(&mut buffer).unwrap().is_none());
        assert_eq!(near.recv(&mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_finds_no_room_is_counted() {
        let peer = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut near = DatagramSocket::connect(peer.local_addr().unwrap()).unwrap();
        // The kernel makes it the least that it gives.
        socket2::SockRef::from(&near.socket).set_recv_buffer_size(1).unwrap();
        near.send(b"who").unwrap();
        let (_, back) = peer.recv_from(&mut [0; 8]).unwrap();
        let sent = 64;
        for _ in 0..sent {
            peer.send_to(&[7; 1_200], back).unwrap();
        }
        let mut buffer = [0; 2_048];
        let mut came = 0;
        while near.recv_now(&mut buffer).unwrap().is_some() {
            came += 1;
        }
        assert_eq!(near.lost(), Some(0), "those before the first that found none know of none");
        peer.send_to(b"after", back).unwrap();
        near.wait_at_most(Duration::from_secs(5)).unwrap();
        near.recv(&mut buffer).unwrap();
        assert!(came < sent, "all {sent} found room");
        assert_eq!(near.lost(), Some(sent - came));
    }

    #[test]
    fn a_port_where_nobody_listens_refuses() {
        let gone = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut near = DatagramSocket::connect(gone).unwrap();
        near.wait_at_most(Duration::from_secs(5)).unwrap();
        near.send(b"who").unwrap();
        let refused = near.recv(&mut [0; 8]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    }
}
