//! The gateway: an HTTP relay to a deployed endpoint, for the page.
//!
//! A browser may not read an answer of another origin unless that origin says so, and it never
//! sees single reads. The gateway asks on the page's behalf, counts the reads on the wire and
//! passes the bytes on at once, so that one real answer is seen from both sides.
//!
//! It is no open [`door`]: only the page that it served since its last start comes in, it goes
//! only to [`targets`] that the person named or confirmed, it makes the [`request`] anew from
//! what the page wrote, and the [`relay`] follows no redirect. What was [`seen`] holds no key and
//! no text.
//!
//! | route | does |
//! |---|---|
//! | `GET /own` | the page, with the secret of this start |
//! | `POST /gateway/ask` | asks a target; the answer's body as it comes |
//! | `POST /gateway/confirm` | the person means this target |
//! | `GET /gateway/runs/{run}` | what the wire showed of an answer that has ended |
//! | `GET /configuration` | the page of the doctor's reader of configurations, with the secret too |
//! | `POST /configuration/read`, `…/marked`, `…/measure` | what it says of one ([`configuration`]) |
//! | `GET /gateway/plan/{name}`, `POST /gateway/results/{name}` | a go that a command waits for ([`goes`]) |

mod configuration;
mod door;
mod goes;
mod relay;
mod request;
mod seen;
mod targets;

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::extract::{self, ConnectInfo, DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use emitter::listener::Connection;
use recv_client::{Http, Secure, Trust};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;
use url::Url;

use door::{Door, Refusal, Secret};
use goes::Goes;
pub(crate) use goes::Results;
use request::{MAX_BODY, Request};
use seen::Book;
use targets::{NotThere, Targets};

/// Most answers at once. Browsers open six connections to one origin; two are left for the page
/// itself.
const AT_ONCE: usize = 4;

/// The pages' shell, and what stands in it where the secret goes.
const SHELL: &str = include_str!("../../../own.html");
const SECRET: &str = "{{secret}}";

/// What a page says in its shell.
struct Words {
    path: &'static str,
    title: &'static str,
    about: &'static str,
    question: &'static str,
}

const OWN: Words = Words {
    path: "/own",
    title: "Holdup: your own endpoint",
    about: "Your own chat endpoint, its answer seen from the wire and from this browser",
    question: "Who is holding up your own tokens?",
};

const CONFIGURATION: Words = Words {
    path: "/configuration",
    title: "Holdup: your configuration",
    about: "The way of a request through your proxy's configuration, the wrong turn and the cure",
    question: "Which line is holding up your tokens?",
};

/// A gateway. It answers nobody until it is opened, which is when the page's address is known.
#[derive(Clone)]
pub(crate) struct Gateway(Arc<Inner>);

struct Inner {
    opened: OnceLock<Opened>,
    targets: Targets,
    book: Book,
    goes: Goes,
    free: Arc<Semaphore>,
    slots: configuration::Slots,
}

struct Opened {
    door: Door,
    /// Certificates of the person's own authority.
    cacert: Option<PathBuf>,
    /// Whom TLS believes; read when the first https target is asked.
    trust: OnceLock<Result<Trust, String>>,
    /// Which HTTP targets are spoken to in.
    http: Http,
    /// The page's origin, which a browser would name.
    origin: String,
}

impl Default for Gateway {
    fn default() -> Gateway {
        Gateway(Arc::new(Inner {
            opened: OnceLock::new(),
            targets: Targets::default(),
            book: Book::default(),
            goes: Goes::default(),
            free: Arc::new(Semaphore::new(AT_ONCE)),
            slots: configuration::Slots::default(),
        }))
    }
}

/// How a gateway is opened.
#[derive(Clone, Debug)]
pub(crate) struct Opening<'a> {
    /// Where the page is served.
    pub(crate) address: SocketAddr,
    /// The host in the page's own address.
    pub(crate) host: &'a str,
    /// Targets that the person named.
    pub(crate) named: &'a [Url],
    /// Endpoints of ours.
    pub(crate) own: &'a [SocketAddr],
    /// Whether other machines may use it.
    pub(crate) to_others: bool,
    /// A file with the certificates of an authority that is believed beside the system's.
    pub(crate) cacert: Option<&'a Path>,
    /// Which HTTP targets are spoken to in.
    pub(crate) http: Http,
}

impl Opened {
    /// TLS with a target; absent for a plain one.
    fn secure(&self, url: &Url) -> Result<Option<Secure>, Refusal> {
        if url.scheme() != "https" {
            return Ok(None);
        }
        let failed = |why: String| Refusal::new(StatusCode::BAD_GATEWAY, why);
        let read = || Trust::of(self.cacert.as_deref()).map_err(|error| error.to_string());
        let trust = self.trust.get_or_init(read).as_ref().map_err(|why| failed(why.clone()))?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        trust.secure(host).map(Some).map_err(|error| failed(error.to_string()))
    }
}

impl Gateway {
    /// Opens it with a new secret; returns the address of its page.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn open(&self, opening: &Opening<'_>) -> std::io::Result<String> {
        let Opening { address, host, named, own, to_others, cacert, http } = *opening;
        let door = Door::new(address, Some(host), to_others, Secret::new()?);
        let origin = format!("http://{host}:{}", address.port());
        let ours = own.iter().filter_map(|own| Url::parse(&format!("http://{own}")).ok());
        for url in named.iter().cloned().chain(ours) {
            self.0.targets.name(&url);
        }
        let page = format!("{origin}/own");
        // Once, by the one who started the server.
        let cacert = cacert.map(Path::to_path_buf);
        let _ = self.0.opened.set(Opened { door, cacert, trust: OnceLock::new(), http, origin });
        Ok(page)
    }

    /// The routes, for the emitter to serve.
    pub(crate) fn router(&self) -> Router {
        Router::new()
            .route("/own", get(own))
            .route("/gateway/ask", post(ask))
            .route("/gateway/confirm", post(confirm))
            .route("/gateway/runs/{run}", get(run))
            .layer(DefaultBodyLimit::max(MAX_BODY))
            .route("/configuration", get(configuration::shell))
            // They bound what they read by themselves, once they know who asks.
            .route("/configuration/read", post(configuration::read))
            .route("/configuration/marked", post(configuration::marked))
            .route("/configuration/measure", post(configuration::measure))
            .route("/gateway/plan/{name}", get(plan))
            .route(
                "/gateway/results/{name}",
                post(results).layer(DefaultBodyLimit::max(goes::MAX_RESULTS)),
            )
            .with_state(self.clone())
    }

    /// Leaves a plan for the page that is opened next; returns what its address has to name.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn offer(&self, plan: serde_json::Value) -> std::io::Result<String> {
        let name = Secret::new()?.reveal().to_string();
        self.0.goes.offer(name.clone(), plan);
        Ok(name)
    }

    /// Whether that page has come for its plan.
    pub(crate) fn is_taken(&self) -> bool {
        self.0.goes.is_taken()
    }

    /// What that page measured, once it has posted it.
    pub(crate) fn came(&self) -> Option<Results> {
        self.0.goes.take()
    }

    fn admit(
        &self,
        connection: &Connection,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<&Opened, Refusal> {
        let opened = self.0.opened.get().ok_or_else(closed)?;
        opened.door.admit(connection.remote.ip(), method, headers)?;
        Ok(opened)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        private((self.status, Json(json!({ "error": self.why }))).into_response())
    }
}

/// Never kept, never guessed at, never read by another origin.
fn private(mut response: Response) -> Response {
    for (name, value) in [
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
        ("content-security-policy", "default-src 'none'; frame-ancestors 'none'"),
        ("referrer-policy", "no-referrer"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn own(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    page(&gateway, &connection, &headers, &OWN)
}

/// A page. It holds the secret, so it goes to nobody who only claims to be its browser.
fn page(
    gateway: &Gateway,
    connection: &Connection,
    headers: &HeaderMap,
    words: &Words,
) -> Result<Response, Refusal> {
    let opened = gateway.0.opened.get().ok_or_else(closed)?;
    if connection.layered {
        // The door knows the page by its plain address, which browsers trust on loopback; the lanes'
        // page is served over TLS too and links here.
        let plain = format!("{}{}", opened.origin, words.path);
        return Ok(private(Redirect::temporary(&plain).into_response()));
    }
    opened.door.page(connection.remote.ip(), headers)?;
    let html = SHELL
        .replace("{{title}}", words.title)
        .replace("{{about}}", words.about)
        .replace("{{question}}", words.question)
        .replace(SECRET, opened.door.secret().reveal());
    let mut response = private(Html(html).into_response());
    for (name, value) in [
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-embedder-policy", "require-corp"),
        // Lanes and targets are wherever the person has them; scripts are ours alone.
        (
            "content-security-policy",
            "default-src 'self'; script-src 'self' 'wasm-unsafe-eval' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src *; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

fn closed() -> Refusal {
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the gateway is not open")
}

/// Takes a target on the command line.
///
/// # Errors
/// What is wrong with it, in one line.
pub(crate) fn target(text: &str) -> Result<Url, String> {
    targets::parse(text).map_err(|why| refusal(why).why)
}

/// Why a target is not gone to, as an answer.
fn refusal(why: NotThere) -> Refusal {
    match why {
        NotThere::Bad(why) => Refusal::new(StatusCode::BAD_REQUEST, why),
        NotThere::Never(why) => Refusal::new(StatusCode::FORBIDDEN, why),
        NotThere::Confirm { origin, lies } => Refusal::new(
            StatusCode::FORBIDDEN,
            format!("{origin} lies {lies}: confirm that it is the one you mean"),
        ),
    }
}

/// The addresses that a URL leads to, looked up once for the look and for the connection.
async fn resolve(url: &Url) -> Result<Vec<SocketAddr>, Refusal> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_string();
    let port = url.port_or_known_default().unwrap_or(80);
    let (name, asked) = (host.clone(), move || (host.as_str(), port).to_socket_addrs());
    let found = tokio::task::spawn_blocking(move || asked().map(Iterator::collect)).await;
    match found {
        Ok(Ok(found)) => Ok(found),
        _ => Err(Refusal::new(StatusCode::BAD_GATEWAY, format!("cannot find {name}"))),
    }
}

async fn ask(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Response> {
    let opened =
        gateway.admit(&connection, &Method::POST, &headers).map_err(IntoResponse::into_response)?;
    let request = Request::read(&body).map_err(IntoResponse::into_response)?;
    let found = resolve(&request.url).await.map_err(IntoResponse::into_response)?;
    if let Err(why) = gateway.0.targets.admit(&request.url, &found) {
        let confirm = matches!(why, NotThere::Confirm { .. });
        let Refusal { status, why } = refusal(why);
        let told = json!({ "error": why, "confirm": confirm });
        return Err(private((status, Json(told)).into_response()));
    }
    let secure = opened.secure(&request.url).map_err(IntoResponse::into_response)?;
    let Ok(permit) = Arc::clone(&gateway.0.free).try_acquire_owned() else {
        let why = format!("{AT_ONCE} answers are being read: wait for one to end");
        return Err(Refusal::new(StatusCode::TOO_MANY_REQUESTS, why).into_response());
    };
    if !gateway.0.book.begin(request.run) {
        let why = "this run was asked for before: every answer gets a run of its own";
        return Err(Refusal::new(StatusCode::CONFLICT, why).into_response());
    }
    let book = gateway.0.book.clone();
    let way = relay::Way { address: found[0], secure, http: opened.http, origin: &opened.origin };
    let body = relay::begin(request, way, book, permit);
    let mut response = private(Response::new(body));
    // Whatever it is, it is data to the page, and never a document of ours.
    let binary = HeaderValue::from_static("application/octet-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, binary);
    Ok(response)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Meant {
    url: String,
}

async fn confirm(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, Refusal> {
    gateway.admit(&connection, &Method::POST, &headers)?;
    let meant: Meant = serde_json::from_slice(&body)
        .map_err(|_| Refusal::new(StatusCode::BAD_REQUEST, "which target is meant is not said"))?;
    let url = targets::parse(&meant.url).map_err(refusal)?;
    let found = resolve(&url).await?;
    gateway.0.targets.confirm(&url, &found).map_err(refusal)?;
    Ok(StatusCode::NO_CONTENT)
}

async fn run(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    headers: HeaderMap,
    extract::Path(run): extract::Path<String>,
) -> Result<Response, Refusal> {
    gateway.admit(&connection, &Method::GET, &headers)?;
    let unknown = || Refusal::new(StatusCode::NOT_FOUND, "no answer of this run went through here");
    let found = run.parse().ok().and_then(|run| gateway.0.book.get(run)).ok_or_else(unknown)?;
    match found {
        Some(seen) => Ok(private(Json(&*seen).into_response())),
        None => Err(Refusal::new(StatusCode::CONFLICT, "this answer has not ended yet")),
    }
}

async fn plan(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    headers: HeaderMap,
    extract::Path(name): extract::Path<String>,
) -> Result<Response, Refusal> {
    gateway.admit(&connection, &Method::GET, &headers)?;
    Ok(private(Json(gateway.0.goes.plan(&name)?).into_response()))
}

async fn results(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    headers: HeaderMap,
    extract::Path(name): extract::Path<String>,
    body: Bytes,
) -> Result<StatusCode, Refusal> {
    gateway.admit(&connection, &Method::POST, &headers)?;
    let results = serde_json::from_slice(&body)
        .map_err(|_| Refusal::new(StatusCode::BAD_REQUEST, "these are no results"))?;
    gateway.0.goes.post(&name, results)?;
    Ok(StatusCode::NO_CONTENT)
}
