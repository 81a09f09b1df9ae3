//! Questions to the doctor's reader on this machine, one at a time.

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, Request, Response};

use super::answer::{self, Fault, Story};
use super::state::{Page, Phase, Question};
use super::{form, keep, view};
use crate::browser::{self, describe};
use crate::json::{Json, Writing};
use crate::own::reading::{call, posted};
use crate::readers::chunks;

fn written(question: &Question) -> Writing {
    let mut writing = Writing::new();
    for (name, value) in [
        ("product", &question.product),
        ("text", &question.text),
        ("path", &question.path),
        ("host", &question.host),
        ("version", &question.version),
    ] {
        writing = writing.put(name, value);
    }
    match question.port {
        Some(port) => writing.put("port", port),
        None => writing,
    }
}

/// What an answer's text says, by its status.
fn told(status: u16, text: &str) -> Result<Story, Fault> {
    let json = Json::parse(text).map_err(|why| Fault::plain(&why))?;
    match status {
        200 => json.whole(answer::story).map_err(|why| Fault::plain(&why)),
        _ => Err(refused(&json, status)),
    }
}

fn refused(json: &Json, status: u16) -> Fault {
    let fault = json.whole(answer::fault);
    let mut fault =
        fault.unwrap_or_else(|_| Fault::plain(&format!("the reader answered {status}")));
    if status == 413 {
        fault.about = "text".into();
    }
    fault
}

/// What the form asks; what it lacks is said there.
fn question(page: &Page) -> Option<Question> {
    if page.look(|state| state.phase.is_busy()) {
        return None;
    }
    match form::question() {
        Ok(question) => Some(question),
        Err(fault) => {
            page.fail(fault);
            None
        }
    }
}

/// Reads what stands in the form.
pub(super) fn read(page: &Page) {
    let Some(question) = question(page) else { return };
    let page = page.clone();
    page.change(|state| {
        state.phase = Phase::Reading;
        state.question.clone_from(&question);
        state.story = None;
        state.fault = None;
        state.said.clear();
    });
    browser::spawn(async move {
        match call("/configuration/read", Some(&written(&question))).await {
            Ok((status, text)) => match told(status, &text) {
                Ok(story) => {
                    page.change(|state| {
                        state.phase = Phase::Read;
                        state.story = Some(story);
                    });
                    view::to_answer();
                }
                Err(fault) => page.fail(fault),
            },
            Err(why) => page.fail(Fault::plain(&why)),
        }
    });
}

/// Hands out the configuration with a header in each location that names it.
pub(super) fn marked(page: &Page) {
    let Some(question) = question(page) else { return };
    let page = page.clone();
    browser::spawn(async move {
        match call("/configuration/marked", Some(&written(&question))).await {
            Ok((200, text)) => match Json::parse(&text) {
                Ok(json) => keep(&page, "marked.conf", &json.text("text")),
                Err(why) => page.fail(Fault::plain(&why)),
            },
            Ok((status, text)) => {
                if let Err(fault) = told(status, &text) {
                    page.fail(fault);
                }
            }
            Err(why) => page.fail(Fault::plain(&why)),
        }
    });
}

/// Measures what was read, before and after.
pub(super) fn measure(page: &Page) {
    if page.look(|state| state.phase.is_busy() || state.story.is_none()) {
        return;
    }
    let question = page.look(|state| state.question.clone());
    let page = page.clone();
    page.change(|state| {
        state.phase = Phase::Measuring(None);
        state.fault = None;
        state.said.clear();
    });
    view::to_proof();
    browser::spawn(async move {
        let ended = prove(&page, &question).await;
        page.may_abort(None);
        match ended {
            Ok(Some(story)) => {
                page.change(|state| {
                    state.phase = Phase::Measured;
                    state.story = Some(story);
                });
                // It has grown.
                view::to_proof();
            }
            Ok(None) => page.change(|state| {
                state.phase = Phase::Read;
                state.said = "Stopped: nothing of it is kept.".into();
            }),
            Err(fault) => page.fail(fault),
        }
    });
}

/// Bytes of an answer that are not a whole line yet, and what the last whole one said.
#[derive(Default)]
struct Grown {
    open: Vec<u8>,
    last: Option<Json>,
}

/// A proof from its first line to its last; none where it was stopped.
async fn prove(page: &Page, question: &Question) -> Result<Option<Story>, Fault> {
    let failed = |error: JsValue| Fault::plain(&describe(&error));
    let controller = AbortController::new().map_err(failed)?;
    let init = posted(&written(question)).map_err(failed)?;
    init.set_signal(Some(&controller.signal()));
    let request =
        Request::new_with_str_and_init("/configuration/measure", &init).map_err(failed)?;
    page.may_abort(Some(controller.clone()));
    let window = web_sys::window().ok_or_else(|| Fault::plain("there is no window"))?;
    let response = match JsFuture::from(window.fetch_with_request(&request)).await {
        Ok(response) => response.unchecked_into::<Response>(),
        Err(_) if controller.signal().aborted() => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !response.ok() {
        let text = JsFuture::from(response.text().map_err(failed)?).await.map_err(failed)?;
        return told(response.status(), &text.as_string().unwrap_or_default()).map(Some);
    }
    let grown: Rc<RefCell<Grown>> = Rc::default();
    if let Some(body) = response.body() {
        let (into, page) = (grown.clone(), page.clone());
        chunks::read(&body, move |_, bytes| {
            let mut grown = into.borrow_mut();
            grown.open.extend(bytes.to_vec());
            while let Some(end) = grown.open.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = grown.open.drain(..=end).collect();
                grown.last = Json::parse(&String::from_utf8_lossy(&line)).ok();
                if let Some(json) = grown.last.as_ref().filter(|json| json.get("runs").is_some()) {
                    let runs = (json.small("runs"), json.small("of"));
                    page.change(|state| state.phase = Phase::Measuring(Some(runs)));
                }
            }
        })
        .await;
    }
    if controller.signal().aborted() {
        return Ok(None);
    }
    let last = grown.borrow_mut().last.take();
    let Some(json) = last else { return Err(Fault::plain("the proof ended without a word")) };
    if json.flag("stopped") {
        return Ok(None);
    }
    match json.get("story") {
        Some(story) => story.whole(answer::story).map(Some).map_err(|why| Fault::plain(&why)),
        None if json.get("error").is_some() => Err(refused(&json, 200)),
        None => Err(Fault::plain("the proof ended early: is the demo still running?")),
    }
}
