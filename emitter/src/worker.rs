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
use tokio::sync::{mpsc, watch};

use crate::listener::Stamped;
use crate::pacer::Pacer;

/// How long streams may take to end once the emitter is told to stop.
const GRACE: Duration = Duration::from_secs(2);

/// An accepted connection, not yet of any runtime.
pub(crate) type Accepted = (std::net::TcpStream, SocketAddr);

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
    while let Some((stream, remote)) = connections.recv().await {
        let Ok(stream) = tokio::net::TcpStream::from_std(stream) else { continue };
        tokio::spawn(serve_one(
            Stamped::new(stream, remote),
            TowerToHyperService::new(router.clone()),
            pacer.clone(),
            closing.subscribe(),
            (Arc::clone(&alive), over.clone()),
        ));
    }
    drop(over);
    let _ = closing.send(true);
    let _ = tokio::time::timeout(GRACE, all_over.recv()).await;
}

/// Held by a connection: one more in the worker's load, one more to wait for at the end.
type Held = (Arc<()>, mpsc::Sender<Infallible>);

async fn serve_one(
    io: Stamped,
    router: TowerToHyperService<Router>,
    pacer: Pacer,
    mut closing: watch::Receiver<bool>,
    _held: Held,
) {
    let connection = io.connection();
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
