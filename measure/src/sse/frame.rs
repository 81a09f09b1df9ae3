//! What the parser hands out: frames, the events in them, and what was left at the end.

use std::borrow::Cow;

use thiserror::Error;

/// One block of lines on the wire, up to and including its blank line.
///
/// Offsets count the bytes fed to the parser since it was made, so a reader that knows at which
/// offset each of its reads ended can say which read completed which frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Offset of the first byte of the frame's first line.
    pub start: u64,
    /// Offset at which the frame could be dispatched: one past the byte that completed its blank
    /// line. The `\r` of a `\r\n` is enough; the `\n` after it belongs to no frame.
    pub end: u64,
    /// What the frame held.
    pub content: Content<'a>,
    pub(super) id: Option<&'a [u8]>,
}

impl<'a> Frame<'a> {
    /// The event the frame dispatches, if it dispatches one.
    pub fn event(&self) -> Option<&Event<'a>> {
        match &self.content {
            Content::Event(event) => Some(event),
            Content::NoEvent | Content::TooLarge(_) => None,
        }
    }

    /// The value of the frame's own `id` field; `None` when it has none, or only ones that are
    /// ignored for holding NUL. Known for frames without an event and for too large ones as well.
    pub fn own_id(&self) -> Option<Cow<'a, str>> {
        self.id.map(text)
    }
}

/// What one frame held.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// An event, as a browser would dispatch it.
    Event(Event<'a>),
    /// No `data` field: comments only, or fields that dispatch nothing by themselves.
    NoEvent,
    /// More bytes than the parser keeps; they were let go, and parsing went on after the frame.
    TooLarge(FrameTooLarge),
}

/// The fields of a frame come to more bytes than [`Parser`](super::Parser) was told to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("one event came to {bytes} bytes, over the limit of {limit}; it was skipped, not buffered")]
pub struct FrameTooLarge {
    /// Bytes of the frame's field lines: without comments and line ends.
    pub bytes: u64,
    /// The limit that was in force, in bytes.
    pub limit: u64,
}

/// An event as section 9.2.6 dispatches it.
///
/// The bytes are kept as they came. The text is decoded per field, when asked for, and equals
/// what the standard's decoding of the entire stream gives: fields end at ASCII bytes, an ASCII
/// byte always ends a malformed sequence, and both decoders put one U+FFFD for each maximal part
/// of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    pub(super) name: &'a [u8],
    pub(super) data: &'a [u8],
    pub(super) id: &'a [u8],
    pub(super) has_own_id: bool,
}

impl<'a> Event<'a> {
    /// The event's type: the last `event` field of the frame, `message` when there is none or it
    /// is empty.
    pub fn name(&self) -> Cow<'a, str> {
        if self.name.is_empty() {
            return Cow::Borrowed("message");
        }
        text(self.name)
    }

    /// The `data` lines, joined by line feeds.
    pub fn data(&self) -> Cow<'a, str> {
        text(self.data)
    }

    /// The same as [`Event::data`], undecoded.
    pub fn data_bytes(&self) -> &'a [u8] {
        self.data
    }

    /// The last event id string at the time of dispatch. It stays from one event to the next
    /// until another `id` field replaces it; see [`Event::has_own_id`].
    pub fn id(&self) -> Cow<'a, str> {
        text(self.id)
    }

    /// Whether this very frame carried the id.
    pub fn has_own_id(&self) -> bool {
        self.has_own_id
    }
}

/// Decodes with replacement. Valid text, the usual case, is checked by the words at a time that
/// `from_utf8` takes and the lossy decoder does not.
#[inline]
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// What a stream held after its last complete frame. The standard discards it; an instrument
/// says so, because a stream that is cut short looks like one that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tail {
    /// Bytes from the unfinished frame's first one to the stream's end; 0 when the stream ended
    /// between two frames.
    pub bytes: u64,
    /// Whether an event was lost: the unfinished frame has a `data` line, whole or begun.
    pub event_cut: bool,
}
