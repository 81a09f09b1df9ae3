//! The stations of one stream beyond the wire: browser, page and paint, as far as one run's
//! stamps and its guards let them be told apart.

use crate::arrivals::{Arrivals, Reader};
use crate::cell::Cell;
use crate::guards::Guards;
use crate::results::RunRecord;
use crate::summary::BrowserSide;
use crate::units::{Span, Stamp};

/// What one browser run shows beyond the wire. All differences are signed and never clamped.
#[derive(Clone, Debug)]
pub(crate) struct Stations {
    /// `b − f` for each frame that reader and tap both saw.
    pub(crate) browser_holds: Vec<Span>,
    /// `m − b` for each frame; empty where the page's own thread reads.
    pub(crate) page_holds: Vec<Span>,
    /// `p` less the handler that used the token, for each delivery that was painted.
    pub(crate) paint_costs: Vec<Span>,
    /// What the verdict needs.
    pub(crate) side: BrowserSide,
    /// Whether the reader's own figures do not count: its thread was busy, or its clock too
    /// coarse.
    pub(crate) voids_reader: bool,
}

/// The stations of a browser's run. A long task of the page takes away what the page's thread
/// stamped: all of it where that thread reads, and the page's and paint's part where a worker
/// does, whose own stamps it cannot touch (but for WebKit's).
pub(crate) fn of(
    cell: &Cell,
    run: &RunRecord,
    guards: &Guards,
    frames_per_delivery: Option<f64>,
) -> Stations {
    let arrivals = &run.arrivals;
    let page = arrivals.page.clone().unwrap_or_default();
    let tolerance = guards.page_longest_task_us;
    let in_worker = cell.reader == Reader::FetchWorker;
    let busy = Span(page.longest_task_us) > tolerance;
    let busy_worker = page.worker_longest_task_us.is_some_and(|longest| Span(longest) > tolerance);
    // WebKit hands a worker its network data over on the page's thread: beside a page that was
    // busy for 250 ms after each frame a worker of WebKitGTK 2.50 was given 4.1 frames at a time,
    // those of Chromium and Firefox 1.
    let through_page = cell.engine.as_deref() == Some("webkit");
    let own_thread = in_worker && !through_page;
    let coarse = arrivals.clock_uncertainty() > guards.page_clock_us;
    let voids_reader = coarse || in_worker && busy_worker || busy && !own_thread;
    let voids_page = voids_reader || busy || arrivals.page_uncertainty() > guards.page_clock_us;
    let unless = |void: bool, holds: Vec<Span>| if void { Vec::new() } else { holds };
    Stations {
        browser_holds: unless(
            voids_reader,
            run.wire.as_ref().map_or(Vec::new(), |wire| browser_holds(wire, arrivals)),
        ),
        page_holds: unless(voids_page, page_holds(arrivals)),
        paint_costs: unless(voids_page, paint_costs(arrivals)),
        side: BrowserSide {
            reader: cell.reader,
            one_stream_a_connection: cell.request.client_protocol.starts_with("http/1"),
            longest_task: tolerance,
            left: run.wire.as_ref().filter(|_| !coarse).map(|wire| wire.call - arrivals.call),
            busy_frames_per_delivery: frames_per_delivery.filter(|_| busy && !own_thread),
            page_uncertainty: arrivals.page_clock.map(|_| arrivals.page_uncertainty()),
            page,
        },
        voids_reader,
    }
}

/// `b − f` for each frame that both saw.
fn browser_holds(wire: &Arrivals, arrivals: &Arrivals) -> Vec<Span> {
    let forwarded: Vec<(u32, Stamp)> = wire
        .frames()
        .filter_map(|(delivery, frame)| Some((frame.seq?, delivery.forwarded?)))
        .collect();
    // Frames come in order; should they not, the one is looked for from the start.
    let of = |seq: u32| match forwarded.binary_search_by_key(&seq, |(own, _)| *own) {
        Ok(place) => forwarded.get(place),
        Err(_) => forwarded.iter().find(|(own, _)| *own == seq),
    };
    arrivals
        .frames()
        .filter_map(|(delivery, frame)| Some(delivery.at - of(frame.seq?)?.1))
        .collect()
}

/// `m − b` for each frame.
fn page_holds(arrivals: &Arrivals) -> Vec<Span> {
    arrivals.frames().filter_map(|(delivery, _)| Some(delivery.paged? - delivery.at)).collect()
}

/// `p` less the handler on the page's thread, for each delivery that was painted.
fn paint_costs(arrivals: &Arrivals) -> Vec<Span> {
    arrivals
        .deliveries
        .iter()
        .filter_map(|delivery| Some(delivery.painted? - delivery.paged.unwrap_or(delivery.at)))
        .collect()
}
