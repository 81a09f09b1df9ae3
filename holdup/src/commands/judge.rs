//! `holdup judge`: every verdict of a results folder made again from its runs, beside the one that
//! stands there. Newer thresholds may name what older ones left open, or the other way round. The
//! folder of a matrix is held against its truths again as well.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use measure::results::{Browser, CellResult, RunRecord, derive_cells};
use measure::verdict::Finding;

use crate::exit::{Exit, Outcome, Problem};
use crate::out::say;
use crate::{matrix, report};

#[derive(Debug, Args)]
pub(crate) struct Judge {
    /// The results folder, as --out of measure, browse or matrix left it
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

pub(crate) fn run(options: &Judge) -> Outcome {
    let source = report::Source::read(&options.folder).map_err(Problem::usage)?;
    for note in &source.notes {
        eprintln!("holdup: {note}");
    }
    let Some(runs) = &source.runs else {
        return Err(Problem::nothing(format!(
            "{} holds no runs.ndjson: verdicts are made from runs; measure again with --out",
            options.folder.display()
        )));
    };
    let document = &source.document;
    let runs: Vec<RunRecord> = runs.values().flatten().map(|run| run.record.clone()).collect();
    let cells: Vec<_> = document.cells.iter().map(|row| row.cell.clone()).collect();
    let browsers: BTreeMap<String, Browser> = document
        .cells
        .iter()
        .filter_map(|row| Some((row.cell.engine.clone()?, row.browser.clone()?)))
        .collect();
    let again = derive_cells(&cells, &runs, &document.endpoints, &browsers, &document.guards);
    let changed = changed(&document.cells, &again);
    for (id, there, now) in &changed {
        say!("{id}: {} there, {} now", there.name.name(), now.name.name());
        say!("  there: {}", there.because);
        say!("  now: {}", now.because);
    }
    let reworded = document
        .cells
        .iter()
        .zip(&again)
        .filter(|(there, now)| {
            let (there, now) = (&there.summary.verdict, &now.summary.verdict);
            there.name == now.name && there.because != now.because
        })
        .count();
    say!(
        "{} rows from {} runs: {} with another verdict, {reworded} with other words, {} the same.",
        again.len(),
        runs.len(),
        changed.len(),
        again.len() - changed.len() - reworded
    );
    let rows = if changed.is_empty() { Exit::Done } else { Exit::Found };
    let matrix = matrix::judge_again(&options.folder, &runs, &document.endpoints)?;
    Ok(match matrix {
        Some(exit) if rows == Exit::Done => exit,
        _ => rows,
    })
}

/// Rows whose verdict is another one now: their id, the verdict there, the one now.
fn changed<'a>(
    there: &'a [CellResult],
    now: &'a [CellResult],
) -> Vec<(&'a str, &'a Finding, &'a Finding)> {
    there
        .iter()
        .zip(now)
        .filter(|(there, now)| there.summary.verdict.name != now.summary.verdict.name)
        .map(|(there, now)| (there.id.as_str(), &there.summary.verdict, &now.summary.verdict))
        .collect()
}
