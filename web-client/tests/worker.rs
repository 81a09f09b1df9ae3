//! The worker that reads, beside the page: its clock, its stamps, its ends; a page that is busy
//! on purpose; paints; and a browser that batches, by construction.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

mod streams;

use std::cell::Cell;
use std::rc::Rc;

use gloo_timers::future::TimeoutFuture;
use measure::arrivals::{Arrivals, Delivery, End, FrameMark, PageState, Reader};
use measure::cell::{Cell as RunCell, DIRECT};
use measure::guards::Guards;
use measure::ledger::{Entry, Ledger};
use measure::plan::{Plan, ReaderProfile};
use measure::results::{RunRecord, judge_runs};
use measure::verdict::{Finding, Verdict};
use measure::{Script, Span, Stamp};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_client::browser::now_us;
use web_client::guard::{Frames, Listener};
use web_client::once::Once;
use web_client::paint::Painter;
use web_client::readers::open::Open;
use web_client::readers::worker::Worker;
use web_client::readers::{self, Log};
use web_client::run;

use streams::{RUN, means, page_clock, read, stand_in, timed, worker};

wasm_bindgen_test_configure!(run_in_browser);

/// A stream's own length in these tests.
const FRAMES: u32 = 12;
const INTERVAL_MS: u32 = 50;

#[wasm_bindgen_test]
async fn a_workers_stamps_are_on_the_pages_clock_and_before_the_pages_own() {
    let worker = worker().await;
    assert!(worker.1.uncertainty_us > 0 && worker.1.round_trips == 12, "{:?}", worker.1);
    let began = now_us();
    let url = timed(RUN, FRAMES, 20, 1);
    let log =
        read(means(Reader::FetchWorker, Some(&worker)), Reader::FetchWorker, &url, None).await;
    let ended = now_us();
    let log = log.borrow();
    let arrivals = &log.arrivals;
    // Two synchronised clocks apart by what they may be off, a busy machine's millisecond included.
    let off = worker.1.uncertainty_us + page_clock().uncertainty_us + 5_000;
    let within = |at: Stamp| (began - off..ended + off).contains(&at.0);
    assert!(within(arrivals.call) && within(arrivals.ended), "{arrivals:?}");
    assert_eq!(arrivals.frames().count(), FRAMES as usize);
    for delivery in &arrivals.deliveries {
        let paged = delivery.paged.unwrap();
        assert!(within(delivery.at) && (paged - delivery.at).as_micros() > -off, "{delivery:?}");
    }
    assert!(log.worker_longest_us.is_some());
    assert_eq!(arrivals.end, End::Closed);
}

#[wasm_bindgen_test]
async fn a_page_that_works_takes_frames_up_late_and_its_worker_does_not() {
    stand_in();
    let worker = worker().await;
    let work = Some(Span::millis(100));
    let mut deliveries = Vec::new();
    for reader in [Reader::Fetch, Reader::FetchWorker] {
        let url = timed(RUN, FRAMES, INTERVAL_MS, 1);
        let log = read(means(reader, Some(&worker)), reader, &url, work).await;
        assert_eq!(log.borrow().arrivals.frames().count(), FRAMES as usize, "{reader:?}");
        deliveries.push(log.borrow().arrivals.deliveries.clone());
    }
    // The stand-in of the network shares the page's thread here and plays late while that is
    // busy, one by one; through a real network they come together (holdup/tests/page_busy.rs).
    let longest = |all: &[Delivery]| all.windows(2).map(|two| two[1].at - two[0].at).max().unwrap();
    assert!(longest(&deliveries[0]) >= Span::millis(95), "{:?}", longest(&deliveries[0]));
    assert_eq!(deliveries[1].len(), FRAMES as usize, "one frame a delivery in the worker");
    let handled = |one: &Delivery| one.paged.unwrap() - one.at;
    let latest = deliveries[1].iter().map(handled).max().unwrap();
    assert!(latest >= Span::millis(400), "the page took the last one up {latest} late");
}

#[wasm_bindgen_test]
async fn a_dropped_stream_is_closed_in_the_worker_and_nobody_waits_for_it() {
    let closed = Rc::new(Cell::new(0));
    let channel = web_sys::BroadcastChannel::new("test-streams").unwrap();
    let count = closed.clone();
    let _listener = Listener::new(&channel, "message", move |_| count.set(count.get() + 1));
    let worker = worker().await;
    let (log, done) = (Log::begin(RUN, Reader::FetchWorker, now_us()), Once::<()>::default());
    let reads = means(Reader::FetchWorker, Some(&worker));
    let url = timed(RUN, 100, 20, 1);
    let stream = readers::open(reads, &url, RUN, None, &log, &done).unwrap();
    TimeoutFuture::new(150).await;
    drop(stream);
    let came = || {
        log.borrow_mut().parse();
        log.borrow().arrivals.deliveries.len()
    };
    let before = came();
    assert!(before > 0);
    TimeoutFuture::new(150).await;
    assert_eq!((closed.get(), came()), (1, before));
    assert_eq!((Rc::strong_count(&log), Rc::strong_count(&worker.0)), (1, 1));
    channel.close();
}

#[wasm_bindgen_test]
async fn a_worker_that_breaks_ends_its_streams_with_a_sentence() {
    let missing = Rc::new(Worker::start("/no-such-worker.js").unwrap());
    let why = missing.sync("test:clock", 1).await.unwrap_err();
    assert!(why.starts_with("the page's worker (/no-such-worker.js) broke: "), "{why}");
    let worker = worker().await;
    let log = Log::begin(RUN, Reader::FetchWorker, now_us());
    let (done, other) = (Once::<()>::default(), Once::<()>::default());
    let open = |url: &str, done: &Once<()>| {
        let reads = means(Reader::FetchWorker, Some(&worker));
        readers::open(reads, url, RUN, None, &log, done)
    };
    let stream = open(&timed(RUN, 1_000, 50, 1), &done).unwrap();
    let breaks = open("test:broken", &other).unwrap();
    done.wait().await;
    let End::Failed { what } = log.borrow().arrivals.end.clone() else { panic!("no end") };
    assert!(what.contains("broke") || what.contains("the request failed"), "{what}");
    drop((stream, breaks));
    TimeoutFuture::new(50).await;
    // Nothing is begun with it any more, and nothing waits for it for ever.
    let why = open(&timed(RUN, 2, 5, 1), &done).err().unwrap();
    assert!(why.contains("on purpose"), "{why}");
}

#[wasm_bindgen_test]
async fn paints_are_stamped_once_in_order_and_only_where_text_was_shown() {
    let document = web_sys::window().unwrap().document().unwrap();
    let place = document.create_element("p").unwrap();
    document.body().unwrap().append_child(&place).unwrap();
    let worker = worker().await;
    for shown in [true, false] {
        let log = Log::begin(RUN, Reader::FetchWorker, now_us());
        let done = Once::<()>::default();
        let reads = means(Reader::FetchWorker, Some(&worker));
        let url = timed(RUN, FRAMES, 30, 1);
        let stream = readers::open(reads, &url, RUN, None, &log, &done).unwrap();
        let painter = Painter::new().unwrap();
        let (drawn, place) = (log.clone(), place.clone());
        let frames = Frames::each(move || {
            if shown {
                place.set_text_content(Some(&drawn.borrow_mut().show()));
            }
            painter.frame(now_us(), vec![drawn.clone()]);
        });
        done.wait().await;
        TimeoutFuture::new(200).await;
        drop((stream, frames));
        let log = log.borrow();
        assert_eq!(log.awaits_paint(), !shown);
        let mut last = 0;
        for (delivery, frame) in log.arrivals.frames() {
            assert_eq!(delivery.painted.is_some(), shown && frame.text, "{delivery:?}");
            if let Some(painted) = delivery.painted {
                assert!(painted >= delivery.paged.unwrap() && painted.0 >= last, "{delivery:?}");
                last = painted.0;
            }
        }
    }
    place.remove();
}

#[wasm_bindgen_test]
fn paint_counts_the_first_time() {
    let log = Log::begin(RUN, Reader::Fetch, 0);
    let mut log = log.borrow_mut();
    let mark = FrameMark { seq: Some(0), event: true, text: true, terminal: false, end: None };
    log.frame(10, false, mark);
    log.frame(20, false, mark);
    log.note_painted(2, 30);
    assert!(log.awaits_paint(), "nothing is painted that no view has shown");
    log.show();
    log.note_painted(1, 40);
    log.note_painted(2, 50);
    log.note_painted(2, 60);
    let painted: Vec<_> = log.arrivals.deliveries.iter().map(|one| one.painted).collect();
    assert_eq!(painted, [Some(Stamp(40)), Some(Stamp(50))]);
}

/// The verdict of a run that a worker really read, held against a wire that was live.
async fn judged(gather: u32) -> Finding {
    let (reads, worker_clock) = worker().await;
    let log = read(
        means(Reader::FetchWorker, Some(&(reads, worker_clock))),
        Reader::FetchWorker,
        &timed(RUN, FRAMES, INTERVAL_MS, gather),
        None,
    )
    .await;
    let mut arrivals = run::shared(log.borrow().arrivals.clone(), page_clock(), Some(worker_clock));
    arrivals.page = Some(PageState {
        worker_longest_task_us: log.borrow().worker_longest_us,
        streams: 1,
        ..PageState::default()
    });
    let script = Script::paced(FRAMES, Span::millis(INTERVAL_MS.into()), 60).unwrap();
    let written = |seq: u32| arrivals.call + Span::millis((seq * INTERVAL_MS).into());
    let ledger = Ledger {
        run: RUN,
        instance: "i".into(),
        attempts: 1,
        script: script.clone(),
        upstream_protocol: "HTTP/1.1".into(),
        segment_bytes: None,
        started: arrivals.call,
        entries: (0..FRAMES)
            .map(|seq| Entry {
                seq,
                due: written(seq),
                before: written(seq),
                after: written(seq),
                write: seq,
            })
            .collect(),
        writes: FRAMES,
        body_bytes: u64::from(FRAMES) * 60,
        done: Some(written(FRAMES)),
        handed: Vec::new(),
        waits: Vec::new(),
        broken: None,
    };
    let wire = Arrivals {
        status: Some(200),
        deliveries: arrivals
            .frames()
            .map(|(_, frame)| {
                let at = written(frame.seq.unwrap()) + Span::micros(80);
                Delivery {
                    kernel: Some(at),
                    forwarded: Some(at + Span::micros(20)),
                    bytes: Some(66),
                    body_bytes: Some(60),
                    frames: vec![*frame],
                    ..Delivery::at(at)
                }
            })
            .collect(),
        end: End::Closed,
        ended: written(FRAMES),
        ..Arrivals::begin(RUN, Reader::Tap, arrivals.call)
    };
    let profile = ReaderProfile::browser(Reader::FetchWorker, Some("chromium".into()));
    let plan = Plan::preset("headline", &[DIRECT.into()], &[profile], None, 1, 1).unwrap();
    let cell = RunCell { script, ..plan.cells[0].clone() };
    let record = RunRecord {
        cell: cell.id(),
        round: 0,
        position: 0,
        ledger: Some(ledger),
        arrivals,
        wire: Some(wire),
        wire_unknown: None,
        proxy: None,
    };
    judge_runs(&[cell], &[record], &Guards::default()).remove(0).unwrap()
}

#[wasm_bindgen_test]
async fn a_browser_that_batches_is_named_and_one_that_does_not_is_live() {
    let live = judged(1).await;
    assert_eq!(live.name, Verdict::Live, "{}", live.because);
    let batched = judged(5).await;
    assert_eq!(batched.name, Verdict::BatchedInBrowser, "{}", batched.because);
    let told =
        "live on the wire, but the browser gave its worker 4.00 frames at a time, 90% within ";
    assert!(batched.because.starts_with(told), "{}", batched.because);
}

#[wasm_bindgen_test]
fn streams_to_one_origin_are_counted_and_the_seventh_is_not_silent_while_it_waits() {
    let mut six: Vec<Open> = (0..6).map(|_| Open::call("http://o")).collect();
    let other = Open::call("http://p");
    let seventh = Open::call("http://o");
    let streams: Vec<u32> = six.iter().map(Open::streams).collect();
    assert_eq!(streams, [1, 2, 3, 4, 5, 6]);
    assert_eq!((seventh.streams(), other.streams()), (7, 1));
    let now = now_us() + 60_000_000;
    assert_eq!(seventh.silent_since(5, now), now, "it waits for its turn");
    assert_eq!(six[5].silent_since(5, now), 5, "those before it do not");
    let before = now_us();
    six.pop();
    let since = seventh.silent_since(5, now);
    assert!((before..=now_us()).contains(&since), "its turn came when one ended");
    drop(six);
    drop(seventh);
    assert_eq!(Open::call("http://o").streams(), 1);
}

#[wasm_bindgen_test]
fn only_an_event_sources_deliveries_are_an_estimate() {
    let estimated = readers::deliveries_are_estimated;
    assert!(estimated(Reader::Eventsource));
    assert!(!estimated(Reader::Fetch) && !estimated(Reader::FetchWorker));
}
