//! What the emitter plays: ordered writes, each with its due time and its bytes.
//!
//! A script is a value: query parameters are one constructor of it ([`Script::from_query`]),
//! names another ([`Script::named`]). Its last frame is the terminal marker; no frame follows.

use serde::{Deserialize, Serialize};

use crate::frames;
use crate::units::{RunId, Span};

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

/// Names of the named scripts.
pub const NAMES: [&str; 2] = ["headline", "cases"];

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

    /// A script by its name.
    ///
    /// # Errors
    /// When no script has that name.
    pub fn named(name: &str) -> Result<Script, ScriptError> {
        match name {
            "headline" => Ok(Script::headline()),
            // The stream E of the public bug reports: 8 events, 100 ms apart.
            "cases" => Script::paced(8, Span::millis(100), MIN_FRAME_BYTES),
            _ => Err(ScriptError::UnknownName(name.chars().take(40).collect())),
        }
    }

    /// A script from query parameters: `script=NAME` to start from, then `frames`,
    /// `interval_ms` (up to three decimals), `frame_bytes`, `framing=chunked|close`,
    /// `nagle=on|off` and any number of `header=Name: value`.
    ///
    /// # Errors
    /// When a parameter is unknown, unreadable or out of its bounds.
    pub fn from_query<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Script, ScriptError> {
        let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
        let mut script = match pairs.iter().find(|(key, _)| *key == "script") {
            Some((_, name)) => Script::named(name)?,
            None => Script::headline(),
        };
        for (key, value) in pairs {
            script.set(key, value)?;
        }
        script.check()?;
        Ok(script)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), ScriptError> {
        let unreadable = |what, expected| ScriptError::Unreadable {
            what,
            value: value.chars().take(80).collect(),
            expected,
        };
        match key {
            "script" => return Ok(()),
            "framing" => {
                self.framing = match value {
                    "chunked" => Framing::Chunked,
                    "close" => Framing::Close,
                    _ => return Err(unreadable("framing", "it is chunked or close")),
                };
                return Ok(());
            }
            "nagle" => {
                self.nagle = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(unreadable("nagle", "it is on or off")),
                };
                return Ok(());
            }
            "header" => {
                let (name, value) = value
                    .split_once(':')
                    .ok_or_else(|| unreadable("header", "it is written Name: value"))?;
                self.headers
                    .push(Header { name: name.trim().into(), value: value.trim().into() });
                return Ok(());
            }
            _ => {}
        }
        let Body::Paced { frames, interval_us, frame_bytes } = &mut self.body else {
            return Err(ScriptError::UnknownParameter(key.chars().take(40).collect()));
        };
        match key {
            "frames" => {
                *frames = value.parse().map_err(|_| unreadable("frames", "it is a number"))?;
            }
            "frame_bytes" => {
                *frame_bytes =
                    value.parse().map_err(|_| unreadable("frame_bytes", "it is a number"))?;
            }
            "interval_ms" => {
                let ms: f64 = value
                    .parse()
                    .ok()
                    .filter(|ms: &f64| ms.is_finite())
                    .ok_or_else(|| unreadable("interval_ms", "it is a number of milliseconds"))?;
                *interval_us = Span((ms * 1_000.0).round() as i64);
            }
            _ => return Err(ScriptError::UnknownParameter(key.chars().take(40).collect())),
        }
        Ok(())
    }

    /// The query parameters that make this script again, in a fixed order; only for paced ones.
    pub fn to_query(&self) -> Option<Vec<(&'static str, String)>> {
        let Body::Paced { frames, interval_us, frame_bytes } = &self.body else {
            return None;
        };
        let ms = interval_us.as_millis_f64();
        let mut query = vec![
            ("frames", frames.to_string()),
            ("interval_ms", format!("{ms}")),
            ("frame_bytes", frame_bytes.to_string()),
        ];
        if self.framing == Framing::Close {
            query.push(("framing", "close".into()));
        }
        if self.nagle {
            query.push(("nagle", "on".into()));
        }
        for Header { name, value } in &self.headers {
            query.push(("header", format!("{name}: {value}")));
        }
        Some(query)
    }

    /// A short name for cell ids and tables, such as `41x60B@50ms`.
    pub fn slug(&self) -> String {
        let mut slug = match &self.body {
            Body::Paced { frames, interval_us, frame_bytes } => {
                format!("{frames}x{frame_bytes}B@{}ms", interval_us.as_millis_f64())
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
            slug.push_str(&format!("+{}={}", name.to_lowercase(), value.replace(' ', "")));
        }
        slug
    }

    /// Checks every bound.
    ///
    /// # Errors
    /// The first bound that is broken.
    pub fn check(&self) -> Result<(), ScriptError> {
        check_headers(&self.headers)?;
        match &self.body {
            Body::Paced { frames, interval_us, frame_bytes } => {
                in_range("frames", *frames, 1, MAX_FRAMES)?;
                in_range("frame_bytes", *frame_bytes, MIN_FRAME_BYTES, MAX_FRAME_BYTES)?;
                in_range("interval_ms", *interval_us, Span::ZERO, MAX_INTERVAL)?;
            }
            Body::Writes { writes } => check_writes(writes)?,
        }
        in_range("the stream's duration", self.duration(), Span::ZERO, MAX_DURATION)?;
        in_range("the stream's bytes", self.total_bytes(), 1, MAX_TOTAL_BYTES)
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
            Body::Paced { frames, interval_us, .. } => (index < *frames as usize)
                .then(|| Span(interval_us.as_micros() * index as i64)),
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
        self.write_count()
            .checked_sub(1)
            .and_then(|last| self.due(last))
            .unwrap_or(Span::ZERO)
    }

    /// Body bytes.
    pub fn total_bytes(&self) -> u64 {
        match &self.body {
            Body::Paced { frames, frame_bytes, .. } => u64::from(*frames) * u64::from(*frame_bytes),
            Body::Writes { writes } => writes
                .iter()
                .flat_map(|write| &write.pieces)
                .map(|piece| match piece {
                    Piece::Frame { bytes } => u64::from(*bytes),
                    Piece::Part { from, to, .. } => u64::from(to.saturating_sub(*from)),
                    Piece::Comment => frames::COMMENT.len() as u64,
                })
                .sum(),
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
                        let (length, completes) = match piece {
                            Piece::Frame { bytes } => (u64::from(*bytes), true),
                            Piece::Part { bytes, from, to } => {
                                (u64::from(to.saturating_sub(*from)), to == bytes)
                            }
                            Piece::Comment => (frames::COMMENT.len() as u64, false),
                        };
                        at += length;
                        if completes {
                            layout.push((at, index));
                        }
                    }
                }
                layout
            }
        }
    }

    /// The bytes of every write, one after the other.
    pub fn player(&self, run: RunId) -> Player<'_> {
        Player { script: self, run, last: self.frame_count().saturating_sub(1), index: 0, seq: 0 }
    }
}

/// Renders a script's writes in order.
pub struct Player<'a> {
    script: &'a Script,
    run: RunId,
    last: u32,
    index: usize,
    seq: u32,
}

impl Player<'_> {
    /// Goes on where another player of the same script stopped.
    pub fn resume(script: &Script, run: RunId, position: (usize, u32)) -> Player<'_> {
        Player { index: position.0, seq: position.1, ..script.player(run) }
    }

    /// Where this player stands: the next write and the next frame's number.
    pub fn position(&self) -> (usize, u32) {
        (self.index, self.seq)
    }
}

impl Iterator for Player<'_> {
    /// Due time after the start and the bytes.
    type Item = (Span, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let due = self.script.due(self.index)?;
        let mut out = Vec::new();
        match &self.script.body {
            Body::Paced { frame_bytes, .. } => {
                frames::render(&mut out, self.run, self.seq, *frame_bytes, self.seq == self.last);
                self.seq += 1;
            }
            Body::Writes { writes } => {
                for piece in &writes[self.index].pieces {
                    match piece {
                        Piece::Comment => out.extend_from_slice(frames::COMMENT),
                        Piece::Frame { bytes } => {
                            frames::render(&mut out, self.run, self.seq, *bytes, self.seq == self.last);
                            self.seq += 1;
                        }
                        Piece::Part { bytes, from, to } => {
                            let mut whole = Vec::new();
                            frames::render(&mut whole, self.run, self.seq, *bytes, self.seq == self.last);
                            out.extend_from_slice(&whole[*from as usize..*to as usize]);
                            if to == bytes {
                                self.seq += 1;
                            }
                        }
                    }
                }
            }
        }
        self.index += 1;
        Some((due, out))
    }
}

fn in_range<T: PartialOrd + std::fmt::Display>(
    what: &'static str,
    value: T,
    min: T,
    max: T,
) -> Result<(), ScriptError> {
    if value < min || value > max {
        return Err(ScriptError::OutOfRange {
            what,
            value: value.to_string(),
            min: min.to_string(),
            max: max.to_string(),
        });
    }
    Ok(())
}

fn check_writes(writes: &[Write]) -> Result<(), ScriptError> {
    in_range("writes", writes.len(), 1, MAX_FRAMES as usize)?;
    let mut open: Option<(u32, u32)> = None; // the frame in pieces: its size, and how far it came
    let mut last_completes = false;
    for (index, write) in writes.iter().enumerate() {
        let bad = |why| ScriptError::BadWrite { index, why };
        if index > 0 && write.due_us < writes[index - 1].due_us {
            return Err(bad("it is due before the write in front of it"));
        }
        if write.due_us < Span::ZERO {
            return Err(bad("it is due before the start"));
        }
        for piece in &write.pieces {
            last_completes = false;
            match piece {
                Piece::Frame { bytes } | Piece::Part { bytes, .. } => {
                    in_range("frame_bytes", *bytes, MIN_FRAME_BYTES, MAX_FRAME_BYTES)?;
                }
                Piece::Comment => {}
            }
            match (piece, open) {
                (Piece::Part { bytes, from, to }, before) => {
                    let (size, came) = before.unwrap_or((*bytes, 0));
                    if size != *bytes || came != *from || to <= from || to > bytes {
                        return Err(bad("its part does not join the part before it"));
                    }
                    last_completes = to == bytes;
                    open = (to < bytes).then_some((*bytes, *to));
                }
                (_, Some(_)) => return Err(bad("a frame in parts is not finished")),
                (Piece::Frame { .. }, None) => last_completes = true,
                (Piece::Comment, None) => {}
            }
        }
    }
    if !last_completes {
        return Err(ScriptError::BadWrite {
            index: writes.len() - 1,
            why: "the script must end with a whole frame, its terminal marker",
        });
    }
    Ok(())
}

fn check_headers(headers: &[Header]) -> Result<(), ScriptError> {
    // Framing and connection are the script's own parameters; a second voice would make the
    // response ambiguous.
    const RESERVED: [&str; 6] = [
        "connection",
        "content-length",
        "content-encoding",
        "keep-alive",
        "transfer-encoding",
        "upgrade",
    ];
    in_range("the number of headers", headers.len(), 0, MAX_HEADERS)?;
    for Header { name, value } in headers {
        let bad = |why| Err(ScriptError::BadHeader(name.chars().take(40).collect(), why));
        if name.len() + value.len() > MAX_HEADER_BYTES {
            return bad("name and value together may have 1024 bytes");
        }
        if name.is_empty()
            || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
        {
            return bad("its name has characters a header name may not have");
        }
        if !value.bytes().all(|b| b == b'\t' || (0x20..0x7f).contains(&b)) {
            return bad("its value must be printable ASCII");
        }
        if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
            return bad("it belongs to the response's framing, which the script decides itself");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: RunId = RunId(7);

    #[test]
    fn a_paced_script_plays_frames_of_exactly_their_size() {
        for size in [60, 61, 400, 1100] {
            for frames in [1, 11, 101] {
                let script = Script::paced(frames, Span::millis(5), size).unwrap();
                let writes: Vec<_> = script.player(RUN).collect();
                assert_eq!(writes.len(), frames as usize);
                for (index, (due, bytes)) in writes.iter().enumerate() {
                    assert_eq!(*due, Span::millis(5 * index as i64));
                    assert_eq!(bytes.len(), size as usize);
                }
                let last = String::from_utf8(writes.last().unwrap().1.clone()).unwrap();
                assert!(last.contains(&format!("data: {}\n", frames::TERMINAL)), "{last:?}");
            }
        }
    }

    #[test]
    fn query_parameters_round_trip() {
        let query = [
            ("frames", "8"),
            ("interval_ms", "0.5"),
            ("frame_bytes", "1100"),
            ("framing", "close"),
            ("nagle", "on"),
            ("header", "X-Accel-Buffering: no"),
        ];
        let script = Script::from_query(query).unwrap();
        let again = script.to_query().unwrap();
        let pairs = again.iter().map(|(key, value)| (*key, value.as_str()));
        assert_eq!(Script::from_query(pairs), Ok(script.clone()));
        assert_eq!(script.slug(), "8x1100B@0.5ms+close+nagle+x-accel-buffering=no");
    }

    #[test]
    fn out_of_range_names_the_bound() {
        let cases = [
            (("frames", "0"), "frames is 0: it must be from 1 to 99999"),
            (("frame_bytes", "59"), "frame_bytes is 59: it must be from 60 to 1048576"),
            (("interval_ms", "-1"), "interval_ms is -1.0 ms: it must be from 0.0 ms to 60000 ms"),
            (("interval_ms", "nan"), "interval_ms is \"nan\": it is a number of milliseconds"),
            (("frames", "99999999999"), "frames is \"99999999999\": it is a number"),
            (("script", "nope"), "no script is called \"nope\": known are headline, cases"),
            (("header", "Content-Length: 3"), "header \"Content-Length\" may not be set: it belongs to the response's framing, which the script decides itself"),
            (("header", "A: b\r\nC: d"), "header \"A\" may not be set: its value must be printable ASCII"),
        ];
        for (pair, message) in cases {
            assert_eq!(Script::from_query([pair]).unwrap_err().to_string(), message);
        }
        let huge = [("frames", "99999"), ("frame_bytes", "1048576"), ("interval_ms", "0")];
        assert!(Script::from_query(huge).unwrap_err().to_string().contains("bytes"));
    }

    #[test]
    fn frames_in_parts_must_join_and_the_last_must_be_whole() {
        let write = |due, pieces| Write { due_us: Span::millis(due), pieces };
        let part = |from, to| Piece::Part { bytes: 80, from, to };
        let script = |writes| Script { body: Body::Writes { writes }, ..Script::headline() };
        let good = script(vec![
            write(0, vec![Piece::Comment, part(0, 20)]),
            write(50, vec![part(20, 80), Piece::Frame { bytes: 60 }]),
        ]);
        assert_eq!(good.check(), Ok(()));
        assert_eq!(good.write_of_frames(), [1, 1]);
        let bytes: Vec<u8> = good.player(RUN).flat_map(|(_, bytes)| bytes).collect();
        assert_eq!(bytes.len() as u64, good.total_bytes());
        assert_eq!(good.frame_ends().last(), Some(&good.total_bytes()));

        for bad in [
            script(vec![write(0, vec![part(0, 20)]), write(5, vec![part(30, 80)])]),
            script(vec![write(0, vec![part(0, 20)]), write(5, vec![Piece::Frame { bytes: 60 }])]),
            script(vec![write(0, vec![part(0, 20)])]),
            script(vec![write(5, vec![Piece::Frame { bytes: 60 }]), write(0, vec![])]),
            script(vec![]),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_player_resumes_where_another_stopped() {
        let script = Script::headline();
        let whole: Vec<_> = script.player(RUN).collect();
        let mut position = (0, 0);
        for expected in whole {
            let mut player = Player::resume(&script, RUN, position);
            assert_eq!(player.next(), Some(expected));
            position = player.position();
        }
        assert_eq!(Player::resume(&script, RUN, position).next(), None);
    }
}
