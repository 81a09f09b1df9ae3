//! The `fetch` reader: each `read()` of the body is one delivery, with its bytes.

use std::cell::Cell;
use std::rc::Rc;

use measure::arrivals::End;
use measure::{Span, Stamp};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, Request, RequestCache, RequestCredentials, RequestInit, Response};

use super::{SharedLog, chunks};
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
            let (at, end) = match JsFuture::from(response).await {
                Ok(response) => read(response.unchecked_into(), work, &log, &silent).await,
                Err(error) => {
                    let what = format!("the request failed: {}", describe(&error));
                    (browser::now_us(), End::Failed { what })
                }
            };
            if !silent.get() {
                log.borrow_mut().finish(end, at);
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
    work: Option<Span>,
    log: &SharedLog,
    silent: &Rc<Cell<bool>>,
) -> (i64, End) {
    let at = browser::now_us();
    if silent.get() {
        return (at, End::Cut);
    }
    note_head(&response, at, log);
    if response.status() != 200 {
        let what = format!("the endpoint answered {}", response.status());
        return (at, End::Failed { what });
    }
    let Some(body) = response.body() else {
        return (at, End::Closed);
    };
    let (into, dropped) = (log.clone(), silent.clone());
    let (at, whole) = chunks::read(&body, move |at, bytes| {
        if !dropped.get() {
            into.borrow_mut().deliver(at, None, bytes);
            browser::work(work);
        }
    })
    .await;
    // What the framing calls an error after the head is a stream that was cut.
    (at, if whole { End::Closed } else { End::Cut })
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
