//! The page's own watch, its address, its clock, and its view of a run.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

use gloo_timers::future::TimeoutFuture;
use measure::arrivals::{Arrivals, Delivery, Reader};
use measure::clock::ClockSync;
use measure::{RunId, Script, Span, Stamp};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_client::browser;
use web_client::model::{Boot, Model};
use web_client::run;
use web_client::watch::PageWatch;

wasm_bindgen_test_configure!(run_in_browser);

#[wasm_bindgen_test]
async fn a_long_task_is_seen_by_the_heartbeat() {
    let watch = PageWatch::start();
    TimeoutFuture::new(100).await;
    let calm = watch.finish(0);
    let watch = PageWatch::start();
    TimeoutFuture::new(30).await;
    let busy_until = browser::now_us() + 120_000;
    while browser::now_us() < busy_until {}
    TimeoutFuture::new(30).await;
    let busy = watch.finish(2);
    assert!(busy.longest_task_us > 80_000, "{busy:?}");
    assert!(calm.longest_task_us < busy.longest_task_us, "{calm:?}");
    assert_eq!((busy.reconnects, busy.hidden), (2, false));
}

#[wasm_bindgen_test]
async fn a_task_that_still_runs_at_the_end_counts() {
    let watch = PageWatch::start();
    let busy_until = browser::now_us() + 100_000;
    while browser::now_us() < busy_until {}
    assert!(watch.finish(0).longest_task_us > 70_000);
}

#[wasm_bindgen_test]
fn settings_come_from_the_address_and_bad_ones_are_a_state() {
    let model = Model::new("?readers=eventsource&runs=3&header=X-Accel-Buffering%3A+no&frames=12");
    model.look(|state| {
        assert_eq!(state.boot, Boot::Loading);
        assert_eq!((state.reader, state.settings.runs), (Reader::Eventsource, 3));
        assert_eq!(state.script().frame_count(), 12);
        assert_eq!(state.script().headers[0].value, "no");
    });
    for (search, why) in [
        ("?runs=0", "runs is \"0\": it must be a number from 1 to 1000"),
        ("?frames=%zz", "\"%zz\" in the address is not percent-encoded text"),
    ] {
        let model = Model::new(search);
        let boot = model.look(|state| state.boot.clone());
        assert_eq!(boot, Some(Boot::BadSettings(why.into())));
    }
}

#[wasm_bindgen_test]
fn a_query_survives_its_encoding() {
    let pairs = [("header", "X-A: b&c=d"), ("go", "1"), ("empty", "")];
    let query = browser::encode_query(&pairs);
    let again = browser::query_pairs(&format!("?{query}")).unwrap();
    let again: Vec<(&str, &str)> = again.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(again, pairs);
}

#[wasm_bindgen_test]
fn every_stream_has_an_address_of_its_own() {
    let ids: Vec<RunId> = (0..50).map(|_| browser::run_id().unwrap()).collect();
    for (index, id) in ids.iter().enumerate() {
        assert!(!ids[..index].contains(id));
    }
    let url = run::stream_url("http://127.0.0.1:1", RunId(0xab), &Script::headline());
    let run = "000000000000000000000000000000ab";
    assert_eq!(
        url,
        format!("http://127.0.0.1:1/stream?run={run}&frames=41&interval_ms=50&frame_bytes=60")
    );
}

#[wasm_bindgen_test]
fn every_stamp_is_converted_to_the_shared_clock() {
    let clock = ClockSync { offset_us: 1_000, uncertainty_us: 9, round_trips: 12 };
    let mut arrivals = Arrivals::begin(RunId(1), Reader::Fetch, Stamp(1));
    arrivals.head = Some(Stamp(2));
    let (paged, painted) = (Some(Stamp(5)), Some(Stamp(6)));
    arrivals.deliveries = vec![Delivery { paged, painted, ..Delivery::at(Stamp(3)) }];
    arrivals.ended = Stamp(4);
    let shared = run::shared(arrivals.clone(), clock, None);
    assert_eq!(
        (shared.call, shared.head, shared.ended),
        (Stamp(1_001), Some(Stamp(1_002)), Stamp(1_004))
    );
    let delivery = &shared.deliveries[0];
    assert_eq!(
        (delivery.at, delivery.paged, delivery.painted),
        (Stamp(1_003), Some(Stamp(1_005)), Some(Stamp(1_006)))
    );
    assert_eq!((shared.clock_uncertainty(), shared.page_uncertainty()), (Span(9), Span(0)));
    // A worker's clock has an uncertainty of its own, and the page's stands beside it.
    let own = ClockSync { offset_us: 77, uncertainty_us: 4, round_trips: 12 };
    let shared = run::shared(arrivals, clock, Some(own));
    assert_eq!((shared.clock, shared.page_clock), (Some(own), Some(clock)));
    assert_eq!((shared.clock_uncertainty(), shared.page_uncertainty()), (Span(4), Span(13)));
}

#[wasm_bindgen_test]
fn reads_that_webkit_split_are_joined() {
    let mut arrivals = Arrivals::begin(RunId(1), Reader::Fetch, Stamp(0));
    let read = |at, bytes| Delivery { bytes: Some(bytes), ..Delivery::at(Stamp(at)) };
    arrivals.deliveries =
        vec![read(1_000, 123), read(1_200, 207), read(1_600, 60), read(1_900, 60)];
    run::join_close(&mut arrivals);
    let joined: Vec<_> = arrivals.deliveries.iter().map(|d| (d.at.0, d.bytes)).collect();
    assert_eq!(joined, [(1_000, Some(330)), (1_600, Some(120))]);
}

#[wasm_bindgen_test]
fn the_clock_steps_and_the_browser_has_a_name() {
    let browser = browser::browser();
    assert!(browser.clock_step_us > 0 && browser.clock_step_us < 20_000, "{browser:?}");
    assert_eq!(browser.name, "chromium");
    assert!(!browser.version.is_empty());
}

#[wasm_bindgen_test]
fn a_request_that_a_browser_may_not_make_is_told_with_what_may_be_the_reason() {
    let (plain, secure) = ("http://127.0.0.1:1", "https://127.0.0.1:2");
    assert_eq!(run::perhaps(plain, plain), "");
    assert!(run::perhaps(secure, plain).contains("HTTPS may not ask over HTTP"));
    for page in [plain, secure] {
        assert!(run::perhaps(page, secure).contains("certificate"));
    }
}
