//! The slope chart: above, a tick for each frame when the emitter wrote it; below, a dot when it
//! reached the reader; a hairline joins the two. What came together is one larger dot with its
//! count. With a tap there is an axis between: the wire.

use std::collections::BTreeMap;
use std::fmt::Write;

use measure::results::RunRecord;
use measure::{Arrivals, Span, Stamp};

use super::picture::{Esc, Linear, WIDTH};

/// Room for the axes' names.
const LEFT: f64 = 54.0;
const RIGHT: f64 = WIDTH - 14.0;
/// Heights of the axes.
const SENT: f64 = 12.0;
const GAP: f64 = 42.0;
/// Room under the last axis for the counts.
const FOOT: f64 = 22.0;
/// More hairlines than this become a surface: every n-th is drawn then.
const MOST_LINES: usize = 800;
/// Counts closer than this would lie on each other.
const COUNT_ROOM: f64 = 20.0;

/// Frames that came together.
struct Clump {
    at: Span,
    seqs: Vec<u32>,
    count: usize,
}

/// One run, its times counted from the call.
pub(crate) struct Picture {
    sent: BTreeMap<u32, Span>,
    wire: Vec<Clump>,
    came: Vec<Clump>,
}

impl Picture {
    pub(crate) fn of(run: &RunRecord) -> Picture {
        let call = run.arrivals.call;
        let entries = run.ledger.iter().flat_map(|ledger| &ledger.entries);
        Picture {
            sent: entries.map(|entry| (entry.seq, entry.after - call)).collect(),
            wire: run.wire.as_ref().map(|wire| clumps(wire, call)).unwrap_or_default(),
            came: clumps(&run.arrivals, call),
        }
    }

    /// The latest time in it.
    pub(crate) fn end(&self) -> Span {
        let came = self.came.iter().chain(&self.wire).map(|clump| clump.at);
        came.chain(self.sent.values().copied()).max().unwrap_or_default()
    }

    /// In words, for those who do not see it.
    fn words(&self) -> String {
        let frames: usize = self.came.iter().map(|clump| clump.count).sum();
        let largest = self.came.iter().map(|clump| clump.count).max().unwrap_or(0);
        format!(
            "{} frames sent; {frames} arrived within {} in {} deliveries, the largest of {largest}.",
            self.sent.len(),
            self.came.last().map_or(Span::ZERO, |clump| clump.at),
            self.came.len()
        )
    }

    /// The chart as SVG, over a time axis that other charts share.
    pub(crate) fn svg(&self, end: Span) -> String {
        let axis = axis(end);
        let wire = (!self.wire.is_empty()).then_some(SENT + GAP);
        let bottom = wire.unwrap_or(SENT) + GAP;
        let mut out = open(bottom + FOOT, &self.words());
        grid(&mut out, &axis, bottom);
        let mut axes = vec![("sent", SENT)];
        axes.extend(wire.map(|y| ("wire", y)));
        axes.push(("arrived", bottom));
        for (name, y) in axes {
            let _ = write!(
                out,
                r#"<text class="name" x="0" y="{:.1}">{name}</text><path class="axis" d="M{LEFT} {y}H{RIGHT}"/>"#,
                y + 4.0
            );
        }
        self.lines(&mut out, &axis, wire, bottom);
        let mut ticks = String::new();
        for at in self.sent.values() {
            let _ = write!(ticks, "M{:.1} {:.1}v10", axis.x(*at), SENT - 5.0);
        }
        let _ = write!(out, r#"<path class="ticks" d="{ticks}"/>"#);
        if let Some(y) = wire {
            dots(&mut out, "wire", &self.wire, &axis, y);
        }
        dots(&mut out, "came", &self.came, &axis, bottom);
        counts(&mut out, &self.came, &axis, bottom);
        out.push_str("</svg>");
        out
    }

    fn lines(&self, out: &mut String, axis: &Linear, wire: Option<f64>, bottom: f64) {
        let came = by_seq(&self.came);
        let on_wire = by_seq(&self.wire);
        let every = came.len().div_ceil(MOST_LINES).max(1);
        let (mut path, mut browser) = (String::new(), String::new());
        for (seq, at) in came.iter().step_by(every) {
            let end = (axis.x(*at), bottom);
            let start = self.sent.get(seq).map(|at| (axis.x(*at), SENT));
            let bend = on_wire.get(seq).zip(wire).map(|(at, y)| (axis.x(*at), y));
            if let Some(start) = start {
                line(&mut path, start, bend.unwrap_or(end));
            }
            if let Some(bend) = bend {
                line(&mut browser, bend, end);
            }
        }
        let _ = write!(out, r#"<path class="path" d="{path}"/>"#);
        if !browser.is_empty() {
            let _ = write!(out, r#"<path class="browser" d="{browser}"/>"#);
        }
    }
}

fn axis(end: Span) -> Linear {
    Linear { end, left: LEFT, right: RIGHT }
}

/// The times over a group of charts.
pub(crate) fn ruler(end: Span) -> String {
    let axis = axis(end);
    let mut out = open(16.0, "time from the call");
    for at in axis.ticks() {
        let ms = at.as_millis_f64();
        let text = if ms >= 1_000.0 { format!("{} s", ms / 1_000.0) } else { format!("{ms} ms") };
        let _ = write!(out, r#"<text class="tick" x="{:.1}" y="12">{text}</text>"#, axis.x(at));
    }
    out.push_str("</svg>");
    out
}

fn open(height: f64, words: &str) -> String {
    format!(
        r#"<svg class="slope" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}">"#,
        Esc(words)
    )
}

fn grid(out: &mut String, axis: &Linear, bottom: f64) {
    let mut lines = String::new();
    for at in axis.ticks() {
        let _ = write!(lines, "M{:.1} 2V{:.1}", axis.x(at), bottom + 8.0);
    }
    let _ = write!(out, r#"<path class="grid" d="{lines}"/>"#);
}

fn clumps(arrivals: &Arrivals, call: Stamp) -> Vec<Clump> {
    arrivals
        .deliveries
        .iter()
        .map(|delivery| {
            let counted = || delivery.frames.iter().filter(|f| f.event || f.seq.is_some());
            Clump {
                at: delivery.at - call,
                seqs: counted().filter_map(|frame| frame.seq).collect(),
                count: counted().count(),
            }
        })
        .filter(|clump| clump.count > 0)
        .collect()
}

fn by_seq(clumps: &[Clump]) -> BTreeMap<u32, Span> {
    clumps.iter().flat_map(|clump| clump.seqs.iter().map(|seq| (*seq, clump.at))).collect()
}

fn line(path: &mut String, from: (f64, f64), to: (f64, f64)) {
    let _ = write!(path, "M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1);
}

/// One more step of size for twice as many frames, so that 41 and 640 still fit the chart.
fn radius(count: usize) -> f64 {
    (1.9 + 0.9 * (count as f64).log2()).min(8.5)
}

fn dots(out: &mut String, class: &str, clumps: &[Clump], axis: &Linear, y: f64) {
    let _ = write!(out, r#"<g class="{class}">"#);
    for clump in clumps {
        let _ = write!(
            out,
            r#"<circle cx="{:.1}" cy="{y}" r="{:.1}"/>"#,
            axis.x(clump.at),
            radius(clump.count)
        );
    }
    out.push_str("</g>");
}

/// Counts from left to right; of two that have no room beside each other, the larger stays.
fn counts(out: &mut String, clumps: &[Clump], axis: &Linear, y: f64) {
    let mut kept: Vec<(f64, usize)> = Vec::new();
    for clump in clumps.iter().filter(|clump| clump.count > 1) {
        let x = axis.x(clump.at);
        match kept.last_mut() {
            Some(last) if x - last.0 < COUNT_ROOM => {
                if clump.count > last.1 {
                    *last = (x, clump.count);
                }
            }
            _ => kept.push((x, clump.count)),
        }
    }
    for (x, count) in kept {
        let _ = write!(
            out,
            r#"<text class="count" x="{x:.1}" y="{:.1}">{count}</text>"#,
            y + FOOT - 2.0
        );
    }
}
