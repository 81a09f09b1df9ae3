//! The doctor's reader of configurations, for the page at `/configuration`.
//!
//! The same code answers the command and the page ([`config`]); here a question is taken out of
//! JSON, and what the reader says in terms of options is said in terms of fields. A proof is one
//! answer that grows, a line a step; whoever leaves it ends it.

use std::sync::Arc;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use config_reader::Product;
use config_reader::nginx::Version;
use config_reader::nginx::source::MOST_BYTES;
use emitter::listener::Connection;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::door::Refusal;
use super::{Gateway, page, private};
use crate::doctor::config::{self, Fault, Progress, Proving, Question};
use crate::exit::Exit;
use crate::interrupt::Interrupt;

/// Most bytes of a question: line ends and quotes take two bytes each in JSON.
const MAX_QUESTION: usize = 2 * MOST_BYTES + (64 << 10);
/// Configurations that are read at once: each takes a few times its size.
const READ_AT_ONCE: usize = 2;

/// Who may go on.
pub(super) struct Slots {
    reads: Arc<Semaphore>,
    proof: Arc<Semaphore>,
}

impl Default for Slots {
    fn default() -> Slots {
        // A second proof would be measured beside the first.
        let proof = Arc::new(Semaphore::new(1));
        Slots { reads: Arc::new(Semaphore::new(READ_AT_ONCE)), proof }
    }
}

/// What the page posts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    /// Absent where it is to be seen from the text.
    product: Option<String>,
    text: String,
    path: String,
    host: Option<String>,
    port: Option<u16>,
    version: Option<String>,
}

fn bad(why: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, why)
}

fn full(what: &str) -> Refusal {
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, format!("{what}: wait for it to end, or stop it"))
}

/// A fault of the question, for the page to show where it belongs.
struct Told(Fault);

impl IntoResponse for Told {
    fn into_response(self) -> Response {
        private(
            (StatusCode::UNPROCESSABLE_ENTITY, Json(self.0.json(&said(&self.0)))).into_response(),
        )
    }
}

/// The page.
pub(super) async fn shell(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    page(&gateway, &connection, &headers, &super::CONFIGURATION)
}

/// Whether a request may come in, then what it asks: nobody's body is read before.
async fn asked(
    gateway: &Gateway,
    connection: &Connection,
    request: Request,
) -> Result<Question, Response> {
    let refused = IntoResponse::into_response;
    gateway.admit(connection, &Method::POST, request.headers()).map_err(refused)?;
    let too_large = |_| {
        let why = format!("{MOST_BYTES} bytes is the most that is read: is it a configuration?");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why).into_response()
    };
    let body = axum::body::to_bytes(request.into_body(), MAX_QUESTION).await.map_err(too_large)?;
    let asked: Asked = serde_json::from_slice(&body)
        .map_err(|_| bad("this is no question about a configuration").into_response())?;
    question(asked).map_err(|fault| Told(fault).into_response())
}

fn question(asked: Asked) -> Result<Question, Fault> {
    let filled = |text: Option<String>| {
        text.map(|text| text.trim().to_string()).filter(|text| !text.is_empty())
    };
    if asked.text.trim().is_empty() {
        return Err(Fault::text("there is nothing in it: paste a configuration, or drop its file"));
    }
    let product = match filled(asked.product) {
        Some(name) => Product::named(&name)
            .ok_or_else(|| Fault::text(format!("configurations of {name:?} are not read here")))?,
        // Its reader knows the looks of more than are read here, and says so.
        None => Product::of(&asked.text).unwrap_or(Product::Nginx),
    };
    let version: Option<Version> = match filled(asked.version) {
        // Of the others no version changes what is said.
        Some(text) if matches!(product, Product::Nginx | Product::Caddy) => {
            Some(text.parse().map_err(|why: String| config::version_fault(&why))?)
        }
        _ => None,
    };
    Ok(Question {
        product,
        text: asked.text,
        file: None,
        path: asked.path.trim().to_string(),
        host: filled(asked.host),
        port: asked.port,
        version,
    })
}

/// What the reader says of options, said of the page's fields.
fn words(line: &str) -> String {
    let mut line = line.to_string();
    for (option, field) in [
        ("say which with --host or --port", "choose one"),
        ("say which with --port", "choose one"),
        ("say --host", "choose one"),
        ("say --port", "choose one"),
        ("check --path and --host", "look at path and host"),
        ("check --port", "look at the port"),
        ("say --nginx-version", "say its version"),
        ("use --haproxy-config", "choose HAProxy"),
        ("use --nginx-config", "choose nginx"),
        ("use --caddyfile", "choose Caddy"),
        ("use --traefik-config", "choose Traefik"),
        ("use --envoy-config", "choose Envoy"),
    ] {
        line = line.replace(option, field);
    }
    line
}

/// What a fault says to the page, where those that could be meant are buttons beside it.
fn said(fault: &Fault) -> String {
    let line = words(&fault.problem.to_string());
    match line.split_once("choose one:") {
        Some((before, _)) if !fault.choices.is_empty() => format!("{before}choose one"),
        _ => line,
    }
}

/// An answer with the product that was read, in the page's words.
fn told(question: &Question, story: &config::Story) -> Value {
    let mut told = story.json();
    told["product"] = json!(question.product.name());
    if let Some(headline) = told["headline"].as_str() {
        told["headline"] = json!(words(headline));
    }
    told
}

/// Reads what is asked on a thread that may be busy, where there is room for it.
async fn reading(
    gateway: &Gateway,
    connection: &Connection,
    request: Request,
    work: impl FnOnce(&Question) -> Result<Value, Fault> + Send + 'static,
) -> Result<Response, Response> {
    let question = asked(gateway, connection, request).await?;
    let permit = Arc::clone(&gateway.0.slots.reads).try_acquire_owned();
    let permit = permit.map_err(|_| full("other configurations are being read").into_response())?;
    let done = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        match work(&question) {
            Ok(answer) => private(Json(answer).into_response()),
            Err(fault) => Told(fault).into_response(),
        }
    });
    let failed = "the reader ended without an answer";
    done.await.map_err(|_| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, failed).into_response())
}

pub(super) async fn read(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Result<Response, Response> {
    let read = |question: &Question| Ok(told(question, &config::examine(question, None)?));
    reading(&gateway, &connection, request, read).await
}

pub(super) async fn marked(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Result<Response, Response> {
    let mark = |question: &Question| {
        let (text, masked) = config::marked(&question.text, question.version)?;
        Ok(json!({ "text": text, "masked": masked }))
    };
    reading(&gateway, &connection, request, mark).await
}

/// Ends the proof when the page leaves.
struct Leave(Interrupt);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.stop();
    }
}

pub(super) async fn measure(
    State(gateway): State<Gateway>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    request: Request,
) -> Result<Response, Response> {
    let question = asked(&gateway, &connection, request).await?;
    let permit = Arc::clone(&gateway.0.slots.proof).try_acquire_owned();
    let permit = permit.map_err(|_| full("another proof is being measured").into_response())?;
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel::<Value>();
    let interrupt = Interrupt::default();
    let leave = Leave(interrupt.clone());
    std::thread::spawn(move || {
        let _permit = permit;
        // Whoever is not told any more has left.
        let tell = |progress: Progress| {
            let _ = sender.send(match progress {
                Progress::Starting => json!({ "starting": true }),
                Progress::Runs(done, of) => json!({ "runs": done, "of": of }),
            });
        };
        let proving = Proving { interrupt: &interrupt, tell: &tell };
        let last = match config::examine(&question, Some(&proving)) {
            Ok(story) if story.exit == Exit::Interrupted => json!({ "stopped": true }),
            Ok(story) => json!({ "story": told(&question, &story) }),
            Err(fault) => fault.json(&said(&fault)),
        };
        let _ = sender.send(last);
    });
    let lines = futures_util::stream::poll_fn(move |context| {
        let _leave = &leave;
        lines.poll_recv(context).map(|line| {
            line.map(|line| Ok::<Bytes, std::convert::Infallible>(format!("{line}\n").into()))
        })
    });
    let mut response = private(Response::new(Body::from_stream(lines)));
    let kind = HeaderValue::from_static("application/x-ndjson");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str, version: Option<&str>) -> Asked {
        Asked {
            product: None,
            text: text.into(),
            path: " /api/chat ".into(),
            host: Some("  ".into()),
            port: None,
            version: version.map(String::from),
        }
    }

    #[test]
    fn a_question_is_taken_out_of_what_the_page_posts() {
        let own = question(asked("global\n daemon\nfrontend f\n bind :80\n", Some("x"))).unwrap();
        assert_eq!(own.product, Product::Haproxy);
        assert_eq!((own.path.as_str(), own.host, own.version), ("/api/chat", None, None));
        let own = question(asked("server { location / { } }", Some("1.24"))).unwrap();
        assert_eq!((own.product, own.version), (Product::Nginx, Some(Version([1, 24, 0]))));
        assert!(question(asked("server { }", Some("latest"))).is_err());
        assert!(question(asked(" \n", None)).is_err());
        let mut other = asked("x", None);
        other.product = Some("apache".into());
        assert!(question(other).is_err());
    }

    #[test]
    fn the_page_hears_of_fields_and_not_of_options() {
        let story = config::examine(
            &question(asked("server { location / { proxy_pass http://a; } }", None)).unwrap(),
            None,
        );
        assert!(words(&story.unwrap().json()["headline"].to_string()).contains("say its version"));
        for text in [
            "server { listen 1; location / { proxy_pass http://a; } }
             server { listen 2; location / { proxy_pass http://a; } }",
            "server { location /x { return 200; } }",
            "frontend f\n bind :80\nbackend b\n",
            "frontend a\n bind :1\nfrontend b\n bind :2\n",
        ] {
            let fault = match question(asked(text, None)).map(|own| config::examine(&own, None)) {
                Ok(Err(fault)) | Err(fault) => fault,
                Ok(Ok(_)) => panic!("{text}"),
            };
            let said = said(&fault);
            assert!(!said.contains("--"), "{said}");
        }
    }
}
