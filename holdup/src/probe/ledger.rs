//! Holdup's own emitter behind the endpoint: it says so by a header of its answer, so that nobody
//! else is asked anything for its sake. Its ledgers and its clock are fetched on the same way.

use measure::chat::ChatRecord;
use measure::stats::Spread;
use measure::verdict::Finding;
use measure::{Arrivals, Measurement, RunId, Span};
use recv_client::Form;
use wire::http1::Head;

use crate::doctor::behind::{Asker, Behind};
use crate::doctor::budget::Budget;
use crate::doctor::evidence::Raw;
use crate::doctor::judge;
use crate::target::Target;

/// The header with which the emitter names the run of an answer.
const RUN: &str = "holdup-run";

/// What stands behind one way.
#[derive(Debug, Default)]
pub(crate) enum Origin {
    /// No answer has come yet.
    #[default]
    Unknown,
    /// Somebody else's service, or nobody's.
    Others,
    /// Holdup's own emitter.
    Ours(Behind),
}

/// What the origin's own times say of an answer.
pub(crate) struct Timed {
    /// The verdict on the path.
    pub(crate) finding: Finding,
    /// How long the path held the frames.
    pub(crate) holds: Option<Spread>,
    /// How far that may be off.
    pub(crate) uncertainty: Span,
    /// The run.
    pub(crate) run: RunId,
}

/// The run that an answer of the emitter is of.
fn run_of(head: Option<&Head>, record: &ChatRecord) -> Option<RunId> {
    let run: RunId = head?.header(RUN)?.parse().ok()?;
    // An answer out of a cache has a run, but not this one's times; its frames are of that run.
    (record.run == Some(run)).then_some(run)
}

/// Joins an answer with its ledger, where there is one.
pub(crate) fn timed(
    origin: &mut Origin,
    (target, form): (&Target, &Form),
    head: Option<&Head>,
    record: &ChatRecord,
    arrivals: &Arrivals,
) -> Option<Timed> {
    let run = run_of(head, record)?;
    // These requests go to our own emitter alone, so they are no part of anybody's limit.
    let mut budget = Budget::new(u32::MAX);
    let mut asker = Asker { target, form, budget: &mut budget };
    if let Origin::Unknown = origin {
        *origin = match asker.look() {
            Ok(Some(behind)) => Origin::Ours(behind),
            Ok(None) | Err(_) => Origin::Others,
        };
    }
    let Origin::Ours(behind) = origin else { return None };
    let uncertainty = behind.uncertainty()?;
    let ledger = asker.ledger(behind, run).ok()?;
    let measured = Measurement::join(Some(&ledger), arrivals);
    let holds = Spread::of(measured.holds.iter().map(|hold| hold.after));
    let raw = Raw {
        arrivals: Arrivals { run, ..arrivals.clone() },
        ledger: Some(ledger),
        uncertainty,
        script: None,
        stopped: false,
    };
    let finding = judge::alone(&raw).finding;
    Some(Timed { finding, holds, uncertainty, run })
}

/// Whether the emitter's clock is still the one it was; what changed, if it is not.
pub(crate) fn check(origin: &Origin, (target, form): (&Target, &Form)) -> Result<(), String> {
    let Origin::Ours(behind) = origin else { return Ok(()) };
    let mut budget = Budget::new(u32::MAX);
    let mut asker = Asker { target, form, budget: &mut budget };
    asker.check_clock(behind).map_err(|stop| stop.to_string())
}
