//! What the page posts.

use js_sys::{Array, JSON, Object, Reflect};
use measure::Stamp;
use measure::arrivals::{Arrivals, Delivery, End, PageState};
use measure::clock::ClockSync;
use measure::page::{Finished, RunPost};
use measure::results::Browser;
use wasm_bindgen::JsValue;

/// An object that is being written.
pub(crate) struct Writing(pub(crate) Object);

impl Writing {
    pub(crate) fn new() -> Writing {
        Writing(Object::new())
    }

    pub(crate) fn put(self, name: &str, value: impl Into<JsValue>) -> Writing {
        // Setting a field of a plain object of one's own cannot fail.
        let _ = Reflect::set(&self.0, &JsValue::from_str(name), &value.into());
        self
    }

    pub(crate) fn int(self, name: &str, value: i64) -> Writing {
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

pub(crate) fn arrivals_written(arrivals: &Arrivals) -> Writing {
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
    for (name, clock) in [("clock", arrivals.clock), ("page_clock", arrivals.page_clock)] {
        if let Some(ClockSync { offset_us, uncertainty_us, round_trips }) = clock {
            let clock = Writing::new()
                .int("offset_us", offset_us)
                .int("uncertainty_us", uncertainty_us)
                .put("round_trips", round_trips);
            writing = writing.put(name, clock.0);
        }
    }
    if let Some(page) = &arrivals.page {
        writing = writing.put("page", page_written(page).0);
    }
    writing
}

fn page_written(page: &PageState) -> Writing {
    Writing::new()
        .put("hidden", page.hidden)
        .int("longest_task_us", page.longest_task_us)
        .put("reconnects", page.reconnects)
        .int_if_any("worker_longest_task_us", page.worker_longest_task_us)
        .put("streams", page.streams)
        .text_if_any("protocol", page.protocol.as_deref())
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
        .stamp_if_any("paged", delivery.paged)
        .stamp_if_any("painted", delivery.painted)
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
