//! Statistics: nearest-rank quantiles of raw samples.
//!
//! Nearest rank (the smallest sample with at least `q` of the samples at or below it) always
//! returns a value that was measured; an interpolated quantile may show one that never was.

mod bootstrap;

use serde::{Deserialize, Serialize};

use crate::units::Span;

pub use bootstrap::{Difference, MIN_PAIRS, RESAMPLES, between_pairs};

/// Samples needed before a 95th percentile is stated: with fewer than 20, nearest rank gives
/// the maximum, and a maximum under another name is a claim the data do not carry.
pub const P95_MIN_SAMPLES: usize = 20;

/// Samples needed before a 99th percentile is stated, for the same reason.
pub const P99_MIN_SAMPLES: usize = 100;

/// The nearest-rank quantile of sorted samples; `None` without samples.
/// `q` is from 0 to 1.
pub fn nearest_rank<T: Copy>(sorted: &[T], q: f64) -> Option<T> {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

/// The median (nearest rank) of unsorted spans.
pub fn median(samples: &[Span]) -> Option<Span> {
    let mut sorted = samples.to_vec();
    sort(&mut sorted);
    nearest_rank(&sorted, 0.5)
}

/// Sorts. One body of sorting code for every kind of figure: the page has to download it.
pub(crate) fn sort(samples: &mut [Span]) {
    samples.sort_unstable();
}

/// Median, 95th percentile, minimum and maximum of spans, in microseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Nearest-rank median.
    pub median: Span,
    /// Nearest-rank 95th percentile; absent under [`P95_MIN_SAMPLES`] samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p95: Option<Span>,
    /// Nearest-rank 99th percentile; absent under [`P99_MIN_SAMPLES`] samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<Span>,
    /// Smallest sample.
    pub min: Span,
    /// Largest sample.
    pub max: Span,
    /// How many samples.
    pub n: usize,
}

impl Spread {
    /// Describes the samples; `None` when there are none (absent, never 0).
    pub fn of(samples: impl IntoIterator<Item = Span>) -> Option<Spread> {
        Spread::of_each(&mut samples.into_iter())
    }

    fn of_each(samples: &mut dyn Iterator<Item = Span>) -> Option<Spread> {
        let mut sorted: Vec<Span> = samples.collect();
        sort(&mut sorted);
        Some(Spread {
            median: nearest_rank(&sorted, 0.5)?,
            p95: (sorted.len() >= P95_MIN_SAMPLES).then(|| nearest_rank(&sorted, 0.95)).flatten(),
            p99: (sorted.len() >= P99_MIN_SAMPLES).then(|| nearest_rank(&sorted, 0.99)).flatten(),
            min: *sorted.first()?,
            max: *sorted.last()?,
            n: sorted.len(),
        })
    }
}

/// Median, minimum and maximum of a ratio such as frames per read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioSpread {
    /// Nearest-rank median.
    pub median: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
}

impl RatioSpread {
    /// Describes the samples; `None` when there are none.
    pub fn of(samples: impl IntoIterator<Item = f64>) -> Option<RatioSpread> {
        // The order of doubles is that of their bits, but for the sign; going there and back.
        let turn = |bits: i64| bits ^ (((bits >> 63) as u64) >> 1) as i64;
        let mut sorted: Vec<Span> =
            samples.into_iter().map(|ratio| Span(turn(ratio.to_bits() as i64))).collect();
        sort(&mut sorted);
        let ratio = |sorted: Span| f64::from_bits(turn(sorted.as_micros()) as u64);
        Some(RatioSpread {
            median: nearest_rank(&sorted, 0.5).map(ratio)?,
            min: sorted.first().copied().map(ratio)?,
            max: sorted.last().copied().map(ratio)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(values: &[i64]) -> Vec<Span> {
        values.iter().copied().map(Span).collect()
    }

    #[test]
    fn nearest_rank_returns_a_measured_value() {
        let cases: [(&[i64], f64, Option<i64>); 6] = [
            (&[], 0.5, None),
            (&[7], 0.5, Some(7)),
            (&[1, 2], 0.5, Some(1)),
            (&[1, 2, 3], 0.5, Some(2)),
            (&[1, 2, 3, 4], 0.95, Some(4)),
            (&[1, 2, 3, 4], 0.0, Some(1)),
        ];
        for (samples, q, expected) in cases {
            assert_eq!(nearest_rank(samples, q), expected, "{samples:?} at {q}");
        }
    }

    #[test]
    fn p95_is_absent_under_twenty_samples() {
        let few = Spread::of((1..=19).map(Span)).unwrap();
        assert_eq!(few.p95, None);
        let enough = Spread::of((1..=20).map(Span)).unwrap();
        assert_eq!((enough.p95, enough.p99), (Some(Span(19)), None));
        assert_eq!(Spread::of((1..=100).map(Span)).unwrap().p99, Some(Span(99)));
    }

    #[test]
    fn nothing_measured_is_absent_not_zero() {
        assert_eq!(Spread::of(spans(&[])), None);
        assert_eq!(RatioSpread::of([]), None);
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn medians_come_with_their_extremes() {
        let spread = Spread::of(spans(&[5, -2, 9])).unwrap();
        assert_eq!((spread.median, spread.min, spread.max), (Span(5), Span(-2), Span(9)));
    }
}
