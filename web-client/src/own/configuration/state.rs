//! The page's state. There is little of it, and all is shown anew when it changes.

use std::cell::RefCell;
use std::rc::Rc;

use web_sys::AbortController;

use super::answer::{Fault, Story};
use super::view;
use crate::guard::Listener;

/// What the page is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was read yet.
    #[default]
    Ready,
    /// The reader reads.
    Reading,
    /// What it said is shown.
    Read,
    /// A proof is measured: so many runs of so many; none known while proxies start.
    Measuring(Option<(u32, u32)>),
    /// It was.
    Measured,
    /// There is no answer.
    Failed,
}

impl Phase {
    /// What a driver may wait for.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Ready => "ready",
            Phase::Reading | Phase::Measuring(_) => "running",
            Phase::Read => "read",
            Phase::Measured => "finished",
            Phase::Failed => "failed",
        }
    }

    /// Whether something is under way.
    pub fn is_busy(self) -> bool {
        matches!(self, Phase::Reading | Phase::Measuring(_))
    }
}

/// A question as it is posted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Question {
    /// Whose it is; empty where the text is to tell.
    pub product: String,
    /// The configuration.
    pub text: String,
    /// The stream's path.
    pub path: String,
    /// The host's name, if it matters.
    pub host: String,
    /// The port, if it matters.
    pub port: Option<u32>,
    /// The version that runs it, if it is known.
    pub version: String,
}

/// All of it.
#[derive(Default)]
pub struct State {
    /// What it is doing.
    pub phase: Phase,
    /// What the answer is about, whatever stands in the fields by now.
    pub question: Question,
    /// The answer.
    pub story: Option<Story>,
    /// Why there is none, or why it is not measured.
    pub fault: Option<Fault>,
    /// A last word, on what was copied or kept.
    pub said: String,
}

/// The page, shared by what listens to it.
#[derive(Clone)]
pub struct Page(Rc<Shared>);

#[derive(Default)]
struct Shared {
    state: RefCell<State>,
    controller: RefCell<Option<AbortController>>,
    /// They live as long as the page, whose root this is.
    heard: RefCell<Vec<Listener>>,
}

impl Page {
    pub(super) fn new() -> Page {
        Page(Rc::default())
    }

    pub(super) fn keep(&self, heard: Vec<Listener>) {
        *self.0.heard.borrow_mut() = heard;
    }

    /// Reads the state.
    pub(super) fn look<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.0.state.borrow())
    }

    /// Changes the state and shows it.
    pub(super) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.state.borrow_mut());
        view::show(self);
    }

    /// There is no answer.
    pub(super) fn fail(&self, fault: Fault) {
        self.change(|state| {
            // An answer that is there stays there.
            state.phase = if state.story.is_some() { Phase::Read } else { Phase::Failed };
            state.fault = Some(fault);
            state.said.clear();
        });
        view::to_fault(self);
    }

    /// Notes what would end what is under way.
    pub(super) fn may_abort(&self, controller: Option<AbortController>) {
        *self.0.controller.borrow_mut() = controller;
    }

    /// Ends it.
    pub(super) fn stop(&self) {
        if let Some(controller) = self.0.controller.borrow().as_ref() {
            controller.abort();
        }
    }
}
