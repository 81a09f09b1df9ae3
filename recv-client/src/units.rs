//! Counts what has a header with its length: TLS records and HTTP/2 frames.

/// Follows units of which each begins with `N` bytes that tell the length of what comes after
/// them. Nothing of their content is kept.
#[derive(Debug)]
pub(crate) struct Units<const N: usize> {
    length: fn(&[u8; N]) -> usize,
    header: [u8; N],
    have: usize,
    left: usize,
}

/// Length of a TLS record's content: its header's last two bytes (RFC 8446, 5.1).
pub(crate) fn record_length(header: &[u8; 5]) -> usize {
    usize::from(u16::from_be_bytes([header[3], header[4]]))
}

/// Length of an HTTP/2 frame's payload: its header's first three bytes (RFC 9113, 4.1).
pub(crate) fn frame_length(header: &[u8; 9]) -> usize {
    u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize
}

impl<const N: usize> Units<N> {
    /// At the start of a stream of them.
    pub(crate) fn new(length: fn(&[u8; N]) -> usize) -> Units<N> {
        Units { length, header: [0; N], have: 0, left: 0 }
    }

    /// Calls `whole` with header and content's length of each unit that these bytes complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut whole: impl FnMut(&[u8; N], usize)) {
        while !bytes.is_empty() {
            if self.have < N {
                let take = bytes.len().min(N - self.have);
                self.header[self.have..self.have + take].copy_from_slice(&bytes[..take]);
                self.have += take;
                bytes = &bytes[take..];
                if self.have < N {
                    return;
                }
                self.left = (self.length)(&self.header);
            }
            let take = bytes.len().min(self.left);
            self.left -= take;
            bytes = &bytes[take..];
            if self.left == 0 {
                whole(&self.header, (self.length)(&self.header));
                self.have = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_cut_counts_the_same_units_each_with_its_last_byte() {
        let record = |content: &[u8]| [&[23, 3, 3, 0, content.len() as u8], content].concat();
        let all = [record(b"abc"), record(b""), record(&[7; 200])].concat();
        for step in 1..=all.len() {
            let mut units = Units::new(record_length);
            let mut ends = Vec::new();
            for (index, part) in all.chunks(step).enumerate() {
                units.feed(part, |header, length| {
                    assert_eq!(header[0], 23);
                    ends.push((index, length));
                });
            }
            let due = [(7, 3), (12, 0), (217, 200)].map(|(last, length)| (last / step, length));
            assert_eq!(ends, due, "in steps of {step}");
        }
    }

    #[test]
    fn lengths_are_read_where_the_standards_put_them() {
        assert_eq!(record_length(&[22, 3, 1, 0x40, 0x10]), 0x4010);
        assert_eq!(frame_length(&[1, 2, 3, 0, 0, 9, 9, 9, 9]), 0x01_0203);
    }
}
