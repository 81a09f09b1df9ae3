//! The HTTP side: streams, ledgers, clock, identity, and the page.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, Version, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use measure::script::{Framing, Script};
use measure::{Ledger, RunId};
use serde_json::json;

use crate::assets::{Assets, mime};
use crate::follow::Follow;
use crate::ledgers::{Ledgers, Lookup};
use crate::listener::Connection;
use crate::now;
use crate::pacer::Pacer;
use crate::play::Play;

/// What the handlers share.
#[derive(Clone)]
pub struct App {
    /// Identity of this process.
    pub instance: Arc<str>,
    /// Ledgers by run.
    pub ledgers: Ledgers,
    /// Keeps time.
    pub pacer: Pacer,
    /// Set when streams should end.
    pub stopping: Arc<AtomicBool>,
    /// The page.
    pub assets: Arc<Assets>,
}

/// Every route of the emitter.
pub fn router(app: App) -> Router {
    Router::new()
        .route("/stream", get(stream))
        .route("/runs/{run}", get(run))
        .route("/clock", get(clock))
        .route("/instance", get(instance))
        .fallback(page)
        .with_state(app)
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

fn open(mut response: Response) -> Response {
    open_to_pages(response.headers_mut());
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn refuse(status: StatusCode, why: impl Into<String>) -> Response {
    open((status, format!("{}\n", why.into())).into_response())
}

async fn stream(
    State(app): State<App>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    method: Method,
    version: Version,
    RawQuery(query): RawQuery,
) -> Response {
    let (run, script) = match parse(query.as_deref().unwrap_or_default()) {
        Ok(parsed) => parsed,
        Err(why) => return refuse(StatusCode::BAD_REQUEST, why),
    };
    let close = script.framing == Framing::Close || version == Version::HTTP_10;
    let mut response = Response::new(Body::empty());
    if close {
        // hyper writes a body without chunks or length only into a response of HTTP/1.0.
        *response.version_mut() = Version::HTTP_10;
    }
    let headers = response.headers_mut();
    open_to_pages(headers);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    for (name, value) in
        [("holdup-run", run.to_string()), ("holdup-instance", app.instance.to_string())]
    {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    for extra in &script.headers {
        let name = HeaderName::from_bytes(extra.name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(&extra.value)) {
            headers.insert(name, value);
        }
    }
    if method == Method::HEAD {
        // A look at the headers is no run.
        return response;
    }
    connection.set_nagle(script.nagle);
    let started = now();
    let script = Arc::new(script);
    let ledger = app.ledgers.begin(Ledger {
        run,
        instance: app.instance.to_string(),
        attempts: 1,
        script: Script::clone(&script),
        upstream_protocol: format!("{version:?}"),
        segment_bytes: connection.segment_bytes,
        started,
        entries: Vec::new(),
        writes: 0,
        body_bytes: 0,
        done: None,
        broken: None,
    });
    if let Some(ledger) = &ledger {
        connection.follow(Follow::new(Arc::clone(ledger)));
    }
    let play =
        Play::new(script, run, started, app.pacer.clone(), ledger, Arc::clone(&app.stopping));
    *response.body_mut() = Body::new(play);
    response
}

/// The run id and the script out of a query; a request that names no run gets one of its own.
fn parse(query: &str) -> Result<(RunId, Script), String> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query)
        .map_err(|error| format!("the query cannot be read: {error}"))?;
    let run = match pairs.iter().find(|(key, _)| key == "run") {
        Some((_, value)) => value.parse().map_err(|error| format!("run: {error}"))?,
        None => RunId(fastrand::u128(..)),
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
    let Some(bytes) = app.assets.read(path) else {
        return refuse(StatusCode::NOT_FOUND, format!("there is nothing at /{path}"));
    };
    crate::server::serve_file(mime(path), bytes, &headers)
}
