//! JSON between page and emitter, by the browser's own parser.
//!
//! `serde_json` with the derived impls of these few types would be a fifth of what the page
//! costs to download, and the browser has a parser. The types are `measure`'s; the page's tests
//! hold both directions against its serde impls, so that the two cannot drift apart.

use js_sys::{Array, JSON, Object, Reflect};
use measure::arrivals::{Arrivals, Delivery, End, FrameMark, PageState, Reader};
use measure::clock::ClockSync;
use measure::ledger::{Entry, Ledger};
use measure::page::{Finished, Lane, Lanes, RunPost};
use measure::results::{Browser, Endpoint};
use measure::script::{Body, Framing, Header, Piece, Script, Write};
use measure::{RunId, Span, Stamp};
use wasm_bindgen::JsValue;

/// What is missing or of another type, by its name.
type Read<T> = Result<T, String>;

/// A value that has been parsed.
#[derive(Clone, Debug)]
pub struct Json(JsValue);

impl Json {
    /// Parses a text.
    ///
    /// # Errors
    /// When it is no JSON.
    pub fn parse(text: &str) -> Read<Json> {
        JSON::parse(text).map(Json).map_err(|_| "it is no JSON".into())
    }

    /// A field; `None` when it is absent or null.
    fn get(&self, name: &str) -> Option<Json> {
        let value = Reflect::get(&self.0, &JsValue::from_str(name)).ok()?;
        (!value.is_undefined() && !value.is_null()).then_some(Json(value))
    }

    fn field(&self, name: &str) -> Read<Json> {
        self.get(name).ok_or_else(|| format!("{name} is missing"))
    }

    fn number(&self) -> Read<f64> {
        self.0.as_f64().ok_or_else(|| "a number is expected".into())
    }

    /// A whole number; a double holds microseconds exactly for 285 years.
    fn int(&self, name: &str) -> Read<i64> {
        let number = self.field(name)?.number()?;
        if number.fract() == 0.0 { Ok(number as i64) } else { Err(format!("{name} is not whole")) }
    }

    fn small(&self, name: &str) -> Read<u32> {
        u32::try_from(self.int(name)?).map_err(|_| format!("{name} is out of range"))
    }

    fn or_zero(&self, name: &str) -> Read<i64> {
        self.get(name).map_or(Ok(0), |_| self.int(name))
    }

    fn int_if_any(&self, name: &str) -> Read<Option<i64>> {
        self.get(name).map(|_| self.int(name)).transpose()
    }

    fn stamp(&self, name: &str) -> Read<Stamp> {
        self.int(name).map(Stamp)
    }

    fn stamp_if_any(&self, name: &str) -> Read<Option<Stamp>> {
        Ok(self.int_if_any(name)?.map(Stamp))
    }

    fn bytes_if_any(&self, name: &str) -> Read<Option<u64>> {
        Ok(self.int_if_any(name)?.map(|bytes| bytes as u64))
    }

    fn small_if_any(&self, name: &str) -> Read<Option<u32>> {
        self.get(name).map(|_| self.small(name)).transpose()
    }

    fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value.0.is_truthy())
    }

    fn text(&self, name: &str) -> Read<String> {
        self.field(name)?.0.as_string().ok_or_else(|| format!("{name} is not a text"))
    }

    fn text_if_any(&self, name: &str) -> Option<String> {
        self.get(name)?.0.as_string()
    }

    fn list<T>(&self, name: &str, read: fn(&Json) -> Read<T>) -> Read<Vec<T>> {
        let Some(list) = self.get(name) else { return Ok(Vec::new()) };
        let mut items = Vec::new();
        for item in Array::from(&list.0).iter() {
            items.push(read(&Json(item))?);
        }
        Ok(items)
    }

    fn run(&self) -> Read<RunId> {
        self.text("run")?.parse().map_err(|error: measure::units::BadRunId| error.to_string())
    }
}

/// The clock route's answer.
///
/// # Errors
/// When the value is none.
pub fn clock(json: &Json) -> Read<Stamp> {
    json.stamp("now_us")
}

/// What stands behind the page.
///
/// # Errors
/// When the value is none.
pub fn lanes(json: &Json) -> Read<Lanes> {
    Ok(Lanes {
        instance: json.text("instance")?,
        version: json.text("version")?,
        kernel: json.text("kernel")?,
        cpus: json.small("cpus")?,
        load: json.get("load").map(|load| load.number()).transpose()?,
        mss: json.small_if_any("mss")?,
        lanes: json.list("lanes", |lane| {
            Ok(Lane {
                endpoint: endpoint(&lane.field("endpoint")?)?,
                origin: lane.text_if_any("origin"),
            })
        })?,
    })
}

fn endpoint(json: &Json) -> Read<Endpoint> {
    Ok(Endpoint {
        name: json.text("name")?,
        label: json.text("label")?,
        proxy: json.text_if_any("proxy"),
        version: json.text_if_any("version"),
        source: json.text_if_any("source"),
        sha256: json.text_if_any("sha256"),
        config: json.text_if_any("config"),
        failed: json.text_if_any("failed"),
    })
}

/// The emitter's side of a run.
///
/// # Errors
/// When the value is none.
pub fn ledger(json: &Json) -> Read<Ledger> {
    Ok(Ledger {
        run: json.run()?,
        instance: json.text("instance")?,
        attempts: json.small("attempts")?,
        script: script(&json.field("script")?)?,
        upstream_protocol: json.text("upstream_protocol")?,
        started: json.stamp("started")?,
        entries: json.list("entries", |entry| {
            Ok(Entry {
                seq: entry.small("seq")?,
                due: entry.stamp("due")?,
                before: entry.stamp("before")?,
                after: entry.stamp("after")?,
                write: entry.small("write")?,
            })
        })?,
        writes: json.small("writes")?,
        body_bytes: json.int("body_bytes")? as u64,
        done: json.stamp_if_any("done")?,
        broken: json.text_if_any("broken"),
        segment_bytes: json.small_if_any("segment_bytes")?,
    })
}

fn script(json: &Json) -> Read<Script> {
    let body = json.field("body")?;
    let body = match body.text("kind")?.as_str() {
        "paced" => Body::Paced {
            frames: body.small("frames")?,
            interval_us: Span(body.int("interval_us")?),
            frame_bytes: body.small("frame_bytes")?,
        },
        "writes" => Body::Writes { writes: body.list("writes", write)? },
        other => return Err(format!("a body of kind {other} is not known")),
    };
    let framing = match json.text_if_any("framing").as_deref() {
        None | Some("chunked") => Framing::Chunked,
        Some("close") => Framing::Close,
        Some(other) => return Err(format!("a framing {other} is not known")),
    };
    Ok(Script {
        body,
        framing,
        nagle: json.flag("nagle"),
        headers: json.list("headers", |header| {
            Ok(Header { name: header.text("name")?, value: header.text("value")? })
        })?,
    })
}

fn write(json: &Json) -> Read<Write> {
    Ok(Write { due_us: Span(json.int("due_us")?), pieces: json.list("pieces", piece)? })
}

fn piece(json: &Json) -> Read<Piece> {
    Ok(match json.text("kind")?.as_str() {
        "frame" => Piece::Frame { bytes: json.small("bytes")? },
        "part" => Piece::Part {
            bytes: json.small("bytes")?,
            from: json.small("from")?,
            to: json.small("to")?,
        },
        "comment" => Piece::Comment,
        other => return Err(format!("a piece of kind {other} is not known")),
    })
}

/// A reader's side of a run.
///
/// # Errors
/// When the value is none.
pub fn arrivals(json: &Json) -> Read<Arrivals> {
    Ok(Arrivals {
        run: json.run()?,
        reader: reader(&json.text("reader")?)?,
        call: json.stamp("call")?,
        connected: json.stamp_if_any("connected")?,
        head: json.stamp_if_any("head")?,
        status: json.small_if_any("status")?.map(|status| status as u16),
        content_type: json.text_if_any("content_type"),
        content_encoding: json.text_if_any("content_encoding"),
        deliveries: json.list("deliveries", delivery)?,
        end: end(&json.field("end")?)?,
        ended: json.stamp("ended")?,
        foreign_frames: json.or_zero("foreign_frames")? as u32,
        tail_bytes: json.or_zero("tail_bytes")? as u64,
        clock: json.get("clock").map(|clock| clock_sync(&clock)).transpose()?,
        page: json.get("page").map(|page| page_state(&page)).transpose()?,
        segment_bytes: json.small_if_any("segment_bytes")?,
        head_bytes: json.bytes_if_any("head_bytes")?,
        segments_in: json.bytes_if_any("segments_in")?,
    })
}

fn reader(name: &str) -> Read<Reader> {
    match name {
        "tap" => Ok(Reader::Tap),
        other => Reader::from_name(other).ok_or_else(|| format!("a reader {other} is not known")),
    }
}

fn delivery(json: &Json) -> Read<Delivery> {
    Ok(Delivery {
        at: json.stamp("at")?,
        entered: json.stamp_if_any("entered")?,
        kernel: json.stamp_if_any("kernel")?,
        forwarded: json.stamp_if_any("forwarded")?,
        bytes: json.bytes_if_any("bytes")?,
        body_bytes: json.bytes_if_any("body_bytes")?,
        frames: json.list("frames", |frame| {
            Ok(FrameMark {
                seq: frame.small_if_any("seq")?,
                event: frame.flag("event"),
                text: frame.flag("text"),
                terminal: frame.flag("terminal"),
                end: frame.bytes_if_any("end")?,
            })
        })?,
    })
}

fn end(json: &Json) -> Read<End> {
    Ok(match json.text("how")?.as_str() {
        "closed" => End::Closed,
        "stopped-at-terminal" => End::StoppedAtTerminal,
        "cut" => End::Cut,
        "timed-out" => End::TimedOut { limit_us: json.int("limit_us")? },
        "failed" => End::Failed { what: json.text("what")? },
        other => return Err(format!("an end {other} is not known")),
    })
}

fn clock_sync(json: &Json) -> Read<ClockSync> {
    Ok(ClockSync {
        offset_us: json.int("offset_us")?,
        uncertainty_us: json.int("uncertainty_us")?,
        round_trips: json.small("round_trips")?,
    })
}

fn page_state(json: &Json) -> Read<PageState> {
    Ok(PageState {
        hidden: json.flag("hidden"),
        longest_task_us: json.or_zero("longest_task_us")?,
        reconnects: json.or_zero("reconnects")? as u32,
    })
}

/// An object that is being written.
struct Writing(Object);

impl Writing {
    fn new() -> Writing {
        Writing(Object::new())
    }

    fn put(self, name: &str, value: impl Into<JsValue>) -> Writing {
        // Setting a field of a plain object of one's own cannot fail.
        let _ = Reflect::set(&self.0, &JsValue::from_str(name), &value.into());
        self
    }

    fn int(self, name: &str, value: i64) -> Writing {
        self.put(name, value as f64)
    }

    fn int_if_any(self, name: &str, value: Option<i64>) -> Writing {
        match value {
            Some(value) => self.int(name, value),
            None => self,
        }
    }

    fn stamp_if_any(self, name: &str, value: Option<Stamp>) -> Writing {
        self.int_if_any(name, value.map(|stamp| stamp.0))
    }

    fn text_if_any(self, name: &str, value: Option<&str>) -> Writing {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    fn text(self) -> String {
        JSON::stringify(&self.0).map(String::from).unwrap_or_default()
    }
}

/// A run as it is posted.
pub fn run_post(post: &RunPost) -> String {
    let Browser { name, version, isolated, clock_step_us } = &post.browser;
    let browser = Writing::new()
        .put("name", name)
        .put("version", version)
        .put("isolated", *isolated)
        .int("clock_step_us", *clock_step_us);
    Writing::new()
        .put("cell", &post.cell)
        .put("round", post.round)
        .put("position", post.position)
        .put("browser", browser.0)
        .put("arrivals", arrivals_written(&post.arrivals).0)
        .text()
}

/// The last word on a plan.
pub fn finished(finished: &Finished) -> String {
    Writing::new()
        .put("runs", finished.runs)
        .text_if_any("stopped", finished.stopped.as_deref())
        .text()
}

fn arrivals_written(arrivals: &Arrivals) -> Writing {
    let deliveries: Array = arrivals
        .deliveries
        .iter()
        .map(|delivery| JsValue::from(delivery_written(delivery).0))
        .collect();
    let mut writing = Writing::new()
        .put("run", arrivals.run.to_string())
        .put("reader", arrivals.reader.name())
        .int("call", arrivals.call.0)
        .stamp_if_any("connected", arrivals.connected)
        .stamp_if_any("head", arrivals.head)
        .int_if_any("status", arrivals.status.map(i64::from))
        .text_if_any("content_type", arrivals.content_type.as_deref())
        .text_if_any("content_encoding", arrivals.content_encoding.as_deref())
        .put("deliveries", deliveries)
        .put("end", end_written(&arrivals.end).0)
        .int("ended", arrivals.ended.0)
        .put("foreign_frames", arrivals.foreign_frames)
        .int("tail_bytes", arrivals.tail_bytes as i64)
        .int_if_any("segment_bytes", arrivals.segment_bytes.map(i64::from))
        .int_if_any("head_bytes", arrivals.head_bytes.map(|bytes| bytes as i64))
        .int_if_any("segments_in", arrivals.segments_in.map(|segments| segments as i64));
    if let Some(ClockSync { offset_us, uncertainty_us, round_trips }) = arrivals.clock {
        let clock = Writing::new()
            .int("offset_us", offset_us)
            .int("uncertainty_us", uncertainty_us)
            .put("round_trips", round_trips);
        writing = writing.put("clock", clock.0);
    }
    if let Some(PageState { hidden, longest_task_us, reconnects }) = arrivals.page {
        let page = Writing::new()
            .put("hidden", hidden)
            .int("longest_task_us", longest_task_us)
            .put("reconnects", reconnects);
        writing = writing.put("page", page.0);
    }
    writing
}

fn delivery_written(delivery: &Delivery) -> Writing {
    let frames: Array = delivery
        .frames
        .iter()
        .map(|frame| {
            let written = Writing::new()
                .int_if_any("seq", frame.seq.map(i64::from))
                .put("event", frame.event)
                .put("text", frame.text)
                .put("terminal", frame.terminal)
                .int_if_any("end", frame.end.map(|end| end as i64));
            JsValue::from(written.0)
        })
        .collect();
    Writing::new()
        .int("at", delivery.at.0)
        .stamp_if_any("entered", delivery.entered)
        .stamp_if_any("kernel", delivery.kernel)
        .stamp_if_any("forwarded", delivery.forwarded)
        .int_if_any("bytes", delivery.bytes.map(|bytes| bytes as i64))
        .int_if_any("body_bytes", delivery.body_bytes.map(|bytes| bytes as i64))
        .put("frames", frames)
}

fn end_written(end: &End) -> Writing {
    let how = |name: &str| Writing::new().put("how", name);
    match end {
        End::Closed => how("closed"),
        End::StoppedAtTerminal => how("stopped-at-terminal"),
        End::Cut => how("cut"),
        End::TimedOut { limit_us } => how("timed-out").int("limit_us", *limit_us),
        End::Failed { what } => how("failed").put("what", what),
    }
}
