//! The slope chart of one lane: writes above, the wire between, arrivals below.

use std::fmt::Write;

use leptos::prelude::*;
use measure::Span;

use crate::geometry::{self, DOT_SIZES, HEIGHT, PAGE_Y, Paths, Picture, SENT_Y, WIDTH, WIRE_Y};
use crate::model::{LaneModel, Model};
use crate::view::parts::text;

/// Widths of the dots' strokes, by size, in CSS pixels.
const DOT_WIDTHS: [u32; DOT_SIZES.len()] = [4, 6, 9, 12, 15];

/// The chart; drawn anew when the lane has something new, at most once a frame.
pub(crate) fn chart(model: Model, own: LaneModel, name: String) -> AnyView {
    let picture = move || {
        own.track();
        let cell = model.see(|state| state.row(&name).map(|row| row.result.id.clone()));
        own.picture(cell.as_deref().unwrap_or_default())
    };
    let picture = StoredValue::new(picture);
    let drawn = text(move || {
        let domain = model.see(|state| state.domain);
        markup(&picture.with_value(|picture| picture()), domain)
    });
    // Words are made once a run is over: a screen reader is not told of every frame.
    let words = text(move || {
        let picture = picture.with_value(|picture| picture());
        if picture.provisional { String::new() } else { picture.described() }
    });
    let wire = text(move || {
        let picture = picture.with_value(|picture| picture());
        if picture.wire.is_empty() { String::new() } else { "wire".into() }
    });
    view! {
        <div class="chart">
            <span class="axis sent" aria-hidden="true">"sent"</span>
            <span class="axis wire" aria-hidden="true">{wire}</span>
            <span class="axis page" aria-hidden="true">"page"</span>
            // Numbers only: nothing that came over the network is among it.
            <div class="plot" role="img" aria-label=words inner_html=drawn></div>
        </div>
    }
    .into_any()
}

/// The chart as SVG, with the counts beside it since its box is stretched.
fn markup(picture: &Picture, domain: Span) -> String {
    let paths = Paths::of(picture, domain);
    let class = if picture.provisional { "provisional" } else { "measured" };
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" class=\"{class}\">"
    );
    let mut path = |class: &str, d: &str, style: &str| {
        if !d.is_empty() {
            // Writing into a string cannot fail.
            let _ = write!(svg, "<path class=\"{class}\" d=\"{d}\"{style}/>");
        }
    };
    path("grid", &grid(domain), "");
    path("axes", &axes(!picture.wire.is_empty()), "");
    path("path-lines", &paths.path_lines, "");
    path("page-lines", &paths.page_lines, "");
    path("ticks", &paths.ticks, "");
    for (class, sizes) in [("wire-dots", &paths.wire_dots), ("page-dots", &paths.page_dots)] {
        for (dots, width) in sizes.iter().zip(DOT_WIDTHS) {
            path(class, dots, &format!(" stroke-width=\"{width}\""));
        }
    }
    svg.push_str("</svg>");
    for label in &paths.labels {
        let (left, count) = (label.share * 100.0, label.count);
        let _ = write!(svg, "<span class=\"count\" style=\"left:{left:.2}%\">{count}</span>");
    }
    svg
}

fn grid(domain: Span) -> String {
    let marks = geometry::ruler(domain).into_iter();
    marks.map(|(_, share)| format!("M{:.1} 0V{HEIGHT}", share * WIDTH)).collect()
}

fn axes(wire: bool) -> String {
    let middle = if wire { format!("M0 {WIRE_Y}H{WIDTH}") } else { String::new() };
    format!("M0 {SENT_Y}H{WIDTH}{middle}M0 {PAGE_Y}H{WIDTH}")
}
