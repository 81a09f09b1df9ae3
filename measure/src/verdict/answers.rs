//! What many answers of one service show together, when nothing is known of the origin's pace.
//!
//! One answer's arrivals leave most open: a model may well write so. What a model does differs from
//! answer to answer, what a hop does is the same each time, and so several answers that look alike
//! have a name where one has none. It is the name of a shape; who makes it, path or origin, shows
//! only on another way or from the origin's own times, and the sentence says so.

use super::arrivals::{Origin, Sighting, of_arrivals};
use super::shape::Shape;
use super::{Finding, Sure, Thresholds, Verdict, of_several};
use crate::arrivals::Arrivals;
use crate::units::Span;

/// What one answer shows by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What its arrivals show.
    pub sighting: Sighting,
    /// Where they leave it open: what it looks like, by times and bytes alone.
    pub looks: Option<Verdict>,
}

/// What one answer shows, of an origin whose pace nobody knows.
pub fn of_answer(arrivals: &Arrivals, thresholds: &Thresholds) -> Shown {
    let sighting = of_arrivals(arrivals, Origin::Unknown, thresholds);
    let shape = Shape::of(arrivals, thresholds);
    let looks = match sighting.candidates.first() {
        // A fast model may write all it has to say within a tenth of a second: only what came at
        // once was kept together.
        Some(Verdict::Held) if shape.largest_share() < thresholds.held_share => None,
        // A timer releases whole events; a buffer that happens to fill at that pace cuts them.
        Some(Verdict::Corked) if cuts_events(&shape, thresholds) => None,
        Some(name @ (Verdict::Held | Verdict::Corked | Verdict::BufferBursts)) => Some(*name),
        _ => None,
    };
    Shown { sighting, looks }
}

/// Whether most bursts end inside an event.
fn cuts_events(shape: &Shape, thresholds: &Thresholds) -> bool {
    let spaced = shape.spaced();
    let whole = spaced.iter().filter(|(_, release)| !release.cut).count();
    (whole as f64) < thresholds.pattern_share * spaced.len() as f64
}

/// What answers show together, each with its TTFT. `Void` and failed ones are no evidence and do
/// not belong here.
pub fn of_answers(answers: &[(Shown, Option<Span>)], thresholds: &Thresholds) -> Sighting {
    let pooled = |by_looks: bool| {
        let named: Vec<(Finding, Option<Span>)> = answers
            .iter()
            .map(|(shown, ttft)| {
                let looks = shown.looks.filter(|_| by_looks);
                let name = looks.unwrap_or(shown.sighting.finding.name);
                (Finding { name, ..shown.sighting.finding.clone() }, *ttft)
            })
            .collect();
        of_several(&named, "answers", thresholds)
    };
    let told = pooled(false);
    if told.name != Verdict::CannotTell {
        return Sighting { finding: told, candidates: Vec::new() };
    }
    let looks =
        |wanted: Verdict| answers.iter().filter(|(shown, _)| shown.looks == Some(wanted)).count();
    let candidates = || {
        let open = answers.iter().flat_map(|(shown, _)| &shown.sighting.candidates);
        let mut candidates: Vec<Verdict> = Vec::new();
        for candidate in open {
            if !candidates.contains(candidate) {
                candidates.push(*candidate);
            }
        }
        candidates
    };
    let likely = |finding: Finding| Sighting {
        finding: Finding { sure: Some(Sure::Likely), ..finding },
        candidates: Vec::new(),
    };
    let pooled = pooled(true);
    if pooled.name != Verdict::CannotTell {
        // Bursts at no timer's pace are any buffer's, or the model's own.
        let named = pooled.name != Verdict::BufferBursts;
        return if named && looks(pooled.name) >= thresholds.least_answers {
            likely(pooled)
        } else {
            Sighting::open(&candidates(), told.because)
        };
    }
    // A hop that keeps bytes until its buffer is full or the answer has ended: short answers come
    // at once, longer ones in a few pieces.
    let (whole, pieces) = (looks(Verdict::Held), looks(Verdict::BufferBursts));
    let both = (whole + pieces) as f64 >= thresholds.agreement * answers.len() as f64;
    if both && whole.min(pieces) >= thresholds.least_answers {
        let name = if whole >= pieces { Verdict::Held } else { Verdict::BufferBursts };
        let because = format!(
            "{whole} of {} answers came at once and {pieces} in a few pieces, as from a buffer that is passed on when it is full or the answer has ended: a path that holds, or an origin that writes so",
            answers.len()
        );
        return likely(Finding::new(name, because));
    }
    Sighting::open(&candidates(), told.because)
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
