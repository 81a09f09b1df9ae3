//! A client of HTTP/1.1 and HTTP/2, plain and under TLS, that takes each record off the wire by
//! itself and decides itself when a window gets room.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use certs::Authority;
use emitter::Emitter;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use wire::http1::ResponseFramer;

/// What both windows hold at first (RFC 9113, 6.9.2).
pub(crate) const WINDOW: usize = 65_535;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speaks {
    H1,
    H1Tls,
    H2Tls,
    H2c,
}

/// A socket, with TLS above it or not.
pub(crate) struct Io {
    stream: TcpStream,
    tls: Option<Box<ClientConnection>>,
}

impl Io {
    fn connect(address: std::net::SocketAddr) -> TcpStream {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    pub(crate) fn plain(emitter: &Emitter) -> Io {
        Io { stream: Io::connect(emitter.address()), tls: None }
    }

    pub(crate) fn tls(emitter: &Emitter, authority: &Authority, protocols: &[&str]) -> Io {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(authority.certificate_pem().as_bytes()).unwrap();
        roots.add(root).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
        let name = "127.0.0.1".try_into().unwrap();
        let tls = ClientConnection::new(Arc::new(config), name).unwrap();
        let stream = Io::connect(emitter.tls_address().unwrap());
        Io { stream, tls: Some(Box::new(tls)) }
    }

    pub(crate) fn shake_hands(&mut self) -> io::Result<()> {
        let tls = self.tls.as_mut().unwrap();
        while tls.is_handshaking() || tls.wants_write() {
            tls.complete_io(&mut self.stream)?;
        }
        Ok(())
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        match &mut self.tls {
            None => self.stream.write_all(bytes).unwrap(),
            Some(tls) => {
                tls.writer().write_all(bytes).unwrap();
                while tls.wants_write() {
                    tls.write_tls(&mut self.stream).unwrap();
                }
            }
        }
    }

    /// What comes next: one record's plaintext, or one read; none at the end.
    pub(crate) fn piece(&mut self) -> Option<Vec<u8>> {
        let Some(tls) = &mut self.tls else {
            let mut buffer = vec![0; 65_536];
            return match self.stream.read(&mut buffer) {
                Ok(0) => None,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
                read => {
                    buffer.truncate(read.unwrap());
                    Some(buffer)
                }
            };
        };
        let mut record = vec![0; 5];
        self.stream.read_exact(&mut record).ok()?;
        let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
        record.resize(5 + length, 0);
        self.stream.read_exact(&mut record[5..]).ok()?;
        let mut rest = record.as_slice();
        while !rest.is_empty() {
            tls.read_tls(&mut rest).unwrap();
        }
        let state = tls.process_new_packets().unwrap();
        let mut plain = vec![0; state.plaintext_bytes_to_read()];
        tls.reader().read_exact(&mut plain).unwrap();
        (!plain.is_empty()).then_some(plain)
    }
}

/// What a piece carried: parts of bodies by their streams, and the streams that it ended.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    pub(crate) data: Vec<(u32, Vec<u8>)>,
    pub(crate) ended: Vec<u32>,
}

enum Form {
    Http1(ResponseFramer),
    /// Bytes of frames that are not whole yet.
    Http2(Vec<u8>),
}

pub(crate) struct Client {
    io: Io,
    form: Form,
}

impl Client {
    pub(crate) fn connect(emitter: &Emitter, authority: &Authority, speaks: Speaks) -> Client {
        let mut io = match speaks {
            Speaks::H1 | Speaks::H2c => Io::plain(emitter),
            Speaks::H1Tls => Io::tls(emitter, authority, &["http/1.1"]),
            Speaks::H2Tls => Io::tls(emitter, authority, &["h2", "http/1.1"]),
        };
        if io.tls.is_some() {
            io.shake_hands().unwrap();
            let agreed = io.tls.as_ref().unwrap().alpn_protocol().unwrap();
            assert_eq!(agreed == b"h2", speaks == Speaks::H2Tls);
        }
        let form = match speaks {
            Speaks::H1 | Speaks::H1Tls => Form::Http1(ResponseFramer::new()),
            Speaks::H2Tls | Speaks::H2c => {
                io.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
                Form::Http2(Vec::new())
            }
        };
        let mut client = Client { io, form };
        if matches!(client.form, Form::Http2(_)) {
            client.frame(4, 0, 0, &[]);
        }
        client
    }

    fn frame(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        self.io.send(&bytes);
    }

    pub(crate) fn get(&mut self, stream: u32, path: &str) {
        match self.form {
            Form::Http1(_) => {
                self.io.send(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
            }
            Form::Http2(_) => {
                // GET and http(s) stand in the static table; path and authority are literals.
                let mut block = vec![0x82, if self.io.tls.is_some() { 0x87 } else { 0x86 }];
                for (name, value) in [(4, path), (1, "localhost")] {
                    assert!(value.len() < 127);
                    block.extend([name, value.len() as u8]);
                    block.extend(value.as_bytes());
                }
                self.frame(1, 0x5, stream, &block);
            }
        }
    }

    pub(crate) fn more_window(&mut self, stream: u32, bytes: u32) {
        self.frame(8, 0, stream, &bytes.to_be_bytes());
    }

    pub(crate) fn reset(&mut self, stream: u32) {
        self.frame(3, 0, stream, &8_u32.to_be_bytes());
    }

    /// What comes next; none at the end of the connection.
    pub(crate) fn next(&mut self) -> Option<Piece> {
        let bytes = self.io.piece()?;
        let (mut piece, mut pings) = (Piece::default(), Vec::new());
        match &mut self.form {
            Form::Http1(framer) => {
                let mut body = Vec::new();
                framer.feed(&bytes, |part| body.extend_from_slice(part)).unwrap();
                piece.data.push((1, body));
                if framer.is_done() {
                    piece.ended.push(1);
                }
            }
            Form::Http2(waiting) => {
                waiting.extend(bytes);
                while let Some((head, rest)) = waiting.split_at_checked(9) {
                    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                    if rest.len() < length {
                        break;
                    }
                    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
                    if head[3] == 0 {
                        piece.data.push((stream, rest[..length].to_vec()));
                    }
                    if head[3] <= 1 && head[4] & 1 != 0 {
                        piece.ended.push(stream);
                    }
                    if head[3] == 6 {
                        pings.push(rest[..length].to_vec());
                    }
                    waiting.drain(..9 + length);
                }
            }
        }
        // A server that ends waits for these.
        pings.iter().for_each(|ping| self.frame(6, 1, 0, ping));
        Some(piece)
    }
}
