//! The shape of a stream as its reader saw it: what came at once, how far apart, cut where.

use super::Thresholds;
use crate::arrivals::{Arrivals, Delivery};
use crate::stats::{self, median, nearest_rank};
use crate::units::{Span, Stamp};

/// Longest end of an event, bytes: a blank line behind the last line's end, both as CR LF.
const LONGEST_END: u64 = 4;

/// What came at once: reads that follow each other closer than any pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Release {
    /// When its first read arrived.
    pub(super) at: Stamp,
    /// When its last read arrived.
    last: Stamp,
    /// Events that it completed.
    pub(super) events: u32,
    /// Bytes on the wire; absent where the reader does not know them.
    pub(super) bytes: Option<u64>,
    /// Offset in the decoded body, in bytes, up to which it brought the stream.
    body_end: u64,
    /// Whether it ends inside an event.
    pub(super) cut: bool,
}

/// A stream's shape.
pub(super) struct Shape {
    pub(super) releases: Vec<Release>,
    /// Events in all, the terminal one left out: origins often write it together with the last.
    pub(super) events: u32,
    /// How long the ends of events waited, of which all else had come before and whose end came
    /// only together with the beginning of the next one.
    pub(super) ends_late: Vec<Span>,
    /// From the arrival of the last of those events to that of the terminal one; absent where
    /// either did not come.
    pub(super) terminal_after: Option<Span>,
    /// The call, and the head's arrival.
    call: Stamp,
    pub(super) head: Option<Span>,
}

impl Shape {
    pub(super) fn of(arrivals: &Arrivals, thresholds: &Thresholds) -> Shape {
        let ends: Vec<u64> = arrivals.frames().filter_map(|(_, frame)| frame.end).collect();
        let mut shape = Shape {
            releases: Vec::new(),
            events: 0,
            ends_late: Vec::new(),
            terminal_after: terminal_after(arrivals),
            call: arrivals.call,
            head: arrivals.head.map(|at| at - arrivals.call),
        };
        let mut body = 0;
        for delivery in arrivals.deliveries.iter().filter(|delivery| brings_body(delivery)) {
            let before = body;
            body += delivery.body_bytes.unwrap_or_default();
            shape.see_ends(delivery, before, body, thresholds);
            let events = delivery.frames.iter().filter(|f| f.event && !f.terminal).count() as u32;
            shape.events += events;
            let cut = delivery.body_bytes.is_some() && ends.binary_search(&body).is_err();
            match shape.releases.last_mut() {
                Some(release) if delivery.arrived() - release.last <= thresholds.same_release => {
                    release.last = delivery.arrived();
                    release.events += events;
                    release.bytes =
                        release.bytes.zip(delivery.bytes).map(|(one, other)| one + other);
                    release.body_end = body;
                    release.cut = cut;
                }
                _ => shape.releases.push(Release {
                    at: delivery.arrived(),
                    last: delivery.arrived(),
                    events,
                    bytes: delivery.bytes,
                    body_end: body,
                    cut,
                }),
            }
        }
        shape
    }

    /// Notes an event of which all but its end had come before, and whose end came with the
    /// beginning of the next one.
    fn see_ends(&mut self, delivery: &Delivery, before: u64, after: u64, thresholds: &Thresholds) {
        let end = delivery.frames.iter().find(|frame| frame.event).and_then(|frame| frame.end);
        let (Some(end), Some(earlier)) = (end, self.releases.last()) else { return };
        let waited = delivery.arrived() - earlier.last;
        let began_before = earlier.cut && before < end && end - before <= LONGEST_END;
        if began_before && after > end && waited > thresholds.same_release {
            self.ends_late.push(waited);
        }
    }

    /// Events for each release that completed any.
    pub(super) fn events_per_release(&self) -> f64 {
        let completing = self.releases.iter().filter(|release| release.events > 0).count();
        f64::from(self.events) / completing.max(1) as f64
    }

    /// From the first release to the last.
    pub(super) fn lasted(&self) -> Span {
        self.releases
            .first()
            .zip(self.releases.last())
            .map_or(Span::ZERO, |(first, last)| last.last - first.at)
    }

    /// From the call to the first release.
    pub(super) fn waited(&self) -> Span {
        self.releases.first().map_or(Span::ZERO, |first| first.at - self.call)
    }

    /// The greatest share of all events that came in one release.
    pub(super) fn largest_share(&self) -> f64 {
        let most = self.releases.iter().map(|release| release.events).max().unwrap_or_default();
        f64::from(most) / f64::from(self.events.max(1))
    }

    /// Releases with how long after the one before each came. The stream's end releases whatever
    /// is there, so the last one fits no pattern and breaks none.
    pub(super) fn spaced(&self) -> Vec<(Span, &Release)> {
        let whole = self.releases.len().saturating_sub(1);
        self.releases[..whole]
            .windows(2)
            .map(|pair| (pair[1].at - pair[0].last, &pair[1]))
            .collect()
    }

    /// Body bytes of each release but the first, which the head may shorten, and the last.
    pub(super) fn body_steps(&self) -> Vec<(u64, &Release)> {
        let whole = self.releases.len().saturating_sub(1);
        self.releases[..whole]
            .windows(2)
            .map(|pair| (pair[1].body_end - pair[0].body_end, &pair[1]))
            .collect()
    }
}

fn terminal_after(arrivals: &Arrivals) -> Option<Span> {
    let arrived = |terminal: bool| {
        let wanted =
            arrivals.frames().filter(|(_, frame)| frame.event && frame.terminal == terminal);
        wanted.last().map(|(delivery, _)| delivery.arrived())
    };
    Some(arrived(true)? - arrived(false)?)
}

/// How far the middle 80% of some figures lie apart, as a share of their median; absent for
/// fewer than three figures or a median of nothing.
pub(super) fn scatter(mut figures: Vec<Span>) -> Option<f64> {
    if figures.len() < 3 {
        return None;
    }
    let middle = median(&figures)?.as_micros();
    stats::sort(&mut figures);
    let (low, high) = (nearest_rank(&figures, 0.1)?, nearest_rank(&figures, 0.9)?);
    (middle > 0).then(|| (high - low).as_micros() as f64 / middle as f64)
}

fn brings_body(delivery: &Delivery) -> bool {
    !delivery.frames.is_empty() || delivery.body_bytes.is_some_and(|bytes| bytes > 0)
}
