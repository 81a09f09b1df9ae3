//! A server of the tests' own that speaks HTTP/3, for one connection with one request.

#![allow(dead_code, unreachable_pub, reason = "each test plays some of these servers")]

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use h3::server::RequestStream;
use quinn::crypto::rustls::QuicServerConfig;
use rustls::ServerConfig;

/// The one request's stream.
pub type Stream = RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>;

/// What becomes of the connection after its answer.
pub enum Then3 {
    /// It stays until the client goes.
    Stay,
    /// It is closed with that code and those words.
    Close(u32, &'static str),
}

/// Serves QUIC; `serve` gets the one connection.
pub fn quic<F: Future<Output = ()>>(
    config: Arc<ServerConfig>,
    serve: impl FnOnce(quinn::Connection) -> F + Send + 'static,
) -> SocketAddr {
    let (told, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let crypto = QuicServerConfig::try_from(config).unwrap();
            let config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
            let endpoint = quinn::Endpoint::server(config, ([127, 0, 0, 1], 0).into()).unwrap();
            told.send(endpoint.local_addr().unwrap()).unwrap();
            let Some(incoming) = endpoint.accept().await else { return };
            let Ok(connection) = incoming.await else { return endpoint.wait_idle().await };
            serve(connection).await;
            endpoint.wait_idle().await;
        });
    });
    heard.recv().unwrap()
}

/// Serves one request; `play` gets it.
pub fn http3<F: Future<Output = Then3>>(
    config: Arc<ServerConfig>,
    play: impl FnOnce(http::Request<()>, Stream) -> F + Send + 'static,
) -> SocketAddr {
    quic(config, |quic| async move {
        let mut connection: h3::server::Connection<_, Bytes> =
            h3::server::Connection::new(h3_quinn::Connection::new(quic.clone())).await.unwrap();
        let Ok(Some(resolver)) = connection.accept().await else { return };
        let Ok((request, stream)) = resolver.resolve_request().await else { return };
        let mut play = std::pin::pin!(play(request, stream));
        let then = loop {
            tokio::select! {
                then = &mut play => break then,
                more = connection.accept() => if !matches!(more, Ok(Some(_))) { return },
            }
        };
        if let Then3::Close(code, reason) = then {
            quic.close(code.into(), reason.as_bytes());
        }
        while let Ok(Some(_)) = connection.accept().await {}
    })
}
