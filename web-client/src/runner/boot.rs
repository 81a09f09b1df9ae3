//! From an open page to one that may be run, and the watch over the emitter from then on.

use measure::arrivals::Reader;
use measure::script::MIN_FRAME_BYTES;
use measure::{Cell, Script, Span};

use super::{run_all, step};
use crate::model::{Activity, Boot, Model};
use crate::{api, run};

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
        run_all(model);
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

pub(super) fn fall_silent(model: Model, error: &api::ApiError) {
    let why = error.to_string();
    // The same sentence again is no news to whoever listens.
    if model.look(|state| state.silent.as_ref() != Some(&why)) == Some(true) {
        model.change(|state| state.silent = Some(why));
    }
}

async fn pause() {
    gloo_timers::future::TimeoutFuture::new(ASK_AGAIN_MS).await;
}

/// The first stream after a page has loaded can be hundreds of milliseconds late, and so can the
/// first of each kind of reader, for which a worker starts: one of each is played and thrown
/// away, and the page says so.
async fn warm_up(model: Model) {
    let Ok(plan) = model.plan() else { return };
    let Ok(script) = Script::paced(WARM_UP_FRAMES, WARM_UP_INTERVAL, MIN_FRAME_BYTES) else {
        return;
    };
    let mut warmed: Vec<Reader> = Vec::new();
    for cell in plan.cells.iter().filter(|cell| cell.is_direct() && cell.reader.in_browser()) {
        if warmed.contains(&cell.reader) {
            continue;
        }
        warmed.push(cell.reader);
        let (Some(lane), Some(origin)) = (model.lane_of(cell), model.origin_of(cell)) else {
            continue;
        };
        let cell = Cell { script: script.clone(), page_work_us: None, ..cell.clone() };
        // Whatever comes of it, it is no run: what goes wrong will go wrong in a run and be told.
        let Ok(clocks) = step::clocks(model, &[&cell]).await else { return };
        model.change(|state| state.clock = Some(clocks.page));
        if let Ok(mut read) = run::read(model, &lane, &origin, &cell, &clocks).await {
            let _ = read.other_sides(model).await;
        }
        lane.with_raw(|raw| raw.text.clear());
        lane.bump();
    }
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
