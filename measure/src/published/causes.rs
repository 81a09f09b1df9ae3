//! Why a row differs, where the evidence shows it.
//!
//! A version that differs stands beside the row as a condition; by itself it proves no cause.

use super::agree::{AT_ONCE, same_shape};
use super::{Find, Ours, Published, Quantity};
use crate::cell::{DIRECT, ETHERNET_MSS};
use crate::prompts::Prompts;
use crate::results::{CellResult, Document};
use crate::units::Span;

/// The cause of a difference; `None` where none is known.
pub(super) fn known(
    document: &Document,
    published: &Published,
    find: &Find,
    ours: &CellResult,
    which: &[Quantity],
) -> Option<String> {
    if find.endpoint == DIRECT {
        return Some("there is no proxy here: it is the machine, its link or the reader".into());
    }
    loopback_segments(find, ours)
        .or_else(|| exact_bytes(find, ours, which))
        .or_else(|| sleeping_reader(find, ours, which))
        .or_else(|| as_direct(document, published, find, which))
}

/// The segment decides what a corking proxy shows: it waits for one to be full.
fn loopback_segments(find: &Find, ours: &CellResult) -> Option<String> {
    let mss = ours.cell.link.mss;
    if !find.endpoint.starts_with("haproxy") || mss == Some(ETHERNET_MSS) {
        return None;
    }
    Some(format!(
        "it waits for a full segment, and segments here are {}, not {ETHERNET_MSS} bytes",
        mss.map_or("loopback's 65 KB".into(), |mss| format!("{mss} bytes")),
    ))
}

/// Where two frames fill a segment, some bytes more or less decide which frame fills it; the
/// published size is "about 1.1 KB". Seen here: response head and first chunk are 1,480 bytes.
fn exact_bytes(find: &Find, ours: &CellResult, which: &[Quantity]) -> Option<String> {
    let segment = ours.cell.link.mss?;
    let two_fill_one = find.frame_bytes < segment && find.frame_bytes * 2 >= segment;
    let only_times = which.iter().all(|quantity| *quantity != Quantity::FramesPerRead);
    let at_once = ours.summary.ttft_us.as_ref()?.median < AT_ONCE;
    let per_read = ours.summary.frames_per_read.as_ref()?.median;
    let corks = find.endpoint == "haproxy";
    (corks && two_fill_one && only_times && at_once).then(|| {
        format!(
            "\"about 1.1 KB\" is not known to the byte: here the response's head and the first frame fill a segment of {segment} bytes, which leaves at once, and later frames leave {per_read:.2} at a time"
        )
    })
}

/// A reader that sleeps between reads, and whose first read brought a part of the first frame,
/// sees the rest only after its sleep.
fn sleeping_reader(find: &Find, ours: &CellResult, which: &[Quantity]) -> Option<String> {
    let pause = Span::millis(find.slow?.1);
    let first_byte = ours.summary.first_byte_us.as_ref()?.median;
    let ttft = ours.summary.ttft_us.as_ref()?.median;
    // A sleep may end a little early by the clock that stamps reads.
    let slept = (ttft - first_byte).as_micros() * 10 >= pause.as_micros() * 9;
    (which == [Quantity::Ttft] && first_byte < AT_ONCE && slept).then(|| {
        format!(
            "the first read brought only a part of the first frame (after {first_byte}), and this reader sleeps {pause} before it reads on: when the rest came in between is not seen"
        )
    })
}

fn as_direct(
    document: &Document,
    published: &Published,
    find: &Find,
    which: &[Quantity],
) -> Option<String> {
    // The replay is judged by its direct path's own times already.
    if find.prompts == Some(Prompts::Replay) {
        return None;
    }
    let (line, direct) = published.rows.iter().find_map(|line| match line.ours {
        Ours::Cell(other) if other == (Find { endpoint: DIRECT, ..*find }) => {
            Some((line, other.cell(document)?))
        }
        _ => None,
    })?;
    let same = |quantity: &Quantity| {
        let index = published.columns.iter().position(|other| other == quantity);
        let theirs = index.and_then(|index| *line.figures.get(index)?);
        theirs.zip(quantity.of(direct)).is_some_and(|(theirs, ours)| {
            !same_shape(*quantity, theirs, ours, published, line, direct)
        })
    };
    which
        .iter()
        .all(same)
        .then(|| "the direct path differs in the same way: it is not the proxy".into())
}
