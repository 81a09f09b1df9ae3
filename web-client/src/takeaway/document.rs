//! The results document, written and read by the browser's own JSON.
//!
//! `serde_json` with the derived impls of these types would be half of what the page weighs. The
//! types are `measure`'s, and the page's tests hold both directions against its serde impls.

use js_sys::{Array, JSON, Object};
use measure::arrivals::Reader;
use measure::cell::{HeaderSet, Link, Request, Slow};
use measure::guards::Guards;
use measure::results::{Browser, CellResult, Document, Endpoint, Machine, SCHEMA};
use measure::script::{Body, Framing, Piece, Script};
use measure::summary::{self, Excluded, Outcomes, Summary};
use measure::verdict::{Finding, Thresholds};
use measure::{Cell, Span, Verdict};
use wasm_bindgen::{JsCast, JsValue};

use super::fields::{Absent, Fields, Take, given, number, number_of, small};
use crate::json::{self, Json, Writing};
use crate::view::markup::filled;

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

/// Why a text is no results document that this page can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDocument {
    /// Not JSON at all.
    NoJson,
    /// JSON of something else: it names no schema.
    NoSchema,
    /// Another schema, cut to a length that can be shown.
    OtherSchema(String),
    /// What is missing or wrong in it.
    Broken(String),
}

/// A document as it is kept in a file.
pub fn written(mut document: Document) -> String {
    let rest = JSON::stringify(&given(&mut document, document_fields)).unwrap_or_default();
    // A seed may have more digits than JavaScript's numbers have.
    let rest = String::from(rest);
    let seed = document.seed.to_string();
    filled("{\"seed\":¤,¤", &[&seed, rest.get(1..).unwrap_or_default()])
}

/// The document in a text.
///
/// # Errors
/// When there is none that this page can show.
pub fn read(text: &str) -> Result<Document, NoDocument> {
    let json = Json::parse(text).map_err(|_| NoDocument::NoJson)?;
    let schema = json.get("schema").and_then(|schema| schema.value.as_string());
    match schema.as_deref() {
        Some(SCHEMA) => {}
        Some(other) => return Err(NoDocument::OtherSchema(other.chars().take(60).collect())),
        None => return Err(NoDocument::NoSchema),
    }
    let mut document = json.whole(document_of).map_err(NoDocument::Broken)?;
    document.seed = seed(&json, text).ok_or(NoDocument::Broken("seed is no number".into()))?;
    Ok(document)
}

fn document_of(json: &Json) -> Document {
    let mut document = Document {
        schema: SCHEMA.into(),
        complete: false,
        command: Vec::new(),
        seed: 0,
        started_at: String::new(),
        machine: Machine::default(),
        guards: Guards::default(),
        endpoints: Vec::new(),
        cells: Vec::new(),
    };
    document_fields(&Fields::Read(json.clone()), &mut document);
    document
}

/// The seed, to its last digit: of a number that a double cannot hold, the digits in the text.
fn seed(json: &Json, text: &str) -> Option<u64> {
    let rounded = json.get("seed")?.value.as_f64()?;
    if rounded <= js_sys::Number::MAX_SAFE_INTEGER {
        return (rounded >= 0.0 && rounded.fract() == 0.0).then_some(rounded as u64);
    }
    let key = b"\"seed\"";
    (0..text.len()).find_map(|at| {
        let rest = text.as_bytes().get(at..)?.strip_prefix(key)?.trim_ascii_start();
        let digits = rest.strip_prefix(b":")?.trim_ascii_start();
        let end = digits.iter().position(|digit| !digit.is_ascii_digit())?;
        let seed: u64 = std::str::from_utf8(&digits[..end]).ok()?.parse().ok()?;
        (seed as f64 == rounded).then_some(seed)
    })
}

/// All but the seed, which goes a way of its own.
fn document_fields(fields: &Fields, document: &mut Document) {
    fields.text("schema", &mut document.schema);
    fields.flag("complete", &mut document.complete);
    fields.texts("command", &mut document.command);
    fields.text("started_at", &mut document.started_at);
    fields.within("machine", &mut document.machine, machine_fields);
    fields.within("guards", &mut document.guards, guards_fields);
    fields.list("endpoints", &mut document.endpoints, Endpoint::direct, endpoint_fields);
    fields.list("cells", &mut document.cells, blank_row, row_fields);
}

fn machine_fields(fields: &Fields, machine: &mut Machine) {
    fields.text("kernel", &mut machine.kernel);
    fields.small("cpus", &mut machine.cpus);
    fields.may("load_before", &mut machine.load_before, Absent::Null, number_of, number);
    fields.may("load_after", &mut machine.load_after, Absent::Null, number_of, number);
    fields.small("recv_buffer", &mut machine.recv_buffer);
    fields.text_if_any("priority", &mut machine.priority, Absent::Left);
}

/// A document that does not name a tolerance was judged with the standard one.
fn guards_fields(fields: &Fields, guards: &mut Guards) {
    let span = |name: &str, value: &mut Span| {
        fields.keeps(
            name,
            value,
            |json, name| Span(json.int(name)),
            |span| JsValue::from_f64(span.as_micros() as f64),
        );
    };
    span("lateness_us", &mut guards.lateness_us);
    span("lateness_floor_us", &mut guards.lateness_floor_us);
    span("direct_hold_us", &mut guards.direct_hold_us);
    span("page_longest_task_us", &mut guards.page_longest_task_us);
    span("page_clock_us", &mut guards.page_clock_us);
    fields.keeps("lateness_share", &mut guards.lateness_share, number_of, number);
    fields.keeps("client_lag_share", &mut guards.client_lag_share, number_of, number);
    fields.keeps("direct_frames_per_read", &mut guards.direct_frames_per_read, number_of, number);
    fields.keeps("merged_writes", &mut guards.merged_writes, Json::small, small);
    fields.keeps("attempts", &mut guards.attempts, Json::small, small);
}

fn endpoint_fields(fields: &Fields, endpoint: &mut Endpoint) {
    fields.text("name", &mut endpoint.name);
    fields.text("label", &mut endpoint.label);
    fields.text_if_any("proxy", &mut endpoint.proxy, Absent::Null);
    fields.text_if_any("version", &mut endpoint.version, Absent::Null);
    fields.text_if_any("source", &mut endpoint.source, Absent::Null);
    fields.text_if_any("sha256", &mut endpoint.sha256, Absent::Null);
    fields.text_if_any("config", &mut endpoint.config, Absent::Null);
    fields.text_if_any("failed", &mut endpoint.failed, Absent::Left);
}

fn row_fields(fields: &Fields, row: &mut CellResult) {
    fields.text("id", &mut row.id);
    cell_fields(fields, &mut row.cell);
    let browser: Take<Browser> = |json, name| {
        let mut browser = blank_browser();
        browser_fields(&Fields::Read(json.field(name)), &mut browser);
        browser
    };
    fields.may("browser", &mut row.browser, Absent::Null, browser, |browser| {
        given(&mut browser.clone(), browser_fields)
    });
    summary_fields(fields, &mut row.summary);
}

fn blank_browser() -> Browser {
    Browser { name: String::new(), version: String::new(), isolated: false, clock_step_us: 0 }
}

fn browser_fields(fields: &Fields, browser: &mut Browser) {
    fields.text("name", &mut browser.name);
    fields.text("version", &mut browser.version);
    fields.flag("isolated", &mut browser.isolated);
    let mut step = Span(browser.clock_step_us);
    fields.span("clock_step_us", &mut step);
    browser.clock_step_us = step.as_micros();
}

fn cell_fields(fields: &Fields, cell: &mut Cell) {
    fields.text("endpoint", &mut cell.endpoint);
    fields.text("preset", &mut cell.preset);
    fields.must(
        "reader",
        &mut cell.reader,
        |json, _| json::reader(json),
        |reader| JsValue::from_str(reader.name()),
    );
    fields.text_if_any("engine", &mut cell.engine, Absent::Left);
    fields.within("request", &mut cell.request, request_fields);
    fields.within("link", &mut cell.link, link_fields);
    fields.small("concurrency", &mut cell.concurrency);
    fields.may("stream", &mut cell.stream, Absent::Left, Json::small, small);
    fields.span_if_any("page_work_us", &mut cell.page_work_us);
    fields.must(
        "script",
        &mut cell.script,
        |json, name| json::script(&json.field(name)),
        script_written,
    );
}

fn request_fields(fields: &Fields, request: &mut Request) {
    fields.text("client_protocol", &mut request.client_protocol);
    fields.text_if_any("upstream_protocol", &mut request.upstream_protocol, Absent::Null);
    let headers: Take<HeaderSet> = |json, name| {
        let of = json.text(name);
        let named = HeaderSet::from_name(&of);
        let named = named.or((of == HeaderSet::Browser.name()).then_some(HeaderSet::Browser));
        named.unwrap_or_else(|| {
            json.unknown("a set of headers ", &of);
            HeaderSet::Plain
        })
    };
    fields.must("headers", &mut request.headers, headers, |set| JsValue::from_str(set.name()));
    fields.text_if_any("accept_encoding", &mut request.accept_encoding, Absent::Null);
    let slow: Take<Slow> = |json, name| {
        let mut slow = Slow { read_bytes: 0, pause_us: Span::ZERO };
        slow_fields(&Fields::Read(json.field(name)), &mut slow);
        slow
    };
    fields.may("slow", &mut request.slow, Absent::Left, slow, |slow| {
        given(&mut slow.clone(), slow_fields)
    });
}

fn slow_fields(fields: &Fields, slow: &mut Slow) {
    fields.small("read_bytes", &mut slow.read_bytes);
    fields.span("pause_us", &mut slow.pause_us);
}

fn link_fields(fields: &Fields, link: &mut Link) {
    fields.may("mss", &mut link.mss, Absent::Null, Json::small, small);
    fields.may("pooled", &mut link.pooled, Absent::Null, Json::yes_or_no, |on| {
        JsValue::from_bool(*on)
    });
    fields.keeps("nagle", &mut link.nagle, Json::yes_or_no, |on| JsValue::from_bool(*on));
}

fn script_written(script: &Script) -> JsValue {
    let Script { body, framing, nagle, headers } = script;
    let framing = match framing {
        Framing::Chunked => "chunked",
        Framing::Close => "close",
    };
    let writing = Writing::new()
        .put("body", body_written(body).0)
        .put("framing", framing)
        .put("nagle", *nagle);
    if headers.is_empty() {
        return writing.0.into();
    }
    let headers: Array = headers
        .iter()
        .map(|header| Writing::new().put("name", &header.name).put("value", &header.value).0)
        .collect();
    writing.put("headers", headers).0.into()
}

fn body_written(body: &Body) -> Writing {
    match body {
        Body::Paced { frames, interval_us, frame_bytes } => Writing::new()
            .put("kind", "paced")
            .put("frames", *frames)
            .int("interval_us", interval_us.as_micros())
            .put("frame_bytes", *frame_bytes),
        Body::Writes { writes } => {
            let writes: Array = writes
                .iter()
                .map(|write| {
                    let pieces: Array =
                        write.pieces.iter().map(|piece| piece_written(piece).0).collect();
                    Writing::new().int("due_us", write.due_us.as_micros()).put("pieces", pieces).0
                })
                .collect();
            Writing::new().put("kind", "writes").put("writes", writes)
        }
    }
}

fn piece_written(piece: &Piece) -> Writing {
    match piece {
        Piece::Frame { bytes } => Writing::new().put("kind", "frame").put("bytes", *bytes),
        Piece::Part { bytes, from, to } => Writing::new()
            .put("kind", "part")
            .put("bytes", *bytes)
            .put("from", *from)
            .put("to", *to),
        Piece::Comment => Writing::new().put("kind", "comment"),
        Piece::Literal { text, frame } => {
            Writing::new().put("kind", "literal").put("text", text).put("frame", *frame)
        }
    }
}

fn summary_fields(fields: &Fields, summary: &mut Summary) {
    fields.small("runs", &mut summary.runs);
    excluded_fields(fields, &mut summary.excluded);
    if fields.is_reading() || !summary.excluded_because.is_empty() {
        fields.texts("excluded_because", &mut summary.excluded_because);
    }
    fields.within("outcomes", &mut summary.outcomes, outcomes_fields);
    fields.text_if_any("void", &mut summary.void, Absent::Null);
    fields.text_if_any("negotiated", &mut summary.negotiated, Absent::Left);
    fields.text_if_any("wire_unknown", &mut summary.wire_unknown, Absent::Left);
    for (name, spread) in [
        ("ttft_us", &mut summary.ttft_us),
        ("connect_us", &mut summary.connect_us),
        ("head_us", &mut summary.head_us),
        ("first_byte_us", &mut summary.first_byte_us),
        ("first_event_us", &mut summary.first_event_us),
        ("half_bytes_us", &mut summary.half_bytes_us),
        ("upstream_done_us", &mut summary.upstream_done_us),
        ("total_us", &mut summary.total_us),
        ("gap_us", &mut summary.gap_us),
        ("path_hold_us", &mut summary.path_hold_us),
        ("browser_hold_us", &mut summary.browser_hold_us),
        ("page_us", &mut summary.page_us),
        ("paint_us", &mut summary.paint_us),
    ] {
        fields.spread(name, spread, Absent::Null);
    }
    for (name, spread) in [
        ("first_hold_us", &mut summary.first_hold_us),
        ("left_us", &mut summary.left_us),
        ("tap_cost_us", &mut summary.tap_cost_us),
        ("tap_own_us", &mut summary.tap_own_us),
    ] {
        fields.spread(name, spread, Absent::Left);
    }
    fields.may("reads", &mut summary.reads, Absent::Null, Json::small, small);
    fields.ratio("frames_per_read", &mut summary.frames_per_read, Absent::Null);
    fields.ratio("wire_frames_per_read", &mut summary.wire_frames_per_read, Absent::Left);
    fields.ratio("busy_frames_per_delivery", &mut summary.busy_frames_per_delivery, Absent::Left);
    let share = &mut summary.single_delivery_share;
    fields.may("single_delivery_share", share, Absent::Null, number_of, number);
    for (name, count) in [
        ("head_bytes", &mut summary.head_bytes),
        ("segments_in", &mut summary.segments_in),
        ("bytes_in", &mut summary.bytes_in),
        ("temp_file_bytes", &mut summary.temp_file_bytes),
    ] {
        fields.count_if_any(name, count);
    }
    for (name, span) in [
        ("cpu_us", &mut summary.cpu_us),
        ("path_floor_us", &mut summary.path_floor_us),
        ("path_uncertainty_us", &mut summary.path_uncertainty_us),
        ("clock_uncertainty_us", &mut summary.clock_uncertainty_us),
        ("page_uncertainty_us", &mut summary.page_uncertainty_us),
    ] {
        fields.span_if_any(name, span);
    }
    fields.within("verdict", &mut summary.verdict, finding_fields);
}

fn excluded_fields(fields: &Fields, excluded: &mut Excluded) {
    let take: Take<Excluded> = |json, name| {
        let mut excluded = Excluded::default();
        let guards = json.field(name);
        let Some(counts) = guards.value.dyn_ref::<Object>() else {
            guards.wrong(&[name, " is no object"]);
            return excluded;
        };
        for guard in Object::keys(counts).iter().filter_map(|guard| guard.as_string()) {
            excluded.add(&guard, guards.small(&guard));
        }
        excluded
    };
    fields.must("excluded", excluded, take, |excluded| {
        let mut counts = Writing::new();
        for (guard, count) in excluded.iter() {
            counts = counts.put(guard, *count);
        }
        counts.0.into()
    });
}

fn outcomes_fields(fields: &Fields, outcomes: &mut Outcomes) {
    fields.small("complete", &mut outcomes.complete);
    fields.small("truncated", &mut outcomes.truncated);
    fields.small("failed", &mut outcomes.failed);
    fields.small("no_token", &mut outcomes.no_token);
}

fn finding_fields(fields: &Fields, finding: &mut Finding) {
    let verdict: Take<Verdict> = |json, name| {
        let of = json.text(name);
        VERDICTS.into_iter().find(|verdict| verdict.name() == of).unwrap_or_else(|| {
            json.unknown("a verdict ", &of);
            Verdict::CannotTell
        })
    };
    fields.must("name", &mut finding.name, verdict, |verdict| JsValue::from_str(verdict.name()));
    fields.text("because", &mut finding.because);
}

/// What every row is read over: nothing in it is a figure.
fn blank_row() -> CellResult {
    CellResult {
        id: String::new(),
        cell: Cell {
            endpoint: String::new(),
            preset: String::new(),
            reader: Reader::Recv,
            engine: None,
            request: Request::plain(),
            link: Link { mss: None, pooled: None, nagle: false },
            concurrency: 1,
            stream: None,
            page_work_us: None,
            script: Script::headline(),
        },
        browser: None,
        summary: summary::summarise(&[], None, &Thresholds::standard()),
    }
}
