//! Starting and stopping the emitter.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::assets::Assets;
use crate::h3::{H3, Quic};
use crate::ledgers::{DEFAULT_BYTES, Ledgers};
use crate::page::Pages;
use crate::routes::{App, router};
use crate::tls::PROTOCOLS;
use crate::worker::Worker;

/// Most serving threads. Four write some 200,000 frames a second, and each one more is another
/// that a frame's own thread competes with.
const MAX_WORKERS: usize = 4;
/// Threads for what is no stream: one may compress the page while the other relays.
const SIDE_THREADS: usize = 2;
/// How long to wait after a failed accept. Out of descriptors, most likely: the ones in use come
/// back when streams end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How many free ports are tried for one that is free for UDP as well; there are some 28,000, and
/// few of UDP's are ever taken.
const PORTS: usize = 16;

/// What an emitter is started with.
pub struct Config {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// A second port, which speaks TLS, and HTTP/3 over UDP.
    pub tls: Option<Tls>,
    /// Memory for ledgers, bytes.
    pub ledger_bytes: usize,
    /// The page.
    pub assets: Assets,
    /// Routes of the command's own, such as the page's lanes.
    pub more: Router,
}

/// A port that speaks TLS, with HTTP/2 or HTTP/1.1 above it as the client wishes, and HTTP/3 over
/// UDP at the same number.
pub struct Tls {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// What it shows.
    pub leaf: certs::Leaf,
}

impl Config {
    /// On a free port of 127.0.0.1, without a page.
    pub fn loopback() -> Config {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: None,
            ledger_bytes: DEFAULT_BYTES,
            assets: Assets::None,
            more: Router::new(),
        }
    }
}

/// The emitter could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error(
        "cannot listen on {address}: {source}; choose another address, or port 0 for a free one"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The number is taken over UDP.
    #[error(
        "cannot listen on {address} over UDP, for HTTP/3: {source}; choose another port, or port 0 for a free one"
    )]
    ListenUdp {
        /// The address, which is free over TCP.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The certificate is not taken.
    #[error(transparent)]
    Certificate(#[from] certs::Error),
    /// No thread or runtime.
    #[error("cannot start the emitter's threads: {0}")]
    Threads(#[from] io::Error),
}

/// A running emitter, on threads of its own. Dropping it stops it.
pub struct Emitter {
    address: SocketAddr,
    tls_address: Option<SocketAddr>,
    instance: Arc<str>,
    ledgers: Ledgers,
    stopping: Arc<AtomicBool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Emitter {
    /// Starts listening and serving.
    ///
    /// # Errors
    /// When the address is taken or no thread can be started.
    pub fn start(config: Config) -> Result<Emitter, StartError> {
        let side = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(SIDE_THREADS)
            .thread_name("emitter-side")
            .enable_all()
            .build()?;
        let bind = |address| {
            let refused = |source| StartError::Listen { address, source };
            side.block_on(TcpListener::bind(address)).map_err(refused)
        };
        let listener = bind(config.listen)?;
        let address = listener.local_addr()?;
        let (secured, datagrams) = match config.tls {
            Some(Tls { listen, leaf }) => {
                let (listener, socket) = bind_both(listen, bind)?;
                let tls = TlsAcceptor::from(leaf.server_config(&PROTOCOLS)?);
                (Some((listener, tls)), Some((socket, leaf.server_config(&[H3])?)))
            }
            None => (None, None),
        };
        let tls_address =
            secured.as_ref().map(|(listener, _)| listener.local_addr()).transpose()?;
        let app = App {
            instance: format!("{:032x}", fastrand::u128(..)).into(),
            ledgers: Ledgers::new(config.ledger_bytes),
            stopping: Arc::default(),
            pages: Arc::new(Pages::new(config.assets)),
            side: side.handle().clone(),
        };
        let (instance, ledgers) = (Arc::clone(&app.instance), app.ledgers.clone());
        let (stopping, pages) = (Arc::clone(&app.stopping), Arc::clone(&app.pages));
        side.spawn_blocking(move || pages.compress_all());
        let router = router(app, config.more);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let workers = (0..cores.min(MAX_WORKERS))
            .map(|_| Worker::start(router.clone()))
            .collect::<io::Result<Vec<Worker>>>()?;
        let quic = datagrams.map(|(socket, tls)| Quic::start(socket, tls, router)).transpose()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let thread =
            std::thread::Builder::new().name("emitter-accept".into()).spawn(move || {
                side.block_on(async {
                    tokio::select! {
                        _ = stopped => {}
                        () = accept(listener, None, &workers) => {}
                        () = accept_secured(secured, &workers) => {}
                    }
                });
                // Both at once: each gives its streams the same time to end.
                let quic = quic.map(Quic::stopping);
                Worker::stop(workers);
                quic.into_iter().for_each(Quic::stop);
                side.shutdown_background();
            })?;
        let (stop, thread) = (Some(stop), Some(thread));
        Ok(Emitter { address, tls_address, instance, ledgers, stopping, stop, thread })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it speaks TLS, if it does: over TCP, and HTTP/3 over UDP.
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls_address
    }

    /// Its identity, made at each start.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The ledgers it keeps.
    pub fn ledgers(&self) -> &Ledgers {
        &self.ledgers
    }

    /// Ends running streams cleanly (each body gets its framing's own end) and stops.
    pub fn stop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Emitter {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Listens over TCP and, at the same number, over UDP.
fn bind_both(
    listen: SocketAddr,
    bind: impl Fn(SocketAddr) -> Result<TcpListener, StartError>,
) -> Result<(TcpListener, UdpSocket), StartError> {
    // Those that are not free for both are kept meanwhile: the system would offer them again.
    let mut refused = Vec::new();
    loop {
        let listener = bind(listen)?;
        let address = listener.local_addr()?;
        match UdpSocket::bind(address) {
            Ok(socket) => return Ok((listener, socket)),
            Err(_) if listen.port() == 0 && refused.len() < PORTS => refused.push(listener),
            Err(source) => return Err(StartError::ListenUdp { address, source }),
        }
    }
}

/// The same where TLS is spoken; for ever where it is not.
async fn accept_secured(secured: Option<(TcpListener, TlsAcceptor)>, workers: &[Worker]) {
    match secured {
        Some((listener, tls)) => accept(listener, Some(tls), workers).await,
        None => std::future::pending().await,
    }
}

/// Hands each connection to the thread that has the fewest.
async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, workers: &[Worker]) {
    loop {
        let accepted =
            listener.accept().await.and_then(|(stream, remote)| Ok((stream.into_std()?, remote)));
        match accepted {
            Ok((stream, remote)) => {
                if let Some(worker) = workers.iter().min_by_key(|worker| worker.load()) {
                    worker.take((stream, remote, tls.clone()));
                }
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}
