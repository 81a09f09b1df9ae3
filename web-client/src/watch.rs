//! The page watches itself while it measures: was it hidden, and was it ever too busy to read.

use std::cell::Cell;
use std::rc::Rc;

use measure::arrivals::PageState;

use crate::browser;
use crate::guard::{Listener, Repeat};

/// Period of the heartbeat: well under the 50 ms from which a task counts as long, and rare
/// enough to cost the page nothing.
pub const HEARTBEAT_MS: i32 = 20;

/// Watches the page from the call to the stream's end.
pub struct PageWatch {
    hidden: Rc<Cell<bool>>,
    beat: Rc<Beat>,
    _visibility: Option<Listener>,
    _heart: Option<Repeat>,
}

/// The heartbeat's memory.
struct Beat {
    last_us: Cell<i64>,
    longest_us: Cell<i64>,
}

impl Beat {
    /// A beat at that time: what it is late by, beyond its period, was spent in other tasks.
    fn at(&self, now_us: i64) {
        let late = now_us - self.last_us.replace(now_us) - i64::from(HEARTBEAT_MS) * 1_000;
        self.longest_us.set(self.longest_us.get().max(late));
    }
}

impl PageWatch {
    /// Begins to watch.
    pub fn start() -> PageWatch {
        let hidden = Rc::new(Cell::new(browser::is_hidden()));
        let document = web_sys::window().and_then(|window| window.document());
        let visibility = document.map(|document| {
            let (hidden, seen) = (hidden.clone(), document.clone());
            Listener::new(&document, "visibilitychange", move |_| {
                hidden.set(hidden.get() || seen.hidden());
            })
        });
        let beat =
            Rc::new(Beat { last_us: Cell::new(browser::now_us()), longest_us: Cell::new(0) });
        let heart = {
            let beat = beat.clone();
            Repeat::every(HEARTBEAT_MS, move || beat.at(browser::now_us()))
        };
        PageWatch { hidden, beat, _visibility: visibility, _heart: heart }
    }

    /// What was seen; a task that still runs counts up to now.
    pub fn finish(self, reconnects: u32) -> PageState {
        self.beat.at(browser::now_us());
        PageState {
            hidden: self.hidden.get() || browser::is_hidden(),
            longest_task_us: self.beat.longest_us.get(),
            reconnects,
            ..PageState::default()
        }
    }
}
