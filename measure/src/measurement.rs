//! Joins one run's ledger and arrivals into a measurement.

#[path = "stops.rs"]
mod stops;

use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, Delivery, End};
use crate::cell::Cell;
use crate::ledger::{Ledger, Refusal};
use crate::units::{Span, Stamp};

/// How a run came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// The terminal event came and there was text.
    Complete,
    /// It ended before its terminal event, whatever the framing said.
    Truncated,
    /// It ended well without a token.
    NoToken,
    /// An error.
    Failed {
        /// What failed, in one line.
        what: String,
    },
}

/// How long the path held one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The frame.
    pub seq: u32,
    /// Arrival less the end of its write (`k − e`), signed.
    pub after: Span,
    /// Arrival less the start of its write (`k − e0`): the truth is between the two.
    pub before: Span,
}

/// A delivery that completed frames, as the verdict sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// When it arrived.
    pub at: Stamp,
    /// How many frames of the script it completed.
    pub frames: u32,
    /// Bytes on the wire, where the reader knows them.
    pub bytes: Option<u64>,
    /// How long its first frame had been held (`k − e`); absent without a ledger.
    pub first_hold: Option<Span>,
    /// How long its last frame had been held.
    pub last_hold: Option<Span>,
    /// The last frame's number; absent without a ledger.
    pub last_seq: Option<u32>,
}

/// A time in which the path took nothing of what was to leave, as both ends saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The frame that waited to leave.
    pub seq: u32,
    /// What refused it.
    pub by: Refusal,
    /// How long it waited, from when it was ready to leave.
    pub waited: Span,
    /// The longest time of it in which nothing arrived.
    pub silent: Span,
    /// From its end to the next arrival; absent if nothing came any more.
    pub onward: Option<Span>,
    /// Bytes of the stream that had left when it began.
    pub left: u64,
    /// Those of them that had not arrived, in whole frames.
    pub on_the_way: u64,
    /// Bytes that had left on all streams of an HTTP/2 connection.
    pub connection: Option<u64>,
    /// Whether the reader was in a stop of its own then, on purpose.
    pub of_reader: bool,
}

/// What one run measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// How it came out.
    pub outcome: Outcome,
    /// Frames with an event or a sequence number that came.
    pub frames: u32,
    /// Frames that the script has; absent without a ledger.
    pub frames_planned: Option<u32>,
    /// Deliveries that completed at least one frame.
    pub deliveries: u32,
    /// Every delivery, also those that completed no frame.
    pub reads: u32,
    /// Call to established connection.
    pub connect: Option<Span>,
    /// Call to the response's head.
    pub head: Option<Span>,
    /// Call to the first byte of the body.
    pub first_byte: Option<Span>,
    /// Call to the first event of any kind.
    pub first_event: Option<Span>,
    /// Call to the first event with visible text.
    pub ttft: Option<Span>,
    /// Call to the moment at which half of all bytes had come.
    pub half_bytes: Option<Span>,
    /// Call to the emitter's last write.
    pub upstream_done: Option<Span>,
    /// Call to the end.
    pub total: Span,
    /// Between consecutive frames' arrivals.
    pub gaps: Vec<Span>,
    /// How long the path held each frame; empty without a ledger.
    pub holds: Vec<Hold>,
    /// The deliveries that completed frames.
    pub bursts: Vec<Burst>,
    /// When the emitter wrote the last frame; absent without a ledger.
    pub last_written: Option<Stamp>,
    /// The script's shortest interval, where both sides keep to it; absent for a reader that is
    /// slow or stops on purpose and for frames that are all due at once.
    pub pace: Option<Span>,
    /// When each frame was written, in order; empty without a ledger.
    pub written: Vec<Stamp>,
    /// Where the path took nothing; empty for a reader that is slow on purpose, whose pauses are
    /// many.
    pub stops: Vec<Stop>,
    /// How long the first body byte was on its way: its arrival less the start of the first
    /// frame's write.
    pub first_byte_hold: Option<Span>,
    /// The segment's payload on the reader's connection.
    pub segment_bytes: Option<u32>,
    /// From which content type to which it was changed, where what came is not what the emitter
    /// sent.
    pub type_changed: Option<String>,
}

impl Measurement {
    /// Joins the two sides of one run. Frames are joined by sequence number.
    pub fn join(ledger: Option<&Ledger>, arrivals: &Arrivals) -> Measurement {
        let since = |at: Stamp| at - arrivals.call;
        let counted = |frame: &&crate::FrameMark| frame.event || frame.seq.is_some();
        let mut holds = Vec::new();
        let mut bursts = Vec::new();
        let mut times = Vec::new();
        for delivery in &arrivals.deliveries {
            let frames: Vec<_> = delivery.frames.iter().filter(counted).collect();
            let hold_of = |seq: u32| {
                let entry = ledger?.entry(seq)?;
                Some(Hold {
                    seq,
                    after: delivery.arrived() - entry.after,
                    before: delivery.arrived() - entry.before,
                })
            };
            let held: Vec<Hold> = frames.iter().filter_map(|frame| hold_of(frame.seq?)).collect();
            times.extend(frames.iter().map(|_| delivery.at));
            if !frames.is_empty() {
                bursts.push(Burst {
                    at: delivery.arrived(),
                    frames: frames.len() as u32,
                    bytes: delivery.bytes,
                    first_hold: held.first().map(|hold| hold.after),
                    last_hold: held.last().map(|hold| hold.after),
                    last_seq: held.last().map(|hold| hold.seq),
                });
            }
            holds.extend(held);
        }
        let first = |wanted: fn(&crate::FrameMark) -> bool| {
            arrivals
                .frames()
                .find(|(_, frame)| wanted(frame))
                .map(|(delivery, _)| since(delivery.at))
        };
        let first_body = arrivals.deliveries.iter().find(|delivery| {
            delivery.body_bytes.map_or(!delivery.frames.is_empty(), |bytes| bytes > 0)
        });
        Measurement {
            outcome: outcome(arrivals, ledger),
            frames: times.len() as u32,
            frames_planned: ledger.map(|ledger| ledger.script.frame_count()),
            deliveries: bursts.len() as u32,
            reads: arrivals.deliveries.len() as u32,
            connect: arrivals.connected.map(since),
            head: arrivals.head.map(since),
            first_byte: first_body.map(|delivery| since(delivery.at)),
            first_event: first(|frame| frame.event),
            ttft: first(|frame| frame.text),
            half_bytes: half_bytes(arrivals).map(since),
            upstream_done: ledger.and_then(|ledger| ledger.done).map(since),
            total: since(arrivals.ended),
            gaps: times.windows(2).map(|pair| pair[1] - pair[0]).collect(),
            holds,
            bursts,
            last_written: ledger.and_then(|ledger| ledger.entries.last()).map(|entry| entry.after),
            pace: ledger
                .and_then(|ledger| ledger.script.shortest_interval())
                .filter(|interval| *interval > Span::ZERO),
            written: ledger
                .map_or(Vec::new(), |ledger| ledger.entries.iter().map(|e| e.after).collect()),
            // A page's ledger has no waits in it: its module goes without this, and without the
            // verdict that is made of it.
            stops: match ledger {
                Some(ledger) if !cfg!(target_arch = "wasm32") => stops::of(ledger, arrivals),
                _ => Vec::new(),
            },
            first_byte_hold: first_body
                .zip(ledger.and_then(|ledger| ledger.entries.first()))
                .map(|(delivery, entry)| delivery.arrived() - entry.before),
            segment_bytes: arrivals.segment_bytes,
            type_changed: ledger.and_then(|ledger| {
                let came = arrivals.content_type.as_ref()?;
                let sent = ledger.script.content_type();
                (!same_type(came, sent)).then(|| format!("from {sent} to {came}"))
            }),
        }
    }

    /// The same, of a cell whose reader is slow or stops on purpose: its pace is nobody's hold.
    #[must_use]
    pub fn of_cell(mut self, cell: &Cell) -> Measurement {
        if cell.request.slow.is_some() {
            self.stops.clear();
        }
        if cell.request.slow.is_some() || cell.request.pause.is_some() {
            self.pace = None;
        }
        self
    }

    /// Leaves out what a busy page makes of a stream: its handler's times and deliveries.
    pub(crate) fn forget_page_figures(&mut self) {
        self.ttft = None;
        self.first_event = None;
        self.first_byte = None;
        self.half_bytes = None;
        self.gaps.clear();
        self.deliveries = 0;
    }

    /// Frames received by deliveries that completed at least one; absent without a frame.
    pub fn frames_per_read(&self) -> Option<f64> {
        (self.deliveries > 0).then(|| f64::from(self.frames) / f64::from(self.deliveries))
    }

    /// Whether every frame came that the emitter had to write.
    pub fn all_came(&self) -> bool {
        self.frames_planned.is_some_and(|planned| planned == self.frames)
    }

    /// Whether all frames of an answer with more than one came at once.
    pub fn single_delivery(&self) -> bool {
        self.frames > 1 && self.deliveries == 1
    }
}

/// Whether two content types name the same media type; parameters such as the character set do
/// not count.
pub(crate) fn same_type(one: &str, other: &str) -> bool {
    fn media(text: &str) -> &str {
        text.split(';').next().unwrap_or_default().trim()
    }
    media(one).eq_ignore_ascii_case(media(other))
}

fn outcome(arrivals: &Arrivals, ledger: Option<&Ledger>) -> Outcome {
    if let Some(status) = arrivals.status.filter(|status| *status != 200) {
        return Outcome::Failed { what: format!("the endpoint answered {status}") };
    }
    if let End::Failed { what } = &arrivals.end {
        return Outcome::Failed { what: what.clone() };
    }
    if arrivals.foreign_frames > 0 {
        return Outcome::Failed {
            what: format!("{} frames of another run came", arrivals.foreign_frames),
        };
    }
    if !arrivals.has_terminal() {
        return match arrivals.end {
            End::TimedOut { limit_us } => Outcome::Failed {
                what: format!("no byte for {} and no terminal event", Span(limit_us)),
            },
            _ => Outcome::Truncated,
        };
    }
    if let Some(what) = ledger.and_then(|ledger| miscounted(arrivals, ledger)) {
        return Outcome::Failed { what };
    }
    if arrivals.frames().any(|(_, frame)| frame.text) {
        Outcome::Complete
    } else {
        Outcome::NoToken
    }
}

/// Whether a stream that ended well lost frames on the way or had some twice. A reader that saw no
/// numbered frame at all (a tap before a compressed body) cannot tell.
fn miscounted(arrivals: &Arrivals, ledger: &Ledger) -> Option<String> {
    let planned = ledger.script.frame_count();
    let mut came = vec![false; planned as usize];
    let mut twice = 0;
    for seq in arrivals.frames().filter_map(|(_, frame)| frame.seq) {
        // A number beyond the script's is one that came besides.
        let known = came.get_mut(seq as usize).map(|came| std::mem::replace(came, true));
        twice += u32::from(known != Some(false));
    }
    if twice > 0 {
        return Some(format!("{twice} of {planned} frames came twice"));
    }
    let missing = came.iter().filter(|came| !**came).count() as u32;
    (missing > 0 && missing < planned)
        .then(|| format!("{missing} of {planned} frames did not come"))
}

/// When half of the body's bytes had come; of all bytes where the reader cannot tell them apart.
fn half_bytes(arrivals: &Arrivals) -> Option<Stamp> {
    let bytes = |delivery: &Delivery| delivery.body_bytes.or(delivery.bytes);
    let total: u64 = arrivals.deliveries.iter().filter_map(bytes).sum();
    let mut came = 0;
    arrivals.deliveries.iter().find_map(|delivery| {
        came += bytes(delivery)?;
        (total > 0 && came * 2 >= total).then_some(delivery.at)
    })
}
