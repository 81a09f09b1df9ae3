//! The lanes under one ruler: the same time scale for all; and what stands there without lanes.

use measure::Reader;
use measure::units::decimal;

use crate::geometry;
use crate::model::{Boot, LanePlan, Model, Sight, State};
use crate::view::lane;
use crate::view::markup::{escaped, joined};
use crate::view::place::{By, Place, Scene, effect, find, follow, put};
use crate::words;

/// Where the lanes stand.
pub(crate) const MARKUP: &str = "<main tabindex=\"-1\"></main>";

/// The ruler, and above the outer columns what they show.
const SCALE: &str = "<section class=\"lanes\" aria-label=\"Lanes\"><div class=\"scale\">\
    <div class=\"choices\"></div><div class=\"ruler\" aria-hidden=\"true\">\
    <span class=\"unit\">ms</span><div class=\"marks\"></div><span class=\"end\">held, median</span>\
    </div><ul class=\"legend\" aria-label=\"Parts of the time to the first token\">\
    <li class=\"request\">request</li><li class=\"path\">path</li>\
    <li class=\"browser\">browser</li><li class=\"page\">page</li>\
    <li class=\"paint\">paint</li></ul></div>";

const PLACES: &[Place] = &[(".choices", By::Controls, choices), (".marks", By::Markup, marks)];

const LOADING: &[Place] = &[(".state", By::Text, |scene| match &scene.state.silent {
    None => "Asking the emitter which lanes there are …".into(),
    Some(_) => "Start it with holdup demo; this page goes on by itself.".into(),
})];

/// Builds the lanes, and builds them anew when others are wanted.
pub(crate) fn keep(model: Model) {
    effect(Box::new(move || {
        model.track_shape();
        let Some(main) = find("main") else { return };
        let (boot, lanes) = model
            .look(|state| (state.boot.clone(), state.planned.clone()))
            .unwrap_or((Boot::Loading, Vec::new()));
        put(&main, By::Markup, &markup(&boot, &lanes));
        // The effects below belong to this one and end with it.
        match boot {
            Boot::Loading => follow(model, &main, LOADING),
            Boot::BadSettings(_) => {}
            Boot::Ready => {
                follow(model, &main, PLACES);
                let mut article = main.query_selector(".lane").ok().flatten();
                for own in &lanes {
                    let Some(element) = article else { return };
                    lane::follow(model, &element, own);
                    article = element.next_element_sibling();
                }
            }
        }
    }));
}

fn markup(boot: &Boot, lanes: &[LanePlan]) -> String {
    match boot {
        Boot::Loading => "<p class=\"state\" role=\"status\"></p>".into(),
        Boot::BadSettings(why) => joined(&[
            "<div class=\"state\" role=\"alert\"><p>The address asks for what cannot be done: ",
            &escaped(why),
            ".</p><p><a href=\"/\">Open the page with its standard settings</a></p></div>",
        ]),
        Boot::Ready => {
            let mut markup = String::from(SCALE);
            for (place, lane) in lanes.iter().enumerate() {
                markup.push_str(&lane::markup(lane, place));
            }
            if lanes.is_empty() {
                markup.push_str(
                    "<p class=\"state\">The emitter offers no lane: start it with holdup demo.</p>",
                );
            }
            markup.push_str("</section>");
            markup
        }
    }
}

fn marks(scene: &Scene<'_>) -> String {
    let mut marks = String::new();
    for (at, share) in geometry::ruler(scene.state.domain()) {
        let (left, ms) = (decimal(share * 100.0, 2), (at.as_micros() / 1_000).to_string());
        for part in ["<span style=\"left:", &left, "%\">", &ms, "</span>"] {
            marks.push_str(part);
        }
    }
    marks
}

/// Which runs are looked at and whose; buttons where there is a choice.
fn choices(scene: &Scene<'_>) -> String {
    let mut markup = sights(scene.state);
    markup.push_str(&readers(scene.state));
    markup
}

/// One at a time or all at once, where there are rows of both.
fn sights(state: &State) -> String {
    let has = |sight| state.rows.iter().any(|row| row.sight() == sight && row.has_run());
    let in_turn = state.sight == Sight::InTurn;
    if has(Sight::InTurn) && has(Sight::AtOnce) {
        return switch(
            "Which runs are shown",
            &joined(&[
                &choice("sight", "in-turn", "one at a time", in_turn),
                &choice("sight", "at-once", "all at once", !in_turn),
            ]),
        );
    }
    let streams = state.planned.iter().filter(|lane| lane.of_many).count();
    if streams > 1 {
        return quiet(&joined(&[&streams.to_string(), " streams at once"]));
    }
    quiet(if in_turn { "one stream at a time" } else { "all lanes at once: shown, not pooled" })
}

/// Whose figures are shown, where two readers take turns.
fn readers(state: &State) -> String {
    let readers: Vec<Reader> =
        state.settings.readers.iter().copied().filter(|reader| reader.in_browser()).collect();
    if readers.len() < 2 {
        return quiet(&joined(&["by ", words::reader(state.reader)]));
    }
    let mut choices = String::new();
    for reader in readers {
        let down = reader == state.reader;
        choices.push_str(&choice("reader", reader.name(), words::reader(reader), down));
    }
    switch("Reader", &choices)
}

fn quiet(text: &str) -> String {
    joined(&["<span class=\"quiet\">", text, "</span>"])
}

/// A choice between a few, as buttons side by side of which one is down.
fn switch(label: &str, choices: &str) -> String {
    joined(&["<div class=\"switch\" role=\"group\" aria-label=\"", label, "\">", choices, "</div>"])
}

/// One of them.
fn choice(act: &str, key: &str, text: &str, down: bool) -> String {
    let down = if down { "true" } else { "false" };
    joined(&[
        "<button type=\"button\" id=\"choice-",
        key,
        "\" data-act=\"",
        act,
        "\" data-key=\"",
        key,
        "\" aria-pressed=\"",
        down,
        "\">",
        text,
        "</button>",
    ])
}
