//! Streams for the page's tests, without a server: scripts as Blob URLs, and streams played in
//! time by a script that stands in for the network (`streams.js`), in the page and in the worker.

#![allow(dead_code, reason = "each test file uses its part")]

use std::rc::Rc;

use measure::arrivals::Reader;
use measure::clock::ClockSync;
use measure::{RunId, Script, Span};
use web_client::browser::now_us;
use web_client::once::Once;
use web_client::readers::worker::{Shift, Worker};
use web_client::readers::{self, Log, Means, SharedLog};

pub(crate) const RUN: RunId = RunId(0xabc);

/// What stands in for the network.
const NETWORK: &str = include_str!("streams.js");
/// The worker's own script, as the page gets it.
const WORKER: &str = include_str!("../../worker.js");

/// Bytes behind a URL, for as long as this lives.
pub(crate) struct BlobUrl(pub(crate) String);

impl BlobUrl {
    pub(crate) fn of(bytes: &[u8], kind: &str) -> BlobUrl {
        let parts = js_sys::Array::of1(&js_sys::Uint8Array::from(bytes));
        let options = web_sys::BlobPropertyBag::new();
        options.set_type(kind);
        let blob = web_sys::Blob::new_with_u8_array_sequence_and_options(&parts, &options).unwrap();
        BlobUrl(web_sys::Url::create_object_url_with_blob(&blob).unwrap())
    }

    pub(crate) fn of_script(script: &Script, run: RunId) -> BlobUrl {
        let bytes: Vec<u8> = script.player(run).flat_map(|(_, bytes)| bytes).collect();
        BlobUrl::of(&bytes, "text/event-stream")
    }
}

impl Drop for BlobUrl {
    fn drop(&mut self) {
        web_sys::Url::revoke_object_url(&self.0).unwrap();
    }
}

/// A worker that runs the page's own script behind the network's stand-in, and its clock.
pub(crate) async fn worker() -> (Rc<Worker>, ClockSync) {
    let script = BlobUrl::of([NETWORK, WORKER].concat().as_bytes(), "text/javascript");
    let worker = Rc::new(Worker::start(&script.0).unwrap());
    let clock = worker.sync("test:clock", 12).await.unwrap();
    (worker, clock)
}

/// The page's clock against the wall clock that the workers are synchronised with.
pub(crate) fn page_clock() -> ClockSync {
    let origin = js_sys::Reflect::get(&performance(), &"timeOrigin".into()).unwrap();
    let offset_us = (origin.as_f64().unwrap() * 1_000.0) as i64;
    ClockSync { offset_us, uncertainty_us: 1_000, round_trips: 1 }
}

fn performance() -> wasm_bindgen::JsValue {
    web_sys::window().unwrap().performance().unwrap().into()
}

/// Puts the network's stand-in into the page as well.
pub(crate) fn stand_in() {
    js_sys::eval(&format!("globalThis.standsIn ||= (() => {{ {NETWORK}; return true; }})()"))
        .unwrap();
}

/// The address of a stream that is played in time, `gather` frames handed over at once.
pub(crate) fn timed(run: RunId, frames: u32, interval_ms: u32, gather: u32) -> String {
    format!("test:stream?run={run}&frames={frames}&interval={interval_ms}&gather={gather}")
}

/// What a reader reads with; a worker reads with the one that is given.
pub(crate) fn means(reader: Reader, worker: Option<&(Rc<Worker>, ClockSync)>) -> Means {
    match (reader, worker) {
        (Reader::Eventsource, _) => Means::EventSource,
        (Reader::FetchWorker, Some((worker, clock))) => {
            Means::FetchWorker(worker.clone(), Shift::between(*clock, page_clock()))
        }
        _ => Means::Fetch,
    }
}

/// Reads a stream to its end; the page works for `work` after each delivery.
pub(crate) async fn read(means: Means, reader: Reader, url: &str, work: Option<Span>) -> SharedLog {
    let (log, done) = (Log::begin(RUN, reader, now_us()), Once::default());
    let stream = readers::open(means, url, RUN, work, &log, &done).unwrap();
    done.wait().await;
    drop(stream);
    log
}
