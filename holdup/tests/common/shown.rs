//! What a test of many browsers has seen right, and what noise kept from it.

use std::collections::{BTreeMap, BTreeSet};

use measure::results::{CellResult, Document};
use measure::verdict::Verdict;

/// What a test has seen right, by whom, and what stood in the way of other rows: a noisy row is
/// left out as long as another one of the same browser shows the same.
#[derive(Default)]
pub(crate) struct Shown {
    right: BTreeSet<String>,
    noise: BTreeMap<String, String>,
}

impl Shown {
    pub(crate) fn row(&mut self, row: &CellResult, noise: Option<String>) {
        let reader = row.cell.engine.as_deref().unwrap_or(row.cell.reader.name());
        let protocol = &row.cell.request.client_protocol;
        let who = format!("{} over {protocol} by {reader}", row.cell.endpoint);
        match noise {
            None => _ = self.right.insert(who),
            Some(why) => {
                println!("left out: {why}");
                self.noise.insert(who, why);
            }
        }
    }

    /// At most one line that counts the test as skipped.
    pub(crate) fn end(&self, missing: Option<String>) {
        let unseen = self.noise.iter().find(|(who, _)| !self.right.contains(*who));
        if let Some(line) = missing.or_else(|| unseen.map(|(_, why)| format!("SKIPPED({why})"))) {
            println!("{line}");
        }
    }
}

/// Whether the machine was too noisy for a row, or an endpoint is not to be had.
pub(crate) fn noise(document: &Document, row: &CellResult) -> Option<String> {
    let endpoint = document.endpoints.iter().find(|known| known.name == row.cell.endpoint);
    if let Some(why) = endpoint.and_then(|endpoint| endpoint.failed.as_ref()) {
        return Some(format!("{}: {why}", row.cell.endpoint));
    }
    let verdict = &row.summary.verdict;
    let noisy = match verdict.name {
        Verdict::Void | Verdict::PageBusy => true,
        // One run of two was noisy: the cell's two runs disagree.
        Verdict::CannotTell => {
            verdict.because.contains("page-busy") || verdict.because.contains("disagree")
        }
        _ => false,
    };
    noisy.then(|| format!("void: {}: {}", row.id, verdict.because))
}
