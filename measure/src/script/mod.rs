//! What the emitter plays: ordered writes, each with its due time and its bytes.
//!
//! A script is a value: query parameters are one constructor of it ([`Script::from_query`]),
//! names another ([`Script::named`]). Its last frame is the terminal marker; no frame follows.

mod check;
mod parse;
mod player;

use serde::{Deserialize, Serialize};

use crate::frames;
use crate::units::Span;

pub use player::Player;

/// Smallest synthetic frame: `id:` with run and a five-digit sequence, `data: [DONE]`, and room
/// for padding come to 59 bytes; the published headline stream has frames of about 60.
pub const MIN_FRAME_BYTES: u32 = 60;
/// Largest frame: well above every proxy's buffer (64 KB at most among the pinned ones).
pub const MAX_FRAME_BYTES: u32 = 1 << 20;
/// Most frames: keeps a sequence number within five digits and a ledger within 4 MB.
pub const MAX_FRAMES: u32 = 99_999;
/// Longest pause between frames: a minute outlasts every default proxy timeout of interest.
pub const MAX_INTERVAL: Span = Span::millis(60_000);
/// Longest stream.
pub const MAX_DURATION: Span = Span::millis(600_000);
/// Most bytes: the published bulk answer has 40 MB.
pub const MAX_TOTAL_BYTES: u64 = 64 << 20;
/// Most extra response headers, and the longest one.
pub const MAX_HEADERS: usize = 16;
/// Longest extra response header, name and value together, in bytes.
pub const MAX_HEADER_BYTES: usize = 1024;

/// How the emitter marks the end of the body on HTTP/1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// `Transfer-Encoding: chunked`.
    #[default]
    Chunked,
    /// The close of the connection marks the end, as HTTP/1.0 has it.
    Close,
}

/// A response header that the script adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Field name.
    pub name: String,
    /// Field value.
    pub value: String,
}

/// A piece of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Piece {
    /// A whole frame of so many bytes.
    Frame {
        /// Size on the wire, blank line included.
        bytes: u32,
    },
    /// A part of a frame: bytes `from..to` of it. The part with `to == bytes` completes it.
    Part {
        /// The whole frame's size.
        bytes: u32,
        /// First byte of the part.
        from: u32,
        /// One past its last byte.
        to: u32,
    },
    /// A comment frame (`: ping` and a blank line): bytes without an event.
    Comment,
    /// Given text, byte for byte, as a chat answer has it.
    Literal {
        /// The text.
        text: String,
        /// Whether a frame with a sequence number is whole with it. What is none (a keep-alive,
        /// the beginning of a frame that a later piece completes) has no line in the ledger.
        frame: bool,
    },
}

impl Piece {
    /// Bytes on the wire.
    pub fn length(&self) -> u64 {
        match self {
            Piece::Frame { bytes } => u64::from(*bytes),
            Piece::Part { from, to, .. } => u64::from(to.saturating_sub(*from)),
            Piece::Comment => frames::COMMENT.len() as u64,
            Piece::Literal { text, .. } => text.len() as u64,
        }
    }

    /// Whether a frame with a sequence number is whole with it.
    pub fn completes_frame(&self) -> bool {
        match self {
            Piece::Frame { .. } => true,
            Piece::Part { bytes, to, .. } => to == bytes,
            Piece::Comment => false,
            Piece::Literal { frame, .. } => *frame,
        }
    }
}

/// One write and when it is due, counted from the stream's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// Due time after the start, microseconds.
    pub due_us: Span,
    /// What it carries, in order.
    pub pieces: Vec<Piece>,
}

/// The bytes and their times.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Body {
    /// Frames of one size at one interval, the first at once, one write each.
    Paced {
        /// How many frames, the terminal one included.
        frames: u32,
        /// Time between due times, microseconds.
        interval_us: Span,
        /// Size of each frame on the wire.
        frame_bytes: u32,
    },
    /// Writes one by one.
    Writes {
        /// In order of their due times.
        writes: Vec<Write>,
    },
}

/// What the emitter plays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// The bytes and their times.
    pub body: Body,
    /// How the body's end is marked.
    #[serde(default)]
    pub framing: Framing,
    /// Whether Nagle's algorithm is left on (`TCP_NODELAY` off) at the emitter's socket.
    #[serde(default)]
    pub nagle: bool,
    /// Extra response headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<Header>,
}

/// A script that cannot be played, with the bound that it breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// A number outside its bounds.
    #[error("{what} is {value}: it must be from {min} to {max}")]
    OutOfRange {
        /// The parameter.
        what: &'static str,
        /// What was asked for.
        value: String,
        /// Smallest allowed.
        min: String,
        /// Largest allowed.
        max: String,
    },
    /// A value that cannot be read.
    #[error("{what} is {value:?}: {expected}")]
    Unreadable {
        /// The parameter.
        what: &'static str,
        /// What was given.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// A name no script has.
    #[error("no script is called {0:?}: known are {known}", known = NAMES.join(", "))]
    UnknownName(String),
    /// A parameter no script has.
    #[error("no parameter is called {0:?}: known are {known}", known = PARAMETERS.join(", "))]
    UnknownParameter(String),
    /// A header that may not be set.
    #[error("header {0:?} may not be set: {1}")]
    BadHeader(String, &'static str),
    /// Writes out of order or frames in pieces that do not join.
    #[error("write {index}: {why}")]
    BadWrite {
        /// The write, from 0.
        index: usize,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// The content type of an event stream.
pub const EVENT_STREAM: &str = "text/event-stream";

/// Names of the named scripts.
pub const NAMES: [&str; 5] = ["headline", "cases", "halves", "batched", "late-first"];

/// Query parameters that [`Script::from_query`] reads.
pub const PARAMETERS: [&str; 7] =
    ["script", "frames", "interval_ms", "frame_bytes", "framing", "nagle", "header"];

impl Script {
    /// Frames of one size at one interval, chunked, Nagle off.
    ///
    /// # Errors
    /// When a number is out of its bounds.
    pub fn paced(frames: u32, interval: Span, frame_bytes: u32) -> Result<Script, ScriptError> {
        let script = Script {
            body: Body::Paced { frames, interval_us: interval, frame_bytes },
            framing: Framing::Chunked,
            nagle: false,
            headers: Vec::new(),
        };
        script.check()?;
        Ok(script)
    }

    /// The published headline stream: 41 frames of 60 bytes, 50 ms apart.
    pub fn headline() -> Script {
        Script {
            body: Body::Paced { frames: 41, interval_us: Span::millis(50), frame_bytes: 60 },
            framing: Framing::Chunked,
            nagle: false,
            headers: Vec::new(),
        }
    }

    /// The headline stream with each event in two writes, the second half 25 ms after the first:
    /// shows who waits for a whole event.
    fn halves() -> Script {
        let part = |due: i64, from, to| Write {
            due_us: Span::millis(due),
            pieces: vec![Piece::Part { bytes: 60, from, to }],
        };
        let event = |index: i64| [part(50 * index, 0, 30), part(50 * index + 25, 30, 60)];
        let writes = (0..41).flat_map(event).collect();
        Script { body: Body::Writes { writes }, ..Script::headline() }
    }

    /// An origin that batches: four frames in each write, 200 ms apart, which is the period of the
    /// kernel's cork as well.
    fn batched() -> Script {
        let write = |index: i64| Write {
            due_us: Span::millis(200 * index),
            pieces: vec![Piece::Frame { bytes: MIN_FRAME_BYTES }; 4],
        };
        Script { body: Body::Writes { writes: (0..6).map(write).collect() }, ..Script::headline() }
    }

    /// Headers at once and nothing behind them for 600 ms, then 12 frames 50 ms apart: shows who
    /// takes the headers for the first byte. Firefox settles a `fetch()` only with it.
    fn late_first() -> Script {
        let frame = |index: i64| Write {
            due_us: Span::millis(600 + 50 * index),
            pieces: vec![Piece::Frame { bytes: MIN_FRAME_BYTES }],
        };
        let writes = (0..12).map(frame).collect();
        Script { body: Body::Writes { writes }, ..Script::headline() }
    }

    /// A script by its name.
    ///
    /// # Errors
    /// When no script has that name.
    pub fn named(name: &str) -> Result<Script, ScriptError> {
        match name {
            "headline" => Ok(Script::headline()),
            // The stream E of the public bug reports: 8 events, 100 ms apart.
            "cases" => Script::paced(8, Span::millis(100), MIN_FRAME_BYTES),
            "halves" => Ok(Script::halves()),
            "batched" => Ok(Script::batched()),
            "late-first" => Ok(Script::late_first()),
            _ => Err(ScriptError::UnknownName(name.chars().take(40).collect())),
        }
    }

    /// A short name for cell ids and tables, such as `41x60B@50ms`.
    pub fn slug(&self) -> String {
        let mut slug = match &self.body {
            Body::Paced { frames, interval_us, frame_bytes } => {
                format!("{frames}x{frame_bytes}B@{}ms", interval_us.millis_text())
            }
            Body::Writes { writes } => format!("{}writes", writes.len()),
        };
        if self.framing == Framing::Close {
            slug.push_str("+close");
        }
        if self.nagle {
            slug.push_str("+nagle");
        }
        for Header { name, value } in &self.headers {
            slug.push_str(&format!("+{}={}", name.to_ascii_lowercase(), value.replace(' ', "")));
        }
        slug
    }

    /// How many frames with a sequence number it has, the terminal one included.
    pub fn frame_count(&self) -> u32 {
        match &self.body {
            Body::Paced { frames, .. } => *frames,
            Body::Writes { .. } => self.write_of_frames().len() as u32,
        }
    }

    /// How many writes it has.
    pub fn write_count(&self) -> usize {
        match &self.body {
            Body::Paced { frames, .. } => *frames as usize,
            Body::Writes { writes } => writes.len(),
        }
    }

    /// When write `index` is due after the start; `None` past the last.
    pub fn due(&self, index: usize) -> Option<Span> {
        match &self.body {
            Body::Paced { frames, interval_us, .. } => {
                (index < *frames as usize).then(|| Span(interval_us.as_micros() * index as i64))
            }
            Body::Writes { writes } => writes.get(index).map(|write| write.due_us),
        }
    }

    /// The pace that the guards' tolerances are measured against: the shortest time between two
    /// writes; absent with fewer than two.
    pub fn shortest_interval(&self) -> Option<Span> {
        match &self.body {
            Body::Paced { frames, interval_us, .. } => (*frames > 1).then_some(*interval_us),
            Body::Writes { writes } => {
                writes.windows(2).map(|pair| pair[1].due_us - pair[0].due_us).min()
            }
        }
    }

    /// From the first write's due time to the last one's.
    pub fn duration(&self) -> Span {
        self.write_count().checked_sub(1).and_then(|last| self.due(last)).unwrap_or(Span::ZERO)
    }

    /// The content type that the emitter sends: the event stream's, unless a header says otherwise.
    pub fn content_type(&self) -> &str {
        let named = |header: &&Header| header.name.eq_ignore_ascii_case("content-type");
        self.headers.iter().rfind(named).map_or(EVENT_STREAM, |header| &header.value)
    }

    /// Body bytes.
    pub fn total_bytes(&self) -> u64 {
        match &self.body {
            Body::Paced { frames, frame_bytes, .. } => u64::from(*frames) * u64::from(*frame_bytes),
            Body::Writes { writes } => {
                writes.iter().flat_map(|write| &write.pieces).map(Piece::length).sum()
            }
        }
    }

    /// For each frame the body offset, in bytes, at which it is complete.
    pub fn frame_ends(&self) -> Vec<u64> {
        self.layout().into_iter().map(|(end, _)| end).collect()
    }

    /// For each frame the write that completes it.
    pub fn write_of_frames(&self) -> Vec<usize> {
        self.layout().into_iter().map(|(_, write)| write).collect()
    }

    fn layout(&self) -> Vec<(u64, usize)> {
        match &self.body {
            Body::Paced { frames, frame_bytes, .. } => (0..*frames)
                .map(|seq| ((u64::from(seq) + 1) * u64::from(*frame_bytes), seq as usize))
                .collect(),
            Body::Writes { writes } => {
                let mut at = 0;
                let mut layout = Vec::new();
                for (index, write) in writes.iter().enumerate() {
                    for piece in &write.pieces {
                        at += piece.length();
                        if piece.completes_frame() {
                            layout.push((at, index));
                        }
                    }
                }
                layout
            }
        }
    }
}

#[cfg(test)]
mod tests;
