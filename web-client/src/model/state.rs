//! What the page knows and draws, but for the streams themselves.

use measure::arrivals::Reader;
use measure::clock::ClockSync;
use measure::page::{Lanes, Settings};
use measure::results::CellResult;
use measure::story::{self, Story};
use measure::{Cell, Script, Span};

use super::{LanePlan, script_of};
use crate::geometry;
use crate::split::Split;

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
        sight_of(&self.result.cell)
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
    /// The lanes of what the settings ask for.
    pub planned: Vec<LanePlan>,
    /// The last synchronisation of the clocks.
    pub clock: Option<ClockSync>,
    /// What the page is doing.
    pub activity: Activity,
    /// How the last plan ended.
    pub ending: Option<Ending>,
    /// What of the plan was left out and why, in one sentence.
    pub left_out: Option<String>,
    /// Which runs are looked at.
    pub sight: Sight,
    /// Whose figures are looked at, where there are two readers.
    pub reader: Reader,
    /// The rows, of all runs so far.
    pub rows: Vec<Row>,
    /// How long the longest planned stream lasts.
    pub duration: Span,
    /// The latest time in the charts of each reader and sight.
    pub latest: Vec<(Reader, Sight, Span)>,
    /// What of the page is open beside its lanes.
    pub open: Open,
}

/// What of the page is open beside its lanes.
#[derive(Clone, Debug, Default)]
pub struct Open {
    /// The lane whose evidence is open, by its key.
    pub lane: Option<String>,
    /// The presenter's view.
    pub presenter: bool,
    /// The list of keys.
    pub help: bool,
    /// A story that was asked for and cannot be told here.
    pub not_here: Option<&'static Story>,
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

    /// The rows that are looked at, each with its lane's name.
    pub fn named(&self) -> Vec<(String, &CellResult)> {
        let name = |row: &Row| {
            let key = row.result.cell.lane_key();
            let lane = self.planned.iter().find(|lane| lane.key == key);
            lane.map_or_else(|| row.result.cell.endpoint.clone(), LanePlan::name)
        };
        self.shown().map(|row| (name(row), &row.result)).collect()
    }

    /// The story that is told.
    pub fn story(&self) -> Option<&'static Story> {
        self.open.not_here.or_else(|| story::of(self.settings.story.as_ref()?))
    }

    /// The row of a lane that is looked at, by the lane's key.
    pub fn row(&self, lane: &str) -> Option<&Row> {
        self.shown().find(|row| row.result.cell.lane_key() == lane)
    }

    /// The longest time to a first token: the scale of all lanes' bars.
    pub fn longest(&self) -> Span {
        self.shown().filter_map(|row| Some(row.split.as_ref()?.total())).max().unwrap_or_default()
    }

    /// What decides which lanes there are to see: when it changes, they are built anew.
    pub(super) fn shape(&self) -> (Boot, Vec<LanePlan>) {
        (self.boot.clone(), self.planned.clone())
    }

    /// The script that the settings ask for.
    pub fn script(&self) -> Script {
        script_of(&self.settings)
    }

    /// The time that the charts span which are looked at: each reader has its own, so that a page
    /// that was late for one does not press the others' charts together.
    pub fn domain(&self) -> Span {
        let own = |&&(reader, sight, _): &&(Reader, Sight, Span)| {
            (reader, sight) == (self.reader, self.sight)
        };
        let latest = self.latest.iter().find(own).map(|own| own.2);
        geometry::domain(self.duration, latest.unwrap_or_default())
    }

    /// Makes room for what came later than planned.
    pub(super) fn make_room(&mut self, reader: Reader, sight: Sight, latest: Span) {
        match self.latest.iter_mut().find(|own| (own.0, own.1) == (reader, sight)) {
            Some(own) => own.2 = own.2.max(latest),
            None => self.latest.push((reader, sight, latest)),
        }
    }
}

/// Under which sight a cell belongs. Streams that are at once by their plan, through one endpoint,
/// are in turn with the rest of it.
pub(super) fn sight_of(cell: &Cell) -> Sight {
    if cell.concurrency > 1 && cell.stream.is_none() { Sight::AtOnce } else { Sight::InTurn }
}
