//! The proof: somebody's configuration and the corrected one, each in front of the emitter, read
//! by the native reader as a browser asks.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use emitter::Emitter;
use measure::cell::{DIRECT, ETHERNET_MSS, HeaderSet};
use measure::guards::Guards;
use measure::plan::{BROWSER_ENCODINGS, Plan, ReaderProfile};
use measure::results::{CellResult, RunRecord, derive_cells};
use measure::script::Body;
use measure::units::decimal;
use measure::verdict::{Finding, Verdict};
use measure::{Cell, RunId, Script, Span};
use proxies::Proxies;
use recv_client::Ask;
use serde_json::{Value, json};

use super::question::{Progress, Proving};
use crate::exit::Problem;
use crate::rig::Rig;
use crate::runner::{self, Executor};

/// What the person's own is called in rows.
pub(super) const YOURS: &str = "yours";
/// And the other.
pub(super) const CORRECTED: &str = "corrected";

/// The path that the emitter plays scripts at.
pub(super) const STREAM: &str = "/stream";

/// Rounds: a verdict takes more than one run, and nobody waits for long.
const ROUNDS: u32 = 3;

/// One frame each 50 ms: far longer than HAProxy's 200 ms, in little more than a second.
const FRAMES: u32 = 24;

/// Bytes of a frame: all of them together are less than nginx's smallest buffer.
pub(super) const SMALL: u32 = 60;

/// Bytes of a frame where a compressor leaves small first pieces alone: Caddy's limit is 512.
pub(super) const LARGE: u32 = 700;

/// One way that was measured.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) finding: Finding,
    /// Accepted runs, and those that a guard excluded.
    runs: (u32, u32),
    /// Medians.
    ttft: Option<Span>,
    gap: Option<Span>,
    frames_per_read: Option<f64>,
    /// One of its runs, as it is drawn.
    drawn: Option<Drawn>,
}

/// When each frame of a run was written, and what its reads brought; counted from the call.
struct Drawn {
    sent: Vec<(u32, Span)>,
    reads: Vec<(Span, Vec<u32>)>,
}

impl Row {
    pub(super) fn json(&self) -> Value {
        let drawn = self.drawn.as_ref().map(|own| {
            let sent = own.sent.iter().map(|(seq, at)| json!({ "frame": seq, "at_us": at.0 }));
            let reads = own.reads.iter().map(|(at, seqs)| json!({ "at_us": at.0, "frames": seqs }));
            json!({ "sent": sent.collect::<Vec<Value>>(), "reads": reads.collect::<Vec<Value>>() })
        });
        json!({ "name": self.name, "verdict": self.finding.name.name(),
                "because": self.finding.because, "runs": self.runs.0, "excluded": self.runs.1,
                "ttft_us": self.ttft.map(|own| own.0), "gap_us": self.gap.map(|own| own.0),
                "frames_per_read": self.frames_per_read, "run": drawn })
    }

    /// Its figures, for a terminal; empty where there are none.
    pub(super) fn figures(&self) -> String {
        let ttft = self.ttft.map(|own| format!("first token after {own}"));
        let per = self.frames_per_read.map(|own| format!("{} frames a read", decimal(own, 1)));
        ttft.into_iter().chain(per).collect::<Vec<String>>().join(", ")
    }
}

/// A run of a cell that looks as most of them: it has as many reads as their median.
fn drawn(cell: &CellResult, runs: &[RunRecord]) -> Option<Drawn> {
    let reads = |run: &RunRecord| -> Vec<(Span, Vec<u32>)> {
        let own = run.arrivals.deliveries.iter().map(|delivery| {
            let seqs = delivery.frames.iter().filter_map(|frame| frame.seq).collect();
            (delivery.arrived() - run.arrivals.call, seqs)
        });
        own.filter(|(_, seqs): &(Span, Vec<u32>)| !seqs.is_empty()).collect()
    };
    let own = runs.iter().filter(|run| run.cell == cell.id);
    let run = own.filter(|run| run.ledger.is_some()).min_by_key(|run| {
        (reads(run).len() as i64 - i64::from(cell.summary.reads.unwrap_or_default())).abs()
    })?;
    let entries = run.ledger.iter().flat_map(|ledger| &ledger.entries);
    let sent = entries.map(|entry| (entry.seq, entry.after - run.arrivals.call)).collect();
    Some(Drawn { sent, reads: reads(run) })
}

/// What the rows say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// Held before, live after.
    Cured,
    /// Cut off before, live after.
    Whole,
    /// Live before.
    LiveBefore,
    /// Anything else.
    Open,
}

/// A reader through proxies of ours, at a path of theirs.
struct Through<'a> {
    rig: &'a Rig,
    emitter: &'a Emitter,
    path: &'a str,
    host: Option<&'a str>,
}

impl Executor for Through<'_> {
    fn run(&mut self, cell: &Cell, round: u32, position: u32) -> RunRecord {
        let run = RunId(fastrand::u128(..));
        let own = runner::path_of(&cell.script, run);
        let direct = cell.endpoint == DIRECT;
        let address = self.rig.address(&cell.endpoint).unwrap_or_else(|| self.emitter.address());
        let path = match own.split_once('?') {
            // The person's own query means nothing to the emitter.
            Some((_, query)) if !direct => {
                let path = self.path.split(['?', '#']).next().unwrap_or_default();
                format!("{path}?{query}")
            }
            _ => own,
        };
        let mut ask = Ask::plain(address, path);
        ask.headers = cell.request.headers;
        ask.accept_encoding.clone_from(&cell.request.accept_encoding);
        ask.options.segment = cell.link.mss;
        ask.target.origin = format!("http://{}", self.emitter.address());
        if let Some(host) = self.host.filter(|_| !direct) {
            ask.target.host = host.into();
        }
        let arrivals = runner::read(&ask, run);
        let ledger = runner::ledger_of(self.emitter, run);
        RunRecord {
            cell: cell.id(),
            round,
            position,
            ledger,
            arrivals,
            wire: None,
            wire_unknown: None,
            proxy: None,
        }
    }
}

/// What a stream that a limit cuts is asked to last beyond it, and how often it comes: its frames
/// are no faster than a model's.
const BEYOND: Span = Span::millis(2_000);
const LONG_INTERVAL: Span = Span::millis(100);

/// Measures both ways by a stream that lasts longer than a limit. `None` when it was interrupted.
pub(super) fn outlast(
    proxies: &Proxies,
    emitter: &Emitter,
    ways: &[(&str, SocketAddr)],
    asked: (&str, Option<&str>),
    limit: Span,
    proving: &Proving<'_>,
) -> Result<Option<Vec<Row>>, Problem> {
    let frames = ((limit.0 + BEYOND.0) / LONG_INTERVAL.0) as u32;
    let body = Body::Paced { frames, interval_us: LONG_INTERVAL, frame_bytes: SMALL };
    play(proxies, emitter, ways, asked, body, proving)
}

/// Measures both ways. `None` when it was interrupted.
pub(super) fn measure(
    proxies: &Proxies,
    emitter: &Emitter,
    ways: &[(&str, SocketAddr)],
    (path, host): (&str, Option<&str>),
    frame_bytes: u32,
    proving: &Proving<'_>,
) -> Result<Option<Vec<Row>>, Problem> {
    let body = Body::Paced { frames: FRAMES, interval_us: Span::millis(50), frame_bytes };
    play(proxies, emitter, ways, (path, host), body, proving)
}

fn play(
    proxies: &Proxies,
    emitter: &Emitter,
    ways: &[(&str, SocketAddr)],
    (path, host): (&str, Option<&str>),
    body: Body,
    proving: &Proving<'_>,
) -> Result<Option<Vec<Row>>, Problem> {
    let mut rig = Rig::start(proxies, &[], emitter.address());
    for (name, address) in ways {
        rig.add(name, "a configuration of one's own", *address);
    }
    let names: Vec<String> = ways.iter().map(|(name, _)| name.to_string()).collect();
    let profile = ReaderProfile {
        headers: HeaderSet::ChromiumFetch,
        accept_encoding: Some(BROWSER_ENCODINGS.into()),
        ..ReaderProfile::recv()
    };
    let seed = crate::cli::seed(None);
    let mut plan = Plan::preset("headline", &names, &[profile], Some(ETHERNET_MSS), ROUNDS, seed)
        .map_err(Problem::nothing)?;
    for cell in &mut plan.cells {
        cell.script = Script { body: body.clone(), ..Script::headline() };
    }
    let mut runs: Vec<RunRecord> = Vec::new();
    let mut through = Through { rig: &rig, emitter, path, host };
    let all = plan.run_count() as u32;
    (proving.tell)(Progress::Runs(0, all));
    let complete = runner::play(&plan, &mut through, proving.interrupt, |run| {
        runs.push(run);
        (proving.tell)(Progress::Runs(runs.len() as u32, all));
        Ok::<(), Problem>(())
    })?;
    if !complete {
        return Ok(None);
    }
    let guards = Guards::default();
    let cells = derive_cells(&plan.cells, &runs, &rig.endpoints, &BTreeMap::new(), &guards);
    let row = |name: &str| {
        let cell = cells.iter().find(|cell| cell.cell.endpoint == name)?;
        let own = &cell.summary;
        Some(Row {
            name: name.into(),
            finding: own.verdict.clone(),
            runs: (own.runs, own.excluded.values().sum()),
            ttft: own.ttft_us.as_ref().map(|own| own.median),
            gap: own.gap_us.as_ref().map(|own| own.median),
            frames_per_read: own.frames_per_read.as_ref().map(|own| own.median),
            drawn: drawn(cell, &runs),
        })
    };
    Ok(Some([DIRECT, YOURS, CORRECTED].into_iter().filter_map(row).collect()))
}

/// What the rows say together.
pub(super) fn shown(rows: &[Row]) -> Shown {
    let of = |name: &str| rows.iter().find(|row| row.name == name).map(|row| row.finding.name);
    let holds = |verdict: Verdict| {
        matches!(
            verdict,
            Verdict::Held | Verdict::Corked | Verdict::BufferBursts | Verdict::OneBehind
        )
    };
    match (of(YOURS), of(CORRECTED)) {
        (Some(before), Some(Verdict::Live)) if holds(before) => Shown::Cured,
        (Some(Verdict::Truncated), Some(Verdict::Live)) => Shown::Whole,
        (Some(Verdict::Live), _) => Shown::LiveBefore,
        _ => Shown::Open,
    }
}
