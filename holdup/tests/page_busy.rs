//! What looks like a bad proxy and is none: a page that works too long, and a browser that has no
//! connection left. Through real networks, in Chromium.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod page;

use common::{alone, document, rows, run, skipped_but, status, stderr};
use measure::Reader;
use measure::stats::RatioSpread;
use measure::transport::ClientProtocol;
use measure::verdict::Verdict;
use page::no_browser;

fn median(ratio: &Option<RatioSpread>) -> Option<f64> {
    ratio.as_ref().map(|ratio| ratio.median)
}

#[test]
fn busy_reader() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let output = run(&[
        "browse",
        "--preset",
        "busy-page",
        "--endpoints",
        "direct",
        "--readers",
        "eventsource,fetch,fetch-worker",
        "--runs",
        "1",
        "--json",
    ]);
    let document = document(&output);
    if skipped_but(&document, &[Verdict::PageBusy]) {
        return;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    for row in rows(&document, "direct") {
        let (reader, summary) = (row.cell.reader, &row.summary);
        assert_eq!(summary.verdict.name, Verdict::PageBusy, "{}", summary.verdict.because);
        let on_wire = median(&summary.wire_frames_per_read).unwrap();
        assert!(on_wire < 1.1, "{}: the wire was live: {on_wire}", row.id);
        match reader {
            // Its own thread, its own clock: what the page does is no business of the worker's.
            Reader::FetchWorker => {
                // Absent when other work kept the worker from its own beat.
                match median(&summary.frames_per_read) {
                    Some(in_worker) => assert!(in_worker < 1.1, "{in_worker} frames at a time"),
                    None => println!("SKIPPED(the machine kept the worker itself busy)"),
                }
            }
            _ => {
                let in_page = median(&summary.busy_frames_per_delivery).unwrap();
                assert!(in_page > 2.0, "{}: {in_page} frames at a time", row.id);
                assert!(summary.frames_per_read.is_none(), "a busy page's figure is none");
            }
        }
    }
}

#[test]
fn seventh_stream() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let output = run(&[
        "browse",
        "--preset",
        "connection-limit",
        "--readers",
        "eventsource,fetch,fetch-worker",
        "--runs",
        "1",
        "--json",
    ]);
    let mut document = document(&output);
    // The twenty over HTTP/2 beside them are looked at in `protocols.rs`.
    document.cells.retain(|row| row.cell.request.protocol() == Some(ClientProtocol::Http11));
    if skipped_but(&document, &[Verdict::ConnectionLimit]) {
        return;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    for reader in [Reader::Eventsource, Reader::Fetch, Reader::FetchWorker] {
        let mut rows = rows(&document, "direct");
        rows.retain(|row| row.cell.reader == reader);
        assert_eq!(rows.len(), 7, "{reader:?}");
        for row in rows {
            let seventh = row.cell.stream == Some(7);
            let wanted = if seventh { Verdict::ConnectionLimit } else { Verdict::Live };
            let verdict = &row.summary.verdict;
            assert_eq!(verdict.name, wanted, "{}: {}", row.id, verdict.because);
            if seventh {
                assert!(verdict.because.contains("6 other streams to the origin were open"));
                // It waited for most of a stream of 2 s.
                assert!(row.summary.left_us.as_ref().unwrap().median.as_micros() > 1_000_000);
            }
        }
    }
}
