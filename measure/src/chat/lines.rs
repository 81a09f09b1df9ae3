//! Newline-delimited JSON: a frame is a line, its line feed included.
//!
//! A line feed cannot stand within a JSON text (in a string it is written `\n`), so a broken line
//! costs itself and no other.

use memchr::memchr;

use super::carrier::{Payload, Unit};
use super::json::Json;

/// The splitter's state between two slices.
#[derive(Debug)]
pub(super) struct Lines {
    limit: usize,
    /// Offset of the next byte in the body.
    offset: u64,
    /// The unfinished line, while it is within the limit.
    line: Vec<u8>,
    /// Its length, kept or not.
    length: u64,
}

impl Lines {
    /// A splitter whose first byte has that offset.
    pub(super) fn new(limit: usize, offset: u64) -> Lines {
        Lines { limit, offset, line: Vec::new(), length: 0 }
    }

    pub(super) fn feed(&mut self, mut bytes: &[u8], sink: &mut dyn FnMut(Unit<'_>)) {
        while let Some(length) = memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..length], &bytes[length + 1..]);
            self.offset += length as u64 + 1;
            if self.length == 0 && line.len() <= self.limit {
                hand_out(line, self.offset, sink);
            } else {
                self.extend(line);
                self.finish_line(sink);
            }
            bytes = rest;
        }
        self.offset += bytes.len() as u64;
        self.extend(bytes);
    }

    /// Ends the body. A last line without its line feed counts when it is whole, as JSON knows
    /// its own end; returns the bytes left otherwise.
    pub(super) fn finish(mut self, sink: &mut dyn FnMut(Unit<'_>)) -> u64 {
        let line = String::from_utf8_lossy(self.line.trim_ascii());
        let blank = line.is_empty() && self.length <= self.limit as u64;
        if blank || Json::parse(&line).is_ok() {
            self.finish_line(sink);
        }
        self.length
    }

    fn extend(&mut self, part: &[u8]) {
        self.length += part.len() as u64;
        if self.length <= self.limit as u64 {
            self.line.extend_from_slice(part);
        } else {
            self.line = Vec::new();
        }
    }

    fn finish_line(&mut self, sink: &mut dyn FnMut(Unit<'_>)) {
        if self.length > self.limit as u64 {
            sink(Unit::of(self.offset, Payload::TooLarge));
        } else {
            hand_out(&self.line, self.offset, sink);
        }
        self.line.clear();
        self.length = 0;
    }
}

/// A line of nothing but white space is a keep-alive, if anything: no frame, as a blank line
/// between two SSE frames is none.
fn hand_out(line: &[u8], end: u64, sink: &mut dyn FnMut(Unit<'_>)) {
    let line = line.trim_ascii();
    if !line.is_empty() {
        sink(Unit::of(end, Payload::Data(line)));
    }
}
