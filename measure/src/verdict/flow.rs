//! A stream that stops because a window is used up.

use super::{Finding, Thresholds, Verdict};
use crate::ledger::Refusal;
use crate::measurement::{Measurement, Stop};
use crate::stats::{self, nearest_rank};
use crate::units::Span;

/// Told by what the emitter was refused, never by lateness: a path that merely buffers takes what
/// it is given. A slow link refuses, too, and gives bytes meanwhile; one that gives them in lumps
/// does so at a rhythm.
pub(super) fn flow_control(m: &Measurement, thresholds: &Thresholds) -> Option<Finding> {
    // A page knows of no stops (see `Measurement::stops`), and need not carry this.
    if cfg!(target_arch = "wasm32") {
        return None;
    }
    let usual = usual_gap(m);
    let stopped = |stop: &&Stop| {
        stop.by != Refusal::Congestion
            && stop.waited >= thresholds.stop
            && stop.silent.as_micros() as f64
                >= thresholds.stop_share * stop.waited.as_micros() as f64
            && stop.silent.as_micros() as f64 >= thresholds.stop_gaps * usual.as_micros() as f64
            && stop.onward.is_some()
            && (stop.by == Refusal::Window || stop.on_the_way >= thresholds.window_bytes)
    };
    let stops: Vec<&Stop> = m.stops.iter().filter(stopped).collect();
    let longest = stops.iter().max_by_key(|stop| stop.waited)?;
    let Stop { waited, left, on_the_way, .. } = longest;
    let window = match (longest.by, longest.connection) {
        (Refusal::Socket | Refusal::Congestion, _) => {
            format!("its socket took no more, with {on_the_way} bytes on the way")
        }
        (Refusal::Window, Some(all)) if all > *left => {
            format!("no window was left, when its connection's streams had {all} together")
        }
        (Refusal::Window, _) => "no window was left".into(),
    };
    let times = match stops.len() {
        1 => String::new(),
        several => format!(", the longest of {several} stops"),
    };
    let reader = if longest.of_reader {
        "; the reader had stopped on purpose, and all went on when it did"
    } else {
        "; then it went on"
    };
    Some(Finding::new(
        Verdict::FlowControl,
        format!(
            "after {left} bytes {window}: a frame that was ready waited {waited}{times}, nothing arrived for {}{reader}",
            longest.silent
        ),
    ))
}

/// Nine in ten gaps between the arrivals of frames are no longer.
fn usual_gap(m: &Measurement) -> Span {
    let times: Vec<_> = m.bursts.iter().map(|burst| burst.at).collect();
    let mut gaps: Vec<Span> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    stats::sort(&mut gaps);
    nearest_rank(&gaps, 0.9).unwrap_or_default()
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
