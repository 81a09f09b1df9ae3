//! Plans: one lane, all in turn, all at once. One path for a button, a key and a driver.

use std::cell::{Cell as Flag, RefCell};
use std::pin::Pin;
use std::rc::Rc;

use measure::arrivals::Reader;
use measure::cell::DIRECT;
use measure::page::{Finished, RunPost};
use measure::plan::Plan;
use measure::results::RunRecord;
use measure::script::MIN_FRAME_BYTES;
use measure::{Cell, Script, Span};

use crate::guard::Frames;
use crate::model::{Activity, Boot, Ending, LaneModel, Model, Sight, State};
use crate::once::Once;
use crate::run::{self, Halt, Slot};
use crate::words;
use crate::{api, browser};

/// The warm-up: a few frames are enough to load every code path of browser and page.
const WARM_UP_FRAMES: u32 = 4;
const WARM_UP_INTERVAL: Span = Span::millis(10);
/// How often a silent emitter is asked again, and an answering one whether it still is there.
const ASK_AGAIN_MS: u32 = 1_000;

/// Asks the emitter what there is, warms up, starts if the address says so, and from then on
/// watches whether the emitter is still there.
pub async fn boot(model: Model) {
    if model.look(|state| state.boot == Boot::Loading) != Some(true) {
        return;
    }
    learn_lanes(model).await;
    if let Err(why) = model.plan() {
        model.change(|state| state.boot = Boot::BadSettings(why));
        return;
    }
    model.change(|state| state.boot = Boot::Ready);
    crate::app::mark_when_drawn("lanes-ready");
    warm_up(model).await;
    model.change(|state| state.activity = Activity::Idle);
    if model.look(|state| state.settings.go) == Some(true) {
        run_in_turn(model);
    }
    watch_emitter(model).await;
}

async fn learn_lanes(model: Model) {
    loop {
        match api::lanes().await {
            Ok(lanes) => {
                model.change(|state| state.silent = None);
                model.set_lanes(lanes);
                return;
            }
            Err(error) => fall_silent(model, &error),
        }
        pause().await;
    }
}

fn fall_silent(model: Model, error: &api::ApiError) {
    let why = error.to_string();
    // The same sentence again is no news to whoever listens.
    if model.look(|state| state.silent.as_ref() != Some(&why)) == Some(true) {
        model.change(|state| state.silent = Some(why));
    }
}

async fn pause() {
    gloo_timers::future::TimeoutFuture::new(ASK_AGAIN_MS).await;
}

/// The first stream after a page has loaded can be hundreds of milliseconds late: one is
/// played and thrown away, and the page says so.
async fn warm_up(model: Model) {
    let Ok(clock) = api::sync(model.clock_step_us()).await else { return };
    model.change(|state| state.clock = Some(clock));
    let (Ok(plan), Some(lane)) = (model.plan(), model.lane(DIRECT)) else { return };
    let Ok(script) = Script::paced(WARM_UP_FRAMES, WARM_UP_INTERVAL, MIN_FRAME_BYTES) else {
        return;
    };
    let direct = plan.cells.iter().find(|cell| cell.is_direct());
    let Some(cell) = direct else { return };
    let Some(origin) = model.origin_of(cell) else { return };
    let cell = Cell { script, ..cell.clone() };
    // Whatever came of it, it is no run.
    let _ = run::play(model, &lane, &origin, &cell, Slot { round: 0, position: 0 }, clock).await;
    lane.with_raw(|raw| raw.text.clear());
    lane.bump();
}

async fn watch_emitter(model: Model) {
    loop {
        pause().await;
        let Some((idle, silent)) =
            model.look(|state| (state.activity == Activity::Idle, state.silent.is_some()))
        else {
            return;
        };
        // Nothing is asked while a stream is measured.
        if !idle {
            continue;
        }
        match api::round_trip().await {
            Ok(_) if silent => back_again(model).await,
            Ok(_) => {}
            Err(error) => fall_silent(model, &error),
        }
    }
}

/// The emitter answers again. If it is another process, its lanes are other lanes.
async fn back_again(model: Model) {
    let Ok(lanes) = api::lanes().await else { return };
    let same = model
        .look(|state| state.lanes.as_ref().is_some_and(|before| before.instance == lanes.instance));
    if same == Some(false) {
        model.set_lanes(lanes);
        model.reset();
        if let Err(why) = model.plan() {
            model.change(|state| state.boot = Boot::BadSettings(why));
        }
    }
    model.change(|state| state.silent = None);
}

/// Ends what runs, at the next look of its stream.
pub fn stop(model: Model) {
    if model.look(State::is_running) == Some(true) {
        model.set_stopping(true);
    }
}

/// Runs one lane, by each reader in turn. `direct` goes first when it has not run yet: without
/// it there is nothing to hold the lane against.
pub fn run_lane(model: Model, endpoint: String) {
    start(
        model,
        Sight::InTurn,
        Box::pin(async move {
            let plan = model.plan().map_err(Halt::Refused)?;
            let round = last_round(model, &plan);
            let first = (round.is_none() && endpoint != DIRECT).then_some(DIRECT);
            let cells: Vec<Cell> = first
                .into_iter()
                .chain([endpoint.as_str()])
                .flat_map(|name| plan.cells.iter().filter(move |cell| cell.endpoint == name))
                .cloned()
                .collect();
            let round = match round {
                Some(round) if endpoint == DIRECT => round + 1,
                Some(round) => round,
                None => 0,
            };
            let total = cells.len() as u32;
            for (index, cell) in cells.iter().enumerate() {
                let slot = Slot { round, position: next_position(model) };
                one(model, &plan, cell, slot, (index as u32, total)).await?;
            }
            Ok(())
        }),
    );
}

/// Runs every round of the plan, one stream at a time. The runs so far are forgotten: a plan
/// is measured whole.
pub fn run_in_turn(model: Model) {
    start(
        model,
        Sight::InTurn,
        Box::pin(async move {
            let plan = model.plan().map_err(Halt::Refused)?;
            model.reset();
            let total = plan.run_count() as u32;
            let mut position = 0;
            for round in 0..plan.rounds {
                for index in plan.round(round) {
                    let slot = Slot { round, position };
                    one(model, &plan, &plan.cells[index], slot, (position, total)).await?;
                    position += 1;
                }
            }
            Ok(())
        }),
    );
}

/// Runs all lanes at the same time, reader by reader. Recorded with that concurrency and never
/// pooled with the others.
pub fn run_at_once(model: Model) {
    start(
        model,
        Sight::AtOnce,
        Box::pin(async move {
            let plan = model.plan().map_err(Halt::Refused)?;
            let readers = model.look(|state| state.settings.readers.clone()).unwrap_or_default();
            let per_reader = plan.cells.len() / readers.len().max(1);
            let cells: Vec<Cell> = plan
                .cells
                .iter()
                .map(|cell| Cell { concurrency: per_reader as u32, ..cell.clone() })
                .collect();
            forget_at_once(model);
            for (index, reader) in readers.iter().enumerate() {
                model.change(|state| state.reader = *reader);
                let what = format!("all {per_reader} lanes at once, by {}", words::reader(*reader));
                model.progress(index as u32, readers.len() as u32, what);
                together(model, &cells, *reader, index as u32).await?;
            }
            Ok(())
        }),
    );
}

/// Runs a plan, unless one runs already, and leaves the page as it then is.
fn start(model: Model, sight: Sight, plan: Pin<Box<dyn Future<Output = Result<(), Halt>>>>) {
    if model.look(State::may_run) != Some(true) {
        return;
    }
    model.set_stopping(false);
    model.change(|state| {
        state.ending = None;
        state.sight = sight;
    });
    model.progress(0, 1, "synchronising clocks".into());
    browser::spawn(async move {
        let frames = draw_each_frame(model);
        let ending = match plan.await {
            Ok(()) => Ending::Finished,
            Err(Halt::Stopped) => Ending::Stopped,
            Err(Halt::Refused(why)) => Ending::Failed(why),
            Err(Halt::Gone(error)) => {
                fall_silent(model, &error);
                Ending::Failed(error.to_string())
            }
        };
        drop(frames);
        tell_finished(model, &ending).await;
        model.change(|state| {
            state.ending = Some(ending);
            state.activity = Activity::Idle;
        });
    });
}

/// Frames that may be drawn in one animation frame. Eight lanes of a chat's pace fit in whole;
/// faster ones take turns, so that drawing never keeps the page from reading.
const DRAWN_AT_ONCE: usize = 600;

/// At most one signal a lane and animation frame, whatever came in between.
fn draw_each_frame(model: Model) -> Frames {
    let mut next = 0;
    Frames::each(move || {
        let lanes = model.lane_models();
        let mut drawn = 0;
        for offset in 0..lanes.len() {
            let index = (next + offset) % lanes.len();
            let Some((planned, elapsed, frames)) = lanes[index].progress() else { continue };
            if drawn > 0 && drawn + frames > DRAWN_AT_ONCE {
                // The next animation frame goes on here.
                next = index;
                return;
            }
            drawn += frames;
            model.grow_domain(planned, elapsed);
            lanes[index].bump();
        }
    })
}

/// Plays one cell once and takes its run in.
async fn one(
    model: Model,
    plan: &Plan,
    cell: &Cell,
    slot: Slot,
    (done, total): (u32, u32),
) -> Result<(), Halt> {
    if model.stopped() {
        return Err(Halt::Stopped);
    }
    model.progress(done, total, format!("{} by {}", cell.endpoint, words::reader(cell.reader)));
    let clock = api::sync(model.clock_step_us()).await?;
    model.change(|state| {
        state.clock = Some(clock);
        state.reader = cell.reader;
    });
    let (Some(lane), Some(origin)) = (model.lane(&cell.endpoint), model.origin_of(cell)) else {
        return Err(Halt::Refused(format!("{} is not running", cell.endpoint)));
    };
    let record = run::play(model, &lane, &origin, cell, slot, clock).await?;
    let record = post(model, record).await?;
    model.add(&plan.cells, vec![record]);
    model.progress(done + 1, total, String::new());
    Ok(())
}

/// Plays all cells of a reader at the same time.
async fn together(model: Model, cells: &[Cell], reader: Reader, round: u32) -> Result<(), Halt> {
    let clock = api::sync(model.clock_step_us()).await?;
    model.change(|state| state.clock = Some(clock));
    let cells_of: Vec<Cell> = cells.iter().filter(|cell| cell.reader == reader).cloned().collect();
    let lanes: Vec<(Cell, LaneModel, String)> = cells_of
        .into_iter()
        .filter_map(|cell| {
            let (lane, origin) = (model.lane(&cell.endpoint)?, model.origin_of(&cell)?);
            Some((cell, lane, origin))
        })
        .collect();
    let results: Rc<RefCell<Vec<Result<RunRecord, Halt>>>> = Rc::default();
    let left = Rc::new(Flag::new(lanes.len()));
    let all = Once::<()>::default();
    if lanes.is_empty() {
        return Ok(());
    }
    for (index, (cell, lane, origin)) in lanes.into_iter().enumerate() {
        let (results, left, all) = (results.clone(), left.clone(), all.clone());
        browser::spawn(async move {
            let slot = Slot { round, position: index as u32 };
            let result = run::play(model, &lane, &origin, &cell, slot, clock).await;
            results.borrow_mut().push(result);
            left.set(left.get() - 1);
            if left.get() == 0 {
                all.set(());
            }
        });
    }
    all.wait().await;
    let mut records = Vec::new();
    for result in results.take() {
        records.push(result?);
    }
    let mut posted = Vec::new();
    for record in records {
        posted.push(post(model, record).await?);
    }
    model.add(cells, posted);
    Ok(())
}

/// Posts a run, if anyone waits for it, and gives it back.
async fn post(model: Model, record: RunRecord) -> Result<RunRecord, Halt> {
    let session = model.look(|state| state.settings.session.clone()).flatten();
    let Some(session) = session else { return Ok(record) };
    let run = RunPost {
        cell: record.cell,
        round: record.round,
        position: record.position,
        browser: model.browser(),
        arrivals: record.arrivals,
    };
    api::post_run(&session, &run).await?;
    Ok(RunRecord { cell: run.cell, arrivals: run.arrivals, ..record })
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

fn forget_at_once(model: Model) {
    let at_once = model.look(|state| {
        let rows = state.rows.iter().filter(|row| row.sight() == Sight::AtOnce);
        rows.map(|row| row.result.id.clone()).collect::<Vec<String>>()
    });
    let at_once = at_once.unwrap_or_default();
    model.with_records(|records| records.retain(|run| !at_once.contains(&run.cell)));
    model.change(|state| state.rows.retain(|row| row.sight() == Sight::InTurn));
}
