//! The stories at the side: what each is about, and what its run told.

use measure::results::CellResult;
use measure::story::{self, STORIES, Story, Telling};

use crate::model::{Boot, Model, State};
use crate::runner;
use crate::view::markup::{escaped, joined};
use crate::view::place::{By, Place, Scene};

pub(crate) const PLACES: &[Place] = &[
    (".stories ol", By::Controls, list),
    (".stories .tale", By::Markup, tale),
    (".stories .leave", By::Flag("hidden"), |scene| match scene.state.settings.story {
        Some(_) => String::new(),
        None => "yes".into(),
    }),
];

/// The stories; what one tells stands under its title.
pub(crate) const MARKUP: &str = "<aside class=\"stories\" aria-labelledby=\"stories\">\
    <h2 id=\"stories\">Stories</h2><ol></ol><div class=\"tale\"></div><p class=\"leave\">\
    <button type=\"button\" data-act=\"untold\" \
    title=\"Back to the lanes of the headline stream\">All lanes</button></p></aside>";

fn list(scene: &Scene<'_>) -> String {
    let mut list = String::new();
    for story in &STORIES {
        let own = scene.state.story().is_some_and(|told| told.id == story.id);
        let on = missing(scene.state, story).is_empty()
            && (scene.state.may_run() || scene.state.boot == Boot::Loading);
        let parts = [
            "<li",
            if own { " class=\"told\"" } else { "" },
            "><button type=\"button\" data-act=\"story\" id=\"story-",
            story.id,
            "\" data-key=\"",
            story.id,
            "\" aria-pressed=\"",
            if own { "true" } else { "false" },
            if on { "\">" } else { "\" aria-disabled=\"true\">" },
            story.title,
            "</button>",
        ];
        list.push_str(&joined(&parts));
        if own {
            list.push_str(&tale(scene));
        }
        list.push_str("</li>");
    }
    list
}

/// The story's text, with the word that says how far it has come.
fn tale(scene: &Scene<'_>) -> String {
    let (mark, text) = told(scene);
    let Some(story) = scene.state.story() else { return String::new() };
    let text = escaped(&text);
    joined(&[
        "<h3>",
        story.title,
        "</h3>",
        "<p class=\"mark\" data-told=\"",
        mark,
        "\">",
        mark,
        "</p><p class=\"text\">",
        &text,
        "</p>",
    ])
}

/// What the story has to say now: a word for how far it has come, and its text.
pub(crate) fn told(scene: &Scene<'_>) -> (&'static str, String) {
    let state = scene.state;
    let Some(story) = state.story() else {
        return ("", String::new());
    };
    let missing = missing(state, story);
    if !missing.is_empty() {
        let text = joined(&[
            "This Holdup was started without ",
            &crate::words::list(&missing),
            ": start holdup demo without --endpoints, and the story can be told.",
        ]);
        return ("Not here", text);
    }
    if state.is_running() {
        return ("Running", story.about.into());
    }
    if state.ending.is_none() {
        return ("Not run yet", story.about.into());
    }
    let rows: Vec<CellResult> = state.rows.iter().map(|row| row.result.clone()).collect();
    match story.tell(&rows) {
        Telling::Shown(text) => ("Shown", text),
        Telling::NotShown(text) => ("Not shown", text),
        Telling::Nothing(text) => ("Nothing to tell", text),
    }
}

/// The endpoints of a story that do not stand behind this page.
fn missing<'a>(state: &State, story: &'a Story) -> Vec<&'a str> {
    let Some(lanes) = &state.lanes else { return Vec::new() };
    let there = |name: &str| lanes.lanes.iter().any(|lane| lane.endpoint.name == name);
    story.endpoints().iter().copied().filter(|name| !there(name)).collect()
}

/// Tells a story: sets what it plays, and runs it.
pub(crate) fn tell(model: Model, id: &str) {
    let Some(story) = story::of(id) else { return };
    if choose(model, story) {
        runner::run_all(model);
    }
}

/// Sets what a story plays; whether it may be told. Of one that cannot be told here the page says
/// why.
pub(crate) fn choose(model: Model, story: &'static Story) -> bool {
    let here = model.look(|state| (state.may_run(), missing(state, story).is_empty()));
    match here {
        Some((true, true)) => model.set_story(story),
        Some((true, false)) => model.change(|state| state.open.not_here = Some(story)),
        _ => {}
    }
    here == Some((true, true))
}

/// Back to the lanes that no story chose.
pub(crate) fn leave(model: Model) {
    if model.look(State::may_run) == Some(true) {
        model.leave_story();
    }
}
