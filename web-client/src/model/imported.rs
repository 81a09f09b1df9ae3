//! A results document that is looked at instead of what was measured here. What was measured
//! stays as it is behind it.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use measure::Span;
use measure::results::{Document, RunRecord};

use super::{Model, Row, row};
use crate::geometry::{self, Picture};

/// The document with what is drawn of it.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The file's name.
    pub name: String,
    /// What it holds.
    pub document: Document,
    /// Its rows, with the splits of the runs that are known.
    pub rows: Vec<Row>,
    /// The charts, by the cell's id; none without raw runs.
    pub pictures: Vec<(String, Picture)>,
}

impl Imported {
    /// The chart of a row.
    pub fn picture(&self, id: &str) -> Option<&Picture> {
        self.pictures.iter().find(|(own, _)| own == id).map(|(_, picture)| picture)
    }

    /// The time that the charts of these rows span.
    pub fn domain<'a>(&self, rows: impl IntoIterator<Item = &'a Row>) -> Span {
        let mut domain = Span::ZERO;
        for row in rows {
            let script = &row.result.cell.script;
            // Of a script that nobody can play, the charts alone tell how long it was.
            let planned = script.check().map_or(Span::ZERO, |()| script.duration());
            let latest = self.picture(&row.result.id).map_or(Span::ZERO, |own| own.latest);
            domain = domain.max(geometry::domain(planned, latest));
        }
        domain
    }
}

/// Where the model keeps it.
#[derive(Default)]
pub(super) struct Slot {
    shown: RefCell<Option<Rc<Imported>>>,
    changed: ArcTrigger,
}

impl Model {
    /// Shows a document instead of what was measured here.
    pub fn show_document(&self, name: String, document: Document) {
        let rows = document.cells.iter().map(|cell| row(cell.clone(), &[])).collect();
        self.put_imported(Some(Imported { name, document, rows, pictures: Vec::new() }));
    }

    /// Adds raw runs to the document that is looked at: the charts, and the splits.
    pub fn add_imported_runs(&self, runs: &[RunRecord]) {
        let Some(before) = self.look_imported() else { return };
        let mut imported = Imported::clone(&before);
        for own in &mut imported.rows {
            if runs.iter().any(|run| run.cell == own.result.id) {
                *own = row(own.result.clone(), runs);
            }
        }
        for run in runs {
            imported.pictures.retain(|(id, _)| *id != run.cell);
            imported.pictures.push((run.cell.clone(), Picture::of_record(run)));
        }
        self.put_imported(Some(imported));
    }

    /// Shows what was measured here again.
    pub fn show_live(&self) {
        if self.look_imported().is_some() {
            self.put_imported(None);
        }
    }

    /// The document that is looked at, if any; follows it.
    pub fn imported(&self) -> Option<Rc<Imported>> {
        self.shared()?.imported.changed.track();
        self.look_imported()
    }

    /// The same without following it.
    pub fn look_imported(&self) -> Option<Rc<Imported>> {
        self.shared()?.imported.shown.borrow().clone()
    }

    /// Forgets the document without a word, because something else is shown now.
    pub fn forget_document(&self) {
        if let Some(shared) = self.shared() {
            *shared.imported.shown.borrow_mut() = None;
        }
    }

    fn put_imported(&self, imported: Option<Imported>) {
        let Some(shared) = self.shared() else { return };
        *shared.imported.shown.borrow_mut() = imported.map(Rc::new);
        shared.imported.changed.notify();
    }
}
