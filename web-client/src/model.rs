//! The page's state. Signals hold what is drawn; raw samples stay in plain vectors.

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

/// What a lane is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaneState {
    /// Nothing, or waiting for its turn.
    Still,
    /// Reading a stream.
    Streaming(Reader),
}

/// Raw state of one lane, outside the reactive graph.
#[derive(Default)]
pub struct LaneRaw {
    /// The stream that runs, with its script.
    pub live: Option<(SharedLog, Script)>,
    /// The text of the last stream.
    pub text: String,
    /// The last picture of each cell.
    pub pictures: BTreeMap<String, Picture>,
}

/// One lane as the views see it.
#[derive(Clone, Copy)]
pub struct LaneModel {
    /// Bumped at most once a frame, when there is something new to draw.
    pub tick: RwSignal<u32>,
    /// What it is doing.
    pub state: RwSignal<LaneState>,
    /// Raw samples and pictures.
    pub raw: StoredValue<Rc<RefCell<LaneRaw>>, LocalStorage>,
}

impl LaneModel {
    fn new() -> LaneModel {
        LaneModel {
            tick: RwSignal::new(0),
            state: RwSignal::new(LaneState::Still),
            raw: StoredValue::new_local(Rc::default()),
        }
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

    /// The picture to draw: the running stream's, else the last one of the cell.
    pub fn picture(&self, cell: &str) -> Picture {
        let live = |raw: &LaneRaw| {
            let (log, script) = raw.live.as_ref()?;
            let log = log.borrow();
            Some(Picture::live(&log.arrivals, script, Stamp(browser::now_us())))
        };
        self.with_raw(|raw| live(raw).or_else(|| raw.pictures.get(cell).cloned()))
            .flatten()
            .unwrap_or_default()
    }

    /// The text to show.
    pub fn text(&self) -> String {
        self.with_raw(|raw| match &raw.live {
            Some((log, _)) => log.borrow().text.clone(),
            None => raw.text.clone(),
        })
        .unwrap_or_default()
    }
}

/// The whole page.
#[derive(Clone, Copy)]
pub struct Model {
    /// Whether the page has what it needs.
    pub boot: RwSignal<Boot>,
    /// Why the emitter gives no answer; absent while it does.
    pub silent: RwSignal<Option<String>>,
    /// What the address asks for.
    pub settings: RwSignal<Settings>,
    /// What stands behind the page.
    pub lanes: RwSignal<Option<Lanes>>,
    /// The lanes' own state, by endpoint.
    pub lane_models: RwSignal<BTreeMap<String, LaneModel>>,
    /// The browser as the page sees it.
    pub browser: StoredValue<Browser>,
    /// The last synchronisation of the clocks.
    pub clock: RwSignal<Option<ClockSync>>,
    /// What the page is doing.
    pub activity: RwSignal<Activity>,
    /// How the last plan ended.
    pub ending: RwSignal<Option<Ending>>,
    /// Which runs are looked at.
    pub sight: RwSignal<Sight>,
    /// Whose figures are looked at, where there are two readers.
    pub reader: RwSignal<Reader>,
    /// The rows, of all runs so far.
    pub rows: RwSignal<Vec<Row>>,
    /// The time that the charts span.
    pub domain: RwSignal<Span>,
    /// The runs so far, raw.
    pub records: StoredValue<Rc<RefCell<Vec<RunRecord>>>, LocalStorage>,
    /// Set by the stop button.
    pub stopping: StoredValue<Rc<Cell<bool>>, LocalStorage>,
}

impl Model {
    /// The state of a page that has just been opened at this address.
    pub fn new(search: &str) -> Model {
        let read = browser::query_pairs(search).and_then(|pairs| {
            let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            Settings::from_query(pairs).map_err(|error| error.to_string())
        });
        let (settings, boot) = match read {
            Ok(settings) => (settings, Boot::Loading),
            Err(why) => (Settings::default(), Boot::BadSettings(why)),
        };
        let script = script_of(&settings);
        Model {
            boot: RwSignal::new(boot),
            silent: RwSignal::new(None),
            reader: RwSignal::new(settings.readers.first().copied().unwrap_or(Reader::Fetch)),
            domain: RwSignal::new(geometry::domain(script.duration(), Span::ZERO)),
            settings: RwSignal::new(settings),
            lanes: RwSignal::new(None),
            lane_models: RwSignal::new(BTreeMap::new()),
            browser: StoredValue::new(browser::browser()),
            clock: RwSignal::new(None),
            activity: RwSignal::new(Activity::WarmingUp),
            ending: RwSignal::new(None),
            sight: RwSignal::new(Sight::InTurn),
            rows: RwSignal::new(Vec::new()),
            records: StoredValue::new_local(Rc::default()),
            stopping: StoredValue::new_local(Rc::default()),
        }
    }

    /// Whether a plan may be started.
    pub fn may_run(&self) -> bool {
        self.boot.get() == Boot::Ready
            && self.silent.with(Option::is_none)
            && self.activity.get() == Activity::Idle
    }

    /// Whether a plan is running.
    pub fn is_running(&self) -> bool {
        self.activity.with(|activity| matches!(activity, Activity::Running(_)))
    }

    /// Whether the stop button was pressed, or the page is gone.
    pub fn stopped(&self) -> bool {
        self.stopping.try_get_value().is_none_or(|stopping| stopping.get())
    }

    /// The step of this browser's clock, microseconds.
    pub fn clock_step_us(&self) -> i64 {
        self.browser.with_value(|browser| browser.clock_step_us)
    }

    /// Takes in what stands behind the page.
    pub fn set_lanes(&self, lanes: Lanes) {
        let models = lanes
            .lanes
            .iter()
            .map(|lane| (lane.endpoint.name.clone(), LaneModel::new()))
            .collect();
        self.lane_models.try_set(models);
        self.lanes.try_set(Some(lanes));
    }

    /// A lane's own state.
    pub fn lane(&self, name: &str) -> Option<LaneModel> {
        self.lane_models.try_with_untracked(|models| models.get(name).copied()).flatten()
    }

    /// The plan of the settings, for this browser, one stream at a time.
    ///
    /// # Errors
    /// Why the settings cannot be followed.
    pub fn plan(&self) -> Result<Plan, String> {
        let settings = Settings {
            engine: Some(self.engine()),
            ..self.settings.try_get_untracked().unwrap_or_default()
        };
        self.lanes
            .try_with_untracked(|lanes| {
                let lanes = lanes.as_ref().ok_or("the lanes are not known yet")?;
                settings.plan(lanes).map_err(|error| error.to_string())
            })
            .unwrap_or_else(|| Err("the page is gone".into()))
    }

    /// The engine's name in cells: the driver's when it gave one.
    pub fn engine(&self) -> String {
        let given = self.settings.try_get_untracked().and_then(|settings| settings.engine);
        given.unwrap_or_else(|| self.browser.with_value(|browser| browser.name.clone()))
    }

    /// The row to show for an endpoint, tracked.
    pub fn row(&self, endpoint: &str, reader: Reader, sight: Sight) -> Option<Row> {
        self.rows.with(|rows| {
            rows.iter()
                .find(|row| {
                    let cell = &row.result.cell;
                    cell.endpoint == endpoint
                        && cell.reader == reader
                        && (cell.concurrency == 1) == (sight == Sight::InTurn)
                })
                .cloned()
        })
    }

    /// Adds runs and derives the rows of their cells anew, with the code of the native table.
    pub fn add(&self, cells: &[RunCell], new: Vec<RunRecord>) {
        let (Some(records), Some(Some(lanes))) =
            (self.records.try_get_value(), self.lanes.try_get_untracked())
        else {
            return;
        };
        for record in &new {
            let Some(cell) = cells.iter().find(|cell| cell.id() == record.cell) else { continue };
            let picture = Picture::of_record(record);
            self.grow_domain(cell.script.duration(), picture.latest);
            if let Some(lane) = self.lane(&cell.endpoint) {
                lane.with_raw(|raw| raw.pictures.insert(record.cell.clone(), picture));
                lane.bump();
            }
        }
        records.borrow_mut().extend(new);
        let rows = derive(cells, &records.borrow(), &lanes, &self.browsers());
        self.rows.try_update(|all| {
            // Rows of other settings go: their lanes are drawn to another scale.
            let at_once = |row: &Row| row.result.cell.concurrency > 1;
            let new_at_once = rows.first().is_some_and(at_once);
            all.retain(|row| at_once(row) != new_at_once);
            all.extend(rows);
        });
    }

    /// Makes room for what came later than planned.
    pub fn grow_domain(&self, planned: Span, latest: Span) {
        let wanted = geometry::domain(planned, latest);
        if self.domain.try_get_untracked().is_some_and(|domain| wanted > domain) {
            self.domain.try_set(wanted);
        }
    }

    /// Forgets every run, because what is to be run has changed.
    pub fn reset(&self) {
        if let Some(records) = self.records.try_get_value() {
            records.borrow_mut().clear();
        }
        let settings = self.settings.try_get_untracked().unwrap_or_default();
        let script = script_of(&settings);
        self.domain.try_set(geometry::domain(script.duration(), Span::ZERO));
        self.rows.try_set(Vec::new());
        self.ending.try_set(None);
        self.sight.try_set(Sight::InTurn);
        self.reader.try_set(settings.readers.first().copied().unwrap_or(Reader::Fetch));
        for lane in self.lane_models.try_get_untracked().unwrap_or_default().values() {
            lane.with_raw(|raw| *raw = LaneRaw::default());
            lane.bump();
        }
    }

    fn browsers(&self) -> BTreeMap<String, Browser> {
        BTreeMap::from([(self.engine(), self.browser.get_value())])
    }
}

/// The script that the settings ask for.
pub fn script_of(settings: &Settings) -> Script {
    settings.script.clone().unwrap_or_else(Script::headline)
}

fn derive(
    cells: &[RunCell],
    records: &[RunRecord],
    lanes: &Lanes,
    browsers: &BTreeMap<String, Browser>,
) -> Vec<Row> {
    let endpoints: Vec<_> = lanes.lanes.iter().map(|lane| lane.endpoint.clone()).collect();
    results::derive_cells(cells, records, &endpoints, browsers, &Guards::default())
        .into_iter()
        .map(|result| {
            let of_cell = records.iter().filter(|record| record.cell == result.id);
            let split = result
                .summary
                .ttft_us
                .as_ref()
                .and_then(|ttft| split::run_of_median(of_cell, ttft.median))
                .and_then(Split::of);
            Row { result, split }
        })
        .collect()
}
