//! What people do: clicks, keys and changed fields, each heard in one place for the whole page.

use measure::arrivals::Reader;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, KeyboardEvent};

use crate::guard::Listener;
use crate::model::{Model, Sight};
use crate::runner;
use crate::view::place::document;
use crate::view::{settings, takeaway};

/// Listens until the guards are dropped.
pub(crate) fn listen(model: Model) -> Vec<Listener> {
    let Some(document) = document() else { return Vec::new() };
    let mut listeners = takeaway::listen(model);
    listeners.extend([
        Listener::new(&document, "click", move |event| clicked(model, &event)),
        Listener::new(&document, "change", move |event| {
            if let Some(field) = target(&event) {
                settings::changed(model, &field);
            }
        }),
        // The settings are applied field by field: a form that is sent would leave the page.
        Listener::new(&document, "submit", |event| event.prevent_default()),
        Listener::new(&document, "keydown", move |event| pressed(model, event.unchecked_into())),
    ]);
    listeners
}

fn target(event: &Event) -> Option<Element> {
    event.target()?.dyn_into().ok()
}

fn clicked(model: Model, event: &Event) {
    // The button itself, or whatever stands in it.
    let button = target(event).and_then(|target| target.closest("[data-act]").ok().flatten());
    let Some(button) = button else { return };
    let key = button.get_attribute("data-key").unwrap_or_default();
    match button.get_attribute("data-act").unwrap_or_default().as_str() {
        "run" => runner::run_in_turn(model),
        "all" => runner::run_at_once(model),
        "stop" => runner::stop(model),
        "lane" => runner::run_lane(model, key),
        "settings" => model.toggle_panel(),
        "take" => takeaway::act(model, &key),
        "sight" => model.change(|state| {
            state.sight = if key == "at-once" { Sight::AtOnce } else { Sight::InTurn };
        }),
        "reader" => {
            if let Some(reader) = Reader::from_name(&key) {
                model.change(|state| state.reader = reader);
            }
        }
        _ => {}
    }
}

/// `r` runs all in turn, `a` all at once, `s` or Escape stops; not while something is typed.
fn pressed(model: Model, event: KeyboardEvent) {
    let typing = target(&event).is_some_and(|element| {
        matches!(element.tag_name().as_str(), "INPUT" | "SELECT" | "TEXTAREA")
    });
    if typing || event.ctrl_key() || event.meta_key() || event.alt_key() {
        return;
    }
    match event.key().as_str() {
        "r" => runner::run_in_turn(model),
        "a" => runner::run_at_once(model),
        "s" | "Escape" => runner::stop(model),
        _ => {}
    }
}
