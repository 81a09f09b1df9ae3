//! A results file that is looked at: its rows as lanes, with where they came from. It stands in
//! place of the page's own lanes, which go on behind it.

use leptos::prelude::*;
use measure::results::CellResult;
use measure::units::decimal;
use measure::{Reader, Span};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::geometry;
use crate::model::imported::Imported;
use crate::model::{Model, Row, State};
use crate::takeaway::prose::{self, Block};
use crate::view::chart;
use crate::view::markup::{escaped, filled, joined};
use crate::view::place::{By, document, effect, find, put};
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
    let mut shown = (0, false);
    effect(Box::new(move || {
        let mut there = model.sees_imported();
        if there && model.see(State::is_running) == Some(true) {
            model.forget_document();
            there = false;
        }
        let now = (model.imported_version(), there);
        let Some(root) = find(".looked").filter(|_| shown != now) else { return };
        shown = now;
        if let Some(html) = document().and_then(|document| document.document_element()) {
            // Only the style sheet looks at it.
            let _ = html.toggle_attribute_with_force("data-looking", there);
        }
        put(&root, By::Markup, &model.with_imported(markup).unwrap_or_default());
        if let Ok(Some(heading)) = root.query_selector("h2") {
            // Who uses a keyboard or a screen reader is taken there; what cannot be focused is
            // left alone.
            let _ = heading.unchecked_into::<HtmlElement>().focus();
        }
    }));
}

fn markup(imported: &Imported) -> String {
    let mut results = imported.results();
    let all = results.len();
    results.truncate(MOST_ROWS);
    let mut markup = head(imported, &results, all);
    for block in prose::blocks(&results) {
        markup.push_str(&block_markup(imported, &block));
    }
    markup
}

/// What file it is, and where it came from.
fn head(imported: &Imported, shown: &[&CellResult], all: usize) -> String {
    let document = &imported.document;
    let mut facts = String::new();
    for (name, what) in prose::origin(document, shown) {
        let fact = filled("<div><dt>¤</dt><dd>¤</dd></div>", &[name, &escaped(&what)]);
        facts.push_str(&fact);
    }
    let mut notes = String::new();
    let mut note = |text: &str| {
        notes.push_str(&filled("<p class=\"note\">¤</p>", &[&escaped(text)]));
    };
    if imported.pictures.is_empty() {
        note(
            "A results file has figures and no single runs: for the slope charts drop the \
             runs.ndjson that stands beside it.",
        );
    }
    for (name, why) in prose::not_run(document, shown) {
        note(&joined(&[name, " did not run: ", &words::sentence(why)]));
    }
    if all > shown.len() {
        let (told, of) = (shown.len().to_string(), all.to_string());
        note(&filled("The first ¤ of ¤ rows are shown.", &[&told, &of]));
    }
    filled(
        "<header class=\"from\"><div><h2 tabindex=\"-1\">¤</h2><p class=\"mark\">From a file: not \
         measured by this page. What was measured here still stands behind it.</p></div>\
         <button type=\"button\" data-act=\"take\" data-key=\"live\">Back to live</button>\
         <dl>¤</dl>¤</header>",
        &[&escaped(&imported.name), &facts, &notes],
    )
}

fn block_markup(imported: &Imported, block: &Block<'_>) -> String {
    let has_charts = block.rows.iter().any(|row| imported.picture(&row.id).is_some());
    let answer = block.answer().map_or(String::new(), |answer| {
        filled("<p class=\"block-answer\">¤</p>", &[&escaped(&answer)])
    });
    let domain = imported.domain(&block.rows);
    let scale = if has_charts { filled(SCALE, &[&marks(domain)]) } else { String::new() };
    let splits = block.rows.iter().filter_map(|row| imported.row(row)?.split.as_ref());
    let longest = splits.map(|split| split.total()).max().unwrap_or_default();
    let mut lanes = String::new();
    for row in block.rows.iter().filter_map(|row| imported.row(row)) {
        lanes.push_str(&lane(imported, row, block.clock_step_us(), (domain, longest)));
    }
    filled(
        "<section class=\"block¤\"><h3 class=\"block-title\">¤</h3>¤¤¤</section>",
        &[if has_charts { "" } else { " plain" }, &escaped(&block.title), &answer, &scale, &lanes],
    )
}

const SCALE: &str = "<div class=\"scale\"><span></span><div class=\"ruler\" aria-hidden=\"true\">\
    <span class=\"unit\">ms</span><div class=\"marks\">¤</div></div>\
    <ul class=\"legend\" aria-label=\"Parts of the time to the first token\">\
    <li class=\"request\">request</li><li class=\"path\">path</li>\
    <li class=\"browser\">browser or page</li></ul></div>";

fn marks(domain: Span) -> String {
    let mut marks = String::new();
    for (at, share) in geometry::ruler(domain) {
        let (left, ms) = (decimal(share * 100.0, 2), (at.as_micros() / 1_000).to_string());
        marks.push_str(&filled("<span style=\"left:¤%\">¤</span>", &[&left, &ms]));
    }
    marks
}

fn lane(imported: &Imported, row: &Row, step: i64, (domain, longest): (Span, Span)) -> String {
    let result = &row.result;
    let (verdict, mood) = words::verdict(result.summary.verdict.name);
    let mood = match mood {
        Mood::Good => "good",
        Mood::Bad => "bad",
        Mood::Open => "open",
    };
    let because = escaped(&words::because(row));
    let chart = imported.picture(&result.id).map_or(String::new(), |picture| {
        let wire = if picture.wire.is_empty() { "" } else { "wire" };
        filled(CHART, &[wire, &escaped(&picture.described()), &chart::svg(picture, domain)])
    });
    filled(
        "<article class=\"lane\"><div class=\"who\"><div class=\"name\"><h2>¤</h2>\
         <span class=\"label\">¤</span></div><p class=\"verdict\" data-mood=\"¤\">¤</p>\
         <p class=\"because\" title=\"¤\">¤</p></div><div class=\"stream\">¤</div>¤</article>",
        &[
            &escaped(&result.cell.endpoint),
            &escaped(&prose::label(&imported.document, result)),
            mood,
            verdict,
            &because,
            &because,
            &chart,
            &figures_of(row, step, longest),
        ],
    )
}

const CHART: &str = "<div class=\"chart\"><span class=\"axis sent\" aria-hidden=\"true\">sent</span>\
    <span class=\"axis wire\" aria-hidden=\"true\">¤</span>\
    <span class=\"axis page\" aria-hidden=\"true\">read</span>\
    <div class=\"plot\" role=\"img\" aria-label=\"¤\">¤</div></div>";

/// The figures of a row: those that a reader of its kind has.
fn figures_of(row: &Row, step: i64, longest: Span) -> String {
    let summary = &row.result.summary;
    let (value, unit) = match &summary.ttft_us {
        Some(ttft) => (words::millis(ttft.median, step), "ms"),
        None => (words::NONE.into(), ""),
    };
    let gap = summary.gap_us.as_ref();
    let per_read = words::ratio(summary.frames_per_read.as_ref());
    let mut facts = vec![
        ("gap, median", words::spread_median(gap, step)),
        ("longest", words::spread_max(gap, step)),
    ];
    if row.result.cell.reader == Reader::Recv {
        facts.push(("frames / read", per_read));
    } else {
        facts.push(("frames / read, wire", words::ratio(summary.wire_frames_per_read.as_ref())));
        facts.push(("/ delivery, page", per_read));
    }
    for (name, spread) in [
        ("held by the path", &summary.path_hold_us),
        ("browser or page", &summary.browser_hold_us),
        ("page", &summary.page_us),
        ("paint", &summary.paint_us),
    ] {
        if spread.is_some() {
            facts.push((name, words::spread_median(spread.as_ref(), step)));
        }
    }
    let mut figures = String::new();
    for (name, figure) in facts {
        figures.push_str(&filled("<div><dt>¤</dt><dd>¤</dd></div>", &[name, &figure]));
    }
    filled(
        "<div class=\"figures\"><div class=\"first\"><p class=\"ttft\"><span class=\"value\">¤</span>\
         <span class=\"unit\">¤</span></p><p class=\"what\">to the first token</p>\
         <div class=\"split\" aria-hidden=\"true\">¤</div><p class=\"runs\">¤</p></div>\
         <dl>¤</dl></div>",
        &[&value, unit, &bar(row, longest), &words::runs(row), &figures],
    )
}

/// The split as segments, to the scale of the longest of the block.
fn bar(row: &Row, longest: Span) -> String {
    let mut bar = String::new();
    for (part, measured) in row.split.iter().flat_map(|split| &split.parts) {
        // A bar has no length below nothing.
        let share = measured.span.as_micros() as f64 / longest.as_micros().max(1) as f64;
        let width = decimal((share * 100.0).max(0.0), 2);
        bar.push_str(&filled(
            "<span class=\"¤\" style=\"width:¤%\"></span>",
            &[part.class(), &width],
        ));
    }
    bar
}
