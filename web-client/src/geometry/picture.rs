//! One run as its chart sees it: what came together, at which station, when.

use measure::results::RunRecord;
use measure::{Arrivals, Delivery, Ledger, Span, Stamp};

use super::put;

/// Messages of a worker that the page had to leave lying are handled one task after the other,
/// some tens of microseconds apart: nearer than this they came together as far as anyone sees.
const SAME_TURN: Span = Span::micros(1_000);

/// A time axis below the emitter's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// The kernel's stamps at the tap.
    Wire,
    /// The worker's handler.
    Worker,
    /// The page's handler.
    Page,
}

impl Axis {
    /// Its name beside the chart, and its class.
    pub fn name(self) -> &'static str {
        match self {
            Axis::Wire => "wire",
            Axis::Worker => "worker",
            Axis::Page => "page",
        }
    }
}

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
    /// What came together on the wire; empty without a tap.
    pub wire: Vec<Clump>,
    /// What came together in the worker; empty where the page's own thread reads.
    pub worker: Vec<Clump>,
    /// What came together in the page.
    pub page: Vec<Clump>,
    /// The latest time in the picture.
    pub latest: Span,
}

impl Picture {
    /// A run that is over, with all that is known of it.
    pub fn of_record(record: &RunRecord) -> Picture {
        let call = record.arrivals.call;
        let sent = record.ledger.as_ref().map(|ledger| sent(ledger, call)).unwrap_or_default();
        let wire = record.wire.as_ref().map(|wire| clumps(wire, call, Delivery::arrived));
        let read = clumps(&record.arrivals, call, |delivery| delivery.at);
        let forwarded = record.arrivals.deliveries.iter().any(|delivery| delivery.paged.is_some());
        let (worker, page) = if forwarded {
            let paged = |delivery: &Delivery| delivery.paged.unwrap_or(delivery.at);
            (read, turns(clumps(&record.arrivals, call, paged)))
        } else {
            (Vec::new(), read)
        };
        let mut picture =
            Picture { sent, wire: wire.unwrap_or_default(), worker, page, latest: Span::ZERO };
        let axes = picture.axes();
        let came = axes.iter().filter_map(|(_, clumps)| Some(clumps.last()?.at));
        picture.latest =
            came.chain(picture.sent.iter().copied().flatten()).max().unwrap_or_default();
        picture
    }

    /// The axes below the emitter's that this run has, from above.
    pub fn axes(&self) -> Vec<(Axis, &[Clump])> {
        [(Axis::Wire, &self.wire), (Axis::Worker, &self.worker), (Axis::Page, &self.page)]
            .into_iter()
            .filter(|(axis, clumps)| *axis == Axis::Page || !clumps.is_empty())
            .map(|(axis, clumps)| (axis, clumps.as_slice()))
            .collect()
    }

    /// How many frames reached the page.
    pub fn arrived(&self) -> u32 {
        self.page.iter().map(|clump| clump.count).sum()
    }

    /// The picture in words, for those who do not see it.
    pub fn described(&self) -> String {
        if self.sent.is_empty() && self.page.is_empty() {
            return String::new();
        }
        let mut text = format!("{} frames sent", self.sent.iter().flatten().count());
        for (axis, clumps) in self.axes() {
            let largest = clumps.iter().map(|clump| clump.count).max().unwrap_or(0);
            let came: u32 = clumps.iter().map(|clump| clump.count).sum();
            text.push_str(&format!(
                "; {came} at the {} in {} deliveries, the largest of {largest}",
                axis.name(),
                clumps.len()
            ));
        }
        text.push_str(&format!("; all within {}.", self.latest));
        text
    }
}

fn sent(ledger: &Ledger, call: Stamp) -> Vec<Option<Span>> {
    let mut sent = Vec::new();
    for entry in &ledger.entries {
        put(&mut sent, entry.seq, entry.after - call);
    }
    sent
}

/// Deliveries as clumps, each at the time that is asked for.
fn clumps(arrivals: &Arrivals, call: Stamp, time: fn(&Delivery) -> Stamp) -> Vec<Clump> {
    arrivals
        .deliveries
        .iter()
        .map(|delivery| Clump::of(delivery, time(delivery) - call))
        .filter(|clump| clump.count > 0)
        .collect()
}

impl Clump {
    /// A delivery at that time.
    pub fn of(delivery: &Delivery, at: Span) -> Clump {
        let counted = delivery.frames.iter().filter(|frame| frame.event || frame.seq.is_some());
        let count = counted.clone().count() as u32;
        Clump { at, seqs: counted.filter_map(|frame| frame.seq).collect(), count }
    }
}

/// Joins what the page took up in one go.
fn turns(clumps: Vec<Clump>) -> Vec<Clump> {
    let mut joined: Vec<Clump> = Vec::new();
    let mut last = None;
    for clump in clumps {
        let close = last.is_some_and(|last| clump.at - last < SAME_TURN);
        last = Some(clump.at);
        match joined.last_mut().filter(|_| close) {
            Some(before) => {
                before.count += clump.count;
                before.seqs.extend(clump.seqs);
            }
            None => joined.push(clump),
        }
    }
    joined
}
