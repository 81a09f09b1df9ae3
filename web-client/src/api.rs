//! The emitter's routes as the page uses them, all of the page's own origin.

use measure::clock::{ClockSync, RoundTrip};
use measure::page::{Finished, Lanes, RunPost};
use measure::{Arrivals, Ledger, RunId};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Request, RequestCache, RequestInit, Response};

use crate::browser::{self, describe};
use crate::json::{self, Json};

/// Round trips to the clock before every run. The shortest is kept: among a dozen there is
/// nearly always one that nothing got in the way of.
pub const CLOCK_TRIPS: u32 = 12;

/// Why the emitter gave no answer that the page can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiError {
    /// Nothing answered.
    Silent(String),
    /// It answered something else than 200.
    Status(u16),
    /// The answer is not what this page reads.
    Unreadable(String),
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let origin = browser::origin();
        match self {
            ApiError::Silent(why) => write!(f, "The emitter at {origin} does not answer: {why}."),
            ApiError::Status(status) => write!(f, "The emitter at {origin} answered {status}."),
            ApiError::Unreadable(why) => write!(
                f,
                "The emitter at {origin} answered what this page cannot read ({why}): reload the page."
            ),
        }
    }
}

/// Synchronises the page's clock, which has steps of `step_us` microseconds, with the emitter's.
///
/// # Errors
/// When the clock does not answer.
pub async fn sync(step_us: i64) -> Result<ClockSync, ApiError> {
    let mut trips = Vec::new();
    for _ in 0..CLOCK_TRIPS {
        trips.push(round_trip().await?);
    }
    ClockSync::from_round_trips(&trips)
        .map(|sync| sync.with_step(step_us))
        .ok_or_else(|| ApiError::Unreadable("the page's clock ran backwards".into()))
}

/// One round trip to the clock.
///
/// # Errors
/// When the clock does not answer.
pub async fn round_trip() -> Result<RoundTrip, ApiError> {
    let request = request("/clock", None)?;
    let sent = browser::now_us();
    let response = send(&request).await?;
    // The emitter read its clock before it sent the head, so the head's time bounds it.
    let received = browser::now_us();
    let server = body(response, json::clock).await?;
    Ok(RoundTrip { sent, server, received })
}

/// What stands behind the page.
///
/// # Errors
/// When the emitter does not answer, or with something else.
pub async fn lanes() -> Result<Lanes, ApiError> {
    get("/lanes", json::lanes).await
}

/// The emitter's side of a run; `None` when the request never reached it.
///
/// # Errors
/// When the emitter does not answer.
pub async fn ledger(run: RunId) -> Result<Option<Ledger>, ApiError> {
    found(get(&format!("/runs/{run}"), json::ledger).await)
}

/// The tap's side of a run; `None` when no tap saw it.
///
/// # Errors
/// When the emitter does not answer.
pub async fn wire(run: RunId) -> Result<Option<Arrivals>, ApiError> {
    found(get(&format!("/wire/{run}"), json::arrivals).await)
}

/// Hands a run's arrivals to whoever waits for them.
///
/// # Errors
/// When they were not taken.
pub async fn post_run(session: &str, run: &RunPost) -> Result<(), ApiError> {
    post(&format!("/arrivals/{session}"), &json::run_post(run)).await
}

/// Says that nothing more will come.
///
/// # Errors
/// When it was not heard.
pub async fn post_finished(session: &str, finished: &Finished) -> Result<(), ApiError> {
    post(&format!("/finished/{session}"), &json::finished(finished)).await
}

fn found<T>(answer: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(ApiError::Status(404 | 410)) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn get<T>(path: &str, read: fn(&Json) -> Result<T, String>) -> Result<T, ApiError> {
    body(send(&request(path, None)?).await?, read).await
}

async fn post(path: &str, text: &str) -> Result<(), ApiError> {
    send(&request(path, Some(text))?).await.map(|_| ())
}

fn request(path: &str, post: Option<&str>) -> Result<Request, ApiError> {
    let broken = |error: JsValue| ApiError::Silent(describe(&error));
    let init = RequestInit::new();
    init.set_cache(RequestCache::NoStore);
    if let Some(text) = post {
        init.set_method("POST");
        init.set_body(&JsValue::from_str(text));
    }
    let request = Request::new_with_str_and_init(path, &init).map_err(broken)?;
    if post.is_some() {
        request.headers().set("Content-Type", "application/json").map_err(broken)?;
    }
    Ok(request)
}

async fn send(request: &Request) -> Result<Response, ApiError> {
    let window = web_sys::window().ok_or_else(|| ApiError::Silent("there is no window".into()))?;
    let response = JsFuture::from(window.fetch_with_request(request))
        .await
        .map_err(|error| ApiError::Silent(describe(&error)))?;
    let response: Response = response.unchecked_into();
    match response.status() {
        200..=299 => Ok(response),
        status => Err(ApiError::Status(status)),
    }
}

async fn body<T>(response: Response, read: fn(&Json) -> Result<T, String>) -> Result<T, ApiError> {
    let text = text(response).await?;
    Json::parse(&text).and_then(|json| read(&json)).map_err(ApiError::Unreadable)
}

async fn text(response: Response) -> Result<String, ApiError> {
    let cut = |error: JsValue| ApiError::Silent(describe(&error));
    let text = JsFuture::from(response.text().map_err(cut)?).await.map_err(cut)?;
    Ok(text.as_string().unwrap_or_default())
}
