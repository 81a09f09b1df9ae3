//! What the cure costs: segments and bytes on the wire, processor time of the proxy.

use measure::results::{CellResult, Document};

use super::find;

/// Payload-independent bytes of one segment on Ethernet: 14 (header) + 4 (checksum) + 20 (IP) +
/// 20 (TCP) + 12 (timestamps); preamble and gap between frames (20 more) are left out.
const SEGMENT_OVERHEAD: u64 = 70;

/// Stock and cured side by side, per thousand frames.
pub(super) fn section(document: &Document) -> String {
    const PRESET: &str = "no-delay-cost";
    let stock = find(document, PRESET, "haproxy", |_| true);
    let cured = find(document, PRESET, "haproxy-no-delay", |_| true);
    let (Some(stock), Some(cured)) = (stock, cured) else {
        return "HAProxy was not measured in this run.\n".into();
    };
    let per_thousand = |row: &CellResult, figure: Option<u64>| {
        figure.map(|figure| figure as f64 * 1_000.0 / f64::from(row.cell.script.frame_count()))
    };
    let segments = |row: &CellResult| per_thousand(row, row.summary.segments_in);
    let payload = |row: &CellResult| per_thousand(row, row.summary.bytes_in);
    let wire = |row: &CellResult| {
        let (segments, payload) = (row.summary.segments_in?, row.summary.bytes_in?);
        per_thousand(row, Some(payload + segments * SEGMENT_OVERHEAD))
    };
    let cpu = |row: &CellResult| {
        let cpu = row.summary.cpu_us.and_then(|cpu| u64::try_from(cpu.as_micros()).ok());
        per_thousand(row, cpu).map(|us| us / 1_000.0)
    };
    let mut text = String::from(
        "| per thousand frames of 60 B, 20 ms apart | stock | `http-no-delay` | ratio |\n|---|---:|---:|---:|\n",
    );
    let mut row = |name: &str, of: &dyn Fn(&CellResult) -> Option<f64>, digits: usize| {
        let (a, b) = (of(stock), of(cured));
        let shown = |figure: Option<f64>| {
            figure.map_or("–".into(), |figure| format!("{figure:.digits$}"))
        };
        let ratio = a.zip(b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a);
        text.push_str(&format!(
            "| {name} | {} | {} | {} |\n",
            shown(a),
            shown(b),
            ratio.map_or("–".into(), |ratio| format!("{ratio:.1}"))
        ));
    };
    row("segments with payload at the reader", &segments, 0);
    row("bytes of payload and chunk framing", &payload, 0);
    row("bytes on an Ethernet wire, acknowledgements not counted", &wire, 0);
    row("processor time of the proxy, ms", &cpu, 1);
    if let Some((a, b)) = segments(stock).zip(segments(cured)) {
        // A segment a frame, give or take the head and the last chunk.
        let one_each = (900.0..1_100.0).contains(&b);
        text.push_str(&format!(
            "\nThe cure sends {:.1} times as many segments{}.\n",
            b / a.max(1.0),
            if one_each { ", one for each frame" } else { "" }
        ));
    }
    text
}
