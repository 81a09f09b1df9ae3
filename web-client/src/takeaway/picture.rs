//! The charts that are seen, as an SVG file that stands alone.
//!
//! It is made of what the page shows: the same paths in the same colours, taken from the
//! document's own computed styles in its light scheme, so that the two cannot differ. Only the
//! layout is the picture's own: a screen may be a phone's.

use wasm_bindgen::JsCast;
use web_sys::{CssStyleDeclaration, Document, Element, HtmlElement};

use super::svg::{Anchor, Look, Svg, safe};
use crate::view::markup::filled;

/// The charts' own coordinates are a thousand wide and a hundred high: here they are units.
const CHART: (u32, u32) = (1_000, 100);
const EDGE: u32 = 28;
const WHO: u32 = 310;
/// Left end of the charts: after the names, and the names of the axes.
const CHART_X: u32 = EDGE + WHO + 58;
/// Who had the tokens how long, beside the lines that show it.
const BANDS_X: u32 = CHART_X + CHART.0 + 18;
const FIGURES_X: u32 = BANDS_X + 190;
/// Right of the bar with the time to the first token: two columns of figures.
const COLUMNS: [u32; 2] = [FIGURES_X + 150, FIGURES_X + 254];
const WIDTH: u32 = COLUMNS[1] + 90 + EDGE;
/// Least height of a lane: a name, a verdict and four lines of reason.
const LANE: u32 = 152;
/// Height of one figure with its name.
const FIGURE: u32 = 34;
/// Most lanes in a picture: what a table has more of is no picture.
pub const MOST_LANES: usize = 100;

/// What places a shape.
const SHAPES: [&str; 2] = ["d", "transform"];
/// How it looks.
const LOOKS: [&str; 5] =
    ["stroke", "stroke-width", "stroke-opacity", "stroke-linecap", "stroke-dasharray"];

/// What is drawn under the lanes.
pub struct Words<'a> {
    /// The sentence of the whole run.
    pub answer: &'a str,
    /// What measured it.
    pub facts: &'a str,
}

/// The picture of the lanes in an element; `None` when there is none.
pub fn of(document: &Document, root: &Element, words: &Words<'_>) -> Option<String> {
    let html = document.document_element()?;
    let before = html.get_attribute("style");
    // Nothing is painted in between: nobody sees it.
    html.set_attribute("style", "color-scheme: light").ok()?;
    let picture = drawn(document, root, words);
    match before {
        Some(style) => html.set_attribute("style", &style).ok()?,
        None => html.remove_attribute("style").ok()?,
    }
    picture
}

fn drawn(document: &Document, root: &Element, words: &Words<'_>) -> Option<String> {
    let body = computed(document.body()?.as_ref())?;
    let soft = value(&computed(&first(root, ".what")?)?, "color");
    let line = value(&computed(&first(root, ".lane")?)?, "border-bottom-color");
    let mut sketch = Sketch { svg: Svg::new(WIDTH, value(&body, "color"), soft), line };
    let whole = WIDTH - 2 * EDGE;
    let title = "Who is holding up your tokens?";
    sketch.svg.text((EDGE, 46), Anchor::Left, (26, Look::Bold), title);
    let mut y = 70;
    y += sketch.svg.lines((EDGE, y), (13, Look::Soft), words.facts, (whole, 4));
    let mut lanes = 0;
    for part in all(root, ".block-title, .block-answer, .scale, .lane") {
        let is = |class| part.class_list().contains(class);
        if is("lane") {
            lanes += 1;
            if lanes <= MOST_LANES {
                y += sketch.lane(&part, y)?;
            }
        } else if is("scale") {
            sketch.scale(&part, y);
            y += 32;
        } else {
            let look = if is("block-title") { Look::Bold } else { Look::Ink };
            y += 22 + sketch.svg.lines((EDGE, y + 22), (14, look), &text(&part), (whole, 4));
        }
    }
    if lanes > MOST_LANES {
        let more = filled("¤ more lanes are not drawn.", &[&(lanes - MOST_LANES).to_string()]);
        y += 20;
        sketch.svg.text((EDGE, y), Anchor::Left, (14, Look::Soft), &more);
    }
    y += 34;
    y += sketch.svg.lines((EDGE, y), (17, Look::Ink), words.answer, (whole, 6));
    Some(sketch.svg.finished(y + EDGE, title, &value(&body, "background-color")))
}

/// The picture, and the colour of the lines between its lanes.
struct Sketch {
    svg: Svg,
    line: String,
}

impl Sketch {
    /// The ruler above lanes.
    fn scale(&mut self, scale: &Element, y: u32) {
        let small = (12, Look::Soft);
        if let Some(marks) = first(scale, ".marks") {
            self.svg.text((CHART_X - 14, y + 24), Anchor::Right, small, "ms");
            for mark in all(&marks, "span") {
                let x = CHART_X + part_of(&mark, &marks);
                self.svg.text((x, y + 24), Anchor::Middle, small, &text(&mark));
            }
        }
        if first(scale, ".end").is_some() {
            self.svg.text((BANDS_X, y + 24), Anchor::Left, small, "held, median");
        }
    }

    /// A lane; its height.
    fn lane(&mut self, lane: &Element, y: u32) -> Option<u32> {
        self.svg.rect((EDGE, y), (WIDTH - 2 * EDGE, 1), &self.line.clone());
        let mut below = y + 20;
        for (selector, style, most) in [
            ("h2", (15, Look::Bold), 1),
            (".label", (12, Look::Soft), 2),
            (".verdict", (15, Look::Bold), 1),
            (".because", (12, Look::Soft), 4),
            (".confirm", (12, Look::Soft), 1),
        ] {
            let said = text_of(lane, selector);
            // A line stands on its base: the larger its letters, the more room above it.
            below += style.0 / 4;
            below += self.svg.lines((EDGE, below), style, &said, (WHO, most));
        }
        if let Some(chart) = first(lane, ".chart") {
            self.chart(&chart, y + 24)?;
        }
        let (ttft, unit) = (text_of(lane, ".ttft .value"), text_of(lane, ".ttft .unit"));
        let ttft = filled("¤ ¤", &[&ttft, &unit]);
        self.svg.text((FIGURES_X, y + 44), Anchor::Left, (34, Look::Ink), &ttft);
        for (said, below) in [("first token", 62), (text_of(lane, ".runs").as_str(), 98)] {
            self.svg.text((FIGURES_X, y + below), Anchor::Left, (12, Look::Soft), said);
        }
        if let Some(split) = first(lane, ".split") {
            let mut x = FIGURES_X;
            for part in all(&split, "span") {
                let width = share(width_of(&part), width_of(&split), 128);
                self.bar((x, y + 70), (width, 8), &colours(&part, ""));
                x += width;
            }
        }
        let figures = all(lane, ".figures dl > div");
        for (index, figure) in figures.iter().enumerate() {
            let (x, y) = (COLUMNS[index % 2], y + 24 + (index / 2) as u32 * FIGURE);
            self.svg.text((x, y), Anchor::Left, (12, Look::Soft), &text_of(figure, "dt"));
            self.svg.text((x, y + 15), Anchor::Left, (14, Look::Ink), &text_of(figure, "dd"));
        }
        Some(LANE.max(24 + figures.len().div_ceil(2) as u32 * FIGURE))
    }

    /// The slope chart.
    fn chart(&mut self, chart: &Element, y: u32) -> Option<()> {
        let small = (11, Look::Soft);
        for axis in all(chart, ".axes span") {
            let y = y + 4 + height_of(&axis, chart);
            self.svg.text((CHART_X - 14, y), Anchor::Right, small, &text(&axis));
        }
        let plot = first(chart, ".plot")?;
        let (x, top) = (CHART_X.to_string(), y.to_string());
        self.svg.push(&filled("<g transform=\"translate(¤ ¤)\" fill=\"none\">", &[&x, &top]));
        for shape in all(&plot, ".slope *") {
            self.shape(&shape)?;
        }
        self.svg.push("</g>");
        for count in all(&plot, ".count") {
            let (x, y) = (CHART_X + part_of(&count, &plot), y + 4 + height_of(&count, &plot));
            self.svg.text((x, y), Anchor::Middle, small, &text(&count));
        }
        for band in all(chart, ".band") {
            let y = y + height_of(&band, chart);
            let looks = if band.class_list().contains("late") { Look::Bold } else { Look::Ink };
            if let Some(name) = first(&band, "dt") {
                self.bar((BANDS_X, y - 4), (8, 8), &colours(&name, "::before"));
            }
            let said = filled("¤ ¤", &[&text_of(&band, "dt"), &text_of(&band, "dd")]);
            self.svg.text((BANDS_X + 14, y + 4), Anchor::Left, (12, looks), &said);
        }
        Some(())
    }

    /// A shape as the page has it, its looks written out.
    fn shape(&mut self, shape: &Element) -> Option<()> {
        let looks = computed(shape)?;
        let mut attributes = String::new();
        for name in SHAPES.into_iter().chain(LOOKS) {
            let own = shape.get_attribute(name).unwrap_or_else(|| value(&looks, name));
            if !own.is_empty() && own != "none" {
                attributes.push_str(&filled(" ¤=\"¤\"", &[name, &safe(&own)]));
            }
        }
        self.svg.push(&filled("<¤¤/>", &[&shape.tag_name(), &attributes]));
        Some(())
    }

    /// A box in one colour, or in equal parts in several.
    fn bar(&mut self, (x, y): (u32, u32), (width, height): (u32, u32), colours: &[String]) {
        let parts = colours.len() as u32;
        for (index, colour) in colours.iter().enumerate() {
            let (from, to) = (width * index as u32 / parts, width * (index as u32 + 1) / parts);
            self.svg.rect((x + from, y), (to - from, height), colour);
        }
    }
}

/// What an element is filled with: its colour, or those of its gradient.
fn colours(element: &Element, pseudo: &str) -> Vec<String> {
    let Some(looks) = styled(element, pseudo) else { return Vec::new() };
    let plain = value(&looks, "background-color");
    // Browsers write no colour at all as black that lets everything through.
    if plain != "rgba(0, 0, 0, 0)" && plain != "transparent" {
        return vec![plain];
    }
    let mut colours = Vec::new();
    let image = value(&looks, "background-image");
    // Each colour ends with a bracket, and begins with the last `r` before its own figures.
    for part in image.split(')') {
        let figures = part.rsplit_once('r').map(|(_, figures)| figures);
        if let Some(figures) = figures.filter(|figures| figures.starts_with("gb(")) {
            let colour = filled("r¤)", &[figures]);
            // A stripe has its colour at both ends.
            if !colours.contains(&colour) {
                colours.push(colour);
            }
        }
    }
    colours
}

fn computed(element: &Element) -> Option<CssStyleDeclaration> {
    styled(element, "")
}

/// The looks of an element, or of what stands before it.
fn styled(element: &Element, pseudo: &str) -> Option<CssStyleDeclaration> {
    web_sys::window()?.get_computed_style_with_pseudo_elt(element, pseudo).ok().flatten()
}

fn value(looks: &CssStyleDeclaration, name: &str) -> String {
    looks.get_property_value(name).unwrap_or_default()
}

fn text(element: &Element) -> String {
    element.text_content().unwrap_or_default()
}

fn text_of(root: &Element, selector: &str) -> String {
    first(root, selector).map(|found| text(&found)).unwrap_or_default()
}

fn first(root: &Element, selector: &str) -> Option<Element> {
    root.query_selector(selector).ok().flatten()
}

fn all(root: &Element, selector: &str) -> Vec<Element> {
    let mut found = Vec::new();
    if let Ok(list) = root.query_selector_all(selector) {
        for index in 0..list.length() {
            found.extend(list.get(index).and_then(|node| node.dyn_into().ok()));
        }
    }
    found
}

fn width_of(element: &Element) -> i32 {
    element.unchecked_ref::<HtmlElement>().offset_width()
}

/// How far from the left end of its container an element stands, in the chart's units.
fn part_of(element: &Element, container: &Element) -> u32 {
    let left = element.unchecked_ref::<HtmlElement>().offset_left();
    share(left, container.client_width(), CHART.0)
}

/// How far below the top of its container.
fn height_of(element: &Element, container: &Element) -> u32 {
    let top = element.unchecked_ref::<HtmlElement>().offset_top();
    share(top, container.client_height(), CHART.1)
}

/// A length as a part of a whole one, on a scale; nothing of nothing.
fn share(length: i32, whole: i32, scale: u32) -> u32 {
    (f64::from(length.max(0)) / f64::from(whole.max(1)) * f64::from(scale)).round() as u32
}
