//! Makes the requests one at a time and keeps what came of each as soon as it is there.

use std::time::{Duration, Instant};

use measure::verdict::arrivals::{Origin, of_arrivals};
use measure::verdict::{Finding, Thresholds};
use measure::{Arrivals, Span};

use super::kind::Kind;
use super::plan::{Step, Way};
use super::row::{Row, Run};
use crate::interrupt::Interrupt;

/// How often a pause looks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// What one request brought.
pub(crate) struct Asked {
    pub(crate) run: Run,
    /// The arrivals by which it is judged; absent where there is nothing to judge.
    pub(crate) judged: Option<Arrivals>,
}

/// Makes one request.
pub(crate) trait Asker {
    fn ask(&mut self, step: &Step) -> Asked;
}

/// What the requests brought.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// In the order of asking.
    pub(crate) rows: Vec<Row>,
    /// What each pair shows: the URL's answer beside the other's.
    pub(crate) pairs: Vec<(Finding, Option<Span>)>,
    /// Why no more was asked, where that was before the end.
    pub(crate) stopped: Option<String>,
    /// Whether somebody wanted it to end.
    pub(crate) interrupted: bool,
}

/// Makes the requests. Where the first answer of a way says that the next would be the same, no
/// more are made: a login does not go away by knocking.
pub(crate) fn play(
    steps: &[Step],
    asker: &mut impl Asker,
    pause: Duration,
    interrupt: &Interrupt,
    told: &mut dyn FnMut(&Step),
    keep: &mut dyn FnMut(&Run),
) -> Played {
    let mut played = Played::default();
    let one_prompt = steps.iter().all(|step| step.prompt == 0);
    let mut partner: Option<(Step, Option<Arrivals>)> = None;
    for (index, step) in steps.iter().enumerate() {
        if index > 0 {
            wait(pause, interrupt);
        }
        if interrupt.came() {
            played.interrupted = true;
            played.stopped = Some("interrupted".into());
            break;
        }
        told(step);
        let first_of_way = !played.rows.iter().any(|row| row.way == step.way);
        let Asked { run, judged } = asker.ask(step);
        keep(&run);
        let row = run.row.of_step(step);
        let stays = first_of_way && row.kind.stays(one_prompt);
        if stays && index + 1 < steps.len() {
            let line = row.line.clone().unwrap_or_default();
            played.stopped =
                Some(format!("no more was asked, since the first answer says: {line}"));
        }
        let ttft = row.answer.milestones.ttft;
        match partner.take() {
            Some((before, other)) if is_pair(&before, step) => {
                let here = (step.way, judged, ttft);
                let there_ttft = played.rows.last().and_then(|row| row.answer.milestones.ttft);
                played.pairs.extend(pair(here, (before.way, other, there_ttft)));
            }
            _ => partner = Some((*step, judged)),
        }
        played.rows.push(row);
        if stays && played.stopped.is_some() {
            break;
        }
    }
    // The last answer may have been left for it.
    let left = matches!(played.rows.last(), Some(row) if matches!(row.kind, Kind::Left | Kind::Stalled | Kind::Silent));
    if left && interrupt.came() && !played.interrupted {
        played.interrupted = true;
        played.stopped = Some("interrupted".into());
    }
    played
}

fn is_pair(one: &Step, other: &Step) -> bool {
    one.pair == other.pair && one.way != other.way && !one.warm_up && !other.warm_up
}

type Side = (Way, Option<Arrivals>, Option<Span>);

/// What the URL's answer of a pair shows beside the other's.
fn pair(one: Side, other: Side) -> Option<(Finding, Option<Span>)> {
    let (url, against) = if one.0 == Way::Url { (one, other) } else { (other, one) };
    let direct = against.1?;
    let origin = Origin::Direct(&direct);
    let sighting = of_arrivals(&url.1?, origin, &Thresholds::standard());
    Some((sighting.finding, url.2))
}

pub(crate) fn wait(pause: Duration, interrupt: &Interrupt) {
    let end = Instant::now() + pause;
    while !interrupt.came() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(LOOK));
    }
}

/// Whether anything that can be shown was measured.
pub(crate) fn measured(rows: &[Row]) -> bool {
    rows.iter().any(|row| row.counts() && matches!(row.kind, Kind::Complete | Kind::Left))
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
