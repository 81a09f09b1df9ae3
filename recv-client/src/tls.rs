//! TLS between a socket's reads and HTTP: ciphertext in, plaintext out, no socket of its own.
//!
//! Whoever reads takes the time first and hands the bytes over afterwards, so that decryption is
//! never in a read's time.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use measure::{Stamp, Tls};
use rustls::ClientConnection;
use wire::{Moment, RECV_BUFFER, Socket};

use crate::ask::Http;
use crate::line::LineError;
use crate::tls_error::{self, TlsError};
use crate::trust::Secure;
use crate::units::{Units, record_length};

/// How much of a peer's first bytes is kept, to say what it spoke if it was not TLS.
const FIRST_BYTES: usize = 24;

/// The TLS of one connection.
pub(crate) struct Channel {
    connection: ClientConnection,
    host: String,
    http: Http,
    first: Vec<u8>,
    records: Units<5>,
    record_count: u32,
    /// Plaintext that nobody has taken yet; kept for its room.
    plain: Vec<u8>,
    outgoing: Vec<u8>,
    closed: bool,
}

impl Channel {
    /// Makes the handshake over the socket.
    pub(crate) fn open(
        secure: &Secure,
        http: Http,
        socket: &mut impl Socket,
    ) -> Result<(Channel, Tls), LineError> {
        let mut config = (*secure.config).clone();
        config.alpn_protocols = http.offered().iter().map(|name| name.as_bytes().into()).collect();
        let host = secure.name.to_str().into_owned();
        let connection = ClientConnection::new(Arc::new(config), secure.name.clone())
            .map_err(|error| tls_error::explain(error, &host, &[], http))?;
        let mut channel = Channel {
            connection,
            host,
            http,
            first: Vec::new(),
            records: Units::new(record_length),
            record_count: 0,
            plain: Vec::new(),
            outgoing: Vec::new(),
            closed: false,
        };
        let handshake_reads = channel.handshake(socket)?;
        let alpn = channel
            .connection
            .alpn_protocol()
            .map(|name| String::from_utf8_lossy(name).into_owned());
        if http == Http::Two && alpn.as_deref() != Some("h2") {
            return Err(TlsError::NoHttp2(channel.host).into());
        }
        let version = channel.connection.protocol_version().and_then(|version| version.as_str());
        let tls = Tls {
            version: version.unwrap_or_default().replace('_', "."),
            alpn,
            handshake_done: Stamp(Moment::now().micros()),
            handshake_reads,
        };
        Ok((channel, tls))
    }

    fn handshake(&mut self, socket: &mut impl Socket) -> Result<u32, LineError> {
        let mut buffer = vec![0; RECV_BUFFER];
        let mut reads = 0;
        self.flush(socket).map_err(|error| self.dropped(error))?;
        while self.connection.is_handshaking() {
            let read = socket.recv(&mut buffer).map_err(|error| self.dropped(error))?;
            if read.bytes == 0 {
                return Err(TlsError::Closed(self.host.clone()).into());
            }
            reads += 1;
            let fed = self.take(&buffer[..read.bytes]);
            // What is left to say is an alert if that failed: good manners, and no more.
            let flushed = self.flush(socket);
            fed?;
            flushed.map_err(|error| self.dropped(error))?;
        }
        Ok(reads)
    }

    /// A connection that breaks in the handshake has a name of its own.
    fn dropped(&self, error: io::Error) -> LineError {
        match error.kind() {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                TlsError::Reset(self.host.clone()).into()
            }
            _ => LineError::Read(error),
        }
    }

    /// Takes one read's bytes; what they decrypt to is added to [`Channel::plain`].
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> Result<(), TlsError> {
        if self.first.len() < FIRST_BYTES {
            let room = FIRST_BYTES - self.first.len();
            self.first.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        let mut count = 0;
        self.records.feed(bytes, |_, _| count += 1);
        self.record_count = count;
        while !bytes.is_empty() && !self.closed {
            let taken = self.connection.read_tls(&mut bytes).map_err(TlsError::Buffer)?;
            let processed = self.connection.process_new_packets();
            // Also after an error: what was whole before it is the answer's.
            self.collect();
            let state = processed
                .map_err(|error| tls_error::explain(error, &self.host, &self.first, self.http))?;
            self.closed = state.peer_has_closed();
            if taken == 0 {
                break;
            }
        }
        Ok(())
    }

    fn collect(&mut self) {
        let mut reader = self.connection.reader();
        loop {
            let at = self.plain.len();
            // A record's plaintext is at most 16 KiB (RFC 8446, 5.1).
            self.plain.resize(at + (16 << 10), 0);
            let got = reader.read(&mut self.plain[at..]).unwrap_or_default();
            self.plain.truncate(at + got);
            if got == 0 {
                return;
            }
        }
    }

    /// Decrypted bytes that were not cleared yet.
    pub(crate) fn plain(&mut self) -> &mut Vec<u8> {
        &mut self.plain
    }

    /// Records that the last bytes taken completed.
    pub(crate) fn record_count(&self) -> u32 {
        self.record_count
    }

    /// Whether the peer said properly that no more will come.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether HTTP/2 was settled on.
    pub(crate) fn speaks_http2(&self) -> bool {
        self.connection.alpn_protocol() == Some(b"h2")
    }

    /// Encrypts and sends, and whatever TLS itself has to say.
    pub(crate) fn send(&mut self, bytes: &[u8], socket: &mut impl Socket) -> io::Result<()> {
        let mut left = bytes;
        while !left.is_empty() {
            let taken = self.connection.writer().write(left)?;
            left = &left[taken..];
            self.flush(socket)?;
        }
        self.flush(socket)
    }

    fn flush(&mut self, socket: &mut impl Socket) -> io::Result<()> {
        self.outgoing.clear();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut self.outgoing)?;
        }
        if !self.outgoing.is_empty() {
            socket.send_all(&self.outgoing)?;
        }
        Ok(())
    }
}
