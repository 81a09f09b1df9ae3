//! `holdup selftest`: streams whose truth is known, and what the instrument says of them.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use emitter::{Config, Emitter};
use measure::cell::ETHERNET_MSS;
use measure::guards::Guards;
use measure::plan::{Plan, ReaderProfile};
use measure::results::{Endpoint, RunRecord, derive_cells};

use measure::verdict::Verdict;
use measure::{Cell, RunId, Script, Span};
use recv_client::Ask;
use serde_json::json;
use tap::{Behaviour, Tap};

use crate::cli;
use crate::exit::{Exit, Outcome, Problem};
use crate::out::say;
use crate::rig::any_port;
use crate::runner::{ledger_of, read, stream_path};

/// What must come out for one relay.
struct Truth {
    name: String,
    behaviour: Option<Behaviour>,
    script: Script,
    verdict: Verdict,
    /// Bounds of frames per read.
    frames_per_read: (f64, f64),
    /// Bounds of all reads, also those that complete no frame, by frames.
    reads_per_frame: (f64, f64),
}

/// One relay's row.
struct Row {
    truth: Truth,
    frames_per_read: Option<f64>,
    reads_per_frame: f64,
    verdict: Verdict,
    because: String,
    snd_mss: Option<u32>,
}

impl Row {
    fn passed(&self) -> bool {
        let within = |(least, most): (f64, f64), found: f64| (least..=most).contains(&found);
        self.verdict == self.truth.verdict
            && self.frames_per_read.is_some_and(|found| within(self.truth.frames_per_read, found))
            && within(self.truth.reads_per_frame, self.reads_per_frame)
            && self.snd_mss == Some(ETHERNET_MSS)
    }

    fn void(&self) -> bool {
        matches!(self.verdict, Verdict::Void)
    }
}

/// Nothing is asked of this figure.
const ANY: (f64, f64) = (0.0, f64::INFINITY);

fn truths() -> Vec<Truth> {
    let headline = Script::headline();
    let frames = f64::from(headline.frame_count());
    let truth = |behaviour: Behaviour, verdict, least, most| Truth {
        name: behaviour.name(),
        behaviour: Some(behaviour),
        script: Script::headline(),
        verdict,
        frames_per_read: (least, most),
        reads_per_frame: ANY,
    };
    // The direct path's tolerance is the guards' own.
    let clean = (1.0, Guards::default().direct_frames_per_read);
    vec![
        Truth {
            name: "direct".into(),
            behaviour: None,
            script: headline,
            verdict: Verdict::Live,
            frames_per_read: clean,
            reads_per_frame: ANY,
        },
        truth(Behaviour::Honest, Verdict::Live, clean.0, clean.1),
        truth(Behaviour::Drain, Verdict::Held, frames, frames),
        // 200 ms hold four or five frames that are 50 ms apart.
        truth(Behaviour::Cork, Verdict::Corked, 3.0, 6.0),
        // Six chunks of 66 bytes are the first to reach 390.
        truth(Behaviour::Collect(390), Verdict::BufferBursts, 5.0, 7.0),
        truth(Behaviour::OneBehind, Verdict::OneBehind, clean.0, clean.1),
        // Each event comes in two writes 25 ms apart. Whoever waits for the whole event adds
        // nothing to its arrival: the reads tell, one an event instead of two.
        Truth {
            name: "honest, halves".into(),
            reads_per_frame: (1.9, 2.2),
            ..truth(Behaviour::Honest, Verdict::Live, clean.0, clean.1).halves()
        },
        Truth {
            reads_per_frame: (0.9, 1.2),
            ..truth(Behaviour::WaitForEvent, Verdict::Live, clean.0, clean.1).halves()
        },
    ]
}

impl Truth {
    fn halves(self) -> Truth {
        Truth { script: Script::named("halves").unwrap_or_else(|_| Script::headline()), ..self }
    }
}

pub(crate) fn run(options: &cli::Selftest) -> Outcome {
    let emitter = Emitter::start(Config::loopback()).map_err(Problem::nothing)?;
    if let Some(url) = &options.emitter {
        refuse_foreign(url, emitter.instance())?;
    }
    let plan = Plan::preset("headline", &[], &[ReaderProfile::recv()], Some(ETHERNET_MSS), 1, 1)
        .map_err(Problem::usage)?;
    let mut rows = Vec::new();
    for truth in truths() {
        rows.push(measure_one(&emitter, &plan.cells[0], truth)?);
    }
    let passed = rows.iter().filter(|row| row.passed()).count();
    if options.json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({ "relay": row.truth.name, "frames_per_read": row.frames_per_read,
                        "verdict": row.verdict, "expected": row.truth.verdict,
                        "snd_mss": row.snd_mss, "because": row.because, "passed": row.passed() })
            })
            .collect();
        say!("{}", serde_json::to_string_pretty(&rows).map_err(Problem::nothing)?);
    } else {
        print(&rows);
        say!("{passed} of {} told apart", rows.len());
    }
    Ok(if passed == rows.len() {
        Exit::Done
    } else if rows.iter().all(|row| row.passed() || row.void()) {
        Exit::Void
    } else {
        Exit::Found
    })
}

fn measure_one(emitter: &Emitter, cell: &Cell, truth: Truth) -> Result<Row, Problem> {
    let tap = truth
        .behaviour
        .map(|behaviour| Tap::start(any_port(), emitter.address(), behaviour, cell.link.mss))
        .transpose()
        .map_err(Problem::nothing)?;
    let address = tap.as_ref().map_or(emitter.address(), Tap::address);
    let run = RunId(fastrand::u128(..));
    let cell = &Cell { script: truth.script.clone(), ..cell.clone() };
    let mut ask = Ask::plain(address, stream_path(cell, run));
    ask.options.segment = cell.link.mss;
    let arrivals = read(&ask, run);
    let ledger = ledger_of(emitter, run);
    let snd_mss = ledger.as_ref().and_then(|ledger| ledger.segment_bytes);
    // Each relay stands alone here: its own truth is the control, so the cell is judged as one
    // that has no direct path beside it.
    let alone = Cell { endpoint: truth.name.clone(), ..cell.clone() };
    let record = RunRecord {
        cell: alone.id(),
        round: 0,
        position: 0,
        ledger,
        arrivals,
        wire: None,
        wire_unknown: None,
        proxy: None,
    };
    let endpoint = Endpoint { name: truth.name.clone(), ..Endpoint::direct() };
    let cells = derive_cells(
        &[alone],
        std::slice::from_ref(&record),
        &[endpoint],
        &BTreeMap::new(),
        &Guards::default(),
    );
    let summary = &cells[0].summary;
    let reads = record.arrivals.deliveries.len();
    let frames = record.arrivals.frames().count().max(1);
    Ok(Row {
        reads_per_frame: reads as f64 / frames as f64,
        frames_per_read: summary.frames_per_read.as_ref().map(|ratio| ratio.median),
        verdict: summary.verdict.name,
        because: summary.verdict.because.clone(),
        snd_mss,
        truth,
    })
}

fn print(rows: &[Row]) {
    let mut table = crate::table::new();
    table.set_header([
        "relay",
        "frames per read",
        "expected",
        "reads per frame",
        "expected",
        "verdict",
        "expected",
        "snd_mss",
        "",
    ]);
    for row in rows {
        table.add_row([
            row.truth.name.clone(),
            row.frames_per_read.map_or("–".into(), |found| format!("{found:.2}")),
            bounds(row.truth.frames_per_read),
            format!("{:.2}", row.reads_per_frame),
            bounds(row.truth.reads_per_frame),
            row.verdict.name().into(),
            row.truth.verdict.name().into(),
            row.snd_mss.map_or("–".into(), |size| size.to_string()),
            match (row.passed(), row.void()) {
                (true, _) => "told",
                (false, true) => "void",
                (false, false) => "NOT TOLD",
            }
            .into(),
        ]);
    }
    crate::out::print(&crate::table::lines(&table));
    for row in rows {
        say!("{}: {}", row.truth.name, row.because);
    }
}

fn bounds((least, most): (f64, f64)) -> String {
    if most.is_infinite() {
        String::new()
    } else if (most - least).abs() < f64::EPSILON {
        format!("{least:.2}")
    } else {
        format!("{least:.2} to {most:.2}")
    }
}

/// Asks an emitter who it is; refuses one that this process did not start, since nothing about
/// its ledger can be known.
fn refuse_foreign(url: &str, own: &str) -> Result<(), Problem> {
    let bad = || {
        Problem::usage(format!("{url:?} is no address of an emitter: write http://127.0.0.1:PORT"))
    };
    let address: SocketAddr = url
        .strip_prefix("http://")
        .unwrap_or(url)
        .trim_end_matches('/')
        .parse()
        .map_err(|_| bad())?;
    let instance = ask_instance(address).map_err(|error| {
        Problem::nothing(format!("{url} does not answer as an emitter: {error}"))
    })?;
    if instance.contains(own) {
        return Ok(());
    }
    Err(Problem::void(format!(
        "refused: the emitter at {url} was not started by this command, so what its streams are is not known; run selftest without --emitter"
    )))
}

fn ask_instance(address: SocketAddr) -> std::io::Result<String> {
    use std::io::Write as _;
    let limit = Span::millis(2_000).as_micros() as u64;
    let limit = Duration::from_micros(limit);
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.write_all(format!("GET /instance HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.take(64 * 1024).read_to_string(&mut answer)?;
    if !answer.contains("\"instance\"") {
        return Err(std::io::Error::other("its answer names no instance"));
    }
    Ok(answer)
}
