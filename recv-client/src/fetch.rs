//! Short answers, read whole: a ledger, a clock, an identity.

use std::io;
use std::time::Duration;

use measure::Stamp;
use wire::http1::Head;
use wire::{DatagramSocket, Moment, RECV_BUFFER, Socket};

use crate::ask::{Ask, Http, Limit, SILENCE};
use crate::bounded::Bounded;
use crate::line::{Line, LineError, ProtocolError};

/// An answer that was read whole.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its head.
    pub head: Head,
    /// Its body.
    pub body: Vec<u8>,
    /// Just before the request was written: after TLS's handshake, if there was one.
    pub sent: Stamp,
    /// When the last byte was there.
    pub received: Stamp,
}

/// No whole answer.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// No connection.
    #[error("{0}")]
    Connect(io::Error),
    /// It broke, or took too long.
    #[error("{what}: {error}")]
    Broken {
        /// What was being done.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// It is no HTTP, or its TLS failed.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// It ended early.
    #[error("the answer ended before it was whole")]
    Cut,
    /// It is larger than was allowed.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(u64),
}

/// Asks and reads an answer of at most `limit` whole.
///
/// # Errors
/// When it cannot be had whole within the limit.
pub fn fetch(ask: &Ask, limit: Limit) -> Result<Page, FetchError> {
    let call = Stamp(Moment::now().micros());
    if ask.http == Http::Three {
        let mut socket = DatagramSocket::connect(ask.address).map_err(FetchError::Connect)?;
        let mut farewell = Vec::new();
        let page = over(ask, limit, call, &mut socket, &mut farewell);
        for datagram in farewell {
            // Good manners, and no more.
            let _ = socket.send(&datagram);
        }
        return page;
    }
    let (mut socket, _) = wire::connect(ask.address, &ask.options).map_err(FetchError::Connect)?;
    over(ask, limit, call, &mut socket, &mut Vec::new())
}

fn over(
    ask: &Ask,
    limit: Limit,
    call: Stamp,
    socket: &mut impl Socket,
    farewell: &mut Vec<Vec<u8>>,
) -> Result<Page, FetchError> {
    let silence: Duration = ask.options.read_timeout.unwrap_or(SILENCE);
    let mut socket = Bounded::new(socket, limit, call, silence, None);
    let (mut line, sent) = Line::open(ask, &mut socket).map_err(|error| match error {
        LineError::Read(error) => FetchError::Broken { what: "reading the answer", error },
        LineError::Send(error) => FetchError::Broken { what: "sending the request", error },
        LineError::Protocol(error) => FetchError::Protocol(error),
    })?;
    let page = whole(&mut line, &mut socket, sent, limit, silence);
    farewell.append(&mut line.farewell());
    page
}

fn whole(
    line: &mut Line,
    socket: &mut impl Socket,
    sent: Stamp,
    limit: Limit,
    silence: Duration,
) -> Result<Page, FetchError> {
    let mut body = Vec::new();
    let mut buffer = vec![0; RECV_BUFFER];
    let mut came = 0;
    let received = loop {
        let read = line
            .recv(socket, &mut buffer, RECV_BUFFER, silence)
            .map_err(|error| FetchError::Broken { what: "reading the answer", error })?;
        if read.bytes == 0 && !line.may_end() {
            line.end()?;
            return Err(FetchError::Cut);
        }
        line.take(&buffer[..read.bytes])?;
        body.extend_from_slice(line.body());
        came += read.bytes as u64;
        if line.is_closed() && !line.may_end() {
            return Err(FetchError::Cut);
        }
        if read.bytes == 0 || line.may_end() && (line.is_closed() || line.is_done()) {
            break Stamp(read.at.micros());
        }
        if came >= limit.bytes {
            return Err(FetchError::TooLarge(limit.bytes));
        }
        line.reply(socket)
            .map_err(|error| FetchError::Broken { what: "answering the server", error })?;
    };
    let head = line.head().cloned().ok_or(FetchError::Cut)?;
    Ok(Page { head, body, sent, received })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener};

    fn serve(answer: &'static [u8], stay: Duration) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            stream.write_all(answer).unwrap();
            std::thread::sleep(stay);
        });
        address
    }

    fn ask(answer: &'static [u8], stay: Duration) -> Result<Page, FetchError> {
        let limit = Limit { time: Duration::from_millis(300), bytes: 1024 };
        fetch(&Ask::plain(serve(answer, stay), "/clock"), limit)
    }

    #[test]
    fn an_answer_is_read_whole_and_timed() {
        let page = ask(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", Duration::ZERO).unwrap();
        assert_eq!((page.body.as_slice(), page.head.status), (&b"{}"[..], 200));
        assert!(page.received >= page.sent);
    }

    #[test]
    fn what_is_not_whole_has_a_name() {
        let zero = Duration::ZERO;
        let cut = ask(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", zero);
        assert!(matches!(cut, Err(FetchError::Cut)), "{cut:?}");
        let foreign = ask(b"SSH-2.0-x\r\n", zero);
        assert!(
            matches!(foreign, Err(FetchError::Protocol(ProtocolError::Framing(_)))),
            "{foreign:?}"
        );
        let silent = ask(b"", Duration::from_secs(2));
        assert!(matches!(silent, Err(FetchError::Broken { .. })), "{silent:?}");
        static LARGE: [u8; 4096] = [b' '; 4096];
        static HEAD: &[u8] = b"HTTP/1.0 200 OK\r\n\r\n";
        let large: &'static [u8] = [HEAD, &LARGE].concat().leak();
        assert!(matches!(ask(large, zero), Err(FetchError::TooLarge(1024))));
    }
}
