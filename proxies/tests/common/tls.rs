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

/// A connection on which the first of these protocols was agreed upon.
fn connect(address: SocketAddr, protocols: &[&str]) -> StreamOwned<ClientConnection, TcpStream> {
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
    // By address, so without a server name in the hello, which is the harder case.
    let name = address.ip().into();
    let mut tls = ClientConnection::new(Arc::new(config), name).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    while tls.is_handshaking() {
        tls.complete_io(&mut stream).unwrap();
    }
    let agreed = tls.alpn_protocol().unwrap_or_default();
    assert_eq!(String::from_utf8_lossy(agreed), protocols[0]);
    StreamOwned::new(tls, stream)
}

/// The whole answer to a request of HTTP/1.1.
pub(crate) fn get_h1(address: SocketAddr, path: &str) -> String {
    let mut stream = connect(address, &["http/1.1"]);
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    // Not every proxy says in TLS that it ends; the last chunk says it.
    while !answer.ends_with(b"0\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(length) => answer.extend_from_slice(&buffer[..length]),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// The body of the answer to a request of HTTP/2.
pub(crate) fn get_h2(address: SocketAddr, path: &str) -> String {
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
    let mut body = Vec::new();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let [a, b, c, kind, flags, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut payload).unwrap();
        match kind {
            0 => body.extend(payload),
            // SETTINGS is acknowledged.
            4 if flags & 1 == 0 => stream.write_all(&frame(4, 1, 0, &[])).unwrap(),
            3 | 7 => panic!("reset or sent away: {payload:?}"),
            _ => {}
        }
        if kind <= 1 && flags & 1 != 0 {
            return String::from_utf8_lossy(&body).into_owned();
        }
    }
}
