//! Which record brought which frame, by sizes and order alone, where only one answer fits.
//!
//! Over HTTP/2 a DATA frame is 9 bytes and its part of the stream; a TLS 1.3 record is its content,
//! one byte for the content's type, and 16 of the cipher. So a record's length says which of the
//! next frames it may hold. All ways to divide the frames among the records are counted: a stream
//! is joined when there is exactly one.

use std::collections::BTreeMap;

/// What a record is longer than its content (RFC 8446, 5.2: the type's byte, and the tag of every
/// cipher that TLS 1.3 has but one that nobody offers).
const SEALING: u32 = 1 + 16;
/// Header of an HTTP/2 frame (RFC 9113, 4.1).
const FRAME_HEADER: u32 = 9;
/// Least and most that a record holds before the first frame when the answer's head lies in it:
/// a HEADERS frame with one byte, and far more than any head here has.
const HEAD: std::ops::RangeInclusive<u32> = FRAME_HEADER + 1..=4_096;
/// Contents that are HTTP/2's own between frames: one or two of SETTINGS acknowledged and an empty
/// DATA frame (9), WINDOW_UPDATE (13), PING (17).
const OWN: [u32; 8] = [9, 13, 17, 18, 22, 26, 30, 34];
/// Most other records before the first frame: the answer's head, the server's SETTINGS, and a few
/// tickets of TLS (OpenSSL sends two, rustls up to four).
const BEFORE: usize = 6;
/// Most ways followed at once: beyond it nothing would be proved.
const MAX_OPEN: usize = 4_096;

/// Why records and frames cannot be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unjoined {
    /// No division of the frames fits the records.
    None,
    /// More than one does.
    Several,
}

/// The frames before and including which a record has brought, and by how many ways.
type Open = BTreeMap<usize, (u32, usize)>;

/// The record of each frame: `frames` are their sizes, `records` the lengths of the records of
/// the answer, from the request to the end.
pub(crate) fn join(frames: &[u32], records: &[u32]) -> Result<Vec<usize>, Unjoined> {
    let smallest = frames.iter().min().copied().ok_or(Unjoined::None)?;
    let mut open: Open = [(0, (1, 0))].into();
    let mut steps: Vec<Open> = Vec::new();
    let mut before = 0;
    for length in records {
        let content = length.saturating_sub(SEALING);
        let own = OWN.contains(&content) && content < smallest + FRAME_HEADER;
        before += usize::from(!own);
        let mut next = Open::new();
        let mut go = |to: usize, ways: u32, from: usize| {
            let place = next.entry(to).or_insert((0, from));
            place.0 = (place.0 + ways).min(2);
        };
        for (done, (ways, _)) in &open {
            if own || *done == 0 && before <= BEFORE {
                go(*done, *ways, *done);
            }
            let mut sum = 0;
            for (count, size) in (1..).zip(&frames[*done..]) {
                sum += size;
                if sum + FRAME_HEADER > content {
                    break;
                }
                let last = done + count == frames.len();
                if fits(content - sum, count as u32, last, *done == 0) {
                    go(done + count, *ways, *done);
                }
            }
        }
        if next.len() > MAX_OPEN {
            return Err(Unjoined::Several);
        }
        steps.push(next.clone());
        open = next;
    }
    match open.get(&frames.len()) {
        None => return Err(Unjoined::None),
        Some((1, _)) => {}
        Some(_) => return Err(Unjoined::Several),
    }
    // The one way, from its end.
    let (mut of_frame, mut at) = (vec![0; frames.len()], frames.len());
    for (record, step) in steps.iter().enumerate().rev() {
        let from = step.get(&at).map_or(at, |(_, from)| *from);
        of_frame[from..at].fill(record);
        at = from;
    }
    Ok(of_frame)
}

/// Whether what is left of a record beside `count` frames can be the headers of one to `count`
/// DATA frames, an empty one that ends the stream, and before the first frame the answer's head.
fn fits(left: u32, count: u32, last: bool, first: bool) -> bool {
    let most = count + u32::from(last);
    let exact = left.is_multiple_of(FRAME_HEADER) && left / FRAME_HEADER <= most;
    let least = *HEAD.start() + FRAME_HEADER;
    exact || first && left >= least && left - FRAME_HEADER <= *HEAD.end() + FRAME_HEADER * most
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Length of a record with that content.
    fn sealed(content: u32) -> u32 {
        content + SEALING
    }

    /// A record with so many DATA frames of 60 bytes.
    fn data(count: u32) -> u32 {
        sealed(count * (FRAME_HEADER + 60))
    }

    const HEADERS: u32 = 118 + SEALING;
    const TICKET: u32 = 250;
    const SETTINGS: u32 = FRAME_HEADER + SEALING;
    const END: u32 = FRAME_HEADER + SEALING;

    #[test]
    fn a_live_stream_has_a_record_a_frame() {
        let records = [vec![TICKET, TICKET, SETTINGS, HEADERS], vec![data(1); 41], vec![END]];
        let joined = join(&[60; 41], &records.concat()).unwrap();
        assert_eq!(joined, (4..45).collect::<Vec<usize>>());
    }

    #[test]
    fn the_end_may_lie_in_the_last_frames_record() {
        let records = [vec![HEADERS], vec![data(1); 2], vec![data(1) + FRAME_HEADER]].concat();
        assert_eq!(join(&[60; 3], &records), Ok(vec![1, 2, 3]));
    }

    #[test]
    fn a_corked_stream_has_several_frames_a_record() {
        let mut records = vec![HEADERS, data(1)];
        records.extend([data(4); 10]);
        records.push(END);
        let joined = join(&[60; 41], &records).unwrap();
        assert_eq!(joined[0], 1);
        assert_eq!(joined[1..5], [2; 4]);
        assert_eq!(joined[37..], [11; 4]);
        // The same with the frames of a burst in one DATA frame.
        records[5] = sealed(FRAME_HEADER + 4 * 60);
        assert_eq!(join(&[60; 41], &records), Ok(joined));
    }

    #[test]
    fn all_in_one_record_is_so_with_the_head_before_or_within() {
        let all = FRAME_HEADER + 41 * 60;
        assert_eq!(join(&[60; 41], &[HEADERS, sealed(all)]), Ok(vec![1; 41]));
        assert_eq!(join(&[60; 41], &[sealed(118 + all), END]), Ok(vec![0; 41]));
    }

    #[test]
    fn frames_of_several_sizes_are_joined_by_them() {
        let frames = [60, 1_100, 60, 200];
        let records = [HEADERS, sealed(69), sealed(1_109 + 69), sealed(209), END];
        assert_eq!(join(&frames, &records), Ok(vec![1, 2, 2, 3]));
    }

    #[test]
    fn what_is_cut_or_missing_is_not_joined() {
        let cut = [HEADERS, data(1), sealed(FRAME_HEADER + 30), sealed(FRAME_HEADER + 30), data(1)];
        assert_eq!(join(&[60; 3], &cut), Err(Unjoined::None));
        assert_eq!(join(&[60; 5], &[HEADERS, data(1), data(1)]), Err(Unjoined::None));
        // A head and 16 KB of a stream of 18 KB, then the rest.
        let buffered = [sealed(16_384), sealed(2_000)];
        assert_eq!(join(&[60; 300], &buffered), Err(Unjoined::None));
        assert_eq!(join(&[60; 300], &[]), Err(Unjoined::None));
        // Compressed on the way.
        assert_eq!(join(&[60; 41], &[HEADERS, 70, 31, 33]), Err(Unjoined::None));
    }

    #[test]
    fn what_fits_in_two_ways_is_not_joined() {
        // 63 frames of 20 bytes in 20 DATA frames are as long as 72 in no more than one each:
        // 63 * 20 + 27 * 9 = 1503 = 72 * 20 + 7 * 9.
        let (one, other) = (sealed(63 * 20 + 27 * 9), sealed(72 * 20 + 7 * 9));
        assert_eq!(one, other);
        assert_eq!(join(&[20; 135], &[HEADERS, one, other]), Err(Unjoined::Several));
        // Two streams at once on one connection.
        let two = [vec![HEADERS, HEADERS], vec![data(1); 82], vec![END, END]].concat();
        assert_eq!(join(&[60; 41], &two), Err(Unjoined::None));
    }
}
