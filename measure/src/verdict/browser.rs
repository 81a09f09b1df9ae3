//! What a browser's run shows beyond the path: who of browser and page held the tokens that the
//! wire had passed on.

use super::{Finding, Thresholds, Verdict};
use crate::arrivals::{PageState, Reader};
use crate::stats::{self, nearest_rank};
use crate::units::{Span, decimal};

/// The browser's side of one run.
#[derive(Clone, Debug)]
pub struct PageEvidence<'a> {
    /// Who read.
    pub reader: Reader,
    /// Whether the client's side of the connection was HTTP/1, whose streams need a connection
    /// each.
    pub one_stream_a_connection: bool,
    /// What the page noted of itself.
    pub page: &'a PageState,
    /// The longest task a page may have whose own figures count.
    pub longest_task: Span,
    /// Frames per delivery at the reader; absent without a delivery.
    pub frames_per_delivery: Option<f64>,
    /// How long after the call the request reached the wire; absent without a tap.
    pub left: Option<Span>,
    /// Handler less the wire's write for each frame (`b − f`), in any order.
    pub browser_holds: &'a [Span],
    /// Page less worker for each frame (`m − b`), in any order; empty for other readers.
    pub page_holds: &'a [Span],
    /// How far `b − f` may be off.
    pub uncertainty: Span,
    /// How far `m − b` may be off.
    pub page_uncertainty: Span,
}

/// Judges a run whose path was found to be `path`: what the path did goes first, since a page
/// cannot hold what has not come.
pub fn of_page(path: Finding, evidence: &PageEvidence<'_>, thresholds: &Thresholds) -> Finding {
    if path.name != Verdict::Live {
        return path;
    }
    left_late(evidence, thresholds)
        .or_else(|| long_task(evidence))
        .or_else(|| match evidence.reader {
            Reader::FetchWorker => in_worker(evidence, thresholds),
            _ => in_page(evidence, thresholds),
        })
        .unwrap_or(path)
}

fn left_late(evidence: &PageEvidence<'_>, thresholds: &Thresholds) -> Option<Finding> {
    let left = evidence.left?;
    if left - evidence.uncertainty <= thresholds.left_late {
        return None;
    }
    let streams = evidence.page.streams;
    if evidence.one_stream_a_connection && streams > thresholds.connections {
        return Some(Finding::new(
            Verdict::ConnectionLimit,
            format!(
                "the request left the browser {left} after the call: {} other streams to the origin were open, and over HTTP/1.1 a browser runs {}",
                streams - 1,
                thresholds.connections
            ),
        ));
    }
    let busy = Span(evidence.page.longest_task_us);
    if busy > evidence.longest_task {
        // The page's own work kept the call back: said below.
        return None;
    }
    Some(Finding::new(
        Verdict::CannotTell,
        format!(
            "live on the wire, but the request left the browser {left} after the call, with {streams} streams of this page open and no long task: something else in the browser kept it"
        ),
    ))
}

fn long_task(evidence: &PageEvidence<'_>) -> Option<Finding> {
    let longest = Span(evidence.page.longest_task_us);
    if longest <= evidence.longest_task {
        return None;
    }
    let in_page = match evidence.frames_per_delivery {
        Some(ratio) if evidence.reader != Reader::FetchWorker => {
            format!("; it took {} frames at a time", decimal(ratio, 2))
        }
        _ => String::new(),
    };
    Some(Finding::new(
        Verdict::PageBusy,
        format!("live on the wire, but the page was busy for {longest} at a time{in_page}"),
    ))
}

/// The worker separates browser and page, as long as it was idle itself.
fn in_worker(evidence: &PageEvidence<'_>, thresholds: &Thresholds) -> Option<Finding> {
    let own = Span(evidence.page.worker_longest_task_us.unwrap_or_default());
    if own > evidence.longest_task {
        return Some(Finding::new(
            Verdict::CannotTell,
            format!(
                "live on the wire, but the worker that reads was busy for {own} at a time: it tells browser and page apart no longer"
            ),
        ));
    }
    let per_delivery = evidence.frames_per_delivery?;
    let hold = high(evidence.browser_holds);
    let held = |hold: Option<Span>, uncertainty: Span| {
        hold.filter(|hold| *hold - uncertainty > thresholds.live_hold)
    };
    if per_delivery > thresholds.live_frames_per_read
        && let Some(hold) = held(hold, evidence.uncertainty)
    {
        return Some(Finding::new(
            Verdict::BatchedInBrowser,
            format!(
                "live on the wire, but the browser gave its worker {} frames at a time, 90% within {hold} of the wire",
                decimal(per_delivery, 2)
            ),
        ));
    }
    let page = held(high(evidence.page_holds), evidence.page_uncertainty)?;
    Some(Finding::new(
        Verdict::PageBusy,
        format!(
            "live on the wire and in the worker, but the page took a token up only {page} after its worker (90% within that)"
        ),
    ))
}

/// On the page's own thread browser and page cannot be told apart.
fn in_page(evidence: &PageEvidence<'_>, thresholds: &Thresholds) -> Option<Finding> {
    let per_delivery = evidence.frames_per_delivery?;
    let hold = high(evidence.browser_holds)?;
    if per_delivery < thresholds.batched_frames_per_delivery
        || hold - evidence.uncertainty <= thresholds.live_hold
    {
        return None;
    }
    Some(Finding::new(
        Verdict::CannotTell,
        format!(
            "live on the wire, but the page was given {} frames at a time, 90% within {hold} of the wire, without a long task: browser or page, which only a worker that reads can tell",
            decimal(per_delivery, 2)
        ),
    ))
}

/// The 90th percentile: what a frame now and then does is no verdict.
fn high(holds: &[Span]) -> Option<Span> {
    let mut sorted = holds.to_vec();
    stats::sort(&mut sorted);
    nearest_rank(&sorted, 0.9)
}

#[cfg(test)]
#[path = "browser_tests.rs"]
mod tests;
