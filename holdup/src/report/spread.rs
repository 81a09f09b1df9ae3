//! Distributions: TTFT as a dot a run, gaps as a histogram over their logarithm; one small
//! picture each, all of a preset over the same axis.

use std::fmt::Write;

use measure::stats::Spread;
use measure::{Measurement, Span};

use super::picture::{Esc, Log};
use super::source::Source;

/// Size of one picture in its own units.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 26.0;
const LEFT: f64 = 8.0;
const RIGHT: f64 = WIDTH - 8.0;
/// Bars a decade: as fine as a bar is still seen.
const BARS: usize = 16;

/// What is drawn of one quantity of a cell.
pub(crate) struct Samples {
    /// Raw samples; empty where only the row is known.
    raw: Vec<Span>,
    /// What the row keeps of them.
    kept: Option<Spread>,
}

impl Samples {
    fn longest(&self) -> Span {
        let kept = self.kept.as_ref().map(|spread| spread.max);
        self.raw.iter().copied().chain(kept).max().unwrap_or_default()
    }

    fn words(&self, what: &str) -> String {
        self.kept.as_ref().map_or(format!("{what}: nothing measured"), |spread| {
            format!(
                "{what}: median {}, from {} to {}, {} samples",
                spread.median, spread.min, spread.max, spread.n
            )
        })
    }
}

/// TTFT and gaps of a cell.
pub(crate) struct Cell {
    pub(crate) ttft: Samples,
    pub(crate) gaps: Samples,
}

impl Cell {
    pub(crate) fn of(source: &Source, row: &measure::results::CellResult) -> Cell {
        let runs: Vec<Measurement> = source
            .accepted(&row.id)
            .map(|run| Measurement::join(run.ledger.as_ref(), &run.arrivals))
            .collect();
        let summary = &row.summary;
        Cell {
            ttft: Samples {
                raw: runs.iter().filter_map(|run| run.ttft).collect(),
                kept: summary.ttft_us.clone(),
            },
            gaps: Samples {
                raw: runs.iter().flat_map(|run| run.gaps.iter().copied()).collect(),
                kept: summary.gap_us.clone(),
            },
        }
    }

    /// An axis that holds all of these cells.
    pub(crate) fn axis(cells: &[Cell]) -> Log {
        let longest = cells.iter().map(|cell| cell.ttft.longest().max(cell.gaps.longest())).max();
        Log::up_to(longest.unwrap_or_default(), LEFT, RIGHT)
    }

    /// A dot a run, a line at the median.
    pub(crate) fn ttft_svg(&self, axis: &Log) -> String {
        let mut out = open(HEIGHT, &self.ttft.words("TTFT"));
        frame(&mut out, axis);
        range(&mut out, axis, &self.ttft);
        for (index, at) in self.ttft.raw.iter().enumerate() {
            // Apart from each other by a fixed pattern, so that equal ones are seen as several.
            let y = HEIGHT / 2.0 + [0.0, -4.0, 4.0, -2.0, 2.0][index % 5];
            let _ =
                write!(out, r#"<circle class="dot" cx="{:.1}" cy="{y}" r="2.2"/>"#, axis.x(*at));
        }
        median(&mut out, axis, &self.ttft);
        out.push_str("</svg>");
        out
    }

    /// A bar for each bin of the logarithm, its height the share of the samples.
    pub(crate) fn gaps_svg(&self, axis: &Log) -> String {
        let mut out = open(HEIGHT, &self.gaps.words("gaps"));
        frame(&mut out, axis);
        if self.gaps.raw.is_empty() {
            range(&mut out, axis, &self.gaps);
        } else {
            bars(&mut out, axis, &self.gaps.raw);
        }
        median(&mut out, axis, &self.gaps);
        out.push_str("</svg>");
        out
    }
}

/// The decades over a column of pictures.
pub(crate) fn ruler(axis: &Log) -> String {
    let mut out = open(14.0, "milliseconds, each mark ten times the one before");
    let ticks = axis.ticks();
    let last = ticks.len() - 1;
    for (index, (at, name)) in ticks.into_iter().enumerate() {
        let anchor = match index {
            0 => "start",
            index if index == last => "end",
            _ => "middle",
        };
        // The ends are set to the pictures' own edges.
        let x = match index {
            0 => 0.0,
            index if index == last => WIDTH,
            _ => axis.x(at),
        };
        let _ = write!(
            out,
            r#"<text class="tick" text-anchor="{anchor}" x="{x:.1}" y="11">{}</text>"#,
            Esc(&name)
        );
    }
    out.push_str("</svg>");
    out
}

fn open(height: f64, words: &str) -> String {
    format!(
        r#"<svg class="spread" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}">"#,
        Esc(words)
    )
}

fn frame(out: &mut String, axis: &Log) {
    let mut lines = String::new();
    for (at, _) in axis.ticks() {
        let _ = write!(lines, "M{:.1} 0V{HEIGHT}", axis.x(at));
    }
    let _ = write!(out, r#"<path class="grid" d="{lines}"/>"#);
}

/// From the smallest to the largest.
fn range(out: &mut String, axis: &Log, samples: &Samples) {
    if let Some(spread) = &samples.kept {
        let y = HEIGHT / 2.0;
        let (from, to) = (axis.x(spread.min), axis.x(spread.max));
        let _ = write!(out, r#"<path class="range" d="M{from:.1} {y}H{to:.1}"/>"#);
    }
}

fn median(out: &mut String, axis: &Log, samples: &Samples) {
    if let Some(spread) = &samples.kept {
        let x = axis.x(spread.median);
        let _ = write!(out, r#"<path class="median" d="M{x:.1} 1V{:.1}"/>"#, HEIGHT - 1.0);
    }
}

fn bars(out: &mut String, axis: &Log, samples: &[Span]) {
    let count = BARS * (axis.last - axis.first).unsigned_abs() as usize;
    let width = (RIGHT - LEFT) / count as f64;
    let mut bins = vec![0_u32; count];
    for sample in samples {
        let bin = ((axis.x(*sample) - LEFT) / width) as usize;
        bins[bin.min(count - 1)] += 1;
    }
    let most = bins.iter().copied().max().unwrap_or(1).max(1);
    out.push_str(r#"<g class="bars">"#);
    for (index, bin) in bins.into_iter().enumerate().filter(|(_, bin)| *bin > 0) {
        // A single sample among hundreds is still seen.
        let height = (f64::from(bin) / f64::from(most) * (HEIGHT - 4.0)).max(1.5);
        let _ = write!(
            out,
            r#"<rect x="{:.1}" y="{:.1}" width="{:.1}" height="{height:.1}"/>"#,
            LEFT + index as f64 * width,
            HEIGHT - height,
            width - 0.6
        );
    }
    out.push_str("</g>");
}
