//! HTTP/3's own frames in the bytes of a stream: a kind, a length, a payload (RFC 9114, 7.1).

use super::varint;

/// A body's bytes.
pub(super) const DATA: u64 = 0;

/// Two numbers of at most eight bytes each.
const MOST_HEADER: usize = 16;

/// Where in a stream's frames we are.
#[derive(Debug, Default)]
pub(super) struct Framing {
    header: [u8; MOST_HEADER],
    have: usize,
    kind: u64,
    /// Payload still to come.
    left: u64,
}

/// A frame's beginning, or a part of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Frame { kind: u64, length: u64 },
    Payload { kind: u64, bytes: u64 },
}

impl Framing {
    /// Says what the next bytes of the stream hold.
    pub(super) fn feed(&mut self, mut bytes: &[u8], mut says: impl FnMut(Piece)) {
        while !bytes.is_empty() {
            if self.left == 0 {
                self.header[self.have] = bytes[0];
                self.have += 1;
                bytes = &bytes[1..];
                let header = &self.header[..self.have];
                let Some((kind, rest)) = varint(header) else { continue };
                let Some((length, _)) = varint(rest) else { continue };
                (self.have, self.kind, self.left) = (0, kind, length);
                says(Piece::Frame { kind, length });
            } else {
                let here = bytes.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                self.left -= here as u64;
                bytes = &bytes[here..];
                says(Piece::Payload { kind: self.kind, bytes: here as u64 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_however_the_bytes_are_cut() {
        let bytes = [
            &[1, 3][..],
            b"abc", // HEADERS
            &[DATA as u8, 0x40, 5],
            b"01234",                           // DATA, its length in two bytes
            &[0xc0, 0, 0, 0, 0, 0, 0, 0x21, 0], // a kind in eight bytes, no payload
            &[DATA as u8, 2],
            b"56",
        ]
        .concat();
        let frames = [(1, 3), (0, 5), (0x21, 0), (0, 2)];
        for step in 1..=bytes.len() {
            let mut framing = Framing::default();
            let (mut begun, mut body) = (Vec::new(), 0);
            for part in bytes.chunks(step) {
                framing.feed(part, |piece| match piece {
                    Piece::Frame { kind, length } => begun.push((kind, length)),
                    Piece::Payload { kind: DATA, bytes } => body += bytes,
                    Piece::Payload { .. } => {}
                });
            }
            assert_eq!((begun.as_slice(), body), (&frames[..], 7), "cut every {step} bytes");
        }
    }
}
