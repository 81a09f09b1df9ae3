//! The body of an answer, in any cut, to its events: SSE, newline-delimited JSON, the elements of
//! one JSON array, or one document. An event's `end` is its offset in the decoded body, which is
//! the same at the gateway: by it the two sides are joined.
//!
//! The gateway reads the same bytes with `measure::chat`, whose JSON parser the page has no room
//! for. What is found here is what a chat's reader sees, and the frames of answers that came
//! without the gateway.

use measure::sse::{Content, Parser};

use super::facts::{self, Facts};

/// Most bytes of one event that are kept: the longest that services send, an answer that was not
/// streamed, is far below.
const LIMIT: usize = 4 << 20;

/// An event, or a frame without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Offset in the decoded body, one past the frame's last byte.
    pub end: u64,
    /// Whether it is an event; a comment is none.
    pub event: bool,
    /// What it says.
    pub facts: Facts,
}

/// What carries an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// An event stream.
    Sse,
    /// JSON, line by line.
    Lines,
    /// JSON, an array or a document.
    Values,
    /// A page for people, such as a login.
    Html,
}

enum State {
    /// Nothing but white space came.
    Start,
    Sse(Parser),
    /// Lines, as long as each is JSON by itself.
    Lines,
    Values(Scan),
    Html,
}

/// Where in a JSON text the scanner stands.
#[derive(Default)]
struct Scan {
    in_array: bool,
    depth: u32,
    string: bool,
    escaped: bool,
}

/// Splits a body.
pub struct Splitter {
    state: State,
    /// Bytes before those in `kept`.
    offset: u64,
    /// The event that is not whole yet; SSE's are kept by its parser.
    kept: Vec<u8>,
    /// How many of them were looked at.
    seen: usize,
}

impl Default for Splitter {
    fn default() -> Splitter {
        Splitter { state: State::Start, offset: 0, kept: Vec::new(), seen: 0 }
    }
}

impl Splitter {
    /// What carries the body; absent before its first byte.
    pub fn carrier(&self) -> Option<Carrier> {
        match self.state {
            State::Start => None,
            State::Sse(_) => Some(Carrier::Sse),
            State::Lines => Some(Carrier::Lines),
            State::Values(_) => Some(Carrier::Values),
            State::Html => Some(Carrier::Html),
        }
    }

    /// Takes bytes; the frames that they complete go to `sink`.
    pub fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Piece)) {
        if let State::Sse(parser) = &mut self.state {
            return sse(parser, bytes, sink);
        }
        if matches!(self.state, State::Html) || self.kept.len() + bytes.len() > LIMIT {
            // A page is not read; what is larger than any answer is left to the gateway.
            return;
        }
        self.kept.extend_from_slice(bytes);
        if matches!(self.state, State::Start) {
            self.start(sink);
        }
        self.go_on(sink);
    }

    /// Ends the body; returns the bytes of an event that was cut.
    pub fn finish(&mut self, sink: &mut dyn FnMut(Piece)) -> u64 {
        match std::mem::replace(&mut self.state, State::Html) {
            State::Sse(parser) => return parser.finish().bytes,
            State::Lines => {
                // A last line without its line feed counts when it is whole.
                if let Some(facts) = facts::of_json("", self.kept.trim_ascii()) {
                    let end = self.offset + self.kept.len() as u64;
                    sink(Piece { end, event: true, facts });
                    return 0;
                }
            }
            State::Html => return 0,
            State::Start | State::Values(_) => {}
        }
        self.kept.trim_ascii().len() as u64
    }

    fn start(&mut self, sink: &mut dyn FnMut(Piece)) {
        let blank = |byte: &u8| byte.is_ascii_whitespace() || b"\xEF\xBB\xBF".contains(byte);
        let Some(first) = self.kept.iter().position(|byte| !blank(byte)) else { return };
        self.state = match self.kept[first] {
            b'<' => State::Html,
            b'[' => State::Values(Scan::default()),
            b'{' => State::Lines,
            _ => {
                let mut parser = Parser::with_limit(LIMIT);
                sse(&mut parser, &std::mem::take(&mut self.kept), sink);
                State::Sse(parser)
            }
        };
    }

    fn go_on(&mut self, sink: &mut dyn FnMut(Piece)) {
        if matches!(self.state, State::Lines) {
            while let Some(length) = self.kept[self.seen..].iter().position(|byte| *byte == b'\n') {
                let end = self.seen + length + 1;
                let line = self.kept[..end].trim_ascii();
                match facts::of_json("", line) {
                    Some(facts) => {
                        let at = self.offset + end as u64;
                        sink(Piece { end: at, event: true, facts });
                    }
                    // An empty line is a keep-alive, if anything.
                    None if line.is_empty() => {}
                    // A first line that is no JSON by itself begins a document of several.
                    None if self.offset == 0 => {
                        self.state = State::Values(Scan::default());
                        self.seen = 0;
                        break;
                    }
                    None => {}
                }
                self.drop_first(end);
            }
            if matches!(self.state, State::Lines) {
                self.seen = self.kept.len();
            }
        }
        while self.next_value(sink) {}
    }

    fn drop_first(&mut self, bytes: usize) {
        self.kept.drain(..bytes);
        self.offset += bytes as u64;
        self.seen = 0;
    }

    /// Looks for the end of a value; whether there was one.
    fn next_value(&mut self, sink: &mut dyn FnMut(Piece)) -> bool {
        let State::Values(scan) = &mut self.state else { return false };
        for (at, byte) in self.kept.iter().enumerate().skip(self.seen) {
            if !scan.ends_with(*byte) {
                continue;
            }
            let (from, end) = (scan.begin_of(&self.kept[..=at]), at + 1);
            if let Some(facts) = facts::of_json("", &self.kept[from..end]) {
                sink(Piece { end: self.offset + end as u64, event: true, facts });
            }
            self.drop_first(end);
            return true;
        }
        self.seen = self.kept.len();
        false
    }
}

impl Scan {
    /// Whether an object of the top level ends with this byte.
    fn ends_with(&mut self, byte: u8) -> bool {
        if self.string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.string = true,
            b'[' if self.depth == 0 && !self.in_array => self.in_array = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }

    /// Where the object that has just ended begins: behind brackets, commas and white space.
    fn begin_of(&self, bytes: &[u8]) -> usize {
        bytes.iter().position(|byte| *byte == b'{').unwrap_or(0)
    }
}

fn sse(parser: &mut Parser, bytes: &[u8], sink: &mut dyn FnMut(Piece)) {
    parser.feed(bytes, |frame| {
        let piece = match &frame.content {
            Content::Event(event) => {
                let (name, data) = (event.name(), event.data_bytes());
                let name = if name == "message" { "" } else { &*name };
                Piece { end: frame.end, event: true, facts: facts::of_data(name, data) }
            }
            Content::NoEvent => Piece { end: frame.end, ..Piece::default() },
            Content::TooLarge(_) => Piece { end: frame.end, event: true, ..Piece::default() },
        };
        sink(piece);
    });
}
