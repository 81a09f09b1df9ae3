//! A results file that is looked at: its rows as lanes, with where they came from. It stands in
//! place of the page's own lanes, which go on behind it.

use std::rc::Rc;

use leptos::prelude::*;
use measure::results::CellResult;
use measure::units::decimal;
use measure::{Reader, Verdict};
use web_sys::Element;

use crate::geometry;
use crate::model::imported::Imported;
use crate::model::{Model, Row, State};
use crate::takeaway::prose::{self, Block};
use crate::view::markup::{escaped, joined};
use crate::view::place::{By, Place, Scene, document, effect, find, put};
use crate::view::{chart, figures};
use crate::words::{self, Mood};

/// Most rows that are shown: the published tables have about a hundred, and past this a page
/// is no place to read them.
const MOST_ROWS: usize = 300;

/// Where the file is shown.
#[component]
pub(crate) fn Looked() -> impl IntoView {
    view! { <section class="looked" aria-label="Results from a file"></section> }
}

/// Shows the file that is looked at, and takes it away when it is not, or when something runs.
pub(crate) fn keep(model: Model) {
    let mut last: Option<Rc<Imported>> = None;
    effect(Box::new(move || {
        let mut imported = model.imported();
        if imported.is_some() && model.see(State::is_running) == Some(true) {
            model.forget_document();
            imported = None;
        }
        let same = match (&imported, &last) {
            (Some(now), Some(before)) => Rc::ptr_eq(now, before),
            (now, before) => now.is_none() && before.is_none(),
        };
        let Some(root) = find(".looked").filter(|_| !same) else { return };
        if let Some(html) = document().and_then(|document| document.document_element()) {
            // Only the style sheet looks at it.
            let _ = html.toggle_attribute_with_force("data-looking", imported.is_some());
        }
        match &imported {
            Some(imported) => show(model, &root, imported),
            None => put(&root, By::Markup, ""),
        }
        last = imported;
    }));
}

fn show(model: Model, root: &Element, imported: &Imported) {
    let results: Vec<&CellResult> = imported.document.cells.iter().take(MOST_ROWS).collect();
    let blocks = prose::blocks(results.iter().copied());
    let mut markup = head(imported, results.len());
    for block in &blocks {
        markup.push_str(&block_markup(imported, block));
    }
    put(root, By::Markup, &markup);
    // What is drawn needs its place first.
    let mut article = root.query_selector_all(".lane").ok().map(|list| (list, 0));
    for block in &blocks {
        let Some((list, next)) = &mut article else { return };
        let rows: Vec<Row> = block.rows.iter().filter_map(|row| own(imported, row)).collect();
        let Some(mut state) = model.look(State::clone) else { return };
        state.domain = imported.domain(&rows);
        if let Some(first) = rows.first() {
            state.reader = first.result.cell.reader;
            state.sight = first.sight();
        }
        state.rows = rows.clone();
        for row in &rows {
            let place = list.get(*next).map(wasm_bindgen::JsCast::unchecked_into::<Element>);
            *next += 1;
            let picture = imported.picture(&row.result.id).cloned().unwrap_or_default();
            let step = block.clock_step_us();
            let scene = Scene { model, state: &state, step, row: Some(row), own: None, picture };
            if let Some(place) = place {
                let bar = figures::PLACES.iter().filter(|place| place.0 == ".split");
                say(&place, &scene, bar);
                say(&place, &scene, chart::PLACES);
            }
        }
    }
}

fn say<'a>(root: &Element, scene: &Scene<'_>, places: impl IntoIterator<Item = &'a Place>) {
    for (selector, by, words) in places {
        if let Ok(Some(element)) = root.query_selector(selector) {
            put(&element, *by, &words(scene));
        }
    }
}

fn own(imported: &Imported, result: &CellResult) -> Option<Row> {
    imported.rows.iter().find(|row| row.result == *result).cloned()
}

/// What file it is, and where it came from.
fn head(imported: &Imported, shown: usize) -> String {
    let document = &imported.document;
    let mut markup = joined(&[
        "<header class=\"from\"><div><h2 tabindex=\"-1\">",
        &escaped(&imported.name),
        "</h2><p class=\"mark\">From a file: not measured by this page. What was measured here \
         still stands behind it.</p></div>\
         <button type=\"button\" data-act=\"take\" data-key=\"live\">Back to live</button><dl>",
    ]);
    for (name, what) in prose::origin(document) {
        for part in ["<div><dt>", name, "</dt><dd>", &escaped(&what), "</dd></div>"] {
            markup.push_str(part);
        }
    }
    markup.push_str("</dl>");
    let mut notes: Vec<String> = Vec::new();
    if imported.pictures.is_empty() {
        notes.push(
            "A results file has figures and no single runs: for the slope charts drop the \
             runs.ndjson that stands beside it."
                .into(),
        );
    }
    for (name, why) in prose::not_run(document) {
        notes.push(joined(&[name, " did not run: ", &words::sentence(why)]));
    }
    let (of, told) = (document.cells.len(), shown.to_string());
    if of > shown {
        notes.push(joined(&["The first ", &told, " of ", &of.to_string(), " rows are shown."]));
    }
    for note in notes {
        markup.push_str(&joined(&["<p class=\"note\">", &escaped(&note), "</p>"]));
    }
    markup.push_str("</header>");
    markup
}

fn block_markup(imported: &Imported, block: &Block<'_>) -> String {
    let has_charts = block.rows.iter().any(|row| imported.picture(&row.id).is_some());
    let mut markup = joined(&[
        if has_charts { "<section class=\"block\">" } else { "<section class=\"block plain\">" },
        "<h3 class=\"block-title\">",
        &escaped(&block.title),
        "</h3>",
    ]);
    if let Some(answer) = block.answer() {
        markup.push_str(&joined(&["<p class=\"block-answer\">", &escaped(&answer), "</p>"]));
    }
    if has_charts {
        let rows: Vec<Row> = block.rows.iter().filter_map(|row| own(imported, row)).collect();
        markup.push_str(
            "<div class=\"scale\"><span></span><div class=\"ruler\" aria-hidden=\"true\">\
            <span class=\"unit\">ms</span><div class=\"marks\">",
        );
        for (at, share) in geometry::ruler(imported.domain(&rows)) {
            let (left, ms) = (decimal(share * 100.0, 2), (at.as_micros() / 1_000).to_string());
            markup.push_str(&joined(&["<span style=\"left:", &left, "%\">", &ms, "</span>"]));
        }
        markup.push_str(
            "</div></div><ul class=\"legend\" aria-label=\"Parts of the time to the \
            first token\"><li class=\"request\">request</li><li class=\"path\">path</li>\
            <li class=\"browser\">browser or page</li></ul></div>",
        );
    }
    for row in &block.rows {
        markup.push_str(&lane(imported, row, block.clock_step_us()));
    }
    markup.push_str("</section>");
    markup
}

fn lane(imported: &Imported, result: &CellResult, step: i64) -> String {
    let Some(row) = own(imported, result) else { return String::new() };
    let (verdict, mood) = words::verdict(result.summary.verdict.name);
    let mood = match mood {
        Mood::Good => "good",
        Mood::Bad => "bad",
        Mood::Open => "open",
    };
    let because = escaped(&words::because(&row));
    let chart = if imported.picture(&result.id).is_some() { chart::MARKUP } else { "" };
    joined(&[
        "<article class=\"lane\"><div class=\"who\"><div class=\"name\"><h2>",
        &escaped(&result.cell.endpoint),
        "</h2><span class=\"label\">",
        &escaped(&prose::label(&imported.document, result)),
        "</span></div><p class=\"verdict\" data-mood=\"",
        mood,
        "\">",
        verdict,
        "</p><p class=\"because\" title=\"",
        &because,
        "\">",
        &because,
        "</p></div><div class=\"stream\">",
        chart,
        "</div>",
        &figures_of(&row, step),
        "</article>",
    ])
}

/// The figures of a row: those that a reader of its kind has.
fn figures_of(row: &Row, step: i64) -> String {
    let summary = &row.result.summary;
    let ttft = summary.ttft_us.as_ref();
    let (value, unit) = match ttft {
        Some(ttft) => (words::millis(ttft.median, step), "ms"),
        None => (words::NONE.into(), ""),
    };
    let mut figures = joined(&[
        "<div class=\"figures\"><div class=\"first\"><p class=\"ttft\"><span class=\"value\">",
        &value,
        "</span><span class=\"unit\">",
        unit,
        "</span></p><p class=\"what\">to the first token</p><div class=\"split\" role=\"img\"></div>\
         <p class=\"runs\">",
        &words::runs(row),
        "</p></div><dl>",
    ]);
    let gap = summary.gap_us.as_ref();
    let mut facts = vec![
        ("gap, median", words::spread_median(gap, step)),
        ("longest", words::spread_max(gap, step)),
    ];
    let per_read = words::ratio(summary.frames_per_read.as_ref());
    if row.result.cell.reader == Reader::Recv {
        facts.push(("frames / read", per_read));
    } else {
        facts.push(("frames / read, wire", words::ratio(summary.wire_frames_per_read.as_ref())));
        facts.push(("/ delivery, page", per_read));
    }
    facts.push(("held by the path", words::spread_median(summary.path_hold_us.as_ref(), step)));
    for (name, spread) in [
        ("browser or page", &summary.browser_hold_us),
        ("page", &summary.page_us),
        ("paint", &summary.paint_us),
    ] {
        if spread.is_some() {
            facts.push((name, words::spread_median(spread.as_ref(), step)));
        }
    }
    if summary.verdict.name == Verdict::Failed {
        facts.clear();
    }
    for (name, figure) in facts {
        figures.push_str(&joined(&["<div><dt>", name, "</dt><dd>", &figure, "</dd></div>"]));
    }
    figures.push_str("</dl></div>");
    figures
}
