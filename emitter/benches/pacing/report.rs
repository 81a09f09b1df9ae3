//! What a run's ledgers say: lateness quantiles and merged writes.

use emitter::{Ledgers, Lookup};
use measure::ledger::Entry;
use measure::stats::nearest_rank;
use measure::{Ledger, RunId, Span};

use crate::machine::OTHERS_LIMIT;

/// One run in figures; times are microseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Streams asked for.
    pub(crate) streams: u64,
    /// Frames counted.
    pub(crate) frames: u64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) max: f64,
    /// Frames that left with the one before them against the script, of any time.
    pub(crate) merged: u64,
    /// Streams whose every frame was written.
    pub(crate) complete: u64,
    /// Streams that the client read to their last chunk.
    pub(crate) whole: u64,
    /// CPU time of the emitter per second, of one core.
    pub(crate) cpu: Option<f64>,
    /// Share of the machine that neither emitter nor client took.
    pub(crate) others: Option<f64>,
    /// Whether the emitters' threads run before all ordinary ones.
    pub(crate) real_time: bool,
    /// Growth of resident memory per stream.
    pub(crate) bytes_per_stream: Option<u64>,
}

impl Figures {
    /// Over the frames that were due while every stream was open.
    pub(crate) fn of(ledgers: &Ledgers, streams: usize) -> Figures {
        let known: Vec<Box<Ledger>> = (1..=streams as u128)
            .filter_map(|run| match ledgers.lookup(RunId(run)) {
                Lookup::Known(ledger) => Some(ledger),
                _ => None,
            })
            .collect();
        let last_due = |ledger: &Ledger| ledger.started + ledger.script.duration();
        let from = known.iter().map(|ledger| ledger.started).max();
        let to = known.iter().map(|ledger| last_due(ledger)).min();
        let (Some(from), Some(to)) = (from, to) else { return Figures::default() };
        let mut lateness: Vec<i64> = known
            .iter()
            .flat_map(|ledger| &ledger.entries)
            .filter(|entry| entry.due > from && entry.due <= to)
            .map(Entry::lateness)
            .map(Span::as_micros)
            .collect();
        lateness.sort_unstable();
        let at = |q| nearest_rank(&lateness, q).unwrap_or_default() as f64;
        Figures {
            frames: lateness.len() as u64,
            p50: at(0.5),
            p99: at(0.99),
            max: at(1.0),
            merged: known.iter().map(|ledger| u64::from(ledger.merged_writes())).sum(),
            complete: known
                .iter()
                .filter(|ledger| ledger.entries.len() == ledger.script.frame_count() as usize)
                .count() as u64,
            ..Figures::default()
        }
    }

    /// Whether it may be judged: others left the machine alone, as far as the system says, or
    /// could not get before an emitter's threads.
    pub(crate) fn undisturbed(&self) -> bool {
        self.real_time || self.others.is_none_or(|others| others <= OTHERS_LIMIT)
    }

    pub(crate) fn line(&self) -> String {
        let Figures { frames, p50, p99, max, merged, complete, .. } = self;
        format!("{frames} {p50} {p99} {max} {merged} {complete}")
    }

    pub(crate) fn parse(line: &str) -> Option<Figures> {
        let numbers: Vec<f64> =
            line.split(' ').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let [frames, p50, p99, max, merged, complete] = numbers[..] else { return None };
        Some(Figures {
            frames: frames as u64,
            p50,
            p99,
            max,
            merged: merged as u64,
            complete: complete as u64,
            ..Figures::default()
        })
    }
}

/// The middle of several runs' values; of an even number the lower of the two.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}
