//! A results file that is looked at: its rows as lanes, with where they came from. It stands in
//! place of the page's own lanes, which go on behind it.

use measure::results::CellResult;
use measure::units::decimal;
use measure::{Reader, Span};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::geometry::{self, Picture, SENT_Y};
use crate::model::imported::Imported;
use crate::model::{Model, Row, State};
use crate::split::{Measured, Part};
use crate::takeaway::prose::{self, Block};
use crate::view::chart;
use crate::view::markup::{escaped, filled, joined};
use crate::view::place::{By, document, effect, find, put};
use crate::words;

/// Most rows that are shown: the published tables have about a hundred, and past this a page
/// is no place to read them.
const MOST_ROWS: usize = 300;

/// Where the file is shown.
pub(crate) const MARKUP: &str =
    "<section class=\"looked\" aria-label=\"Results from a file\"></section>";

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
    <span class=\"unit\">ms</span><div class=\"marks\">¤</div><span class=\"end\">held, median</span>\
    </div></div>";

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
    let name = result.summary.verdict.name;
    let because = escaped(&words::because(row));
    let picture = imported.picture(&result.id);
    let held = held(result, step);
    let chart = picture.map_or(String::new(), |picture| chart(result, picture, domain, &held));
    filled(
        "<article class=\"lane\" data-who=\"¤\"><div class=\"who\"><div class=\"name\"><h2>¤</h2>\
         <p class=\"label\">¤</p></div><p class=\"verdict\">¤</p><p class=\"because\" title=\"¤\">¤\
         </p></div><div class=\"stream\">¤</div>¤</article>",
        &[
            words::holder(name).class(),
            &escaped(&prose::name(result)),
            &escaped(&prose::label(&imported.document, result)),
            words::verdict(name).0,
            &because,
            &because,
            &chart,
            // Beside a chart each part stands at its own place.
            &figures(row, if picture.is_some() { &[] } else { &held }, step, longest),
        ],
    )
}

/// Who had the tokens how long, median of all, as far as the row tells: the part, its text, and
/// whether it held them.
fn held(result: &CellResult, step: i64) -> Vec<(Part, String, bool)> {
    let browser = match result.cell.reader {
        Reader::FetchWorker => Part::Browser,
        _ => Part::Either,
    };
    let mut held = Vec::new();
    for part in [Part::Path, browser, Part::Page, Part::Paint] {
        if let Some(spread) = chart::spread_of(part, &result.summary) {
            let off = chart::off_of(part, &result.summary, step);
            let measured = Measured { span: spread.median, off };
            let late = measured.is_claimed() && geometry::is_late(measured.span);
            held.push((part, words::measured(measured, step), late));
        }
    }
    held
}

fn chart(
    result: &CellResult,
    picture: &Picture,
    domain: Span,
    held: &[(Part, String, bool)],
) -> String {
    let axes = picture.axes();
    let mut names = at(SENT_Y, "sent");
    let mut heights = Vec::new();
    let mut above = SENT_Y;
    for ((axis, _), y) in axes.iter().zip(geometry::heights(axes.len())) {
        // A native reader has no page.
        let native = result.cell.reader == Reader::Recv;
        names.push_str(&at(y, if native { "read" } else { axis.name() }));
        heights.push((above + y) / 2.0);
        above = y;
    }
    heights.push(chart::PAINT_Y);
    let mut bands = String::new();
    for ((part, text, late), y) in held.iter().zip(heights) {
        let late = if *late { " late" } else { "" };
        bands.push_str(&filled(
            "<div class=\"band ¤¤\" style=\"top:¤%\"><dt>¤</dt><dd>¤</dd></div>",
            &[part.class(), late, &decimal(y, 1), part.name(), text],
        ));
    }
    filled(
        "<div class=\"chart\"><div class=\"axes\" aria-hidden=\"true\">¤</div>\
         <div class=\"plot\" role=\"img\" aria-label=\"¤\">¤</div><dl class=\"bands\" \
         aria-label=\"Who had the tokens how long, median of all\">¤</dl></div>",
        &[&names, &escaped(&picture.described()), &chart::svg(picture, domain), &bands],
    )
}

fn at(y: f64, name: &str) -> String {
    filled("<span style=\"top:¤%\">¤</span>", &[&decimal(y, 1), name])
}

/// The figures of a row: those that a reader of its kind has.
fn figures(row: &Row, held: &[(Part, String, bool)], step: i64, longest: Span) -> String {
    let summary = &row.result.summary;
    let (value, unit) = match &summary.ttft_us {
        Some(ttft) => (words::millis(ttft.median, step), "ms"),
        None => (words::NONE.into(), ""),
    };
    let gap = summary.gap_us.as_ref();
    let busy = summary.busy_frames_per_delivery.as_ref();
    let own = words::ratio(summary.frames_per_read.as_ref().or(busy));
    let mut facts =
        vec![("gap", words::spread_median(gap, step)), ("longest", words::spread_max(gap, step))];
    if row.result.cell.reader == Reader::Recv {
        facts.push(("per read", own));
    } else {
        facts.push(("per read", words::ratio(summary.wire_frames_per_read.as_ref())));
        facts.push(("per delivery", own));
    }
    facts.extend(held.iter().map(|(part, text, _)| (part.name(), text.clone())));
    let mut figures = String::new();
    for (name, figure) in facts {
        figures.push_str(&filled("<div><dt>¤</dt><dd>¤</dd></div>", &[name, &figure]));
    }
    filled(
        "<div class=\"figures\"><p class=\"ttft\"><span class=\"value\">¤</span><span class=\"unit\">¤\
         </span><span class=\"what\">first token<span class=\"runs\">¤</span></span></p><dl>¤</dl>\
         <div class=\"foot\"><div class=\"split\" aria-hidden=\"true\">¤</div></div></div>",
        &[&value, unit, &words::runs(row), &figures, &bar(row, longest)],
    )
}

/// The split as segments, to the scale of the longest of the block.
fn bar(row: &Row, longest: Span) -> String {
    let mut bar = String::new();
    for (part, measured) in row.split.iter().flat_map(|split| &split.parts) {
        // A bar has no length below nothing; what the clocks leave open is nobody's.
        let share = measured.span.as_micros() as f64 / longest.as_micros().max(1) as f64;
        let width = decimal((share * 100.0).max(0.0), 2);
        let class = if measured.is_claimed() { part.class() } else { "unclaimed" };
        bar.push_str(&filled("<span class=\"¤\" style=\"width:¤%\"></span>", &[class, &width]));
    }
    bar
}
