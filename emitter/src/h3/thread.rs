//! The thread that serves HTTP/3 and nothing else: one UDP socket, all its connections, and a pacer,
//! so that the thread which the timer woke sends the datagram itself.

use std::convert::Infallible;
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use hyper_util::service::TowerToHyperService;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    Endpoint, EndpointConfig, IdleTimeout, Incoming, TokioRuntime, TransportConfig, VarInt,
};
use tokio::sync::{mpsc, oneshot, watch};

use super::seal::{Looking, Seals, Shaken};
use super::serve::{Served, serve};
use super::socket::Datagrams;
use crate::pacer::Pacer;
use crate::worker::{GRACE, HANDSHAKE};

/// Requests that one connection may have at once, as over HTTP/2.
const MAX_STREAMS: u32 = 256;
/// Streams beside requests: three are HTTP/3's own, and browsers open some to see whether they may.
const MAX_OTHER_STREAMS: u32 = 16;
/// Connections at once; each takes some 100 KB at its worst beside what it asked for.
const MAX_CONNECTIONS: usize = 4_096;
/// What a client may send of a request before it is read, bytes, and of all of a connection's.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// After this long without a word a client is gone. What is alive answers [`KEEP_ALIVE`].
const SILENCE: Duration = Duration::from_secs(30);
/// A stream may be silent for longer than that, as it may over TCP.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How long the news that all is over may take to be told.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Handles to the thread.
pub(crate) struct Quic {
    stop: Option<oneshot::Sender<Infallible>>,
    thread: JoinHandle<()>,
}

impl Quic {
    /// Starts it on a bound socket. It shows what the TLS port shows.
    pub(crate) fn start(
        socket: UdpSocket,
        tls: Arc<rustls::ServerConfig>,
        router: Router,
    ) -> io::Result<Quic> {
        let tls = QuicServerConfig::try_from(tls).map_err(io::Error::other)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (pacer, endpoint, seals) = {
            let _entered = runtime.enter();
            let seals = Seals::default();
            (Pacer::start()?, endpoint(socket, tls, &seals)?, seals)
        };
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name("emitter-quic".into()).spawn(move || {
            wire::priority::raise();
            let served = Served { router: TowerToHyperService::new(router), pacer };
            runtime.block_on(run(endpoint, served, seals, stopped));
            runtime.shutdown_background();
        })?;
        Ok(Quic { stop: Some(stop), thread })
    }

    /// Lets the connections end.
    pub(crate) fn stopping(mut self) -> Quic {
        self.stop = None;
        self
    }

    /// Lets them, and waits.
    pub(crate) fn stop(self) {
        let _ = self.stopping().thread.join();
    }
}

fn endpoint(socket: UdpSocket, tls: QuicServerConfig, seals: &Seals) -> io::Result<Endpoint> {
    let socket = Datagrams::new(socket, seals.clone())?;
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(MAX_STREAMS.into())
        .max_concurrent_uni_streams(MAX_OTHER_STREAMS.into())
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(CONNECTION_WINDOW.into())
        .max_idle_timeout(IdleTimeout::try_from(SILENCE).ok())
        .keep_alive_interval(Some(KEEP_ALIVE))
        .datagram_receive_buffer_size(None)
        .enable_segmentation_offload(false);
    let looking = Looking::at(Arc::new(tls), seals.clone());
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(looking));
    config.transport_config(Arc::new(transport));
    let runtime = Arc::new(TokioRuntime);
    let settings = EndpointConfig::default();
    Endpoint::new_with_abstract_socket(settings, Some(config), Arc::new(socket), runtime)
}

async fn run(
    endpoint: Endpoint,
    served: Served,
    seals: Seals,
    mut stopped: oneshot::Receiver<Infallible>,
) {
    let (closing, _) = watch::channel(false);
    let (over, mut all_over) = mpsc::channel::<Infallible>(1);
    loop {
        let incoming = tokio::select! {
            incoming = endpoint.accept() => incoming,
            _ = &mut stopped => None,
        };
        let Some(incoming) = incoming else { break };
        if endpoint.open_connections() >= MAX_CONNECTIONS {
            incoming.refuse();
            continue;
        }
        let (served, seals) = (served.clone(), seals.clone());
        let (closing, over) = (closing.subscribe(), over.clone());
        tokio::spawn(async move {
            connected(incoming, served, seals, closing).await;
            drop(over);
        });
    }
    drop(over);
    let _ = closing.send(true);
    let _ = tokio::time::timeout(GRACE, all_over.recv()).await;
    endpoint.close(VarInt::from_u32(0x100), b"the emitter was stopped");
    let _ = tokio::time::timeout(LAST_WORDS, endpoint.wait_idle()).await;
}

async fn connected(
    incoming: Incoming,
    served: Served,
    seals: Seals,
    mut closing: watch::Receiver<bool>,
) {
    let Ok(connecting) = incoming.accept() else { return };
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(HANDSHAKE, connecting) => shaken,
        _ = closing.wait_for(|closing| *closing) => return,
    };
    // Whoever does not shake hands, or breaks off, has asked for nothing.
    let Ok(Ok(quic)) = shaken else { return };
    let Some(Ok(shaken)) = quic.handshake_data().map(|data| data.downcast::<Shaken>()) else {
        return;
    };
    let connection = shaken.0.from(quic.remote_address());
    serve(quic, connection.clone(), served, closing).await;
    seals.forget(&connection);
}
