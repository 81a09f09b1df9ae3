//! Follows the responses of one HTTP/2 connection in what leaves it.
//!
//! Only frame headers are looked at: which stream a DATA frame belongs to, how long it is, and
//! whether it is the stream's last. Our own server writes them: no padding, no server preface.

use measure::Stamp;
use measure::ledger::Refusal;

use crate::follow::Follow;

/// Length, type, flags, stream (RFC 9113, 4.1).
const HEADER: usize = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
/// The highest bit of a stream's number is reserved.
const STREAM: u32 = 0x7fff_ffff;

/// The followed responses of a connection, by their streams.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    scan: Scan,
    follows: Vec<(u64, Follow)>,
    /// What the present write carried; kept for its room.
    carried: Vec<Carried>,
    /// Body bytes that have left on all streams.
    data: u64,
    /// Whether the socket has refused what came last.
    refused: bool,
}

/// What one write carried of one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Carried {
    stream: u64,
    data: u64,
    ended: bool,
}

impl Streams {
    /// Enters what leaves on a stream from now on into a ledger.
    pub(crate) fn follow(&mut self, stream: u64, follow: Follow) {
        self.follows.push((stream, follow));
    }

    /// A stream that is over before its end has left.
    pub(crate) fn forget(&mut self, stream: u64) {
        self.follows.retain(|(of, _)| *of != stream);
    }

    /// The client's window has no room for a stream.
    pub(crate) fn no_window(&mut self, stream: u64, at: Stamp) {
        if let Some((_, follow)) = self.follows.iter_mut().find(|(of, _)| *of == stream) {
            follow.refused(Refusal::Window, at, Some(self.data));
        }
    }

    /// It has room again.
    pub(crate) fn window(&mut self, stream: u64, at: Stamp) {
        if let Some((_, follow)) = self.follows.iter_mut().find(|(of, _)| *of == stream) {
            follow.taken(at);
        }
    }

    /// The socket takes nothing, of whatever stream.
    pub(crate) fn refused(&mut self, at: Stamp) {
        self.refused = true;
        for (_, follow) in &mut self.follows {
            follow.refused(Refusal::Socket, at, Some(self.data));
        }
    }

    /// Takes out all that are followed.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Follow> {
        self.follows.drain(..).map(|(_, follow)| follow)
    }

    /// Notes one write of the connection.
    pub(crate) fn wrote<'a>(
        &mut self,
        parts: impl Iterator<Item = &'a [u8]>,
        before: Stamp,
        after: Stamp,
    ) {
        if std::mem::take(&mut self.refused) {
            self.follows.iter_mut().for_each(|(_, follow)| follow.taken(before));
        }
        let Streams { scan, follows, carried, data: all, .. } = self;
        carried.clear();
        for part in parts {
            scan.feed(part, |more| match carried.iter_mut().find(|c| c.stream == more.stream) {
                Some(known) => {
                    known.data += more.data;
                    known.ended |= more.ended;
                }
                None => carried.push(more),
            });
        }
        for Carried { stream, data, ended } in carried.iter() {
            *all += *data;
            let Some(at) = follows.iter().position(|(of, _)| of == stream) else { continue };
            if follows[at].1.left(*data, *ended, before, after) {
                follows.swap_remove(at);
            }
        }
    }
}

/// Where in the connection's frames we are.
#[derive(Debug, Default)]
struct Scan {
    header: [u8; HEADER],
    have: usize,
    /// Payload still to come.
    left: usize,
}

impl Scan {
    /// Says what the bytes carry of responses: headers (no data), data, and ends.
    fn feed(&mut self, mut bytes: &[u8], mut carries: impl FnMut(Carried)) {
        while !bytes.is_empty() {
            if self.have < HEADER {
                let (more, rest) = bytes.split_at(bytes.len().min(HEADER - self.have));
                self.header[self.have..self.have + more.len()].copy_from_slice(more);
                self.have += more.len();
                bytes = rest;
                if self.have < HEADER {
                    return;
                }
                let [a, b, c, ..] = self.header;
                self.left = u32::from_be_bytes([0, a, b, c]) as usize;
            }
            let (payload, rest) = bytes.split_at(bytes.len().min(self.left));
            self.left -= payload.len();
            bytes = rest;
            let [.., kind, flags, s1, s2, s3, s4] = self.header;
            if kind == DATA || kind == HEADERS {
                carries(Carried {
                    stream: u64::from(u32::from_be_bytes([s1, s2, s3, s4]) & STREAM),
                    data: if kind == DATA { payload.len() as u64 } else { 0 },
                    ended: self.left == 0 && flags & END_STREAM != 0,
                });
            }
            if self.left == 0 {
                self.have = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u32).to_be_bytes();
        let mut bytes = length[1..].to_vec();
        bytes.extend([kind, flags]);
        bytes.extend(stream.to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn data_and_ends_are_found_however_the_bytes_are_cut() {
        let bytes = [
            frame(4, 0, 0, &[0; 12]),      // SETTINGS
            frame(HEADERS, 4, 1, b"head"), // END_HEADERS is no end of the stream
            frame(DATA, 0, 1, b"0123456789"),
            frame(8, 0, 3, &[0; 4]),               // WINDOW_UPDATE
            frame(DATA, 0, 0x8000_0003, b"three"), // the reserved bit
            frame(DATA, END_STREAM, 1, b""),
            frame(HEADERS, END_STREAM | 4, 5, b"no body"),
        ]
        .concat();
        for step in 1..=bytes.len() {
            let mut scan = Scan::default();
            let mut found: Vec<Carried> = Vec::new();
            for part in bytes.chunks(step) {
                scan.feed(part, |more| match found.iter_mut().find(|c| c.stream == more.stream) {
                    Some(known) => {
                        assert!(!known.ended, "nothing comes after an end");
                        known.data += more.data;
                        known.ended = more.ended;
                    }
                    None => found.push(more),
                });
            }
            let carried = |stream, data, ended| Carried { stream, data, ended };
            assert_eq!(
                found,
                [carried(1, 10, true), carried(3, 5, false), carried(5, 0, true)],
                "cut every {step} bytes"
            );
        }
    }
}
