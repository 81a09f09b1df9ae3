//! Servers of the tests' own, each for one connection: raw bytes, TLS, HTTP/2.

#![allow(dead_code, unreachable_pub, reason = "each test plays some of these servers")]

use std::future::Future;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use h2::server::SendResponse;
use measure::RunId;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use recv_client::{Ask, Http, Limit, Observed, Trust};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};

/// Far enough apart that each write is a read of its own.
pub const PAUSE: Duration = Duration::from_millis(60);
pub const EVENTS: [&[u8]; 3] = [b"data: one\n\n", b"data: two\n\n", b"data: three\n\n"];
pub const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

/// An authority of the tests' own.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: tempfile::NamedTempFile,
}

impl Authority {
    pub fn new() -> Authority {
        Authority::named("the tests' authority")
    }

    pub fn named(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(params.self_signed(&key).unwrap().pem().as_bytes()).unwrap();
        Authority { issuer: Issuer::new(params, key), file }
    }

    pub fn file(&self) -> &Path {
        self.file.path()
    }

    /// A server's side, with a good certificate for 127.0.0.1.
    pub fn server(&self, alpn: &[&str]) -> Arc<ServerConfig> {
        self.server_with(alpn, |_| ())
    }

    pub fn server_with(
        &self,
        alpn: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Arc<ServerConfig> {
        let mut params = CertificateParams::new(vec!["127.0.0.1".into()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        config(alpn, certificate.der().clone(), &key)
    }

    /// The same for those versions of TLS alone.
    pub fn server_of(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".into()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        config_of(versions, &[], certificate.der().clone(), &key)
    }
}

/// A server's side with a certificate that nobody else signed, and that certificate's file.
pub fn self_signed(name: &str, authority: bool) -> (Arc<ServerConfig>, tempfile::NamedTempFile) {
    let mut params = CertificateParams::new(vec![name.into()]).unwrap();
    if authority {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(certificate.pem().as_bytes()).unwrap();
    (config(&[], certificate.der().clone(), &key), file)
}

fn config(alpn: &[&str], der: CertificateDer<'static>, key: &KeyPair) -> Arc<ServerConfig> {
    config_of(rustls::DEFAULT_VERSIONS, alpn, der, key)
}

fn config_of(
    versions: &[&'static rustls::SupportedProtocolVersion],
    alpn: &[&str],
    der: CertificateDer<'static>,
    key: &KeyPair,
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![der], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
        .unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().into()).collect();
    Arc::new(config)
}

/// One connection, as the kernel gives it.
pub fn raw(play: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        play(stream);
    });
    address
}

pub type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// One connection by TLS; the request's head has been read when `play` begins.
pub fn over_tls(
    config: Arc<ServerConfig>,
    play: impl FnOnce(TlsStream) + Send + 'static,
) -> SocketAddr {
    raw(move |stream| {
        let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), stream);
        if read_request(&mut stream) {
            play(stream);
        }
    })
}

/// Reads a request's head; false when the client went away instead.
pub fn read_request(stream: &mut impl Read) -> bool {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if !matches!(stream.read(&mut byte), Ok(1)) {
            return false;
        }
        head.push(byte[0]);
    }
    true
}

/// Writes the events, each by itself.
pub fn play_events(stream: &mut impl Write) {
    for event in EVENTS {
        std::thread::sleep(PAUSE);
        stream.write_all(event).unwrap();
        stream.flush().unwrap();
    }
}

/// One connection that speaks HTTP/2; `play` gets its one request. Afterwards the connection
/// stays until the client goes, or is dropped at once.
pub fn http2<F: Future<Output = Then>>(
    tls: Option<Arc<ServerConfig>>,
    play: impl FnOnce(http::Request<h2::RecvStream>, SendResponse<Bytes>) -> F + Send + 'static,
) -> SocketAddr {
    raw(move |stream| {
        stream.set_nonblocking(true).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let stream = tokio::net::TcpStream::from_std(stream).unwrap();
            match tls {
                None => exchange(stream, play).await,
                Some(config) => {
                    let acceptor = tokio_rustls::TlsAcceptor::from(config);
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    exchange(stream, play).await;
                }
            }
        });
    })
}

/// What becomes of an HTTP/2 connection after its answer.
pub enum Then {
    Stay,
    Drop,
    GoAway(h2::Reason),
}

async fn exchange<F: Future<Output = Then>>(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    play: impl FnOnce(http::Request<h2::RecvStream>, SendResponse<Bytes>) -> F,
) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let Some(Ok((request, respond))) = connection.accept().await else { return };
    let mut play = std::pin::pin!(play(request, respond));
    let then = loop {
        tokio::select! {
            then = &mut play => break then,
            more = connection.accept() => if more.is_none() { return },
        }
    };
    match then {
        Then::Drop => return,
        Then::GoAway(reason) => connection.abrupt_shutdown(reason),
        Then::Stay => {}
    }
    while connection.accept().await.is_some() {}
}

/// A response's head with status 200.
pub fn ok() -> http::Response<()> {
    http::Response::builder().header("content-type", "text/event-stream").body(()).unwrap()
}

/// Asks that address by TLS, trusting that file.
pub fn secure(address: SocketAddr, cacert: &Path, http: Http) -> Ask {
    let trust = Trust::of(Some(cacert)).unwrap();
    let secure = Some(trust.secure("127.0.0.1").unwrap());
    Ask { secure, http, named: false, ..bounded(address) }
}

/// Asks that address plainly.
pub fn bounded(address: SocketAddr) -> Ask {
    let limit = Some(Limit { time: Duration::from_secs(20), bytes: 1 << 30 });
    Ask { named: false, limit, ..Ask::plain(address, "/stream") }
}

pub fn observe(ask: &Ask) -> Observed {
    recv_client::observe(ask, RunId(7))
}

/// How many frames each read completed that completed any.
pub fn frames_per_read(seen: &Observed) -> Vec<usize> {
    let counts = seen.arrivals.deliveries.iter().map(|delivery| delivery.frames.len());
    counts.filter(|count| *count > 0).collect()
}

/// The line that a failure is told in.
pub fn failure(seen: &Observed) -> String {
    match &seen.arrivals.end {
        measure::End::Failed { what } => what.clone(),
        end => panic!("it ended with {end:?}"),
    }
}
