//! One run: call, read to the end, and fetch the other sides of the same stream.

use std::rc::Rc;

use measure::arrivals::{End, Reader};
use measure::clock::ClockSync;
use measure::{Arrivals, Cell, Ledger, RunId, Script, Span, Stamp};

use crate::api::{self, ApiError};
use crate::browser;
use crate::guard::Repeat;
use crate::model::{LaneModel, Model};
use crate::once::Once;
use crate::readers::open::Open;
use crate::readers::worker::{Shift, Worker};
use crate::readers::{self, Log, Means, SharedLog};
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
/// How often the last text's paint is looked for once the stream has ended, and the pause
/// between: it comes with the next animation frame, a sixtieth of a second later, or on a busy
/// machine with one of the next.
const PAINT_TRIES: u32 = 10;
const PAINT_PAUSE_MS: u32 = 20;

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

/// The clocks of one step, synchronised right before it.
#[derive(Clone)]
pub struct Clocks {
    /// The page's own.
    pub page: ClockSync,
    /// The worker with its own clock, where one reads.
    pub worker: Option<(Rc<Worker>, ClockSync)>,
}

/// A stream that was read to its end.
pub struct Read {
    /// What came, on the shared clock.
    pub arrivals: Arrivals,
    url: String,
    worker: Option<Rc<Worker>>,
}

/// The address of one stream: no two runs share one.
pub fn stream_url(origin: &str, run: RunId, script: &Script) -> String {
    let (run, script) = (run.to_string(), script.to_query().unwrap_or_default());
    let mut pairs = vec![("run", run.as_str())];
    pairs.extend(script.iter().map(|(key, value)| (*key, value.as_str())));
    format!("{origin}/stream?{}", browser::encode_query(&pairs))
}

/// Reads one stream of a browser's cell in its lane.
///
/// # Errors
/// When it was stopped, or the browser refuses.
pub async fn read(
    model: Model,
    lane: &LaneModel,
    origin: &str,
    cell: &Cell,
    clocks: &Clocks,
) -> Result<Read, Halt> {
    let run = browser::run_id().map_err(Halt::Refused)?;
    let url = stream_url(origin, run, &cell.script);
    let worker = clocks.worker.as_ref().filter(|_| cell.reader == Reader::FetchWorker);
    let means = match (cell.reader, worker) {
        (Reader::Eventsource, _) => Means::EventSource,
        (Reader::FetchWorker, Some((worker, clock))) => {
            Means::FetchWorker(worker.clone(), Shift::between(*clock, clocks.page))
        }
        _ => Means::Fetch,
    };
    let (done, watch) = (Once::<()>::default(), PageWatch::start());
    let open = Rc::new(Open::call(origin));
    let log = Log::begin(run, cell.reader, browser::now_us());
    let stream =
        readers::open(means, &url, run, cell.page_work_us, &log, &done).map_err(Halt::Refused)?;
    lane.with_raw(|raw| raw.live = Some((log.clone(), cell.reader, cell.script.clone())));
    lane.bump();
    let look = look_for_silence(model, &log, &open, &done);
    done.wait().await;
    drop((stream, look));
    let mut page = watch.finish(log.borrow().reconnects);
    page.worker_longest_task_us = log.borrow().worker_longest_us;
    page.streams = open.streams();
    drop(open);
    await_paint(model, &log).await;
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
    if model.browser().name == "webkit" {
        join_close(&mut arrivals);
    }
    arrivals.page = Some(page);
    if let (End::Failed { what }, None) = (&mut arrivals.end, arrivals.status) {
        what.push_str(perhaps(&browser::origin(), origin));
    }
    let of_worker = worker.map(|(_, clock)| *clock);
    Ok(Read {
        arrivals: shared(arrivals, clocks.page, of_worker),
        url,
        worker: worker.map(|(worker, _)| worker.clone()),
    })
}

/// Why a browser may have made no request at all: it tells a page nothing of it.
pub fn perhaps(page: &str, lane: &str) -> &'static str {
    let tls = |origin: &str| origin.starts_with("https");
    match (tls(page), tls(lane)) {
        (true, false) => ", as where a page over HTTPS may not ask over HTTP",
        (_, true) => ", as where the browser does not trust the certificate (docs/tls.md)",
        _ => "",
    }
}

fn look_for_silence(
    model: Model,
    log: &SharedLog,
    open: &Rc<Open>,
    done: &Once<()>,
) -> Option<Repeat> {
    let (log, open, done) = (log.clone(), open.clone(), done.clone());
    Repeat::every(LOOK_MS, move || {
        let now = browser::now_us();
        let (heard, waits) = {
            let log = log.borrow();
            (log.heard_us, log.arrivals.status.is_none() && log.arrivals.deliveries.is_empty())
        };
        let since = if waits { open.silent_since(heard, now) } else { heard };
        let silent = now - since > SILENCE_US;
        if silent {
            log.borrow_mut().finish(End::TimedOut { limit_us: SILENCE_US }, now);
        }
        if silent || model.stopped() {
            done.set(());
        }
    })
}

/// Waits for the frame that paints the last text.
async fn await_paint(model: Model, log: &SharedLog) {
    for _ in 0..PAINT_TRIES {
        // A hidden tab has no frames.
        if !log.borrow().awaits_paint() || browser::is_hidden() || model.stopped() {
            return;
        }
        gloo_timers::future::TimeoutFuture::new(PAINT_PAUSE_MS).await;
    }
}

/// WebKit hands one network read over in pieces when it crosses certain sizes, to an
/// `EventSource` in tasks of their own: deliveries less than [`readers::tasks::TOGETHER_US`] apart
/// are one there.
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
                before.painted = before.painted.or(delivery.painted);
                before.frames.extend(delivery.frames);
            }
            None => joined.push(delivery),
        }
    }
    arrivals.deliveries = joined;
}

/// Converts every stamp from the page's clock to the shared one, and says which clocks took them.
/// A worker's stamps were brought to the page's clock by the difference of the two offsets: what
/// they are converted by is the worker's own synchronisation.
pub fn shared(mut arrivals: Arrivals, page: ClockSync, worker: Option<ClockSync>) -> Arrivals {
    let convert = |stamp: &mut Stamp| *stamp = page.to_shared(stamp.0);
    convert(&mut arrivals.call);
    convert(&mut arrivals.ended);
    arrivals.head.as_mut().map(convert);
    for delivery in &mut arrivals.deliveries {
        convert(&mut delivery.at);
        delivery.paged.as_mut().map(convert);
        delivery.painted.as_mut().map(convert);
    }
    arrivals.clock = Some(worker.unwrap_or(page));
    arrivals.page_clock = worker.map(|_| page);
    arrivals
}

/// The ledger's and the tap's side of a run, where there are such.
pub type OtherSides = (Option<Ledger>, Option<Arrivals>);

impl Read {
    /// What the browser and the emitter know of the stream once it has ended.
    ///
    /// # Errors
    /// When it was stopped, or the emitter is gone.
    pub async fn other_sides(&mut self, model: Model) -> Result<OtherSides, Halt> {
        let run = self.arrivals.run;
        let ledger = ledger(model, run).await?;
        let came = self.arrivals.frames().filter(|(_, frame)| frame.seq.is_some()).count();
        let mut wire = None;
        for _ in 0..WIRE_TRIES {
            wire = api::wire(run, &self.url).await?;
            // The tap saw at least what reached the page; less means that it is not done writing.
            let seen = wire.as_ref().map(|wire: &Arrivals| wire.frames().count());
            if seen.is_none_or(|seen| seen >= came) {
                break;
            }
            pause(model, LEDGER_PAUSE_MS).await?;
        }
        // Last, because the browser notes a request only when its stream has ended.
        let protocol = match &self.worker {
            Some(worker) => worker.protocol(&self.url).await,
            None => browser::protocol_of(&self.url),
        };
        if let Some(page) = &mut self.arrivals.page {
            page.protocol = protocol;
        }
        Ok((ledger, wire))
    }
}

/// The emitter's side of a run that has ended for its reader.
///
/// # Errors
/// When it was stopped, or the emitter is gone.
pub async fn ledger(model: Model, run: RunId) -> Result<Option<Ledger>, Halt> {
    let mut ledger = None;
    for _ in 0..LEDGER_TRIES {
        ledger = api::ledger(run).await?;
        let ended = |ledger: &Ledger| ledger.done.is_some() || ledger.broken.is_some();
        if ledger.as_ref().is_none_or(ended) {
            break;
        }
        pause(model, LEDGER_PAUSE_MS).await?;
    }
    Ok(ledger)
}

/// Waits a little, unless all is to stop.
///
/// # Errors
/// When it was stopped.
pub async fn pause(model: Model, ms: u32) -> Result<(), Halt> {
    gloo_timers::future::TimeoutFuture::new(ms).await;
    if model.stopped() { Err(Halt::Stopped) } else { Ok(()) }
}

/// Waits for something that cannot be ended itself, or for the stop button.
///
/// # Errors
/// When it was stopped.
pub async fn until_stopped<T: 'static>(
    model: Model,
    wanted: impl Future<Output = T> + 'static,
) -> Result<T, Halt> {
    let came = Once::<Option<T>>::default();
    let (told, stopped) = (came.clone(), came.clone());
    browser::spawn(async move { told.set(Some(wanted.await)) });
    let look = Repeat::every(LOOK_MS, move || {
        if model.stopped() {
            stopped.set(None);
        }
    });
    let value = came.wait().await;
    drop(look);
    value.ok_or(Halt::Stopped)
}
