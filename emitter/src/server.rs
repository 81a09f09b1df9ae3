//! Starting and stopping the emitter.

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::assets::Assets;
use crate::ledgers::{DEFAULT_BYTES, Ledgers};
use crate::listener::{Connection, Listener};
use crate::pacer::Pacer;
use crate::routes::{App, router};

/// How long streams may take to end once the emitter is told to stop.
const GRACE: Duration = Duration::from_secs(2);

/// What an emitter is started with.
pub struct Config {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Memory for ledgers, bytes.
    pub ledger_bytes: usize,
    /// The page.
    pub assets: Assets,
    /// Routes of the command's own, such as the page's lanes.
    pub more: Router,
}

impl Config {
    /// On a free port of 127.0.0.1, without a page.
    pub fn loopback() -> Config {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
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
    /// No thread or runtime.
    #[error("cannot start the emitter's threads: {0}")]
    Threads(#[from] io::Error),
}

/// A running emitter, on threads of its own. Dropping it stops it.
pub struct Emitter {
    address: SocketAddr,
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
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("emitter")
            .enable_all()
            .build()?;
        let refused = |source| StartError::Listen { address: config.listen, source };
        let listener = runtime.block_on(TcpListener::bind(config.listen)).map_err(refused)?;
        let address = listener.local_addr()?;
        let app = App {
            instance: format!("{:032x}", fastrand::u128(..)).into(),
            ledgers: Ledgers::new(config.ledger_bytes),
            pacer: Pacer::start()?,
            stopping: Arc::default(),
            assets: Arc::new(config.assets),
        };
        let (instance, ledgers) = (Arc::clone(&app.instance), app.ledgers.clone());
        let stopping = Arc::clone(&app.stopping);
        let service =
            config.more.merge(router(app)).into_make_service_with_connect_info::<Connection>();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new().name("emitter".into()).spawn(move || {
            runtime.block_on(async {
                let (asked, deadline) = oneshot::channel::<()>();
                let serve =
                    axum::serve(Listener(listener), service).with_graceful_shutdown(async move {
                        let _ = stopped.await;
                        let _ = asked.send(());
                    });
                tokio::select! {
                    _ = serve => {}
                    () = async {
                        let _ = deadline.await;
                        tokio::time::sleep(GRACE).await;
                    } => {}
                }
            });
            runtime.shutdown_background();
        })?;
        Ok(Emitter { address, instance, ledgers, stopping, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
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

/// Answers with a file of the page: isolated, compressed where the browser takes it, and
/// revalidated by its content.
pub(crate) fn serve_file(
    mime: &'static str,
    bytes: Cow<'static, [u8]>,
    asked: &HeaderMap,
) -> Response {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let tag = format!("\"{:016x}\"", hasher.finish());
    let text = |name: header::HeaderName| {
        asked.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    };
    let known = text(header::IF_NONE_MATCH).split(',').any(|known| known.trim() == tag);
    let gzip = text(header::ACCEPT_ENCODING)
        .split(',')
        .any(|coding| coding.split(';').next().is_some_and(|name| name.trim() == "gzip"));
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else if gzip {
        Response::new(Body::from(compress(&bytes)))
    } else {
        Response::new(Body::from(bytes.into_owned()))
    };
    let headers = response.headers_mut();
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-embedder-policy", "require-corp"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-content-type-options", "nosniff"),
        // Kept, but asked for again each time: the tag makes that one short round trip.
        ("cache-control", "no-cache"),
        ("vary", "accept-encoding"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(mime));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    if gzip && !known {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}
