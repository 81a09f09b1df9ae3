//! What people do: clicks, keys and changed fields, each heard in one place for the whole page.

use measure::arrivals::Reader;
use measure::story::STORIES;
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlElement, KeyboardEvent};

use crate::guard::Listener;
use crate::model::{Model, Sight};
use crate::runner;
use crate::view::place::document;
use crate::view::{cure, presenter, settings, stories, takeaway};

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
    let Some(target) = target(event) else { return };
    // The button itself, or whatever stands in it.
    let within = |selector: &str| target.closest(selector).ok().flatten();
    let Some(button) = within("[data-act]") else {
        // Anywhere else in a lane: its evidence, unless something in it was meant or marked.
        let lane = within(".lane").filter(|_| within(".detail, a, summary").is_none());
        if let Some(lane) = lane.filter(|_| !is_marking()) {
            let key = lane.query_selector(".open").ok().flatten();
            if let Some(key) = key.and_then(|button| button.get_attribute("data-key")) {
                open_lane(model, key);
            }
        }
        return;
    };
    let key = button.get_attribute("data-key").unwrap_or_default();
    match button.get_attribute("data-act").unwrap_or_default().as_str() {
        "run" => runner::run_in_turn(model),
        "all" => runner::run_at_once(model),
        "stop" => runner::stop(model),
        "lane" => runner::run_lane(model, key),
        "open" => open_lane(model, key),
        "story" => stories::tell(model, &key),
        "untold" => stories::leave(model),
        "present" => present(model, true),
        "help" => help(model),
        "settings" => model.toggle_panel(),
        "own-stream" => settings::own_stream(model),
        "take" => takeaway::act(model, &key),
        "cure" => cure::apply(model, &key),
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

/// Whether somebody is marking text with the mouse.
fn is_marking() -> bool {
    let selection = web_sys::window().and_then(|window| window.get_selection().ok().flatten());
    selection.is_some_and(|selection| !selection.is_collapsed())
}

/// Opens a lane's evidence, or closes it.
fn open_lane(model: Model, key: String) {
    model.change(|state| {
        let open = &mut state.open.lane;
        *open = if open.as_ref() == Some(&key) { None } else { Some(key) };
    });
}

fn help(model: Model) {
    model.change(|state| state.open.help = !state.open.help);
}

fn present(model: Model, on: bool) {
    model.change(|state| {
        state.open.presenter = on;
        state.open.lane = None;
    });
}

/// Closes what is open, the last opened first; else stops what runs.
fn escape(model: Model) {
    let open = model.look(|state| state.open.clone()).unwrap_or_default();
    if open.help {
        help(model);
    } else if let Some(key) = open.lane {
        model.change(|state| state.open.lane = None);
        focus(".lane .open", Some(&key));
    } else if model.is_panel_open() {
        model.toggle_panel();
        focus(".controls [data-act=settings]", None);
    } else if open.presenter {
        present(model, false);
    } else {
        runner::stop(model);
    }
}

/// The focus goes back to what opened something: the button of that key, where there are several.
fn focus(selector: &str, key: Option<&str>) {
    let own =
        |button: &HtmlElement| key.is_none() || button.get_attribute("data-key").as_deref() == key;
    if let Some(button) = buttons(selector).into_iter().find(own) {
        // What cannot be focused is left alone.
        let _ = button.focus();
    }
}

fn buttons(selector: &str) -> Vec<HtmlElement> {
    let found = document().and_then(|document| document.query_selector_all(selector).ok());
    let Some(found) = found else { return Vec::new() };
    (0..found.length()).filter_map(|place| found.item(place)?.dyn_into().ok()).collect()
}

/// From a lane to the next, or to the one before.
fn step(from: &Element, onward: bool) {
    let lanes = buttons(".lane .open");
    let now = lanes.iter().position(|lane| lane.is_same_node(Some(from)));
    let next = match (now, onward) {
        (Some(now), true) => now + 1,
        (Some(now), false) => now.wrapping_sub(1),
        (None, _) => return,
    };
    if let Some(lane) = lanes.get(next) {
        // What cannot be focused is left alone.
        let _ = lane.focus();
    }
}

/// The keys of the page, as its help lists them; not while something is typed. Space and Enter
/// belong to a button that has the focus.
fn pressed(model: Model, event: KeyboardEvent) {
    let on = target(&event).map(|element| element.tag_name()).unwrap_or_default();
    let key = event.key();
    if event.ctrl_key() || event.meta_key() || event.alt_key() {
        return;
    }
    if key == "Escape" {
        return escape(model);
    }
    if matches!(on.as_str(), "INPUT" | "SELECT" | "TEXTAREA") {
        return;
    }
    let presenting = model.look(|state| state.open.presenter) == Some(true);
    match key.as_str() {
        "r" => runner::run_in_turn(model),
        "a" => runner::run_at_once(model),
        "s" => runner::stop(model),
        "p" => present(model, !presenting),
        "?" => help(model),
        " " if presenting && on != "BUTTON" => {
            event.prevent_default();
            runner::run_all(model);
        }
        "ArrowRight" | "ArrowLeft" if presenting => {
            presenter::another(model, key == "ArrowRight");
        }
        "ArrowDown" | "ArrowUp" => {
            let lane = target(&event).filter(|lane| lane.matches(".lane .open") == Ok(true));
            if let Some(lane) = lane {
                event.prevent_default();
                step(&lane, key == "ArrowDown");
            }
        }
        number => {
            let place = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            if let Some(story) = place.and_then(|place| STORIES.get(place)) {
                stories::tell(model, story.id);
            }
        }
    }
}
