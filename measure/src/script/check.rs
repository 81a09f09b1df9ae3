//! The bounds of what can be played.

use super::{
    Body, Header, MAX_DURATION, MAX_FRAME_BYTES, MAX_FRAMES, MAX_HEADER_BYTES, MAX_HEADERS,
    MAX_INTERVAL, MAX_TOTAL_BYTES, MIN_FRAME_BYTES, Piece, Script, ScriptError, Write,
};
use crate::units::Span;

impl Script {
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
            match piece {
                Piece::Frame { bytes } | Piece::Part { bytes, .. } => {
                    in_range("frame_bytes", *bytes, MIN_FRAME_BYTES, MAX_FRAME_BYTES)?;
                }
                Piece::Literal { text, .. } => {
                    in_range("the bytes of a text", text.len() as u64, 1, MAX_FRAME_BYTES.into())?;
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
                (_, None) => last_completes = piece.completes_frame(),
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
