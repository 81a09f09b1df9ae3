//! HAProxy's flush, held against the model "one segment or 200 ms".

use measure::results::{CellResult, Document};
use measure::script::Body;
use measure::trigger::{self, Prediction};
use measure::{Reader, Span};

use super::{per_read, shown, shown_ratio};

/// Loopback's own segment, bytes: its MTU of 65,536 less headers.
const LOOPBACK_SEGMENT: u64 = 65_483;
/// HAProxy's head in front of our emitter's answer, bytes; it waits with the first frame. Within
/// some bytes whatever the headers' values: it decides only which frame fills the first segment.
const HEAD_BYTES: u64 = 330;

/// The sweep as a table, and what it shows.
pub(super) fn section(document: &Document) -> String {
    let mut text = String::from(
        "| frame | interval | segment | first frame held, measured | model | frames per read, measured | model | released by | |\n|---:|---:|---:|---:|---:|---:|---:|---|---|\n",
    );
    let (mut holds, mut all, mut void) = (0, 0, 0);
    for row in document.cells.iter().filter(|row| row.cell.endpoint == "haproxy") {
        let Some(line) = line(row) else { continue };
        match line.holds {
            Some(fits) => {
                all += 1;
                holds += u32::from(fits);
            }
            None => void += 1,
        }
        text.push_str(&line.text);
    }
    text.push_str(&format!(
        "\nThe model: HAProxy sends every chunk but the last with `MSG_MORE`, and what waits goes when it \
         fills one segment or when the kernel's 200 ms have passed, whichever is first. It fits {holds} of {all} rows{}.",
        match void {
            0 => String::new(),
            void => format!("; the guards left {void} more without a figure"),
        }
    ));
    text.push_str(if all > 0 && holds == all {
        " So the trigger is both. What a test shows depends on the link: with loopback's segments only the timer is left, and a rig that knows only loopback draws the wrong conclusion.\n"
    } else {
        " Where it does not fit, the table says so.\n"
    });
    text
}

struct Line {
    text: String,
    /// Absent when the guards left no run.
    holds: Option<bool>,
}

fn line(row: &CellResult) -> Option<Line> {
    let Body::Paced { interval_us, frame_bytes, .. } = row.cell.script.body else { return None };
    debug_assert_eq!(row.cell.reader, Reader::Recv);
    let segment = row.cell.link.mss.map_or(LOOPBACK_SEGMENT, u64::from);
    let head = row.summary.head_bytes.unwrap_or(HEAD_BYTES);
    let predicted = trigger::predict(&row.cell.script, segment, head)?;
    let Prediction { first_hold, frames_per_read, by_segment, by_timer } = predicted;
    let measured_hold: Option<Span> =
        row.summary.first_hold_us.as_ref().map(|spread| spread.median);
    let measured = per_read(Some(row));
    let fits = measured_hold.zip(measured).map(|(hold, per_read)| predicted.holds(hold, per_read));
    let released = match (by_segment, by_timer) {
        (0, 0) => "the end",
        (0, _) => "the timer",
        (_, 0) => "a full segment",
        _ => "both",
    };
    let segment = row.cell.link.mss.map_or("loopback".into(), |mss| format!("{mss} B"));
    Some(Line {
        text: format!(
            "| {frame_bytes} B | {interval_us} | {segment} | {} | {first_hold} | {} | {frames_per_read:.2} | {released} | {} |\n",
            shown(measured_hold),
            shown_ratio(measured),
            match fits {
                Some(true) => "fits",
                Some(false) => "**does not fit**",
                None => "not measured",
            },
        ),
        holds: fits,
    })
}
