//! Reads the frames of a QUIC packet that is not encrypted (RFC 9000, 19).

use super::varint;

/// A token that lets an endpoint say that it has forgotten a connection.
const RESET_TOKEN: usize = 16;
/// What a path is tried with.
const CHALLENGE: usize = 8;

/// What a packet says of streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// A part of a stream.
    Part {
        stream: u64,
        offset: u64,
        data: &'a [u8],
        /// Whether the stream ends with it.
        last: bool,
    },
    /// The other side takes no more of a stream.
    Stop { stream: u64 },
}

/// Says what a packet says of streams, in its order; none if it cannot be read to its end.
pub(super) fn read<'a>(mut bytes: &'a [u8], mut says: impl FnMut(Said<'a>)) -> Option<()> {
    while !bytes.is_empty() {
        let (kind, rest) = varint(bytes)?;
        bytes = rest;
        let numbers = match kind {
            // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK.
            0x00 | 0x01 | 0x1e | 0x1f => 0,
            // ACK, with ECN's counts or without.
            0x02 | 0x03 => {
                let ranges;
                (_, bytes) = varint(bytes)?;
                (_, bytes) = varint(bytes)?;
                (ranges, bytes) = varint(bytes)?;
                (_, bytes) = varint(bytes)?;
                // Each range takes two bytes or more: more than there are bytes ends the reading.
                ranges.checked_mul(2)?.checked_add(if kind == 0x03 { 3 } else { 0 })?
            }
            // RESET_STREAM.
            0x04 => 3,
            // STOP_SENDING.
            0x05 => {
                let (stream, _) = varint(bytes)?;
                says(Said::Stop { stream });
                2
            }
            // CRYPTO.
            0x06 => {
                (_, bytes) = varint(bytes)?;
                bytes = skip_counted(bytes)?;
                0
            }
            // NEW_TOKEN.
            0x07 => {
                bytes = skip_counted(bytes)?;
                0
            }
            // STREAM: offset, length and end are there as the bits say.
            0x08..=0x0f => {
                let (stream, mut offset, length);
                (stream, bytes) = varint(bytes)?;
                offset = 0;
                if kind & 4 != 0 {
                    (offset, bytes) = varint(bytes)?;
                }
                let data;
                if kind & 2 != 0 {
                    (length, bytes) = varint(bytes)?;
                    (data, bytes) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
                } else {
                    (data, bytes) = (bytes, &[]);
                }
                says(Said::Part { stream, offset, data, last: kind & 1 != 0 });
                0
            }
            // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
            0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => 1,
            // MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
            0x11 | 0x15 => 2,
            // NEW_CONNECTION_ID.
            0x18 => {
                (_, bytes) = varint(bytes)?;
                (_, bytes) = varint(bytes)?;
                let (length, rest) = bytes.split_first()?;
                bytes = rest.get(usize::from(*length) + RESET_TOKEN..)?;
                0
            }
            // PATH_CHALLENGE, PATH_RESPONSE.
            0x1a | 0x1b => {
                bytes = bytes.get(CHALLENGE..)?;
                0
            }
            // CONNECTION_CLOSE, of QUIC and of what is above.
            0x1c | 0x1d => {
                (_, bytes) = varint(bytes)?;
                if kind == 0x1c {
                    (_, bytes) = varint(bytes)?;
                }
                bytes = skip_counted(bytes)?;
                0
            }
            // DATAGRAM (RFC 9221).
            0x30 => return Some(()),
            0x31 => {
                bytes = skip_counted(bytes)?;
                0
            }
            // ACK_FREQUENCY.
            0xaf => 4,
            _ => return None,
        };
        for _ in 0..numbers {
            (_, bytes) = varint(bytes)?;
        }
    }
    Some(())
}

/// What is behind bytes that say their number before them.
fn skip_counted(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = varint(bytes)?;
    rest.get(usize::try_from(length).ok()?..)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(bytes: &[u8]) -> (Vec<Said<'_>>, bool) {
        let mut all = Vec::new();
        let whole = read(bytes, |said| all.push(said)).is_some();
        (all, whole)
    }

    #[test]
    fn parts_are_found_among_everything_else() {
        let bytes = [
            &[0x02, 0x40, 0x80, 5, 1, 3, 0, 2][..], // ACK of one more range
            &[0x03, 9, 5, 0, 3, 1, 2, 3],           // ACK with ECN's counts
            &[0x01, 0x1e, 0x00],                    // PING, HANDSHAKE_DONE, PADDING
            &[0x06, 0, 2, b'h', b'i'],              // CRYPTO
            &[0x0a, 4, 2, b'a', b'b'],              // STREAM with its length, from its start
            &[0x18, 1, 0, 4, 1, 2, 3, 4],           // NEW_CONNECTION_ID
            &[7; 16],
            &[0x05, 8, 0x41, 0x0c],          // STOP_SENDING
            &[0x1a, 1, 2, 3, 4, 5, 6, 7, 8], // PATH_CHALLENGE
            &[0x11, 4, 0x80, 0, 0, 9],       // MAX_STREAM_DATA
            &[0x0d, 4, 2, b'c'],             // STREAM to the packet's end, its last
        ]
        .concat();
        let expected = [
            Said::Part { stream: 4, offset: 0, data: b"ab", last: false },
            Said::Stop { stream: 8 },
            Said::Part { stream: 4, offset: 2, data: b"c", last: true },
        ];
        assert_eq!(said(&bytes), (expected.to_vec(), true));
        for cut in 0..bytes.len() {
            // Whatever is missing, nothing else is made of it.
            let (all, _) = said(&bytes[..cut]);
            let known = all
                .iter()
                .filter(|said| !matches!(said, Said::Part { data, .. } if data.is_empty()));
            assert!(known.zip(&expected).all(|(a, b)| a == b), "cut at {cut}: {all:?}");
        }
    }

    #[test]
    fn what_is_no_frame_is_not_read() {
        for bytes in [
            &[0x21][..],                                                      // unknown
            &[0x02, 1, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0], // ranges without end
            &[0x0a, 4, 9, b'a'], // longer than the packet
            &[0x18, 1, 0, 200],
            &[0x40],
        ] {
            assert_eq!(said(bytes), (vec![], false), "{bytes:?}");
        }
    }
}
