//! The slope chart as numbers: where each frame stands on the three time axes.
//!
//! Pure, so that it is tested without a browser. Coordinates are those of a box
//! [`WIDTH`] wide that the chart stretches to its place; strokes keep their width, and a dot is
//! a stroke of no length with a round cap, so that stretching does not make it an ellipse.

use measure::results::RunRecord;
use measure::{Arrivals, Ledger, Script, Span, Stamp};

/// Width of the chart's own coordinates.
pub const WIDTH: f64 = 1_000.0;
/// Heights of the axes: the emitter's writes, the wire, the page.
pub const SENT_Y: f64 = 9.0;
/// The wire, between the two, when a tap stood there.
pub const WIRE_Y: f64 = 50.0;
/// Arrivals in the page.
pub const PAGE_Y: f64 = 89.0;
/// Smallest counts of the five sizes of a dot: one more size for about twice as many frames.
pub const DOT_SIZES: [u32; 5] = [1, 2, 5, 12, 30];
/// Counts written beside dots may not come closer than this, in the chart's own width.
const LABEL_ROOM: f64 = 26.0;
/// Room after the last frame, as a share of the stream's planned duration: a stream that is
/// corked ends one timer late, and a still scale is easier to read than a growing one.
const TAIL_SHARE: f64 = 0.12;
/// Least room after the last frame.
const TAIL_MIN: Span = Span::millis(60);

/// Frames that came at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clump {
    /// When, counted from the call.
    pub at: Span,
    /// Which frames, where they are known.
    pub seqs: Vec<u32>,
    /// How many, frames without a number included.
    pub count: u32,
}

/// One run as the chart draws it; all times are counted from the call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// When the emitter wrote each frame, by its number.
    pub sent: Vec<Option<Span>>,
    /// Whether those are only the script's due times, because the ledger is not in yet.
    pub provisional: bool,
    /// What came together on the wire; empty without a tap.
    pub wire: Vec<Clump>,
    /// What came together in the page.
    pub page: Vec<Clump>,
    /// The latest time in the picture.
    pub latest: Span,
}

impl Picture {
    /// A run in progress: its arrivals so far, and the writes that the script has due by now.
    pub fn live(arrivals: &Arrivals, script: &Script, now: Stamp) -> Picture {
        let elapsed = now - arrivals.call;
        let due = script.write_of_frames().into_iter().map(|write| script.due(write));
        let sent = due.take_while(|due| due.is_some_and(|due| due <= elapsed)).collect();
        let page = clumps(arrivals, arrivals.call, false);
        Picture { sent, provisional: true, wire: Vec::new(), page, latest: elapsed }
    }

    /// A run that is over, with all that is known of it.
    pub fn of_record(record: &RunRecord) -> Picture {
        let call = record.arrivals.call;
        let sent = record.ledger.as_ref().map(|ledger| sent(ledger, call)).unwrap_or_default();
        let wire = record.wire.as_ref().map(|wire| clumps(wire, call, true)).unwrap_or_default();
        let page = clumps(&record.arrivals, call, false);
        let latest = [
            sent.iter().copied().flatten().max(),
            wire.last().map(|clump| clump.at),
            page.last().map(|clump| clump.at),
        ];
        let latest = latest.into_iter().flatten().max().unwrap_or_default();
        Picture { sent, provisional: false, wire, page, latest }
    }

    /// How many frames reached the page.
    pub fn arrived(&self) -> u32 {
        self.page.iter().map(|clump| clump.count).sum()
    }

    /// The picture in words, for those who do not see it.
    pub fn described(&self) -> String {
        if self.sent.is_empty() && self.page.is_empty() {
            return "No frame was sent yet.".into();
        }
        let largest = self.page.iter().map(|clump| clump.count).max().unwrap_or(0);
        let (sent, arrived) = (self.sent.iter().flatten().count(), self.arrived());
        let deliveries = self.page.len();
        let over = self.latest;
        format!(
            "{sent} frames sent, {arrived} arrived within {over}, in {deliveries} deliveries, \
             the largest of {largest}."
        )
    }
}

fn sent(ledger: &Ledger, call: Stamp) -> Vec<Option<Span>> {
    let mut sent = Vec::new();
    for entry in &ledger.entries {
        put(&mut sent, entry.seq, entry.after - call);
    }
    sent
}

/// Notes a frame's time in a list by frame number.
fn put(times: &mut Vec<Option<Span>>, seq: u32, at: Span) {
    let index = seq as usize;
    if index >= times.len() {
        times.resize(index + 1, None);
    }
    times[index] = Some(at);
}

fn clumps(arrivals: &Arrivals, call: Stamp, by_kernel: bool) -> Vec<Clump> {
    let time = |delivery: &measure::Delivery| {
        if by_kernel { delivery.arrived() } else { delivery.at }
    };
    arrivals
        .deliveries
        .iter()
        .map(|delivery| {
            let counted = delivery.frames.iter().filter(|frame| frame.event || frame.seq.is_some());
            let count = counted.clone().count() as u32;
            let seqs = counted.filter_map(|frame| frame.seq).collect();
            Clump { at: time(delivery) - call, seqs, count }
        })
        .filter(|clump| clump.count > 0)
        .collect()
}

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
}

/// A picture as the paths of an SVG.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paths {
    /// A tick for each write of the emitter.
    pub ticks: String,
    /// From the emitter to the wire, or to the page when there is no wire.
    pub path_lines: String,
    /// From the wire to the page.
    pub page_lines: String,
    /// Dots on the wire, by size.
    pub wire_dots: [String; DOT_SIZES.len()],
    /// Dots in the page, by size.
    pub page_dots: [String; DOT_SIZES.len()],
    /// Counts of the dots that stand for more than one frame, as far as they have room.
    pub labels: Vec<Label>,
}

impl Paths {
    /// Draws a picture on the time scale.
    pub fn of(picture: &Picture, domain: Span) -> Paths {
        let mut paths = Paths::default();
        for at in picture.sent.iter().flatten() {
            let x = x(*at, domain);
            line(&mut paths.ticks, (x, SENT_Y - 7.0), (x, SENT_Y + 7.0));
        }
        let wire = by_seq(&picture.wire);
        let place = |times: &[Option<Span>], seq: usize| {
            times.get(seq).copied().flatten().map(|at| x(at, domain))
        };
        for (seq, at) in by_seq(&picture.page).into_iter().enumerate() {
            let Some(end) = at.map(|at| (x(at, domain), PAGE_Y)) else { continue };
            let start = place(&picture.sent, seq).map(|x| (x, SENT_Y));
            let middle = place(&wire, seq).map(|x| (x, WIRE_Y));
            if let (Some(start), Some(bend)) = (start, middle.or(Some(end))) {
                line(&mut paths.path_lines, start, bend);
            }
            if let Some(middle) = middle {
                line(&mut paths.page_lines, middle, end);
            }
        }
        for clump in &picture.wire {
            dot(&mut paths.wire_dots, clump, domain, WIRE_Y);
        }
        for clump in &picture.page {
            dot(&mut paths.page_dots, clump, domain, PAGE_Y);
        }
        paths.labels = labels(&picture.page, domain);
        paths
    }
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

fn line(path: &mut String, from: (f64, f64), to: (f64, f64)) {
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

fn dot(sizes: &mut [String; DOT_SIZES.len()], clump: &Clump, domain: Span, y: f64) {
    let size = DOT_SIZES.iter().rposition(|least| clump.count >= *least).unwrap_or(0);
    let x = x(clump.at, domain);
    line(&mut sizes[size], (x, y), (x, y));
}

/// Counts from left to right; of two that have no room beside each other, the larger stays.
fn labels(clumps: &[Clump], domain: Span) -> Vec<Label> {
    let mut labels: Vec<Label> = Vec::new();
    for clump in clumps.iter().filter(|clump| clump.count > 1) {
        let label = Label { share: x(clump.at, domain) / WIDTH, count: clump.count };
        match labels.last_mut() {
            Some(last) if (label.share - last.share) * WIDTH < LABEL_ROOM => {
                if label.count > last.count {
                    *last = label;
                }
            }
            _ => labels.push(label),
        }
    }
    labels
}
