//! One lane's own state: its stream, its pictures, and who draws them.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use measure::arrivals::Reader;
use measure::{Script, Span, Stamp};

use crate::browser;
use crate::geometry::Picture;
use crate::readers::SharedLog;

/// A run's picture, as it was drawn last.
#[derive(Clone)]
pub struct Drawn {
    /// The cell's id.
    pub cell: String,
    /// Which of the page's pictures it is: two of one number are the same.
    pub number: u32,
    /// What is to be seen.
    pub picture: Rc<Picture>,
}

/// Raw state of one lane, outside the reactive graph.
#[derive(Default)]
pub struct LaneRaw {
    /// The stream that runs, with its reader and its script.
    pub live: Option<(SharedLog, Reader, Script)>,
    /// The text of the last stream.
    pub text: String,
    /// The last picture of each cell.
    pub pictures: Vec<Drawn>,
}

/// Draws what is new of the running stream; told whether it is the chart's turn, too.
pub type Painter = Box<dyn FnMut(&LaneModel, bool)>;

/// One lane as the views see it.
#[derive(Clone, Default)]
pub struct LaneModel {
    tick: ArcTrigger,
    raw: Rc<RefCell<LaneRaw>>,
    painter: Rc<RefCell<Option<Painter>>>,
}

impl LaneModel {
    /// Does something with the raw state.
    pub fn with_raw<T>(&self, with: impl FnOnce(&mut LaneRaw) -> T) -> T {
        with(&mut self.raw.borrow_mut())
    }

    /// Says that a stream has begun or ended here, or that there is another picture.
    pub fn bump(&self) {
        self.tick.notify();
    }

    /// Follows that.
    pub fn track(&self) {
        self.tick.track();
    }

    /// Names who draws this lane's stream while it runs.
    pub fn set_painter(&self, painter: Painter) {
        *self.painter.borrow_mut() = Some(painter);
    }

    /// Draws what is new of the stream that runs: its text, and its chart if that has its turn.
    pub fn paint(&self, chart: bool) {
        if let Some(painter) = self.painter.borrow_mut().as_mut() {
            painter(self, chart);
        }
    }

    /// Who is reading a stream here now.
    pub fn streaming(&self) -> Option<Reader> {
        self.with_raw(|raw| raw.live.as_ref().map(|live| live.1))
    }

    /// How long the stream that runs here has lasted.
    pub fn elapsed(&self) -> Option<Span> {
        self.with_raw(|raw| {
            let (log, ..) = raw.live.as_ref()?;
            Some(Stamp(browser::now_us()) - log.borrow().arrivals.call)
        })
    }

    /// The last picture of a cell.
    pub fn drawn(&self, cell: &str) -> Option<Drawn> {
        self.with_raw(|raw| raw.pictures.iter().find(|drawn| drawn.cell == cell).cloned())
    }

    /// The text to show, of the stream that runs or ran last; what is shown now is what the next
    /// frame paints.
    pub fn text(&self) -> String {
        self.with_raw(|raw| match &raw.live {
            Some((log, ..)) => log.borrow_mut().show(),
            None => raw.text.clone(),
        })
    }

    /// Forgets what was measured.
    pub fn forget(&self) {
        self.with_raw(|raw| *raw = LaneRaw::default());
        self.bump();
    }
}
