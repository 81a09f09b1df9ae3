//! The page's state. One signal holds what is drawn and changes between runs; a tick a lane
//! says that there is something new to draw; raw samples stay in plain vectors.
//!
//! One signal, and not one a field: what reads it is a few dozen short texts, and every signal
//! type of its own costs the page some kilobytes to download.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use leptos::prelude::*;
use measure::arrivals::Reader;
use measure::clock::ClockSync;
use measure::guards::Guards;
use measure::page::{Lanes, Settings};
use measure::plan::Plan;
use measure::results::{self, Browser, CellResult, RunRecord};
use measure::{Cell as RunCell, Script, Span, Stamp};

use crate::browser;
use crate::geometry::{self, Picture};
use crate::readers::SharedLog;
use crate::split::{self, Split};

/// Whether the page has what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boot {
    /// Asking the emitter what there is.
    Loading,
    /// The address asks for what cannot be done.
    BadSettings(String),
    /// The lanes are there.
    Ready,
}

/// What the page is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// The warm-up stream, before anything may be run.
    WarmingUp,
    /// Nothing.
    Idle,
    /// Running.
    Running(Progress),
}

/// How far a plan has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Runs that are over.
    pub done: u32,
    /// Runs in all.
    pub total: u32,
    /// What runs now.
    pub what: String,
}

/// How the last plan ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Whole.
    Finished,
    /// By the stop button.
    Stopped,
    /// By an error.
    Failed(String),
}

/// Which runs are looked at: figures of different concurrency are never pooled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sight {
    /// One stream at a time.
    InTurn,
    /// All lanes at once.
    AtOnce,
}

/// A row with the split of its median run.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The figures, by the same code as the command's.
    pub result: CellResult,
    /// The time to the first token by who had it.
    pub split: Option<Split>,
}

impl Row {
    /// Under which sight it belongs.
    pub fn sight(&self) -> Sight {
        if self.result.cell.concurrency > 1 { Sight::AtOnce } else { Sight::InTurn }
    }

    /// Whether any run stands behind it, excluded ones included.
    pub fn has_run(&self) -> bool {
        self.result.summary.runs > 0 || !self.result.summary.excluded.is_empty()
    }
}

/// Everything that is drawn, but for the streams themselves.
#[derive(Clone, Debug)]
pub struct State {
    /// Whether the page has what it needs.
    pub boot: Boot,
    /// Why the emitter gives no answer; absent while it does.
    pub silent: Option<String>,
    /// What the address asks for.
    pub settings: Settings,
    /// What stands behind the page.
    pub lanes: Option<Lanes>,
    /// The last synchronisation of the clocks.
    pub clock: Option<ClockSync>,
    /// What the page is doing.
    pub activity: Activity,
    /// How the last plan ended.
    pub ending: Option<Ending>,
    /// Which runs are looked at.
    pub sight: Sight,
    /// Whose figures are looked at, where there are two readers.
    pub reader: Reader,
    /// The rows, of all runs so far.
    pub rows: Vec<Row>,
    /// The time that the charts span.
    pub domain: Span,
}

impl State {
    /// Whether a plan may be started.
    pub fn may_run(&self) -> bool {
        self.boot == Boot::Ready && self.silent.is_none() && self.activity == Activity::Idle
    }

    /// Whether a plan is running.
    pub fn is_running(&self) -> bool {
        matches!(self.activity, Activity::Running(_))
    }

    /// The rows that are looked at.
    pub fn shown(&self) -> impl Iterator<Item = &Row> {
        self.rows
            .iter()
            .filter(|row| row.sight() == self.sight && row.result.cell.reader == self.reader)
    }

    /// The row of a lane that is looked at.
    pub fn row(&self, endpoint: &str) -> Option<&Row> {
        self.shown().find(|row| row.result.cell.endpoint == endpoint)
    }

    /// The longest time to a first token: the scale of all lanes' bars.
    pub fn longest(&self) -> Span {
        self.shown().filter_map(|row| Some(row.split?.total())).max().unwrap_or_default()
    }

    /// The script that the settings ask for.
    pub fn script(&self) -> Script {
        script_of(&self.settings)
    }

    /// Makes room for what came later than planned.
    fn grow_domain(&mut self, planned: Span, latest: Span) {
        self.domain = self.domain.max(geometry::domain(planned, latest));
    }
}

/// Raw state of one lane, outside the reactive graph.
#[derive(Default)]
pub struct LaneRaw {
    /// The stream that runs, with its reader and its script.
    pub live: Option<(SharedLog, Reader, Script)>,
    /// The text of the last stream.
    pub text: String,
    /// The last picture of each cell, by the cell's id.
    pub pictures: Vec<(String, Picture)>,
}

/// What is not drawn as it stands.
struct Shared {
    browser: Browser,
    stopping: Cell<bool>,
    records: RefCell<Vec<RunRecord>>,
    lanes: RefCell<Vec<(String, LaneModel)>>,
}

/// One lane as the views see it.
#[derive(Clone, Copy)]
pub struct LaneModel {
    tick: RwSignal<u32>,
    raw: StoredValue<Rc<RefCell<LaneRaw>>, LocalStorage>,
}

impl LaneModel {
    fn new() -> LaneModel {
        LaneModel { tick: RwSignal::new(0), raw: StoredValue::new_local(Rc::default()) }
    }

    /// Does something with the raw state; nothing once the page is gone.
    pub fn with_raw<T>(&self, with: impl FnOnce(&mut LaneRaw) -> T) -> Option<T> {
        let raw = self.raw.try_get_value()?;
        let mut raw = raw.borrow_mut();
        Some(with(&mut raw))
    }

    /// Asks to be drawn anew.
    pub fn bump(&self) {
        self.tick.try_update(|tick| *tick = tick.wrapping_add(1));
    }

    /// Follows the ticks.
    pub fn track(&self) {
        self.tick.track();
    }

    /// Who is reading a stream here now.
    pub fn streaming(&self) -> Option<Reader> {
        self.with_raw(|raw| raw.live.as_ref().map(|live| live.1)).flatten()
    }

    /// Of the stream that runs here: how long it is planned to last, how long it has lasted, and
    /// how many frames there are to draw.
    pub fn progress(&self) -> Option<(Span, Span, usize)> {
        let progress = |raw: &mut LaneRaw| {
            let (log, _, script) = raw.live.as_ref()?;
            let arrivals = &log.borrow().arrivals;
            let elapsed = Stamp(browser::now_us()) - arrivals.call;
            Some((script.duration(), elapsed, arrivals.frames().count()))
        };
        self.with_raw(progress).flatten()
    }

    /// The picture to draw: the running stream's, else the last one of the cell.
    pub fn picture(&self, cell: &str) -> Picture {
        let drawn = |raw: &mut LaneRaw| match &raw.live {
            Some((log, _, script)) => {
                Some(Picture::live(&log.borrow().arrivals, script, Stamp(browser::now_us())))
            }
            None => {
                raw.pictures.iter().find(|(id, _)| id == cell).map(|(_, picture)| picture.clone())
            }
        };
        self.with_raw(drawn).flatten().unwrap_or_default()
    }

    /// The text to show.
    pub fn text(&self) -> String {
        let text = |raw: &mut LaneRaw| match &raw.live {
            Some((log, ..)) => log.borrow().text.clone(),
            None => raw.text.clone(),
        };
        self.with_raw(text).unwrap_or_default()
    }
}

/// The whole page.
#[derive(Clone, Copy)]
pub struct Model {
    state: RwSignal<State>,
    shared: StoredValue<Rc<Shared>, LocalStorage>,
}

impl Model {
    /// The state of a page that has just been opened at this address.
    pub fn new(search: &str) -> Model {
        let read = browser::query_pairs(search).and_then(|pairs| {
            let pairs: Vec<(&str, &str)> =
                pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            Settings::from_query(pairs).map_err(|error| error.to_string())
        });
        let (settings, boot) = match read {
            Ok(settings) => (settings, Boot::Loading),
            Err(why) => (Settings::default(), Boot::BadSettings(why)),
        };
        let state = State {
            boot,
            silent: None,
            reader: first_reader(&settings),
            domain: geometry::domain(script_of(&settings).duration(), Span::ZERO),
            settings,
            lanes: None,
            clock: None,
            activity: Activity::WarmingUp,
            ending: None,
            sight: Sight::InTurn,
            rows: Vec::new(),
        };
        let shared = Shared {
            browser: browser::browser(),
            stopping: Cell::new(false),
            records: RefCell::default(),
            lanes: RefCell::default(),
        };
        Model { state: RwSignal::new(state), shared: StoredValue::new_local(Rc::new(shared)) }
    }

    /// Reads the state and follows it.
    pub fn see<T>(&self, see: impl FnOnce(&State) -> T) -> T {
        self.state.with(see)
    }

    /// Reads the state without following it; `None` once the page is gone.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> Option<T> {
        self.state.try_with_untracked(look)
    }

    /// Changes the state; nothing once the page is gone.
    pub fn change(&self, change: impl FnOnce(&mut State)) {
        // One body for all callers: the signal's own code is made once, not once a caller.
        fn run(state: RwSignal<State>, change: &mut dyn FnMut(&mut State)) {
            state.try_update(|state| change(state));
        }
        let mut change = Some(change);
        run(self.state, &mut |state| {
            if let Some(change) = change.take() {
                change(state);
            }
        });
    }

    /// Notes what the page is doing.
    pub fn progress(&self, done: u32, total: u32, what: String) {
        self.change(|state| state.activity = Activity::Running(Progress { done, total, what }));
    }

    /// Whether the stop button was pressed, or the page is gone.
    pub fn stopped(&self) -> bool {
        self.shared.try_get_value().is_none_or(|shared| shared.stopping.get())
    }

    /// Presses the stop button, or lets it go.
    pub fn set_stopping(&self, stopping: bool) {
        if let Some(shared) = self.shared.try_get_value() {
            shared.stopping.set(stopping);
        }
    }

    /// The browser as this page sees it.
    pub fn browser(&self) -> Browser {
        self.shared.with_value(|shared| shared.browser.clone())
    }

    /// The step of this browser's clock, microseconds.
    pub fn clock_step_us(&self) -> i64 {
        self.shared.with_value(|shared| shared.browser.clock_step_us)
    }

    /// Takes in what stands behind the page.
    pub fn set_lanes(&self, lanes: Lanes) {
        let Some(shared) = self.shared.try_get_value() else { return };
        let models =
            lanes.lanes.iter().map(|lane| (lane.endpoint.name.clone(), LaneModel::new())).collect();
        *shared.lanes.borrow_mut() = models;
        self.change(|state| state.lanes = Some(lanes));
    }

    /// All lanes' own states.
    pub fn lane_models(&self) -> Vec<LaneModel> {
        let shared = self.shared.try_get_value();
        shared.map_or(Vec::new(), |shared| {
            shared.lanes.borrow().iter().map(|(_, lane)| *lane).collect()
        })
    }

    /// A lane's own state.
    pub fn lane(&self, name: &str) -> Option<LaneModel> {
        let shared = self.shared.try_get_value()?;
        let lanes = shared.lanes.borrow();
        lanes.iter().find(|(own, _)| own == name).map(|(_, lane)| *lane)
    }

    /// Where a lane's tap listens.
    pub fn origin_of(&self, endpoint: &str) -> Option<String> {
        self.look(|state| {
            let lanes = &state.lanes.as_ref()?.lanes;
            lanes.iter().find(|lane| lane.endpoint.name == endpoint)?.origin.clone()
        })
        .flatten()
    }

    /// The plan of the settings, for this browser, one stream at a time.
    ///
    /// # Errors
    /// Why the settings cannot be followed.
    pub fn plan(&self) -> Result<Plan, String> {
        let engine = self.engine();
        self.look(|state| {
            let lanes = state.lanes.as_ref().ok_or("the lanes are not known yet")?;
            let settings = Settings { engine: Some(engine), ..state.settings.clone() };
            settings.plan(lanes).map_err(|error| error.to_string())
        })
        .unwrap_or_else(|| Err("the page is gone".into()))
    }

    /// The engine's name in cells: the driver's when it gave one.
    pub fn engine(&self) -> String {
        let given = self.look(|state| state.settings.engine.clone()).flatten();
        given.unwrap_or_else(|| self.browser().name)
    }

    /// Does something with the raw runs; nothing once the page is gone.
    pub fn with_records<T>(&self, with: impl FnOnce(&mut Vec<RunRecord>) -> T) -> Option<T> {
        let shared = self.shared.try_get_value()?;
        let mut records = shared.records.borrow_mut();
        Some(with(&mut records))
    }

    /// Adds runs and derives the rows of their cells anew, with the code of the native table.
    pub fn add(&self, cells: &[RunCell], new: Vec<RunRecord>) {
        let mut latest = Vec::new();
        for record in &new {
            let Some(cell) = cells.iter().find(|cell| cell.id() == record.cell) else { continue };
            let picture = Picture::of_record(record);
            latest.push((cell.script.duration(), picture.latest));
            if let Some(lane) = self.lane(&cell.endpoint) {
                lane.with_raw(|raw| {
                    raw.pictures.retain(|(id, _)| *id != record.cell);
                    raw.pictures.push((record.cell.clone(), picture));
                });
                lane.bump();
            }
        }
        self.with_records(|records| records.extend(new));
        let Some(Some(endpoints)) = self.look(|state| {
            let lanes = state.lanes.as_ref()?;
            Some(lanes.lanes.iter().map(|lane| lane.endpoint.clone()).collect::<Vec<_>>())
        }) else {
            return;
        };
        let browsers = BTreeMap::from([(self.engine(), self.browser())]);
        let results = self.with_records(|records| {
            let guards = Guards::default();
            let results = results::derive_cells(cells, records, &endpoints, &browsers, &guards);
            results.into_iter().map(|result| row(result, records)).collect::<Vec<Row>>()
        });
        let Some(rows) = results else { return };
        self.change(|state| {
            for (planned, latest) in latest {
                state.grow_domain(planned, latest);
            }
            // Rows of one sight are derived together and replace those that were there.
            let sight = rows.first().map(Row::sight);
            state.rows.retain(|row| Some(row.sight()) != sight);
            state.rows.extend(rows);
        });
    }

    /// Makes room for a stream that runs longer than planned.
    pub fn grow_domain(&self, planned: Span, elapsed: Span) {
        let wanted = geometry::domain(planned, elapsed);
        if self.look(|state| wanted > state.domain) == Some(true) {
            self.change(|state| state.grow_domain(planned, elapsed));
        }
    }

    /// Forgets every run, because what is to be run has changed or starts anew.
    pub fn reset(&self) {
        self.with_records(Vec::clear);
        self.change(|state| {
            state.domain = geometry::domain(state.script().duration(), Span::ZERO);
            state.rows.clear();
            state.ending = None;
            state.sight = Sight::InTurn;
            state.reader = first_reader(&state.settings);
        });
        for lane in self.lane_models() {
            lane.with_raw(|raw| *raw = LaneRaw::default());
            lane.bump();
        }
    }
}

/// The script that the settings ask for.
pub fn script_of(settings: &Settings) -> Script {
    settings.script.clone().unwrap_or_else(Script::headline)
}

fn first_reader(settings: &Settings) -> Reader {
    settings.readers.first().copied().unwrap_or(Reader::Fetch)
}

fn row(result: CellResult, records: &[RunRecord]) -> Row {
    let median = result.summary.ttft_us.as_ref().map(|ttft| ttft.median);
    let split = median
        .and_then(|median| split::run_of_median(records, &result.id, median))
        .and_then(Split::of);
    Row { result, split }
}
