//! The figures of one answer.

use serde::{Deserialize, Serialize};

use super::carrier::Carrier;
use super::count::{Events, Reads};
use super::facts::Usage;
use super::record::{ChatMark, ChatRecord};
use super::shape::Shape;
use crate::arrivals::End;
use crate::measurement::Outcome;
use crate::units::{Span, Stamp};

/// When what came, counted from the call. Each is a name of its own: none stands in for another,
/// and what did not come is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMilestones {
    /// The first byte of the body.
    #[serde(rename = "first_byte_us", default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Span>,
    /// The first event of any kind, be it without a token.
    #[serde(rename = "first_event_us", default, skip_serializing_if = "Option::is_none")]
    pub first_event: Option<Span>,
    /// The first event with a token of any channel: text, reasoning or tool call.
    #[serde(rename = "first_token_us", default, skip_serializing_if = "Option::is_none")]
    pub first_token: Option<Span>,
    /// The first event with reasoning.
    #[serde(rename = "first_reasoning_us", default, skip_serializing_if = "Option::is_none")]
    pub first_reasoning: Option<Span>,
    /// The first event with a part of a tool call.
    #[serde(rename = "first_tool_call_us", default, skip_serializing_if = "Option::is_none")]
    pub first_tool_call: Option<Span>,
    /// The first event with text that can be seen: the TTFT.
    #[serde(rename = "ttft_us", default, skip_serializing_if = "Option::is_none")]
    pub ttft: Option<Span>,
    /// The last event with text.
    #[serde(rename = "last_text_us", default, skip_serializing_if = "Option::is_none")]
    pub last_text: Option<Span>,
    /// The last event with a token of any channel.
    #[serde(rename = "last_token_us", default, skip_serializing_if = "Option::is_none")]
    pub last_token: Option<Span>,
    /// The shape's last event.
    #[serde(rename = "terminal_us", default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<Span>,
    /// The last byte of the body.
    #[serde(rename = "last_byte_us", default, skip_serializing_if = "Option::is_none")]
    pub last_byte: Option<Span>,
}

impl ChatMilestones {
    /// The milestones of a record; `call` is the moment of the call, before connect.
    pub fn of(record: &ChatRecord, call: Stamp) -> ChatMilestones {
        let first = |wanted: fn(&ChatMark) -> bool| {
            record.frames.iter().find(|mark| wanted(mark)).map(|mark| record.at(mark) - call)
        };
        let last = |wanted: fn(&ChatMark) -> bool| {
            record.frames.iter().rfind(|mark| wanted(mark)).map(|mark| record.at(mark) - call)
        };
        ChatMilestones {
            first_byte: record.reads.first().map(|read| read.at - call),
            first_event: first(ChatMark::is_event),
            first_token: first(ChatMark::has_token),
            first_reasoning: first(|mark| mark.reasoning),
            first_tool_call: first(|mark| mark.tool),
            ttft: first(|mark| mark.visible),
            last_text: last(|mark| mark.text),
            last_token: last(ChatMark::has_token),
            // A candidate of several may end before the others do.
            terminal: last(|mark| mark.terminal),
            last_byte: record.reads.last().map(|read| read.at - call),
        }
    }
}

/// One answer: how it came out, and its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatAnswer {
    /// How it came out.
    pub outcome: Outcome,
    /// Its shape.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Shape>,
    /// What carried it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carrier: Option<Carrier>,
    /// When what came.
    pub milestones: ChatMilestones,
    /// Time between consecutive events with text, in order; 0 within one read. Nothing else is in
    /// it: no keep-alive, no reasoning, no usage that follows.
    pub text_gaps: Vec<Span>,
    /// Frames, those without an event included.
    pub frames: u32,
    /// Events of any kind.
    pub events: Events,
    /// Events with text.
    pub text_events: Events,
    /// Events whose payload is none of the shape's, and events too large to be kept.
    pub unreadable_events: Events,
    /// Reads that brought a byte of the body.
    pub reads: Reads,
    /// Reads that completed a frame.
    pub delivering_reads: Reads,
    /// Reads that completed an event with text.
    pub text_reads: Reads,
    /// Tokens as the service reported them.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
}

impl ChatAnswer {
    /// The figures of a record. `status` is the response's, where there was one, and `end` how
    /// the body ended.
    pub fn of(record: &ChatRecord, call: Stamp, status: Option<u16>, end: &End) -> ChatAnswer {
        let count = |wanted: fn(&ChatMark) -> bool| {
            Events(record.frames.iter().filter(|mark| wanted(mark)).count() as u32)
        };
        let text: Vec<&ChatMark> = record.frames.iter().filter(|mark| mark.text).collect();
        let gap = |pair: &[&ChatMark]| record.at(pair[1]) - record.at(pair[0]);
        ChatAnswer {
            outcome: outcome(record, status, end),
            shape: record.shape,
            carrier: record.carrier,
            milestones: ChatMilestones::of(record, call),
            text_gaps: text.windows(2).map(gap).collect(),
            frames: record.frames.len() as u32,
            events: count(ChatMark::is_event),
            text_events: Events(text.len() as u32),
            unreadable_events: count(|mark| {
                matches!(mark.kind, super::Kind::Malformed | super::Kind::TooLarge)
            }),
            reads: Reads(record.reads.len() as u32),
            delivering_reads: distinct_reads(record.frames.iter()),
            text_reads: distinct_reads(text.into_iter()),
            usage: record.usage,
        }
    }

    /// Frames received by reads that completed at least one; absent without a frame.
    pub fn frames_per_read(&self) -> Option<f64> {
        let Reads(reads) = self.delivering_reads;
        (reads > 0).then(|| f64::from(self.frames) / f64::from(reads))
    }

    /// Whether all text came in one read. An answer of fewer than two events with text cannot
    /// tell.
    pub fn in_one_delivery(&self) -> Option<bool> {
        (self.text_events.0 > 1).then_some(self.text_reads.0 == 1)
    }

    /// Time per generated token after the first, all channels together: only where the service
    /// reported how many there were.
    pub fn per_token(&self) -> Option<Span> {
        let first = self.milestones.first_token?;
        let last = self.milestones.last_token?;
        let after_first = i64::try_from(self.usage.output?.0).ok()?.checked_sub(1)?;
        (after_first > 0).then(|| Span((last - first).as_micros() / after_first))
    }

    /// Whether its times may be pooled with others': what failed or was cut short has a first
    /// token all the same, but it is no answer's.
    pub fn is_complete(&self) -> bool {
        self.outcome == Outcome::Complete
    }
}

/// How many reads the frames came in. They are in order.
fn distinct_reads<'a>(frames: impl Iterator<Item = &'a ChatMark>) -> Reads {
    let mut reads: Vec<u32> = frames.map(|mark| mark.read).collect();
    reads.dedup();
    Reads(reads.len() as u32)
}

fn outcome(record: &ChatRecord, status: Option<u16>, end: &End) -> Outcome {
    let failed = |what: String| Outcome::Failed { what };
    if let Some(status) = status.filter(|status| !(200..300).contains(status)) {
        let said = record.error.as_ref().map(|error| format!(": {error}"));
        return failed(format!("the service answered {status}{}", said.unwrap_or_default()));
    }
    if let Some(error) = &record.error {
        return failed(format!("the service reported an error under status 200: {error}"));
    }
    if record.carrier == Some(Carrier::Html) {
        return failed("an HTML page came where an answer was expected; is it a login?".into());
    }
    if record.foreign_frames > 0 {
        return failed(format!("{} frames of another run came", record.foreign_frames));
    }
    let token = record.frames.iter().any(ChatMark::has_token);
    let ended = if token { Outcome::Complete } else { Outcome::NoToken };
    if record.frames.iter().any(|mark| mark.terminal) {
        return ended;
    }
    match end {
        End::Failed { what } => failed(what.clone()),
        End::TimedOut { limit_us } => {
            failed(format!("no byte for {} and no terminal event", Span(*limit_us)))
        }
        // Where no last event is agreed on, the framing's word is all there is.
        End::Closed if record.shape.is_some_and(Shape::is_plain) && !record.event_cut => ended,
        End::Closed | End::Cut | End::StoppedAtTerminal => Outcome::Truncated,
    }
}
