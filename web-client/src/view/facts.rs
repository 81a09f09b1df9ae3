//! The line that says what is measuring; each fact can be asked for its meaning.

use measure::results::Browser;
use measure::units::decimal;

use crate::model::Activity;
use crate::view::markup::{escaped, joined};
use crate::view::place::{By, Place, Scene};
use crate::words;

pub(crate) const PLACES: &[Place] = &[
    (".facts .clock", By::Text, clock),
    (".facts .segment", By::Text, segment),
    (".facts .emitter", By::Text, emitter),
    (".facts .machine", By::Text, machine),
    (".facts .warm", By::Text, warm),
];

/// The facts, each a short text that opens into a sentence.
pub(crate) fn markup(browser: &Browser) -> String {
    let name = joined(&[&words::engine(&browser.name), " ", &browser.version]);
    let isolated = if browser.isolated { "isolated" } else { "not isolated" };
    let step = joined(&["clock step ", &words::fine(browser.clock_step_us)]);
    let facts = [
        ("", name.as_str(), "The browser that reads the streams, as its user agent tells it."),
        (
            "",
            isolated,
            "A cross-origin isolated page gets the browser's fine clock; any other page a coarse one.",
        ),
        (
            "",
            &step,
            "The smallest step of this page's clock that was seen when it was opened. No figure \
             has more digits than that.",
        ),
        (
            "clock",
            "",
            "Page and emitter have clocks of their own. Before every run they are compared by a \
             dozen round trips; half of the shortest one is how far the comparison may be off.",
        ),
        (
            "segment",
            "",
            "The payload of a TCP segment on the way to the proxies. 1448 bytes is Ethernet's; \
             loopback's own is about 65 KB, and hides what a real network shows.",
        ),
        (
            "emitter",
            "",
            "The program that plays the streams and notes when each frame was written.",
        ),
        (
            "machine",
            "",
            "Where emitter and proxies run. A busy machine is late by itself: guards exclude such \
             runs and say so.",
        ),
        (
            "warm",
            "",
            "The first stream after a page has loaded may be late for reasons of the browser's \
             own. One short stream on the direct lane is played and thrown away before the first run.",
        ),
    ];
    let mut list = String::from("<ul class=\"facts\" aria-label=\"What is measuring\">");
    for (class, text, meaning) in facts {
        let text = escaped(text);
        for part in [
            "<li><details name=\"fact\"><summary class=\"",
            class,
            "\">",
            &text,
            "</summary><p>",
            meaning,
            "</p></details></li>",
        ] {
            list.push_str(part);
        }
    }
    list.push_str("</ul>");
    list
}

fn clock(scene: &Scene<'_>) -> String {
    let clock = scene.state.clock;
    let off = clock.map_or(words::NONE.into(), |clock| words::fine(clock.uncertainty_us));
    joined(&["clock ± ", &off])
}

fn segment(scene: &Scene<'_>) -> String {
    let usual = scene.state.lanes.as_ref().map(|lanes| lanes.mss);
    match scene.state.settings.mss.or(usual) {
        None => words::NONE.into(),
        Some(Some(bytes)) => format!("segment {bytes} B"),
        Some(None) => "segment of loopback".into(),
    }
}

fn emitter(scene: &Scene<'_>) -> String {
    match &scene.state.lanes {
        None => words::NONE.into(),
        Some(lanes) => joined(&["emitter ", &lanes.version]),
    }
}

fn machine(scene: &Scene<'_>) -> String {
    let Some(lanes) = &scene.state.lanes else { return words::NONE.into() };
    let mut text = joined(&[&lanes.kernel, ", ", &words::count(lanes.cpus, "CPU")]);
    if let Some(load) = lanes.load {
        text.push_str(", load ");
        text.push_str(&decimal(load, 1));
    }
    text
}

fn warm(scene: &Scene<'_>) -> String {
    match scene.state.activity {
        Activity::WarmingUp => "warming up".into(),
        _ => "warmed up".into(),
    }
}
