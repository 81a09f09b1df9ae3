//! What a lane's verdict rests on: opened by a click or Enter, closed by Escape.

use measure::guards::Guards;
use measure::results::CellResult;
use measure::stats::Spread;

use crate::readers;
use crate::split::Part;
use crate::view::lane::{confirmation, is_open, rows};
use crate::view::markup::{escaped, joined};
use crate::view::place::{By, Place, Scene};
use crate::view::{chart, cure, spread};
use crate::words;

/// The sections, empty until the lane is opened.
pub(crate) const MARKUP: &str = "<section class=\"why\"></section><section class=\"cure\"></section>\
    <section class=\"stations\"></section><section class=\"spread\"></section>\
    <section class=\"readers\"></section><section class=\"config\"></section>";

pub(crate) const PLACES: &[Place] = &[
    (".detail .why", By::Markup, |scene| opened(scene, why)),
    (".detail .cure", By::Controls, |scene| opened(scene, cure::markup)),
    (".detail .stations", By::Markup, |scene| opened(scene, stations)),
    (".detail .spread", By::Markup, |scene| opened(scene, spread::markup)),
    (".detail .readers", By::Markup, |scene| opened(scene, by_reader)),
    (".detail .config", By::Markup, |scene| opened(scene, config)),
];

fn opened(scene: &Scene<'_>, say: fn(&Scene<'_>) -> String) -> String {
    if is_open(scene) { say(scene) } else { String::new() }
}

fn paragraph(text: &str) -> String {
    joined(&["<p>", &escaped(text), "</p>"])
}

/// The sentence, what the native reader says to it, and what the guards took away.
fn why(scene: &Scene<'_>) -> String {
    let mut markup = String::from("<h3>Why</h3>");
    if let Some(why) = scene.own.and_then(|own| own.plan.failed.as_ref()) {
        markup.push_str(&paragraph(&words::sentence(why)));
        return markup;
    }
    let Some(row) = scene.row.filter(|row| row.has_run()) else {
        markup.push_str("<p>Nothing was measured here yet: run this lane.</p>");
        return markup;
    };
    let summary = &row.result.summary;
    markup.push_str(&paragraph(&words::sentence(&summary.verdict.because)));
    match confirmation(scene) {
        Some((_, _, text)) => markup.push_str(&paragraph(&words::sentence(&text))),
        None => markup.push_str("<p>No native reader has confirmed this path.</p>"),
    }
    if words::excluded(&row.result) == 0 {
        markup.push_str("<p>The guards excluded no run.</p>");
    } else {
        markup.push_str("<p>Excluded by the guards:</p><ul>");
        for why in &summary.excluded_because {
            markup.push_str(&joined(&["<li>", &escaped(&words::sentence(why)), "</li>"]));
        }
        markup.push_str("</ul>");
    }
    let guards = Guards::default();
    let tolerance = joined(&[
        "Tolerances: emitter and reader ",
        &guards.lateness_us.to_string(),
        " late, direct path ",
        &guards.direct_hold_us.to_string(),
        " held, a task of the page ",
        &guards.page_longest_task_us.to_string(),
        " long, the page’s clock ",
        &guards.page_clock_us.to_string(),
        " off.",
    ]);
    markup.push_str(&joined(&["<p class=\"small\">", &tolerance, "</p>"]));
    markup
}

/// Who had the tokens how long: the first one, and all of them; what the clocks leave open.
fn stations(scene: &Scene<'_>) -> String {
    let Some(row) = scene.row.filter(|row| row.has_run()) else { return String::new() };
    let summary = &row.result.summary;
    let mut table = String::from(
        "<h3>Who had the tokens how long</h3><table><thead><tr><td></td>\
         <th scope=\"col\">first token</th><th scope=\"col\">all, median</th>\
         <th scope=\"col\">least to most</th><th scope=\"col\">clock</th></tr></thead><tbody>",
    );
    for part in Part::ALL {
        // With a worker the sum is divided; without one it is not.
        let spread = chart::spread_of(part, summary).filter(|_| {
            !matches!(part, Part::Browser | Part::Either)
                || (part == Part::Browser) == summary.page_uncertainty_us.is_some()
        });
        let first = row.split.as_ref().and_then(|split| split.part(part));
        if spread.is_none() && first.is_none() {
            continue;
        }
        let text = |spread: Option<&Spread>, say: fn(&Spread, i64) -> String| {
            spread.map_or(words::NONE.into(), |spread| say(spread, scene.step))
        };
        let off = chart::off_of(part, summary, scene.step);
        let first = first.map_or(words::NONE.into(), |first| words::span(first.span, scene.step));
        let cells = [
            first,
            text(spread, |spread, step| words::span(spread.median, step)),
            text(spread, |spread, step| {
                joined(&[&words::millis(spread.min, step), " … ", &words::span(spread.max, step)])
            }),
            words::off(off),
        ];
        table.push_str(&joined(&[
            "<tr><th scope=\"row\"><i class=\"swatch ",
            part.class(),
            "\"></i>",
            part.name(),
            "<small>",
            part.formula(),
            "</small></th>",
        ]));
        for cell in cells {
            table.push_str(&joined(&["<td>", &cell, "</td>"]));
        }
        table.push_str("</tr>");
    }
    table.push_str("</tbody></table>");
    table
}

/// The figures by who read, side by side.
fn by_reader(scene: &Scene<'_>) -> String {
    let rows: Vec<&CellResult> = rows(scene).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut table = String::from("<h3>By reader</h3><table><thead><tr><td></td>");
    for row in &rows {
        let mut name = String::from(words::reader(row.cell.reader));
        if row.cell.concurrency > 1 {
            name.push_str(&joined(&[", ", &row.cell.concurrency.to_string(), " at once"]));
        }
        if row.cell.reader == measure::Reader::Recv && row.cell.request.accept_encoding.is_none() {
            name.push_str(", as curl asks");
        }
        table.push_str(&joined(&["<th scope=\"col\">", &name, "</th>"]));
    }
    table.push_str("</tr></thead><tbody>");
    type Figure = (&'static str, fn(&CellResult, i64) -> String);
    let figures: [Figure; 9] = [
        ("verdict", |row, _| row.summary.verdict.name.name().into()),
        ("first token", |row, step| words::spread_median(row.summary.ttft_us.as_ref(), step)),
        ("least to most", |row, step| {
            row.summary.ttft_us.as_ref().map_or(words::NONE.into(), |ttft| {
                joined(&[&words::millis(ttft.min, step), " … ", &words::span(ttft.max, step)])
            })
        }),
        ("gap, median", |row, step| words::spread_median(row.summary.gap_us.as_ref(), step)),
        ("gap, longest", |row, step| words::spread_max(row.summary.gap_us.as_ref(), step)),
        ("frames per read, wire", |row, _| words::ratio(row.summary.wire_frames_per_read.as_ref())),
        ("frames per delivery", |row, _| {
            let ratio = words::ratio(row.summary.frames_per_read.as_ref());
            let estimated = readers::deliveries_are_estimated(row.cell.reader);
            if estimated && ratio != words::NONE { ["≈ ", &ratio].concat() } else { ratio }
        }),
        ("held by the path", |row, step| {
            words::spread_median(row.summary.path_hold_us.as_ref(), step)
        }),
        ("runs, excluded", |row, _| {
            joined(&[&row.summary.runs.to_string(), ", ", &words::excluded(row).to_string()])
        }),
    ];
    for (name, say) in figures {
        table.push_str(&joined(&["<tr><th scope=\"row\">", name, "</th>"]));
        for row in &rows {
            table.push_str(&joined(&["<td>", &say(row, scene.step), "</td>"]));
        }
        table.push_str("</tr>");
    }
    table.push_str("</tbody></table>");
    table
}

/// The text that runs there, and where the software came from.
fn config(scene: &Scene<'_>) -> String {
    let Some(own) = scene.own else { return String::new() };
    let endpoint = &own.plan.endpoint;
    let Some(config) = &endpoint.config else { return String::new() };
    let mut from = String::new();
    for text in [&endpoint.source, &endpoint.sha256].into_iter().flatten() {
        from.push_str(&joined(&["<p class=\"small\">", &escaped(text), "</p>"]));
    }
    joined(&[
        "<h3>The configuration that ran</h3>",
        &from,
        "<pre tabindex=\"0\"><code>",
        &escaped(config.trim_end()),
        "</code></pre>",
    ])
}
