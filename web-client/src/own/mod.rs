//! The page of one's own endpoint: a prompt is typed, and the answer is seen from both sides.
//!
//! The flow: [`form`] and [`ask`] make a plan of what was typed; [`runner`] asks one question at
//! a time; [`reading`] reads an answer through the gateway or by the browser alone, [`carrier`]
//! and [`facts`] find its events; what the gateway saw ([`seen`]) and what the page read meet in
//! [`answer`], and [`judge`] says on whose side it was held. [`view`], [`chart`] and [`figures`]
//! show it, [`words`] says what went wrong, [`takeaway`] hands it out. [`driven`] does the same
//! for a command. [`configuration`] is another page of the same module: it asks the doctor's reader
//! about a configuration.

pub mod answer;
pub mod ask;
pub mod carrier;
pub mod chart;
pub mod configuration;
pub mod driven;
pub mod facts;
pub mod figures;
pub mod form;
pub mod judge;
pub mod model;
pub mod reading;
pub mod runner;
pub mod seen;
pub mod takeaway;
pub mod view;
pub mod words;

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlDialogElement, HtmlInputElement, KeyboardEvent};

use crate::browser;
use crate::guard::{Frames, Listener};
use crate::takeaway::files;
use crate::view::place::{document, effect, find};
use ask::Plan;
use model::{Model, Phase};

/// The chart of a growing answer is drawn anew in every so many-th frame: ten times a second.
const CHART_EACH: u32 = 6;

/// Mounts the page that the address names in place of the shell's loading text.
pub fn open() {
    if configuration::is_asked() {
        return configuration::open();
    }
    if let Some(shell) = document().and_then(|document| document.get_element_by_id("shell")) {
        shell.remove();
    }
    leptos::mount::mount_to_body(Own);
}

/// The page.
#[component]
fn Own() -> impl IntoView {
    let model = Model::begin_page();
    let heard = StoredValue::new_local(listen(model));
    on_cleanup(move || {
        // The listeners go with the page that they work for.
        let _ = heard.try_update_value(Vec::clear);
    });
    // Runs once, when the elements below are in the document.
    effect(Box::new(move || {
        view::keep(model);
        follow(model);
        browser::spawn(begin(model));
    }));
    let markup = view::markup(model);
    view! { <div class="whole" inner_html=markup></div> }
}

async fn begin(model: Model) {
    if let Some(name) = driven::name() {
        return driven::go(model, name).await;
    }
    let phase = match form::example().await {
        Ok(()) => Phase::Ready,
        Err(why) => Phase::Failed(why),
    };
    model.change(|state| state.phase = phase);
}

/// What follows the state beside the places: frames while an answer grows, and the question
/// whether an address is meant.
fn follow(model: Model) {
    let frames: Rc<RefCell<Option<Frames>>> = Rc::default();
    effect(Box::new(move || {
        let (live, confirm) =
            model.see(|state| (state.live.is_some(), matches!(state.phase, Phase::Confirm { .. })));
        let mut frames = frames.borrow_mut();
        if !live {
            *frames = None;
        } else if frames.is_none() {
            let count = Cell::new(0_u32);
            *frames = Some(Frames::each(move || {
                count.set(count.get() + 1);
                view::grow(model, count.get().is_multiple_of(CHART_EACH));
            }));
        }
        let dialog =
            find(".confirm-target").map(|dialog| dialog.unchecked_into::<HtmlDialogElement>());
        if let Some(dialog) = dialog {
            match confirm {
                // Fails only for one that is shown already.
                true if !dialog.open() => drop(dialog.show_modal()),
                false if dialog.open() => dialog.close(),
                _ => {}
            }
        }
    }));
}

fn listen(model: Model) -> Vec<Listener> {
    let Some(document) = document() else { return Vec::new() };
    vec![
        Listener::new(&document, "click", move |event| {
            let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
            let button = target.and_then(|target| target.closest("[data-act]").ok().flatten());
            if let Some(button) = button {
                act(model, &button);
            }
        }),
        Listener::new(&document, "input", move |event| {
            let id = event
                .target()
                .and_then(|target| target.dyn_into::<Element>().ok())
                .map(|field| field.id())
                .unwrap_or_default();
            match id.as_str() {
                "ask-address" | "ask-other" => form::readdressed(),
                "ask-what" => form::show_part(),
                _ => {}
            }
        }),
        // A form that is sent would leave the page.
        Listener::new(&document, "submit", move |event| {
            event.prevent_default();
            ask(model);
        }),
        // Escape closes the dialog, which is no answer to its question.
        Listener::new(&document, "keydown", move |event| {
            let event: KeyboardEvent = event.unchecked_into();
            match event.key().as_str() {
                "Enter" if event.ctrl_key() || event.meta_key() => ask(model),
                "Escape" => stop(model),
                _ => {}
            }
        }),
    ]
}

fn act(model: Model, button: &Element) {
    match button.get_attribute("data-act").unwrap_or_default().as_str() {
        "ask" => ask(model),
        "stop" | "not-mine" => stop(model),
        "mine" => browser::spawn(runner::confirmed(model)),
        "take" => take(model, &button.get_attribute("data-key").unwrap_or_default()),
        _ => {}
    }
}

fn ask(model: Model) {
    match Plan::of(&form::fields()) {
        Ok(plan) => browser::spawn(runner::run(model, plan)),
        Err(fault) => {
            form::focus(fault.0);
            model.change(|state| state.fault = Some(fault));
        }
    }
}

fn stop(model: Model) {
    model.stop();
    model.change(|state| {
        if matches!(state.phase, Phase::Confirm { .. }) {
            state.phase = if state.answers.is_empty() { Phase::Ready } else { Phase::Stopped };
        }
    });
}

fn take(model: Model, key: &str) {
    let texts = find("#with-texts").and_then(|own| own.dyn_into::<HtmlInputElement>().ok());
    let texts = texts.is_some_and(|checkbox| checkbox.checked());
    let (name, kind, text) = match key {
        "json" => ("own-results.json", "application/json", takeaway::document(model, texts)),
        _ => ("own-results.md", "text/markdown", takeaway::markdown(model, texts)),
    };
    let Some(document) = document() else { return };
    let kept = files::download(&document, name, kind, &text);
    model.change(|state| {
        state.said = match kept {
            Ok(()) if texts => [name, ": with prompts and answers, without the key."].concat(),
            Ok(()) => [name, ": without key, prompts and answers."].concat(),
            Err(why) => why,
        };
    });
}
