//! Renders a script's bytes.

use super::{Body, Piece, Script};
use crate::frames;
use crate::units::{RunId, Span};

impl Script {
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

impl Player<'_> {
    fn render(&self, piece: &Piece, out: &mut Vec<u8>) {
        let frame = |out: &mut Vec<u8>, bytes| {
            frames::render(out, self.run, self.seq, bytes, self.seq == self.last);
        };
        match piece {
            Piece::Comment => out.extend_from_slice(frames::COMMENT),
            Piece::Literal { text, .. } => out.extend_from_slice(text.as_bytes()),
            Piece::Frame { bytes } => frame(out, *bytes),
            Piece::Part { bytes, from, to } => {
                let mut whole = Vec::new();
                frame(&mut whole, *bytes);
                out.extend_from_slice(&whole[*from as usize..*to as usize]);
            }
        }
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
                    self.render(piece, &mut out);
                    self.seq += u32::from(piece.completes_frame());
                }
            }
        }
        self.index += 1;
        Some((due, out))
    }
}
