//! The page as a whole: its frame, and what a driver may wait for.

use leptos::prelude::*;

use crate::browser;
use crate::model::{Activity, Boot, Ending, Model, State};
use crate::runner;
use crate::view::markup::joined;
use crate::view::place::{By, Place, document, effect, follow};
use crate::view::{
    acts, answer, facts, help, imported, lanes, presenter, settings, stories, takeaway, top,
};

/// Mounts the page in place of the shell's loading text.
pub fn open() {
    if let Some(shell) = document().and_then(|document| document.get_element_by_id("shell")) {
        shell.remove();
    }
    leptos::mount::mount_to_body(App);
}

/// The state of the page, told to a driver through the document element.
const PLACES: &[Place] =
    &[("", By::Attribute("data-state"), |scene| state(scene.state).to_string())];

/// The page.
#[component]
fn App() -> impl IntoView {
    let model = Model::new(&browser::search());
    browser::spawn(runner::boot(model));
    let heard = StoredValue::new_local(acts::listen(model));
    on_cleanup(move || {
        // The listeners go with the page that they work for.
        let _ = heard.try_update_value(Vec::clear);
    });
    // Runs once, when the elements below are in the document; what it begins ends with the page.
    effect(Box::new(move || {
        let Some(root) = document().and_then(|document| document.document_element()) else {
            return;
        };
        let all = [
            PLACES,
            top::PLACES,
            facts::PLACES,
            help::PLACES,
            stories::PLACES,
            presenter::PLACES,
            answer::PLACES,
            takeaway::PLACES,
        ];
        for places in all {
            follow(model, &root, places);
        }
        lanes::keep(model);
        settings::keep(model);
        imported::keep(model);
    }));
    let markup = joined(&[
        &top::markup(model),
        presenter::MARKUP,
        "<div class=\"room\">",
        stories::MARKUP,
        lanes::MARKUP,
        imported::MARKUP,
        "</div>",
        answer::MARKUP,
        takeaway::MARKUP,
    ]);
    view! { <div class="whole" inner_html=markup></div> }
}

/// What a driver may wait for.
fn state(state: &State) -> &'static str {
    match (&state.boot, &state.activity, &state.ending) {
        (Boot::BadSettings(_), ..) => "failed",
        (Boot::Loading, ..) if state.silent.is_some() => "failed",
        (Boot::Loading, ..) | (_, Activity::WarmingUp, _) => "loading",
        (_, Activity::Running(_), _) => "running",
        (_, _, Some(Ending::Failed(_))) => "failed",
        (_, _, Some(_)) => "finished",
        _ => "ready",
    }
}

/// Leaves a mark once the browser has drawn what was just set.
pub fn mark_when_drawn(name: &'static str) {
    request_animation_frame(move || browser::mark(name));
}
