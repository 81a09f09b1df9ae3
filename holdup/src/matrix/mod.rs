//! `holdup matrix`: plays streams whose cause is known by construction and holds what is said of
//! them against it.

pub(crate) mod busy;
pub(crate) mod causes;
pub(crate) mod cli;

mod alone;
mod bench;
mod judge;
mod show;
mod tally;
mod truths;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use emitter::{Config, Emitter};
use measure::cell::{Cell, ETHERNET_MSS};
use measure::guards::Guards;
use measure::plan::Plan;
use measure::results::{Document, Endpoint, RunRecord, SCHEMA, derive_cells};

use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::out::{put, say};
use crate::rig::Rig;
use crate::runner::{self, Native};
use crate::store::Store;
use crate::{cli as commands, machine};
use bench::Bench;
use judge::{cells, of_run, rows};
use tally::Matrix;
use truths::Truth;

/// The document in a folder.
const MATRIX: &str = "matrix.json";
/// Runs from origins of other makes: no ledger, so they stand in no results document.
const ORIGINS: &str = "origins.ndjson";

/// Plays the matrix.
pub(crate) fn run(options: &cli::Matrix) -> Outcome {
    options.files.check()?;
    let truths = chosen(options)?;
    let proxies = Rig::proxies(&commands::Rig {
        endpoints: Vec::new(),
        own: options.own.clone(),
        source: options.source,
        own_config: Vec::new(),
        own_path: None,
        mss: commands::Mss(Some(ETHERNET_MSS)),
    })?;
    let interrupt = Interrupt::listen();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let before = machine::describe();
    let emitter = Emitter::start(Config::loopback()).map_err(Problem::nothing)?;
    let bench = Bench::start(&proxies, &truths, &emitter)?;
    let seed = crate::cli::seed(options.seed);
    let mut plan =
        Plan { preset: "matrix".into(), seed, rounds: options.runs, cells: cells(&truths) };
    Rig::describe_links(&proxies, &mut plan);
    let mut store =
        options.out.as_deref().map(Store::create).transpose().map_err(Problem::usage)?;
    let busy = if options.busy { busy::keep_busy()? } else { Vec::new() };
    let describe = |runs: &[RunRecord], complete| {
        let machine = measure::results::Machine { load_after: machine::load(), ..before.clone() };
        let matrix = Matrix {
            schema: tally::SCHEMA.into(),
            complete,
            command: std::env::args().collect(),
            seed,
            started_at: started_at.clone(),
            busy: options.busy,
            machine,
            rows: rows(&truths, runs, &bench.rig.endpoints),
        };
        let document = document(&matrix, &truths, &plan, runs, &bench.rig);
        (matrix, document)
    };
    let mut runs: Vec<RunRecord> = Vec::new();
    let mut round = None;
    let mut native = Native { rig: &bench.rig, emitter: &emitter, secured: None };
    let played = runner::play(&bench.rig.playable(&plan), &mut native, &interrupt, |run| {
        // However this ends, documents with what came before the present round stand.
        let written = match (&store, &options.out) {
            (Some(store), Some(folder)) if round != Some(run.round) => {
                keep(store, folder, &describe(&runs, false))
            }
            _ => Ok(()),
        };
        round = Some(run.round);
        let ledger = of_run(&truths, &run).is_none_or(|truth| truth.way.has_ledger());
        let kept = match &mut store {
            Some(store) if ledger => store.keep(&run),
            Some(store) => store.keep_beside(ORIGINS, &run),
            None => Ok(()),
        };
        runs.push(run);
        written.and(kept.map_err(Problem::nothing))
    });
    drop(busy);
    // A full disk ends the playing; what was played is shown all the same.
    let (complete, mut problem) = match played {
        Ok(complete) => (complete, None),
        Err(error) => (false, Some(error)),
    };
    let described = describe(&runs, complete);
    if let (Some(store), Some(folder)) = (&store, &options.out)
        && let Err(error) = keep(store, folder, &described)
    {
        problem.get_or_insert(error);
    }
    let exit = tell(&described.0, options)?;
    problem.map_or(Ok(exit), Err)
}

/// The rows that a ledger is kept of, as a results document, for `holdup report` and `judge`.
fn document(
    matrix: &Matrix,
    truths: &[Truth],
    plan: &Plan,
    runs: &[RunRecord],
    rig: &Rig,
) -> Document {
    let has_ledger = |cell: &&Cell| {
        let own = truths.iter().find(|truth| truth.way.endpoint() == cell.endpoint);
        own.is_none_or(|truth| truth.way.has_ledger())
    };
    let cells: Vec<Cell> = plan.cells.iter().filter(has_ledger).cloned().collect();
    let guards = Guards::default();
    Document {
        schema: SCHEMA.into(),
        complete: matrix.complete,
        command: matrix.command.clone(),
        seed: matrix.seed,
        started_at: matrix.started_at.clone(),
        machine: matrix.machine.clone(),
        cells: derive_cells(&cells, runs, &rig.endpoints, &BTreeMap::new(), &guards),
        guards,
        endpoints: rig.endpoints.clone(),
    }
}

/// The rows that were asked for. Node is slow when it must share its processor, and rightly
/// called so: on a busy machine what it does is not known by construction.
fn chosen(options: &cli::Matrix) -> Result<Vec<Truth>, Problem> {
    let all = truths::all();
    if let Some(name) =
        options.only.iter().find(|name| !all.iter().any(|truth| truth.way.endpoint() == **name))
    {
        let mut known: Vec<String> = all.iter().map(|truth| truth.way.endpoint()).collect();
        known.sort();
        known.dedup();
        return Err(Problem::usage(format!(
            "no path is called {name:?}: there are {}",
            known.join(", ")
        )));
    }
    let wanted = |truth: &Truth| {
        (options.only.is_empty() || options.only.contains(&truth.way.endpoint()))
            && (truth.way.has_ledger() || !options.busy)
    };
    Ok(all.into_iter().filter(wanted).collect())
}

/// Puts both documents into the folder.
fn keep(
    store: &Store,
    folder: &Path,
    (matrix, document): &(Matrix, Document),
) -> Result<(), Problem> {
    store.replace(document).map_err(Problem::nothing)?;
    let text = serde_json::to_string_pretty(matrix).map_err(Problem::nothing)?;
    put(&folder.join(MATRIX), &format!("{text}\n"))
}

/// Judges the matrix in a folder again and prints it; none for a folder that holds none.
pub(crate) fn judge_again(
    folder: &Path,
    runs: &[RunRecord],
    endpoints: &[Endpoint],
) -> Result<Option<Exit>, Problem> {
    let Some(matrix) = judge::again(folder, runs, endpoints)? else { return Ok(None) };
    let (lines, exit) = show::conclude(&matrix);
    crate::out::print(&text(&matrix, &lines));
    Ok(Some(exit))
}

/// Prints the matrix and writes the files for CI.
fn tell(matrix: &Matrix, options: &cli::Matrix) -> Result<Exit, Problem> {
    let (lines, exit) = show::conclude(matrix);
    let text = text(matrix, &lines);
    if options.json {
        eprint!("{text}");
        say!("{}", serde_json::to_string_pretty(matrix).map_err(Problem::nothing)?);
    } else {
        crate::out::print(&text);
    }
    options.files.put("matrix", &show::markdown(matrix), &show::cases(matrix))?;
    Ok(exit)
}

/// The tables and the lines under them.
fn text(matrix: &Matrix, lines: &[String]) -> String {
    let mut text = show::terminal(&show::paths(matrix));
    text.push('\n');
    text.push_str(&show::terminal(&show::confusion(matrix)));
    text.push_str("\nThe same runs by their arrivals alone, the ledger put aside:\n\n");
    text.push_str(&show::terminal(&show::alone(matrix)));
    text.push('\n');
    for line in show::sentences(matrix).iter().chain(lines) {
        text.push_str(&format!("{line}\n"));
    }
    text
}
