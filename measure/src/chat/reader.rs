//! Reads one answer: bytes in any cut, with the times of their reads, to a [`ChatRecord`].

use super::carrier::{Carrier, Payload, Splitter, Unit};
use super::facts::{Facts, ServiceError};
use super::json::Json;
use super::record::{ChatMark, ChatRead, ChatRecord, Kind};
use super::shape::Shape;
use super::shapes;
use crate::frames::{TERMINAL, parse_id};
use crate::sse::MAX_EVENT_BYTES;
use crate::units::{RunId, Stamp};

/// Most reads, and most frames, that are noted of one answer: a million tokens is more than any
/// service writes in one, and what is noted of it takes 60 MB. A stream without end is to end.
pub const MAX_NOTED: usize = 1 << 20;

/// Bytes of an answer's text that are kept to be shown. A page of text is some 3 KB.
pub const TEXT_KEPT: usize = 64 << 10;

/// An answer of more reads or frames than are noted. What came before is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer came in more than {MAX_NOTED} {0}: no answer has so many, so reading stopped")]
pub struct TooLong(&'static str);

/// Reads one answer.
#[derive(Debug)]
pub struct ChatReader {
    splitter: Splitter,
    notes: Notes,
}

/// Which run's frames are ours.
#[derive(Clone, Copy, Debug)]
enum Named {
    /// Nobody asked for a run.
    None,
    /// This one's; frames of others are strangers.
    One(RunId),
    /// The one that the first frame with a run names, which the origin chose.
    First,
}

/// What comes of the frames.
#[derive(Debug)]
struct Notes {
    run: Named,
    record: ChatRecord,
    /// Events that came before the shape was known, as a plain stream has them: the record takes
    /// them over if it stays one.
    undecided: Vec<Undecided>,
    overflowed: bool,
}

/// An event that may be a plain stream's.
#[derive(Debug)]
struct Undecided {
    frame: usize,
    malformed: bool,
    text: bool,
    visible: bool,
    terminal: bool,
}

impl ChatReader {
    /// A reader of an answer of the given shape, or of one to be recognised. With a run, frames
    /// that name it get their sequence number, and frames that name another are counted apart.
    pub fn new(shape: Option<Shape>, run: Option<RunId>) -> ChatReader {
        ChatReader::with_limit(shape, run, MAX_EVENT_BYTES)
    }

    /// The same with a limit, in bytes, to what is kept of one event. A larger one is noted as
    /// [`Kind::TooLarge`].
    pub fn with_limit(
        shape: Option<Shape>,
        run: Option<RunId>,
        max_event_bytes: usize,
    ) -> ChatReader {
        ChatReader::of(shape, run.map_or(Named::None, Named::One), max_event_bytes)
    }

    /// A reader of an answer that nobody gave a run: if its frames name one, as those of Holdup's
    /// emitter do, they get their sequence numbers, and [`ChatRecord::run`] says which it was.
    pub fn of_any_run(shape: Option<Shape>) -> ChatReader {
        ChatReader::of(shape, Named::First, MAX_EVENT_BYTES)
    }

    fn of(shape: Option<Shape>, run: Named, max_event_bytes: usize) -> ChatReader {
        let record = ChatRecord { shape, ..ChatRecord::default() };
        ChatReader {
            splitter: Splitter::new(shape, max_event_bytes),
            notes: Notes { run, record, undecided: Vec::new(), overflowed: false },
        }
    }

    /// Takes what one read brought, decoded. `at` is when that read returned: the caller notes it
    /// there, so that nothing which is done with the bytes counts as their way. Bytes with the
    /// time of the last ones are of the same read: one may decode to more than its caller holds
    /// at once, and a connection returns from no two reads in one microsecond.
    ///
    /// # Errors
    /// When more came than is noted of one answer; what came before is kept.
    pub fn read(&mut self, at: Stamp, bytes: &[u8]) -> Result<(), TooLong> {
        if bytes.is_empty() {
            return Ok(());
        }
        let reads = &mut self.notes.record.reads;
        let noted = reads.len();
        match reads.last_mut() {
            Some(last) if last.at == at => last.bytes += bytes.len() as u64,
            _ if noted >= MAX_NOTED => return Err(TooLong("reads")),
            _ => reads.push(ChatRead { at, bytes: bytes.len() as u64 }),
        }
        self.feed(bytes)
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), TooLong> {
        self.splitter.feed(bytes, &mut |unit| self.notes.take(unit));
        if self.notes.overflowed { Err(TooLong("events")) } else { Ok(()) }
    }

    /// What is noted so far. Before the end the shape may still be unknown, and with it which
    /// events held text.
    pub fn so_far(&self) -> &ChatRecord {
        &self.notes.record
    }

    /// Ends the answer.
    pub fn finish(self) -> ChatRecord {
        let ChatReader { splitter, mut notes } = self;
        notes.record.carrier = splitter.carrier();
        let left = splitter.finish(&mut |unit| notes.take(unit));
        notes.record.tail_bytes = left.bytes;
        notes.record.event_cut = left.event_cut;
        notes.settle();
        notes.record
    }
}

impl Notes {
    fn take(&mut self, unit: Unit<'_>) {
        if self.record.frames.len() >= MAX_NOTED {
            self.overflowed = true;
            return;
        }
        let read = self.record.reads.len().saturating_sub(1) as u32;
        let kind = match unit.payload {
            Payload::None => Kind::Comment,
            Payload::Data(_) => Kind::Event,
            Payload::TooLarge => Kind::TooLarge,
        };
        let mark = ChatMark::new(read, unit.end, kind);
        match unit.payload {
            Payload::Data(data) => self.event(mark, &unit, &String::from_utf8_lossy(data)),
            Payload::None | Payload::TooLarge => {
                let id = unit.id.as_deref();
                self.push(mark, id);
            }
        }
    }

    fn event(&mut self, mark: ChatMark, unit: &Unit<'_>, data: &str) {
        if data.trim() == TERMINAL {
            let terminal = self.record.shape.is_none_or(Shape::ends_with_done);
            self.push(ChatMark { terminal, ..mark }, unit.id.as_deref());
            return;
        }
        let json = Json::parse(data).ok();
        let object = json.as_ref().filter(|json| matches!(json, Json::Object(_)));
        if let Some(object) = object
            && self.record.shape.is_none()
        {
            self.record.shape = Shape::of_event(&unit.name, object);
            if self.record.shape.is_some() {
                self.recognised();
            }
        }
        let payload_id = object.and_then(|json| json.text("holdup").or(json.text("responseId")));
        let id = unit.id.as_deref().or(payload_id);
        match (self.record.shape, object) {
            (Some(shape), Some(object)) => {
                let facts = shapes::facts(shape, &unit.name, object);
                self.facts(mark, id, facts);
            }
            (Some(shape), None) if shape.is_json() => {
                let error = plain(&unit.name, None, data).error;
                self.record.error = self.record.error.take().or(error);
                let kind = if data.trim().is_empty() { mark.kind } else { Kind::Malformed };
                self.push(ChatMark { kind, ..mark }, id);
            }
            (Some(_), None) => self.facts(mark, id, plain(&unit.name, json.as_ref(), data)),
            (None, _) => self.undecided(mark, id, unit, json.as_ref(), data),
        }
    }

    fn undecided(
        &mut self,
        mark: ChatMark,
        id: Option<&str>,
        unit: &Unit<'_>,
        json: Option<&Json>,
        data: &str,
    ) {
        let is_object = matches!(json, Some(Json::Object(_)));
        let facts = match json.filter(|_| is_object) {
            Some(object) => shapes::facts(Shape::Sse, &unit.name, object),
            None => plain(&unit.name, json, data),
        };
        self.record.error = self.record.error.take().or(facts.error);
        let undecided = Undecided {
            frame: self.record.frames.len(),
            malformed: !is_object && !data.trim().is_empty(),
            text: !facts.text.is_empty(),
            visible: is_visible(&facts.text),
            terminal: facts.terminal,
        };
        if self.push(mark, id) {
            self.undecided.push(undecided);
            self.keep_text(&facts.text);
        }
    }

    /// The shape is known: what came before was none of its text.
    fn recognised(&mut self) {
        let is_json = self.record.shape.is_some_and(Shape::is_json);
        for undecided in self.undecided.drain(..) {
            if undecided.malformed && is_json {
                self.record.frames[undecided.frame].kind = Kind::Malformed;
            }
        }
        self.record.text.clear();
        self.record.text_bytes = 0;
    }

    /// The end came and no shape was recognised: a plain stream, if there were events at all.
    fn settle(&mut self) {
        let carrier = self.record.carrier;
        if self.record.shape.is_none() {
            self.record.shape = match carrier {
                Some(Carrier::Sse) if !self.record.frames.is_empty() => Some(Shape::Sse),
                Some(Carrier::Ndjson | Carrier::Json | Carrier::JsonArray) => Some(Shape::Ndjson),
                _ => None,
            };
            let is_json = self.record.shape.is_some_and(Shape::is_json);
            for undecided in self.undecided.drain(..) {
                let mark = &mut self.record.frames[undecided.frame];
                mark.text = undecided.text;
                mark.visible = undecided.visible;
                mark.terminal |= undecided.terminal;
                if undecided.malformed && is_json {
                    *mark =
                        ChatMark { kind: Kind::Malformed, text: false, visible: false, ..*mark };
                }
            }
        }
        // An answer that was not streamed ends with its last byte.
        let one_object = matches!(carrier, Some(Carrier::Json | Carrier::Ndjson))
            && self.record.shape.is_some_and(Shape::only_sse);
        if one_object && let [whole] = self.record.frames.as_mut_slice() {
            whole.terminal = true;
        }
    }

    fn facts(&mut self, mark: ChatMark, id: Option<&str>, facts: Facts) {
        let mark = ChatMark {
            text: !facts.text.is_empty(),
            visible: is_visible(&facts.text),
            reasoning: !facts.reasoning.is_empty(),
            tool: !facts.tool.is_empty(),
            terminal: facts.terminal,
            ..mark
        };
        if !self.push(mark, id) {
            return;
        }
        self.keep_text(&facts.text);
        let record = &mut self.record;
        record.reasoning_bytes += facts.reasoning.len() as u64;
        record.tool_bytes += facts.tool.len() as u64;
        record.usage.update(facts.usage);
        record.finish = facts.finish.or(record.finish.take());
        record.error = record.error.take().or(facts.error);
    }

    /// Notes a frame, unless it is another run's.
    fn push(&mut self, mark: ChatMark, id: Option<&str>) -> bool {
        let (seq, ours) = match (self.run, id.and_then(parse_id)) {
            (Named::One(run), Some((named, seq))) => (Some(seq), run == named),
            (Named::First, Some((named, seq))) => {
                let first = *self.record.run.get_or_insert(named);
                // Another one's id may be anything: it is no stranger by that.
                ((first == named).then_some(seq), true)
            }
            _ => (None, true),
        };
        if ours {
            self.record.frames.push(ChatMark { seq, ..mark });
        } else {
            self.record.foreign_frames += 1;
        }
        ours
    }

    fn keep_text(&mut self, text: &str) {
        self.record.text_bytes += text.len() as u64;
        let room = TEXT_KEPT.saturating_sub(self.record.text.len());
        let end = text.floor_char_boundary(room.min(text.len()));
        self.record.text.push_str(&text[..end]);
    }
}

/// Data that is no object, in a plain stream: a JSON text is unwrapped, all else is itself. An
/// event called `error` is one, whatever its data.
fn plain(name: &str, json: Option<&Json>, data: &str) -> Facts {
    match json {
        _ if name == "error" => {
            Facts { error: Some(ServiceError::plain(data)), ..Facts::default() }
        }
        Some(json @ Json::Text(_)) => shapes::facts(Shape::Sse, name, json),
        _ => shapes::plain_text(data),
    }
}

/// Whether somebody would see it: not only white space and control characters.
fn is_visible(text: &str) -> bool {
    text.chars().any(|c| !c.is_whitespace() && !c.is_control())
}
