//! The figures of one lane: the time to the first token, its split, and what else one asks for.

use measure::stats::Spread;
use measure::summary::Summary;
use measure::units::decimal;

use crate::model::Row;
use crate::split::Split;
use crate::view::place::{By, Place, Scene};
use crate::words;

/// The right-hand column.
pub(crate) const MARKUP: &str = "<div class=\"figures\"><div class=\"first\">\
    <p class=\"ttft\"><span class=\"value\"></span><span class=\"unit\"></span></p>\
    <p class=\"what\">to the first token</p>\
    <div class=\"split\" role=\"img\"></div><p class=\"runs\"></p></div><dl>\
    <div><dt>gap, median</dt><dd></dd></div>\
    <div><dt>longest</dt><dd></dd></div>\
    <div><dt>frames / read, wire</dt><dd></dd></div>\
    <div><dt>/ delivery, page</dt><dd></dd></div>\
    <div><dt>held by the path</dt><dd></dd></div>\
    <div><dt>browser or page</dt><dd></dd></div></dl></div>";

pub(crate) const PLACES: &[Place] = &[
    (".ttft .value", By::Text, ttft),
    (".ttft .unit", By::Text, |scene| {
        if summary(scene).is_some_and(|summary| summary.ttft_us.is_some()) {
            "ms".into()
        } else {
            String::new()
        }
    }),
    (".split", By::Markup, bar),
    (".split", By::Attribute("aria-label"), bar_in_words),
    (".split", By::Attribute("title"), bar_in_words),
    (".runs", By::Text, |scene| scene.row.map_or(String::new(), words::runs)),
    ("dl :nth-child(1) dd", By::Text, |scene| median(scene, |s| s.gap_us.as_ref())),
    ("dl :nth-child(2) dd", By::Text, |scene| {
        let gap = summary(scene).and_then(|summary| summary.gap_us.as_ref());
        words::spread_max(gap, scene.step)
    }),
    ("dl :nth-child(3) dd", By::Text, |scene| {
        words::ratio(summary(scene).and_then(|summary| summary.wire_frames_per_read.as_ref()))
    }),
    ("dl :nth-child(4) dd", By::Text, |scene| {
        words::ratio(summary(scene).and_then(|summary| summary.frames_per_read.as_ref()))
    }),
    ("dl :nth-child(5) dd", By::Text, |scene| median(scene, |s| s.path_hold_us.as_ref())),
    ("dl :nth-child(6) dd", By::Text, |scene| median(scene, |s| s.browser_hold_us.as_ref())),
];

fn summary<'a>(scene: &Scene<'a>) -> Option<&'a Summary> {
    scene.row.map(|row: &Row| &row.result.summary)
}

fn median(scene: &Scene<'_>, pick: fn(&Summary) -> Option<&Spread>) -> String {
    words::spread_median(summary(scene).and_then(pick), scene.step)
}

fn ttft(scene: &Scene<'_>) -> String {
    let ttft = summary(scene).and_then(|summary| summary.ttft_us.as_ref());
    ttft.map_or(words::NONE.into(), |spread| words::millis(spread.median, scene.step))
}

/// The split as segments, to the scale of the longest lane. Numbers only.
fn bar(scene: &Scene<'_>) -> String {
    let mut bar = String::new();
    let Some(split) = split(scene) else { return bar };
    let whole = scene.state.longest().as_micros().max(1) as f64;
    for (part, span) in split.parts() {
        // A bar has no length below nothing; the sign stands in the words.
        let share = (span.as_micros() as f64 / whole * 100.0).max(0.0);
        let share = decimal(share, 2);
        for text in ["<span class=\"", part, "\" style=\"width:", &share, "%\"></span>"] {
            bar.push_str(text);
        }
    }
    bar
}

fn bar_in_words(scene: &Scene<'_>) -> String {
    let mut said = String::new();
    let Some(split) = split(scene) else { return said };
    for (part, span) in split.parts() {
        if !said.is_empty() {
            said.push_str(", ");
        }
        said.push_str(match part {
            "browser" => "browser or page",
            "undivided" => "path, browser or page",
            other => other,
        });
        said.push(' ');
        said.push_str(&words::span(span, scene.step));
    }
    said
}

fn split(scene: &Scene<'_>) -> Option<Split> {
    scene.row?.split
}
