//! The HTTP side: streams, ledgers, clock, identity, and the page.
//!
//! Streams and what is over in an instant are answered by the thread that serves the connection.
//! Everything else runs on threads of its own, because a frame that is due must not wait until
//! a page is compressed or a long ledger is written out.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::body::Body;
use axum::extract::{ConnectInfo, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use measure::script::{Framing, Script};
use measure::{Ledger, RunId};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use crate::chat;
use crate::follow::Follow;
use crate::h3::H3;
use crate::ledgers::{Ledgers, Lookup};
use crate::listener::Connection;
use crate::now;
use crate::pacer::Pacer;
use crate::page::Pages;
use crate::play::{Entered, Play};

/// What the handlers share.
#[derive(Clone)]
pub struct App {
    /// Identity of this process.
    pub instance: Arc<str>,
    /// Ledgers by run.
    pub ledgers: Ledgers,
    /// Set when streams should end.
    pub stopping: Arc<AtomicBool>,
    /// The page.
    pub pages: Arc<Pages>,
    /// Where what is no stream is answered.
    pub side: Handle,
}

/// Every route of the emitter, and more of the command's own.
pub fn router(app: App, more: Router) -> Router {
    let elsewhere = Router::new()
        .route("/runs/{run}", get(run))
        .fallback(page)
        .with_state(app.clone())
        .merge(more)
        .layer(from_fn_with_state(app.side.clone(), elsewhere));
    Router::new()
        .route("/stream", get(stream))
        .route("/clock", get(clock))
        .route("/instance", get(instance))
        .merge(chat::routes())
        .with_state(app)
        .merge(elsewhere)
}

/// Answers a request on other threads than the one that serves its connection.
async fn elsewhere(State(side): State<Handle>, request: Request, next: Next) -> Response {
    struct EndWithRequest(AbortHandle);
    impl Drop for EndWithRequest {
        fn drop(&mut self) {
            self.0.abort();
        }
    }
    let answering = side.spawn(next.run(request));
    // A client that leaves takes its request along, as it does where nothing is handed over.
    let _end = EndWithRequest(answering.abort_handle());
    answering.await.unwrap_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response())
}

/// Headers that let a page of another origin read the answer, its timing, and itself under
/// cross-origin isolation. Lanes are other origins than the page.
pub fn open_to_pages(headers: &mut HeaderMap) {
    for (name, value) in [
        ("access-control-allow-origin", "*"),
        ("access-control-expose-headers", "*"),
        ("timing-allow-origin", "*"),
        ("cross-origin-resource-policy", "cross-origin"),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

pub(crate) fn open(mut response: Response) -> Response {
    open_to_pages(response.headers_mut());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

pub(crate) fn refuse(status: StatusCode, why: impl Into<String>) -> Response {
    open((status, format!("{}\n", why.into())).into_response())
}

async fn stream(
    State(app): State<App>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    Extension(pacer): Extension<Pacer>,
    method: Method,
    version: Version,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Response {
    let (named, script) = match parse(query.as_deref().unwrap_or_default()) {
        Ok(parsed) => parsed,
        Err(why) => return refuse(StatusCode::BAD_REQUEST, why),
    };
    let asked = Asked { connection, pacer, version, headers };
    let playing = Playing {
        named,
        run: named.unwrap_or_else(|| RunId(fastrand::u128(..))),
        script,
        content_type: "text/event-stream",
        status: StatusCode::OK,
    };
    if method == Method::HEAD {
        // A look at the headers is no run.
        return playing.head(&asked);
    }
    app.play(asked, playing)
}

/// Who asked, and how.
pub(crate) struct Asked {
    pub(crate) connection: Connection,
    pub(crate) pacer: Pacer,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
}

/// What is to be played.
pub(crate) struct Playing {
    /// The run that the client named.
    pub(crate) named: Option<RunId>,
    /// The run: that one, or one of our own.
    pub(crate) run: RunId,
    pub(crate) script: Script,
    pub(crate) content_type: &'static str,
    pub(crate) status: StatusCode,
}

impl Playing {
    /// The response without its body.
    fn head(&self, asked: &Asked) -> Response {
        let close = self.script.framing == Framing::Close || asked.version == Version::HTTP_10;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        if close {
            // hyper writes a body without chunks or length only into a response of HTTP/1.0.
            *response.version_mut() = Version::HTTP_10;
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        // No header that nobody asked for: what a proxy's first segment holds begins with the
        // head, and ours is to be no larger than a plain server's.
        if asked.headers.contains_key(header::ORIGIN) {
            open_to_pages(headers);
        }
        if self.named.is_none()
            && let Ok(value) = HeaderValue::from_str(&self.run.to_string())
        {
            headers.insert(HeaderName::from_static("holdup-run"), value);
        }
        for extra in &self.script.headers {
            let name = HeaderName::from_bytes(extra.name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&extra.value)) {
                headers.insert(name, value);
            }
        }
        response
    }
}

impl App {
    /// Answers with a script, and keeps its ledger.
    pub(crate) fn play(self, asked: Asked, playing: Playing) -> Response {
        let mut response = playing.head(&asked);
        let Asked { connection, pacer, version, .. } = asked;
        let Playing { run, script, .. } = playing;
        connection.set_nagle(script.nagle);
        let started = now();
        let frames = script.frame_count() as usize;
        let script = Arc::new(script);
        let ledger = self.ledgers.begin(Ledger {
            run,
            instance: self.instance.to_string(),
            attempts: 1,
            script: Script::clone(&script),
            upstream_protocol: match version {
                Version::HTTP_3 => H3.into(),
                version => format!("{version:?}"),
            },
            segment_bytes: connection.segment_bytes,
            started,
            entries: Vec::new(),
            handed: Vec::with_capacity(if connection.layered { frames } else { 0 }),
            waits: Vec::new(),
            writes: 0,
            body_bytes: 0,
            done: None,
            broken: None,
        });
        // A second request of the same run is counted, and played without being entered.
        let entered = ledger.map(|ledger| {
            let follow = Follow::new(Arc::clone(&ledger));
            let progress = follow.progress();
            connection.follow(follow);
            Entered { ledger, progress, layered: connection.layered }
        });
        let play = Play::new(script, run, started, pacer, entered, self.stopping);
        *response.body_mut() = Body::new(play);
        response
    }
}

/// The run id, if one is named, and the script out of a query.
fn parse(query: &str) -> Result<(Option<RunId>, Script), String> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query)
        .map_err(|error| format!("the query cannot be read: {error}"))?;
    let run = match pairs.iter().find(|(key, _)| key == "run") {
        Some((_, value)) => Some(value.parse().map_err(|error| format!("run: {error}"))?),
        None => None,
    };
    let script = pairs
        .iter()
        .filter(|(key, _)| key != "run")
        .map(|(key, value)| (key.as_str(), value.as_str()));
    Ok((run, Script::from_query(script).map_err(|error| error.to_string())?))
}

async fn run(State(app): State<App>, Path(run): Path<String>) -> Response {
    let id: RunId = match run.parse() {
        Ok(id) => id,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, format!("{error}")),
    };
    match app.ledgers.lookup(id) {
        Lookup::Known(ledger) => open(axum::Json(*ledger).into_response()),
        Lookup::Dropped => refuse(
            StatusCode::GONE,
            format!(
                "the ledger of run {id} made room for newer ones; ask sooner, or start the emitter with more room"
            ),
        ),
        Lookup::Unknown => refuse(
            StatusCode::NOT_FOUND,
            format!(
                "no stream was asked for under run {id}: the request did not reach this emitter"
            ),
        ),
    }
}

async fn clock() -> Response {
    open(axum::Json(json!({ "now_us": now() })).into_response())
}

async fn instance(State(app): State<App>) -> Response {
    open(
        axum::Json(json!({ "instance": *app.instance, "version": env!("CARGO_PKG_VERSION") }))
            .into_response(),
    )
}

async fn page(State(app): State<App>, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    app.pages
        .serve(path, &headers)
        .unwrap_or_else(|| refuse(StatusCode::NOT_FOUND, format!("there is nothing at /{path}")))
}
