//! Who had a token how long: the parts between the stations of one stream, and the first token's
//! time split by them, as far as one run's stamps can tell.

use measure::guards::Guards;
use measure::results::RunRecord;
use measure::{Reader, Span};

/// Who had a token between two stations, in the order in which they have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// From the call to the emitter's write: connect, request, and the origin's own wait.
    Request,
    /// From the emitter's write to the kernel's stamp at the tap (`k − e`).
    Path,
    /// The tap's own time (`f − k`), shown so that it is never billed to the proxy.
    Tap,
    /// From the tap's write to the worker's handler (`b − f`).
    Browser,
    /// From the worker's handler to the page's (`m − b`).
    Page,
    /// From the tap's write to the handler on the page's own thread: browser or page, of which
    /// one stream can only tell the sum.
    Either,
    /// From the emitter's write to the reader where no tap divides it.
    Undivided,
    /// From the handler that used the token to the frame that showed it (`p`).
    Paint,
}

impl Part {
    /// All of them, in the order in which they have a token.
    pub const ALL: [Part; 8] = [
        Part::Request,
        Part::Path,
        Part::Tap,
        Part::Browser,
        Part::Page,
        Part::Either,
        Part::Undivided,
        Part::Paint,
    ];

    /// Its class in the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Part::Request => "request",
            Part::Path => "path",
            Part::Tap => "tap",
            Part::Browser => "browser",
            Part::Page => "page",
            Part::Either => "either",
            Part::Undivided => "undivided",
            Part::Paint => "paint",
        }
    }

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Part::Either => "browser or page",
            Part::Undivided => "path, browser or page",
            other => other.class(),
        }
    }

    /// How it is measured.
    pub fn formula(self) -> &'static str {
        match self {
            Part::Request => "call to emitter’s write",
            Part::Path => "emitter’s write to the wire, less direct’s",
            Part::Tap => "the tap’s own time",
            Part::Browser => "wire to worker",
            Part::Page => "worker to page",
            Part::Either => "wire to page",
            Part::Undivided => "emitter’s write to page",
            Part::Paint => "page to picture",
        }
    }
}

/// A time with how far it may be off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The time, signed.
    pub span: Span,
    /// How far the clocks, or the two ends of a write, leave it open.
    pub off: Span,
}

impl Measured {
    /// Whether it says anything: what the clocks leave open is not claimed.
    pub fn is_claimed(self) -> bool {
        self.span.abs() > self.off
    }
}

/// One run's first token, split; the parts are in the order in which they had it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The parts that are known.
    pub parts: Vec<(Part, Measured)>,
}

impl Split {
    /// Splits a run's first token; `None` without a ledger, or without a token that names its
    /// frame. `step` is the step of the page's clock: page and paint are stamped by one clock.
    /// What the page's thread stamped while it was busy is left out, as it is of the row.
    pub fn of(record: &RunRecord, step: Span) -> Option<Split> {
        let arrivals = &record.arrivals;
        let (delivery, frame) = arrivals.frames().find(|(_, frame)| frame.text)?;
        let seq = frame.seq?;
        let entry = record.ledger.as_ref()?.entry(seq)?;
        let write = entry.after - entry.before;
        let clock = arrivals.clock_uncertainty();
        let wire = record
            .wire
            .as_ref()
            .and_then(|wire| wire.frames().find(|(_, mark)| mark.seq == Some(seq)))
            .map(|(delivery, _)| delivery);
        let longest = arrivals.page.as_ref().map_or(0, |page| page.longest_task_us);
        let busy = Span(longest) > Guards::default().page_longest_task_us;
        let own_thread = arrivals.reader != Reader::FetchWorker;
        let mut parts = Vec::new();
        let mut add = |part, span, off| parts.push((part, Measured { span, off }));
        add(Part::Request, entry.after - arrivals.call, clock);
        match wire.and_then(|tap| Some((tap.arrived(), tap.forwarded?))) {
            Some((kernel, forwarded)) => {
                add(Part::Path, kernel - entry.after, write);
                add(Part::Tap, forwarded - kernel, Span::ZERO);
                if !(own_thread && busy) {
                    let part = if own_thread { Part::Either } else { Part::Browser };
                    add(part, delivery.at - forwarded, clock);
                }
            }
            None => add(Part::Undivided, delivery.at - entry.after, clock + write),
        }
        if let Some(paged) = delivery.paged.filter(|_| !busy) {
            add(Part::Page, paged - delivery.at, arrivals.page_uncertainty());
        }
        if let Some(painted) = delivery.painted.filter(|_| !busy) {
            add(Part::Paint, painted - delivery.paged.unwrap_or(delivery.at), step);
        }
        Some(Split { parts })
    }

    /// A part of it.
    pub fn part(&self, part: Part) -> Option<Measured> {
        self.parts.iter().find(|(own, _)| *own == part).map(|(_, measured)| *measured)
    }

    /// All parts together: to the picture where it was painted, else to the handler.
    pub fn total(&self) -> Span {
        self.parts.iter().fold(Span::ZERO, |sum, (_, part)| sum + part.span)
    }
}

/// The run of a cell whose TTFT is the cell's median: a figure and its split are of one run.
pub fn run_of_median<'a>(
    records: &'a [RunRecord],
    cell: &str,
    median: Span,
) -> Option<&'a RunRecord> {
    records.iter().filter(|record| record.cell == cell).min_by_key(|record| {
        let first = record.arrivals.frames().find(|(_, frame)| frame.text);
        first.map_or(Span(i64::MAX), |(delivery, _)| {
            (delivery.at - record.arrivals.call - median).abs()
        })
    })
}
