//! A thread that serves streams and nothing else.
//!
//! Each has a runtime of its own, with its own sockets and its own pacer: a connection stays on
//! its thread, so that the thread which the timer woke writes the frame itself, and no frame
//! waits for another thread to wake up. What does not belong to streams (the page, posted
//! results, relays) runs elsewhere; see [`crate::routes`].

use std::convert::Infallible;
use std::future::Future as _;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;

use crate::h2;
use crate::listener::{Connection, Stamped};
use crate::pacer::Pacer;
use crate::tls::{self, Secured};

/// How long streams may take to end once the emitter is told to stop.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// How long a client may take to shake hands. Hundreds at once take tens of milliseconds each.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);

/// An accepted connection, not yet of any runtime, and what it speaks TLS with, if it does.
pub(crate) type Accepted = (std::net::TcpStream, SocketAddr, Option<TlsAcceptor>);

/// Handles to a serving thread.
pub(crate) struct Worker {
    accepted: mpsc::UnboundedSender<Accepted>,
    /// One clone a connection: the count tells how busy the thread is.
    alive: Arc<()>,
    thread: JoinHandle<()>,
}

impl Worker {
    /// Starts the thread. It ends when nobody can hand it connections any more and those it has
    /// are over, or have had their grace.
    pub(crate) fn start(router: Router) -> io::Result<Worker> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let pacer = {
            let _entered = runtime.enter();
            Pacer::start()?
        };
        let (accepted, connections) = mpsc::unbounded_channel();
        let alive = Arc::new(());
        let theirs = Arc::clone(&alive);
        let thread = std::thread::Builder::new().name("emitter".into()).spawn(move || {
            wire::priority::raise();
            runtime.block_on(serve(connections, router, pacer, theirs));
            runtime.shutdown_background();
        })?;
        Ok(Worker { accepted, alive, thread })
    }

    /// Connections that it serves.
    pub(crate) fn load(&self) -> usize {
        Arc::strong_count(&self.alive)
    }

    /// Hands it a connection.
    pub(crate) fn take(&self, accepted: Accepted) {
        // A thread that is gone was told to stop.
        let _ = self.accepted.send(accepted);
    }

    /// Lets the connections of all end, and waits.
    pub(crate) fn stop(workers: Vec<Worker>) {
        let threads: Vec<JoinHandle<()>> = workers
            .into_iter()
            // The sender goes here, and with it what the thread waits for.
            .map(|Worker { thread, .. }| thread)
            .collect();
        for thread in threads {
            let _ = thread.join();
        }
    }
}

async fn serve(
    mut connections: mpsc::UnboundedReceiver<Accepted>,
    router: Router,
    pacer: Pacer,
    alive: Arc<()>,
) {
    let (closing, _) = watch::channel(false);
    let (over, mut all_over) = mpsc::channel::<Infallible>(1);
    while let Some((stream, remote, tls)) = connections.recv().await {
        let Ok(stream) = tokio::net::TcpStream::from_std(stream) else { continue };
        let (io, closing) = (Stamped::new(stream, remote), closing.subscribe());
        let served =
            Served { router: TowerToHyperService::new(router.clone()), pacer: pacer.clone() };
        let held = (Arc::clone(&alive), over.clone());
        match tls {
            None => drop(tokio::spawn(plain(io, served, closing, held))),
            Some(tls) => drop(tokio::spawn(secured(io, tls, served, closing, held))),
        }
    }
    drop(over);
    let _ = closing.send(true);
    let _ = tokio::time::timeout(GRACE, all_over.recv()).await;
}

/// Held by a connection: one more in the worker's load, one more to wait for at the end.
type Held = (Arc<()>, mpsc::Sender<Infallible>);

/// What a connection's requests are given.
struct Served {
    router: TowerToHyperService<Router>,
    pacer: Pacer,
}

async fn plain(io: Stamped, served: Served, mut closing: watch::Receiver<bool>, _held: Held) {
    let h2 = tokio::select! {
        h2 = h2::by_prior_knowledge(io.socket()) => h2,
        _ = closing.wait_for(|closing| *closing) => return,
    };
    let connection = io.connection();
    if h2 {
        // Boxed: connections of HTTP/1, ten thousand of them, are not to carry its room.
        let serving = h2::serve(io, connection.multiplexed(), served.router, served.pacer, closing);
        Box::pin(serving).await;
    } else {
        http1(io, connection, served, closing).await;
    }
}

async fn secured(
    io: Stamped,
    tls: TlsAcceptor,
    served: Served,
    mut closing: watch::Receiver<bool>,
    _held: Held,
) {
    let connection = io.connection().secured();
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(HANDSHAKE, tls.accept(io)) => shaken,
        _ = closing.wait_for(|closing| *closing) => return,
    };
    // Whoever does not shake hands, or breaks off, has asked for nothing.
    let Ok(Ok(stream)) = shaken else { return };
    let h2 = stream.get_ref().1.alpn_protocol() == Some(tls::H2.as_bytes());
    let connection = if h2 { connection.multiplexed() } else { connection };
    let io = Secured::new(stream, connection.clone());
    if h2 {
        Box::pin(h2::serve(io, connection, served.router, served.pacer, closing)).await;
    } else {
        http1(io, connection, served, closing).await;
    }
}

async fn http1(
    io: impl AsyncRead + AsyncWrite + Unpin,
    connection: Connection,
    served: Served,
    mut closing: watch::Receiver<bool>,
) {
    let Served { router, pacer } = served;
    let service = service_fn(move |mut request: Request<hyper::body::Incoming>| {
        let extensions = request.extensions_mut();
        extensions.insert(ConnectInfo(connection.clone()));
        extensions.insert(pacer.clone());
        router.call(request)
    });
    let mut serving = pin!(http1::Builder::new().serve_connection(TokioIo::new(io), service));
    let mut told = pin!(closing.wait_for(|closing| *closing));
    let mut listening = true;
    std::future::poll_fn(|context| {
        if listening && told.as_mut().poll(context).is_ready() {
            listening = false;
            serving.as_mut().graceful_shutdown();
        }
        // A client that broke off is in the ledger; there is nobody else to tell.
        serving.as_mut().poll(context).map(drop)
    })
    .await;
}
