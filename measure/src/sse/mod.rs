//! An incremental parser for `text/event-stream`: WHATWG HTML, section 9.2, "Server-sent events"
//! (9.2.5 parsing, 9.2.6 interpreting).
//!
//! Bytes go in as they come off a socket, cut anywhere; [`Frame`]s come out in stream order, each
//! with the byte offsets that tell which read completed it. How the bytes were cut never changes
//! what comes out. No I/O, no clock, and no time is taken here: a reader notes the time at its
//! read and parses afterwards.
//!
//! An event that lies in one fed slice and has one `data` line is handed out as borrowed slices,
//! without copying; everything else goes through buffers that are kept from event to event.

mod frame;
mod open;

use std::borrow::Cow;
use std::time::Duration;

use memchr::{memchr, memchr2};

pub use frame::{Content, Event, Frame, FrameTooLarge, Tail};
use open::{Kept, Open, append};

/// The default for the bytes of one frame's fields: 16 MiB.
///
/// Nothing in the format bounds an event, so something else must, or one endless line takes all
/// memory. Token streams send events of at most a few KB, and an image in base64 as one event
/// comes to a few MB; 16 MiB lets all of that pass and is still small beside a browser's tab.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// U+FEFF in UTF-8. One is dropped at the start of a stream (the "UTF-8 decode" of 9.2.5).
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// How much of a line over the limit is kept: enough to tell a comment or a `data` line from
/// others.
const HEAD: usize = DATA.len();

const DATA: &[u8] = b"data:";

/// The parser's state between two slices.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// Bytes fed so far.
    offset: u64,
    /// How many bytes of a byte-order mark the stream has begun with; `None` once it is past it.
    bom: Option<usize>,
    /// The last byte was a `\r`, so a `\n` now is its second half.
    after_cr: bool,
    /// The unfinished line; empty when none was begun. A comment is kept as its colon, a line
    /// over the limit as its [`HEAD`].
    line: Vec<u8>,
    /// Bytes of the unfinished line, kept or not.
    line_length: u64,
    open: Open<'static>,
    /// `data` lines of the open frame, joined, when they could not be borrowed.
    data: Vec<u8>,
    /// `event` field of the open frame, likewise.
    name: Vec<u8>,
    /// `id` field of the open frame, likewise: it counts when the frame is complete.
    next_id: Vec<u8>,
    last_id: Vec<u8>,
    reconnection_time: Option<Duration>,
}

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl Parser {
    /// A parser at the start of a stream, with the limit [`MAX_EVENT_BYTES`].
    pub fn new() -> Self {
        Self::with_limit(MAX_EVENT_BYTES)
    }

    /// A parser at the start of a stream that keeps at most `max_event_bytes` bytes of one
    /// frame's fields. A larger frame is reported as [`Content::TooLarge`]; of its fields only
    /// `id` and `retry` still count, each when its line is within the limit.
    pub fn with_limit(max_event_bytes: usize) -> Self {
        Self {
            limit: max_event_bytes,
            offset: 0,
            bom: Some(0),
            after_cr: false,
            line: Vec::new(),
            line_length: 0,
            open: Open::NONE,
            data: Vec::new(),
            name: Vec::new(),
            next_id: Vec::new(),
            last_id: Vec::new(),
            reconnection_time: None,
        }
    }

    /// Feeds the stream's next bytes; calls `sink` once for each frame they complete, in stream
    /// order. Blank lines with no line before them make no frame.
    pub fn feed(&mut self, bytes: &[u8], mut sink: impl FnMut(Frame<'_>)) {
        let base = self.offset;
        self.offset += bytes.len() as u64;
        let mut at = self.skip_bom(bytes);
        if at == bytes.len() {
            return;
        }
        if self.after_cr {
            self.after_cr = false;
            at += usize::from(bytes[at] == b'\n');
        }
        if !self.line.is_empty() {
            let rest = &bytes[at..];
            let Some(length) = memchr2(b'\n', b'\r', rest) else {
                self.extend_line(rest);
                return;
            };
            self.extend_line(&rest[..length]);
            self.finish_line();
            at = self.after_line_end(bytes, at + length);
        }

        let mut open = self.resume();
        // The last event id while it is still in `bytes`; `None` stands for `self.last_id`.
        let mut last_id: Option<&[u8]> = None;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let Some(length) = line_length(rest) else {
                open.start.get_or_insert(base + at as u64);
                self.extend_line(rest);
                break;
            };
            if length > 0 {
                open.start.get_or_insert(base + at as u64);
                self.apply(&mut open, &rest[..length], length as u64);
                at = self.after_line_end(bytes, at + length);
                continue;
            }
            let end = base + at as u64 + 1;
            at = self.after_line_end(bytes, at);
            let Some(start) = open.start else { continue };
            match open.id {
                Kept::Absent => {}
                Kept::Slice(id) => last_id = Some(id),
                // Only in the first frame of a slice: `last_id` is `None` still.
                Kept::Buffer => std::mem::swap(&mut self.last_id, &mut self.next_id),
            }
            let id = last_id.unwrap_or(&self.last_id);
            let has_own_id = !matches!(open.id, Kept::Absent);
            let content = if open.size > self.limit as u64 {
                Content::TooLarge(FrameTooLarge { bytes: open.size, limit: self.limit as u64 })
            } else if let Some(data) = open.data.get(&self.data) {
                let name = open.name.get(&self.name).unwrap_or_default();
                Content::Event(Event { name, data, id, has_own_id })
            } else {
                Content::NoEvent
            };
            sink(Frame { start, end, content, id: has_own_id.then_some(id) });
            open = Open::NONE;
        }

        if let Some(id) = last_id {
            self.last_id.clear();
            append(&mut self.last_id, id, self.limit);
        }
        self.suspend(open);
    }

    /// Ends the stream: what came after the last complete frame is discarded, as section 9.2.6
    /// says, and reported.
    pub fn finish(self) -> Tail {
        let start = match (self.open.start, self.bom) {
            (Some(start), _) => start,
            (None, Some(_)) => 0,
            (None, None) => self.offset,
        };
        let line = self.line.as_slice();
        let data_begun = !line.is_empty() && (line.starts_with(DATA) || DATA.starts_with(line));
        Tail {
            bytes: self.offset - start,
            event_cut: data_begun || !matches!(self.resume().data, Kept::Absent),
        }
    }

    /// The last event id string: the id of the last complete frame that had one, empty before.
    pub fn last_event_id(&self) -> Cow<'_, str> {
        frame::text(&self.last_id)
    }

    /// The value of the last valid `retry` field, sent in milliseconds. An empty one is ignored,
    /// and one too large for 64 bits is taken as the largest.
    pub fn reconnection_time(&self) -> Option<Duration> {
        self.reconnection_time
    }

    /// Bytes of memory the parser's buffers take. Each of the five (unfinished line, data, name,
    /// and the two ids) stays within the limit or a few bytes more, whatever is fed.
    pub fn buffered(&self) -> usize {
        [&self.line, &self.data, &self.name, &self.next_id, &self.last_id]
            .into_iter()
            .map(Vec::capacity)
            .sum()
    }

    /// The open frame, to go on with in a new slice.
    // Mostly there is none, and then nothing is loaded that was stored a moment ago.
    #[inline(always)]
    fn resume<'b>(&self) -> Open<'b> {
        if self.open.start.is_none() {
            return Open::NONE;
        }
        self.open
    }

    /// Keeps the open frame beyond the slice that is being fed.
    #[inline(always)]
    fn suspend(&mut self, open: Open<'_>) {
        if open.start.is_none() {
            self.open.start = None;
            return;
        }
        self.open = Open {
            start: open.start,
            size: open.size,
            data: open.data.save(&mut self.data, self.limit),
            name: open.name.save(&mut self.name, self.limit),
            id: open.id.save(&mut self.next_id, self.limit),
        };
    }

    /// Takes the byte-order mark off the start of the stream, also when it comes in parts.
    /// Returns where the stream's lines go on in `bytes`.
    fn skip_bom(&mut self, bytes: &[u8]) -> usize {
        let Some(before) = self.bom else { return 0 };
        let missing = &BOM[before..];
        let taken = missing.iter().zip(bytes).take_while(|(want, byte)| want == byte).count();
        if taken == missing.len() {
            self.bom = None;
            return taken;
        }
        if taken == bytes.len() {
            self.bom = Some(before + taken);
            return taken;
        }
        // No mark after all: what was held of it begins the first line.
        self.bom = None;
        if before > 0 {
            self.open.start = Some(0);
            self.extend_line(&BOM[..before]);
        }
        0
    }

    /// Where the next line begins, when a line ends at `bytes[at]`. A `\r` ends it at once, and
    /// takes a `\n` with it when one follows.
    #[inline(always)]
    fn after_line_end(&mut self, bytes: &[u8], at: usize) -> usize {
        if bytes[at] == b'\n' {
            return at + 1;
        }
        match bytes.get(at + 1) {
            Some(b'\n') => at + 2,
            Some(_) => at + 1,
            None => {
                self.after_cr = true;
                at + 1
            }
        }
    }

    /// Adds to the unfinished line. Memory stays bounded: see [`Parser::line`].
    fn extend_line(&mut self, part: &[u8]) {
        if self.line.is_empty() {
            self.line_length = 0;
        }
        self.line_length += part.len() as u64;
        let first = self.line.first().or(part.first());
        if first == Some(&b':') {
            self.line.clear();
            self.line.push(b':');
        } else if self.line_length <= self.limit as u64 {
            append(&mut self.line, part, self.limit);
        } else {
            self.line = self.line.iter().chain(part).take(HEAD).copied().collect();
        }
    }

    /// The unfinished line is complete.
    fn finish_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        let mut open = self.resume();
        self.apply(&mut open, &line, self.line_length);
        self.suspend(open);
        line.clear();
        self.line = line;
    }

    /// Takes one line, not blank, into the open frame (section 9.2.6, "process the field").
    /// `length` is the line's own; `line` may be its [`HEAD`] only when that is over the limit.
    #[inline(always)]
    fn apply<'b>(&mut self, open: &mut Open<'b>, line: &'b [u8], length: u64) {
        if line.first() == Some(&b':') {
            return; // a comment
        }
        open.size += length;
        if open.size > self.limit as u64 {
            return self.apply_over_limit(open, line, length);
        }
        match line {
            [b'd', b'a', b't', b'a', rest @ ..] => {
                let Some(value) = value(rest) else { return };
                match open.data {
                    Kept::Absent => open.data = Kept::Slice(value),
                    Kept::Slice(_) | Kept::Buffer => self.join_data(open, value),
                }
            }
            [b'e', b'v', b'e', b'n', b't', rest @ ..] => {
                let Some(value) = value(rest) else { return };
                open.name = Kept::Slice(value);
            }
            _ => self.apply_id_or_retry(open, line),
        }
    }

    #[inline(always)]
    fn apply_id_or_retry<'b>(&mut self, open: &mut Open<'b>, line: &'b [u8]) {
        match line {
            [b'i', b'd', rest @ ..] => {
                let Some(value) = value(rest) else { return };
                // An id that holds NUL is ignored.
                if memchr(0, value).is_none() {
                    open.id = Kept::Slice(value);
                }
            }
            [b'r', b'e', b't', b'r', b'y', rest @ ..] => {
                self.reconnection_time =
                    value(rest).and_then(milliseconds).or(self.reconnection_time);
            }
            _ => {}
        }
    }

    /// A second `data` line: the values no longer lie in one piece.
    fn join_data(&mut self, open: &mut Open<'_>, value: &[u8]) {
        open.data = open.data.save(&mut self.data, self.limit);
        append(&mut self.data, b"\n", self.limit);
        append(&mut self.data, value, self.limit);
    }

    /// A frame over the limit keeps no data, but remembers that there was some, and its id, by
    /// which a reader can still name it.
    #[cold]
    fn apply_over_limit<'b>(&mut self, open: &mut Open<'b>, line: &'b [u8], length: u64) {
        self.data = Vec::new();
        let is_data = line.strip_prefix(b"data").and_then(value).is_some();
        if is_data || !matches!(open.data, Kept::Absent) {
            open.data = Kept::Buffer;
        }
        if length <= self.limit as u64 {
            self.apply_id_or_retry(open, line);
        }
    }
}

/// The value of a field, from what follows its name: one space after the colon goes, and a line
/// without a colon has the empty value. `None` when the name goes on.
#[inline(always)]
fn value(after_name: &[u8]) -> Option<&[u8]> {
    match after_name {
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        [] => Some(&[]),
        _ => None,
    }
}

/// A `retry` value. The standard says "only ASCII digits", in base ten; nothing at all is no
/// number.
fn milliseconds(value: &[u8]) -> Option<Duration> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let milliseconds = value
        .iter()
        .fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    Some(Duration::from_millis(milliseconds))
}

/// Bytes before the line end, or `None` when there is none yet.
#[inline(always)]
fn line_length(bytes: &[u8]) -> Option<usize> {
    // Every frame has a blank line: not worth starting a vector scan.
    if matches!(bytes.first(), Some(b'\n' | b'\r')) {
        return Some(0);
    }
    memchr2(b'\n', b'\r', bytes)
}
