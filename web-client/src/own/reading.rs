//! One answer, read by this page: through the gateway, or by the browser alone. The time is taken
//! in the promise's own callback, and bytes are parsed when somebody looks, as in the main page.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, JSON, Uint8Array};
use measure::{End, RunId};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    AbortController, Request, RequestCache, RequestCredentials, RequestInit, RequestRedirect,
    Response, ResponseType,
};

use super::answer::{Came, Page};
use super::ask::Plan;
use super::carrier::Splitter;
use super::seen::{Seen, seen};
use crate::browser::{self, describe};
use crate::guard::Repeat;
use crate::json::{Json, Writing};
use crate::readers::chunks;

/// How long an answer may be silent, as at the gateway: some models think for a minute.
const SILENCE_US: i64 = 120_000_000;
/// Most bytes of an answer, as at the gateway.
const MAX_BYTES: u64 = 32 << 20;
/// Most text that is kept of an answer, bytes.
const MAX_TEXT: usize = 1 << 18;
/// How often, and how long apart, the gateway is asked for what it saw: its reader ends with the
/// answer, and writes its figures down then.
const TRIES: u32 = 100;
const TRY_EACH_MS: u32 = 50;

/// An answer that is being read.
pub struct Log {
    /// What was found so far.
    pub page: Page,
    splitter: Splitter,
    unread: Vec<Uint8Array>,
    heard_us: i64,
}

/// As its reader and its view share it.
pub type SharedLog = Rc<RefCell<Log>>;

impl Log {
    fn begin() -> SharedLog {
        let now = browser::now_us();
        Rc::new(RefCell::new(Log {
            page: Page::begin(now),
            splitter: Splitter::default(),
            unread: Vec::new(),
            heard_us: now,
        }))
    }

    /// Parses what has come.
    pub fn parse(&mut self) {
        let Log { page, splitter, .. } = self;
        for bytes in std::mem::take(&mut self.unread) {
            splitter.feed(&bytes.to_vec(), &mut |mut piece| {
                if page.text.len() > MAX_TEXT && !piece.facts.text.is_empty() {
                    // It is an event with text all the same.
                    piece.facts.text = " ".into();
                }
                page.note(piece);
            });
        }
        page.carrier = splitter.carrier();
    }

    fn finish(&mut self, end: End, at_us: i64) {
        self.parse();
        let Log { page, splitter, .. } = self;
        page.carrier = splitter.carrier();
        page.tail = splitter.finish(&mut |piece| page.note(piece));
        page.end = Some(end);
        page.ended_us = at_us;
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The target has to be confirmed, with the gateway's sentence.
    Confirm(String),
    /// It is not to be had, with a sentence.
    Said(String),
    /// The browser gives no reason.
    Blocked,
    /// The answer points elsewhere, which a browser does not tell.
    Redirect,
    /// Somebody stopped it.
    Stopped,
}

/// A question under way; dropping it aborts its request.
pub struct Asking {
    /// The answer as it grows.
    pub log: SharedLog,
    controller: AbortController,
    silence: Option<Repeat>,
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.silence = None;
        self.controller.abort();
    }
}

impl Asking {
    /// A question that is asked with [`Asking::read`].
    ///
    /// # Errors
    /// When the browser cannot abort requests.
    pub fn new() -> Result<Asking, String> {
        let controller = AbortController::new().map_err(|error| describe(&error))?;
        let log = Log::begin();
        let (quiet, late) = (log.clone(), controller.clone());
        let silence = Repeat::every(1_000, move || {
            if browser::now_us() - quiet.borrow().heard_us > SILENCE_US {
                late.abort();
            }
        });
        Ok(Asking { log, controller, silence })
    }

    /// What ends it from elsewhere.
    pub fn controller(&self) -> AbortController {
        self.controller.clone()
    }

    /// Asks, and reads the answer to its end.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn read(
        &self,
        plan: &Plan,
        (target, question): (usize, usize),
        run: RunId,
    ) -> Result<(), Refused> {
        let request = if plan.direct {
            direct(plan, target, question)
        } else {
            through_gateway(plan, target, question, run)
        };
        let refused = |error: JsValue| Refused::Said(describe(&error));
        let init = request.map_err(refused)?;
        init.1.set_signal(Some(&self.controller.signal()));
        let request = Request::new_with_str_and_init(&init.0, &init.1).map_err(refused)?;
        let window = web_sys::window().ok_or(Refused::Blocked)?;
        {
            let mut log = self.log.borrow_mut();
            log.page.call_us = browser::now_us();
            log.heard_us = log.page.call_us;
        }
        let response = JsFuture::from(window.fetch_with_request(&request)).await;
        let at = browser::now_us();
        let response: Response = match response {
            Ok(response) => response.unchecked_into(),
            Err(_) if self.controller.signal().aborted() => return Err(Refused::Stopped),
            Err(_) if plan.direct => return Err(Refused::Blocked),
            Err(error) => return Err(refused(error)),
        };
        if response.type_() == ResponseType::Opaqueredirect {
            return Err(Refused::Redirect);
        }
        if !plan.direct && !response.ok() {
            return Err(gateway_refused(&response).await);
        }
        {
            let mut log = self.log.borrow_mut();
            log.heard_us = at;
            log.page.head_us = Some(at);
            log.page.status = Some(response.status());
            log.page.content_type = response.headers().get("content-type").ok().flatten();
        }
        let (at, whole) = match response.body() {
            Some(body) => {
                let (into, controller) = (self.log.clone(), self.controller.clone());
                chunks::read(&body, move |at_us, bytes| {
                    let mut log = into.borrow_mut();
                    let before = log.page.came.last().map_or(0, |came| came.end);
                    let end = before + u64::from(bytes.length());
                    log.heard_us = at_us;
                    log.page.came.push(Came { at_us, end });
                    log.unread.push(bytes);
                    if end > MAX_BYTES {
                        controller.abort();
                    }
                })
                .await
            }
            None => (at, true),
        };
        self.log.borrow_mut().finish(if whole { End::Closed } else { End::Cut }, at);
        Ok(())
    }
}

/// A request as the browser wants it: where, and how.
type Init = (String, RequestInit);

fn init() -> RequestInit {
    let init = RequestInit::new();
    init.set_method("POST");
    init.set_cache(RequestCache::NoStore);
    init
}

fn direct(plan: &Plan, target: usize, question: usize) -> Result<Init, JsValue> {
    let init = init();
    init.set_credentials(RequestCredentials::Omit);
    init.set_redirect(RequestRedirect::Manual);
    init.set_body(&JsValue::from_str(&plan.body_for(target, question)));
    let headers = web_sys::Headers::new()?;
    for (name, value) in plan.headers(target) {
        headers.set(&name, &value)?;
    }
    init.set_headers(&headers.into());
    Ok((plan.targets[target].url.clone(), init))
}

fn through_gateway(
    plan: &Plan,
    target: usize,
    question: usize,
    run: RunId,
) -> Result<Init, JsValue> {
    let headers: Array = plan
        .headers(target)
        .iter()
        .map(|(name, value)| {
            JsValue::from(Array::of2(&JsValue::from_str(name), &JsValue::from_str(value)))
        })
        .collect();
    let asked = Writing::new()
        .put("run", run.to_string())
        .put("url", &plan.targets[target].url)
        .put("headers", headers)
        .put("body", plan.body_for(target, question));
    let asked = match &plan.shape {
        Some(shape) => asked.put("shape", shape),
        None => asked,
    };
    Ok(("/gateway/ask".into(), posted(&asked)?))
}

/// A POST of ours to the gateway.
pub(crate) fn posted(body: &Writing) -> Result<RequestInit, JsValue> {
    let init = init();
    init.set_body(&JSON::stringify(&body.0)?.into());
    init.set_headers(&own_headers()?.into());
    Ok(init)
}

/// What only the served page can send.
fn own_headers() -> Result<web_sys::Headers, JsValue> {
    let headers = web_sys::Headers::new()?;
    headers.set("Content-Type", "application/json")?;
    headers.set("holdup-gateway", &secret())?;
    Ok(headers)
}

fn secret() -> String {
    let meta = crate::view::place::find("meta[name=holdup-gateway]");
    meta.and_then(|meta| meta.get_attribute("content")).unwrap_or_default()
}

async fn gateway_refused(response: &Response) -> Refused {
    let text = match response.text() {
        Ok(text) => JsFuture::from(text).await.ok().and_then(|text| text.as_string()),
        Err(_) => None,
    };
    let json = text.and_then(|text| Json::parse(&text).ok());
    let said = json.as_ref().map(|json| json.text("error")).unwrap_or_default();
    match json.is_some_and(|json| json.flag("confirm")) {
        true => Refused::Confirm(said),
        false if said.is_empty() => {
            Refused::Said(format!("the gateway answered {}", response.status()))
        }
        false => Refused::Said(said),
    }
}

/// A request of ours to a route of the gateway, and its answer's status and text.
///
/// # Errors
/// What the browser says.
pub(crate) async fn call(path: &str, post: Option<&Writing>) -> Result<(u16, String), String> {
    let attempt = async {
        let init = match post {
            Some(body) => posted(body)?,
            None => {
                let init = RequestInit::new();
                init.set_cache(RequestCache::NoStore);
                init.set_headers(&own_headers()?.into());
                init
            }
        };
        let request = Request::new_with_str_and_init(path, &init)?;
        let window = web_sys::window().ok_or("there is no window")?;
        let response: Response =
            JsFuture::from(window.fetch_with_request(&request)).await?.unchecked_into();
        let text = JsFuture::from(response.text()?).await?;
        Ok((response.status(), text.as_string().unwrap_or_default()))
    };
    attempt.await.map_err(|error: JsValue| describe(&error))
}

/// What the gateway saw of an answer that has ended.
///
/// # Errors
/// Why it does not tell.
pub async fn seen_of(run: RunId) -> Result<Seen, String> {
    let path = format!("/gateway/runs/{run}");
    for _ in 0..TRIES {
        match call(&path, None).await? {
            (200, text) => return Json::parse(&text).and_then(|json| seen(&json)),
            (409, _) => gloo_timers::future::TimeoutFuture::new(TRY_EACH_MS).await,
            (status, _) => return Err(format!("the gateway answered {status}")),
        }
    }
    Err("the gateway’s reader has not ended".into())
}
