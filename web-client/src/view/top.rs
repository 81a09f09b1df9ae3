//! The head of the page: the question, run and stop, progress, and what is measuring.

use crate::model::{Activity, Ending, Model, State};
use crate::view::facts;
use crate::view::markup::{escaped, joined};
use crate::view::place::{By, Place, Scene};
use crate::words;

/// The question, the progress (its place is kept when there is nothing), and the controls.
const BAR: &str = "<div class=\"bar\"><h1>Who is holding up your tokens?</h1>\
    <p class=\"progress\"></p><div class=\"controls\">\
    <button type=\"button\" class=\"primary\" data-act=\"run\" \
    title=\"Every lane, one stream at a time: measured (key r)\">Run</button>\
    <button type=\"button\" data-act=\"all\" \
    title=\"Every lane at the same time: shown, never pooled with the others (key a)\">\
    All at once</button>\
    <button type=\"button\" data-act=\"stop\" \
    title=\"End what runs; what was measured until then stands (key s)\">Stop</button>\
    <button type=\"button\" data-act=\"settings\" aria-pressed=\"false\" \
    title=\"Stream, readers, lanes: all of it stands in the address\">Settings</button>\
    <button type=\"button\" data-act=\"present\" \
    title=\"One or two lanes, very large, for a room (key p)\">Present</button>\
    <button type=\"button\" data-act=\"help\" aria-expanded=\"false\" \
    aria-label=\"Keys\" title=\"The keys of this page (key ?)\">?</button>\
    <a class=\"way\" href=\"/own\">Your own endpoint</a>\
    <a class=\"way\" href=\"/configuration\">Your configuration</a></div></div>";

/// The progress as a line under the whole head.
const TRACK: &str = "<div class=\"track\" role=\"progressbar\" aria-label=\"Runs done\" \
    aria-valuemin=\"0\" aria-valuemax=\"100\"><div class=\"done\"></div></div>";

pub(crate) const PLACES: &[Place] = &[
    (".progress", By::Text, |scene| progress(scene.state)),
    (".track", By::Attribute("aria-valuenow"), |scene| done_percent(scene.state).to_string()),
    (".done", By::Attribute("style"), |scene| {
        joined(&["width:", &done_percent(scene.state).to_string(), "%"])
    }),
    ("[data-act=run]", By::Flag("disabled"), |scene| unless(scene.state.may_run())),
    ("[data-act=all]", By::Flag("disabled"), |scene| unless(scene.state.may_run())),
    ("[data-act=stop]", By::Flag("disabled"), |scene| unless(scene.state.is_running())),
    (".silent", By::Markup, |scene| notice("notice bad", "alert", &silent(scene))),
    (".failed", By::Markup, |scene| notice("notice bad", "alert", &failed(scene))),
    (".left-out", By::Markup, |scene| {
        notice("notice", "note", scene.state.left_out.as_deref().unwrap_or_default())
    }),
];

/// The head; run, stop and progress stay in reach while the lanes are scrolled.
pub(crate) fn markup(model: Model) -> String {
    let browser = model.browser();
    let coarse = if browser.isolated {
        String::new()
    } else {
        joined(&[
            "This page is not cross-origin isolated, which takes https or this machine's own \
             address: its clock steps by ",
            &words::fine(browser.clock_step_us),
            ", and nothing finer is claimed. All else works.",
        ])
    };
    joined(&[
        "<header class=\"top\">",
        BAR,
        &facts::markup(&browser),
        "<div class=\"help\"></div><div class=\"panel\"></div><div class=\"silent\"></div>\
         <div class=\"failed\"></div><div class=\"left-out\"></div>",
        &notice("notice", "note", &coarse),
        TRACK,
        "</header>",
    ])
}

/// A text in a paragraph of that class; nothing at all for no text.
fn notice(class: &str, role: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    joined(&["<p class=\"", class, "\" role=\"", role, "\">", &escaped(text), "</p>"])
}

/// A flag that is on unless something holds.
fn unless(holds: bool) -> String {
    if holds { String::new() } else { "yes".into() }
}

fn progress(state: &State) -> String {
    match &state.activity {
        Activity::WarmingUp => "Warming up".into(),
        Activity::Running(progress) => {
            let (done, total) = (progress.done, progress.total.to_string());
            if progress.what.is_empty() {
                return joined(&[&done.to_string(), " of ", &total]);
            }
            joined(&[&(done + 1).to_string(), " of ", &total, ": ", &progress.what])
        }
        Activity::Idle => match state.ending {
            Some(Ending::Finished) => "Finished".into(),
            Some(Ending::Stopped) => "Stopped: what was measured until then stands".into(),
            Some(Ending::Failed(_)) => "Stopped by an error".into(),
            None => String::new(),
        },
    }
}

fn done_percent(state: &State) -> u32 {
    match &state.activity {
        Activity::Running(progress) => progress.done * 100 / progress.total.max(1),
        _ => 0,
    }
}

fn silent(scene: &Scene<'_>) -> String {
    let Some(why) = &scene.state.silent else { return String::new() };
    joined(&[why, " What was measured stands; this page goes on when it is back."])
}

fn failed(scene: &Scene<'_>) -> String {
    match &scene.state.ending {
        // A silent emitter has its own notice.
        Some(Ending::Failed(why)) if scene.state.silent.is_none() => {
            joined(&["The plan stopped: ", why])
        }
        _ => String::new(),
    }
}
