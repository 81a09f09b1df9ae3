//! Plans: one lane, all in turn, all at once. One path for a button, a key and a driver.

use std::cell::{Cell as Flag, RefCell};
use std::rc::Rc;

use leptos::prelude::*;
use measure::arrivals::Reader;
use measure::cell::DIRECT;
use measure::page::{Finished, RunPost};
use measure::plan::Plan;
use measure::results::RunRecord;
use measure::{Cell, Script, Span};
use wasm_bindgen_futures::spawn_local;

use crate::api;
use crate::browser;
use crate::guard::Frames;
use crate::model::{Activity, Boot, Ending, LaneModel, Model, Progress, Sight};
use crate::once::Once;
use crate::run::{self, Halt, Slot};
use crate::words;

/// The warm-up: a few frames are enough to load every code path of browser and page.
const WARM_UP_FRAMES: u32 = 4;
const WARM_UP_INTERVAL: Span = Span::millis(10);
/// How often a silent emitter is asked again, and an answering one whether it still is there.
const ASK_AGAIN_MS: u32 = 1_000;

/// Asks the emitter what there is, warms up, starts if the address says so, and from then on
/// watches whether the emitter is still there.
pub async fn boot(model: Model) {
    if model.boot.try_get_untracked() != Some(Boot::Loading) {
        return;
    }
    learn_lanes(model).await;
    match model.plan() {
        Ok(_) => model.boot.try_set(Boot::Ready),
        Err(why) => {
            model.boot.try_set(Boot::BadSettings(why));
            return;
        }
    };
    crate::app::mark_when_drawn("lanes-ready");
    warm_up(model).await;
    model.activity.try_set(Activity::Idle);
    if model.settings.try_get_untracked().is_some_and(|settings| settings.go) {
        run_in_turn(model);
    }
    watch_emitter(model).await;
}

async fn learn_lanes(model: Model) {
    loop {
        match api::lanes().await {
            Ok(lanes) => {
                model.silent.try_set(None);
                model.set_lanes(lanes);
                return;
            }
            Err(error) => {
                model.silent.try_set(Some(error.to_string()));
            }
        }
        gloo_timers::future::TimeoutFuture::new(ASK_AGAIN_MS).await;
    }
}

/// The first stream after a page has loaded can be hundreds of milliseconds late: one is
/// played and thrown away, and the page says so.
async fn warm_up(model: Model) {
    let Ok(clock) = api::sync().await else { return };
    model.clock.try_set(Some(clock));
    let readers = model.settings.try_get_untracked().map(|s| s.readers).unwrap_or_default();
    let (Ok(plan), Some(lane)) = (model.plan(), model.lane(DIRECT)) else { return };
    let Ok(script) = Script::paced(WARM_UP_FRAMES, WARM_UP_INTERVAL, 60) else { return };
    let direct = plan.cells.iter().find(|cell| cell.is_direct() && readers.contains(&cell.reader));
    let (Some(cell), Some(origin)) = (direct, origin_of(model, DIRECT)) else { return };
    let cell = Cell { script, ..cell.clone() };
    // Whatever came of it, it is no run.
    let _ = run::play(model, lane, &origin, &cell, Slot { round: 0, position: 0 }, clock).await;
    lane.with_raw(|raw| raw.text.clear());
    lane.bump();
}

async fn watch_emitter(model: Model) {
    loop {
        gloo_timers::future::TimeoutFuture::new(ASK_AGAIN_MS).await;
        let Some(activity) = model.activity.try_get_untracked() else { return };
        // Nothing is asked while a stream is measured.
        if activity != Activity::Idle {
            continue;
        }
        let was_silent = model.silent.try_get_untracked().flatten().is_some();
        match api::round_trip().await {
            Ok(_) if was_silent => back_again(model).await,
            Ok(_) => {}
            Err(error) => {
                model.silent.try_set(Some(error.to_string()));
            }
        }
    }
}

/// The emitter answers again. If it is another process, its lanes are other lanes.
async fn back_again(model: Model) {
    let Ok(lanes) = api::lanes().await else { return };
    let before = model.lanes.try_get_untracked().flatten();
    if before.is_none_or(|before| before.instance != lanes.instance) {
        model.set_lanes(lanes);
        model.reset();
        if let Err(why) = model.plan() {
            model.boot.try_set(Boot::BadSettings(why));
        }
    }
    model.silent.try_set(None);
}

/// Where a lane's tap listens.
fn origin_of(model: Model, endpoint: &str) -> Option<String> {
    model
        .lanes
        .try_with_untracked(|lanes| {
            let lanes = lanes.as_ref()?;
            lanes.lanes.iter().find(|lane| lane.endpoint.name == endpoint)?.origin.clone()
        })
        .flatten()
}

/// Ends what runs, at the next look of its stream.
pub fn stop(model: Model) {
    if model.is_running()
        && let Some(stopping) = model.stopping.try_get_value()
    {
        stopping.set(true);
    }
}

/// Runs one lane, by each reader in turn. `direct` goes first when it has not run yet: without
/// it there is nothing to hold the lane against.
pub fn run_lane(model: Model, endpoint: String) {
    start(model, Sight::InTurn, async move || {
        let plan = model.plan().map_err(Halt::Refused)?;
        let round = last_round(model, &plan);
        let of = |name: &str| plan.cells.iter().filter(move |cell| cell.endpoint == name);
        let mut cells: Vec<Cell> = Vec::new();
        if round.is_none() && endpoint != DIRECT {
            cells.extend(of(DIRECT).cloned());
        }
        cells.extend(of(&endpoint).cloned());
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
    });
}

/// Runs every round of the plan, one stream at a time. The runs so far are forgotten: a plan
/// is measured whole.
pub fn run_in_turn(model: Model) {
    start(model, Sight::InTurn, async move || {
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
    });
}

/// Runs all lanes at the same time, reader by reader. Recorded with that concurrency and never
/// pooled with the others.
pub fn run_at_once(model: Model) {
    start(model, Sight::AtOnce, async move || {
        let plan = model.plan().map_err(Halt::Refused)?;
        let readers = model.settings.try_get_untracked().map(|s| s.readers).unwrap_or_default();
        let per_reader = plan.cells.len() / readers.len().max(1);
        let cells: Vec<Cell> = plan
            .cells
            .iter()
            .map(|cell| Cell { concurrency: per_reader as u32, ..cell.clone() })
            .collect();
        forget_at_once(model);
        for (index, reader) in readers.iter().enumerate() {
            model.reader.try_set(*reader);
            progress(model, index as u32, readers.len() as u32, &format!(
                "all {per_reader} lanes at once, by {}",
                words::reader(*reader)
            ));
            together(model, &cells, *reader, index as u32).await?;
        }
        Ok(())
    });
}

/// Runs a plan, unless one runs already, and leaves the page as it then is.
fn start(
    model: Model,
    sight: Sight,
    plan: impl AsyncFnOnce() -> Result<(), Halt> + 'static,
) {
    if !untrack(|| model.may_run()) {
        return;
    }
    if let Some(stopping) = model.stopping.try_get_value() {
        stopping.set(false);
    }
    model.ending.try_set(None);
    model.sight.try_set(sight);
    progress(model, 0, 1, "synchronising clocks");
    spawn_local(async move {
        let frames = draw_each_frame(model);
        let ending = match plan().await {
            Ok(()) => Ending::Finished,
            Err(Halt::Stopped) => Ending::Stopped,
            Err(Halt::Refused(why)) => Ending::Failed(why),
            Err(Halt::Gone(error)) => {
                model.silent.try_set(Some(error.to_string()));
                Ending::Failed(error.to_string())
            }
        };
        drop(frames);
        tell_finished(model, &ending).await;
        model.ending.try_set(Some(ending));
        model.activity.try_set(Activity::Idle);
    });
}

/// One signal a lane and frame, whatever came in between.
fn draw_each_frame(model: Model) -> Frames {
    Frames::each(move || {
        let lanes = model.lane_models.try_get_untracked().unwrap_or_default();
        for lane in lanes.values() {
            let running = lane
                .with_raw(|raw| {
                    let (log, script) = raw.live.as_ref()?;
                    let now = measure::Stamp(browser::now_us());
                    Some((script.duration(), now - log.borrow().arrivals.call))
                })
                .flatten();
            if let Some((planned, elapsed)) = running {
                model.grow_domain(planned, elapsed);
                lane.bump();
            }
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
    progress(model, done, total, &format!("{} by {}", cell.endpoint, words::reader(cell.reader)));
    model.reader.try_set(cell.reader);
    let clock = api::sync().await?;
    model.clock.try_set(Some(clock));
    let (Some(lane), Some(origin)) = (model.lane(&cell.endpoint), origin_of(model, &cell.endpoint))
    else {
        return Err(Halt::Refused(format!("{} is not running", cell.endpoint)));
    };
    let record = run::play(model, lane, &origin, cell, slot, clock).await?;
    post(model, &record).await?;
    model.add(&plan.cells, vec![record]);
    progress(model, done + 1, total, "");
    Ok(())
}

/// Plays all cells of a reader at the same time.
async fn together(model: Model, cells: &[Cell], reader: Reader, round: u32) -> Result<(), Halt> {
    let clock = api::sync().await?;
    model.clock.try_set(Some(clock));
    let cells_of: Vec<Cell> = cells.iter().filter(|cell| cell.reader == reader).cloned().collect();
    let lanes: Vec<(Cell, LaneModel, String)> = cells_of
        .into_iter()
        .filter_map(|cell| {
            let (lane, origin) = (model.lane(&cell.endpoint)?, origin_of(model, &cell.endpoint)?);
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
        spawn_local(async move {
            let slot = Slot { round, position: index as u32 };
            let result = run::play(model, lane, &origin, &cell, slot, clock).await;
            results.borrow_mut().push(result);
            left.set(left.get() - 1);
            if left.get() == 0 {
                all.set(());
            }
        });
    }
    all.wait().await;
    let records = results.take().into_iter().collect::<Result<Vec<_>, Halt>>()?;
    for record in &records {
        post(model, record).await?;
    }
    model.add(cells, records);
    Ok(())
}

fn progress(model: Model, done: u32, total: u32, what: &str) {
    model.activity.try_set(Activity::Running(Progress { done, total, what: what.into() }));
}

async fn post(model: Model, record: &RunRecord) -> Result<(), Halt> {
    let session = model.settings.try_get_untracked().and_then(|settings| settings.session);
    let Some(session) = session else { return Ok(()) };
    let run = RunPost {
        cell: record.cell.clone(),
        round: record.round,
        position: record.position,
        browser: model.browser.get_value(),
        arrivals: record.arrivals.clone(),
    };
    Ok(api::post_run(&session, &run).await?)
}

async fn tell_finished(model: Model, ending: &Ending) {
    let session = model.settings.try_get_untracked().and_then(|settings| settings.session);
    let Some(session) = session else { return };
    let runs = model.records.try_get_value().map_or(0, |records| records.borrow().len() as u32);
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
    let records = model.records.try_get_value()?;
    let records = records.borrow();
    records.iter().filter(|run| direct.contains(&run.cell)).map(|run| run.round).max()
}

fn next_position(model: Model) -> u32 {
    model.records.try_get_value().map_or(0, |records| {
        records.borrow().iter().map(|run| run.position + 1).max().unwrap_or(0)
    })
}

fn forget_at_once(model: Model) {
    if let Some(records) = model.records.try_get_value() {
        // A cell of several lanes at once says so at the end of its id.
        let ids: Vec<String> = model.rows.try_with_untracked(|rows| {
            rows.iter()
                .filter(|row| row.result.cell.concurrency > 1)
                .map(|row| row.result.id.clone())
                .collect()
        }).unwrap_or_default();
        records.borrow_mut().retain(|run| !ids.contains(&run.cell));
    }
    model.rows.try_update(|rows| rows.retain(|row| row.result.cell.concurrency == 1));
}
