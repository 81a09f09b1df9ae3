//! Raw runs, one a line (`runs.ndjson`): what the charts of a results file are drawn from.

use measure::results::{CellResult, RunRecord};
use measure::script::MAX_FRAMES;
use measure::{Arrivals, Ledger, Span};

use crate::json::{self, Json};

/// The runs of a file that stand for rows.
#[derive(Debug, Default)]
pub struct Runs {
    /// One run a row: the one whose time to the first token is the row's median, so that a
    /// figure and its chart are of one run.
    pub chosen: Vec<RunRecord>,
    /// Lines that are runs of these rows.
    pub known: u32,
    /// Lines that are runs of other rows.
    pub foreign: u32,
    /// Lines that cannot be read: a cut one, or no run at all.
    pub broken: u32,
}

/// Whether a text begins with a run.
pub fn is_runs(text: &str) -> bool {
    let first = text.trim_ascii_start().lines().next().unwrap_or_default();
    Json::parse(first)
        .is_ok_and(|json| json.get("cell").is_some() && json.get("arrivals").is_some())
}

/// The runs of these rows.
pub fn read(text: &str, rows: &[&CellResult]) -> Runs {
    let mut runs = Runs::default();
    let mut distances: Vec<Span> = Vec::new();
    for line in text.lines().filter(|line| !line.trim_ascii().is_empty()) {
        let Some(run) = run(line) else {
            runs.broken += 1;
            continue;
        };
        let Some(row) = rows.iter().find(|row| row.id == run.cell) else {
            runs.foreign += 1;
            continue;
        };
        runs.known += 1;
        let distance = distance(&run, row);
        match runs.chosen.iter().position(|own| own.cell == run.cell) {
            None => {
                runs.chosen.push(run);
                distances.push(distance);
            }
            Some(place) if distance < distances[place] => {
                runs.chosen[place] = run;
                distances[place] = distance;
            }
            Some(_) => {}
        }
    }
    runs
}

fn run(line: &str) -> Option<RunRecord> {
    let run = Json::parse(line).ok()?.whole(run_of).ok()?;
    // A chart has a place for every number up to the largest one there is.
    let in_range = |arrivals: &Arrivals| {
        arrivals.frames().all(|(_, frame)| frame.seq.is_none_or(|seq| seq <= MAX_FRAMES))
    };
    let sent = |ledger: &Ledger| ledger.entries.iter().all(|entry| entry.seq <= MAX_FRAMES);
    (in_range(&run.arrivals)
        && run.wire.as_ref().is_none_or(in_range)
        && run.ledger.as_ref().is_none_or(sent))
    .then_some(run)
}

fn run_of(json: &Json) -> RunRecord {
    RunRecord {
        cell: json.text("cell"),
        round: json.small("round"),
        position: json.small("position"),
        ledger: json.get("ledger").map(|ledger| json::ledger_of(&ledger)),
        arrivals: json::arrivals_of(&json.field("arrivals")),
        wire: json.get("wire").map(|wire| json::arrivals_of(&wire)),
        // Nothing of it is drawn.
        wire_unknown: None,
        proxy: None,
    }
}

/// How far a run's time to the first token is from its row's median.
fn distance(run: &RunRecord, row: &CellResult) -> Span {
    let first = run.arrivals.frames().find(|(_, frame)| frame.text);
    match (first, &row.summary.ttft_us) {
        (Some((delivery, _)), Some(ttft)) => (delivery.at - run.arrivals.call - ttft.median).abs(),
        _ => Span(i64::MAX),
    }
}
