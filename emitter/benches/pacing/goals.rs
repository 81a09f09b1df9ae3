//! What is asked of the figures, and whether they reach it.

use crate::report::{Figures, median};
use crate::sets::All;

/// What came out of the goals, the gravest of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Every goal whose set was run is met.
    Met,
    /// Others kept the machine too busy to judge one.
    CannotTell,
    /// One is missed.
    Missed,
}

/// The bound that a figure is held to.
#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}
use Bound::{AtLeast, AtMost};

const ONE: &str = "1 x 5 ms";
const HUNDRED: &str = "100 x 50 ms";
const THOUSAND: &str = "1000 x 50 ms";
const TWO: &str = "2000 x 50 ms";
const MORE: &str = "2500 x 50 ms";
const TEN: &str = "10000 x 333 ms";

/// Prints every goal and tells what came out.
pub(crate) fn print(all: &All) -> Outcome {
    let table = Table { all };
    // The guard's greatest tolerance: a run above it would be excluded.
    let tolerance = 10_000.0;
    let outcomes = [
        table.ratio(
            "1 stream, 5 ms: tokio's p99 / ours",
            (ONE, "tokio"),
            (ONE, "ours"),
            p99,
            AtLeast(3.0),
        ),
        table.ratio(
            "1 stream, 5 ms: our p50 / bare thread's",
            (ONE, "ours"),
            (ONE, "thread"),
            p50,
            AtMost(1.5),
        ),
        table.figure("1 stream, 5 ms: our CPU, % of a core", ONE, cpu, AtMost(10.0)),
        table.ratio(
            "100 streams: tokio's p99 / ours",
            (HUNDRED, "tokio"),
            (HUNDRED, "ours"),
            p99,
            AtLeast(8.0),
        ),
        table.ratio(
            "1,000 streams: tokio's p99 / ours",
            (THOUSAND, "tokio"),
            (THOUSAND, "ours"),
            p99,
            AtLeast(8.0),
        ),
        table.ratio(
            "2,000 streams: p99 / that of 100",
            (TWO, "ours"),
            (HUNDRED, "ours"),
            p99,
            AtMost(3.0),
        ),
        table.count("2,000 streams: merged writes", TWO, merged),
        table.count("2,000 streams: not played and read whole", TWO, missing),
        table.count("10,000 streams: merged writes", TEN, merged),
        table.count("10,000 streams: not played and read whole", TEN, missing),
        table.figure("10,000 streams: p99, µs", TEN, p99, AtMost(tolerance)),
        table.size("memory a stream of 2,000, KB", TWO, memory, AtMost(20.0)),
        table.size("memory a stream of 10,000, KB", TEN, memory, AtMost(20.0)),
    ];
    println!("aimed at beyond that:");
    table.ratio(
        "2,500 streams: p99 / that of 100",
        (MORE, "ours"),
        (HUNDRED, "ours"),
        p99,
        AtMost(3.0),
    );
    table.count("2,500 streams: merged writes", MORE, merged);
    table.size("memory a stream of 2,000, KB", TWO, memory, AtMost(16.0));
    table.size("memory a stream of 10,000, KB", TEN, memory, AtMost(16.0));
    outcomes.into_iter().max().unwrap_or(Outcome::Met)
}

fn p50(figures: &Figures) -> f64 {
    figures.p50
}

fn p99(figures: &Figures) -> f64 {
    figures.p99
}

fn cpu(figures: &Figures) -> f64 {
    figures.cpu.map_or(f64::NAN, |cpu| cpu * 100.0)
}

fn memory(figures: &Figures) -> f64 {
    figures.bytes_per_stream.map_or(f64::NAN, |bytes| bytes as f64 / 1024.0)
}

fn merged(figures: &Figures) -> u64 {
    figures.merged
}

fn missing(figures: &Figures) -> u64 {
    figures.streams.saturating_sub(figures.complete.min(figures.whole))
}

type Row = (&'static str, &'static str);

struct Table<'a> {
    all: &'a All,
}

impl Table<'_> {
    fn runs(&self, row: Row) -> &[Figures] {
        self.all.get(&row).map_or(&[], Vec::as_slice)
    }

    /// The median of one figure of ours over the undisturbed runs.
    fn figure(
        &self,
        name: &str,
        set: &'static str,
        of: fn(&Figures) -> f64,
        bound: Bound,
    ) -> Outcome {
        let runs = self.runs((set, "ours"));
        let values = runs.iter().filter(|run| run.undisturbed()).map(of).collect();
        judge(name, values, runs.len(), bound)
    }

    /// The same where others do not matter: memory is no faster on an idle machine.
    fn size(
        &self,
        name: &str,
        set: &'static str,
        of: fn(&Figures) -> f64,
        bound: Bound,
    ) -> Outcome {
        let runs = self.runs((set, "ours"));
        judge(name, runs.iter().map(of).collect(), runs.len(), bound)
    }

    /// The median ratio of the same figure of two rows. Repetition by repetition: there the two
    /// runs stood next to each other on the machine.
    fn ratio(
        &self,
        name: &str,
        over: Row,
        under: Row,
        of: fn(&Figures) -> f64,
        bound: Bound,
    ) -> Outcome {
        let (over, under) = (self.runs(over), self.runs(under));
        let pairs = over.iter().zip(under);
        let values = pairs
            .clone()
            .filter(|(over, under)| over.undisturbed() && under.undisturbed())
            .map(|(over, under)| of(over) / of(under))
            .collect();
        judge(name, values, pairs.len(), bound)
    }

    /// What must not happen at all, in no run, disturbed or not.
    fn count(&self, name: &str, set: &'static str, of: fn(&Figures) -> u64) -> Outcome {
        let runs = self.runs((set, "ours"));
        let most = runs.iter().map(of).max();
        judge(name, most.map(|most| most as f64).into_iter().collect(), runs.len(), AtMost(0.0))
    }
}

fn judge(name: &str, values: Vec<f64>, runs: usize, bound: Bound) -> Outcome {
    let used = values.len();
    let value = median(values);
    let (sign, limit, met) = match bound {
        AtLeast(limit) => (">=", limit, value >= limit),
        AtMost(limit) => ("<=", limit, value <= limit),
    };
    let (outcome, word) = match (runs, used, met) {
        (0, ..) => (Outcome::Met, "not measured"),
        (_, 0, _) => (Outcome::CannotTell, "cannot tell: others kept the machine busy"),
        (_, _, true) => (Outcome::Met, "met"),
        (_, _, false) => (Outcome::Missed, "MISSED"),
    };
    let shown = if used == 0 { "-".to_string() } else { format!("{value:.2}") };
    println!("{name:<44} {shown:>9} {sign} {limit:<6} {word}");
    outcome
}
