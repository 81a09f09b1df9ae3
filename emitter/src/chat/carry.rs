//! Writes a plan down as a script of literal text, in the shape's events and its carrier.

use measure::chat::Shape;
use measure::frames::word;
use measure::script::{Body, Piece, Script, Write};
use measure::{RunId, Span};
use serde_json::Value;

use super::ask::Ask;
use super::plan::Step;
use super::speakers::{Data, Event, Said, Speaker, Told};

/// Keep-alive data that is no JSON, as a proxy that wraps a comment into an event sends it.
const KEEPALIVE: &str = ": keepalive";

/// What carries the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// With the number in the `id` field, or within the data.
    Sse {
        within: bool,
    },
    Lines,
    Array,
}

/// An answer, ready to be played.
pub(super) struct Answer {
    pub(super) script: Script,
    pub(super) status: u16,
    pub(super) content_type: &'static str,
}

/// The answer to a request.
pub(super) fn answer(ask: &Ask, run: RunId) -> Answer {
    let mut speaker = Speaker::new(ask.shape);
    let mut told = Told::new(run, &ask.model);
    let writes = said(ask, &mut speaker, &mut told);
    let script = |writes| Script {
        body: Body::Writes { writes },
        framing: ask.framing,
        nagle: ask.nagle,
        headers: ask.headers.clone(),
    };
    let at_once = |due, value: &Value| {
        let text = format!("{value}\n");
        script(vec![Write { due_us: due, pieces: vec![Piece::Literal { text, frame: true }] }])
    };
    let json = "application/json";
    if let Some(status) = ask.status {
        let script = at_once(Span::ZERO, &speaker.error());
        return Answer { script, status, content_type: json };
    }
    if !ask.stream {
        // It comes when a stream would have ended.
        let due = writes.last().map_or(Span::ZERO, |(due, _)| *due);
        let (value, status) =
            if told.failed { (speaker.error(), 500) } else { (speaker.whole(&told), 200) };
        return Answer { script: at_once(due, &value), status, content_type: json };
    }
    let (carrier, content_type) = match ask.shape {
        Shape::OllamaChat | Shape::OllamaGenerate => (Carrier::Lines, "application/x-ndjson"),
        Shape::Gemini if ask.array => (Carrier::Array, json),
        shape => (Carrier::Sse { within: shape == Shape::Gemini }, "text/event-stream"),
    };
    Answer { script: script(written(carrier, run, &told, writes)), status: 200, content_type }
}

/// Events, and when the write with them is due.
type Due = (Span, Vec<Event>);

/// Says the plan.
fn said(ask: &Ask, speaker: &mut Speaker, told: &mut Told) -> Vec<Due> {
    let Some(groups) = &ask.steps else { return paced(ask, speaker, told) };
    let mut writes = Vec::new();
    for group in groups {
        let mut events = Vec::new();
        for step in &group.steps {
            say(*step, speaker, told, &mut events);
        }
        // A step that the shape has no event for is no write.
        if !events.is_empty() {
            writes.push((group.due, events));
        }
    }
    writes
}

/// Says the plan at its pace: each event in a write of its own, whatever it is for.
fn paced(ask: &Ask, speaker: &mut Speaker, told: &mut Told) -> Vec<Due> {
    let mut writes: Vec<Due> = Vec::new();
    let mut due = Span::ZERO;
    for step in ask.pace.steps(speaker.begins(), ask.usage) {
        let mut events = Vec::new();
        say(step, speaker, told, &mut events);
        if matches!(step, Step::Text(_) | Step::Reasoning(_)) {
            due = due.max(ask.pace.first);
        }
        for event in events {
            writes.push((due, vec![event]));
            due = due + ask.pace.interval;
        }
    }
    writes
}

fn say(step: Step, speaker: &mut Speaker, told: &mut Told, events: &mut Vec<Event>) {
    match step {
        Step::Comment => events.push(Event { name: None, data: Data::Comment }),
        Step::Keepalive => match speaker.keepalive() {
            Some(event) => events.push(event),
            None => events.push(Event { name: None, data: Data::Text(KEEPALIVE) }),
        },
        Step::Role => speaker.say(Said::Role, told, events),
        Step::Empty => speaker.say(Said::Text(""), told, events),
        Step::Text(count) => {
            let words = words(&mut told.text, &mut told.text_words, count);
            speaker.say(Said::Text(&words), told, events);
        }
        Step::Reasoning(count) => {
            let words = words(&mut told.reasoning, &mut told.reasoning_words, count);
            speaker.say(Said::Reasoning(&words), told, events);
        }
        Step::Tool => {
            told.tool = true;
            speaker.say(Said::Tool, told, events);
        }
        Step::Usage => speaker.say(Said::Usage, told, events),
        Step::Error => {
            told.failed = true;
            speaker.say(Said::Error, told, events);
        }
        Step::Finish => speaker.say(Said::Finish, told, events),
        Step::End => {
            told.ended = true;
            speaker.say(Said::End, told, events);
        }
    }
}

/// The next words of the sentence; they are added to what was said before.
fn words(said: &mut String, so_far: &mut u32, count: u32) -> String {
    let mut words = String::new();
    for _ in 0..count {
        if *so_far > 0 {
            words.push(' ');
        }
        words.push_str(word(*so_far as usize));
        *so_far += 1;
    }
    said.push_str(&words);
    words
}

/// Writes events down, each with its run and sequence.
fn written(carrier: Carrier, run: RunId, told: &Told, groups: Vec<Due>) -> Vec<Write> {
    let last = groups.iter().map(|(_, events)| events.len()).sum::<usize>();
    let (mut seq, mut index) = (0_u32, 0_usize);
    let mut write = |event: Event| {
        index += 1;
        let id = format!("{run}-{seq}");
        let closes = told.ended && index == last;
        let (text, frame) = match carrier {
            Carrier::Sse { within } => sse(event, &id, within),
            Carrier::Lines => line(event, &id),
            Carrier::Array => element(event, &id, seq == 0, closes),
        };
        seq += u32::from(frame);
        Piece::Literal { text, frame }
    };
    groups
        .into_iter()
        .map(|(due_us, events)| Write {
            due_us,
            pieces: events.into_iter().map(&mut write).collect(),
        })
        .collect()
}

/// `within` says that the number stands in the data: Google's own client takes an `id` line for
/// data.
fn sse(event: Event, id: &str, within: bool) -> (String, bool) {
    let name = event.name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    let line = if within { String::new() } else { format!("id: {id}\n") };
    match event.data {
        Data::Comment => (": keep-alive\n\n".into(), false),
        Data::Text(text) => (format!("{name}{line}data: {text}\n\n"), !within),
        Data::Json(mut json) => {
            if within {
                number(&mut json, id);
            }
            (format!("{name}{line}data: {json}\n\n"), true)
        }
    }
}

/// Puts run and sequence where the shape names its response, or beside everything else.
fn number(json: &mut Value, id: &str) {
    let place = if json.get("responseId").is_some() { "responseId" } else { "holdup" };
    json[place] = id.into();
}

fn line(event: Event, id: &str) -> (String, bool) {
    match event.data {
        Data::Comment => ("\n".into(), false),
        Data::Text(text) => (format!("{text}\n"), false),
        Data::Json(mut json) => {
            number(&mut json, id);
            (format!("{json}\n"), true)
        }
    }
}

fn element(event: Event, id: &str, first: bool, last: bool) -> (String, bool) {
    let Data::Json(mut json) = event.data else { return ("\n".into(), false) };
    number(&mut json, id);
    let before = if first { "[" } else { ",\r\n" };
    let after = if last { "\n]\n" } else { "" };
    (format!("{before}{json:#}{after}"), true)
}
