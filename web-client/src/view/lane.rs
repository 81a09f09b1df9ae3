//! One lane: what stands there and what was found, its stream, its figures, and, when it is
//! opened, what all of that rests on.

use measure::confirm::Agreement;
use measure::results::CellResult;
use web_sys::Element;

use crate::model::{LanePlan, Model, Row};
use crate::view::markup::{escaped, joined};
use crate::view::place::{By, Own, Place, Scene, follow_lane};
use crate::view::{chart, detail, figures, presenter};
use crate::words::{self, Holder};

/// What follows the state. The tokens are those that a chat's reader sees, the last lines of the
/// text so far.
const PLACES: &[Place] = &[
    ("", By::Attribute("data-who"), |scene| finding(scene).0.class().into()),
    ("", By::Attribute("data-presented"), presenter::presented),
    ("", By::Attribute("data-open"), |scene| yes(is_open(scene))),
    (".open", By::Attribute("aria-expanded"), |scene| {
        if is_open(scene) { "true" } else { "false" }.into()
    }),
    (".run", By::Flag("disabled"), |scene| yes(!scene.state.may_run())),
    (".verdict", By::Text, |scene| finding(scene).1),
    (".because", By::Text, |scene| finding(scene).2),
    (".because", By::Attribute("title"), |scene| finding(scene).2),
    (".confirm", By::Text, |scene| confirmation(scene).map_or(String::new(), |own| own.1)),
    (".confirm", By::Attribute("title"), |scene| {
        confirmation(scene).map_or(String::new(), |own| own.2)
    }),
    (".confirm", By::Attribute("data-agrees"), |scene| {
        let agreement = confirmation(scene).map(|own| own.0);
        if agreement == Some(Agreement::Differs) { "no".into() } else { String::new() }
    }),
    (".tokens p", By::Text, tokens),
];

/// A lane's markup; a way that could not be started is a lane too, and says why.
pub(crate) fn markup(lane: &LanePlan, place: usize) -> String {
    let (name, key) = (escaped(&lane.endpoint.name), escaped(&lane.key));
    let place = place.to_string();
    let (run, stream) = match &lane.failed {
        Some(_) => (String::new(), String::new()),
        None => (
            joined(&[
                "<button type=\"button\" class=\"run\" data-act=\"lane\" data-key=\"",
                &key,
                "\" title=\"Run this lane alone; direct goes first if it has not run yet\">\
                 Run</button>",
            ]),
            joined(&["<div class=\"tokens\" aria-hidden=\"true\"><p></p></div>", chart::MARKUP]),
        ),
    };
    joined(&[
        "<article class=\"lane\" aria-labelledby=\"lane-",
        &place,
        "\"><div class=\"who\"><div class=\"name\"><h2><button type=\"button\" class=\"open\" \
         data-act=\"open\" data-key=\"",
        &key,
        "\" id=\"lane-",
        &place,
        "\" aria-expanded=\"false\" aria-controls=\"detail-",
        &place,
        "\">",
        &name,
        "</button></h2><p class=\"label\">",
        &label(lane),
        "</p></div><p class=\"verdict\"></p><p class=\"because\"></p><p class=\"confirm\"></p></div>\
         <div class=\"stream\">",
        &stream,
        "</div>",
        figures::MARKUP,
        &run,
        "</div></div><div class=\"detail\" id=\"detail-",
        &place,
        "\">",
        detail::MARKUP,
        "</div></article>",
    ])
}

/// What runs there and its one setting; then what tells the lane from its neighbours.
fn label(lane: &LanePlan) -> String {
    let setting = escaped(&words::setting(&lane.endpoint));
    if lane.special.is_empty() {
        return setting;
    }
    joined(&[&setting, "; <b>", &escaped(&lane.special), "</b>"])
}

/// Keeps a lane's places filled.
pub(crate) fn follow(model: Model, root: &Element, lane: &LanePlan) {
    let own = Own { lane: model.lane(&lane.key), key: lane.key.clone(), plan: lane.clone() };
    for places in [PLACES, figures::PLACES, chart::PLACES, detail::PLACES] {
        follow_lane(model, root, &own, places);
    }
    chart::keep(model, root, &own);
}

fn yes(holds: bool) -> String {
    if holds { "yes".into() } else { String::new() }
}

/// The text that came; of a stream that was no run in the end, nothing.
fn tokens(scene: &Scene<'_>) -> String {
    let Some(lane) = scene.own.and_then(|own| own.lane.as_ref()) else { return String::new() };
    if lane.streaming().is_none() && !scene.row.is_some_and(Row::has_run) {
        return String::new();
    }
    lane.text()
}

/// Whether the lane's evidence is to be seen.
pub(crate) fn is_open(scene: &Scene<'_>) -> bool {
    scene.own.is_some_and(|own| scene.state.open.lane.as_ref() == Some(&own.key))
}

/// Who holds the tokens, in words, with its sentence; or what is to be said instead.
fn finding(scene: &Scene<'_>) -> (Holder, String, String) {
    let own = scene.own;
    if let Some(why) = own.and_then(|own| own.plan.failed.as_ref()) {
        return (Holder::Broken, "Not running".into(), words::sentence(why));
    }
    let lane = own.and_then(|own| own.lane.as_ref());
    if let Some(reader) = lane.and_then(|lane| lane.streaming()) {
        let by = joined(&["Read by ", words::reader(reader), "."]);
        return (Holder::Unknown, "Streaming".into(), by);
    }
    match scene.row.filter(|row| row.has_run()) {
        Some(row) => {
            let name = row.result.summary.verdict.name;
            (words::holder(name), words::verdict(name).0.into(), words::because(row))
        }
        None => (Holder::Unknown, "Not run yet".into(), String::new()),
    }
}

/// Whether the native reader, without a browser, saw the same.
pub(crate) fn confirmation(scene: &Scene<'_>) -> Option<(Agreement, String, String)> {
    let row = scene.row.filter(|row| row.has_run())?;
    let all = scene.state.rows.iter().map(|row| &row.result);
    words::confirmation(&row.result, all, scene.step)
}

/// The rows of the lane, by whomever they were read.
pub(crate) fn rows<'a>(scene: &'a Scene<'a>) -> impl Iterator<Item = &'a CellResult> {
    let key = scene.own.map(|own| own.key.as_str()).unwrap_or_default();
    let of_lane = scene.state.rows.iter().filter(move |row| row.result.cell.lane_key() == key);
    of_lane.filter(|row| row.has_run()).map(|row| &row.result)
}
