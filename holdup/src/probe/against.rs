//! Two ways to the same service held against each other: differences with their intervals, and
//! what lies between them.

use measure::Span;
use measure::stats::{Difference, between_pairs, median, nearest_rank};
use measure::units::decimal;
use measure::verdict::{Finding, Sure, Thresholds, Verdict, of_several};
use serde::{Deserialize, Serialize};

use super::plan::Way;
use super::row::Row;
use super::ways::WayResult;

/// How much later a first token must come to be called late: what nobody notices is no finding,
/// and the verdicts allow as much.
const LATER_US: f64 = 20_000.0;
/// How many times as many frames a read must bring to be put together on the way.
const TOGETHER: f64 = 1.5;

/// The URL's figures less the other way's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Comparison {
    /// Pairs of which both answers are complete.
    pub(crate) pairs: usize,
    /// Seed of the intervals.
    pub(crate) seed: u64,
    /// Of the medians of the TTFT, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttft_us: Option<Difference>,
    /// Of the medians of the first byte, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_byte_us: Option<Difference>,
    /// Of the medians over answers of the median gap between events with text, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gap_us: Option<Difference>,
    /// Of the shares of answers that came in one delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) one_delivery: Option<Difference>,
    /// What the pairs show of what lies between the ways; absent without a pair.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<Finding>,
    /// The same in sentences.
    pub(crate) sentences: Vec<String>,
}

fn middle(samples: &mut [f64]) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    nearest_rank(samples, 0.5).unwrap_or_default()
}

fn mean(samples: &mut [f64]) -> f64 {
    samples.iter().sum::<f64>() / samples.len().max(1) as f64
}

impl Comparison {
    /// Holds two ways against each other.
    pub(crate) fn of(
        (url, against): (&WayResult, &WayResult),
        rows: &[Row],
        found: &[(Finding, Option<Span>)],
        seed: u64,
    ) -> Comparison {
        let pairs: Vec<(&Row, &Row)> = rows
            .iter()
            .filter(|row| row.way == Way::Url && row.is_answer())
            .filter_map(|row| {
                let other = |other: &&Row| {
                    other.way == Way::Against && other.is_answer() && other.pair == row.pair
                };
                Some((row, rows.iter().find(other)?))
            })
            .collect();
        let of = |figure: fn(&Row) -> Option<f64>, statistic| {
            let both: Vec<(f64, f64)> = pairs
                .iter()
                .filter_map(|(one, other)| Some((figure(one)?, figure(other)?)))
                .collect();
            between_pairs(&both, seed, statistic)
        };
        let sound: Vec<(Finding, Option<Span>)> =
            found.iter().filter(|(it, _)| it.name != Verdict::Void).cloned().collect();
        let mut comparison = Comparison {
            pairs: pairs.len(),
            seed,
            ttft_us: of(|row| row.answer.milestones.ttft.map(|it| it.as_micros() as f64), middle),
            first_byte_us: of(
                |row| row.answer.milestones.first_byte.map(|it| it.as_micros() as f64),
                middle,
            ),
            gap_us: of(|row| median(&row.answer.text_gaps).map(|it| it.as_micros() as f64), middle),
            one_delivery: of(|row| row.answer.in_one_delivery().map(f64::from), mean),
            verdict: (!sound.is_empty())
                .then(|| of_several(&sound, "pairs", &Thresholds::standard())),
            sentences: Vec::new(),
        };
        comparison.sentences.push(between(url, against));
        comparison.sentences.extend(comparison.difference());
        let later = comparison.later();
        comparison.sentences.extend(coalescing(url, against, later));
        comparison
    }

    /// The verdict on the URL's way: by the pairs where they name something, with how sure.
    pub(crate) fn names(&self) -> Option<&Finding> {
        self.verdict.as_ref().filter(|verdict| verdict.name != Verdict::CannotTell)
    }

    /// Whether the first text comes later on the URL's way: beyond doubt where there are enough
    /// pairs for it, else by the estimate alone.
    fn later(&self) -> bool {
        self.ttft_us
            .is_some_and(|it| it.estimate > LATER_US && (it.interval.is_none() || it.sign() > 0))
    }

    fn difference(&self) -> Option<String> {
        let it = self.ttft_us?;
        let span = |us: f64| Span(us.round() as i64);
        let size = span(it.estimate.abs());
        let way = if it.estimate < 0.0 { "sooner" } else { "later" };
        Some(match it.interval {
            None => format!(
                "Its first text comes {size} {way} in the median of {} pairs, too few for an interval",
                it.pairs
            ),
            Some((low, high)) if it.sign() == 0 => format!(
                "No difference of the TTFT is shown: {} to {} with 95%, {} pairs",
                span(low),
                span(high),
                it.pairs
            ),
            Some((low, high)) => {
                let (low, high) = if it.estimate < 0.0 { (-high, -low) } else { (low, high) };
                format!(
                    "Its first text comes {size} {way} (95%: {} to {}, {} pairs)",
                    span(low),
                    span(high),
                    it.pairs
                )
            }
        })
    }
}

/// What lies between the ways, as far as the answers' own headers tell.
fn between(url: &WayResult, against: &WayResult) -> String {
    let name = |way: &WayResult| {
        let via = way.via.as_ref().map(|via| format!("via {via:?}"));
        let server = way.server.as_ref().map(|server| format!("server {server:?}"));
        let said: Vec<String> = [server, via].into_iter().flatten().collect();
        if said.is_empty() { "no name".to_string() } else { said.join(", ") }
    };
    let (here, there) = (name(url), name(against));
    if here == there {
        format!(
            "Between the two ways lies whatever {} passes and {} does not; its answers do not tell its name",
            url.url, against.url
        )
    } else {
        format!(
            "Between the two ways lies whatever {} passes and {} does not: its answers come with {here}, the others with {there}",
            url.url, against.url
        )
    }
}

/// Calls a better inter-token latency with a worse TTFT what it is.
fn coalescing(url: &WayResult, against: &WayResult, later: bool) -> Option<String> {
    let pools = (url.shown().0, against.shown().0);
    let per_read = |way: &measure::chat::ChatPool| Some(way.frames_per_read.as_ref()?.median);
    let (here, there) = (per_read(pools.0)?, per_read(pools.1)?);
    let gap = |way: &measure::chat::ChatPool| Some(way.text_gap_us.as_ref()?.median);
    let (gap_here, gap_there) = (gap(pools.0)?, gap(pools.1)?);
    (later && gap_here < gap_there && here >= TOGETHER * there).then(|| {
        format!(
            "Its gaps are shorter ({gap_here} against {gap_there}) and its first text is later: that is coalescing, not speed. Frames wait and come {} at a time ({} on the other way)",
            decimal(here, 2),
            decimal(there, 2)
        )
    })
}

/// How sure a verdict is, in a word before it.
pub(crate) fn likely(sure: Option<Sure>) -> &'static str {
    match sure {
        Some(Sure::Likely) => "likely ",
        Some(Sure::Certain) | None => "",
    }
}
