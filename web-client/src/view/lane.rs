//! One lane: what stands there and what was found, its stream, its figures.

use web_sys::Element;

use crate::model::{LanePlan, Model};
use crate::view::markup::{escaped, joined};
use crate::view::place::{By, Own, Place, Scene, follow_lane};
use crate::view::{chart, figures};
use crate::words::{self, Mood};

/// What follows the state alone.
const STILL: &[Place] = &[(".run", By::Flag("disabled"), |scene| {
    if scene.state.may_run() { String::new() } else { "yes".into() }
})];

/// What also follows the stream. The tokens are those that a chat's reader sees, the last
/// lines of the text so far.
const DRAWN: &[Place] = &[
    (".verdict", By::Text, |scene| finding(scene).1),
    (".verdict", By::Attribute("data-mood"), |scene| {
        let mood = match finding(scene).0 {
            Mood::Good => "good",
            Mood::Bad => "bad",
            Mood::Open => "open",
        };
        mood.into()
    }),
    (".because", By::Text, |scene| finding(scene).2),
    (".because", By::Attribute("title"), |scene| finding(scene).2),
    (".tokens p", By::Text, |scene| {
        let lane = scene.own.and_then(|own| own.lane.as_ref());
        lane.map_or(String::new(), |lane| lane.text())
    }),
];

/// A lane's markup; a way that could not be started is a lane too, and says why.
pub(crate) fn markup(lane: &LanePlan, place: usize) -> String {
    let (name, label) = (escaped(&lane.endpoint.name), escaped(&label(lane)));
    let (key, place) = (escaped(&lane.key), place.to_string());
    let (run, stream) = match &lane.failed {
        Some(_) => (String::new(), String::new()),
        None => (
            joined(&[
                "<button type=\"button\" class=\"run\" data-act=\"lane\" data-key=\"",
                &key,
                "\" title=\"Run ",
                &name,
                " alone; direct goes first if it has not run yet\">Run</button>",
            ]),
            joined(&["<div class=\"tokens\" aria-hidden=\"true\"><p></p></div>", chart::MARKUP]),
        ),
    };
    joined(&[
        "<article class=\"lane\" aria-labelledby=\"lane-",
        &place,
        "\"><div class=\"who\"><div class=\"name\"><h2 id=\"lane-",
        &place,
        "\">",
        &name,
        "</h2><span class=\"label\">",
        &label,
        "</span>",
        &run,
        "</div><p class=\"verdict\"></p><p class=\"because\"></p></div><div class=\"stream\">",
        &stream,
        "</div>",
        figures::MARKUP,
        "</article>",
    ])
}

/// Keeps a lane's places filled.
pub(crate) fn follow(model: Model, root: &Element, lane: &LanePlan) {
    let key = lane.key.clone();
    let own = Own { lane: model.lane(&key), key, failed: lane.failed.clone() };
    follow_lane(model, root, &own, false, STILL);
    follow_lane(model, root, &own, false, figures::PLACES);
    follow_lane(model, root, &own, true, DRAWN);
    follow_lane(model, root, &own, true, chart::PLACES);
}

/// What runs there, the one setting that makes it special, and what tells it from its neighbours.
fn label(lane: &LanePlan) -> String {
    let endpoint = &lane.endpoint;
    // Configuration words come in backticks, for tables in Markdown.
    let setting: String = endpoint.label.chars().filter(|letter| *letter != '`').collect();
    let mut label = match (&endpoint.proxy, &endpoint.version) {
        (Some(proxy), Some(version)) => joined(&[proxy, " ", version, ", ", &setting]),
        _ => setting,
    };
    if !lane.special.is_empty() {
        label.push_str("; ");
        label.push_str(&lane.special);
    }
    label
}

/// The verdict in words with its sentence, or what is to be said instead.
fn finding(scene: &Scene<'_>) -> (Mood, String, String) {
    let own = scene.own;
    if let Some(why) = own.and_then(|own| own.failed.as_ref()) {
        return (Mood::Bad, "Not running".into(), words::sentence(why));
    }
    let lane = own.and_then(|own| own.lane.as_ref());
    if let Some(reader) = lane.and_then(|lane| lane.streaming()) {
        let by = joined(&["Read by ", words::reader(reader), "."]);
        return (Mood::Open, "Streaming".into(), by);
    }
    match scene.row.filter(|row| row.has_run()) {
        Some(row) => {
            let (words, mood) = words::verdict(row.result.summary.verdict.name);
            (mood, words.into(), words::because(row))
        }
        None => (Mood::Open, "Not run yet".into(), String::new()),
    }
}
