//! One run: synchronise, call, read to the end, and fetch the other sides of the same stream.

use measure::arrivals::{End, Reader};
use measure::clock::ClockSync;
use measure::results::RunRecord;
use measure::{Arrivals, Cell, Ledger, RunId, Script, Span, Stamp};

use crate::api::{self, ApiError};
use crate::browser;
use crate::guard::Repeat;
use crate::model::{LaneModel, Model};
use crate::once::Once;
use crate::readers::{self, Log};
use crate::watch::PageWatch;

/// A stream that says nothing for so long is given up. It is longer than any pause that the
/// scripts of the presets hold, and as long as people wait.
pub const SILENCE_US: i64 = 10_000_000;
/// How often silence is looked for, and the stop button obeyed.
const LOOK_MS: i32 = 50;
/// How often the emitter's ledger is asked for before it is taken as it stands, and the pause
/// between: the last write's line may be a moment behind the reader.
const LEDGER_TRIES: u32 = 20;
const LEDGER_PAUSE_MS: u32 = 50;
/// The same for the tap, which may have seen nothing at all.
const WIRE_TRIES: u32 = 6;

/// Why a run gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// Stopped by the button, or the page is gone.
    Stopped,
    /// The emitter is gone.
    Gone(ApiError),
    /// The browser refused.
    Refused(String),
}

impl From<ApiError> for Halt {
    fn from(error: ApiError) -> Halt {
        Halt::Gone(error)
    }
}

/// Where a run stands in its plan.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The round, from 0.
    pub round: u32,
    /// Place in the whole order of runs, from 0.
    pub position: u32,
}

/// The address of one stream: no two runs share one.
pub fn stream_url(origin: &str, run: RunId, script: &Script) -> String {
    let (run, script) = (run.to_string(), script.to_query().unwrap_or_default());
    let mut pairs = vec![("run", run.as_str())];
    pairs.extend(script.iter().map(|(key, value)| (*key, value.as_str())));
    format!("{origin}/stream?{}", browser::encode_query(&pairs))
}

/// Plays one run in a lane.
///
/// # Errors
/// When it was stopped, or the emitter is gone.
pub async fn play(
    model: Model,
    lane: &LaneModel,
    origin: &str,
    cell: &Cell,
    slot: Slot,
    clock: ClockSync,
) -> Result<RunRecord, Halt> {
    let run = browser::run_id().map_err(Halt::Refused)?;
    let url = stream_url(origin, run, &cell.script);
    let arrivals = read(model, lane, &url, run, cell, clock).await?;
    let (ledger, wire) = other_sides(model, run, &arrivals).await?;
    Ok(RunRecord {
        cell: cell.id(),
        round: slot.round,
        position: slot.position,
        ledger,
        arrivals,
        wire,
        proxy: None,
    })
}

async fn read(
    model: Model,
    lane: &LaneModel,
    url: &str,
    run: RunId,
    cell: &Cell,
    clock: ClockSync,
) -> Result<Arrivals, Halt> {
    let done = Once::<()>::default();
    let watch = PageWatch::start();
    let log = Log::begin(run, cell.reader, browser::now_us());
    lane.with_raw(|raw| raw.live = Some((log.clone(), cell.reader, cell.script.clone())));
    lane.bump();
    let stream = match readers::open(cell.reader, url, run, &log, &done) {
        Ok(stream) => stream,
        Err(why) => {
            lane.with_raw(|raw| raw.live = None);
            return Err(Halt::Refused(why));
        }
    };
    let look = {
        let (log, done) = (log.clone(), done.clone());
        Repeat::every(LOOK_MS, move || {
            let now = browser::now_us();
            let silent = now - log.borrow().heard_us > SILENCE_US;
            if silent {
                log.borrow_mut().finish(End::TimedOut { limit_us: SILENCE_US }, now);
            }
            if silent || model.stopped() {
                done.set(());
            }
        })
    };
    done.wait().await;
    drop((stream, look));
    let page = watch.finish(log.borrow().reconnects);
    let (mut arrivals, ended) = {
        let mut log = log.borrow_mut();
        lane.with_raw(|raw| {
            raw.live = None;
            raw.text.clone_from(&log.text);
        });
        let left = Arrivals::begin(run, cell.reader, Stamp(0));
        (std::mem::replace(&mut log.arrivals, left), log.ended)
    };
    lane.bump();
    if !ended || model.stopped() {
        return Err(Halt::Stopped);
    }
    if cell.reader == Reader::Fetch && model.browser().name == "webkit" {
        join_close(&mut arrivals);
    }
    arrivals.page = Some(page);
    Ok(shared(arrivals, clock))
}

/// WebKit hands one network read over in pieces when it crosses certain sizes: reads less than
/// [`readers::tasks::TOGETHER_US`] apart are one delivery there.
pub fn join_close(arrivals: &mut Arrivals) {
    let mut joined: Vec<measure::Delivery> = Vec::new();
    let mut last: Option<Stamp> = None;
    for delivery in arrivals.deliveries.drain(..) {
        let close = last.is_some_and(|last| delivery.at - last < Span(readers::tasks::TOGETHER_US));
        last = Some(delivery.at);
        match joined.last_mut().filter(|_| close) {
            Some(before) => {
                let add = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
                before.bytes = add(before.bytes, delivery.bytes);
                before.body_bytes = add(before.body_bytes, delivery.body_bytes);
                before.frames.extend(delivery.frames);
            }
            None => joined.push(delivery),
        }
    }
    arrivals.deliveries = joined;
}

/// Converts every stamp from the page's clock to the shared one.
pub fn shared(mut arrivals: Arrivals, clock: ClockSync) -> Arrivals {
    let convert = |stamp: &mut Stamp| *stamp = clock.to_shared(stamp.0);
    convert(&mut arrivals.call);
    convert(&mut arrivals.ended);
    arrivals.head.as_mut().map(convert);
    for delivery in &mut arrivals.deliveries {
        convert(&mut delivery.at);
    }
    arrivals.clock = Some(clock);
    arrivals
}

async fn other_sides(
    model: Model,
    run: RunId,
    arrivals: &Arrivals,
) -> Result<(Option<Ledger>, Option<Arrivals>), Halt> {
    let mut ledger = None;
    for _ in 0..LEDGER_TRIES {
        ledger = api::ledger(run).await?;
        if ledger
            .as_ref()
            .is_none_or(|ledger: &Ledger| ledger.done.is_some() || ledger.broken.is_some())
        {
            break;
        }
        pause(model).await?;
    }
    let came = arrivals.frames().filter(|(_, frame)| frame.seq.is_some()).count();
    let mut wire = None;
    for _ in 0..WIRE_TRIES {
        wire = api::wire(run).await?;
        // The tap saw at least what reached the page; less means that it is not done writing.
        let seen = wire.as_ref().map(|wire: &Arrivals| wire.frames().count());
        if seen.is_none_or(|seen| seen >= came) {
            break;
        }
        pause(model).await?;
    }
    Ok((ledger, wire))
}

async fn pause(model: Model) -> Result<(), Halt> {
    gloo_timers::future::TimeoutFuture::new(LEDGER_PAUSE_MS).await;
    if model.stopped() { Err(Halt::Stopped) } else { Ok(()) }
}
