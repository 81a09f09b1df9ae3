//! The time to the first token, split by who had it: what one run's stamps can tell.

use measure::Span;
use measure::results::RunRecord;

/// The parts of one run's TTFT, in order; they add up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// From the call to the emitter's write of the first frame with text: connect, request,
    /// and the origin's own wait.
    pub request: Span,
    /// From that write to the kernel's stamp at the tap (`k − e`).
    pub path: Option<Span>,
    /// The tap's own time (`f − k`), shown so that it is never billed to the proxy.
    pub tap: Option<Span>,
    /// From the tap's write to the page's handler (`b − f`): browser or page; on one stream
    /// only their sum can be known.
    pub browser: Option<Span>,
    /// From the emitter's write to the handler where there was no tap to divide it.
    pub undivided: Option<Span>,
}

impl Split {
    /// Splits a run; `None` without a ledger, or without a token that names its frame.
    pub fn of(record: &RunRecord) -> Option<Split> {
        let (delivery, frame) = record.arrivals.frames().find(|(_, frame)| frame.text)?;
        let seq = frame.seq?;
        let written = record.ledger.as_ref()?.entry(seq)?.after;
        let request = written - record.arrivals.call;
        let wire = record
            .wire
            .as_ref()
            .and_then(|wire| wire.frames().find(|(_, mark)| mark.seq == Some(seq)))
            .map(|(delivery, _)| delivery);
        let divided = wire.and_then(|tap| Some((tap.arrived(), tap.forwarded?)));
        Some(match divided {
            Some((kernel, forwarded)) => Split {
                request,
                path: Some(kernel - written),
                tap: Some(forwarded - kernel),
                browser: Some(delivery.at - forwarded),
                undivided: None,
            },
            None => Split {
                request,
                path: None,
                tap: None,
                browser: None,
                undivided: Some(delivery.at - written),
            },
        })
    }

    /// The parts that are known, by name, in order.
    pub fn parts(&self) -> Vec<(&'static str, Span)> {
        let parts = [
            ("request", Some(self.request)),
            ("path", self.path),
            ("tap", self.tap),
            ("browser", self.browser),
            ("undivided", self.undivided),
        ];
        parts.into_iter().filter_map(|(name, part)| Some((name, part?))).collect()
    }

    /// All parts together.
    pub fn total(&self) -> Span {
        self.parts().into_iter().fold(Span::ZERO, |sum, (_, part)| sum + part)
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
