//! The results document, `holdup.results/1`, and how it is derived from the runs.
//!
//! Runs are records of raw ledgers and arrivals, kept one a line; the document is derived from
//! them, so that every figure and every verdict can be made again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::arrivals::Arrivals;
use crate::cell::{Cell, DIRECT};
use crate::guards::{Exclusion, Guards};
use crate::ledger::Ledger;
use crate::measurement::Measurement;
use crate::stations::{self, Stations};
use crate::summary::{self, JudgedRun, Summary};
use crate::units::Span;
use crate::verdict::{Finding, Thresholds, Verdict};

/// The schema that this code writes, and the only one it reads.
pub const SCHEMA: &str = "holdup.results/1";

/// The machine, as far as it shapes the figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel name and release.
    pub kernel: String,
    /// Processors that may be used.
    pub cpus: u32,
    /// One-minute load average before the first run; absent where it cannot be read.
    pub load_before: Option<f64>,
    /// The same after the last run.
    pub load_after: Option<f64>,
    /// The receive buffer offered at each `recv()`, bytes.
    pub recv_buffer: u32,
    /// How the system let the threads run that take times, such as `real time` or `nice 0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
}

/// One way to the emitter and what it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// Its name, such as `haproxy-no-delay`.
    pub name: String,
    /// The one setting that makes it special.
    pub label: String,
    /// The software; absent for `direct`.
    pub proxy: Option<String>,
    /// The version the binary itself told.
    pub version: Option<String>,
    /// Where the binary came from.
    pub source: Option<String>,
    /// Its hash.
    pub sha256: Option<String>,
    /// The full text of the configuration that ran.
    pub config: Option<String>,
    /// Why it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl Endpoint {
    /// The control.
    pub fn direct() -> Endpoint {
        Endpoint {
            name: DIRECT.into(),
            label: "no proxy".into(),
            proxy: None,
            version: None,
            source: None,
            sha256: None,
            config: None,
            failed: None,
        }
    }
}

/// The browser that read, as it told itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Browser {
    /// Engine name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether the page was cross-origin isolated.
    pub isolated: bool,
    /// Smallest step of its clock, microseconds.
    pub clock_step_us: i64,
}

/// What was seen of the proxy's own process in one run. Every field is absent where it was not
/// looked at or cannot be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxySide {
    /// Largest temporary file that its workers held open, bytes. nginx unlinks it at once, so it
    /// is read from the open descriptors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temp_file_bytes: Option<u64>,
    /// Processor time that its processes used, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<Span>,
}

/// One run, raw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The cell's id.
    pub cell: String,
    /// The round, from 0.
    pub round: u32,
    /// Place in the whole order of runs, from 0.
    pub position: u32,
    /// The emitter's side; absent when the request never reached it.
    pub ledger: Option<Ledger>,
    /// The reader's side.
    pub arrivals: Arrivals,
    /// The tap's side of the same stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Arrivals>,
    /// Why the tap cannot tell what it saw of the stream: under TLS it sees sizes and times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_unknown: Option<String>,
    /// The proxy's own process, where it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<ProxySide>,
}

/// One row: a cell and its figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellResult {
    /// The identity that runs name.
    pub id: String,
    /// What was measured.
    #[serde(flatten)]
    pub cell: Cell,
    /// The browser that read; absent outside one.
    pub browser: Option<Browser>,
    /// The figures.
    #[serde(flatten)]
    pub summary: Summary,
}

/// The results document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Whether every planned run was made.
    pub complete: bool,
    /// The command that made it.
    pub command: Vec<String>,
    /// Seed of the shuffle.
    pub seed: u64,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// The machine.
    pub machine: Machine,
    /// Tolerances of the guards.
    pub guards: Guards,
    /// Ways to the emitter.
    pub endpoints: Vec<Endpoint>,
    /// The rows.
    pub cells: Vec<CellResult>,
}

/// A document that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not JSON, or not a results document.
    #[error("not a results document: {0}")]
    NotResults(#[from] serde_json::Error),
    /// Another schema.
    #[error("its schema is {0:?}, this program reads {SCHEMA:?}: use the version that wrote it")]
    OtherSchema(String),
}

impl Document {
    /// Reads a document, refusing a schema it does not know.
    ///
    /// # Errors
    /// When the text is no results document of [`SCHEMA`].
    pub fn from_json(text: &str) -> Result<Document, ReadError> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let head: Head = serde_json::from_str(text)?;
        if head.schema != SCHEMA {
            return Err(ReadError::OtherSchema(head.schema.chars().take(60).collect()));
        }
        Ok(serde_json::from_str(text)?)
    }

    /// The row of a cell.
    pub fn cell(&self, id: &str) -> Option<&CellResult> {
        self.cells.iter().find(|cell| cell.id == id)
    }

    /// Share of all runs that were excluded, and share of cells left undecided.
    pub fn noise(&self) -> (f64, f64) {
        // A cell that two presets name stands in two rows and is counted once.
        let cells: BTreeMap<&str, &CellResult> =
            self.cells.iter().map(|cell| (cell.id.as_str(), cell)).collect();
        let excluded: u32 = cells.values().flat_map(|c| c.summary.excluded.values()).sum();
        let runs: u32 = excluded + cells.values().map(|cell| cell.summary.runs).sum::<u32>();
        let undecided = cells
            .values()
            .filter(|cell| matches!(cell.summary.verdict.name, Verdict::CannotTell | Verdict::Void))
            .count();
        let share = |part: f64, whole: usize| if whole == 0 { 0.0 } else { part / whole as f64 };
        (share(f64::from(excluded), runs as usize), share(undecided as f64, cells.len()))
    }
}

/// What became of one run: what it shows, or why it may not be looked at.
pub type Judgement = Result<Finding, Exclusion>;

/// Judges every run by itself, in their order, as [`derive_cells`] does before it pools: the
/// guards first, the control of the run's round among them, then the verdict.
pub fn judge_runs(cells: &[Cell], runs: &[RunRecord], guards: &Guards) -> Vec<Judgement> {
    let thresholds = Thresholds::standard();
    let unclean = unclean_rounds(cells, runs, guards);
    runs.iter()
        .map(|run| {
            let Some(cell) = cells.iter().find(|cell| cell.id() == run.cell) else {
                return Ok(Finding::new(Verdict::CannotTell, "no cell has this run's id"));
            };
            let judged = judge(cell, run, unclean.get(&cell.control_key(), run.round), guards);
            match judged.exclusion {
                Some(exclusion) => Err(exclusion),
                None => Ok(judged.finding(&thresholds)),
            }
        })
        .collect()
}

/// Derives the rows from raw runs: judges each run, voids what the direct path voids, pools.
pub fn derive_cells(
    cells: &[Cell],
    runs: &[RunRecord],
    endpoints: &[Endpoint],
    browsers: &BTreeMap<String, Browser>,
    guards: &Guards,
) -> Vec<CellResult> {
    derive_cells_by(cells, runs, endpoints, &|engine| browsers.get(engine).cloned(), guards)
}

/// The same where browsers are known in another way than by a map.
pub fn derive_cells_by(
    cells: &[Cell],
    runs: &[RunRecord],
    endpoints: &[Endpoint],
    browser: &dyn Fn(&str) -> Option<Browser>,
    guards: &Guards,
) -> Vec<CellResult> {
    let thresholds = Thresholds::standard();
    let unclean = unclean_rounds(cells, runs, guards);
    let judged = |cell: &Cell| -> Vec<JudgedRun> {
        let id = cell.id();
        let key = cell.control_key();
        runs.iter()
            .filter(|run| run.cell == id)
            .map(|run| judge(cell, run, unclean.get(&key, run.round), guards))
            .collect()
    };
    cells
        .iter()
        .map(|cell| {
            let control = cells
                .iter()
                .find(|other| other.is_direct() && other.control_key() == cell.control_key());
            let floor = control.and_then(|control| summary::path_floor(&judged(control)));
            let mut summary = summary::summarise(&judged(cell), floor, &thresholds);
            let endpoint = endpoints.iter().find(|endpoint| endpoint.name == cell.endpoint);
            if let Some(why) = endpoint.and_then(|endpoint| endpoint.failed.as_ref()) {
                summary.verdict = Finding::new(Verdict::Failed, why.clone());
            }
            CellResult {
                id: cell.id(),
                browser: cell.engine.as_deref().and_then(browser),
                cell: cell.clone(),
                summary,
            }
        })
        .collect()
}

/// Which rounds of which control were not clean, and why. A round whose control was excluded by
/// a guard of its own has no ground to stand on either.
fn unclean_rounds(cells: &[Cell], runs: &[RunRecord], guards: &Guards) -> Unclean {
    let mut unclean = Unclean(Vec::new());
    for cell in cells.iter().filter(|cell| cell.is_direct()) {
        let (id, key) = (cell.id(), cell.control_key());
        let mut accepted: Vec<(u32, bool)> = Vec::new();
        for run in runs.iter().filter(|run| run.cell == id) {
            let judged = judge(cell, run, None, guards);
            let clean = judged.exclusion.is_none();
            match accepted.iter_mut().find(|(round, _)| *round == run.round) {
                Some((_, any)) => *any |= clean,
                None => accepted.push((run.round, clean)),
            }
            if clean && let Err(why) = guards.direct_is_clean(judged.path()) {
                unclean.note(&key, run.round, why);
            }
        }
        for (round, _) in accepted.into_iter().filter(|(_, any)| !any) {
            let why = "the guards left no run of the direct path in this round";
            unclean.note(&key, round, why.into());
        }
    }
    unclean
}

/// Rounds of a control that were not clean, each with the first reason. A plain list: there are
/// few, and a map's code would be more for the page to download than all of this file.
struct Unclean(Vec<(String, u32, String)>);

impl Unclean {
    fn get(&self, key: &str, round: u32) -> Option<&String> {
        let found = self.0.iter().find(|(own, of, _)| *of == round && own == key);
        found.map(|(_, _, why)| why)
    }

    fn note(&mut self, key: &str, round: u32, why: String) {
        if self.get(key, round).is_none() {
            self.0.push((key.into(), round, why));
        }
    }
}

fn judge(cell: &Cell, run: &RunRecord, unclean: Option<&String>, guards: &Guards) -> JudgedRun {
    let ledger = run.ledger.as_ref();
    let mut measurement = Measurement::join(ledger, &run.arrivals).of_cell(cell);
    let wire = run.wire.as_ref().map(|wire| Measurement::join(ledger, wire).of_cell(cell));
    let mut own_holds = Vec::new();
    if cell.reader.in_browser() {
        // The path is judged on the wire or not at all: a browser's own batching is not its.
        own_holds = std::mem::take(&mut measurement.holds);
    }
    let mut page = cell
        .reader
        .in_browser()
        .then(|| stations::of(cell, run, guards, measurement.frames_per_read()));
    if page.as_ref().is_some_and(|page| page.voids_reader) {
        measurement.forget_page_figures();
        own_holds.clear();
    }
    if !cell.request.is_secure() || wire.is_some() {
        own_holds.clear();
    }
    let exclusion = guards
        .check(cell, ledger, &run.arrivals)
        .or_else(|| guards.check(cell, ledger, run.wire.as_ref()?))
        .or_else(|| unclean.map(|why| Exclusion::Direct(why.clone())));
    let mut take = |of: fn(&mut Stations) -> Vec<Span>| page.as_mut().map_or(Vec::new(), of);
    JudgedRun {
        browser_holds: take(|page| std::mem::take(&mut page.browser_holds)),
        page_holds: take(|page| std::mem::take(&mut page.page_holds)),
        paint_costs: take(|page| std::mem::take(&mut page.paint_costs)),
        browser: page.map(|page| page.side),
        tap_costs: run.wire.as_ref().map_or(Vec::new(), |wire| {
            wire.deliveries.iter().filter_map(|d| Some(d.forwarded? - d.kernel?)).collect()
        }),
        tap_own: run.wire.as_ref().map_or(Vec::new(), |wire| {
            wire.deliveries.iter().filter_map(|d| Some(d.forwarded? - d.at)).collect()
        }),
        head_bytes: run.arrivals.head_bytes,
        segments_in: run.arrivals.segments_in,
        bytes_in: run.arrivals.deliveries.iter().map(|delivery| delivery.bytes).sum(),
        cpu_us: run.proxy.as_ref().and_then(|proxy| proxy.cpu_us),
        clock_uncertainty: run.arrivals.clock.map(|clock| clock.uncertainty()),
        temp_file_bytes: run.proxy.as_ref().and_then(|proxy| proxy.temp_file_bytes),
        protocol: crate::guards::spoken(&run.arrivals).map(String::from),
        wire_unknown: run.wire_unknown.clone(),
        own_holds,
        measurement,
        wire,
        exclusion,
    }
}

#[cfg(test)]
#[path = "results_tests.rs"]
mod tests;
