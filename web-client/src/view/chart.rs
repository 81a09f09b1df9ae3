//! The slope chart of one lane: writes above, then the wire, the worker, the page; between them
//! who had the tokens, and how long.

use std::cell::Cell;
use std::rc::Rc;

use measure::stats::Spread;
use measure::units::decimal;
use measure::{Reader, Span};
use web_sys::Element;

use crate::geometry::{self, Axis, DOT_SIZES, Label, Paths, Picture, SENT_Y, WIDTH};
use crate::model::{Drawn, Model};
use crate::split::{Measured, Part};
use crate::view::live;
use crate::view::markup::joined;
use crate::view::place::{By, Own, Place, Scene, effect, put};
use crate::words;

/// Widths of the dots' strokes, by size, in CSS pixels.
pub(crate) const DOT_WIDTHS: [&str; DOT_SIZES.len()] = ["4", "6", "9", "12", "15"];

/// Where the paint's figure stands, and a dot's count: below the page's axis.
pub(crate) const PAINT_Y: f64 = 93.0;
/// The middle of a count's text.
const COUNT_Y: f64 = 94.0;

pub(crate) const MARKUP: &str = "<div class=\"chart\"><div class=\"axes\" aria-hidden=\"true\">\
    </div><div class=\"plot\" role=\"img\"></div><dl class=\"bands\" \
    aria-label=\"Who had the tokens how long, median of all\"></dl></div>";

pub(crate) const PLACES: &[Place] = &[
    (".axes", By::Markup, axes),
    (".bands", By::Markup, bands),
    (".plot", By::Attribute("aria-label"), described),
];

/// Words are made once a run is over: a screen reader is not told of every frame.
fn described(scene: &Scene<'_>) -> String {
    scene.drawn.as_ref().map_or(String::new(), |drawn| drawn.picture.described())
}

/// The axes below the emitter's: the run's own, or those that the reader will have.
fn axes_of(scene: &Scene<'_>) -> Vec<Axis> {
    match &scene.drawn {
        Some(drawn) => drawn.picture.axes().into_iter().map(|(axis, _)| axis).collect(),
        None if scene.state.reader == Reader::FetchWorker => {
            vec![Axis::Wire, Axis::Worker, Axis::Page]
        }
        None => vec![Axis::Wire, Axis::Page],
    }
}

fn axes(scene: &Scene<'_>) -> String {
    let axes = axes_of(scene);
    // While a stream runs only its script is known; the ledger comes with its end.
    let lane = scene.own.and_then(|own| own.lane.as_ref());
    let runs = lane.is_some_and(|lane| lane.streaming().is_some());
    let mut markup = at(SENT_Y, if runs { "due" } else { "sent" });
    for (axis, y) in axes.iter().zip(geometry::heights(axes.len())) {
        markup.push_str(&at(y, axis.name()));
    }
    markup
}

fn at(y: f64, name: &str) -> String {
    joined(&["<span style=\"top:", &decimal(y, 1), "%\">", name, "</span>"])
}

/// Who had the tokens between two axes, with the median of all of them, beside the place where
/// the lines show it.
fn bands(scene: &Scene<'_>) -> String {
    let axes = axes_of(scene);
    let has_worker = axes.contains(&Axis::Worker);
    let (mut markup, mut above, mut above_y) = (String::new(), None, SENT_Y);
    for (axis, y) in axes.iter().zip(geometry::heights(axes.len())) {
        let part = geometry::part(above, *axis, has_worker);
        markup.push_str(&band(scene, part, (above_y + y) / 2.0));
        (above, above_y) = (Some(*axis), y);
    }
    markup.push_str(&band(scene, Part::Paint, PAINT_Y));
    markup
}

fn band(scene: &Scene<'_>, part: Part, y: f64) -> String {
    let measured = scene.row.and_then(|row| median_of(part, scene, &row.result.summary));
    let (text, off) = match measured {
        None => (words::NONE.into(), String::new()),
        Some(measured) => (
            words::measured(measured, scene.step),
            joined(&[
                ": ",
                &words::span(measured.span, scene.step),
                " ",
                &words::off(measured.off),
            ]),
        ),
    };
    let class = match measured.filter(|measured| measured.is_claimed()) {
        Some(measured) if geometry::is_late(measured.span) => " late",
        Some(_) => "",
        None => " unclaimed",
    };
    joined(&[
        "<div class=\"band ",
        part.class(),
        class,
        "\" style=\"top:",
        &decimal(y, 1),
        "%\" title=\"",
        part.formula(),
        &off,
        "\"><dt>",
        part.name(),
        "</dt><dd>",
        &text,
        "</dd></div>",
    ])
}

/// What a part took, over all tokens of all runs, and how far it may be off.
pub(crate) fn spread_of(part: Part, summary: &measure::summary::Summary) -> Option<&Spread> {
    match part {
        Part::Path => summary.path_hold_us.as_ref(),
        Part::Tap => summary.tap_cost_us.as_ref(),
        Part::Browser | Part::Either => summary.browser_hold_us.as_ref(),
        Part::Page => summary.page_us.as_ref(),
        Part::Paint => summary.paint_us.as_ref(),
        Part::Request | Part::Undivided => None,
    }
}

/// How far a part's figure may be off.
pub(crate) fn off_of(part: Part, summary: &measure::summary::Summary, step: i64) -> Span {
    let off = match part {
        Part::Path => summary.path_uncertainty_us,
        Part::Browser | Part::Either | Part::Request | Part::Undivided => {
            summary.clock_uncertainty_us
        }
        Part::Page => summary.page_uncertainty_us,
        Part::Paint => Some(Span(step)),
        Part::Tap => None,
    };
    off.unwrap_or_default()
}

fn median_of(
    part: Part,
    scene: &Scene<'_>,
    summary: &measure::summary::Summary,
) -> Option<Measured> {
    let spread = spread_of(part, summary)?;
    Some(Measured { span: spread.median, off: off_of(part, summary, scene.step) })
}

/// Draws the last run of the row that is looked at, and lets the running one be drawn over it.
pub(crate) fn keep(model: Model, root: &Element, own: &Own) {
    let (Some(lane), Ok(Some(plot))) = (own.lane.clone(), root.query_selector(".plot")) else {
        return;
    };
    // Whether what is in the plot is a running stream's drawing.
    let live = Rc::new(Cell::new(false));
    if let Ok(Some(text)) = root.query_selector(".tokens p") {
        lane.set_painter(live::painter(model, plot.clone(), text, live.clone()));
    }
    let key = own.key.clone();
    let mut last: Option<(Option<u32>, Span)> = None;
    effect(Box::new(move || {
        lane.track();
        model.see(|state| {
            if lane.streaming().is_some() {
                return;
            }
            let row = state.row(&key);
            let drawn = row.and_then(|row| lane.drawn(&row.result.id));
            let now = (drawn.as_ref().map(|drawn| drawn.number), state.domain());
            let same = last == Some(now);
            // A stream's drawing stays until its run is told, or nothing more comes of it.
            if same && (!live.get() || state.is_running()) {
                return;
            }
            last = Some(now);
            live.set(false);
            put(&plot, By::Markup, &markup(drawn.as_ref(), state.domain()));
        });
    }));
}

fn markup(drawn: Option<&Drawn>, domain: Span) -> String {
    match drawn {
        Some(drawn) => svg(&drawn.picture, domain),
        None => svg(&Picture::default(), domain),
    }
}

/// The chart as SVG, with the counts beside it since its box is stretched. Numbers only: nothing
/// that came over the network is among it.
pub(crate) fn svg(picture: &Picture, domain: Span) -> String {
    let paths = Paths::of(picture, domain);
    let mut svg = String::from(OPEN);
    svg.push_str("\">");
    path(&mut svg, "grid", &grid(domain), "");
    let heights: Vec<f64> = paths.axes.iter().map(|axis| axis.1).collect();
    path(&mut svg, "axes", &axis_lines(&heights), "");
    // What was held is drawn over what was not.
    for band in &paths.bands {
        path(&mut svg, "line", &band.prompt, "");
    }
    for band in &paths.bands {
        path(&mut svg, &["line late ", band.part.class()].concat(), &band.late, "");
        if band.part == Part::Either {
            // Both hues in turn: neither is blamed.
            path(&mut svg, "line late either other", &band.late, "");
        }
    }
    path(&mut svg, "ticks", &paths.ticks, "");
    for (_, _, dots, part) in &paths.axes {
        let late = ["dot late ", part.class()].concat();
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

/// The chart's opening tag, its class left open.
pub(crate) const OPEN: &str =
    "<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" class=\"slope";

/// A count below the last axis's dot.
pub(crate) fn count(label: &Label) -> String {
    let (left, top) = (decimal(label.share * 100.0, 2), decimal(COUNT_Y, 1));
    let class = if label.tight { "count tight" } else { "count" };
    joined(&[
        "<span class=\"",
        class,
        "\" style=\"left:",
        &left,
        "%;top:",
        &top,
        "%\">",
        &label.count.to_string(),
        "</span>",
    ])
}

pub(crate) fn path(svg: &mut String, class: &str, d: &str, width: &str) {
    if d.is_empty() {
        return;
    }
    for part in ["<path class=\"", class, "\" d=\"", d] {
        svg.push_str(part);
    }
    if !width.is_empty() {
        svg.push_str("\" stroke-width=\"");
        svg.push_str(width);
    }
    svg.push_str("\"/>");
}

pub(crate) fn grid(domain: Span) -> String {
    let mut grid = String::new();
    for (_, share) in geometry::ruler(domain) {
        grid.push('M');
        geometry::tenths(&mut grid, share * WIDTH);
        grid.push_str(" 0V100");
    }
    grid
}

/// The emitter's axis and those at these heights.
pub(crate) fn axis_lines(heights: &[f64]) -> String {
    let mut axes = String::new();
    for y in std::iter::once(&SENT_Y).chain(heights) {
        axes.push_str("M0 ");
        geometry::tenths(&mut axes, *y);
        axes.push_str("H1000");
    }
    axes
}
