//! A client of HTTP/3 that says when each part of a body came.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use certs::Authority;
use h3::client::{RequestStream, SendRequest};
use measure::frames::FrameReader;
use measure::{RunId, Stamp};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{Endpoint, TransportConfig};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Longer than anything takes that is to come.
pub(crate) const LIMIT: Duration = Duration::from_secs(10);

pub(crate) type Stream = RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

/// A connection to an emitter.
pub(crate) struct Client {
    _endpoint: Endpoint,
    pub(crate) quic: quinn::Connection,
    requests: SendRequest<h3_quinn::OpenStreams, Bytes>,
    authority: String,
}

/// QUIC's side of it, under these protocols.
pub(crate) async fn quic(
    to: SocketAddr,
    authority: &Authority,
    protocols: &[&str],
    transport: TransportConfig,
) -> Result<(Endpoint, quinn::Connection), quinn::ConnectionError> {
    let mut roots = RootCertStore::empty();
    let root = CertificateDer::from_pem_slice(authority.certificate_pem().as_bytes()).unwrap();
    roots.add(root).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = protocols.iter().map(|name| name.as_bytes().to_vec()).collect();
    let mut config = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).unwrap()));
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client(([127, 0, 0, 1], 0).into()).unwrap();
    let connecting = endpoint.connect_with(config, to, "127.0.0.1").unwrap();
    let connection = tokio::time::timeout(LIMIT, connecting).await.expect("a handshake in time")?;
    Ok((endpoint, connection))
}

impl Client {
    pub(crate) async fn connect(to: SocketAddr, authority: &Authority) -> Client {
        Client::with(to, authority, TransportConfig::default()).await
    }

    pub(crate) async fn with(
        to: SocketAddr,
        authority: &Authority,
        transport: TransportConfig,
    ) -> Client {
        let (endpoint, quic) = quic(to, authority, &["h3"], transport).await.unwrap();
        let (mut driver, requests) =
            h3::client::new(h3_quinn::Connection::new(quic.clone())).await.unwrap();
        tokio::spawn(async move { driver.wait_idle().await });
        Client { _endpoint: endpoint, quic, requests, authority: to.to_string() }
    }

    /// Asks, and waits for the answer's head.
    pub(crate) async fn get(&mut self, path: &str) -> (http::Response<()>, Stream) {
        let mut stream = self.ask(path).await;
        let head = tokio::time::timeout(LIMIT, stream.recv_response()).await;
        (head.expect("a head in time").unwrap(), stream)
    }

    pub(crate) async fn ask(&mut self, path: &str) -> Stream {
        let mut stream = self.begin("GET", path).await;
        stream.finish().await.unwrap();
        stream
    }

    async fn begin(&mut self, method: &str, path: &str) -> Stream {
        let uri = format!("https://{}{path}", self.authority);
        let request = http::Request::builder().method(method).uri(uri);
        let request = request.header("origin", "https://elsewhere").body(()).unwrap();
        self.requests.send_request(request).await.unwrap()
    }

    /// Posts a body, in two parts, and returns the answer's status.
    pub(crate) async fn post(&mut self, path: &str, body: &str) -> (http::StatusCode, Stream) {
        let mut stream = self.begin("POST", path).await;
        let (first, second) = body.split_at(body.len() / 2);
        for part in [first, second] {
            // An answer may come before all was asked for.
            if stream.send_data(Bytes::copy_from_slice(part.as_bytes())).await.is_err() {
                break;
            }
        }
        let _ = stream.finish().await;
        let head = tokio::time::timeout(LIMIT, stream.recv_response()).await;
        (head.expect("a head in time").unwrap().status(), stream)
    }
}

/// The next part of a body, none at its end.
pub(crate) async fn part(stream: &mut Stream) -> Option<Bytes> {
    let part = tokio::time::timeout(LIMIT, stream.recv_data()).await.expect("a part in time");
    part.unwrap().map(|mut data| data.copy_to_bytes(data.remaining()))
}

/// A body to its end: when each part came that ended frames, and how many it ended.
pub(crate) async fn body(stream: &mut Stream, run: RunId) -> Vec<(Stamp, usize)> {
    let (mut reader, mut came) = (FrameReader::new(run), Vec::new());
    while let Some(data) = part(stream).await {
        let at = emitter::now();
        match reader.feed(&data).len() {
            0 => {}
            frames => came.push((at, frames)),
        }
    }
    came
}
