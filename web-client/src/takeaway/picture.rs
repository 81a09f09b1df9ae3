//! The charts that are seen, as an SVG file that stands alone.
//!
//! It is made of what the page shows: the same paths in the same colours, taken from the
//! document's own computed styles in its light scheme, so that the two cannot differ. Only the
//! layout is the picture's own: a screen may be a phone's.

use wasm_bindgen::JsCast;
use web_sys::{CssStyleDeclaration, Document, Element, HtmlElement};

use super::svg::{At, Style, Svg, safe};

/// The charts' own coordinates are a thousand wide and a hundred high: here they are units.
const CHART: (u32, u32) = (1_000, 100);
const EDGE: u32 = 28;
const WHO: u32 = 310;
/// Left end of the charts: after the names, and the names of the axes.
const CHART_X: u32 = EDGE + WHO + 58;
const FIGURES_X: u32 = CHART_X + CHART.0 + 36;
/// Right of the bar with the time to the first token: two columns of figures.
const COLUMNS: [u32; 2] = [FIGURES_X + 150, FIGURES_X + 268];
const WIDTH: u32 = COLUMNS[1] + 118 + EDGE;
/// Least height of a lane: a name, a verdict and four lines of reason.
const LANE: u32 = 148;
/// Height of one figure with its name.
const FIGURE: u32 = 34;
/// Most lanes in a picture: what a table has more of is no picture.
pub const MOST_LANES: usize = 100;

/// What is drawn under the lanes.
pub struct Words<'a> {
    /// The sentence of the whole run.
    pub answer: &'a str,
    /// What measured it, each fact a short text.
    pub facts: &'a [String],
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
    let ink = Style { size: 14, bold: false, colour: value(&body, "color") };
    let soft = Style { colour: value(&computed(&first(root, ".what")?)?, "color"), ..ink.clone() };
    let line = value(&computed(&first(root, ".lane")?)?, "border-bottom-color");
    let title = "Who is holding up your tokens?";
    let mut svg = Svg::new(WIDTH);
    svg.text(At::Left(EDGE, 46), &Style { size: 26, bold: true, ..ink.clone() }, title);
    let mut y = 70;
    y += svg.lines(
        (EDGE, y),
        &Style { size: 13, ..soft.clone() },
        &words.facts.join(" · "),
        (WIDTH - 2 * EDGE, 4),
    );
    let mut sketch = Sketch { svg, ink, soft, line };
    let mut lanes = 0;
    for part in all(root, ".block-title, .block-answer, .scale, .lane") {
        if part.matches(".lane").ok()? {
            lanes += 1;
            if lanes > MOST_LANES {
                continue;
            }
            y += sketch.lane(&part, y)?;
        } else if part.matches(".scale").ok()? {
            y += sketch.scale(&part, y);
        } else {
            let size = if part.matches(".block-title").ok()? { 15 } else { 14 };
            let style = Style { size, bold: size == 15, ..sketch.ink.clone() };
            y += 22;
            y += sketch.svg.lines((EDGE, y), &style, &text(&part), (WIDTH - 2 * EDGE, 4));
        }
    }
    if lanes > MOST_LANES {
        let more = [&(lanes - MOST_LANES).to_string(), " more lanes are not drawn."].concat();
        y += 20;
        sketch.svg.text(At::Left(EDGE, y), &sketch.soft.clone(), &more);
    }
    if !words.answer.is_empty() {
        y += 34;
        let style = Style { size: 17, ..sketch.ink.clone() };
        y += sketch.svg.lines((EDGE, y), &style, words.answer, (WIDTH - 2 * EDGE, 6));
    }
    Some(sketch.svg.finished(y + EDGE, title, &value(&body, "background-color")))
}

/// The picture with the inks that it is drawn in.
struct Sketch {
    svg: Svg,
    ink: Style,
    soft: Style,
    line: String,
}

impl Sketch {
    /// The ruler above lanes, and the meaning of the colours; the height that they take.
    fn scale(&mut self, scale: &Element, y: u32) -> u32 {
        let small = Style { size: 12, ..self.soft.clone() };
        if let Some(marks) = first(scale, ".marks") {
            self.svg.text(At::Right(CHART_X - 14, y + 24), &small, "ms");
            for mark in all(&marks, "span") {
                let at = At::Middle(CHART_X + part_of(&mark, &marks, CHART.0), y + 24);
                self.svg.text(at, &small, &text(&mark));
            }
        }
        let mut x = FIGURES_X;
        for item in all(scale, ".legend li") {
            let colours = colours(&item, Some("::before"));
            self.bar((x, y + 15), (10, 10), &colours);
            let said = text(&item);
            self.svg.text(At::Left(x + 15, y + 24), &small, &said);
            x += 30 + said.chars().count() as u32 * 7;
        }
        32
    }

    /// A lane; its height.
    fn lane(&mut self, lane: &Element, y: u32) -> Option<u32> {
        let figures = all(lane, ".figures dl > div");
        let height = LANE.max(24 + figures.len().div_ceil(2) as u32 * FIGURE);
        self.svg.rect((EDGE, y), (WIDTH - 2 * EDGE, 1), &self.line.clone());
        self.who(lane, y);
        for chart in all(lane, ".chart") {
            self.chart(&chart, y + 24)?;
        }
        let value = first(lane, ".ttft").map(|ttft| text(&ttft)).unwrap_or_default();
        let large = Style { size: 34, ..self.ink.clone() };
        self.svg.text(At::Left(FIGURES_X, y + 44), &large, &value);
        let small = Style { size: 12, ..self.soft.clone() };
        for (selector, below) in [(".what", 62), (".runs", 98)] {
            if let Some(what) = first(lane, selector) {
                self.svg.text(At::Left(FIGURES_X, y + below), &small, &text(&what));
            }
        }
        if let Some(split) = first(lane, ".split") {
            let mut x = FIGURES_X;
            for part in all(&split, "span") {
                let width = share(width_of(&part), width_of(&split), 128);
                self.bar((x, y + 70), (width, 8), &colours(&part, None));
                x += width;
            }
        }
        for (index, figure) in figures.iter().enumerate() {
            let (x, y) = (COLUMNS[index % 2], y + 24 + (index / 2) as u32 * FIGURE);
            for (selector, below) in [("dt", 0), ("dd", 15)] {
                let style = if below == 0 { &small } else { &self.ink };
                if let Some(said) = first(figure, selector) {
                    self.svg.text(At::Left(x, y + below), style, &text(&said));
                }
            }
        }
        Some(height)
    }

    /// Whose lane it is, and what was found.
    fn who(&mut self, lane: &Element, y: u32) {
        let bold = Style { size: 15, bold: true, ..self.ink.clone() };
        let small = Style { size: 12, ..self.soft.clone() };
        let mut y = y + 24;
        for (selector, style, most) in [
            ("h2", &bold, 1),
            (".label", &small, 2),
            (".verdict", &bold, 1),
            (".because", &small, 4),
        ] {
            let Some(said) = first(lane, selector) else { continue };
            y += self.svg.lines((EDGE, y), style, &text(&said), (WHO, most));
        }
    }

    /// The slope chart.
    fn chart(&mut self, chart: &Element, y: u32) -> Option<()> {
        let small = Style { size: 11, ..self.soft.clone() };
        for axis in all(chart, ".axis") {
            let (axis, height) = (axis.dyn_into::<HtmlElement>().ok()?, chart.client_height());
            let below = share(axis.offset_top(), height, CHART.1);
            self.svg.text(At::Right(CHART_X - 14, y + below + 4), &small, &text(&axis));
        }
        let plot = first(chart, ".plot")?;
        self.svg.push(&["<g transform=\"translate(", &CHART_X.to_string(), " ", &y.to_string()]);
        self.svg.push(&[")\" fill=\"none\">"]);
        for shape in all(&plot, "svg *") {
            self.shape(&shape)?;
        }
        self.svg.push(&["</g>"]);
        for count in all(&plot, ".count") {
            let height = plot.client_height();
            let below =
                share(count.clone().dyn_into::<HtmlElement>().ok()?.offset_top(), height, CHART.1);
            let x = CHART_X + part_of(&count, &plot, CHART.0) + 9;
            self.svg.text(At::Left(x, y + below + 4), &small, &text(&count));
        }
        Some(())
    }

    /// A shape as the page has it, its looks written out.
    fn shape(&mut self, shape: &Element) -> Option<()> {
        let looks = computed(shape)?;
        self.svg.push(&["<", &shape.tag_name()]);
        for name in ["d", "transform", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r"] {
            if let Some(value) = shape.get_attribute(name) {
                self.svg.push(&[" ", name, "=\"", &safe(&value), "\""]);
            }
        }
        for name in
            ["stroke", "stroke-width", "stroke-opacity", "stroke-linecap", "stroke-dasharray"]
        {
            let value = value(&looks, name);
            if !value.is_empty() && value != "none" {
                self.svg.push(&[" ", name, "=\"", &safe(&value), "\""]);
            }
        }
        self.svg.push(&["/>"]);
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
fn colours(element: &Element, pseudo: Option<&str>) -> Vec<String> {
    let Some(window) = web_sys::window() else { return Vec::new() };
    let looks = match pseudo {
        Some(pseudo) => window.get_computed_style_with_pseudo_elt(element, pseudo),
        None => window.get_computed_style(element),
    };
    let Ok(Some(looks)) = looks else { return Vec::new() };
    let plain = value(&looks, "background-color");
    // Browsers write no colour at all as black that lets everything through.
    if plain != "rgba(0, 0, 0, 0)" && plain != "transparent" {
        return vec![plain];
    }
    let mut colours = Vec::new();
    let image = value(&looks, "background-image");
    for part in image.split("rgb(").skip(1) {
        if let Some((colour, _)) = part.split_once(')') {
            colours.push(["rgb(", colour, ")"].concat());
        }
    }
    colours
}

fn computed(element: &Element) -> Option<CssStyleDeclaration> {
    web_sys::window()?.get_computed_style(element).ok().flatten()
}

fn value(looks: &CssStyleDeclaration, name: &str) -> String {
    looks.get_property_value(name).unwrap_or_default()
}

fn text(element: &Element) -> String {
    element.text_content().unwrap_or_default()
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

/// How far from the left end of its container an element stands, on a scale.
fn part_of(element: &Element, container: &Element, scale: u32) -> u32 {
    share(element.unchecked_ref::<HtmlElement>().offset_left(), container.client_width(), scale)
}

/// A length as a part of a whole one, on a scale; nothing of nothing.
fn share(length: i32, whole: i32, scale: u32) -> u32 {
    (f64::from(length.max(0)) / f64::from(whole.max(1)) * f64::from(scale)).round() as u32
}
