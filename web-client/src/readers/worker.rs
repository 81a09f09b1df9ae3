//! The `fetch-worker` reader: a Web Worker reads the stream by a clock of its own and forwards
//! each delivery to the page. It is the control that tells the browser from a busy page.
//!
//! The worker's script is plain JavaScript (`worker.js`): it knows streams and clocks, not
//! frames. Its stamps are brought to the page's clock as they come ([`Shift`]), so that
//! everything that looks at a running stream knows one clock.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gloo_timers::callback::Timeout;
use js_sys::{Array, Object, Reflect};
use measure::arrivals::End;
use measure::clock::{ClockSync, RoundTrip};
use measure::{Span, Stamp};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, MessageEvent};

use super::SharedLog;
use crate::browser::{self, describe};
use crate::guard::Listener;
use crate::once::Once;

/// Where the emitter serves the worker's script.
pub const SCRIPT: &str = "/pkg/worker.js";
/// How long the worker may take for a dozen round trips, its own start included: on a busy
/// machine a second; this is what nobody would wait for.
const ANSWER_LIMIT_MS: u32 = 10_000;

/// A message of the worker. What it does not carry is undefined; times are milliseconds of the
/// worker's own clock.
#[wasm_bindgen]
extern "C" {
    type Message;
    #[wasm_bindgen(method, getter)]
    fn id(this: &Message) -> u32;
    #[wasm_bindgen(method, getter)]
    fn at(this: &Message) -> JsValue;
    #[wasm_bindgen(method, getter)]
    fn bytes(this: &Message) -> JsValue;
}

/// What a message is told to: it came then, by the page's clock; an error when the worker is gone.
type Heard = Rc<dyn Fn(i64, Result<&Message, &str>)>;

/// Who waits for messages, by the number that they carry.
type Waiting = Rc<RefCell<Vec<(u32, Heard)>>>;

/// A running worker; dropping it ends it.
pub struct Worker {
    worker: web_sys::Worker,
    waiting: Waiting,
    next: Cell<u32>,
    broken: Rc<RefCell<Option<String>>>,
    _handlers: [Listener; 3],
}

/// What is added to a worker's stamp to give the page's, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift(i64);

impl Shift {
    /// The shift between two clocks that are synchronised with the same third one.
    pub fn between(worker: ClockSync, page: ClockSync) -> Shift {
        Shift(worker.offset_us - page.offset_us)
    }
}

thread_local! {
    static OF_PAGE: RefCell<Option<Rc<Worker>>> = const { RefCell::new(None) };
}

/// The page's one worker, which all runs share and the browser ends with the page. One that broke
/// is replaced.
///
/// # Errors
/// When the browser has no workers.
pub fn of_page() -> Result<Rc<Worker>, String> {
    let there = OF_PAGE.with_borrow(Clone::clone);
    if let Some(worker) = there.filter(|worker| worker.broken.borrow().is_none()) {
        return Ok(worker);
    }
    let worker = Rc::new(Worker::start(SCRIPT)?);
    OF_PAGE.set(Some(worker.clone()));
    Ok(worker)
}

impl Worker {
    /// Starts a worker from its script.
    ///
    /// # Errors
    /// When the browser refuses. A script that is missing is told by the first answer.
    pub fn start(script: &str) -> Result<Worker, String> {
        let worker = web_sys::Worker::new(script)
            .map_err(|error| format!("the browser starts no worker: {}", describe(&error)))?;
        let waiting = Waiting::default();
        let broken: Rc<RefCell<Option<String>>> = Rc::default();
        let fail = |name: &'static str| {
            let (waiting, broken, script) = (waiting.clone(), broken.clone(), script.to_string());
            Listener::new(&worker, name, move |event| {
                let at = browser::now_us();
                let what = event.dyn_into::<ErrorEvent>().map(|error| error.message());
                let what = what.ok().filter(|what| !what.is_empty());
                let what = what.unwrap_or_else(|| "it did not load".into());
                let why = ["the page's worker (", &script, ") broke: ", &what].concat();
                broken.replace(Some(why.clone()));
                for (_, heard) in waiting.take() {
                    heard(at, Err(&why));
                }
            })
        };
        let handlers = [on_message(&worker, waiting.clone()), fail("error"), fail("messageerror")];
        Ok(Worker { worker, waiting, next: Cell::new(0), broken, _handlers: handlers })
    }

    /// Synchronises the worker's clock by its own round trips to `url`; its step is added to the
    /// uncertainty.
    ///
    /// # Errors
    /// When the worker or the clock does not answer, in one line.
    pub async fn sync(self: &Rc<Worker>, url: &str, trips: u32) -> Result<ClockSync, String> {
        let extra = [("url", JsValue::from_str(url)), ("trips", trips.into())];
        let answer = self.ask("sync", &extra).await?;
        if let Some(failed) = field(&answer, "failed").as_string() {
            return Err(failed);
        }
        let numbers: Vec<i64> = Array::from(&field(&answer, "trips"))
            .iter()
            .enumerate()
            // Of each three the middle one is the server's, in microseconds already.
            .map(|(index, number)| match index % 3 {
                1 => number.as_f64().unwrap_or_default() as i64,
                _ => micros(&number),
            })
            .collect();
        let trips: Vec<RoundTrip> = numbers
            .chunks_exact(3)
            .map(|trip| RoundTrip { sent: trip[0], server: Stamp(trip[1]), received: trip[2] })
            .collect();
        ClockSync::from_round_trips(&trips)
            .map(|sync| sync.with_step(micros(&field(&answer, "step"))))
            .ok_or_else(|| "the worker's clock ran backwards".into())
    }

    /// The protocol that the worker's own timeline names for a stream that has ended; absent
    /// where the browser does not tell.
    pub async fn protocol(self: &Rc<Worker>, url: &str) -> Option<String> {
        let answer = self.ask("protocol", &[("url", JsValue::from_str(url))]).await.ok()?;
        field(&answer, "protocol").as_string().filter(|protocol| !protocol.is_empty())
    }

    /// Asks something that has one answer.
    async fn ask(
        self: &Rc<Worker>,
        what: &str,
        extra: &[(&str, JsValue)],
    ) -> Result<JsValue, String> {
        let answer = Once::<Result<JsValue, String>>::default();
        let heard = answer.clone();
        let place = Place::take(
            self,
            Rc::new(move |_, message| {
                heard.set(message.map(|message| JsValue::clone(message)).map_err(String::from));
            }),
        )?;
        self.post(what, place.id, extra)?;
        let late = answer.clone();
        let limit = Timeout::new(ANSWER_LIMIT_MS, move || {
            late.set(Err("the page's worker does not answer".into()));
        });
        let answered = answer.wait().await;
        drop((limit, place));
        answered
    }

    fn post(&self, what: &str, id: u32, extra: &[(&str, JsValue)]) -> Result<(), String> {
        let message = Object::new();
        for (name, value) in [(what, JsValue::from(id))].iter().chain(extra) {
            // Setting a field of a plain object of one's own cannot fail.
            let _ = Reflect::set(&message, &JsValue::from_str(name), value);
        }
        self.worker.post_message(&message).map_err(|error| describe(&error))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.worker.terminate();
    }
}

fn on_message(worker: &web_sys::Worker, waiting: Waiting) -> Listener {
    Listener::new(worker, "message", move |event| {
        let at = browser::now_us();
        let data: Message = event.unchecked_into::<MessageEvent>().data().unchecked_into();
        let id = data.id();
        let of = |list: &[(u32, Heard)]| {
            list.iter().find(|(own, _)| *own == id).map(|(_, heard)| heard.clone())
        };
        // What is said to one that has left is heard by nobody.
        let heard = of(&waiting.borrow());
        if let Some(heard) = heard {
            heard(at, Ok(&data));
        }
    })
}

/// A place among those who wait; dropping it gives it up.
struct Place {
    worker: Rc<Worker>,
    id: u32,
}

impl Place {
    fn take(worker: &Rc<Worker>, heard: Heard) -> Result<Place, String> {
        if let Some(broken) = worker.broken.borrow().as_ref() {
            return Err(broken.clone());
        }
        let id = worker.next.get();
        worker.next.set(id.wrapping_add(1));
        worker.waiting.borrow_mut().push((id, heard));
        Ok(Place { worker: worker.clone(), id })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.worker.waiting.borrow_mut().retain(|(id, _)| *id != self.id);
    }
}

/// A stream that the worker reads; dropping it closes the connection.
pub struct Reading(Place);

impl Reading {
    /// Has the worker call the stream. The page works for `work` after each delivery.
    ///
    /// # Errors
    /// When the worker is broken.
    pub fn open(
        worker: &Rc<Worker>,
        shift: Shift,
        url: &str,
        work: Option<Span>,
        log: SharedLog,
        done: Once<()>,
    ) -> Result<Reading, String> {
        let heard: Heard = Rc::new(move |at, message| {
            match message {
                Ok(message) => hear(message, at, shift, &log),
                Err(why) => log.borrow_mut().finish(End::Failed { what: why.into() }, at),
            }
            if log.borrow().ended {
                done.set(());
            } else if message.is_ok_and(|message| !message.bytes().is_undefined()) {
                browser::work(work);
            }
        });
        let place = Place::take(worker, heard)?;
        worker.post("open", place.id, &[("url", JsValue::from_str(url))])?;
        Ok(Reading(place))
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        // A worker that cannot be told is broken, and its streams with it.
        let _ = self.0.worker.post("close", self.0.id, &[]);
    }
}

fn hear(message: &Message, at: i64, shift: Shift, log: &SharedLog) {
    let stamp_of = |value: JsValue| value.as_f64().map(|_| Stamp(micros(&value) + shift.0));
    let stamp = |name: &str| stamp_of(field(message, name));
    let text = |name: &str| field(message, name).as_string();
    let mut log = log.borrow_mut();
    log.heard_us = at;
    // Nearly all messages are deliveries: they are looked for first.
    if let Some(read) = stamp_of(message.at()) {
        log.deliver(read.0, Some(at), message.bytes().unchecked_into());
    } else if let Some(called) = stamp("called") {
        log.arrivals.call = called;
    } else if let Some(head) = stamp("head") {
        log.arrivals.head = Some(head);
        log.arrivals.status = field(message, "status").as_f64().map(|status| status as u16);
        log.arrivals.content_type = text("type");
        log.arrivals.content_encoding = text("coding").filter(|coding| coding != "identity");
    } else if let Some(ended) = stamp("ended") {
        let end = match text("how").as_deref() {
            Some("closed") => End::Closed,
            Some("cut") => End::Cut,
            _ => End::Failed { what: text("what").unwrap_or_default() },
        };
        log.worker_longest_us = Some(micros(&field(message, "longest")));
        log.finish(end, ended.0);
    }
}

fn field(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &JsValue::from_str(name)).unwrap_or_default()
}

/// Milliseconds of a browser's clock in microseconds.
fn micros(ms: &JsValue) -> i64 {
    (ms.as_f64().unwrap_or_default() * 1_000.0).round() as i64
}
