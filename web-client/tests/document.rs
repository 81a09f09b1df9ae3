//! The results document: the page's JSON against `measure`'s serde impls, in both directions, and
//! what the page says to files that are none.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

use measure::arrivals::Reader;
use measure::cell::{HeaderSet, Link, Request, Slow};
use measure::guards::Guards;
use measure::results::{Browser, CellResult, Document, Endpoint, Machine, SCHEMA};
use measure::script::{Body, Framing, Header, Piece, Script, Write};
use measure::stats::{RatioSpread, Spread};
use measure::summary::{Excluded, Outcomes, Summary};
use measure::verdict::{Finding, Thresholds};
use measure::{Cell, Span, Verdict, summary};
use serde_json::{Value, json};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_client::takeaway::document::{self, NoDocument};

wasm_bindgen_test_configure!(run_in_browser);

/// A spread that no other field has.
fn spread(seed: i64, with_quantiles: bool) -> Option<Spread> {
    Some(Spread {
        median: Span(seed),
        p95: with_quantiles.then_some(Span(seed + 1)),
        p99: with_quantiles.then_some(Span(seed + 2)),
        min: Span(-seed),
        max: Span(1_800_000_000_000_000 + seed),
        n: 20,
    })
}

fn ratio(median: f64) -> Option<RatioSpread> {
    Some(RatioSpread { median, min: 0.1, max: 41.0 })
}

/// Every field of a row, each with a value of its own.
fn full_row() -> CellResult {
    let write = |due, pieces| Write { due_us: Span(due), pieces };
    let cell = Cell {
        endpoint: "haproxy".into(),
        preset: "headline".into(),
        reader: Reader::FetchWorker,
        engine: Some("chromium".into()),
        request: Request {
            client_protocol: "http/1.1".into(),
            upstream_protocol: Some("http/1.0".into()),
            headers: HeaderSet::Browser,
            accept_encoding: Some("gzip, br".into()),
            slow: Some(Slow { read_bytes: 51_200, pause_us: Span(10_000) }),
            // A page's reader cannot be told to stop.
            pause: None,
            // A page puts no prompts to anybody.
            prompts: None,
        },
        link: Link { mss: Some(1_448), pooled: Some(false), nagle: true },
        concurrency: 7,
        stream: Some(3),
        page_work_us: Some(Span(250_000)),
        script: Script {
            body: Body::Writes {
                writes: vec![
                    write(0, vec![Piece::Comment, Piece::Part { bytes: 80, from: 0, to: 20 }]),
                    write(
                        5,
                        vec![
                            Piece::Part { bytes: 80, from: 20, to: 80 },
                            Piece::Frame { bytes: 60 },
                        ],
                    ),
                ],
            },
            framing: Framing::Close,
            nagle: true,
            headers: vec![Header { name: "X-Accel-Buffering".into(), value: "no \"\\<".into() }],
        },
    };
    let mut excluded = Excluded::default();
    excluded.add("page", 2);
    excluded.add("client", 1);
    CellResult {
        id: cell.id(),
        cell,
        browser: Some(Browser {
            name: "chromium".into(),
            version: "156".into(),
            isolated: true,
            clock_step_us: 5,
        }),
        summary: Summary {
            runs: 3,
            excluded,
            excluded_because: vec!["page: hidden".into()],
            outcomes: Outcomes { complete: 1, truncated: 2, failed: 3, no_token: 4 },
            void: Some("all runs were excluded".into()),
            ttft_us: spread(1_000, true),
            connect_us: spread(1_010, false),
            head_us: spread(1_020, true),
            first_byte_us: spread(1_030, true),
            first_event_us: spread(1_040, true),
            half_bytes_us: spread(1_050, true),
            upstream_done_us: spread(1_060, true),
            total_us: spread(1_070, true),
            gap_us: spread(1_080, true),
            reads: Some(9),
            frames_per_read: ratio(4.555_555_555_555_555),
            wire_frames_per_read: ratio(1.0),
            negotiated: Some("h2".into()),
            wire_unknown: Some("no request passed".into()),
            head_bytes: Some(190),
            first_hold_us: spread(1_090, true),
            segments_in: Some(41),
            bytes_in: Some(40_000_000_000),
            cpu_us: Some(Span(7)),
            single_delivery_share: Some(1.0 / 3.0),
            path_hold_us: spread(1_100, true),
            path_floor_us: Some(Span(-8)),
            path_uncertainty_us: Some(Span(9)),
            browser_hold_us: spread(1_110, true),
            busy_frames_per_delivery: ratio(5.0),
            left_us: spread(1_120, true),
            page_us: spread(1_130, true),
            paint_us: spread(1_140, true),
            tap_cost_us: spread(1_150, true),
            tap_own_us: spread(1_160, true),
            temp_file_bytes: Some(35_600_000),
            clock_uncertainty_us: Some(Span(10)),
            page_uncertainty_us: Some(Span(11)),
            verdict: Finding::new(Verdict::Corked, "in bursts of 4.6, \"200 ms\" apart"),
        },
    }
}

/// A row with nothing but what must be there.
fn bare_row() -> CellResult {
    let cell = Cell {
        endpoint: "direct".into(),
        preset: "headline".into(),
        reader: Reader::Recv,
        engine: None,
        request: Request::plain(),
        link: Link { mss: None, pooled: None, nagle: false },
        concurrency: 1,
        stream: None,
        page_work_us: None,
        script: Script::headline(),
    };
    let summary = summary::summarise(&[], None, &Thresholds::standard());
    CellResult { id: cell.id(), cell, browser: None, summary }
}

fn full_document() -> Document {
    let proxy = Endpoint {
        name: "haproxy".into(),
        label: "stock `mode http`".into(),
        proxy: Some("haproxy".into()),
        version: Some("2.8.25".into()),
        source: Some("wheel".into()),
        sha256: Some("ab".repeat(32)),
        config: Some("defaults\n\tmode http # é ☃ \u{1f600}\n".into()),
        failed: Some("no".into()),
    };
    Document {
        schema: SCHEMA.into(),
        complete: true,
        command: vec!["holdup".into(), "measure".into(), "--out=a b".into()],
        seed: u64::MAX - 1,
        started_at: "2026-01-02T03:04:05Z".into(),
        machine: Machine {
            kernel: "linux 6.18".into(),
            cpus: 2,
            load_before: Some(0.25),
            load_after: Some(1.5),
            recv_buffer: 65_536,
            priority: Some("real time".into()),
        },
        guards: Guards {
            lateness_us: Span(1),
            lateness_share: 0.25,
            lateness_floor_us: Span(2),
            merged_writes: 3,
            attempts: 4,
            client_lag_share: 0.75,
            direct_frames_per_read: 1.25,
            direct_hold_us: Span(5),
            page_longest_task_us: Span(6),
            page_clock_us: Span(7),
        },
        endpoints: vec![Endpoint::direct(), proxy],
        cells: vec![full_row(), bare_row()],
    }
}

/// A document of a native run, with nothing in it that may be left out.
fn bare_document() -> Document {
    Document {
        schema: SCHEMA.into(),
        complete: false,
        command: Vec::new(),
        seed: 0,
        started_at: "2026-01-02T03:04:05.678+02:00".into(),
        machine: Machine::default(),
        guards: Guards::default(),
        endpoints: Vec::new(),
        cells: Vec::new(),
    }
}

fn documents() -> Vec<Document> {
    let full = full_document();
    let mut all = vec![bare_document(), Document { cells: vec![bare_row()], ..bare_document() }];
    // Every name that an enum has in a document.
    for reader in [Reader::Recv, Reader::Eventsource, Reader::Fetch, Reader::FetchWorker] {
        let mut row = full_row();
        row.cell.reader = reader;
        all.push(Document { cells: vec![row], ..full.clone() });
    }
    for headers in [
        HeaderSet::Plain,
        HeaderSet::ChromiumEventsource,
        HeaderSet::ChromiumFetch,
        HeaderSet::Browser,
    ] {
        let mut row = full_row();
        row.cell.request.headers = headers;
        all.push(Document { cells: vec![row], ..full.clone() });
    }
    for verdict in VERDICTS {
        let mut row = full_row();
        row.summary.verdict.name = verdict;
        all.push(Document { cells: vec![row], ..full.clone() });
    }
    all.push(full);
    all
}

const VERDICTS: [Verdict; 16] = [
    Verdict::Live,
    Verdict::Held,
    Verdict::Corked,
    Verdict::BufferBursts,
    Verdict::OneBehind,
    Verdict::FlowControl,
    Verdict::BatchedAtOrigin,
    Verdict::BatchedInBrowser,
    Verdict::PageBusy,
    Verdict::ConnectionLimit,
    Verdict::TypeChanged,
    Verdict::Truncated,
    Verdict::NoToken,
    Verdict::Failed,
    Verdict::Void,
    Verdict::CannotTell,
];

/// A value whose numbers are all of one kind: JavaScript writes 1.0 as 1.
fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => json!(number.as_f64()),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(name, value)| (name, plain(value))).collect()
        }
        other => other,
    }
}

#[wasm_bindgen_test]
fn a_document_is_written_as_serde_writes_it() {
    for document in documents() {
        let text = document::written(document.clone());
        assert_eq!(Document::from_json(&text).unwrap(), document);
        // Field by field: what serde leaves out is left out, what it has as null is null.
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(plain(value), plain(serde_json::to_value(&document).unwrap()));
    }
}

#[wasm_bindgen_test]
fn a_document_is_read_as_serde_writes_it() {
    for document in documents() {
        let text = serde_json::to_string_pretty(&document).unwrap();
        assert_eq!(document::read(&text), Ok(document.clone()));
        assert_eq!(document::read(&document::written(document.clone())), Ok(document));
    }
}

#[wasm_bindgen_test]
fn every_name_of_the_schema_is_read_or_refused_by_its_name() {
    let schema: Value =
        serde_json::from_str(include_str!("../../docs/schema/results.schema.json")).unwrap();
    let names = schema["$defs"]["verdict"]["properties"]["name"]["enum"].as_array().unwrap();
    for name in names {
        let mut value = serde_json::to_value(full_document()).unwrap();
        value["cells"][0]["verdict"]["name"] = name.clone();
        let read = document::read(&value.to_string());
        match Document::from_json(&value.to_string()) {
            Ok(document) => assert_eq!(read, Ok(document)),
            Err(_) => {
                let why = format!("a verdict {} is not known", name.as_str().unwrap());
                assert_eq!(read, Err(NoDocument::Broken(why)));
            }
        }
    }
    // Whatever the page writes, the schema names.
    let named = &schema["$defs"]["cell"]["properties"];
    let value: Value = serde_json::from_str(&document::written(full_document())).unwrap();
    for field in value["cells"][0].as_object().unwrap().keys() {
        assert!(named.get(field).is_some(), "{field} is not in the schema");
    }
    for (part, of) in [("machine", "machine"), ("guards", "guards")] {
        for field in value[part].as_object().unwrap().keys() {
            let named = &schema["$defs"][of]["properties"];
            assert!(named.get(field).is_some(), "{part}.{field} is not in the schema");
        }
    }
}

#[wasm_bindgen_test]
fn an_older_document_is_read_and_unknown_fields_are_ignored() {
    let mut value = serde_json::to_value(full_document()).unwrap();
    value["guards"] = json!({ "lateness_us": 10_000 });
    value["cells"][0]["link"] = json!({ "mss": 1448 });
    value["cells"][0]["request"] = json!({ "client_protocol": "http/1.1", "headers": "plain" });
    value["new"] = json!({ "unknown": [1, 2, 3] });
    value["cells"][0]["new_us"] = json!(5);
    let text = value.to_string();
    let document = Document::from_json(&text).unwrap();
    assert_eq!(document::read(&text), Ok(document));
}

/// A full document in which one value is another.
fn with(path: &str, other: Value) -> String {
    let mut value = serde_json::to_value(full_document()).unwrap();
    *value.pointer_mut(path).unwrap() = other;
    value.to_string()
}

/// A full document in which one field is missing.
fn without(path: &str, field: &str) -> String {
    let mut value = serde_json::to_value(full_document()).unwrap();
    value.pointer_mut(path).unwrap().as_object_mut().unwrap().remove(field);
    value.to_string()
}

#[wasm_bindgen_test]
fn what_is_no_document_is_told_by_its_first_fault() {
    let full = document::written(full_document());
    let deep = "[".repeat(200_000);
    for text in ["", "{", "null", "5", "[]", "{}", &full[..full.len() / 2], "<html>", &deep] {
        let read = document::read(text);
        assert!(matches!(read, Err(NoDocument::NoJson | NoDocument::NoSchema)), "{read:?}");
    }
    let other = with("/schema", json!("holdup.results/2"));
    assert_eq!(document::read(&other), Err(NoDocument::OtherSchema("holdup.results/2".into())));
    let endless = with("/schema", json!("x".repeat(1_000_000)));
    assert_eq!(document::read(&endless), Err(NoDocument::OtherSchema("x".repeat(60))));
    for (text, why) in [
        (without("", "cells"), "cells is missing"),
        (without("", "endpoints"), "endpoints is missing"),
        (without("", "seed"), "seed is no number"),
        (without("/cells/0", "verdict"), "verdict is missing"),
        (without("/cells/0/script", "body"), "body is missing"),
        (with("/cells", json!({ "length": 4_294_967_295_u32 })), "cells is not a list"),
        (with("/cells", json!("text")), "cells is not a list"),
        (with("/cells/0/runs", json!("3")), "a number is expected"),
        (with("/cells/0/runs", json!(-1)), "runs is out of range"),
        (with("/cells/0/runs", json!(1e300)), "runs is out of range"),
        (with("/cells/0/bytes_in", json!(-1)), "bytes_in is negative"),
        (with("/cells/0/ttft_us/median", json!(0.5)), "median is not whole"),
        (with("/cells/0/excluded", json!(["page"])), "a number is expected"),
        (with("/cells/0/excluded", json!("page")), "excluded is no object"),
        (with("/cells/0/endpoint", json!(null)), "endpoint is missing"),
        (with("/cells/0/reader", json!("curl")), "a reader curl is not known"),
        (with("/cells/0/request/headers", json!("odd")), "a set of headers odd is not known"),
        (with("/complete", json!(1)), "complete is neither true nor false"),
        (with("/seed", json!(-1)), "seed is no number"),
        (with("/seed", json!("1")), "seed is no number"),
    ] {
        assert_eq!(document::read(&text), Err(NoDocument::Broken(why.into())));
        assert!(Document::from_json(&text).is_err(), "serde reads it: {why}");
    }
}
