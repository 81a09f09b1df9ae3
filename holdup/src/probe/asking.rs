//! Makes one request with the native reader and says what came of it.

use std::time::Duration;

use measure::chat::{ChatAnswer, ChatReader, ChatRecord, Shape};
use measure::script::EVENT_STREAM;
use measure::verdict::Thresholds;
use measure::verdict::answers::{Shown, of_answer};
use measure::{Arrivals, Delivery, End, FrameMark, RunId, Stamp};
use recv_client::{Ask, Form, Limit, Observed, observe_with};

use super::body::Sent;
use super::engine::{Asked, Asker};
use super::kind::{self, Kind, Seen};
use super::ledger::{self, Origin};
use super::plan::{Step, Way};
use super::row::{Row, Run};
use super::secret::Secrets;
use crate::interrupt::Interrupt;
use crate::runner;
use crate::target::Target;

/// One of the ways.
pub(crate) struct Place {
    pub(crate) target: Target,
    /// What stands behind, once an answer has told.
    pub(crate) origin: Origin,
}

/// The native reader with all that it sends.
pub(crate) struct Native {
    pub(crate) url: Place,
    pub(crate) against: Option<Place>,
    /// Method and headers.
    pub(crate) form: Form,
    pub(crate) sent: Sent,
    pub(crate) headers: measure::cell::HeaderSet,
    pub(crate) accept_encoding: Option<String>,
    pub(crate) shape: Option<Shape>,
    pub(crate) time: Duration,
    pub(crate) bytes: u64,
    /// Payload of a segment towards us; the link's own where absent.
    pub(crate) mss: Option<u32>,
    pub(crate) secrets: Secrets,
    pub(crate) keep_text: bool,
    pub(crate) interrupt: Interrupt,
}

impl Native {
    /// The way of a step; `--against` is planned only where there is one.
    fn place(&mut self, way: Way) -> &mut Place {
        match (way, &mut self.against) {
            (Way::Against, Some(against)) => against,
            _ => &mut self.url,
        }
    }

    fn request(&self, target: &Target, prompt: usize) -> Ask {
        let mut ask = target.ask(target.path());
        ask.headers = self.headers;
        ask.accept_encoding.clone_from(&self.accept_encoding);
        ask.form = target.form(&self.form);
        ask.form.body = self.sent.bodies.get(prompt).cloned().unwrap_or_default();
        ask.named = false;
        ask.options.read_timeout = Some(self.time);
        ask.limit = Some(Limit { time: self.time, bytes: self.bytes });
        ask.options.segment = self.mss;
        ask.leave = Some(self.interrupt.flag());
        ask
    }

    /// Whether the clock of an emitter behind one of the ways was stepped while it was asked.
    pub(crate) fn check_clocks(&self) -> Result<(), String> {
        for place in [Some(&self.url), self.against.as_ref()].into_iter().flatten() {
            ledger::check(&place.origin, (&place.target, &self.form))?;
        }
        Ok(())
    }
}

/// What one request brought.
struct Came {
    observed: Observed,
    record: ChatRecord,
    /// Why no more of it was looked at.
    left: Option<String>,
}

/// Reads on a thread of its own, which runs before other work where that may be.
fn read(
    ask: &Ask,
    shape: Option<Shape>,
    (most, time): (u64, Duration),
    interrupt: &Interrupt,
) -> Came {
    let mut reader = ChatReader::of_any_run(shape);
    let (mut decoded, mut left) = (0, None);
    let mut sink = |at: Stamp, bytes: &[u8]| {
        decoded += bytes.len() as u64;
        if left.is_some() {
            return;
        }
        if decoded > most {
            left = Some(format!("its body has more than {most} bytes (--max-bytes)"));
            return;
        }
        left = reader.read(at, bytes).err().map(|error| error.to_string());
    };
    // The run is nobody's: whatever comes is the answer.
    let observed = runner::before_others(|| observe_with(ask, RunId(0), &mut sink));
    let passed = observed.arrivals.ended - observed.arrivals.call;
    let out_of_time = passed.as_micros() >= time.as_micros() as i64;
    let timed_out = matches!(observed.arrivals.end, End::TimedOut { .. });
    if left.is_none() && (observed.stopped || timed_out) {
        left = Some(if interrupt.came() {
            "somebody wanted this to end".into()
        } else if out_of_time {
            format!("{} s are over (--time-limit)", time.as_secs_f64())
        } else {
            format!("{most} bytes have come (--max-bytes)")
        });
    }
    Came { observed, record: reader.finish(), left }
}

impl Asker for Native {
    fn ask(&mut self, step: &Step) -> Asked {
        let target = self.place(step.way).target.clone();
        let ask = self.request(&target, step.prompt);
        let Came { observed, record, left } =
            read(&ask, self.shape, (self.bytes, self.time), &self.interrupt);
        let Observed { mut arrivals, head, transport, .. } = observed;
        record.enter(&mut arrivals);
        let answer = ChatAnswer::of(&record, arrivals.call, arrivals.status, &arrivals.end);
        let seen = Seen {
            arrivals: &arrivals,
            head: head.as_ref(),
            record: &record,
            answer: &answer,
            left,
            target: &target,
            way: step.way,
            shaken: transport.tls.is_some(),
        };
        let (kind, line) = kind::of(&seen);
        let judged = judged(&arrivals, &record, kind);
        let shown = judged.as_ref().map(|judged| of_answer(judged, &Thresholds::standard()));
        let header =
            |name: &str| head.as_ref().and_then(|head| head.header(name)).map(String::from);
        let since = |at: Option<Stamp>| at.map(|at| at - arrivals.call);
        let mut row = Row {
            way: step.way,
            prompt: step.prompt,
            pair: step.pair,
            warm_up: step.warm_up,
            kind,
            line,
            status: arrivals.status,
            content_type: arrivals.content_type.clone(),
            content_encoding: arrivals.content_encoding.clone(),
            retry_after: header("retry-after"),
            server: header("server"),
            via: header("via"),
            http: transport.protocol,
            tls: transport.tls.as_ref().map(|tls| tls.version.clone()),
            connect_us: since(arrivals.connected),
            tls_us: since(transport.tls.as_ref().map(|tls| tls.handshake_done)),
            head_us: since(arrivals.head),
            records_per_read: per_read(&transport.records_per_read),
            data_frames_per_read: per_read(&transport.data_frames_per_read),
            datagrams_per_read: per_read(&transport.datagrams_per_read),
            total_us: arrivals.ended - arrivals.call,
            answer,
            finish: record.finish.clone(),
            shows: None,
            candidates: Vec::new(),
            looks: None,
            path_hold_us: None,
            clock_uncertainty_us: None,
            run: None,
            text: self.keep_text.then(|| record.text.clone()).filter(|text| !text.is_empty()),
        };
        if let Some(Shown { sighting, looks }) = shown {
            (row.shows, row.candidates, row.looks) =
                (Some(sighting.finding), sighting.candidates, looks);
        }
        if kind == Kind::Complete {
            let form = self.form.clone();
            let place = self.place(step.way);
            let asker = (&target, &form);
            let timed = ledger::timed(&mut place.origin, asker, head.as_ref(), &record, &arrivals);
            if let Some(timed) = timed {
                row.shows = Some(timed.finding);
                (row.candidates, row.looks) = (Vec::new(), None);
                row.path_hold_us = timed.holds;
                row.clock_uncertainty_us = Some(timed.uncertainty);
                row.run = Some(timed.run);
            }
        }
        let run = Run { row, record, arrivals, transport }.cleaned(&self.secrets, self.keep_text);
        Asked { run, judged }
    }
}

/// Units by the reads that brought the end of one; absent where there were none.
fn per_read(units: &[u32]) -> Option<f64> {
    let reads = units.iter().filter(|units| **units > 0).count();
    (reads > 0).then(|| f64::from(units.iter().sum::<u32>()) / reads as f64)
}

/// The arrivals by which an answer is judged; absent where there is nothing to judge.
///
/// Only what holds a token shows the pace: services write a role before the first word, and
/// reason, usage and end together with the last one. A plain stream, which has no last event of
/// its own, and an answer that was left at our limit end with their last token.
fn judged(arrivals: &Arrivals, record: &ChatRecord, kind: Kind) -> Option<Arrivals> {
    if !matches!(kind, Kind::Complete | Kind::Left) {
        return None;
    }
    let mut judged = arrivals.clone();
    let tokens: Vec<FrameMark> = record
        .frames
        .iter()
        .map(|mark| FrameMark {
            seq: None,
            event: mark.has_token() || mark.terminal,
            text: mark.has_token(),
            // A last event that holds text is text first.
            terminal: mark.terminal && !mark.has_token(),
            end: Some(mark.end),
        })
        .collect();
    let frames = judged.deliveries.iter_mut().flat_map(|delivery| &mut delivery.frames);
    for (frame, token) in frames.zip(&tokens) {
        *frame = *token;
    }
    if !judged.has_terminal() {
        let last = judged.deliveries.iter_mut().rfind(|delivery| brings_event(delivery))?;
        let end = last.frames.iter().rev().find(|frame| frame.event)?.end;
        // An end of no length behind it.
        last.frames.push(FrameMark { seq: None, event: true, text: false, terminal: true, end });
    }
    judged.end = End::StoppedAtTerminal;
    judged.tail_bytes = 0;
    judged.foreign_frames = 0;
    // A shape of lines has its own type; only a changed event stream is somebody's doing.
    let is_sse = record.carrier == Some(measure::chat::Carrier::Sse);
    if !is_sse || judged.content_type.is_none() {
        judged.content_type = Some(EVENT_STREAM.into());
    }
    if judged.status.is_some_and(|status| (200..300).contains(&status)) {
        judged.status = Some(200);
    }
    Some(judged)
}

fn brings_event(delivery: &Delivery) -> bool {
    delivery.frames.iter().any(|frame| frame.event)
}
