//! The published tables, and how a results document stands beside them.
//!
//! The figures are data, row by row, with their source (`tables.rs`); a row of ours is
//! found by its preset, endpoint, script and request; whether the two agree is decided in one
//! place (`agree.rs`), by shape and not by the millisecond; causes of a difference are named only
//! where the evidence shows them (`causes.rs`).

mod agree;
mod causes;
mod tables;

use std::fmt;

use crate::arrivals::Reader;
use crate::cell::{Cell, ETHERNET_MSS, HeaderSet, Slow};
use crate::prompts::{Prompts, REPLAY_SPEED};
use crate::results::{CellResult, Document};
use crate::script::{Header, Script};
use crate::units::Span;

pub use agree::{Agreement, rules};
pub use tables::SOURCES;

/// What a column of a published table counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Call to the first event with text.
    Ttft,
    /// The same, 95th percentile.
    TtftP95,
    /// Median time between frames.
    Gap,
    /// Longest time between frames.
    MaxGap,
    /// Frames received by reads that completed one.
    FramesPerRead,
    /// Frames of an answer.
    Frames,
    /// Call to the first byte of the body.
    FirstBody,
    /// Call to half of the bytes.
    HalfBytes,
    /// Call to the end.
    Total,
    /// Reads that completed frames.
    Reads,
    /// Call to the emitter's last write.
    UpstreamDone,
    /// Largest temporary file that the proxy held open.
    TempFile,
    /// Answers that came in one read.
    SingleReads,
    /// Share of runs that the guards excluded.
    Excluded,
}

impl Quantity {
    /// The column's head.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Ttft => "TTFT",
            Quantity::TtftP95 => "TTFT p95",
            Quantity::Gap => "gap",
            Quantity::MaxGap => "max gap",
            Quantity::FramesPerRead => "frames per read",
            Quantity::Frames => "frames",
            Quantity::FirstBody => "first body",
            Quantity::HalfBytes => "half the bytes",
            Quantity::Total => "all",
            Quantity::Reads => "reads",
            Quantity::UpstreamDone => "upstream done",
            Quantity::TempFile => "temp file",
            Quantity::SingleReads => "in one read",
            Quantity::Excluded => "excluded",
        }
    }

    /// Our figure of it, out of a row of the results.
    fn of(self, cell: &CellResult) -> Option<Figure> {
        let summary = &cell.summary;
        let median = |spread: &Option<crate::stats::Spread>| {
            spread.as_ref().map(|spread| Figure::Time(spread.median))
        };
        match self {
            Quantity::Ttft => median(&summary.ttft_us),
            Quantity::TtftP95 => summary.ttft_us.as_ref()?.p95.map(Figure::Time),
            Quantity::Gap => median(&summary.gap_us),
            Quantity::MaxGap => summary.gap_us.as_ref().map(|gap| Figure::Time(gap.max)),
            Quantity::FramesPerRead => {
                summary.frames_per_read.as_ref().map(|ratio| Figure::Ratio(ratio.median))
            }
            Quantity::FirstBody => median(&summary.first_byte_us),
            Quantity::HalfBytes => median(&summary.half_bytes_us),
            Quantity::Total => median(&summary.total_us),
            Quantity::Reads => summary.reads.map(Figure::Count),
            Quantity::UpstreamDone => median(&summary.upstream_done_us),
            Quantity::TempFile => summary.temp_file_bytes.map(Figure::Bytes),
            // Only complete answers are pooled: each has as many frames as it was asked to have.
            Quantity::Frames => Some(Figure::Count(cell.cell.script.frame_count())),
            Quantity::SingleReads => {
                let complete = summary.outcomes.complete;
                let single = summary.single_delivery_share? * f64::from(complete);
                Some(Figure::Of(single.round() as u32, complete))
            }
            Quantity::Excluded => None,
        }
    }
}

/// A figure with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A time.
    Time(Span),
    /// Times from the first to the second, where a range was published.
    Between(Span, Span),
    /// A ratio such as frames per read.
    Ratio(f64),
    /// A number of things.
    Count(u32),
    /// Bytes.
    Bytes(u64),
    /// A share of a whole, from 0 to 1.
    Share(f64),
    /// Some of a number of answers.
    Of(u32, u32),
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Figure::Time(span) => span.fmt(f),
            Figure::Between(from, to) => {
                write!(f, "{:.0}–{:.0} ms", from.as_millis_f64(), to.as_millis_f64())
            }
            Figure::Ratio(ratio) => write!(f, "{ratio:.2}"),
            Figure::Count(count) => count.fmt(f),
            Figure::Bytes(bytes) => write!(f, "{:.1} MB", *bytes as f64 / 1e6),
            Figure::Share(share) => write!(f, "{:.1}%", share * 100.0),
            Figure::Of(some, all) => write!(f, "{some} of {all}"),
        }
    }
}

/// A published table.
#[derive(Clone, Copy, Debug)]
struct Published {
    id: &'static str,
    title: &'static str,
    source: &'static str,
    columns: &'static [Quantity],
    rows: &'static [Line],
}

/// One row of a published table.
#[derive(Clone, Copy, Debug)]
struct Line {
    label: &'static str,
    /// Name and version of the proxy, where one was published.
    version: Option<(&'static str, &'static str)>,
    figures: &'static [Option<Figure>],
    ours: Ours,
}

/// Where our side of a row is found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ours {
    /// In a cell.
    Cell(Find),
    /// In the exclusions of all cells of P7's preset, with Nagle's algorithm on or off.
    Exclusions { nagle: bool },
}

/// What the cell of a row is known by.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Find {
    preset: &'static str,
    endpoint: &'static str,
    frames: u32,
    interval_ms: i64,
    frame_bytes: u32,
    /// The emitter answers with `X-Accel-Buffering: no`.
    header: bool,
    nagle: bool,
    /// Bytes of a read and milliseconds between reads.
    slow: Option<(u32, i64)>,
    /// The reader accepts gzip.
    gzip: bool,
    /// The prompts that stand in the place of a script.
    prompts: Option<Prompts>,
}

impl Find {
    /// Whether a cell is the one, its preset and segment size apart.
    fn matches(&self, cell: &Cell) -> bool {
        let script = match self.prompts {
            Some(prompts) => Ok(prompts.script()),
            None => Script::paced(self.frames, Span::millis(self.interval_ms), self.frame_bytes),
        };
        let Ok(script) = script else { return false };
        let headers = match self.header {
            true => vec![Header { name: "X-Accel-Buffering".into(), value: "no".into() }],
            false => Vec::new(),
        };
        let slow =
            self.slow.map(|(read_bytes, pause)| Slow { read_bytes, pause_us: Span::millis(pause) });
        let accepts = cell.request.accept_encoding.as_deref();
        cell.endpoint == self.endpoint
            && cell.reader == Reader::Recv
            && cell.concurrency == 1
            && cell.script == Script { nagle: self.nagle, headers, ..script }
            && cell.request.headers == HeaderSet::Plain
            && cell.request.slow == slow
            && cell.request.prompts == self.prompts
            && match self.gzip {
                true => accepts.is_some_and(|codings| codings.contains("gzip")),
                false => accepts.is_none(),
            }
    }

    /// The cell of a document: of this preset before one that another preset made the same way,
    /// with Ethernet's segments before any other.
    fn cell<'a>(&self, document: &'a Document) -> Option<&'a CellResult> {
        document.cells.iter().filter(|row| self.matches(&row.cell)).min_by_key(|row| {
            (row.cell.preset != self.preset, row.cell.link.mss != Some(ETHERNET_MSS))
        })
    }
}

/// A published table with our figures beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its number, such as `P1`.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Whose figures these are: one of [`SOURCES`].
    pub source: &'static str,
    /// The columns.
    pub columns: Vec<Quantity>,
    /// The rows.
    pub rows: Vec<Row>,
}

/// One row of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What was measured.
    pub label: &'static str,
    /// Published figures, one a column.
    pub published: Vec<Option<Figure>>,
    /// Ours, one a column.
    pub ours: Vec<Option<Figure>>,
    /// The id of our cell.
    pub cell: Option<String>,
    /// What is known to be different between the two measurements, such as a version.
    pub conditions: Vec<String>,
    /// Whether both show the same.
    pub agreement: Agreement,
}

/// Puts our figures beside every published table.
pub fn compare(document: &Document) -> Vec<Table> {
    tables::ALL
        .iter()
        .map(|published| Table {
            id: published.id,
            title: published.title,
            source: published.source,
            columns: published.columns.to_vec(),
            rows: published.rows.iter().map(|line| row(document, published, line)).collect(),
        })
        .collect()
}

fn row(document: &Document, published: &Published, line: &Line) -> Row {
    let mut row = Row {
        label: line.label,
        published: line.figures.to_vec(),
        ours: vec![None; line.figures.len()],
        cell: None,
        conditions: Vec::new(),
        agreement: Agreement::NotRun,
    };
    match line.ours {
        Ours::Exclusions { nagle } => {
            let (off, on) = (excluded(document, false), excluded(document, true));
            let (some, all) = if nagle { on } else { off };
            if all > 0 {
                // The share stands in the column in which it was published.
                let share = Some(Figure::Share(f64::from(some) / f64::from(all)));
                row.ours =
                    line.figures.iter().map(|figure| share.filter(|_| figure.is_some())).collect();
                row.agreement = agree::exclusions(nagle, off, on);
            }
        }
        Ours::Cell(find) => {
            if let Some(cell) = find.cell(document) {
                row.cell = Some(cell.id.clone());
                row.ours = published.columns.iter().map(|column| column.of(cell)).collect();
                row.conditions = conditions(document, line, cell);
                row.agreement = agree::cell(document, published, line, &find, cell);
            }
        }
    }
    row
}

/// Runs of P7's preset whose emitter did not keep its pace, of how many: what the published
/// share counts.
fn excluded(document: &Document, nagle: bool) -> (u32, u32) {
    let cells = || {
        document
            .cells
            .iter()
            .filter(|row| row.cell.preset == "connections" && row.cell.script.nagle == nagle)
    };
    let out = cells().filter_map(|row| row.summary.excluded.get("ledger")).sum();
    let all = |row: &CellResult| row.summary.runs + row.summary.excluded.values().sum::<u32>();
    (out, cells().map(all).sum())
}

/// What differs between how the two were measured, as far as it is known.
fn conditions(document: &Document, line: &Line, cell: &CellResult) -> Vec<String> {
    let mut known = Vec::new();
    let endpoint = document.endpoints.iter().find(|endpoint| endpoint.name == cell.cell.endpoint);
    let ours = endpoint.and_then(|endpoint| endpoint.version.as_deref());
    if let (Some((name, theirs)), Some(ours)) = (line.version, ours)
        && !ours.starts_with(theirs)
    {
        // The build behind a version's dash is in the table of versions.
        let ours = ours.split('-').next().unwrap_or(ours);
        known.push(format!("{name} {ours} for {theirs}"));
    }
    match cell.cell.request.prompts {
        Some(Prompts::Model) => known.push("the emitter's chat route for a real model".into()),
        Some(Prompts::Replay) => known.push(format!(
            "the emitter's chat route for the service, {REPLAY_SPEED} times as fast"
        )),
        _ => {}
    }
    if cell.cell.link.mss != Some(ETHERNET_MSS) {
        let ours = cell.cell.link.mss.map_or("loopback's (65 KB)".into(), |mss| mss.to_string());
        known.push(format!("segments: {ours} for {ETHERNET_MSS} bytes"));
    }
    known
}

#[cfg(test)]
mod tests;
