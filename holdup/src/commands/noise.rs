//! `holdup noise`: paths whose truth is known, on a machine that other work keeps busy. Counts
//! clean paths that were blamed and holds that were not named.

use std::hint::black_box;

use emitter::{Config, Emitter};
use measure::cell::ETHERNET_MSS;
use measure::guards::Guards;
use measure::plan::{Plan, ReaderProfile};
use measure::results::{Judgement, RunRecord, judge_runs};
use measure::verdict::Verdict;
use measure::{Script, Span};
use proxies::supervise::{Command, Supervised, Supervisor};
use tap::Behaviour;

use crate::cli;
use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::machine;
use crate::out::say;
use crate::rig::Rig;
use crate::runner::{self, Native};

/// Real proxies that pass a stream on at once.
const CLEAN: [&str; 4] = ["nginx", "caddy", "haproxy-no-delay", "envoy"];
/// A real proxy that holds, and how.
const HOLDING: (&str, Verdict) = ("haproxy", Verdict::Corked);
/// Relays that hold in a known way. With the real one they are as many as the clean paths, the
/// honest relay among those.
const RELAYS: [(Behaviour, Verdict); 4] = [
    (Behaviour::Drain, Verdict::Held),
    (Behaviour::Cork, Verdict::Corked),
    (Behaviour::Collect(390), Verdict::BufferBursts),
    (Behaviour::OneBehind, Verdict::OneBehind),
];

/// What must hold: the goals of the method's chapter on noise.
const LEAST_NAMED: f64 = 0.8;
const MOST_UNDECIDED_IDLE: f64 = 0.05;

#[derive(Default)]
struct Count {
    runs: u32,
    excluded: u32,
    right: u32,
    wrong: u32,
    undecided: u32,
}

impl Count {
    fn add(&mut self, judgement: &Judgement, truth: Verdict) {
        self.runs += 1;
        match judgement {
            Err(_) => self.excluded += 1,
            Ok(finding) if finding.name == truth => self.right += 1,
            Ok(finding) if finding.name == Verdict::CannotTell => self.undecided += 1,
            Ok(_) => self.wrong += 1,
        }
    }

    fn share(&self, part: u32) -> f64 {
        if self.runs == 0 { 0.0 } else { f64::from(part) / f64::from(self.runs) }
    }
}

pub(crate) fn run(options: &cli::Noise) -> Outcome {
    let interrupt = Interrupt::listen();
    let proxies = Rig::proxies(&cli::Rig {
        endpoints: Vec::new(),
        own: Vec::new(),
        mss: cli::Mss(Some(ETHERNET_MSS)),
    })?;
    let emitter = Emitter::start(Config::loopback()).map_err(Problem::nothing)?;
    let mut truths: Vec<(String, Verdict)> =
        CLEAN.iter().map(|name| (name.to_string(), Verdict::Live)).collect();
    truths.push((HOLDING.0.into(), HOLDING.1));
    let names: Vec<String> = truths.iter().map(|(name, _)| name.clone()).collect();
    let mut rig = Rig::start(&proxies, &names, emitter.address());
    for (behaviour, truth) in [(Behaviour::Honest, Verdict::Live)].into_iter().chain(RELAYS) {
        let name = rig
            .relay(behaviour, emitter.address(), Some(ETHERNET_MSS))
            .map_err(Problem::nothing)?;
        truths.push((name, truth));
    }
    let clean = truths.iter().filter(|(_, truth)| *truth == Verdict::Live).count() as u32;
    // Each clean path is played at two paces.
    let rounds = options.runs.div_ceil(2 * clean);
    let asked: Vec<String> = truths.iter().map(|(name, _)| name.clone()).collect();
    let profiles = [ReaderProfile::recv()];
    let mut plan =
        Plan::preset("headline", &asked, &profiles, Some(ETHERNET_MSS), rounds, options.seed)
            .map_err(Problem::usage)?;
    // The fast pace, too: there a stall of the machine merges frames. A frame that waits for the
    // next one waits 5 ms there, which nobody calls held.
    let fast = Script::paced(400, Span::millis(5), 60).map_err(Problem::usage)?;
    let slow_only = Behaviour::OneBehind.name();
    let mut twins = plan.cells.clone();
    twins.retain(|cell| cell.endpoint != slow_only);
    for cell in &mut twins {
        cell.script = fast.clone();
    }
    plan.cells.append(&mut twins);
    let busy = if options.idle { Vec::new() } else { keep_busy()? };
    let load_before = machine::load();
    let mut runs: Vec<RunRecord> = Vec::new();
    let mut native = Native { rig: &rig, emitter: &emitter };
    let complete = runner::play(&rig.playable(&plan), &mut native, &interrupt, |run| {
        runs.push(run);
        Ok::<(), Problem>(())
    })?;
    drop(busy);
    let judgements = judge_runs(&plan.cells, &runs, &Guards::default());
    let (mut clean, mut held) = (Count::default(), Count::default());
    let mut table = crate::table::new();
    table.set_header([
        "path",
        "truth",
        "runs",
        "excluded",
        "right",
        "undecided",
        "wrong",
        "said instead",
    ]);
    for (name, truth) in &truths {
        let mut count = Count::default();
        let mut instead: Vec<&str> = Vec::new();
        for (run, judgement) in runs.iter().zip(&judgements) {
            if !plan.cells.iter().any(|cell| cell.endpoint == *name && cell.id() == run.cell) {
                continue;
            }
            count.add(judgement, *truth);
            if *truth == Verdict::Live { &mut clean } else { &mut held }.add(judgement, *truth);
            if let Ok(finding) = judgement
                && finding.name != *truth
                && !instead.contains(&finding.name.name())
            {
                instead.push(finding.name.name());
            }
        }
        table.add_row([
            name.clone(),
            truth.name().into(),
            count.runs.to_string(),
            count.excluded.to_string(),
            count.right.to_string(),
            count.undecided.to_string(),
            count.wrong.to_string(),
            instead.join(", "),
        ]);
    }
    crate::out::print(&crate::table::lines(&table));
    let missing = rig.endpoints.iter().find_map(|endpoint| endpoint.failed.clone());
    Ok(conclude(options, complete, missing.is_some(), load_before, &clean, &held))
}

fn conclude(
    options: &cli::Noise,
    complete: bool,
    missing: bool,
    load_before: Option<f64>,
    clean: &Count,
    held: &Count,
) -> Exit {
    let load = |load: Option<f64>| load.map_or("?".into(), |load| format!("{load:.2}"));
    say!("");
    say!(
        "{}, load {} before and {} after, processors kept {}.",
        machine::kernel(),
        load(load_before),
        load(machine::load()),
        if options.idle { "idle" } else { "busy" },
    );
    say!(
        "Clean paths: {} runs, {} blamed, {} undecided, {} excluded.",
        clean.runs,
        clean.wrong,
        clean.undecided,
        clean.excluded
    );
    let named = held.share(held.right);
    say!(
        "Known holds: {} runs, {:.1}% named, {} called something else, {} undecided, {} excluded.",
        held.runs,
        named * 100.0,
        held.wrong,
        held.undecided,
        held.excluded
    );
    let lost = clean.undecided + clean.excluded + held.undecided + held.excluded;
    let lost = f64::from(lost) / f64::from((clean.runs + held.runs).max(1));
    say!("{:.1}% of all runs excluded or undecided.", lost * 100.0);
    if !complete {
        return Exit::Interrupted;
    }
    if missing || clean.runs < options.runs {
        say!("A path is missing, so this shows nothing.");
        return Exit::Nothing;
    }
    let enough = named >= LEAST_NAMED && (!options.idle || lost <= MOST_UNDECIDED_IDLE);
    if clean.wrong == 0 && enough { Exit::Done } else { Exit::Found }
}

/// One spinning process for each processor, ended with this one.
fn keep_busy() -> Result<Vec<Supervised>, Problem> {
    let supervisor = Supervisor::this_program().map_err(Problem::nothing)?;
    let program = std::env::current_exe().map_err(Problem::nothing)?;
    let log = std::env::temp_dir().join(format!("holdup-spin-{}.log", std::process::id()));
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let spin = || Command::new(&supervisor, &program).arg("spin").spawn(&log);
    let children = (0..cpus).map(|_| spin()).collect::<Result<_, _>>().map_err(Problem::nothing);
    // The supervisors hold it open; nothing is ever written to it.
    let _ = std::fs::remove_file(&log);
    children
}

/// Works for nothing, until it is ended.
pub(crate) fn spin() -> Outcome {
    let mut number = 0_u64;
    loop {
        number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
