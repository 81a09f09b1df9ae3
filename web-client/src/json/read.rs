//! What the emitter answers.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, JSON, Reflect};
use measure::arrivals::{Arrivals, Delivery, End, FrameMark, PageState, Reader};
use measure::clock::ClockSync;
use measure::ledger::{Entry, Ledger};
use measure::page::{Lane, Lanes, Way};
use measure::results::Endpoint;
use measure::script::{Body, Framing, Header, Piece, Script, Write};
use measure::units::BadRunId;
use measure::{RunId, Span, Stamp};
use wasm_bindgen::{JsCast, JsValue};

/// What is missing or of another type, by its name.
pub(crate) type Read<T> = Result<T, String>;

/// A value that has been parsed.
///
/// What is missing or wrong is noted and stands in the result as nothing; whoever reads a whole
/// document asks at its end. Leaving at each mistake would double the code of the readers below.
#[derive(Clone, Debug)]
pub struct Json {
    pub(crate) value: JsValue,
    /// The first mistake of the document.
    mistake: Rc<RefCell<Option<String>>>,
}

impl Json {
    /// Parses a text.
    ///
    /// # Errors
    /// When it is no JSON.
    pub fn parse(text: &str) -> Read<Json> {
        match JSON::parse(text) {
            Ok(value) => Ok(Json { value, mistake: Rc::default() }),
            Err(_) => Err("it is no JSON".into()),
        }
    }

    /// Reads the whole document.
    pub(crate) fn whole<T>(&self, read: fn(&Json) -> T) -> Read<T> {
        let read = read(self);
        match self.mistake.take() {
            None => Ok(read),
            Some(mistake) => Err(mistake),
        }
    }

    pub(crate) fn wrong(&self, parts: &[&str]) {
        self.mistake.borrow_mut().get_or_insert_with(|| parts.concat());
    }

    pub(crate) fn unknown(&self, what: &str, name: &str) {
        self.wrong(&[what, name, " is not known"]);
    }

    pub(crate) fn of(&self, value: JsValue) -> Json {
        Json { value, mistake: self.mistake.clone() }
    }

    /// A field; `None` when it is absent or null.
    pub(crate) fn get(&self, name: &str) -> Option<Json> {
        let value = Reflect::get(&self.value, &JsValue::from_str(name)).ok()?;
        (!value.is_undefined() && !value.is_null()).then(|| self.of(value))
    }

    pub(crate) fn field(&self, name: &str) -> Json {
        self.get(name).unwrap_or_else(|| {
            self.wrong(&[name, " is missing"]);
            self.of(JsValue::UNDEFINED)
        })
    }

    pub(crate) fn number(&self) -> f64 {
        self.value.as_f64().unwrap_or_else(|| {
            self.wrong(&["a number is expected"]);
            0.0
        })
    }

    /// A whole number; a double holds microseconds exactly for 285 years.
    pub(crate) fn int(&self, name: &str) -> i64 {
        let number = self.field(name).number();
        if number.fract() != 0.0 {
            self.wrong(&[name, " is not whole"]);
        }
        if number.abs() > js_sys::Number::MAX_SAFE_INTEGER {
            self.wrong(&[name, " is out of range"]);
            return 0;
        }
        number as i64
    }

    pub(crate) fn small(&self, name: &str) -> u32 {
        let int = self.int(name);
        if u32::try_from(int).is_err() {
            self.wrong(&[name, " is out of range"]);
        }
        int as u32
    }

    pub(crate) fn int_if_any(&self, name: &str) -> Option<i64> {
        self.get(name)?;
        Some(self.int(name))
    }

    fn or_zero(&self, name: &str) -> i64 {
        self.int_if_any(name).unwrap_or(0)
    }

    fn stamp(&self, name: &str) -> Stamp {
        Stamp(self.int(name))
    }

    fn stamp_if_any(&self, name: &str) -> Option<Stamp> {
        self.int_if_any(name).map(Stamp)
    }

    fn bytes_if_any(&self, name: &str) -> Option<u64> {
        self.int_if_any(name).map(|bytes| bytes as u64)
    }

    fn small_if_any(&self, name: &str) -> Option<u32> {
        self.get(name)?;
        Some(self.small(name))
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|json| json.value.is_truthy())
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.field(name).value.as_string().unwrap_or_else(|| {
            self.wrong(&[name, " is not a text"]);
            String::new()
        })
    }

    /// A flag that must be there.
    pub(crate) fn yes_or_no(&self, name: &str) -> bool {
        self.field(name).value.as_bool().unwrap_or_else(|| {
            self.wrong(&[name, " is neither true nor false"]);
            false
        })
    }

    pub(crate) fn text_if_any(&self, name: &str) -> Option<String> {
        self.get(name)?.value.as_string()
    }

    pub(crate) fn list<T>(&self, name: &str, read: fn(&Json) -> T) -> Vec<T> {
        self.list_by(name, &mut |item| read(item))
    }

    pub(crate) fn list_by<T>(&self, name: &str, read: &mut dyn FnMut(&Json) -> T) -> Vec<T> {
        let mut items = Vec::new();
        if let Some(list) = self.get(name) {
            // Anything that only says it has a length is no list: it may say any length.
            let Ok(list) = list.value.dyn_into::<Array>() else {
                self.wrong(&[name, " is not a list"]);
                return items;
            };
            for index in 0..list.length() {
                items.push(read(&self.of(list.get(index))));
            }
        }
        items
    }

    fn run(&self) -> RunId {
        let read: Result<RunId, BadRunId> = self.text("run").parse();
        read.unwrap_or_else(|error| {
            self.wrong(&[&error.to_string()]);
            RunId(0)
        })
    }
}

/// The clock route's answer.
///
/// # Errors
/// When the value is none.
pub fn clock(json: &Json) -> Read<Stamp> {
    json.whole(clock_of)
}

fn clock_of(json: &Json) -> Stamp {
    json.stamp("now_us")
}

/// What stands behind the page.
///
/// # Errors
/// When the value is none.
pub fn lanes(json: &Json) -> Read<Lanes> {
    json.whole(lanes_of)
}

fn lanes_of(json: &Json) -> Lanes {
    Lanes {
        instance: json.text("instance"),
        version: json.text("version"),
        kernel: json.text("kernel"),
        cpus: json.small("cpus"),
        load: json.get("load").map(|load| load.number()),
        mss: json.small_if_any("mss"),
        lanes: json.list("lanes", |lane| Lane {
            endpoint: endpoint(&lane.field("endpoint")),
            ways: lane.list("ways", |way| Way {
                mss: way.small_if_any("mss"),
                origin: way.text("origin"),
                quic: way.get("quic").is_some(),
            }),
        }),
    }
}

pub(crate) fn endpoint(json: &Json) -> Endpoint {
    Endpoint {
        name: json.text("name"),
        label: json.text("label"),
        proxy: json.text_if_any("proxy"),
        version: json.text_if_any("version"),
        source: json.text_if_any("source"),
        sha256: json.text_if_any("sha256"),
        config: json.text_if_any("config"),
        failed: json.text_if_any("failed"),
    }
}

/// The emitter's side of a run.
///
/// # Errors
/// When the value is none.
pub fn ledger(json: &Json) -> Read<Ledger> {
    json.whole(ledger_of)
}

pub(crate) fn ledger_of(json: &Json) -> Ledger {
    Ledger {
        run: json.run(),
        instance: json.text("instance"),
        attempts: json.small("attempts"),
        script: script(&json.field("script")),
        upstream_protocol: json.text("upstream_protocol"),
        started: json.stamp("started"),
        entries: json.list("entries", |entry| Entry {
            seq: entry.small("seq"),
            due: entry.stamp("due"),
            before: entry.stamp("before"),
            after: entry.stamp("after"),
            write: entry.small("write"),
        }),
        // The page does not look at it.
        handed: Vec::new(),
        waits: Vec::new(),
        writes: json.small("writes"),
        body_bytes: json.int("body_bytes") as u64,
        done: json.stamp_if_any("done"),
        broken: json.text_if_any("broken"),
        segment_bytes: json.small_if_any("segment_bytes"),
    }
}

pub(crate) fn script(json: &Json) -> Script {
    let body = json.field("body");
    let body = match body.text("kind").as_str() {
        "paced" => Body::Paced {
            frames: body.small("frames"),
            interval_us: Span(body.int("interval_us")),
            frame_bytes: body.small("frame_bytes"),
        },
        "writes" => Body::Writes { writes: body.list("writes", write) },
        other => {
            json.unknown("a body of kind ", other);
            Body::Writes { writes: Vec::new() }
        }
    };
    let framing = match json.text_if_any("framing").as_deref() {
        None | Some("chunked") => Framing::Chunked,
        Some("close") => Framing::Close,
        Some(other) => {
            json.unknown("a framing ", other);
            Framing::Chunked
        }
    };
    Script {
        body,
        framing,
        nagle: json.flag("nagle"),
        headers: json.list("headers", |header| Header {
            name: header.text("name"),
            value: header.text("value"),
        }),
    }
}

fn write(json: &Json) -> Write {
    Write { due_us: Span(json.int("due_us")), pieces: json.list("pieces", piece) }
}

fn piece(json: &Json) -> Piece {
    match json.text("kind").as_str() {
        "frame" => Piece::Frame { bytes: json.small("bytes") },
        "part" => Piece::Part {
            bytes: json.small("bytes"),
            from: json.small("from"),
            to: json.small("to"),
        },
        "comment" => Piece::Comment,
        "literal" => Piece::Literal { text: json.text("text"), frame: json.flag("frame") },
        other => {
            json.unknown("a piece of kind ", other);
            Piece::Comment
        }
    }
}

/// A reader's side of a run.
///
/// # Errors
/// When the value is none.
pub fn arrivals(json: &Json) -> Read<Arrivals> {
    json.whole(arrivals_of)
}

pub(crate) fn arrivals_of(json: &Json) -> Arrivals {
    Arrivals {
        run: json.run(),
        reader: reader(json),
        call: json.stamp("call"),
        connected: json.stamp_if_any("connected"),
        head: json.stamp_if_any("head"),
        status: json.small_if_any("status").map(|status| status as u16),
        content_type: json.text_if_any("content_type"),
        content_encoding: json.text_if_any("content_encoding"),
        deliveries: json.list("deliveries", delivery),
        end: end(&json.field("end")),
        ended: json.stamp("ended"),
        foreign_frames: json.or_zero("foreign_frames") as u32,
        tail_bytes: json.or_zero("tail_bytes") as u64,
        clock: json.get("clock").map(|clock| clock_sync(&clock)),
        page_clock: json.get("page_clock").map(|clock| clock_sync(&clock)),
        page: json.get("page").map(|page| page_state(&page)),
        segment_bytes: json.small_if_any("segment_bytes"),
        head_bytes: json.bytes_if_any("head_bytes"),
        segments_in: json.bytes_if_any("segments_in"),
        // Native readers' alone; nothing in a page asks for them.
        datagrams_lost: None,
        transport: None,
    }
}

pub(crate) fn reader(json: &Json) -> Reader {
    match json.text("reader").as_str() {
        "tap" => Reader::Tap,
        other => Reader::from_name(other).unwrap_or_else(|| {
            json.unknown("a reader ", other);
            Reader::Tap
        }),
    }
}

fn delivery(json: &Json) -> Delivery {
    Delivery {
        at: json.stamp("at"),
        entered: json.stamp_if_any("entered"),
        kernel: json.stamp_if_any("kernel"),
        forwarded: json.stamp_if_any("forwarded"),
        paged: json.stamp_if_any("paged"),
        painted: json.stamp_if_any("painted"),
        bytes: json.bytes_if_any("bytes"),
        body_bytes: json.bytes_if_any("body_bytes"),
        frames: json.list("frames", |frame| FrameMark {
            seq: frame.small_if_any("seq"),
            event: frame.flag("event"),
            text: frame.flag("text"),
            terminal: frame.flag("terminal"),
            end: frame.bytes_if_any("end"),
        }),
    }
}

fn end(json: &Json) -> End {
    match json.text("how").as_str() {
        "closed" => End::Closed,
        "stopped-at-terminal" => End::StoppedAtTerminal,
        "cut" => End::Cut,
        "timed-out" => End::TimedOut { limit_us: json.int("limit_us") },
        "failed" => End::Failed { what: json.text("what") },
        other => {
            json.unknown("an end ", other);
            End::Closed
        }
    }
}

fn clock_sync(json: &Json) -> ClockSync {
    ClockSync {
        offset_us: json.int("offset_us"),
        uncertainty_us: json.int("uncertainty_us"),
        round_trips: json.small("round_trips"),
    }
}

fn page_state(json: &Json) -> PageState {
    PageState {
        hidden: json.flag("hidden"),
        longest_task_us: json.or_zero("longest_task_us"),
        reconnects: json.or_zero("reconnects") as u32,
        worker_longest_task_us: json.int_if_any("worker_longest_task_us"),
        streams: json.or_zero("streams") as u32,
        protocol: json.text_if_any("protocol"),
    }
}
