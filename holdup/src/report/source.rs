//! What a report is made from: the document, and the raw runs where they are there.
//!
//! Everything is checked before anything is drawn: a file may be half-written, edited by hand,
//! or not ours at all.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use measure::results::{CellResult, Document, ReadError, RunRecord, derive_cells, judge_runs};
use measure::{Arrivals, Cell, Measurement, Span};
use serde_json::Value;

use crate::store::{RESULTS, RUNS};

/// No number of a measurement is greater: 35 years in microseconds, a petabyte in bytes. Below
/// it sums and differences cannot overflow.
const MOST: f64 = (1_u64 << 50) as f64;

/// A folder that no report can be made from.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    #[error(
        "{0} holds no results.json: give the folder that was --out of holdup measure or browse"
    )]
    NoResults(PathBuf),
    #[error(
        "{0} holds runs.ndjson but no results.json: the command that wrote it was killed before its end; measure again"
    )]
    NoDocument(PathBuf),
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error("{path}: {source}")]
    Document { path: PathBuf, source: ReadError },
    #[error("{path}: {why}: it is damaged or was edited; measure again")]
    Damaged { path: PathBuf, why: String },
    #[error(
        "{path}, line {line}: {why}: it is damaged or was edited; move it away to report results.json alone"
    )]
    BadRun { path: PathBuf, line: usize, why: String },
    #[error(
        "{path} does not follow from runs.ndjson: {what}; one of the two was edited, or another version wrote them; move runs.ndjson away to report it as it stands"
    )]
    Edited { path: PathBuf, what: String },
}

/// One raw run and whether it counts.
pub(crate) struct Run {
    pub(crate) record: RunRecord,
    pub(crate) excluded: bool,
}

/// What a report is made from.
pub(crate) struct Source {
    pub(crate) document: Document,
    /// The runs of each cell, by the cell's id; `None` without a file of runs.
    pub(crate) runs: Option<BTreeMap<String, Vec<Run>>>,
    /// What is missing or odd, one sentence each.
    pub(crate) notes: Vec<String>,
}

impl Source {
    /// Reads a results folder.
    pub(crate) fn read(folder: &Path) -> Result<Source, SourceError> {
        let mut source = document(folder)?;
        let path = folder.join(RUNS);
        if !path.exists() {
            source.notes.push(
                "runs.ndjson is not in the folder: slope charts and single runs are missing, and the distributions show only what the rows keep of them."
                    .into(),
            );
            return Ok(source);
        }
        let runs = runs(&path, &mut source.notes)?;
        check_against(folder, &runs, &mut source)?;
        let cells: Vec<Cell> = source.document.cells.iter().map(|row| row.cell.clone()).collect();
        let judged = judge_runs(&cells, &runs, &source.document.guards);
        let mut by_cell: BTreeMap<String, Vec<Run>> = BTreeMap::new();
        for (record, judged) in runs.into_iter().zip(judged) {
            let excluded = judged.is_err();
            by_cell.entry(record.cell.clone()).or_default().push(Run { record, excluded });
        }
        source.runs = Some(by_cell);
        Ok(source)
    }

    /// The accepted runs of a cell.
    pub(crate) fn accepted(&self, id: &str) -> impl Iterator<Item = &RunRecord> {
        self.runs
            .as_ref()
            .and_then(|runs| runs.get(id))
            .into_iter()
            .flatten()
            .filter(|run| !run.excluded)
            .map(|run| &run.record)
    }

    /// The accepted run whose TTFT is the median among those that have one.
    pub(crate) fn middle(&self, id: &str) -> Option<&RunRecord> {
        let mut runs: Vec<(Option<Span>, &RunRecord)> = self
            .accepted(id)
            .map(|run| (Measurement::join(run.ledger.as_ref(), &run.arrivals).ttft, run))
            .collect();
        // Those without a token come last, and are shown when there is no other.
        runs.sort_by_key(|(ttft, _)| (ttft.is_none(), *ttft));
        let with_token = runs.iter().filter(|(ttft, _)| ttft.is_some()).count();
        let middle = with_token.max(1).div_ceil(2) - 1;
        runs.get(middle).map(|(_, run)| *run)
    }
}

fn document(folder: &Path) -> Result<Source, SourceError> {
    let path = folder.join(RESULTS);
    let bytes = fs::read(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound if folder.join(RUNS).exists() => {
            SourceError::NoDocument(folder.into())
        }
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            SourceError::NoResults(folder.into())
        }
        _ => SourceError::Io { path: path.clone(), source },
    })?;
    let damaged = |why: String| SourceError::Damaged { path: path.clone(), why };
    let text = String::from_utf8(bytes).map_err(|_| damaged("it is not text".into()))?;
    let document = Document::from_json(&text)
        .map_err(|source| SourceError::Document { path: path.clone(), source })?;
    let value: Value = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
    // The seed is any number; it is printed and nothing else.
    for (key, value) in value.as_object().into_iter().flatten().filter(|(key, _)| *key != "seed") {
        in_range(value).map_err(|number| damaged(format!("{key} holds {number}")))?;
    }
    for row in &document.cells {
        row.cell
            .script
            .check()
            .map_err(|error| damaged(format!("the script of {}: {error}", row.id)))?;
        if row.id != row.cell.id() {
            return Err(damaged(format!("the row {} describes {}", row.id, row.cell.id())));
        }
    }
    let mut notes = Vec::new();
    if !document.complete {
        notes.push("Incomplete: it was interrupted before the whole plan was played.".into());
    }
    Ok(Source { document, runs: None, notes })
}

/// Refuses numbers that no measurement gives.
fn in_range(value: &Value) -> Result<(), String> {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(value) if value.abs() <= MOST => Ok(()),
            _ => Err(format!("the number {number}")),
        },
        Value::Array(values) => values.iter().try_for_each(in_range),
        Value::Object(values) => values.values().try_for_each(in_range),
        _ => Ok(()),
    }
}

/// The runs of a file by itself, checked as those of a results folder are.
pub(crate) fn read_runs(path: &Path) -> Result<Vec<RunRecord>, SourceError> {
    runs(path, &mut Vec::new())
}

fn runs(path: &Path, notes: &mut Vec<String>) -> Result<Vec<RunRecord>, SourceError> {
    let io = |source| SourceError::Io { path: path.into(), source };
    let mut file = BufReader::new(fs::File::open(path).map_err(io)?);
    let mut runs = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        if file.read_until(b'\n', &mut line).map_err(io)? == 0 {
            return Ok(runs);
        }
        // Whoever was killed while writing a line left it without its end.
        let cut = line.last() != Some(&b'\n');
        match run(&line) {
            Ok(run) => runs.push(run),
            Err(_) if cut => notes.push(format!(
                "The last line of runs.ndjson is cut; the {} runs before it are used.",
                runs.len()
            )),
            Err(why) => {
                return Err(SourceError::BadRun { path: path.into(), line: runs.len() + 1, why });
            }
        }
    }
}

fn run(line: &[u8]) -> Result<RunRecord, String> {
    let value: Value = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    in_range(&value)?;
    let run: RunRecord = serde_json::from_value(value).map_err(|error| error.to_string())?;
    if let Some(ledger) = &run.ledger {
        ledger.script.check().map_err(|error| error.to_string())?;
    }
    let sums = |arrivals: &Arrivals| {
        let bytes = |field: fn(&measure::Delivery) -> Option<u64>| {
            arrivals.deliveries.iter().filter_map(field).map(u128::from).sum::<u128>()
        };
        bytes(|delivery| delivery.bytes).max(bytes(|delivery| delivery.body_bytes))
    };
    let most = sums(&run.arrivals).max(run.wire.as_ref().map_or(0, sums));
    if most > 1 << 50 {
        return Err(format!("{most} bytes in one run"));
    }
    Ok(run)
}

/// Whether the rows follow from the runs. Verdicts are left out: newer thresholds may name
/// what older ones did not.
fn check_against(
    folder: &Path,
    runs: &[RunRecord],
    source: &mut Source,
) -> Result<(), SourceError> {
    let document = &source.document;
    let unique: BTreeMap<&str, &CellResult> =
        document.cells.iter().map(|row| (row.id.as_str(), row)).collect();
    let strange = runs.iter().filter(|run| !unique.contains_key(run.cell.as_str())).count();
    if strange > 0 {
        source.notes.push(format!("{strange} runs in runs.ndjson belong to no row."));
    }
    let counted: u64 = unique
        .values()
        .map(|row| &row.summary)
        .map(|summary| {
            u64::from(summary.runs) + summary.excluded.values().copied().map(u64::from).sum::<u64>()
        })
        .sum();
    let there = (runs.len() - strange) as u64;
    if counted != there {
        source.notes.push(format!(
            "results.json counts {counted} runs, runs.ndjson holds {there} of them; tables show the former, charts the latter."
        ));
        return Ok(());
    }
    let cells: Vec<Cell> = unique.values().map(|row| row.cell.clone()).collect();
    let again = derive_cells(&cells, runs, &[], &BTreeMap::new(), &document.guards);
    for (row, again) in unique.values().zip(again) {
        let told = [&row.summary, &again.summary].map(|summary| {
            let ratio =
                summary.frames_per_read.as_ref().map(|ratio| format!("{:.4}", ratio.median));
            let gaps = summary.gap_us.as_ref().map(|gap| (gap.median, gap.max, gap.n));
            let ttft = summary.ttft_us.as_ref().map(|ttft| (ttft.median, ttft.min, ttft.max));
            (summary.runs, ttft, gaps, ratio)
        });
        let what = match &told {
            [(runs, ..), (again, ..)] if runs != again => format!("{runs} runs, counted {again}"),
            [(_, ttft, ..), (_, again, ..)] if ttft != again => "TTFT".into(),
            [(_, _, gaps, _), (_, _, again, _)] if gaps != again => "gaps".into(),
            [(.., ratio), (.., again)] if ratio != again => "frames per read".into(),
            _ => continue,
        };
        let what = format!("{what} of {}", row.id);
        return Err(SourceError::Edited { path: folder.join(RESULTS), what });
    }
    Ok(())
}
