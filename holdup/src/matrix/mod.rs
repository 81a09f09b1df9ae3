//! `holdup matrix`: plays streams whose cause is known by construction and holds what is said of
//! them against it.

pub(crate) mod busy;
pub(crate) mod causes;
pub(crate) mod cli;

mod bench;
mod show;
mod tally;
mod truths;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use emitter::{Config, Emitter};
use measure::Reader;
use measure::cell::{Cell, DIRECT, ETHERNET_MSS, Link, Request};
use measure::guards::{Exclusion, Guards};
use measure::plan::Plan;
use measure::results::{Document, Judgement, RunRecord, SCHEMA, derive_cells, judge_runs};
use measure::verdict::arrivals::{Origin, of_arrivals};
use measure::verdict::{Thresholds, Verdict};

use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::out::{put, say};
use crate::rig::Rig;
use crate::runner::{self, Native};
use crate::store::Store;
use crate::{cli as commands, machine};
use bench::Bench;
use tally::{Matrix, Row};
use truths::{Truth, Way};

/// The document in a folder.
const MATRIX: &str = "matrix.json";
/// Runs from origins of other makes: no ledger, so they stand in no results document.
const ORIGINS: &str = "origins.ndjson";

/// Plays the matrix.
pub(crate) fn run(options: &cli::Matrix) -> Outcome {
    let truths = chosen(options)?;
    let proxies = Rig::proxies(&commands::Rig {
        endpoints: Vec::new(),
        own: options.own.clone(),
        mss: commands::Mss(Some(ETHERNET_MSS)),
    })?;
    let interrupt = Interrupt::listen();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let before = machine::describe();
    let emitter = Emitter::start(Config::loopback()).map_err(Problem::nothing)?;
    let bench = Bench::start(&proxies, &truths, &emitter)?;
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..=u64::from(u32::MAX)));
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
            rows: rows(&truths, &plan, runs, &bench.rig),
        };
        let document = document(&matrix, &truths, &plan, runs, &bench.rig);
        (matrix, document)
    };
    let mut runs: Vec<RunRecord> = Vec::new();
    let mut round = None;
    let mut native = Native { rig: &bench.rig, emitter: &emitter };
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

/// A cell for each stream, and the control of each.
fn cells(truths: &[Truth]) -> Vec<Cell> {
    let mut cells: Vec<Cell> = Vec::new();
    for truth in truths {
        let own = cell(truth, &truth.way.endpoint());
        let direct = cell(truth, DIRECT);
        for cell in [direct, own] {
            if !cells.iter().any(|other| other.id() == cell.id()) {
                cells.push(cell);
            }
        }
    }
    cells
}

fn cell(truth: &Truth, endpoint: &str) -> Cell {
    let script = truth.stream.script();
    Cell {
        endpoint: endpoint.into(),
        preset: "matrix".into(),
        reader: Reader::Recv,
        engine: None,
        request: Request {
            upstream_protocol: (endpoint != DIRECT).then(|| "http/1.1".into()),
            accept_encoding: truth.offers.map(String::from),
            ..Request::plain()
        },
        link: Link { mss: Some(ETHERNET_MSS), pooled: None, nagle: script.nagle },
        concurrency: 1,
        stream: None,
        page_work_us: None,
        script,
    }
}

/// The truth that a run belongs to; none for a control's.
fn of_run<'a>(truths: &'a [Truth], run: &RunRecord) -> Option<&'a Truth> {
    truths.iter().find(|truth| cell(truth, &truth.way.endpoint()).id() == run.cell)
}

/// Judges every run and counts by stream.
fn rows(truths: &[Truth], plan: &Plan, runs: &[RunRecord], rig: &Rig) -> Vec<Row> {
    let judged = judge_runs(&plan.cells, runs, &Guards::default());
    let row = |truth: &Truth| {
        let endpoint = truth.way.endpoint();
        let known = rig.endpoints.iter().find(|known| known.name == endpoint);
        let software = known.and_then(|known| {
            Some(format!("{} {}", known.proxy.as_ref()?, known.version.as_ref()?))
        });
        let mut row = Row::new(truth, software, known.and_then(|known| known.failed.clone()));
        let id = cell(truth, &endpoint).id();
        let own: Vec<(&RunRecord, Judgement)> = runs
            .iter()
            .zip(&judged)
            .filter(|(run, _)| run.cell == id)
            .map(|(run, judged)| match truth.way.has_ledger() {
                true => (run, judged.clone()),
                false => (run, by_arrivals(truth, run, truths, runs)),
            })
            .collect();
        let counted: Vec<(&RunRecord, &Judgement)> =
            own.iter().map(|(run, judged)| (*run, judged)).collect();
        row.count(&counted);
        row
    };
    truths.iter().map(row).collect()
}

/// What the arrivals of an origin without a ledger show: read at the origin itself, by the script
/// that it was asked for; through a proxy, beside the reading at the origin of the same round.
fn by_arrivals(truth: &Truth, run: &RunRecord, truths: &[Truth], runs: &[RunRecord]) -> Judgement {
    let script = truth.stream.script();
    let direct = match truth.way {
        Way::ProxyOnNode(_, flush) => truths
            .iter()
            .find(|other| other.way == Way::Node(flush) && other.offers == truth.offers)
            .map(|other| cell(other, &other.way.endpoint()).id())
            .and_then(|id| runs.iter().find(|own| own.cell == id && own.round == run.round)),
        _ => None,
    };
    let origin = match (truth.way, direct) {
        (Way::ProxyOnNode(..), Some(direct)) => Origin::Direct(&direct.arrivals),
        (Way::ProxyOnNode(..), None) => Origin::Unknown,
        _ => Origin::Own(&script),
    };
    let finding = of_arrivals(&run.arrivals, origin, &Thresholds::standard()).finding;
    match finding.name {
        Verdict::Void => Err(Exclusion::Client(finding.because)),
        _ => Ok(finding),
    }
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

/// Prints the matrix and writes the files for CI.
fn tell(matrix: &Matrix, options: &cli::Matrix) -> Result<Exit, Problem> {
    let (lines, exit) = show::conclude(matrix);
    let mut text = show::terminal(&show::paths(matrix));
    text.push('\n');
    text.push_str(&show::terminal(&show::confusion(matrix)));
    text.push('\n');
    for line in show::sentences(matrix).into_iter().chain(lines) {
        text.push_str(&format!("{line}\n"));
    }
    if options.json {
        eprint!("{text}");
        say!("{}", serde_json::to_string_pretty(matrix).map_err(Problem::nothing)?);
    } else {
        crate::out::print(&text);
    }
    options.files.put("matrix", &show::markdown(matrix), &show::cases(matrix))?;
    Ok(exit)
}
