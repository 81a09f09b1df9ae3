//! Connecting with the switches that decide what a link shows.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket as RawSocket, Type};

use crate::moment::Moment;
use crate::socket::TcpSocket;

/// Room that TCP timestamps take in every segment (RFC 7323: 10 bytes, padded to 12). Setting
/// `TCP_MAXSEG` to N + 12 makes the other side send N bytes of payload.
pub const TIMESTAMP_BYTES: u32 = 12;

/// Largest payload of a segment that may be asked for. Loopback's own is about 65,483; the
/// kernel refuses `TCP_MAXSEG` above 32,767.
pub const MAX_SEGMENT: u32 = 32_767 - TIMESTAMP_BYTES;
/// Smallest: the kernel refuses `TCP_MAXSEG` under 88 (`TCP_MIN_MSS`).
pub const MIN_SEGMENT: u32 = 88;

/// Switches of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Payload of the segments that the other side sends; `None` leaves it to the link.
    pub segment: Option<u32>,
    /// `TCP_NODELAY` on our side.
    pub nodelay: bool,
    /// How long a connect may take.
    pub connect_timeout: Duration,
    /// How long a read may wait for a byte.
    pub read_timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            segment: None,
            nodelay: true,
            connect_timeout: Duration::from_secs(5),
            read_timeout: None,
        }
    }
}

/// Connects; returns the socket and the moment at which the connection stood.
///
/// # Errors
/// When the segment size cannot be set or nobody answers; the message names call and address.
pub fn connect(address: SocketAddr, options: &Options) -> io::Result<(TcpSocket, Moment)> {
    let socket = RawSocket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
        .map_err(|error| named("socket", address, &error))?;
    if let Some(segment) = options.segment {
        if !(MIN_SEGMENT..=MAX_SEGMENT).contains(&segment) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("segment size {segment}: it must be from {MIN_SEGMENT} to {MAX_SEGMENT}"),
            ));
        }
        // Before connecting: the size is announced in the first packet.
        socket
            .set_tcp_mss(segment + TIMESTAMP_BYTES)
            .map_err(|error| named("setsockopt TCP_MAXSEG", address, &error))?;
    }
    socket
        .connect_timeout(&address.into(), options.connect_timeout)
        .map_err(|error| named("connect", address, &error))?;
    let connected = Moment::now();
    let stream: TcpStream = socket.into();
    stream.set_nodelay(options.nodelay)?;
    stream.set_read_timeout(options.read_timeout)?;
    Ok((TcpSocket::new(stream)?, connected))
}

/// The call and the address, since "Connection refused" alone says neither.
fn named(call: &str, address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{call} {address}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_segment_size_asked_for_is_the_one_the_sender_uses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let options = Options { segment: Some(1448), ..Options::default() };
        let (ours, _) = connect(listener.local_addr().unwrap(), &options).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        let sender = socket2::SockRef::from(&theirs).tcp_mss().unwrap();
        assert_eq!(sender, 1448, "snd_mss of the sender");
        assert_eq!(ours.segment_bytes(), Some(1448));
    }

    #[test]
    fn sizes_the_kernel_would_refuse_are_refused_with_the_bound() {
        let options = Options { segment: Some(40), ..Options::default() };
        let error = connect("127.0.0.1:1".parse().unwrap(), &options).err().unwrap();
        assert_eq!(error.to_string(), "segment size 40: it must be from 88 to 32755");
    }

    #[test]
    fn a_refused_connection_names_call_and_address() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = connect(address, &Options::default()).err().unwrap();
        assert!(error.to_string().starts_with(&format!("connect {address}: ")), "{error}");
    }
}
