//! How far a difference between two ways may be off: the percentile bootstrap over pairs.
//!
//! Two ways are asked in turn, so that each answer has its partner close in time, and of the same
//! prompt. Pairs are drawn with replacement, as many as there are; each draw gives the difference
//! of its two statistics, and the interval holds the middle 95% of them. Pairs are drawn, not
//! answers: what a prompt does to both ways is no difference between them. The seed is recorded,
//! so that the same pairs give the same interval again.

use serde::{Deserialize, Serialize};

/// Fewest pairs for which an interval is stated. With five, differences all of one sign come about
/// by chance in more than one of twenty cases (2/2⁵), and no interval of 95% could say so.
pub const MIN_PAIRS: usize = 6;

/// Draws. The ends of the interval then are the 50th value from either end of the sorted
/// differences, which another seed moves by little.
pub const RESAMPLES: usize = 2_000;

/// A difference between two ways: the first less the second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The difference of the two statistics over all pairs.
    pub estimate: f64,
    /// Where 95% of the draws lie; absent under [`MIN_PAIRS`] pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// How many pairs.
    pub pairs: usize,
}

impl Difference {
    /// Whether the interval leaves no doubt about the sign: 1, −1, or 0 where it does, or where
    /// there is none.
    pub fn sign(&self) -> i8 {
        match self.interval {
            Some((low, _)) if low > 0.0 => 1,
            Some((_, high)) if high < 0.0 => -1,
            _ => 0,
        }
    }
}

/// The difference of a statistic between the first and the second of the pairs; `None` without
/// pairs.
pub fn between_pairs(
    pairs: &[(f64, f64)],
    seed: u64,
    statistic: fn(&mut [f64]) -> f64,
) -> Option<Difference> {
    if pairs.is_empty() {
        return None;
    }
    let count = pairs.len();
    let (mut first, mut second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let estimate = statistic(&mut first) - statistic(&mut second);
    let mut random = fastrand::Rng::with_seed(seed);
    let interval = (count >= MIN_PAIRS).then(|| {
        let mut drawn: Vec<f64> = (0..RESAMPLES)
            .map(|_| {
                for place in 0..count {
                    let pair = pairs[random.usize(..count)];
                    (first[place], second[place]) = pair;
                }
                statistic(&mut first) - statistic(&mut second)
            })
            .collect();
        drawn.sort_unstable_by(f64::total_cmp);
        // 2.5% on either side.
        let cut = RESAMPLES / 40;
        (drawn[cut - 1], drawn[RESAMPLES - cut])
    });
    Some(Difference { estimate, interval, pairs: count })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(samples: &mut [f64]) -> f64 {
        samples.iter().sum::<f64>() / samples.len() as f64
    }

    #[test]
    fn what_a_prompt_does_to_both_is_no_difference() {
        // Prompts differ by seconds, the ways by 200 ms.
        let pairs: Vec<(f64, f64)> = (0..20)
            .map(|prompt| (f64::from(prompt) * 1e6 + 2e5, f64::from(prompt) * 1e6))
            .collect();
        let found = between_pairs(&pairs, 1, mean).unwrap();
        assert!((found.estimate - 2e5).abs() < 1.0, "{found:?}");
        let (low, high) = found.interval.unwrap();
        assert!((low - 2e5).abs() < 1.0 && (high - 2e5).abs() < 1.0, "{found:?}");
        assert_eq!(found.sign(), 1);
        let turned: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        assert_eq!(between_pairs(&turned, 1, mean).unwrap().sign(), -1);
    }

    #[test]
    fn noise_alone_leaves_the_sign_open_about_19_times_in_20() {
        let mut random = fastrand::Rng::with_seed(7);
        let decided = (0..200)
            .filter(|seed| {
                let pairs: Vec<(f64, f64)> =
                    (0..12).map(|_| (random.f64(), random.f64())).collect();
                between_pairs(&pairs, *seed, mean).unwrap().sign() != 0
            })
            .count();
        // The percentile bootstrap of few pairs is somewhat too sure of itself: 5% becomes up
        // to some 10%.
        assert!((1..30).contains(&decided), "{decided} of 200");
    }

    #[test]
    fn few_pairs_give_no_interval_and_the_seed_decides_it() {
        let pairs = [(3.0, 1.0), (5.0, 1.0), (4.0, 2.0), (9.0, 1.0), (2.0, 1.0)];
        let few = between_pairs(&pairs, 1, mean).unwrap();
        assert_eq!((few.interval, few.sign(), few.pairs), (None, 0, 5));
        assert_eq!(between_pairs(&[], 1, mean), None);
        let enough = [&pairs[..], &[(6.0, 3.0)]].concat();
        assert_eq!(between_pairs(&enough, 3, mean), between_pairs(&enough, 3, mean));
        assert!(between_pairs(&enough, 3, mean).unwrap().interval.is_some());
    }
}
