//! The slope chart as numbers: where each frame stands on the time axes of its stations.
//!
//! Pure, so that it is tested without a browser. Coordinates are those of a box
//! [`WIDTH`] wide and [`HEIGHT`] high that the chart stretches to its place; strokes keep their
//! width, and a dot is a stroke of no length with a round cap, so that stretching does not make it
//! an ellipse.

mod picture;

use measure::Span;
use measure::verdict::Thresholds;

use crate::split::Part;

pub use picture::{Axis, Clump, Picture};

/// Width of the chart's own coordinates.
pub const WIDTH: f64 = 1_000.0;
/// Height of the chart's own coordinates.
pub const HEIGHT: f64 = 100.0;
/// Height of the emitter's axis.
pub const SENT_Y: f64 = 8.0;
/// Height of the last axis, the page's; below it is room for what painting took.
pub const PAGE_Y: f64 = 80.0;
/// Half of a tick's length.
pub const TICK: f64 = 7.0;
/// Smallest counts of the five sizes of a dot: one more size for about twice as many frames.
pub const DOT_SIZES: [u32; 5] = [1, 2, 5, 12, 30];
/// Counts written below dots may not come closer than this, in the chart's own width: two digits
/// on the narrowest chart that stands beside its figures (450 pixels).
pub const LABEL_ROOM: f64 = 36.0;
/// The same on a phone's chart (180 pixels).
pub const NARROW_ROOM: f64 = 100.0;
/// Room after the last frame, as a share of the stream's planned duration: a stream that is
/// corked ends one timer late, and a still scale is easier to read than a growing one.
const TAIL_SHARE: f64 = 0.12;
/// Least room after the last frame.
const TAIL_MIN: Span = Span::millis(60);
/// Two marks nearer than this look like one: the second is not drawn. It bounds a chart of a
/// hundred thousand frames by its width.
const SAME_PLACE: f64 = 0.3;

/// The time that all lanes' axes span: the script's own length with room for what comes late,
/// and longer when something came later still.
pub fn domain(planned: Span, latest: Span) -> Span {
    let tail = Span((planned.as_micros() as f64 * TAIL_SHARE) as i64).max(TAIL_MIN);
    let wanted = planned + tail;
    if latest <= wanted {
        return wanted;
    }
    // Grown in steps, so that a late stream does not rescale every lane at every frame.
    let step = (wanted.as_micros() / 4).max(1);
    Span((latest.as_micros() / step + 1) * step)
}

/// Where a time stands, in the chart's own width.
pub fn x(at: Span, domain: Span) -> f64 {
    (at.as_micros() as f64 / domain.as_micros().max(1) as f64 * WIDTH).clamp(0.0, WIDTH)
}

/// Round times for the ruler above the lanes, with their places as a share of the width.
pub fn ruler(domain: Span) -> Vec<(Span, f64)> {
    // The smallest of 1, 2 and 5 times a power of ten that gives at most eight marks.
    let mut step = 1_000_i64;
    let mut factors = [2, 5, 10].into_iter().cycle();
    let mut base = step;
    while domain.as_micros() / step > 8 {
        let factor = factors.next().unwrap_or(10);
        step = base * factor;
        if factor == 10 {
            base = step;
        }
    }
    (0..=domain.as_micros() / step)
        .map(|index| Span(index * step))
        .map(|at| (at, x(at, domain) / WIDTH))
        .collect()
}

/// A count written beside its dot.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Place as a share of the width.
    pub share: f64,
    /// The count.
    pub count: u32,
    /// Whether a phone has no room for it beside the others.
    pub tight: bool,
}

/// The lines of one part, between two axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// Who had the frames between the two.
    pub part: Part,
    /// Heights of the two axes.
    pub from: f64,
    /// Height of the lower one.
    pub to: f64,
    /// Of frames that passed at once.
    pub prompt: String,
    /// Of frames that were held longer than a live path may hold them.
    pub late: String,
}

/// The dots of one axis, by size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dots {
    /// Of frames that the part above passed at once.
    pub prompt: [String; DOT_SIZES.len()],
    /// Of frames that it held.
    pub late: [String; DOT_SIZES.len()],
}

/// A picture as the paths of an SVG.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paths {
    /// A tick for each write of the emitter.
    pub ticks: String,
    /// The lines, band by band.
    pub bands: Vec<Band>,
    /// The axes below the emitter's, with their dots and the part above them.
    pub axes: Vec<(Axis, f64, Dots, Part)>,
    /// Counts of the last axis's dots that stand for more than one frame, as far as they have
    /// room.
    pub labels: Vec<Label>,
}

/// Heights of the axes below the emitter's: evenly down to the page's.
pub fn heights(axes: usize) -> impl Iterator<Item = f64> {
    let step = (PAGE_Y - SENT_Y) / axes.max(1) as f64;
    (1..=axes).map(move |place| SENT_Y + step * place as f64)
}

/// Who has a frame between two axes; none above means the emitter's.
pub fn part(above: Option<Axis>, axis: Axis, has_worker: bool) -> Part {
    match (above, axis) {
        (None, Axis::Wire) => Part::Path,
        (None, _) => Part::Undivided,
        (Some(_), Axis::Page) if has_worker => Part::Page,
        (Some(_), Axis::Page) => Part::Either,
        (Some(_), _) => Part::Browser,
    }
}

/// Whether a part held a frame: longer than a live path may.
pub fn is_late(hold: Span) -> bool {
    hold > Thresholds::standard().live_hold
}

impl Paths {
    /// Draws a picture on the time scale.
    pub fn of(picture: &Picture, domain: Span) -> Paths {
        let mut paths = Paths::default();
        let mut last = Last::default();
        for at in picture.sent.iter().flatten() {
            let x = x(*at, domain);
            if last.is_new(x, x) {
                line(&mut paths.ticks, (x, SENT_Y - TICK), (x, SENT_Y + TICK));
            }
        }
        let axes = picture.axes();
        let has_worker = axes.iter().any(|(axis, _)| *axis == Axis::Worker);
        let (mut above, mut above_y, mut before) = (None, SENT_Y, picture.sent.clone());
        for ((axis, clumps), y) in axes.iter().zip(heights(axes.len())) {
            let part = part(above, *axis, has_worker);
            let (band, dots) = step(clumps, &before, (part, above_y, y), domain);
            paths.bands.push(band);
            paths.axes.push((*axis, y, dots, part));
            // A frame that an axis does not know comes from the one before.
            for (seq, at) in by_seq(clumps).into_iter().enumerate() {
                if let Some(at) = at {
                    put(&mut before, seq as u32, at);
                }
            }
            (above, above_y) = (Some(*axis), y);
        }
        if let Some((_, clumps)) = axes.last() {
            paths.labels = labels(clumps, domain);
        }
        paths
    }
}

/// The lines from one axis to the next, and the dots on it.
fn step(
    clumps: &[Clump],
    before: &[Option<Span>],
    (part, from, to): (Part, f64, f64),
    domain: Span,
) -> (Band, Dots) {
    let mut band = Band { part, from, to, prompt: String::new(), late: String::new() };
    let (mut dots, mut last, mut last_dot) = (Dots::default(), Last::default(), Last::default());
    for clump in clumps {
        let mut held = false;
        for seq in &clump.seqs {
            let Some(start) = before.get(*seq as usize).copied().flatten() else { continue };
            let late = is_late(clump.at - start);
            held |= late;
            let (left, right) = (x(start, domain), x(clump.at, domain));
            if last.is_new(left, right) {
                let path = if late { &mut band.late } else { &mut band.prompt };
                line(path, (left, from), (right, to));
            }
        }
        let sizes = if held { &mut dots.late } else { &mut dots.prompt };
        let at = x(clump.at, domain);
        if clump.count > 1 || last_dot.is_new(at, at) {
            dot(sizes, clump.count, at, to);
        }
    }
    (band, dots)
}

/// Where the last mark was drawn.
#[derive(Default)]
struct Last(Option<(f64, f64)>);

impl Last {
    /// Whether a mark there can be told from the last one.
    fn is_new(&mut self, left: f64, right: f64) -> bool {
        let far =
            |(a, b): (f64, f64)| (left - a).abs() > SAME_PLACE || (right - b).abs() > SAME_PLACE;
        let new = self.0.is_none_or(far);
        if new {
            self.0 = Some((left, right));
        }
        new
    }
}

/// Notes a frame's time in a list by frame number.
fn put(times: &mut Vec<Option<Span>>, seq: u32, at: Span) {
    let index = seq as usize;
    if index >= times.len() {
        times.resize(index + 1, None);
    }
    times[index] = Some(at);
}

fn by_seq(clumps: &[Clump]) -> Vec<Option<Span>> {
    let mut times = Vec::new();
    for clump in clumps {
        for seq in &clump.seqs {
            put(&mut times, *seq, clump.at);
        }
    }
    times
}

/// Adds a line to a path.
pub fn line(path: &mut String, from: (f64, f64), to: (f64, f64)) {
    for (letter, (x, y)) in [('M', from), ('L', to)] {
        path.push(letter);
        tenths(path, x);
        path.push(' ');
        tenths(path, y);
    }
}

/// Writes a coordinate with one decimal. In whole numbers: the formatting of floats alone would
/// be a tenth of what the page costs to download.
pub fn tenths(path: &mut String, coordinate: f64) {
    let tenths = (coordinate * 10.0).round() as u32;
    path.push_str(&(tenths / 10).to_string());
    path.push('.');
    path.push(char::from(b'0' + (tenths % 10) as u8));
}

/// The size of a dot for so many frames.
pub fn size_of(count: u32) -> usize {
    DOT_SIZES.iter().rposition(|least| count >= *least).unwrap_or(0)
}

fn dot(sizes: &mut [String; DOT_SIZES.len()], count: u32, x: f64, y: f64) {
    line(&mut sizes[size_of(count)], (x, y), (x, y));
}

/// Counts from left to right; of two that have no room beside each other, the larger stays.
fn labels(clumps: &[Clump], domain: Span) -> Vec<Label> {
    let mut labels: Vec<Label> = Vec::new();
    for clump in clumps.iter().filter(|clump| clump.count > 1) {
        let share = x(clump.at, domain) / WIDTH;
        let label = Label { share, count: clump.count, tight: false };
        match labels.last_mut() {
            Some(last) if (label.share - last.share) * WIDTH < LABEL_ROOM => {
                if label.count > last.count {
                    *last = label;
                }
            }
            _ => labels.push(label),
        }
    }
    let mut wide: Option<usize> = None;
    for place in 0..labels.len() {
        let near =
            |before: &usize| (labels[place].share - labels[*before].share) * WIDTH < NARROW_ROOM;
        match wide.filter(near) {
            Some(before) if labels[place].count <= labels[before].count => {
                labels[place].tight = true;
            }
            before => {
                if let Some(before) = before {
                    labels[before].tight = true;
                }
                wide = Some(place);
            }
        }
    }
    labels
}
