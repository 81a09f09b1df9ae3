//! Connections under TLS: what is handed over above it, joined to what leaves below it.
//!
//! A frame has left when the TLS record with its last byte has gone to the socket whole; before
//! that nobody can read it. Records show their type and length on the wire, and under TLS 1.3 each
//! holds 17 bytes beside its plaintext, so the records that leave tell to the byte how much of the
//! plaintext went with which write. Where the count does not come out, the ledger says so and has
//! no further lines.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::BytesMut;
use measure::Stamp;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use crate::listener::{Connection, Stamped, taken_of};

/// What protocols are offered under TLS (ALPN), the best first.
pub const PROTOCOLS: [&str; 2] = [H2, "http/1.1"];
/// HTTP/2, as ALPN calls it.
pub(crate) const H2: &str = "h2";

/// Type, version, length (RFC 8446, 5.1).
const HEADER: usize = 5;
/// The type of all records once TLS 1.3 has shaken hands.
const APPLICATION_DATA: u8 = 23;
/// What an encrypted record holds beside its plaintext: the inner type and the cipher's tag,
/// 16 bytes for every cipher of TLS 1.3 that we have.
const BESIDE: usize = 1 + 16;

/// Why a ledger has no further lines.
const UNCLEAR: &str = "what left under TLS does not add up to what was handed over";

/// Plaintext that left with one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) plain: usize,
    pub(crate) before: Stamp,
    pub(crate) after: Stamp,
}

/// Counts the records that leave a socket, from the end of the handshake on.
#[derive(Debug, Default)]
pub(crate) struct Records {
    header: [u8; HEADER],
    have: usize,
    /// Bytes of the present record still to come.
    left: usize,
    whole: Vec<Left>,
}

impl Records {
    /// Notes one write.
    pub(crate) fn wrote<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a [u8]>,
        before: Stamp,
        after: Stamp,
    ) {
        let mut plain = None;
        for part in parts {
            if let Some(more) = self.feed(part) {
                plain = Some(plain.unwrap_or(0) + more);
            }
        }
        // A write that ended no record has made nothing readable.
        self.whole.extend(plain.map(|plain| Left { plain, before, after }));
    }

    /// What has left since this was last asked.
    pub(crate) fn take(&mut self) -> Vec<Left> {
        std::mem::take(&mut self.whole)
    }

    /// Plaintext of the records that these bytes end; none if they end none.
    fn feed(&mut self, mut bytes: &[u8]) -> Option<usize> {
        let mut plain = None;
        while !bytes.is_empty() {
            if self.have < HEADER {
                let (more, rest) = bytes.split_at(bytes.len().min(HEADER - self.have));
                self.header[self.have..self.have + more.len()].copy_from_slice(more);
                self.have += more.len();
                bytes = rest;
                if self.have < HEADER {
                    break;
                }
                let [.., high, low] = self.header;
                self.left = usize::from(u16::from_be_bytes([high, low]));
            }
            let here = bytes.len().min(self.left);
            self.left -= here;
            bytes = &bytes[here..];
            if self.left == 0 {
                self.have = 0;
                let [kind, .., high, low] = self.header;
                if kind == APPLICATION_DATA {
                    let length = usize::from(u16::from_be_bytes([high, low]));
                    plain = Some(plain.unwrap_or(0) + length.saturating_sub(BESIDE));
                }
            }
        }
        plain
    }
}

/// A connection under TLS whose plaintext is followed.
pub(crate) struct Secured {
    tls: TlsStream<Stamped>,
    connection: Connection,
    /// Plaintext that TLS has taken and that has not left: only when the socket is full.
    waiting: BytesMut,
    unclear: bool,
}

impl Secured {
    /// Follows a connection that has just shaken hands.
    pub(crate) fn new(mut tls: TlsStream<Stamped>, connection: Connection) -> Secured {
        tls.get_mut().0.count_records();
        Secured { tls, connection, waiting: BytesMut::new(), unclear: false }
    }

    /// Joins plaintext that TLS has just taken, if any, to the records that have left since.
    fn settle<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]> + Clone) {
        let (below, session) = self.tls.get_mut();
        let left = below.records_left();
        let flushed = !session.wants_write();
        if self.unclear {
            return;
        }
        let taken: usize = parts.clone().map(<[u8]>::len).sum();
        if let ([one], true) = (left.as_slice(), self.waiting.is_empty())
            && one.plain == taken
        {
            // Nearly always: taken, encrypted, and gone with one write.
            return self.connection.wrote(parts, one.before, one.after);
        }
        parts.for_each(|part| self.waiting.extend_from_slice(part));
        for Left { plain, before, after } in left {
            if plain > self.waiting.len() {
                return self.lose();
            }
            let part = self.waiting.split_to(plain);
            self.connection.wrote([&part[..]].into_iter(), before, after);
        }
        if flushed && !self.waiting.is_empty() {
            self.lose();
        }
    }

    fn lose(&mut self) {
        self.unclear = true;
        self.waiting.clear();
        self.connection.lose(UNCLEAR);
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_read(context, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.tls).poll_write(context, bytes);
        let taken = if let Poll::Ready(Ok(taken)) = &result { *taken } else { 0 };
        self.settle([&bytes[..taken]].into_iter());
        result
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.tls).poll_write_vectored(context, slices);
        let taken = if let Poll::Ready(Ok(taken)) = &result { *taken } else { 0 };
        self.settle(taken_of(slices, taken));
        result
    }

    fn is_write_vectored(&self) -> bool {
        self.tls.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.tls).poll_flush(context);
        self.settle(std::iter::empty());
        result
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What leaves from here on ends the connection and is no plaintext.
        self.settle(std::iter::empty());
        self.unclear = true;
        Pin::new(&mut self.tls).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_at_the_write_that_ends_them() {
        let record = |kind: u8, plain: usize| {
            let length = (plain + BESIDE) as u16;
            let mut bytes = vec![kind, 3, 3];
            bytes.extend(length.to_be_bytes());
            bytes.resize(HEADER + usize::from(length), 0);
            bytes
        };
        let bytes =
            [record(APPLICATION_DATA, 60), record(21, 2), record(APPLICATION_DATA, 1000)].concat();
        let ends = [HEADER + 77, bytes.len()];
        for step in 1..=bytes.len() {
            let mut records = Records::default();
            for (index, part) in bytes.chunks(step).enumerate() {
                let at = Stamp(index as i64);
                records.wrote([part].into_iter(), at, at);
            }
            let at = ends.map(|end| Stamp(((end - 1) / step) as i64));
            let left = |plain, at| Left { plain, before: at, after: at };
            let expected = if at[0] == at[1] {
                vec![left(1060, at[0])]
            } else {
                vec![left(60, at[0]), left(1000, at[1])]
            };
            assert_eq!(records.whole, expected, "cut every {step} bytes");
        }
    }
}
