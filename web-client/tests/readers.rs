//! The readers on streams from Blob URLs: no server, a real browser.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

mod streams;

use std::cell::Cell;
use std::rc::Rc;

use gloo_timers::future::TimeoutFuture;
use measure::arrivals::{End, Reader};
use measure::{RunId, Script, Span};
use wasm_bindgen::JsValue;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_client::browser::now_us;
use web_client::once::Once;
use web_client::readers::{self, Log};

use streams::{BlobUrl, RUN};

wasm_bindgen_test_configure!(run_in_browser);

const READERS: [Reader; 3] = [Reader::Eventsource, Reader::Fetch, Reader::FetchWorker];

async fn read(reader: Reader, url: &str) -> readers::SharedLog {
    let worker = streams::worker().await;
    streams::read(streams::means(reader, Some(&worker)), reader, url, None).await
}

#[wasm_bindgen_test]
async fn every_reader_recognises_every_frame() {
    let url = BlobUrl::of_script(&Script::headline(), RUN);
    for reader in READERS {
        let end = match reader {
            Reader::Eventsource => End::StoppedAtTerminal,
            _ => End::Closed,
        };
        let log = read(reader, &url.0).await;
        let log = log.borrow();
        let seqs: Vec<u32> = log.arrivals.frames().filter_map(|(_, frame)| frame.seq).collect();
        assert_eq!(seqs, (0..41).collect::<Vec<u32>>(), "{reader:?}");
        assert!(log.arrivals.has_terminal());
        assert_eq!(log.arrivals.end, end);
        assert_eq!((log.arrivals.foreign_frames, log.arrivals.tail_bytes), (0, 0));
        assert!(log.text.starts_with("the token"), "{:?}", log.text);
        // Frames that are there at once are few deliveries, not forty-one.
        assert!(
            log.arrivals.deliveries.len() < 10,
            "{reader:?}: {}",
            log.arrivals.deliveries.len()
        );
        let times: Vec<i64> = log.arrivals.deliveries.iter().map(|d| d.at.0).collect();
        assert!(times.is_sorted() && times[0] >= log.arrivals.call.0);
    }
}

#[wasm_bindgen_test]
async fn fetch_knows_bytes_status_and_type() {
    let script = Script::paced(5, Span::ZERO, 100).unwrap();
    for reader in [Reader::Fetch, Reader::FetchWorker] {
        let log = read(reader, &BlobUrl::of_script(&script, RUN).0).await;
        let arrivals = &log.borrow().arrivals;
        let bytes: u64 = arrivals.deliveries.iter().filter_map(|delivery| delivery.bytes).sum();
        assert_eq!(bytes, 500);
        assert_eq!(arrivals.status, Some(200));
        assert_eq!(arrivals.content_type.as_deref(), Some("text/event-stream"));
        let ends: Vec<u64> = arrivals.frames().filter_map(|(_, frame)| frame.end).collect();
        assert_eq!(ends, script.frame_ends());
    }
}

#[wasm_bindgen_test]
async fn a_stream_without_its_terminal_event_is_closed_and_told() {
    let bytes: Vec<u8> =
        Script::headline().player(RUN).take(5).flat_map(|(_, bytes)| bytes).collect();
    let url = BlobUrl::of(&bytes, "text/event-stream");
    let log = read(Reader::Eventsource, &url.0).await;
    assert_eq!(log.borrow().arrivals.end, End::Cut);
    // It does not come back: a second stream would double the frames.
    TimeoutFuture::new(300).await;
    assert_eq!(log.borrow().arrivals.frames().count(), 5);
    assert_eq!(log.borrow().reconnects, 0);
    for reader in [Reader::Fetch, Reader::FetchWorker] {
        let log = read(reader, &url.0).await;
        assert_eq!(log.borrow().arrivals.end, End::Closed);
        assert!(!log.borrow().arrivals.has_terminal());
    }
}

#[wasm_bindgen_test]
async fn another_runs_frames_are_counted_apart() {
    let url = BlobUrl::of_script(&Script::headline(), RunId(1));
    let log = read(Reader::Fetch, &url.0).await;
    assert_eq!(
        (log.borrow().arrivals.foreign_frames, log.borrow().arrivals.frames().count()),
        (41, 0)
    );
}

#[wasm_bindgen_test]
async fn a_wrong_type_and_a_missing_stream_are_failures_with_a_sentence() {
    let plain = BlobUrl::of(b"data: x\n\n", "text/plain");
    for (reader, url, wanted) in [
        (Reader::Eventsource, plain.0.as_str(), "EventSource refused the answer"),
        (Reader::Fetch, "blob:nowhere", "the request failed"),
        (Reader::FetchWorker, "blob:nowhere", "the request failed"),
    ] {
        let log = read(reader, url).await;
        let End::Failed { what } = log.borrow().arrivals.end.clone() else { panic!("{reader:?}") };
        assert!(what.starts_with(wanted), "{what}");
    }
}

#[wasm_bindgen_test]
async fn nothing_comes_after_a_stream_is_dropped() {
    let url = BlobUrl::of_script(&Script::headline(), RUN);
    let worker = streams::worker().await;
    for reader in READERS {
        let (log, done) = (Log::begin(RUN, reader, now_us()), Once::<()>::default());
        let means = streams::means(reader, Some(&worker));
        drop(readers::open(means, &url.0, RUN, None, &log, &done).unwrap());
        TimeoutFuture::new(150).await;
        assert!(log.borrow().arrivals.deliveries.is_empty(), "{reader:?}");
        assert!(!log.borrow().ended);
        // The handlers went with the stream: nobody else holds the log.
        assert_eq!(Rc::strong_count(&log), 1, "{reader:?}");
    }
}

#[wasm_bindgen_test]
async fn events_of_one_task_are_together_and_of_two_tasks_are_not() {
    use web_client::readers::tasks::{TOGETHER_US, TaskMarker, together};
    for webkit in [false, true] {
        let tasks = Rc::new(Cell::new(0));
        let ended = tasks.clone();
        let marker = TaskMarker::new(webkit, move || ended.set(ended.get() + 1)).unwrap();
        let first = marker.current();
        assert_eq!(marker.current(), first, "the same task");
        // A microtask runs between the events of one task.
        wasm_bindgen_futures::JsFuture::from(js_sys::Promise::resolve(&JsValue::NULL))
            .await
            .unwrap();
        assert_eq!(marker.current(), first, "a microtask is no task");
        TimeoutFuture::new(20).await;
        assert_eq!(tasks.get(), 1, "the end of the task was told, once");
        assert_ne!(marker.current(), first, "a later task");
    }
    assert!(!together(None, 0, 0));
    assert!(together(Some((4, 1_000)), 4, 1_000 + TOGETHER_US - 1));
    assert!(!together(Some((4, 1_000)), 4, 1_000 + TOGETHER_US));
    assert!(!together(Some((4, 1_000)), 5, 1_001));
}

#[wasm_bindgen_test]
async fn the_first_value_wins_and_guards_take_their_callbacks_along() {
    let once = Once::default();
    once.set(1);
    once.set(2);
    assert_eq!(once.wait().await, 1);

    let count = Rc::new(Cell::new(0));
    let counter = count.clone();
    let repeat = web_client::guard::Repeat::every(5, move || counter.set(counter.get() + 1));
    let counter = count.clone();
    let frames = web_client::guard::Frames::each(move || counter.set(counter.get() + 1));
    TimeoutFuture::new(100).await;
    drop((repeat, frames));
    let before = count.get();
    assert!(before > 3, "{before}");
    TimeoutFuture::new(60).await;
    assert_eq!(count.get(), before);
    assert_eq!(Rc::strong_count(&count), 1);
}
