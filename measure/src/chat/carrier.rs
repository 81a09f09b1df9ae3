//! How events are carried: the body's bytes to payloads, whatever the content type says. A
//! middle hop may rewrite the type; it cannot rewrite what the body's first byte is. A stream of
//! lines that begins with what is no JSON (`: keep-alive`) must be named to be read.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::lines::Lines;
use super::shape::Shape;
use super::values::Values;
use crate::sse::{Content, Frame, Parser};

/// U+FEFF in UTF-8, which may stand before either format.
const BOM: [u8; 3] = *b"\xEF\xBB\xBF";

/// What carries the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// `text/event-stream`.
    Sse,
    /// Newline-delimited JSON.
    Ndjson,
    /// One JSON array whose elements are the events.
    JsonArray,
    /// One JSON document: an answer that was not streamed, or an error.
    Json,
    /// A page for people, such as a login.
    Html,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Carrier::Sse => "an event stream",
            Carrier::Ndjson => "newline-delimited JSON",
            Carrier::JsonArray => "a JSON array",
            Carrier::Json => "one JSON document",
            Carrier::Html => "an HTML page",
        })
    }
}

/// What one frame holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    /// No event: an SSE comment.
    None,
    /// An event's data.
    Data(&'a [u8]),
    /// More than is kept of one event.
    TooLarge,
}

/// One frame.
#[derive(Clone, Debug)]
pub(super) struct Unit<'a> {
    /// Offset in the body, one past the frame's last byte.
    pub(super) end: u64,
    /// SSE's `event` field; empty without one, or when it says `message`, as none does.
    pub(super) name: Cow<'a, str>,
    /// SSE's `id` field.
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) payload: Payload<'a>,
}

impl<'a> Unit<'a> {
    /// A frame with nothing but its payload.
    pub(super) fn of(end: u64, payload: Payload<'a>) -> Unit<'a> {
        Unit { end, name: Cow::Borrowed(""), id: None, payload }
    }

    fn sse(frame: Frame<'a>) -> Unit<'a> {
        let (name, payload) = match &frame.content {
            Content::Event(event) => {
                let name = Some(event.name()).filter(|name| name != "message");
                (name.unwrap_or_default(), Payload::Data(event.data_bytes()))
            }
            Content::NoEvent => (Cow::Borrowed(""), Payload::None),
            Content::TooLarge(_) => (Cow::Borrowed(""), Payload::TooLarge),
        };
        Unit { end: frame.end, name, id: frame.own_id(), payload }
    }
}

/// Splits a body into frames, in any cut.
#[derive(Debug)]
pub(super) struct Splitter {
    limit: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing but white space came. The SSE parser is fed all the same, so that it is right when
    /// an event stream it is.
    Start {
        lines: bool,
        offset: u64,
        sse: Parser,
    },
    /// A `{` came, and no line feed yet: is it one object a line, or one document?
    Object {
        offset: u64,
        line: Vec<u8>,
    },
    Sse(Parser),
    Lines(Lines),
    Values {
        document: bool,
        values: Values,
    },
    Html,
}

/// What is left when a body ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// Bytes after the last frame.
    pub(super) bytes: u64,
    /// Whether an event was cut.
    pub(super) event_cut: bool,
}

impl Splitter {
    /// A splitter at a body's start. A shape that is named and goes by lines is taken at its
    /// word; otherwise the bytes decide.
    pub(super) fn new(named: Option<Shape>, limit: usize) -> Splitter {
        let lines = named.is_some_and(Shape::is_lines);
        let sse = Parser::with_limit(limit);
        Splitter { limit, state: State::Start { lines, offset: 0, sse } }
    }

    /// What carries the body, once it is known.
    pub(super) fn carrier(&self) -> Option<Carrier> {
        match &self.state {
            State::Start { .. } => None,
            State::Sse(_) => Some(Carrier::Sse),
            State::Lines(_) => Some(Carrier::Ndjson),
            State::Object { .. } | State::Values { document: true, .. } => Some(Carrier::Json),
            State::Values { document: false, .. } => Some(Carrier::JsonArray),
            State::Html => Some(Carrier::Html),
        }
    }

    pub(super) fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Unit<'_>)) {
        match &mut self.state {
            State::Start { .. } => self.start(bytes, sink),
            State::Object { offset, line } => {
                let (offset, line) = (*offset, std::mem::take(line));
                self.object(offset, line, bytes, sink);
            }
            State::Sse(parser) => parser.feed(bytes, |frame| sink(Unit::sse(frame))),
            State::Lines(lines) => lines.feed(bytes, sink),
            State::Values { values, .. } => values.feed(bytes, sink),
            State::Html => {}
        }
    }

    /// Ends the body.
    pub(super) fn finish(self, sink: &mut dyn FnMut(Unit<'_>)) -> Left {
        let bytes = match self.state {
            State::Start { .. } | State::Html => 0,
            State::Sse(parser) => {
                let tail = parser.finish();
                return Left { bytes: tail.bytes, event_cut: tail.event_cut };
            }
            State::Lines(lines) => lines.finish(sink),
            State::Values { values, .. } => values.finish(sink),
            State::Object { offset, line } => {
                let mut lines = Lines::new(self.limit, offset);
                lines.feed(&line, sink);
                lines.finish(sink)
            }
        };
        Left { bytes, event_cut: bytes > 0 }
    }

    fn start(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Unit<'_>)) {
        let State::Start { lines, offset, sse } = &mut self.state else { return };
        let blank = |(index, byte): &(usize, &u8)| {
            let at = *offset + *index as u64;
            byte.is_ascii_whitespace() || BOM.get(at as usize) == Some(byte)
        };
        let blanks = bytes.iter().enumerate().take_while(blank).count();
        let rest = &bytes[blanks..];
        let at = *offset + blanks as u64;
        *offset = at;
        // What white space makes of itself is no frame of anyone's.
        sse.feed(&bytes[..blanks], |_| {});
        let next = match rest.first() {
            Some(b'<') => State::Html,
            Some(_) if *lines => State::Lines(Lines::new(self.limit, at)),
            Some(b'[') => State::Values { document: false, values: Values::new(self.limit, at) },
            Some(b'{') => State::Object { offset: at, line: Vec::new() },
            Some(_) => State::Sse(std::mem::take(sse)),
            None => return,
        };
        self.state = next;
        self.feed(rest, sink);
    }

    /// The first line of a body that began with `{` goes on.
    fn object(&mut self, at: u64, mut line: Vec<u8>, more: &[u8], sink: &mut dyn FnMut(Unit<'_>)) {
        let end = memchr::memchr(b'\n', more).map_or(more.len(), |end| end + 1);
        let room = self.limit.saturating_sub(line.len());
        line.extend_from_slice(&more[..end.min(room)]);
        if end > room {
            // Too long to tell, and to keep: one line it is.
            self.state = State::Lines(Lines::new(self.limit, at));
            self.feed(&line, sink);
            return self.feed(&more[room..], sink);
        }
        if line.last() != Some(&b'\n') {
            self.state = State::Object { offset: at, line };
            return;
        }
        let mut one_a_line = false;
        Values::new(self.limit, at).feed(&line, &mut |_| one_a_line = true);
        self.state = if one_a_line {
            State::Lines(Lines::new(self.limit, at))
        } else {
            State::Values { document: true, values: Values::new(self.limit, at) }
        };
        self.feed(&line, sink);
        self.feed(&more[end..], sink);
    }
}
