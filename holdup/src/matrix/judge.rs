//! From runs to rows: the cells of the streams, their judgements, and a folder judged again.

use std::path::Path;

use measure::Reader;
use measure::cell::{Cell, DIRECT, ETHERNET_MSS, Link, Request};
use measure::guards::{Exclusion, Guards};
use measure::prompts::Prompts;
use measure::results::{Endpoint, Judgement, RunRecord, judge_runs};
use measure::verdict::arrivals::{Origin, of_arrivals};
use measure::verdict::{Thresholds, Verdict};

use super::tally::{Matrix, Row};
use super::truths::{self, Stream, Truth, Way};
use super::{ORIGINS, alone, causes};
use crate::exit::Problem;
use crate::report;

/// A cell for each stream, and the control of each.
pub(super) fn cells(truths: &[Truth]) -> Vec<Cell> {
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
            slow: truth.slow,
            pause: truth.stop.map(|stop| stop.pause),
            prompts: (truth.stream == Stream::Unended).then_some(Prompts::Unended),
            ..protocol(truth)
        },
        link: Link { mss: Some(ETHERNET_MSS), pooled: None, nagle: script.nagle },
        concurrency: 1,
        stream: None,
        page_work_us: None,
        script,
    }
}

fn protocol(truth: &Truth) -> Request {
    let plain = Request::plain();
    let spoken = truth.stop.map(|stop| stop.protocol.name().to_string());
    Request { client_protocol: spoken.unwrap_or(plain.client_protocol), ..plain }
}

/// The truth that a run belongs to; none for a control's.
pub(super) fn of_run<'a>(truths: &'a [Truth], run: &RunRecord) -> Option<&'a Truth> {
    truths.iter().find(|truth| cell(truth, &truth.way.endpoint()).id() == run.cell)
}

/// Judges every run and counts by stream.
pub(super) fn rows(truths: &[Truth], runs: &[RunRecord], endpoints: &[Endpoint]) -> Vec<Row> {
    let judged = judge_runs(&cells(truths), runs, &Guards::default());
    let row = |truth: &Truth| {
        let endpoint = truth.way.endpoint();
        let known = endpoints.iter().find(|known| known.name == endpoint);
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
        // Of a reader that is slow on purpose one knows it; its arrivals are its own pace.
        if truth.way.has_ledger() && truth.slow.is_none() && truth.stop.is_none() {
            let control = cell(truth, DIRECT).id();
            // What a guard of the ledger's side excluded was late itself.
            let accepted: Vec<&RunRecord> =
                counted.iter().filter(|(_, judged)| judged.is_ok()).map(|(run, _)| *run).collect();
            row.alone = alone::judge(&accepted, truth.verdict, |run| {
                runs.iter().find(|other| other.cell == control && other.round == run.round)
            });
        }
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

/// The matrix of a folder, judged again from its runs; none for a folder that holds no matrix.
/// Rows that this program no longer plays stay as they are.
pub(super) fn again(
    folder: &Path,
    runs: &[RunRecord],
    endpoints: &[Endpoint],
) -> Result<Option<Matrix>, Problem> {
    if !folder.join(super::MATRIX).exists() {
        return Ok(None);
    }
    let mut matrix = causes::read(folder).map_err(Problem::usage)?;
    let mut runs = runs.to_vec();
    if folder.join(ORIGINS).exists() {
        runs.extend(report::read_runs(&folder.join(ORIGINS)).map_err(Problem::usage)?);
    }
    let played: Vec<Truth> = truths::all()
        .into_iter()
        .filter(|truth| matrix.rows.iter().any(|row| row.path == truth.name()))
        .collect();
    for row in rows(&played, &runs, endpoints) {
        if let Some(place) = matrix.rows.iter_mut().find(|own| own.path == row.path) {
            *place = row;
        }
    }
    Ok(Some(matrix))
}
