//! The native reader over the same endpoints, which confirms the path without a browser.

use measure::Reader;
use measure::cell::HeaderSet;
use measure::plan::{BROWSER_ENCODINGS, Plan};

use crate::browser::Engine;
use crate::commands::browse::document::Joined;
use crate::commands::browse::stage::Stage;
use crate::exit::Problem;
use crate::rig::Rig;
use crate::runner::{self, Native};

/// Plays the endpoints and scripts of the plan natively.
pub(super) fn confirm(
    stage: &Stage<'_>,
    rounds: u32,
    rig: &Rig,
    joined: &mut Joined,
) -> Result<(), Problem> {
    let mut plan = stage.plan(Engine::ALL[0])?;
    let first = plan.cells.first().map(|cell| cell.reader);
    plan.cells.retain(|cell| Some(cell.reader) == first);
    for cell in &mut plan.cells {
        cell.reader = Reader::Recv;
        cell.engine = None;
        // What the browser sent: a proxy may treat a plain client otherwise.
        cell.request.headers = HeaderSet::ChromiumFetch;
        cell.request.accept_encoding = Some(BROWSER_ENCODINGS.into());
    }
    let plan = Plan { rounds, ..plan };
    joined.add(&plan);
    let mut reader = Native { rig, emitter: stage.emitter };
    let played = runner::play(&plan, &mut reader, stage.interrupt, |run| joined.keep(run));
    match played {
        Ok(true) => {}
        Ok(false) => joined.fail(None),
        Err(problem) => joined.fail(Some(problem)),
    }
    Ok(())
}
