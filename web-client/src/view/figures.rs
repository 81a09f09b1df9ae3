//! The figures of one lane: the time to the first token, its split, and what else one asks for.

use measure::summary::Summary;
use measure::units::decimal;
use measure::{Reader, Verdict};

use crate::model::Row;
use crate::readers;
use crate::split::{Part, Split};
use crate::view::place::{By, Place, Scene};
use crate::words;

/// The right-hand column; its foot is left open for what runs the lane.
pub(crate) const MARKUP: &str = "<div class=\"figures\"><p class=\"ttft\"><span class=\"value\">\
    </span><span class=\"unit\"></span><span class=\"what\">first token<span class=\"runs\">\
    </span></span></p><dl>\
    <div title=\"Between tokens, median\"><dt>gap</dt><dd></dd></div>\
    <div title=\"Between tokens, longest\"><dt>longest</dt><dd></dd></div>\
    <div title=\"Frames per read on the wire\"><dt>per read</dt><dd></dd></div>\
    <div><dt>per delivery</dt><dd></dd></div></dl>\
    <div class=\"foot\"><div class=\"split\" role=\"img\"></div>";

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
    ("dl :nth-child(1) dd", By::Text, |scene| {
        words::spread_median(summary(scene).and_then(|own| own.gap_us.as_ref()), scene.step)
    }),
    ("dl :nth-child(2) dd", By::Text, |scene| {
        words::spread_max(summary(scene).and_then(|own| own.gap_us.as_ref()), scene.step)
    }),
    ("dl :nth-child(3) dd", By::Text, |scene| {
        words::ratio(summary(scene).and_then(|own| own.wire_frames_per_read.as_ref()))
    }),
    ("dl :nth-child(4) dd", By::Text, |scene| {
        let own = summary(scene);
        let busy = own.and_then(|own| own.busy_frames_per_delivery.as_ref());
        let ratio = words::ratio(own.and_then(|own| own.frames_per_read.as_ref()).or(busy));
        // To an EventSource nobody tells which events came with one read.
        let estimated = readers::deliveries_are_estimated(scene.state.reader);
        if estimated && ratio != words::NONE { ["≈ ", &ratio].concat() } else { ratio }
    }),
    ("dl :nth-child(4)", By::Attribute("title"), |scene| match scene.state.reader {
        Reader::Eventsource => "Frames per delivery in the page, an estimate: a page is not told \
                                which events came with one read."
            .into(),
        Reader::FetchWorker => "Frames per delivery in the worker".into(),
        _ => "Frames per delivery in the page".into(),
    }),
];

fn summary<'a>(scene: &Scene<'a>) -> Option<&'a Summary> {
    scene.row.map(|row: &Row| &row.result.summary)
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
    for (part, measured) in &split.parts {
        // A bar has no length below nothing; the sign stands in the words. What the clocks leave
        // open has no colour: it is nobody's.
        let share = (measured.span.as_micros() as f64 / whole * 100.0).max(0.0);
        let share = decimal(share, 2);
        let class = match part {
            _ if !measured.is_claimed() => "unclaimed",
            // A request that waited for a connection was the browser's.
            Part::Request if waited(scene) => Part::Browser.class(),
            part => part.class(),
        };
        for text in ["<span class=\"", class, "\" style=\"width:", &share, "%\"></span>"] {
            bar.push_str(text);
        }
    }
    bar
}

fn bar_in_words(scene: &Scene<'_>) -> String {
    let mut said = String::new();
    let Some(split) = split(scene) else { return said };
    for (part, measured) in &split.parts {
        said.push_str(if said.is_empty() { "First token: " } else { ", " });
        let waited = *part == Part::Request && waited(scene);
        said.push_str(if waited { "waiting in the browser" } else { part.name() });
        said.push(' ');
        said.push_str(&words::measured(*measured, scene.step));
    }
    said
}

/// Whether the request waited in the browser for a connection.
fn waited(scene: &Scene<'_>) -> bool {
    scene.row.is_some_and(|row| row.result.summary.verdict.name == Verdict::ConnectionLimit)
}

fn split<'a>(scene: &Scene<'a>) -> Option<&'a Split> {
    scene.row?.split.as_ref()
}
