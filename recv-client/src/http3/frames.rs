//! Counts the frames of an HTTP/3 stream: each begins with its type and the length of what comes
//! after (RFC 9114, 7.1), both of a size that their first two bits tell (RFC 9000, 16).

/// Frame types (RFC 9114, 7.2).
pub(super) const DATA: u64 = 0;
pub(super) const HEADERS: u64 = 1;

/// Follows the frames of one stream. Nothing of their content is kept.
#[derive(Debug, Default)]
pub(super) struct Frames {
    header: Vec<u8>,
    left: u64,
}

/// A number at the start of these bytes, and how many of them it takes; `None` while some of them
/// are missing.
fn number(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let size = 1 << (first >> 6);
    let rest = bytes.get(1..size)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |all, byte| all << 8 | u64::from(*byte));
    Some((value, size))
}

impl Frames {
    /// Calls `begun` with type, header's and content's length of each frame whose header these
    /// bytes complete, and `whole` with the type of each frame that they complete.
    pub(super) fn feed(
        &mut self,
        mut bytes: &[u8],
        mut begun: impl FnMut(u64, usize, u64),
        mut whole: impl FnMut(u64),
    ) {
        while let Some((byte, rest)) = bytes.split_first() {
            if self.left == 0 {
                self.header.push(*byte);
                bytes = rest;
                let Some((kind, length)) = self.complete() else { continue };
                begun(kind, self.header.len(), length);
                self.left = length;
            } else {
                let take = self.left.min(bytes.len() as u64);
                self.left -= take;
                bytes = &bytes[take as usize..];
            }
            if self.left == 0 {
                let (kind, _) = self.complete().unwrap_or_default();
                whole(kind);
                self.header.clear();
            }
        }
    }

    /// Whether a frame is begun and not complete.
    pub(super) fn is_within(&self) -> bool {
        self.left > 0 || !self.header.is_empty()
    }

    /// Type and length, once the header is whole.
    fn complete(&self) -> Option<(u64, u64)> {
        let (kind, size) = number(&self.header)?;
        let (length, _) = number(&self.header[size..])?;
        Some((kind, length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_counts_the_same_frames_each_with_its_last_byte() {
        // HEADERS of 3 bytes, empty DATA, an unknown type of two bytes, DATA whose length takes two.
        let mut all = vec![1, 3, b'a', b'b', b'c', 0, 0, 0x40, 0x21, 1, 9, 0, 0x40, 70];
        all.extend([7; 70]);
        for step in 1..=all.len() {
            let mut frames = Frames::default();
            let (mut begun, mut ends) = (Vec::new(), Vec::new());
            for (index, part) in all.chunks(step).enumerate() {
                frames.feed(
                    part,
                    |kind, header, length| begun.push((kind, header, length)),
                    |kind| ends.push((kind, index)),
                );
            }
            assert_eq!(begun, [(1, 2, 3), (0, 2, 0), (0x21, 3, 1), (0, 3, 70)], "steps of {step}");
            let due = [(1, 4), (0, 6), (0x21, 10), (0, 83)].map(|(kind, at)| (kind, at / step));
            assert_eq!(ends, due, "in steps of {step}");
        }
    }

    #[test]
    fn numbers_are_read_as_the_standard_has_them() {
        // RFC 9000, A.1.
        assert_eq!(number(&[0x25]), Some((37, 1)));
        assert_eq!(number(&[0x7b, 0xbd]), Some((15_293, 2)));
        assert_eq!(number(&[0x9d, 0x7f, 0x3e, 0x7d]), Some((494_878_333, 4)));
        assert_eq!(number(&[0x9d, 0x7f, 0x3e]), None);
    }
}
