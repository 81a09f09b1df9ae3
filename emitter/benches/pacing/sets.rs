//! The sets of runs, their goals, and the table.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use wire::priority::Priority;

use crate::client::Load;
use crate::goals::{self, Outcome};
use crate::machine::wait_for_quiet;
use crate::process::measure;
use crate::report::Figures;

/// Emitters and load under one name.
struct Set {
    name: &'static str,
    emitters: &'static [&'static str],
    streams: usize,
    interval_us: u64,
    /// Time over which the streams open.
    ramp_ms: u64,
    /// Time during which all are open.
    steady_ms: u64,
    /// Once instead of in each repetition.
    once: bool,
}

/// The time in which all streams of a set are open gives 500 frames and more to the quantiles;
/// the ramps open a stream a millisecond at most, a small part of what the emitter then writes.
const SETS: [Set; 6] = [
    Set {
        name: "1 x 5 ms",
        emitters: &["ours", "tokio", "thread"],
        streams: 1,
        interval_us: 5_000,
        ramp_ms: 0,
        steady_ms: 3_000,
        once: false,
    },
    Set {
        name: "100 x 50 ms",
        emitters: &["ours", "tokio"],
        streams: 100,
        interval_us: 50_000,
        ramp_ms: 300,
        steady_ms: 2_500,
        once: false,
    },
    Set {
        name: "1000 x 50 ms",
        emitters: &["ours", "tokio"],
        streams: 1_000,
        interval_us: 50_000,
        ramp_ms: 1_000,
        steady_ms: 2_000,
        once: false,
    },
    Set {
        name: "2000 x 50 ms",
        emitters: &["ours"],
        streams: 2_000,
        interval_us: 50_000,
        ramp_ms: 2_000,
        steady_ms: 2_000,
        once: false,
    },
    Set {
        name: "2500 x 50 ms",
        emitters: &["ours"],
        streams: 2_500,
        interval_us: 50_000,
        ramp_ms: 2_500,
        steady_ms: 2_000,
        once: false,
    },
    Set {
        name: "10000 x 333 ms",
        emitters: &["ours"],
        streams: 10_000,
        interval_us: 333_333,
        ramp_ms: 10_000,
        steady_ms: 4_000,
        once: true,
    },
];

/// How long is waited, in all, for others to leave the machine alone.
const PATIENCE: Duration = Duration::from_secs(60);

impl Set {
    fn load(&self) -> Load {
        let total_us = (self.ramp_ms + self.steady_ms) * 1_000;
        Load {
            streams: self.streams,
            interval_us: self.interval_us,
            frames: (total_us / self.interval_us) as u32,
            ramp: Duration::from_millis(self.ramp_ms),
            first_run: 1,
        }
    }
}

/// Every run by set and emitter, in order of repetition.
pub(crate) type All = BTreeMap<(&'static str, &'static str), Vec<Figures>>;

/// Measures and prints; returns what came out of the goals.
pub(crate) fn run(runs: usize, only: &str) -> io::Result<Outcome> {
    let mut all = All::new();
    let mut patience = PATIENCE;
    // On a thread that ends: this one is to stay as it is.
    let priority = std::thread::spawn(wire::priority::raise).join();
    let real_time = matches!(priority, Ok(Priority::RealTime));
    println!(
        "threads of all three emitters run {}",
        if real_time {
            "in real time: others cannot get before them"
        } else {
            "like any other: runs are judged only where others left the machine alone"
        }
    );
    println!("lateness = write returned - due, µs; {runs} repetitions in alternation");
    println!(
        "{:<15} {:<7} {:>3} {:>7} {:>8} {:>8} {:>8} {:>7} {:>11} {:>5} {:>6} {:>9}",
        "set",
        "emitter",
        "run",
        "frames",
        "p50",
        "p99",
        "max",
        "merged",
        "complete",
        "cpu",
        "others",
        "B/stream"
    );
    for repetition in 1..=runs {
        for set in SETS.iter().filter(|set| set.name.contains(only)) {
            if set.once && repetition < runs {
                continue;
            }
            for emitter in set.emitters {
                if !real_time {
                    wait_for_quiet(&mut patience);
                }
                let figures = Figures { real_time, ..measure(emitter, &set.load())? };
                print_run(set, emitter, repetition, &figures);
                all.entry((set.name, emitter)).or_default().push(figures);
            }
        }
    }
    println!();
    Ok(goals::print(&all))
}

fn print_run(set: &Set, emitter: &str, repetition: usize, figures: &Figures) {
    let absent = || "-".to_string();
    let percent = |share: f64| format!("{:.0}%", share * 100.0);
    println!(
        "{:<15} {emitter:<7} {repetition:>3} {:>7} {:>8.0} {:>8.0} {:>8.0} {:>7} {:>11} {:>5} {:>6} {:>9}",
        set.name,
        figures.frames,
        figures.p50,
        figures.p99,
        figures.max,
        figures.merged,
        format!("{}/{}", figures.complete.min(figures.whole), set.streams),
        figures.cpu.map_or_else(absent, percent),
        figures.others.map_or_else(absent, percent),
        figures.bytes_per_stream.map_or_else(absent, |bytes| bytes.to_string()),
    );
}
