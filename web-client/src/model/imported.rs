//! A results document that is looked at instead of what was measured here. What was measured
//! stays as it is behind it.

use std::cell::{Cell, RefCell};

use leptos::prelude::*;
use measure::Span;
use measure::results::{CellResult, Document, RunRecord};

use super::{Model, Row};
use crate::geometry::{self, Picture};
use crate::split::Split;

/// The document with what is drawn of it.
#[derive(Debug)]
pub struct Imported {
    /// The file's name.
    pub name: String,
    /// What it holds, without its rows.
    pub document: Document,
    /// Its rows, with the splits of the runs that are known.
    pub rows: Vec<Row>,
    /// The charts, by the cell's id; none without raw runs.
    pub pictures: Vec<(String, Picture)>,
}

impl Imported {
    /// The rows without what was made of them.
    pub fn results(&self) -> Vec<&CellResult> {
        self.rows.iter().map(|row| &row.result).collect()
    }

    /// The row of a result of this document.
    pub fn row(&self, result: &CellResult) -> Option<&Row> {
        self.rows.iter().find(|row| std::ptr::eq(&row.result, result))
    }

    /// The chart of a row.
    pub fn picture(&self, id: &str) -> Option<&Picture> {
        self.pictures.iter().find(|(own, _)| own == id).map(|(_, picture)| picture)
    }

    /// The time that the charts of these rows span.
    pub fn domain(&self, rows: &[&CellResult]) -> Span {
        let mut domain = Span::ZERO;
        for row in rows {
            let script = &row.cell.script;
            // Of a script that nobody can play, the charts alone tell how long it was.
            let planned = script.check().map_or(Span::ZERO, |()| script.duration());
            let latest = self.picture(&row.id).map_or(Span::ZERO, |own| own.latest);
            domain = domain.max(geometry::domain(planned, latest));
        }
        domain
    }
}

/// Where the model keeps it.
#[derive(Default)]
pub(super) struct Slot {
    shown: RefCell<Option<Imported>>,
    /// Counts what was put there, so that a view knows whether it shows that.
    version: Cell<u32>,
    changed: ArcTrigger,
}

impl Model {
    /// Shows a document instead of what was measured here.
    pub fn show_document(&self, name: String, mut document: Document) {
        let mut rows = Vec::new();
        for result in std::mem::take(&mut document.cells) {
            rows.push(Row { result, split: None });
        }
        self.put_imported(Some(Imported { name, document, rows, pictures: Vec::new() }));
    }

    /// Adds raw runs, one a row, to the document that is looked at: the charts, and the splits.
    pub fn add_imported_runs(&self, runs: &[RunRecord]) {
        let Some(shared) = self.shared() else { return };
        let Some(mut imported) = shared.imported.shown.take() else { return };
        for run in runs {
            imported.pictures.retain(|(id, _)| *id != run.cell);
            imported.pictures.push((run.cell.clone(), Picture::of_record(run)));
            for row in imported.rows.iter_mut().filter(|row| row.result.id == run.cell) {
                // By the clock of the browser that the file names.
                let step = row.result.browser.as_ref().map_or(0, |browser| browser.clock_step_us);
                row.split = Split::of(run, Span(step));
            }
        }
        self.put_imported(Some(imported));
    }

    /// Shows what was measured here again.
    pub fn show_live(&self) {
        if self.has_imported() {
            self.put_imported(None);
        }
    }

    /// Forgets the document without a word, because something else is shown now.
    pub fn forget_document(&self) {
        if let Some(shared) = self.shared() {
            shared.imported.shown.take();
        }
    }

    /// Whether a document is looked at; follows it.
    pub fn sees_imported(&self) -> bool {
        if let Some(shared) = self.shared() {
            shared.imported.changed.track();
        }
        self.has_imported()
    }

    /// Whether a document is looked at.
    pub fn has_imported(&self) -> bool {
        self.with_imported(|_| ()).is_some()
    }

    /// Does something with the document that is looked at, if any.
    pub fn with_imported<T>(&self, with: impl FnOnce(&Imported) -> T) -> Option<T> {
        self.shared()?.imported.shown.borrow().as_ref().map(with)
    }

    /// Which document was put there last, by a number.
    pub fn imported_version(&self) -> u32 {
        self.shared().map_or(0, |shared| shared.imported.version.get())
    }

    fn put_imported(&self, imported: Option<Imported>) {
        let Some(shared) = self.shared() else { return };
        let slot = &shared.imported;
        *slot.shown.borrow_mut() = imported;
        slot.version.set(slot.version.get() + 1);
        slot.changed.notify();
    }
}
