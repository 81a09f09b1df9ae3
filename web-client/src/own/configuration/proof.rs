//! The proof: your configuration and the corrected one, as lanes beside the way without a proxy.

use measure::units::decimal;
use measure::{Span, Verdict};

use super::answer::{Proof, Row, Story};
use super::state::{Phase, State};
use super::view::coded;
use crate::geometry::{self, PAGE_Y, Paths, SENT_Y};
use crate::own::view::marks;
use crate::split::Part;
use crate::view::chart::{DOT_WIDTHS, OPEN, axis_lines, count, grid, path};
use crate::view::markup::{escaped, filled, joined};
use crate::words::{self, NONE};

/// What a proof's script lasts: 24 frames, one each 50 ms.
const PLANNED: Span = Span::millis(1_150);

/// The native reader's stamps are the kernel's: they have no page's clock step.
const FINE: i64 = 1;

/// Verdicts that a proof can come to.
const VERDICTS: [Verdict; 13] = [
    Verdict::Live,
    Verdict::Held,
    Verdict::Corked,
    Verdict::BufferBursts,
    Verdict::OneBehind,
    Verdict::FlowControl,
    Verdict::BatchedAtOrigin,
    Verdict::TypeChanged,
    Verdict::Truncated,
    Verdict::NoToken,
    Verdict::Failed,
    Verdict::Void,
    Verdict::CannotTell,
];

/// The proof's markup; empty where nothing was read, or nothing is to be proved.
pub(super) fn markup(state: &State) -> String {
    let Some(story) = &state.story else { return String::new() };
    match (state.phase, &story.proof) {
        (Phase::Measuring(runs), _) => {
            let share = runs.map_or(0.0, |(done, of)| f64::from(done) / f64::from(of.max(1)));
            filled(
                "<div class=\"bar\"><h2>The proof</h2></div><p class=\"small\">¤</p>\
                 <div class=\"going\"><div style=\"width:¤%\"></div></div>",
                &[PLAN, &decimal(share * 100.0, 0)],
            )
        }
        (_, Some(Proof::Measured { by, rows, shows, changed })) => {
            measured(story, by, rows, shows, changed)
        }
        (_, Some(Proof::Not(why))) => filled(
            "<div class=\"bar\"><h2>The proof</h2>¤</div><p>Not measured: ¤.</p>",
            &[&button("Measure it again"), &coded(why)],
        ),
        (_, None) if story.block.is_some() => filled(
            "<div class=\"bar\"><h2>The proof</h2>¤</div><p class=\"small\">¤</p>",
            &[&button("Measure it"), PLAN],
        ),
        (_, None) => String::new(),
    }
}

/// What happens.
const PLAN: &str = "The pinned proxy runs your text and the corrected one on this machine, every \
    upstream replaced by an emitter that writes a frame each 50 ms; each is read three times, as a \
    browser asks. It takes half a minute.";

fn button(name: &str) -> String {
    filled(
        "<div class=\"controls\"><button type=\"button\" class=\"primary\" id=\"measure-it\" \
         data-act=\"measure\">¤</button></div>",
        &[name],
    )
}

fn measured(story: &Story, by: &str, rows: &[Row], shows: &str, changed: &[String]) -> String {
    let pictures = rows.iter().filter_map(|row| row.picture.as_ref());
    let latest = pictures.map(|picture| picture.latest).max().unwrap_or_default();
    let domain = geometry::domain(PLANNED, latest);
    let mut markup = filled(
        "<div class=\"bar\"><h2>¤</h2>¤</div><p class=\"small\">By ¤, the emitter behind it.</p>\
         <div class=\"lanes\"><div class=\"scale\"><span></span><div class=\"ruler\" \
         aria-hidden=\"true\"><span class=\"unit\">ms</span><div class=\"marks\">¤</div></div>\
         <span></span></div>",
        &[&escaped(shows), &button("Measure it again"), &escaped(by), &marks(domain)],
    );
    for name in ["yours", "corrected", "direct"] {
        if let Some(row) = rows.iter().find(|row| row.name == name) {
            lane(&mut markup, story, row, domain);
        }
    }
    markup.push_str("</div>");
    if !changed.is_empty() {
        markup.push_str(
            "<details class=\"changed\"><summary>What was changed to run it here</summary><ul>",
        );
        for line in changed {
            markup.push_str(&filled("<li>¤</li>", &[&coded(line)]));
        }
        markup.push_str("</ul></details>");
    }
    markup
}

fn lane(markup: &mut String, story: &Story, row: &Row, domain: Span) {
    let (name, label) = match row.name.as_str() {
        "yours" => ("Yours", "as it is"),
        "corrected" => ("Corrected", "with the block above"),
        _ => ("Without a proxy", "the emitter itself, as control"),
    };
    let label = match (row.name.as_str(), story.corrected.is_some()) {
        ("corrected", false) => "with the lines above",
        _ => label,
    };
    let verdict = VERDICTS.into_iter().find(|own| own.name() == row.verdict);
    let holder = words::holder(verdict.unwrap_or(Verdict::CannotTell)).class();
    let said = verdict.map_or(row.verdict.as_str(), |own| words::verdict(own).0);
    let ttft = row.ttft.map_or(NONE.into(), |own| words::millis(own, FINE));
    let runs = match row.runs {
        (runs, 0) => words::count(runs, "run"),
        (runs, excluded) => {
            filled("¤, ¤ excluded", &[&words::count(runs, "run"), &excluded.to_string()])
        }
    };
    let gap = row.gap.map_or(NONE.into(), |own| words::span(own, FINE));
    let described = row.picture.as_ref().map(|own| own.described()).unwrap_or_default();
    markup.push_str(&filled(
        "<article class=\"lane\" data-name=\"¤\" data-who=\"¤\"><div class=\"who\"><div class=\"name\">\
         <h2>¤</h2><p class=\"label\">¤</p></div><p class=\"verdict\">¤</p><p class=\"because\">¤</p>\
         </div><div class=\"stream\"><div class=\"chart\"><div class=\"axes\" aria-hidden=\"true\">\
         <span style=\"top:¤%\">sent</span><span style=\"top:¤%\">read</span></div>\
         <div class=\"plot\" role=\"img\" aria-label=\"¤\">¤</div></div></div>\
         <div class=\"figures\"><p class=\"ttft\"><span class=\"value\">¤</span>\
         <span class=\"unit\">¤</span><span class=\"what\">first token<br>median\
         <span class=\"runs\">¤</span></span></p><dl class=\"list\"><div><dt>frames a read</dt>\
         <dd>¤</dd></div><div><dt>between frames</dt><dd>¤</dd></div></dl></div></article>",
        &[
            &escaped(&row.name),
            holder,
            name,
            label,
            &escaped(said),
            &escaped(&words::sentence(&row.because)),
            &decimal(SENT_Y, 1),
            &decimal(PAGE_Y, 1),
            &escaped(&described),
            &chart(row, domain),
            &ttft,
            if row.ttft.is_some() { "ms" } else { "" },
            &runs,
            row.per_read.as_deref().unwrap_or(NONE),
            &gap,
        ],
    ));
}

/// Writes above, reads below; what leans was held by the path.
fn chart(row: &Row, domain: Span) -> String {
    let mut svg = joined(&[OPEN, "\" aria-hidden=\"true\">"]);
    path(&mut svg, "grid", &grid(domain), "");
    path(&mut svg, "axes", &axis_lines(&[PAGE_Y]), "");
    let Some(picture) = &row.picture else { return joined(&[&svg, "</svg>"]) };
    let paths = Paths::of(picture, domain);
    for band in &paths.bands {
        path(&mut svg, "line", &band.prompt, "");
        path(&mut svg, &["line late ", Part::Path.class()].concat(), &band.late, "");
    }
    path(&mut svg, "ticks", &paths.ticks, "");
    let late = ["dot late ", Part::Path.class()].concat();
    for (_, _, dots, _) in &paths.axes {
        for (class, sizes) in [("dot", &dots.prompt), (late.as_str(), &dots.late)] {
            for (dots, width) in sizes.iter().zip(DOT_WIDTHS) {
                path(&mut svg, class, dots, width);
            }
        }
    }
    svg.push_str("</svg>");
    for label in &paths.labels {
        svg.push_str(&count(label));
    }
    svg
}
