//! One step of a plan: cells that run at the same time, or one that the native reader reads.

use std::cell::{Cell as Flag, RefCell};
use std::rc::Rc;

use measure::Cell;
use measure::arrivals::{Arrivals, End, Reader};
use measure::clock::ClockSync;
use measure::page::RunPost;
use measure::results::RunRecord;

use crate::api::{self, ApiError, CLOCK_TRIPS};
use crate::browser;
use crate::model::{LaneModel, Model};
use crate::once::Once;
use crate::readers::worker;
use crate::run::{self, Clocks, Halt, OtherSides, Read};

/// How often a native reader that is busy for somebody else is asked again, and the pause
/// between: together a minute, which is longer than any preset's stream.
const NATIVE_TRIES: u32 = 120;
const NATIVE_PAUSE_MS: u32 = 500;

/// Where a step stands in its plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The round, from 0.
    pub(super) round: u32,
    /// Place of its first run in the whole order of runs, from 0.
    pub(super) position: u32,
}

/// Synchronises the clocks that a step needs.
///
/// # Errors
/// When the emitter is gone, or there is no worker.
pub(super) async fn clocks(model: Model, cells: &[&Cell]) -> Result<Clocks, Halt> {
    let page = api::sync(model.clock_step_us()).await?;
    let mut worker = None;
    if cells.iter().any(|cell| cell.reader == Reader::FetchWorker) {
        let reads = worker::of_page().map_err(Halt::Refused)?;
        let clock = reads.sync(&api::clock_url(), CLOCK_TRIPS).await.map_err(|why| {
            Halt::Refused(["the worker's clock could not be synchronised: ", &why].concat())
        })?;
        worker = Some((reads, clock));
    }
    // After the round trips, so that there is room for the streams.
    browser::clear_requests();
    Ok(Clocks { page, worker })
}

/// Plays a step: its runs go into the model and to whoever waits for them.
///
/// # Errors
/// When it was stopped, or the emitter is gone; what was read before is kept.
pub(super) async fn play(
    model: Model,
    all: &[Cell],
    cells: &[&Cell],
    slot: Slot,
) -> Result<(), Halt> {
    let clocks = clocks(model, cells).await?;
    model.change(|state| state.clock = Some(clocks.page));
    let (records, halt) = match cells {
        [cell] if cell.reader == Reader::Recv => confirm(model, cell, slot, clocks.page).await?,
        cells => together(model, cells, slot, &clocks).await?,
    };
    model.add(all, records.clone());
    for record in records {
        post(model, record).await?;
    }
    halt.map_or(Ok(()), Err)
}

/// What became of one stream of a step.
type WasRead = Result<Read, Halt>;

/// What a step gave, and why it ended early.
type Given = (Vec<RunRecord>, Option<Halt>);

/// Reads all cells at the same time, and asks for the other sides only when all have ended: a
/// question while a stream runs would disturb it.
async fn together(
    model: Model,
    cells: &[&Cell],
    slot: Slot,
    clocks: &Clocks,
) -> Result<Given, Halt> {
    let mut calls: Vec<(Cell, LaneModel, String)> = Vec::new();
    for cell in cells {
        let (Some(lane), Some(origin)) = (model.lane_of(cell), model.origin_of(cell)) else {
            return Err(Halt::Refused(format!("{} is not running", cell.endpoint)));
        };
        calls.push(((*cell).clone(), lane, origin));
    }
    let results: Rc<RefCell<Vec<(usize, WasRead)>>> = Rc::default();
    let (left, all) = (Rc::new(Flag::new(calls.len())), Once::<()>::default());
    for (index, (cell, lane, origin)) in calls.into_iter().enumerate() {
        let (results, left, all) = (results.clone(), left.clone(), all.clone());
        let clocks = clocks.clone();
        browser::spawn(async move {
            let result = run::read(model, &lane, &origin, &cell, &clocks).await;
            results.borrow_mut().push((index, result));
            left.set(left.get() - 1);
            if left.get() == 0 {
                all.set(());
            }
        });
    }
    all.wait().await;
    let (mut records, mut halt) = (Vec::new(), None);
    for (index, result) in results.take() {
        let mut read = result?;
        let sides = match &halt {
            None => read.other_sides(model).await,
            Some(_) => Ok((None, None)),
        };
        let sides = sides.or_else(|why| match why {
            // A stream that broke off because the emitter is gone is a run all the same.
            Halt::Gone(error) => {
                let what = error.to_string().trim_end_matches('.').into();
                read.arrivals.end = End::Failed { what };
                halt = Some(Halt::Gone(error));
                Ok((None, None))
            }
            other => Err(other),
        })?;
        let slot = Slot { position: slot.position + index as u32, ..slot };
        records.push(record(cells[index], slot, read.arrivals, sides));
    }
    Ok((records, halt))
}

/// Has the native reader read the cell. An emitter that has none leaves it out.
async fn confirm(model: Model, cell: &Cell, slot: Slot, clock: ClockSync) -> Result<Given, Halt> {
    let run = browser::run_id().map_err(Halt::Refused)?;
    if cell.request.slow.is_some() {
        leave_out(model, "The native reader reads no slow client's stream for a page.");
        return Ok((Vec::new(), None));
    }
    let mut arrivals = Err(ApiError::Status(409));
    for _ in 0..NATIVE_TRIES {
        let cell = cell.clone();
        arrivals = run::until_stopped(model, async move { api::native(run, &cell).await }).await?;
        if arrivals != Err(ApiError::Status(409)) {
            break;
        }
        run::pause(model, NATIVE_PAUSE_MS).await?;
    }
    let arrivals = match arrivals {
        Ok(arrivals) => arrivals,
        Err(ApiError::Status(404)) => {
            leave_out(
                model,
                "This emitter has no native reader: no lane's path is confirmed without a browser.",
            );
            return Ok((Vec::new(), None));
        }
        Err(ApiError::Status(status)) => {
            let now = clock.to_shared(browser::now_us());
            let what = match status {
                409 => "the native reader was busy with somebody else's runs".into(),
                status => format!("the native reader was refused: {status}"),
            };
            let end = End::Failed { what };
            Arrivals { end, ended: now, ..Arrivals::begin(run, Reader::Recv, now) }
        }
        Err(gone) => return Err(gone.into()),
    };
    let ledger = run::ledger(model, run).await?;
    Ok((vec![record(cell, slot, arrivals, (ledger, None))], None))
}

fn leave_out(model: Model, why: &str) {
    model.change(|state| state.left_out = Some(why.into()));
}

fn record(cell: &Cell, slot: Slot, arrivals: Arrivals, sides: OtherSides) -> RunRecord {
    RunRecord {
        cell: cell.id(),
        round: slot.round,
        position: slot.position,
        ledger: sides.0,
        arrivals,
        wire: sides.1,
        wire_unknown: None,
        proxy: None,
    }
}

/// Posts a run, if anyone waits for it.
async fn post(model: Model, record: RunRecord) -> Result<(), Halt> {
    let session = model.look(|state| state.settings.session.clone()).flatten();
    let Some(session) = session else { return Ok(()) };
    let run = RunPost {
        cell: record.cell,
        round: record.round,
        position: record.position,
        browser: model.browser(),
        arrivals: record.arrivals,
    };
    Ok(api::post_run(&session, &run).await?)
}
