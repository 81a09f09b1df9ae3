//! The page's state, of which all that is shown is derived, and the signal that says it changed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leptos::prelude::{ArcTrigger, GetValue, LocalStorage, Notify, StoredValue, Track};
use measure::arrivals::{Arrivals, PageState};
use measure::clock::ClockSync;
use measure::results::Browser;
use measure::verdict::Finding;
use measure::{RunId, Span};
use web_sys::AbortController;

use super::answer::{Figures, Page};
use super::ask::{Fault, Plan, Target};
use super::judge::{self, Evidence, Side};
use super::reading::SharedLog;
use super::seen::{Outcome, Seen};
use super::words::{self, Trouble};

/// One answer, with all that is known of it.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Which address, which question, which repetition.
    pub turn: (usize, usize, u32),
    /// Its run.
    pub run: RunId,
    /// What the page read.
    pub page: Page,
    /// What the gateway saw; absent where the browser asked directly.
    pub seen: Option<Seen>,
    /// The page's side, its frames joined.
    pub arrivals: Arrivals,
    /// What the page noted of itself.
    pub state: PageState,
    /// The figures of the wire and of the page.
    pub wire: Option<Figures>,
    /// See there.
    pub own: Figures,
    /// Why it is none.
    pub trouble: Option<Trouble>,
    /// What else is to be said of it.
    pub notes: Vec<String>,
    /// Whose side it is, and why.
    pub side: Side,
    /// See there.
    pub finding: Option<Finding>,
}

impl Answer {
    fn outcome(&self) -> Outcome {
        self.seen.as_ref().map_or_else(|| words::of_page(&self.page), |seen| seen.outcome.clone())
    }

    fn is_sse(&self) -> bool {
        match &self.seen {
            Some(seen) => seen.carrier.as_deref() == Some("sse"),
            None => self.page.carrier == Some(super::carrier::Carrier::Sse),
        }
    }

    /// The side that shows the path: the wire where it was seen.
    fn first_side(&self) -> &Arrivals {
        self.seen.as_ref().map_or(&self.arrivals, |seen| &seen.arrivals)
    }

    fn judge(&mut self, control: Option<&Arrivals>) {
        if self.trouble.is_some() {
            self.side = Side::Broken;
            return;
        }
        let outcome = self.outcome();
        let evidence = Evidence {
            wire: self.seen.as_ref().map(|seen| &seen.arrivals),
            page: &self.arrivals,
            outcome: &outcome,
            sse: self.is_sse(),
            control,
            state: &self.state,
        };
        let (side, finding) = judge::judge(&evidence);
        self.side = side;
        self.finding = Some(finding);
    }
}

/// What the page is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It looks what there is.
    Loading,
    /// Nothing was asked yet.
    Ready,
    /// It asks: so many answers are there.
    Running(usize),
    /// The gateway asks whether an address is meant.
    Confirm {
        /// Its sentence.
        said: String,
        /// The address, without its query.
        shown: String,
    },
    /// All is there.
    Finished,
    /// Somebody stopped it.
    Stopped,
    /// It came to nothing, with a sentence.
    Failed(String),
}

/// All of it.
pub struct State {
    /// What it is doing.
    pub phase: Phase,
    /// How the page's clock is converted.
    pub clock: Option<ClockSync>,
    /// What is asked, or was.
    pub plan: Option<Plan>,
    /// The addresses to be seen.
    pub targets: Vec<Target>,
    /// The answers, in order.
    pub answers: Vec<Answer>,
    /// The answer that grows, and whose.
    pub live: Option<(usize, SharedLog)>,
    /// A field that cannot be used.
    pub fault: Option<Fault>,
    /// The last word on something that was taken away.
    pub said: String,
}

impl State {
    /// An address's answers.
    pub fn of(&self, target: usize) -> impl Iterator<Item = &Answer> {
        self.answers.iter().filter(move |answer| answer.turn.0 == target)
    }

    /// Its answers that have figures.
    pub fn good(&self, target: usize) -> impl Iterator<Item = &Answer> {
        self.of(target).filter(|answer| answer.trouble.is_none())
    }

    /// The last of an address.
    pub fn last(&self, target: usize) -> Option<&Answer> {
        self.of(target).last()
    }

    /// Whether something is asked now.
    pub fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running(_) | Phase::Confirm { .. })
    }

    /// How many there will be.
    pub fn planned(&self) -> usize {
        self.plan.as_ref().map_or(0, |plan| plan.turns.len())
    }

    /// Takes an answer, and judges all anew that it is a control of.
    pub fn take(&mut self, answer: Answer) {
        let turn = answer.turn;
        self.answers.push(answer);
        let last = self.answers.len() - 1;
        self.answers[last].judge(None);
        if !self.plan.as_ref().is_some_and(|plan| plan.same) {
            return;
        }
        // Of one question's two answers by two ways to one service, a live one is the other's
        // control. Two that come in bursts are none: both ways may hold.
        let pair: Vec<usize> = (0..=last)
            .filter(|place| {
                let (_, question, round) = self.answers[*place].turn;
                (question, round) == (turn.1, turn.2)
            })
            .collect();
        let [one, other] = pair[..] else { return };
        for (own, control) in [(one, other), (other, one)] {
            // What came live over its path is live there, whatever its page did.
            let is_control = matches!(self.answers[control].side, Side::Nobody | Side::Page);
            if is_control && matches!(self.answers[own].side, Side::Path | Side::Undivided) {
                let control = self.answers[control].first_side().clone();
                self.answers[own].judge(Some(&control));
            }
        }
    }

    /// What an address's answers show together: the side, in a few words, and in a sentence.
    pub fn finding(&self, target: usize) -> Option<(Side, &'static str, String)> {
        let judged: Vec<(Side, Finding, Option<Span>)> = self
            .good(target)
            .filter_map(|answer| {
                Some((answer.side, answer.finding.clone()?, answer.own.firsts.text))
            })
            .collect();
        judge::pooled(&judged)
    }

    /// The latest time that a chart has to show.
    pub fn latest(&self) -> Span {
        let lasted = |answer: &Answer| answer.arrivals.ended - answer.arrivals.call;
        let shown = (0..self.targets.len()).filter_map(|target| self.last(target)).map(lasted);
        shown.max().unwrap_or(Span::ZERO)
    }
}

/// The page's state as all share it.
#[derive(Clone, Copy)]
pub struct Model(StoredValue<Rc<Shared>, LocalStorage>);

struct Shared {
    browser: Browser,
    state: RefCell<State>,
    changed: ArcTrigger,
    stopping: Cell<bool>,
    controller: RefCell<Option<AbortController>>,
}

impl Model {
    /// A page that has just been opened.
    pub fn begin_page() -> Model {
        let state = State {
            phase: Phase::Loading,
            clock: None,
            plan: None,
            targets: Vec::new(),
            answers: Vec::new(),
            live: None,
            fault: None,
            said: String::new(),
        };
        Model(StoredValue::new_local(Rc::new(Shared {
            browser: crate::browser::browser(),
            state: RefCell::new(state),
            changed: ArcTrigger::new(),
            stopping: Cell::new(false),
            controller: RefCell::default(),
        })))
    }

    fn shared(&self) -> Rc<Shared> {
        // The page is its own root and never unmounted.
        self.0.get_value()
    }

    /// Reads the state and follows it.
    pub fn see<T>(&self, see: impl FnOnce(&State) -> T) -> T {
        let shared = self.shared();
        shared.changed.track();
        see(&shared.state.borrow())
    }

    /// Reads the state.
    pub fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.shared().state.borrow())
    }

    /// Changes the state and says so.
    pub fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let shared = self.shared();
        let changed = change(&mut shared.state.borrow_mut());
        shared.changed.notify();
        changed
    }

    /// The browser.
    pub fn browser(&self) -> Browser {
        self.shared().browser.clone()
    }

    /// The step of the page's clock, microseconds.
    pub fn step(&self) -> i64 {
        self.shared().browser.clock_step_us
    }

    /// Begins a go that nobody has stopped yet.
    pub fn begin(&self) {
        self.shared().stopping.set(false);
    }

    /// Notes what would end the question under way.
    pub fn may_abort(&self, controller: Option<AbortController>) {
        *self.shared().controller.borrow_mut() = controller;
    }

    /// Ends what runs.
    pub fn stop(&self) {
        let shared = self.shared();
        shared.stopping.set(true);
        if let Some(controller) = shared.controller.borrow().as_ref() {
            controller.abort();
        }
    }

    /// Whether somebody stopped it.
    pub fn is_stopping(&self) -> bool {
        self.shared().stopping.get()
    }
}
