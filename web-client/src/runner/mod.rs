//! Plans: one lane, or all of them. One path for a button, a key and a driver.

mod boot;
mod draw;
mod step;

use std::pin::Pin;

use measure::Cell;
use measure::page::Finished;
use measure::plan::Plan;
use measure::results::RunRecord;

use crate::model::{Activity, Ending, Model, Sight, State, first_reader};
use crate::run::Halt;
use crate::words;
use crate::{api, browser};
use step::Slot;

pub use boot::boot;

/// Ends what runs, at the next look of its stream.
pub fn stop(model: Model) {
    if model.look(State::is_running) == Some(true) {
        model.set_stopping(true);
    }
}

/// Runs one lane, by each reader in turn, and those that run at the same time as it through the
/// same endpoint. The control goes first when it has not run yet: without it there is nothing to
/// hold the lane against.
pub fn run_lane(model: Model, lane: String) {
    let Ok(mut plan) = model.plan() else { return };
    for cell in plan.cells.iter_mut().filter(|cell| cell.stream.is_none()) {
        cell.concurrency = 1;
    }
    start(
        model,
        plan.clone(),
        Box::pin(async move {
            let own: Vec<Cell> =
                plan.cells.iter().filter(|cell| of_lane(cell, &lane)).cloned().collect();
            let control = own.iter().any(Cell::is_direct);
            let round = last_round(model, &plan);
            let (first, round) = match round {
                Some(round) => (false, if control { round + 1 } else { round }),
                None => (!control, 0),
            };
            let keys: Vec<String> = own.iter().map(Cell::control_key).collect();
            let wanted = |cell: &Cell| {
                own.contains(cell)
                    || first && cell.is_direct() && keys.contains(&cell.control_key())
            };
            let mut cells = plan.cells.clone();
            cells.retain(wanted);
            let part = Plan { cells, rounds: 1, ..plan.clone() };
            let mut steps: Vec<Vec<usize>> = Vec::new();
            for step in part.steps(round) {
                // A single lane's control need not be played again at its end.
                if !steps.contains(&step) {
                    steps.push(step);
                }
            }
            let runs = steps.iter().map(Vec::len).sum();
            let mut done = Progress::of(runs, next_position(model));
            for step in &steps {
                done.play(model, &plan.cells, &part, step, round).await?;
            }
            Ok(())
        }),
    );
}

/// Whether a cell belongs to a lane, or runs at the same time as one that does.
fn of_lane(cell: &Cell, lane: &str) -> bool {
    let own = cell.lane_key();
    // Streams at once through one endpoint are lanes that differ in their number alone.
    let stem =
        |key: &str| cell.stream.and_then(|_| key.rsplit_once('/').map(|at| at.0.to_string()));
    own == lane || stem(&own).is_some_and(|own| Some(own) == stem(lane))
}

/// Runs every round of the plan, as its settings say: one stream at a time, or all lanes at once,
/// which is recorded with that concurrency and never pooled with the others. The runs so far are
/// forgotten: a plan is measured whole.
pub fn run_all(model: Model) {
    let Ok(plan) = model.plan() else { return };
    start(
        model,
        plan.clone(),
        Box::pin(async move {
            forget(model, &plan);
            let mut done = Progress::of(plan.page_run_count(), 0);
            for round in 0..plan.rounds {
                for step in plan.steps(round) {
                    done.play(model, &plan.cells, &plan, &step, round).await?;
                }
            }
            Ok(())
        }),
    );
}

/// Runs the plan one stream at a time.
pub fn run_in_turn(model: Model) {
    model.change(|state| state.settings.at_once = false);
    run_all(model);
}

/// Runs all lanes at the same time, reader by reader.
pub fn run_at_once(model: Model) {
    model.change(|state| state.settings.at_once = true);
    run_all(model);
}

/// How far a plan has come.
struct Progress {
    /// Place of the next run.
    position: u32,
    done: u32,
    total: u32,
}

impl Progress {
    fn of(runs: usize, position: u32) -> Progress {
        Progress { position, done: 0, total: runs as u32 }
    }

    /// Plays the next step of a part of the plan that has these cells.
    async fn play(
        &mut self,
        model: Model,
        all: &[Cell],
        part: &Plan,
        step: &[usize],
        round: u32,
    ) -> Result<(), Halt> {
        if model.stopped() {
            return Err(Halt::Stopped);
        }
        let cells: Vec<&Cell> = step.iter().map(|index| &part.cells[*index]).collect();
        let Some(first) = cells.first() else { return Ok(()) };
        let by = words::reader(first.reader);
        let what = match cells.len() {
            1 => format!("{} by {by}", first.endpoint),
            many => format!("{many} streams at once, by {by}"),
        };
        model.progress(self.done, self.total, what);
        if first.reader.in_browser() {
            model.change(|state| state.reader = first.reader);
        }
        step::play(model, all, &cells, Slot { round, position: self.position }).await?;
        self.position += step.len() as u32;
        self.done += step.len() as u32;
        model.progress(self.done, self.total, String::new());
        Ok(())
    }
}

/// Runs a plan, unless one runs already, and leaves the page as it then is.
fn start(model: Model, plan: Plan, play: Pin<Box<dyn Future<Output = Result<(), Halt>>>>) {
    if model.look(State::may_run) != Some(true) {
        return;
    }
    let at_once = plan.cells.iter().any(is_at_once);
    model.set_stopping(false);
    model.change(|state| {
        state.ending = None;
        state.left_out = None;
        state.sight = if at_once { Sight::AtOnce } else { Sight::InTurn };
    });
    model.progress(0, 1, "synchronising clocks".into());
    browser::spawn(async move {
        let frames = draw::each_frame(model);
        let ending = match play.await {
            Ok(()) => Ending::Finished,
            Err(Halt::Stopped) => Ending::Stopped,
            Err(Halt::Refused(why)) => Ending::Failed(why),
            Err(Halt::Gone(error)) => {
                boot::fall_silent(model, &error);
                Ending::Failed(error.to_string())
            }
        };
        drop(frames);
        tell_finished(model, &ending).await;
        model.change(|state| {
            state.ending = Some(ending);
            state.activity = Activity::Idle;
            // Of several readers the first is looked at, as before the run.
            state.reader = first_reader(&state.settings);
        });
    });
}

async fn tell_finished(model: Model, ending: &Ending) {
    let session = model.look(|state| state.settings.session.clone()).flatten();
    let Some(session) = session else { return };
    let runs = model.with_records(|records| records.len() as u32).unwrap_or_default();
    let stopped = match ending {
        Ending::Finished => None,
        Ending::Stopped => Some("stopped by hand".to_string()),
        Ending::Failed(why) => Some(why.clone()),
    };
    // Whoever waits has a time limit of its own, should this not arrive.
    let _ = api::post_finished(&session, &Finished { runs, stopped }).await;
}

/// The last round in which `direct` ran, under the plan's cells.
fn last_round(model: Model, plan: &Plan) -> Option<u32> {
    let direct: Vec<String> =
        plan.cells.iter().filter(|cell| cell.is_direct()).map(Cell::id).collect();
    model
        .with_records(|records| {
            let of_direct = records.iter().filter(|run| direct.contains(&run.cell));
            of_direct.map(|run| run.round).max()
        })
        .flatten()
}

fn next_position(model: Model) -> u32 {
    let last = |records: &mut Vec<RunRecord>| records.iter().map(|run| run.position + 1).max();
    model.with_records(last).flatten().unwrap_or_default()
}

/// Whether a cell runs at the same time as other lanes. Several streams of one endpoint are at once
/// by their plan, and nothing else.
fn is_at_once(cell: &Cell) -> bool {
    cell.concurrency > 1 && cell.stream.is_none()
}

/// Forgets what the plan measures anew. Of a plan all at once the runs in turn stay: they are
/// rows of their own.
fn forget(model: Model, plan: &Plan) {
    if !plan.cells.iter().any(is_at_once) {
        model.reset();
        return;
    }
    let ids: Vec<String> = plan.cells.iter().map(Cell::id).collect();
    model.with_records(|records| records.retain(|run| !ids.contains(&run.cell)));
    model.change(|state| state.rows.retain(|row| !ids.contains(&row.result.id)));
}
