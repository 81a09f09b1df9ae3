//! The slope chart of one lane: writes above, the wire between, arrivals below.

use measure::Span;
use measure::units::decimal;

use crate::geometry::{self, DOT_SIZES, PAGE_Y, Paths, Picture, SENT_Y, WIDTH, WIRE_Y};
use crate::view::place::{By, Place, Scene};

/// Widths of the dots' strokes, by size, in CSS pixels.
const DOT_WIDTHS: [&str; DOT_SIZES.len()] = ["4", "6", "9", "12", "15"];

pub(crate) const MARKUP: &str = "<div class=\"chart\">\
    <span class=\"axis sent\" aria-hidden=\"true\">sent</span>\
    <span class=\"axis wire\" aria-hidden=\"true\"></span>\
    <span class=\"axis page\" aria-hidden=\"true\">page</span>\
    <div class=\"plot\" role=\"img\"></div></div>";

/// Drawn anew when the lane has something new, at most once a frame.
pub(crate) const PLACES: &[Place] = &[
    (".axis.wire", By::Text, wire),
    (".plot", By::Markup, drawn),
    (".plot", By::Attribute("aria-label"), described),
];

fn wire(scene: &Scene<'_>) -> String {
    if scene.picture.wire.is_empty() { String::new() } else { "wire".into() }
}

/// Words are made once a run is over: a screen reader is not told of every frame.
fn described(scene: &Scene<'_>) -> String {
    let picture = &scene.picture;
    if picture.provisional { String::new() } else { picture.described() }
}

/// Numbers only: nothing that came over the network is among it.
fn drawn(scene: &Scene<'_>) -> String {
    svg(&scene.picture, scene.state.domain)
}

/// The chart as SVG, with the counts beside it since its box is stretched.
pub(crate) fn svg(picture: &Picture, domain: Span) -> String {
    let paths = Paths::of(picture, domain);
    let class = if picture.provisional { "provisional" } else { "measured" };
    let mut svg =
        String::from("<svg viewBox=\"0 0 1000 100\" preserveAspectRatio=\"none\" class=\"");
    svg.push_str(class);
    svg.push_str("\">");
    path(&mut svg, "grid", &grid(domain), "");
    path(&mut svg, "axes", &axes(!picture.wire.is_empty()), "");
    path(&mut svg, "path-lines", &paths.path_lines, "");
    path(&mut svg, "page-lines", &paths.page_lines, "");
    path(&mut svg, "ticks", &paths.ticks, "");
    for (class, sizes) in [("wire-dots", &paths.wire_dots), ("page-dots", &paths.page_dots)] {
        for (dots, width) in sizes.iter().zip(DOT_WIDTHS) {
            path(&mut svg, class, dots, width);
        }
    }
    svg.push_str("</svg>");
    for label in &paths.labels {
        svg.push_str("<span class=\"count\" style=\"left:");
        svg.push_str(&decimal(label.share * 100.0, 2));
        svg.push_str("%\">");
        svg.push_str(&label.count.to_string());
        svg.push_str("</span>");
    }
    svg
}

fn path(svg: &mut String, class: &str, d: &str, width: &str) {
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

fn grid(domain: Span) -> String {
    let mut grid = String::new();
    for (_, share) in geometry::ruler(domain) {
        grid.push('M');
        geometry::tenths(&mut grid, share * WIDTH);
        grid.push_str(" 0V100");
    }
    grid
}

fn axes(wire: bool) -> String {
    let mut axes = String::new();
    for (y, there) in [(SENT_Y, true), (WIRE_Y, wire), (PAGE_Y, true)] {
        if there {
            axes.push_str("M0 ");
            geometry::tenths(&mut axes, y);
            axes.push_str("H1000");
        }
    }
    axes
}
