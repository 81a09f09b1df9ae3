//! JSON values one after the other: the elements of one array, or a document by itself. A frame
//! is a value, out with its last byte.
//!
//! Only braces, brackets and strings are looked at; whether a value is JSON is for its parser to
//! say.

use memchr::memchr2;

use super::carrier::{Payload, Unit};

/// Where in the body the splitter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Before a value, at the top level.
    Between,
    /// In a value, so many brackets deep; 0 in a number or a word.
    Inside { depth: u32, string: bool, escaped: bool },
}

/// The splitter's state between two slices.
#[derive(Debug)]
pub(super) struct Values {
    limit: usize,
    offset: u64,
    /// An array's bracket was opened, so that its elements are the values.
    in_array: bool,
    place: Place,
    value: Vec<u8>,
    length: u64,
}

impl Values {
    /// A splitter whose first byte has that offset.
    pub(super) fn new(limit: usize, offset: u64) -> Values {
        let place = Place::Between;
        Values { limit, offset, in_array: false, place, value: Vec::new(), length: 0 }
    }

    pub(super) fn feed(&mut self, bytes: &[u8], sink: &mut dyn FnMut(Unit<'_>)) {
        let mut at = 0;
        while at < bytes.len() {
            match self.place {
                Place::Between => self.begin(bytes[at]),
                Place::Inside { string: true, escaped: false, depth } => {
                    // Strings are most of a payload.
                    let length = memchr2(b'"', b'\\', &bytes[at..]).unwrap_or(bytes.len() - at);
                    self.keep(&bytes[at..at + length]);
                    at += length;
                    self.offset += length as u64;
                    let Some(byte) = bytes.get(at) else { return };
                    self.keep(&[*byte]);
                    let string = *byte == b'\\';
                    self.place = Place::Inside { depth, string, escaped: string };
                    if !string && depth == 0 {
                        self.end(1, sink);
                    }
                }
                Place::Inside { string: true, escaped: true, depth } => {
                    self.keep(&bytes[at..=at]);
                    self.place = Place::Inside { depth, string: true, escaped: false };
                }
                Place::Inside { string: false, depth, .. } => {
                    if !self.inside(bytes[at], depth, sink) {
                        // It belongs to what comes after the value.
                        continue;
                    }
                }
            }
            at += 1;
            self.offset += 1;
        }
    }

    /// Ends the body; returns the bytes of a value that was begun.
    pub(super) fn finish(mut self, sink: &mut dyn FnMut(Unit<'_>)) -> u64 {
        // A number or a word has no end of its own.
        if let Place::Inside { depth: 0, string: false, .. } = self.place {
            self.end(0, sink);
        }
        self.length
    }

    /// A byte at the top level.
    fn begin(&mut self, byte: u8) {
        let (depth, string) = match byte {
            b'[' if !self.in_array => {
                self.in_array = true;
                return;
            }
            b' ' | b'\t' | b'\r' | b'\n' | b',' | b']' | b'}' => return,
            b'{' | b'[' => (1, false),
            _ => (0, byte == b'"'),
        };
        self.keep(&[byte]);
        self.place = Place::Inside { depth, string, escaped: false };
    }

    /// A byte in a value and in no string. Returns whether it was the value's.
    fn inside(&mut self, byte: u8, depth: u32, sink: &mut dyn FnMut(Unit<'_>)) -> bool {
        let deeper = match byte {
            b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n' if depth == 0 => {
                // Only what follows says that a number or a word is whole.
                self.end(1, sink);
                return false;
            }
            b'{' | b'[' => depth.saturating_add(1),
            b'}' | b']' => depth - 1,
            _ => depth,
        };
        self.keep(&[byte]);
        self.place = Place::Inside { depth: deeper, string: byte == b'"', escaped: false };
        if depth == 1 && deeper == 0 {
            self.end(1, sink);
        }
        true
    }

    fn keep(&mut self, part: &[u8]) {
        self.length += part.len() as u64;
        if self.length <= self.limit as u64 {
            self.value.extend_from_slice(part);
        } else {
            self.value = Vec::new();
        }
    }

    /// The value is whole with the byte at the current offset, if there is one `more`.
    fn end(&mut self, more: u64, sink: &mut dyn FnMut(Unit<'_>)) {
        let end = self.offset + more;
        if self.length > self.limit as u64 {
            sink(Unit::of(end, Payload::TooLarge));
        } else {
            sink(Unit::of(end, Payload::Data(&self.value)));
        }
        self.value.clear();
        self.length = 0;
        self.place = Place::Between;
    }
}
