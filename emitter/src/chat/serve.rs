//! The HTTP side of chat answers.

use axum::Router;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, Version, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use axum::{Extension, Json};
use measure::RunId;
use measure::chat::Shape;
use measure::script::{EVENT_STREAM, Header};

use super::ask::{Ask, shape_of};
use super::carry;
use super::speakers::Speaker;
use crate::listener::Connection;
use crate::pacer::Pacer;
use crate::routes::{App, Asked, Playing, open, refuse};

/// Every chat route.
pub(crate) fn routes() -> Router<App> {
    let chat = || -> MethodRouter<App> { post(answer).options(preflight) };
    Router::new()
        .route("/v1/chat/completions", chat())
        .route("/v1/responses", chat())
        .route("/v1/messages", chat())
        .route("/api/chat", chat())
        .route("/api/generate", chat())
        // The method stands behind a colon in the same segment.
        .route("/v1beta/models/{model}", chat())
        .route("/v1/models/{model}", chat())
}

#[allow(clippy::too_many_arguments, reason = "what a handler asks for comes as its arguments")]
async fn answer(
    State(app): State<App>,
    ConnectInfo(connection): ConnectInfo<Connection>,
    Extension(pacer): Extension<Pacer>,
    version: Version,
    uri: Uri,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    body: Bytes,
) -> Response {
    let Some((shape, gemini)) = shape_of(uri.path()) else {
        let path = uri.path();
        return refuse(StatusCode::NOT_FOUND, format!("there is nothing at {path}"));
    };
    let query = query.unwrap_or_default();
    let ask = match Ask::read(shape, gemini, &query, &body) {
        Ok(ask) => ask,
        Err(why) => return bad(shape, &why),
    };
    let run = ask.run.unwrap_or_else(|| RunId(fastrand::u128(..)));
    let mut answer = carry::answer(&ask, run);
    if let Err(error) = answer.script.check() {
        return bad(shape, &error.to_string());
    }
    // The ledger's script is to say what was sent: whoever holds it against what came would else
    // find the type changed. A header that was asked for comes after it, and counts.
    if answer.content_type != EVENT_STREAM {
        let value = answer.content_type.into();
        answer.script.headers.insert(0, Header { name: "Content-Type".into(), value });
    }
    let asked = Asked { connection, pacer, version, headers };
    let playing = Playing {
        named: ask.run,
        run,
        script: answer.script,
        content_type: answer.content_type,
        // Statuses of ours, and others from 400 to 599: all are valid.
        status: StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
    };
    app.play(asked, playing)
}

/// A request that cannot be answered, in the shape's own form, so that its client shows why.
fn bad(shape: Shape, why: &str) -> Response {
    let error = Speaker::new(shape).error_saying(why);
    open((StatusCode::BAD_REQUEST, Json(error)).into_response())
}

/// What a browser asks before it sends a key or JSON to another origin.
async fn preflight(asked: HeaderMap) -> Response {
    let mut response = open(StatusCode::NO_CONTENT.into_response());
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, OPTIONS"));
    // `*` does not stand for Authorization, so what was asked for is named.
    let wanted = asked.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_HEADERS,
        wanted.unwrap_or_else(|| HeaderValue::from_static("*")),
    );
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    headers.append(
        header::VARY,
        HeaderValue::from(HeaderName::from_static("access-control-request-headers")),
    );
    response
}
