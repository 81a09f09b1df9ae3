//! The page's state, of which what is drawn is derived. It stands in plain cells; a signal says
//! that it has changed, one a lane says that its stream has something new to draw.
//!
//! The signals carry no value: every type of value in a signal costs the page some kilobytes to
//! download, and samples may not wait for a signal anyway.

pub mod imported;
mod lane;
pub mod lanes;
mod state;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leptos::prelude::*;
use measure::arrivals::Reader;
use measure::guards::Guards;
use measure::page::{Lanes, Settings};
use measure::plan::Plan;
use measure::results::{self, Browser, CellResult, RunRecord};
use measure::story::Story;
use measure::{Cell as RunCell, Script, Span};

use crate::browser;
use crate::geometry::Picture;
use crate::split::{self, Split};

pub use lane::{Drawn, LaneModel, LaneRaw, Painter};
pub use lanes::LanePlan;
pub use state::{Activity, Boot, Ending, Open, Progress, Row, Sight, State};

/// A lane's chart is drawn in every so many-th animation frame at most: at a screen's 60 frames a
/// second that is as fast as a chat's tokens come.
const CHART_EACH: u32 = 3;

/// The whole page.
#[derive(Clone, Copy)]
pub struct Model(StoredValue<Rc<Shared>, LocalStorage>);

struct Shared {
    browser: Browser,
    state: RefCell<State>,
    /// The state has changed.
    changed: ArcTrigger,
    /// Other lanes are to be seen.
    reshaped: ArcTrigger,
    stopping: Cell<bool>,
    records: RefCell<Vec<RunRecord>>,
    /// How many pictures were made.
    pictures: Cell<u32>,
    lanes: RefCell<Vec<(String, LaneModel)>>,
    /// Whether the settings are open, and that this has changed.
    panel: (Cell<bool>, ArcTrigger),
    imported: imported::Slot,
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
            duration: script_of(&settings).duration(),
            latest: Vec::new(),
            settings,
            lanes: None,
            planned: Vec::new(),
            clock: None,
            activity: Activity::WarmingUp,
            ending: None,
            left_out: None,
            sight: Sight::InTurn,
            rows: Vec::new(),
            open: Open::default(),
        };
        let shared = Shared {
            browser: browser::browser(),
            state: RefCell::new(state),
            changed: ArcTrigger::new(),
            reshaped: ArcTrigger::new(),
            stopping: Cell::new(false),
            records: RefCell::default(),
            pictures: Cell::new(0),
            lanes: RefCell::default(),
            panel: (Cell::new(false), ArcTrigger::new()),
            imported: imported::Slot::default(),
        };
        Model(StoredValue::new_local(Rc::new(shared)))
    }

    /// All of it; `None` once the page is gone.
    fn shared(&self) -> Option<Rc<Shared>> {
        self.0.try_get_value()
    }

    /// Reads the state and follows it; `None` once the page is gone.
    pub fn see<T>(&self, see: impl FnOnce(&State) -> T) -> Option<T> {
        let shared = self.shared()?;
        shared.changed.track();
        Some(see(&shared.state.borrow()))
    }

    /// Follows which lanes are to be seen.
    pub fn track_shape(&self) {
        if let Some(shared) = self.shared() {
            shared.reshaped.track();
        }
    }

    /// Reads the state without following it; `None` once the page is gone.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> Option<T> {
        let shared = self.shared()?;
        Some(look(&shared.state.borrow()))
    }

    /// Changes the state; nothing once the page is gone.
    pub fn change(&self, change: impl FnOnce(&mut State)) {
        // One body for all callers: what is around the change is there once.
        self.change_by(Box::new(change));
    }

    fn change_by(&self, change: Box<dyn FnOnce(&mut State) + '_>) {
        let Some(shared) = self.shared() else { return };
        let before = shared.state.borrow().shape();
        change(&mut shared.state.borrow_mut());
        if shared.state.borrow().shape() != before {
            shared.reshaped.notify();
        }
        shared.changed.notify();
    }

    /// Takes over a story's settings. The address carries the story, and opens it without starting
    /// it.
    pub fn set_story(&self, story: &Story) {
        self.take_over(story.settings(), &[("story", story.id)]);
    }

    /// Takes over the settings of a page that was opened without any.
    pub fn leave_story(&self) {
        self.take_over(Settings::default(), &[]);
    }

    /// Takes over settings that the address can carry.
    pub fn set_settings(&self, settings: Settings) {
        let query = settings.to_query();
        let pairs: Vec<(&str, &str)> =
            query.iter().map(|(key, value)| (*key, value.as_str())).collect();
        self.take_over(settings.clone(), &pairs);
    }

    /// Takes over settings; what was measured under others goes.
    fn take_over(&self, settings: Settings, address: &[(&str, &str)]) {
        self.change(|state| {
            let before = &state.settings;
            state.settings = Settings {
                seed: before.seed,
                session: before.session.clone(),
                engine: before.engine.clone(),
                ..settings
            };
        });
        browser::write_search(&browser::encode_query(address));
        self.reset();
    }

    /// Opens the settings, or closes them.
    pub fn toggle_panel(&self) {
        if let Some(shared) = self.shared() {
            let (open, toggled) = &shared.panel;
            open.set(!open.get());
            toggled.notify();
        }
    }

    /// Whether the settings are open; follows it.
    pub fn is_panel_open(&self) -> bool {
        self.shared().is_some_and(|shared| {
            let (open, toggled) = &shared.panel;
            toggled.track();
            open.get()
        })
    }

    /// Notes what the page is doing.
    pub fn progress(&self, done: u32, total: u32, what: String) {
        self.change(|state| state.activity = Activity::Running(Progress { done, total, what }));
    }

    /// Whether the stop button was pressed, or the page is gone.
    pub fn stopped(&self) -> bool {
        self.shared().is_none_or(|shared| shared.stopping.get())
    }

    /// Presses the stop button, or lets it go.
    pub fn set_stopping(&self, stopping: bool) {
        if let Some(shared) = self.shared() {
            shared.stopping.set(stopping);
        }
    }

    /// The browser as this page sees it.
    pub fn browser(&self) -> Browser {
        self.shared().map_or_else(browser::browser, |shared| shared.browser.clone())
    }

    /// The step of this browser's clock, microseconds.
    pub fn clock_step_us(&self) -> i64 {
        self.shared().map_or(0, |shared| shared.browser.clock_step_us)
    }

    /// Takes in what stands behind the page.
    pub fn set_lanes(&self, lanes: Lanes) {
        let Some(shared) = self.shared() else { return };
        *shared.lanes.borrow_mut() = Vec::new();
        self.change(|state| state.lanes = Some(lanes));
        self.plan_lanes();
    }

    /// Finds out anew which lanes the settings ask for. Those that stay keep their streams.
    fn plan_lanes(&self) {
        let Some(shared) = self.shared() else { return };
        let Ok(plan) = self.plan() else { return };
        let planned = self.look(|state| {
            let lanes = state.lanes.as_ref()?;
            Some(lanes::of_plan(&state.settings, lanes, &plan))
        });
        let Some(planned) = planned.flatten() else { return };
        let models = planned
            .iter()
            .map(|lane| (lane.key.clone(), self.lane(&lane.key).unwrap_or_default()))
            .collect();
        *shared.lanes.borrow_mut() = models;
        self.change(|state| state.planned = planned);
    }

    /// All lanes' own states.
    pub fn lane_models(&self) -> Vec<LaneModel> {
        let shared = self.shared();
        shared.map_or(Vec::new(), |shared| {
            shared.lanes.borrow().iter().map(|(_, lane)| lane.clone()).collect()
        })
    }

    /// A lane's own state, by the lane's key.
    pub fn lane(&self, key: &str) -> Option<LaneModel> {
        let shared = self.shared()?;
        let lanes = shared.lanes.borrow();
        lanes.iter().find(|(own, _)| own == key).map(|(_, lane)| lane.clone())
    }

    /// The state of the lane in which a cell is played.
    pub fn lane_of(&self, cell: &RunCell) -> Option<LaneModel> {
        self.lane(&cell.lane_key())
    }

    /// Where a lane's tap listens.
    pub fn origin_of(&self, cell: &RunCell) -> Option<String> {
        self.look(|state| {
            let lanes = &state.lanes.as_ref()?.lanes;
            let lane = lanes.iter().find(|lane| lane.endpoint.name == cell.endpoint)?;
            lane.origin(cell).map(String::from)
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
        let shared = self.shared()?;
        let mut records = shared.records.borrow_mut();
        Some(with(&mut records))
    }

    /// Adds runs and derives the rows of their cells anew, with the code of the native table.
    pub fn add(&self, cells: &[RunCell], new: Vec<RunRecord>) {
        let mut latest = Vec::new();
        for record in &new {
            let Some(cell) = cells.iter().find(|cell| cell.id() == record.cell) else { continue };
            let picture = Rc::new(Picture::of_record(record));
            latest.push((cell.reader, state::sight_of(cell), picture.latest));
            if let Some(lane) = self.lane_of(cell) {
                let drawn =
                    Drawn { cell: record.cell.clone(), number: self.next_picture(), picture };
                lane.with_raw(|raw| {
                    raw.pictures.retain(|other| other.cell != drawn.cell);
                    raw.pictures.push(drawn);
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
        let (engine, browser) = (self.engine(), self.browser());
        let browser = |name: &str| (name == engine).then(|| browser.clone());
        let step = Span(self.clock_step_us());
        let results = self.with_records(|records| {
            let guards = Guards::default();
            let results = results::derive_cells_by(cells, records, &endpoints, &browser, &guards);
            results.into_iter().map(|result| row(result, records, step)).collect::<Vec<Row>>()
        });
        let Some(rows) = results else { return };
        self.change(|state| {
            for (reader, sight, latest) in latest {
                state.make_room(reader, sight, latest);
            }
            // Rows are derived anew and replace those that were there.
            state.rows.retain(|row| rows.iter().all(|new| new.result.id != row.result.id));
            state.rows.extend(rows);
        });
    }

    fn next_picture(&self) -> u32 {
        self.shared().map_or(0, |shared| {
            shared.pictures.set(shared.pictures.get() + 1);
            shared.pictures.get()
        })
    }

    /// Draws what is new of the streams that run: one animation frame's work for all lanes. Every
    /// lane's text, and the chart of one: however many run, a frame has the same work.
    pub fn paint(&self, frame: u32) {
        let mut lanes = self.lane_models();
        lanes.retain(|lane| lane.elapsed().is_some());
        let turns = (lanes.len() as u32).max(CHART_EACH);
        for (place, lane) in lanes.iter().enumerate() {
            self.make_room(lane.elapsed().unwrap_or_default());
            lane.paint(frame % turns == place as u32);
        }
    }

    /// Makes room for a stream that runs longer than planned.
    fn make_room(&self, elapsed: Span) {
        if self.look(|state| elapsed > state.domain()) == Some(true) {
            self.change(|state| state.make_room(state.reader, state.sight, elapsed));
        }
    }

    /// Forgets every run, because what is to be run has changed or starts anew.
    pub fn reset(&self) {
        self.with_records(Vec::clear);
        self.plan_lanes();
        self.change(|state| {
            let longest = state.planned.iter().filter_map(|lane| lane.script.as_ref());
            let longest = longest.map(Script::duration).max().unwrap_or_default();
            state.duration = longest;
            state.latest.clear();
            state.rows.clear();
            state.ending = None;
            state.left_out = None;
            state.sight = Sight::InTurn;
            state.reader = first_reader(&state.settings);
            state.open.not_here = None;
            let open = state.open.lane.take();
            state.open.lane = open.filter(|key| state.planned.iter().any(|lane| lane.key == *key));
        });
        for lane in self.lane_models() {
            lane.forget();
        }
    }
}

/// The script that the settings ask for.
pub fn script_of(settings: &Settings) -> Script {
    settings.script.clone().unwrap_or_else(Script::headline)
}

/// The reader whose rows are looked at first.
pub fn first_reader(settings: &Settings) -> Reader {
    let in_browser = settings.readers.iter().copied().find(|reader| reader.in_browser());
    in_browser.unwrap_or(Reader::FetchWorker)
}

fn row(result: CellResult, records: &[RunRecord], step: Span) -> Row {
    let median = result.summary.ttft_us.as_ref().map(|ttft| ttft.median);
    let split = median
        .and_then(|median| split::run_of_median(records, &result.id, median))
        .and_then(|run| Split::of(run, step));
    Row { result, split }
}
