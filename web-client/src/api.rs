//! The emitter's routes as the page uses them, all of the page's own origin.

use std::pin::Pin;

use measure::clock::{ClockSync, RoundTrip};
use measure::page::{Finished, Lanes, RunPost};
use measure::{Arrivals, Cell, Ledger, RunId};
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

/// The address of the clock, for whoever is not the page.
pub fn clock_url() -> String {
    [&browser::origin(), "/clock"].concat()
}

/// One round trip to the clock.
///
/// # Errors
/// When the clock does not answer.
pub async fn round_trip() -> Result<RoundTrip, ApiError> {
    let answer = ask("/clock".into(), None).await?;
    let (sent, received) = (answer.sent, answer.received);
    Ok(RoundTrip { sent, server: answer.read(json::clock)?, received })
}

/// What stands behind the page.
///
/// # Errors
/// When the emitter does not answer, or with something else.
pub async fn lanes() -> Result<Lanes, ApiError> {
    ask("/lanes".into(), None).await?.read(json::lanes)
}

/// The emitter's side of a run; `None` when the request never reached it.
///
/// # Errors
/// When the emitter does not answer.
pub async fn ledger(run: RunId) -> Result<Option<Ledger>, ApiError> {
    found(ask(format!("/runs/{run}"), None).await, json::ledger)
}

/// The tap's side of a run, whose stream was asked for at `url`: under TLS a tap knows its runs by
/// when they passed it. `None` when no tap saw it.
///
/// # Errors
/// When the emitter does not answer.
pub async fn wire(run: RunId, url: &str) -> Result<Option<Arrivals>, ApiError> {
    found(ask(format!("/wire/{run}?{url}"), None).await, json::arrivals)
}

/// Has the native reader read a run of a cell, and waits for what it read: it answers 404 where
/// the emitter has no native reader, and 409 while another run of it is under way.
///
/// # Errors
/// When there is no such answer.
pub async fn native(run: RunId, cell: &Cell) -> Result<Arrivals, ApiError> {
    let (run, script) = (run.to_string(), cell.script.to_query().unwrap_or_default());
    let mss = cell.link.mss.map_or("loopback".into(), |bytes| bytes.to_string());
    let mut pairs = vec![
        ("run", run.as_str()),
        ("endpoint", cell.endpoint.as_str()),
        ("mss", mss.as_str()),
        ("headers", cell.request.headers.name()),
        ("protocol", cell.request.client_protocol.as_str()),
    ];
    pairs
        .extend(cell.request.accept_encoding.iter().map(|text| ("accept_encoding", text.as_str())));
    pairs.extend(script.iter().map(|(key, value)| (*key, value.as_str())));
    let path = ["/native?", &browser::encode_query(&pairs)].concat();
    ask(path, Some(String::new())).await?.read(json::arrivals)
}

/// Hands a run's arrivals to whoever waits for them.
///
/// # Errors
/// When they were not taken.
pub async fn post_run(session: &str, run: &RunPost) -> Result<(), ApiError> {
    ask(["/arrivals/", session].concat(), Some(json::run_post(run))).await.map(|_| ())
}

/// Says that nothing more will come.
///
/// # Errors
/// When it was not heard.
pub async fn post_finished(session: &str, finished: &Finished) -> Result<(), ApiError> {
    ask(["/finished/", session].concat(), Some(json::finished(finished))).await.map(|_| ())
}

fn found<T>(
    answer: Result<Answer, ApiError>,
    read: fn(&Json) -> Result<T, String>,
) -> Result<Option<T>, ApiError> {
    match answer {
        Ok(answer) => answer.read(read).map(Some),
        Err(ApiError::Status(404 | 410)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the emitter answered, and when, by the page's clock.
struct Answer {
    sent: i64,
    /// The emitter wrote its answer before it sent the head, so the head's time bounds it.
    received: i64,
    text: String,
}

impl Answer {
    fn read<T>(&self, read: fn(&Json) -> Result<T, String>) -> Result<T, ApiError> {
        Json::parse(&self.text).and_then(|json| read(&json)).map_err(ApiError::Unreadable)
    }
}

/// Asks the emitter. In a box: the code of a future stands anew in each that awaits it.
fn ask(
    path: String,
    post: Option<String>,
) -> Pin<Box<dyn Future<Output = Result<Answer, ApiError>>>> {
    Box::pin(async move {
        match ask_in_browser(&path, post).await {
            Ok(answer) => answer,
            Err(error) => Err(ApiError::Silent(describe(&error))),
        }
    })
}

async fn ask_in_browser(
    path: &str,
    post: Option<String>,
) -> Result<Result<Answer, ApiError>, JsValue> {
    let init = RequestInit::new();
    init.set_cache(RequestCache::NoStore);
    if let Some(text) = &post {
        init.set_method("POST");
        init.set_body(&JsValue::from_str(text));
    }
    let request = Request::new_with_str_and_init(path, &init)?;
    if post.is_some() {
        request.headers().set("Content-Type", "application/json")?;
        // What pages of other origins cannot send without asking first.
        request.headers().set("holdup-page", "1")?;
    }
    let window = web_sys::window().ok_or("there is no window")?;
    let sent = browser::now_us();
    let response = JsFuture::from(window.fetch_with_request(&request)).await?;
    let received = browser::now_us();
    let response: Response = response.unchecked_into();
    if !response.ok() {
        return Ok(Err(ApiError::Status(response.status())));
    }
    let text = JsFuture::from(response.text()?).await?;
    Ok(Ok(Answer { sent, received, text: text.as_string().unwrap_or_default() }))
}
