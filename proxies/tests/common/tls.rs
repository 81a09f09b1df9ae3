//! A client over TLS, for one request.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use certs::Authority;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Who signs what the proxies show.
pub(crate) static AUTHORITY: LazyLock<Authority> =
    LazyLock::new(|| Authority::in_memory().unwrap());

/// A client that trusts that authority and offers these protocols.
pub(crate) fn client_config(protocols: &[&str]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(AUTHORITY.certificate_pem().as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    config
}

/// A connection on which the first of these protocols was agreed upon.
fn connect(address: SocketAddr, protocols: &[&str]) -> StreamOwned<ClientConnection, TcpStream> {
    // By address, so without a server name in the hello, which is the harder case.
    let name = address.ip().into();
    let mut tls = ClientConnection::new(Arc::new(client_config(protocols)), name).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    while tls.is_handshaking() {
        tls.complete_io(&mut stream).unwrap();
    }
    let agreed = tls.alpn_protocol().unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(agreed), protocols[0]);
    StreamOwned::new(tls, stream)
}

/// What came, and in how many pieces.
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) pieces: usize,
}

/// The whole answer to a request of HTTP/1.1, head and all.
pub(crate) fn get_h1(address: SocketAddr, path: &str) -> Answer {
    let mut stream = connect(address, &["http/1.1"]);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let (mut answer, mut buffer, mut pieces) = (Vec::new(), vec![0; 65_536], 0);
    // Not every proxy says in TLS that it ends; the last chunk says it.
    while !answer.ends_with(b"0\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => answer.extend_from_slice(&buffer[..length]),
        }
        pieces += 1;
    }
    Answer { text: String::from_utf8_lossy(&answer).into_owned(), pieces }
}

/// The body of the answer to a request of HTTP/2.
pub(crate) fn get_h2(address: SocketAddr, path: &str) -> Answer {
    let mut stream = connect(address, &["h2", "http/1.1"]);
    let frame = |kind: u8, flags: u8, on: u32, payload: &[u8]| {
        let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(on.to_be_bytes());
        bytes.extend(payload);
        bytes
    };
    // GET and https stand in the static table; path and authority are literals.
    let mut block = vec![0x82, 0x87];
    for (name, value) in [(4, path), (1, "localhost")] {
        block.extend([name, value.len() as u8]);
        block.extend(value.as_bytes());
    }
    let mut request = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    request.extend(frame(4, 0, 0, &[]));
    request.extend(frame(1, 0x5, 1, &block));
    stream.write_all(&request).unwrap();
    let (mut body, mut waiting, mut buffer, mut pieces) =
        (Vec::new(), Vec::new(), vec![0; 65_536], 0);
    loop {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "the answer is cut");
        waiting.extend_from_slice(&buffer[..length]);
        let before = body.len();
        while let Some((head, rest)) = waiting.split_at_checked(9) {
            let (kind, flags) = (head[3], head[4]);
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let Some(payload) = rest.get(..length) else { break };
            match kind {
                0 => body.extend_from_slice(payload),
                // SETTINGS is acknowledged.
                4 if flags & 1 == 0 => stream.write_all(&frame(4, 1, 0, &[])).unwrap(),
                3 | 7 => panic!("reset or sent away: {payload:?}"),
                _ => {}
            }
            if kind <= 1 && flags & 1 != 0 {
                pieces += usize::from(body.len() > before);
                return Answer { text: String::from_utf8_lossy(&body).into_owned(), pieces };
            }
            waiting.drain(..9 + length);
        }
        pieces += usize::from(body.len() > before);
    }
}
