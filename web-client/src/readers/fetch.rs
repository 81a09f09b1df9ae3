//! The `fetch` reader: each `read()` of the body is one delivery, with its bytes.

use std::cell::Cell;
use std::rc::Rc;

use measure::arrivals::{Delivery, End};
use measure::frames::FrameReader;
use measure::{RunId, Span, Stamp};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, Request, RequestCache, RequestCredentials, RequestInit, Response};

use super::SharedLog;
use super::chunks::Chunks;
use crate::browser::{self, describe};
use crate::once::Once;

/// A stream that `fetch` reads; dropping it aborts the request and silences its task.
pub struct Fetching {
    controller: AbortController,
    dropped: Rc<Cell<bool>>,
}

impl Fetching {
    /// Calls the stream. The page works for `work` after each delivery.
    ///
    /// # Errors
    /// When the browser refuses the address.
    pub fn open(
        url: &str,
        run: RunId,
        work: Option<Span>,
        log: SharedLog,
        done: Once<()>,
    ) -> Result<Fetching, String> {
        let controller = AbortController::new().map_err(|error| describe(&error))?;
        let request = request(url, &controller).map_err(|error| describe(&error))?;
        let dropped = Rc::new(Cell::new(false));
        let window = web_sys::window().ok_or("there is no window")?;
        let response = window.fetch_with_request(&request);
        let silent = dropped.clone();
        browser::spawn(async move {
            let end = match JsFuture::from(response).await {
                Ok(response) => read(response.unchecked_into(), run, work, &log, &silent).await,
                Err(error) => {
                    End::Failed { what: format!("the request failed: {}", describe(&error)) }
                }
            };
            if !silent.get() {
                log.borrow_mut().finish(end, browser::now_us());
                done.set(());
            }
        });
        Ok(Fetching { controller, dropped })
    }
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.dropped.set(true);
        self.controller.abort();
    }
}

fn request(url: &str, controller: &AbortController) -> Result<Request, JsValue> {
    let init = RequestInit::new();
    init.set_cache(RequestCache::NoStore);
    init.set_credentials(RequestCredentials::Omit);
    init.set_signal(Some(&controller.signal()));
    let request = Request::new_with_str_and_init(url, &init)?;
    // `Accept` needs no preflight; an EventSource sends the same.
    request.headers().set("Accept", "text/event-stream")?;
    Ok(request)
}

async fn read(
    response: Response,
    run: RunId,
    work: Option<Span>,
    log: &SharedLog,
    silent: &Cell<bool>,
) -> End {
    let at = browser::now_us();
    if silent.get() {
        return End::Cut;
    }
    note_head(&response, at, log);
    if response.status() != 200 {
        return End::Failed { what: format!("the endpoint answered {}", response.status()) };
    }
    let Some(body) = response.body() else {
        return End::Closed;
    };
    let (chunks, mut frames) = (Chunks::of(&body), FrameReader::new(run));
    let end = loop {
        let (at, chunk) = chunks.next().await;
        if silent.get() {
            return End::Cut;
        }
        match chunk {
            Ok(Some(bytes)) => {
                deliver(&bytes, at, &mut frames, log);
                browser::work(work);
            }
            Ok(None) => break End::Closed,
            // What the framing calls an error after the head is a stream that was cut.
            Err(()) => break End::Cut,
        }
    };
    log.borrow_mut().read_out(frames);
    end
}

fn note_head(response: &Response, at: i64, log: &SharedLog) {
    let header = |name: &str| response.headers().get(name).ok().flatten();
    let mut log = log.borrow_mut();
    log.heard_us = at;
    let arrivals = &mut log.arrivals;
    arrivals.head = Some(Stamp(at));
    arrivals.status = Some(response.status());
    arrivals.content_type = header("content-type");
    // Seen only where the answer exposes it to other origins.
    arrivals.content_encoding = header("content-encoding").filter(|coding| coding != "identity");
}

fn deliver(bytes: &[u8], at: i64, frames: &mut FrameReader, log: &SharedLog) {
    let mut log = log.borrow_mut();
    log.heard_us = at;
    let marks = frames.feed_with(bytes, |mark, data| log.say(mark, data));
    log.arrivals.deliveries.push(Delivery {
        bytes: Some(bytes.len() as u64),
        body_bytes: Some(bytes.len() as u64),
        frames: marks,
        ..Delivery::at(Stamp(at))
    });
}
