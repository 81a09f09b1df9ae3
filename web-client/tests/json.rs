//! The page's JSON against `measure`'s serde impls, in both directions.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

use measure::arrivals::{Arrivals, Delivery, End, FrameMark, PageState, Reader};
use measure::clock::ClockSync;
use measure::ledger::{Entry, Ledger};
use measure::page::{Finished, Lane, Lanes, RunPost, Way};
use measure::results::{Browser, Endpoint};
use measure::script::{Body, Framing, Header, Piece, Script, Write};
use measure::{RunId, Span, Stamp};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_client::json::{self, Json};

wasm_bindgen_test_configure!(run_in_browser);

const RUN: RunId = RunId(0x0123_4567_89ab_cdef_0011_2233_4455_6677);

fn parse(value: &impl serde::Serialize) -> Json {
    Json::parse(&serde_json::to_string(value).unwrap()).unwrap()
}

fn full_arrivals() -> Arrivals {
    let mark = FrameMark { seq: Some(3), event: true, text: true, terminal: false, end: Some(180) };
    Arrivals {
        connected: Some(Stamp(1)),
        head: Some(Stamp(2)),
        status: Some(200),
        content_type: Some("text/event-stream; \"odd\"".into()),
        content_encoding: Some("gzip".into()),
        deliveries: vec![
            Delivery {
                entered: Some(Stamp(-5)),
                kernel: Some(Stamp(1_800_000_000_000_123)),
                paged: Some(Stamp(9)),
                painted: Some(Stamp(11)),
                forwarded: Some(Stamp(8)),
                bytes: Some(66),
                body_bytes: Some(0),
                frames: vec![
                    mark,
                    FrameMark { seq: None, event: false, text: false, terminal: true, end: None },
                ],
                ..Delivery::at(Stamp(7))
            },
            Delivery::at(Stamp(9)),
        ],
        end: End::TimedOut { limit_us: 10_000_000 },
        ended: Stamp(10),
        foreign_frames: 1,
        tail_bytes: 2,
        clock: Some(ClockSync { offset_us: -7, uncertainty_us: 250, round_trips: 12 }),
        page_clock: Some(ClockSync { offset_us: 9, uncertainty_us: 350, round_trips: 12 }),
        page: Some(PageState {
            hidden: true,
            longest_task_us: 51_000,
            reconnects: 1,
            worker_longest_task_us: Some(12_000),
            streams: 7,
            protocol: Some("http/1.1".into()),
        }),
        segment_bytes: Some(1448),
        head_bytes: Some(190),
        segments_in: Some(9),
        ..Arrivals::begin(RUN, Reader::Tap, Stamp(0))
    }
}

#[wasm_bindgen_test]
fn arrivals_are_read_as_serde_writes_them() {
    let mut all = vec![full_arrivals(), Arrivals::begin(RUN, Reader::Fetch, Stamp(5))];
    for end in [End::Closed, End::StoppedAtTerminal, End::Failed { what: "x\n\"".into() }] {
        all.push(Arrivals { end, ..full_arrivals() });
    }
    for arrivals in all {
        assert_eq!(json::arrivals(&parse(&arrivals)), Ok(arrivals));
    }
}

#[wasm_bindgen_test]
fn a_posted_run_is_written_as_serde_reads_it() {
    for arrivals in [full_arrivals(), Arrivals::begin(RUN, Reader::Eventsource, Stamp(5))] {
        let post = RunPost {
            cell: "direct/41x60B@50ms/fetch:chromium/http/1.1/mss1448".into(),
            round: 2,
            position: 17,
            browser: Browser {
                name: "chromium".into(),
                version: "156".into(),
                isolated: true,
                clock_step_us: 5,
            },
            arrivals,
        };
        let again: RunPost = serde_json::from_str(&json::run_post(&post)).unwrap();
        assert_eq!(again, post);
    }
    for stopped in [None, Some("by \"hand\"".to_string())] {
        let finished = Finished { runs: 3, stopped };
        let again: Finished = serde_json::from_str(&json::finished(&finished)).unwrap();
        assert_eq!(again, finished);
    }
}

#[wasm_bindgen_test]
fn ledgers_are_read_with_every_kind_of_script() {
    let write = |due, pieces| Write { due_us: Span(due), pieces };
    let body = Body::Writes {
        writes: vec![
            write(0, vec![Piece::Comment, Piece::Part { bytes: 80, from: 0, to: 20 }]),
            write(5, vec![Piece::Part { bytes: 80, from: 20, to: 80 }, Piece::Frame { bytes: 60 }]),
        ],
    };
    let headers = vec![Header { name: "X-Accel-Buffering".into(), value: "no".into() }];
    let odd = Script { body, framing: Framing::Close, nagle: true, headers };
    for (script, done, broken) in [
        (Script::headline(), Some(Stamp(99)), None),
        (odd, None, Some("the client left".to_string())),
    ] {
        // From JSON, so that fields added to the ledger need not be named here.
        let mut value = serde_json::json!({
            "run": RUN, "instance": "i", "attempts": 1, "script": script,
            "upstream_protocol": "HTTP/1.1", "started": 1, "writes": 3, "body_bytes": 120,
            "entries": [Entry { seq: 0, due: Stamp(1), before: Stamp(2), after: Stamp(3), write: 1 }],
            "segment_bytes": 1448,
        });
        value["done"] = serde_json::json!(done);
        value["broken"] = serde_json::json!(broken);
        let ledger: Ledger = serde_json::from_value(value).unwrap();
        assert_eq!(json::ledger(&parse(&ledger)), Ok(ledger));
    }
}

#[wasm_bindgen_test]
fn lanes_are_read_as_serde_writes_them() {
    let proxy = Endpoint {
        name: "haproxy".into(),
        label: "stock".into(),
        proxy: Some("haproxy".into()),
        version: Some("2.8.25".into()),
        source: Some("wheel".into()),
        sha256: Some("ab".into()),
        config: Some("defaults\n\tmode http\n".into()),
        failed: Some("no".into()),
    };
    let lanes = Lanes {
        instance: "i".into(),
        version: "0.1.0".into(),
        kernel: "Linux 6".into(),
        cpus: 2,
        load: Some(0.25),
        mss: Some(1448),
        lanes: vec![
            Lane {
                endpoint: Endpoint::direct(),
                ways: vec![
                    Way { mss: Some(1448), origin: "http://127.0.0.1:1".into(), quic: false },
                    Way { mss: None, origin: "http://127.0.0.1:2".into(), quic: false },
                ],
            },
            Lane { endpoint: proxy, ways: Vec::new() },
        ],
    };
    assert_eq!(json::lanes(&parse(&lanes)), Ok(lanes.clone()));
    let bare = Lanes { load: None, mss: None, lanes: Vec::new(), ..lanes };
    assert_eq!(json::lanes(&parse(&bare)), Ok(bare));
}

#[wasm_bindgen_test]
fn what_is_not_there_is_named() {
    for (text, why) in [
        ("{}", "instance is missing"),
        ("{\"instance\": 5}", "instance is not a text"),
        ("[1", "it is no JSON"),
    ] {
        assert_eq!(Json::parse(text).and_then(|json| json::lanes(&json)).unwrap_err(), why);
    }
    let half = Json::parse("{\"now_us\": 1.5}").unwrap();
    assert_eq!(json::clock(&half).unwrap_err(), "now_us is not whole");
}
