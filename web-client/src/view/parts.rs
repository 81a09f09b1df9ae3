//! The few kinds of changing thing that the views are made of.
//!
//! Each has one type, however many places use it: a closure of its own type at every place
//! would have the framework's code for it made anew each time, and more than double the page.

use std::sync::{Arc, Mutex};

use leptos::prelude::*;
use web_sys::MouseEvent;

/// A view that changes as a whole.
pub(crate) type Part = Arc<Mutex<dyn FnMut() -> AnyView + Send>>;

/// A text that changes.
pub(crate) fn text(text: impl Fn() -> String + Send + Sync + 'static) -> Signal<String> {
    Signal::derive(text)
}

/// A condition that changes.
pub(crate) fn flag(flag: impl Fn() -> bool + Send + Sync + 'static) -> Signal<bool> {
    Signal::derive(flag)
}

/// A view that changes as a whole.
pub(crate) fn part(part: impl FnMut() -> AnyView + Send + 'static) -> Part {
    Arc::new(Mutex::new(part))
}

/// A text in an element of that class, `None` for nothing at all.
pub(crate) fn line(
    class: &'static str,
    role: &'static str,
    line: impl Fn() -> Option<String> + Send + Sync + 'static,
) -> Part {
    part(move || match line() {
        Some(text) => paragraph(class, role, text),
        None => ().into_any(),
    })
}

fn paragraph(class: &'static str, role: &'static str, text: String) -> AnyView {
    view! { <p class=class role=role>{text}</p> }.into_any()
}

/// What a button is told to be.
pub(crate) struct Button {
    /// Its class; empty for none.
    pub(crate) class: &'static str,
    /// What stands on it.
    pub(crate) text: String,
    /// What it does, in a sentence.
    pub(crate) title: String,
    /// Whether it may be pressed.
    pub(crate) enabled: Signal<bool>,
    /// Whether it is down, for one that stays; absent for one that acts.
    pub(crate) pressed: Option<Signal<String>>,
}

impl Button {
    /// A button that acts.
    pub(crate) fn new(text: &str, title: &str, enabled: Signal<bool>) -> Button {
        Button { class: "", text: text.into(), title: title.into(), enabled, pressed: None }
    }

    /// The button as it is seen.
    pub(crate) fn does(self, act: impl FnMut() + 'static) -> AnyView {
        self.made(Box::new(act))
    }

    fn made(self, mut act: Box<dyn FnMut()>) -> AnyView {
        let Button { class, text, title, enabled, pressed } = self;
        let disabled = flag(move || !enabled.get());
        let act: Box<dyn FnMut(MouseEvent)> = Box::new(move |_| act());
        view! {
            <button
                type="button"
                class=class
                title=title
                disabled=disabled
                aria-pressed=pressed
                on:click=act
            >
                {text}
            </button>
        }
        .into_any()
    }
}

/// A choice between a few, as buttons side by side of which one is down.
pub(crate) fn switch(label: &'static str, choices: Vec<AnyView>) -> AnyView {
    view! { <div class="switch" role="group" aria-label=label>{choices}</div> }.into_any()
}

/// One of them.
pub(crate) fn choice(
    text: &str,
    down: impl Fn() -> bool + Send + Sync + 'static,
    act: impl FnMut() + 'static,
) -> AnyView {
    let pressed = Signal::derive(move || down().to_string());
    let always = flag(|| true);
    Button { pressed: Some(pressed), ..Button::new(text, "", always) }.does(act)
}
