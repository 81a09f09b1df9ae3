//! What several runs of a cell show together.

use super::{Finding, Thresholds, Verdict};
use crate::units::Span;

/// What the accepted runs of a cell show together: the verdict that enough of them share,
/// with the sentence of the run whose TTFT is the median among them.
pub fn of_cell(runs: &[(Finding, Option<Span>)], thresholds: &Thresholds) -> Finding {
    of_several(runs, "runs", thresholds)
}

/// The same with a word for what they are.
pub fn of_several(
    runs: &[(Finding, Option<Span>)],
    word: &str,
    thresholds: &Thresholds,
) -> Finding {
    let mut different: Vec<Verdict> = Vec::new();
    for (finding, _) in runs {
        if let Err(place) = different.binary_search(&finding.name) {
            different.insert(place, finding.name);
        }
    }
    let count = |name: Verdict| runs.iter().filter(|(finding, _)| finding.name == name).count();
    let Some(most) = different.iter().copied().max_by_key(|name| count(*name)) else {
        return Finding::new(Verdict::CannotTell, "no run was measured");
    };
    if (count(most) as f64) < thresholds.agreement * runs.len() as f64 {
        let said: Vec<String> =
            different.iter().map(|name| format!("{} {}", count(*name), name.name())).collect();
        return Finding::new(
            Verdict::CannotTell,
            format!("the {} {word} disagree: {}", runs.len(), said.join(", ")),
        );
    }
    let agreeing: Vec<&(Finding, Option<Span>)> =
        runs.iter().filter(|(finding, _)| finding.name == most).collect();
    // The one that as many have a shorter TTFT than; of equal ones the earlier run's.
    let rank = |index: usize, ttft: Option<Span>| {
        let before =
            |(other, run): &(usize, &&(Finding, Option<Span>))| (run.1, *other) < (ttft, index);
        agreeing.iter().enumerate().filter(before).count()
    };
    let middle = (agreeing.len() - 1) / 2;
    let (_, in_middle) = agreeing
        .iter()
        .enumerate()
        .find(|(index, run)| rank(*index, run.1) == middle)
        .expect("ranks are the numbers from 0 to the count, each once");
    let because = in_middle.0.because.clone();
    let because = match runs.len() {
        1 => because,
        all => format!("{} of {all} {word}; in the middle one: {because}", agreeing.len()),
    };
    Finding::new(most, because)
}
