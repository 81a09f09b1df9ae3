//! What all engines posted, in one document.

use std::collections::BTreeMap;

use measure::Cell;
use measure::guards::Guards;
use measure::plan::Plan;
use measure::results::{Browser, Document, Machine, RunRecord, SCHEMA, derive_cells};
use measure::verdict::{Finding, Verdict};

use crate::browser::Engine;
use crate::commands::browse::stage::Came;
use crate::exit::Problem;
use crate::rig::Rig;
use crate::store::Store;

/// The runs so far, and what became of each engine.
pub(super) struct Joined {
    pub(super) runs: Vec<RunRecord>,
    /// By engine name.
    pub(super) browsers: BTreeMap<String, Browser>,
    store: Option<Store>,
    /// The first thing that left a hole in a plan.
    pub(super) problem: Option<Problem>,
    /// How many engines have played.
    pub(super) parts: u32,
    cells: Vec<Cell>,
    /// Cells that stand for a browser that could not be had, and why.
    failed: Vec<(Cell, String)>,
    whole: bool,
}

/// What a document says beside its runs.
pub(super) struct Around<'a> {
    pub(super) seed: u64,
    pub(super) started_at: String,
    pub(super) machine: Machine,
    pub(super) names: &'a [String],
    pub(super) rig: &'a Rig,
    pub(super) interrupted: bool,
}

impl Joined {
    pub(super) fn new(store: Option<Store>) -> Joined {
        Joined {
            runs: Vec::new(),
            browsers: BTreeMap::new(),
            store,
            problem: None,
            parts: 0,
            cells: Vec::new(),
            failed: Vec::new(),
            whole: true,
        }
    }

    /// Takes one run, on the disk as well where that is wanted.
    pub(super) fn keep(&mut self, run: RunRecord) -> Result<(), Problem> {
        let kept = self.store.as_mut().map_or(Ok(()), |store| store.keep(&run));
        self.runs.push(run);
        kept.map_err(Problem::nothing)
    }

    /// Takes what became of an engine. One that could not be had is one row and no hole in the
    /// others' plan; one that was lost on its way leaves a hole.
    pub(super) fn take(&mut self, plan: &Plan, came: Came) {
        match came {
            Came::Whole => self.add(plan),
            Came::Early(problem) => {
                self.add(plan);
                self.whole = false;
                self.problem.get_or_insert(problem);
            }
            Came::Never(problem) => {
                let why = problem.to_string();
                let first =
                    plan.cells.iter().find(|cell| cell.is_direct() && cell.engine.is_some());
                self.failed.extend(first.map(|cell| (cell.clone(), why)));
            }
            Came::Interrupted => {
                self.add(plan);
                self.whole = false;
            }
        }
    }

    /// Writes a document, where that is wanted. One that cannot be written is a problem like any
    /// other: what was measured is shown all the same.
    pub(super) fn write(&mut self, document: &Document) {
        if let Some(Err(error)) = self.store.as_ref().map(|store| store.replace(document)) {
            self.problem.get_or_insert(Problem::nothing(error));
        }
    }

    /// Adds a plan's cells to the rows. The native reader's are the same under every engine.
    fn add(&mut self, plan: &Plan) {
        for cell in &plan.cells {
            if !self.cells.contains(cell) {
                self.cells.push(cell.clone());
            }
        }
        self.parts += 1;
    }

    /// What went wrong, when there was only one browser.
    pub(super) fn only_problem(&mut self) -> Option<Problem> {
        let failed = || Some(Problem::nothing(&self.failed.first()?.1));
        self.problem.take().or_else(failed)
    }

    /// The document so far.
    pub(super) fn document(&self, around: Around<'_>) -> Document {
        let guards = Guards::default();
        let mut cells = self.cells.clone();
        // Endpoints that did not start have their rows all the same.
        let rig = around.rig;
        for name in around.names.iter().filter(|name| rig.address(name).is_none()) {
            let controls = self.cells.iter().filter(|cell| cell.is_direct());
            cells.extend(controls.map(|cell| Cell { endpoint: name.clone(), ..cell.clone() }));
        }
        cells.extend(self.failed.iter().map(|(cell, _)| cell.clone()));
        // What reads the same endpoint stands together, the browsers in one order before the
        // native reader.
        cells.sort_by_key(|cell| {
            let endpoint = around.names.iter().position(|name| *name == cell.endpoint);
            let engine = cell.engine.as_deref();
            let of_engine = |known: &Engine| engine == Some(known.name());
            (endpoint, Engine::ALL.iter().position(of_engine).unwrap_or(Engine::ALL.len()))
        });
        let mut rows = derive_cells(&cells, &self.runs, &rig.endpoints, &self.browsers, &guards);
        for row in &mut rows {
            if let Some((_, why)) = self.failed.iter().find(|(cell, _)| *cell == row.cell) {
                row.summary.verdict = Finding::new(Verdict::Failed, why.clone());
            }
        }
        Document {
            schema: SCHEMA.into(),
            complete: self.whole && !around.interrupted,
            command: std::env::args().map(|word| without_credentials(&word)).collect(),
            seed: around.seed,
            started_at: around.started_at,
            machine: around.machine,
            cells: rows,
            guards,
            endpoints: rig.endpoints.clone(),
        }
    }
}

/// A word of the command line without the user and password of an address in it: results are
/// passed on.
fn without_credentials(word: &str) -> String {
    let Some((scheme, rest)) = word.split_once("://") else { return word.into() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => word.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_hold_no_password() {
        for (word, kept) in [
            ("--json", "--json"),
            ("http://grid:4444/a@b", "http://grid:4444/a@b"),
            ("http://me:secret@grid:4444/wd", "http://grid:4444/wd"),
            ("--webdriver=http://me:s@grid", "--webdriver=http://grid"),
        ] {
            assert_eq!(without_credentials(word), kept);
        }
    }
}
