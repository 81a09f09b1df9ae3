//! The same streams on the protocols that users' browsers speak: natively, and in three engines.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::shown::{Shown, noise};
use common::{
    alone, document, not_found, rows, run, runs, skip_missing, skipped_but, status, stderr,
};
use measure::Stamp;
use measure::results::{CellResult, Document, RunRecord};
use measure::verdict::Verdict;

/// Row of an endpoint on a protocol, by the native reader.
fn native<'a>(document: &'a Document, endpoint: &str, protocol: &str) -> &'a CellResult {
    let fits = |row: &&CellResult| {
        row.cell.request.client_protocol == protocol && row.cell.engine.is_none()
    };
    rows(document, endpoint).into_iter().find(fits).unwrap()
}

fn measured(endpoints: &str) -> Option<Document> {
    let output = run(&[
        "measure",
        "--preset",
        "protocols",
        "--runs",
        "1",
        "--endpoints",
        endpoints,
        "--json",
    ]);
    let document = document(&output);
    if skipped_but(&document, &[]) {
        return None;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    Some(document)
}

fn finds(document: &Document, expected: &[(&str, &str, &[Verdict])]) {
    for (endpoint, protocol, verdicts) in expected {
        let row = native(document, endpoint, protocol);
        let found = &row.summary.verdict;
        assert!(verdicts.contains(&found.name), "{}: {:?} {}", row.id, found.name, found.because);
    }
}

const LIVE: &[Verdict] = &[Verdict::Live];
/// A short answer that waits for its end, or for a buffer that it nearly fills.
const WAITS: &[Verdict] = &[Verdict::Held, Verdict::BufferBursts];

#[test]
fn haproxy_corks_over_http1_with_and_without_tls_and_is_live_over_http2_and_caddy_over_http3() {
    let _alone = alone();
    let Some(document) = measured("haproxy,caddy") else { return };
    finds(
        &document,
        &[
            ("direct", "http/1.1", LIVE),
            ("direct", "http/1.1+tls", LIVE),
            ("direct", "h2", LIVE),
            ("haproxy", "http/1.1", &[Verdict::Corked]),
            ("haproxy-tls", "http/1.1+tls", &[Verdict::Corked]),
            ("haproxy-tls", "h2", LIVE),
            ("direct", "h3", LIVE),
            ("caddy-tls", "h3", LIVE),
        ],
    );
}

#[test]
fn nginx_holds_an_http_1_0_upstream_on_every_protocol_and_its_own_tls_over_http1() {
    let _alone = alone();
    let Some(document) = measured("nginx,nginx-http10,nginx-buffering-off") else { return };
    finds(
        &document,
        &[
            ("nginx", "http/1.1", LIVE),
            // Its TLS layer gathers a buffered answer until a flush is asked for.
            ("nginx-tls", "http/1.1+tls", WAITS),
            ("nginx-tls", "h2", LIVE),
            ("nginx-buffering-off", "http/1.1", LIVE),
            ("nginx-buffering-off-tls", "http/1.1+tls", LIVE),
            ("nginx-buffering-off-tls", "h2", LIVE),
            ("nginx-http10", "http/1.1", WAITS),
            ("nginx-http10-tls", "http/1.1+tls", WAITS),
            ("nginx-http10-tls", "h2", WAITS),
        ],
    );
}

#[test]
fn every_engine_sees_haproxy_live_over_http2_and_names_what_was_negotiated() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let output = run(&[
        "browse",
        "--browser",
        "all",
        "--preset",
        "protocols",
        "--runs",
        "1",
        "--endpoints",
        "haproxy,haproxy-tls",
        "--readers",
        "fetch-worker,recv",
        "--json",
        "--out",
        out.to_str().unwrap(),
    ]);
    if not_found(&output) {
        return;
    }
    assert!(matches!(status(&output), 0 | 3), "{}", stderr(&output));
    let document = document(&output);
    assert!(document.complete);
    let asked: Vec<&str> =
        document.cells.iter().map(|row| row.cell.request.client_protocol.as_str()).collect();
    assert!(!asked.contains(&"http/1.1+tls"), "no browser can be asked for it");
    let (missing, mut shown) = (skip_missing(&document), Shown::default());
    for (endpoint, protocol, verdict) in [
        ("direct", "http/1.1", Verdict::Live),
        ("direct", "h2", Verdict::Live),
        ("haproxy", "http/1.1", Verdict::Corked),
        ("haproxy-tls", "h2", Verdict::Live),
        ("direct", "h3", Verdict::Live),
    ] {
        let here = |row: &&CellResult| {
            row.cell.request.client_protocol == protocol
                && (row.browser.is_some() || row.cell.engine.is_none())
        };
        for row in rows(&document, endpoint).into_iter().filter(here) {
            if row.cell.engine.is_some() {
                assert_eq!(row.summary.negotiated.as_deref(), Some(protocol), "{}", row.id);
            }
            let noise = noise(&document, row).or_else(|| {
                let found = &row.summary.verdict;
                assert_eq!(found.name, verdict, "{}: {}", row.id, found.because);
                None
            });
            shown.row(row, noise);
        }
    }
    let mut over_quic = 0;
    // What passed sealed is joined to its frames, and no frame came before it passed.
    for run in runs(&out).iter().filter(|run| run.arrivals.reader.in_browser()) {
        let Some(wire) = &run.wire else {
            let why = run.wire_unknown.as_deref().unwrap_or("no reason");
            if run.cell.contains("/h3/") && why.starts_with("QUIC seals all but sizes and times: ")
            {
                over_quic += 1;
                continue;
            }
            panic!("{}: no tap's side: {why}", run.cell);
        };
        assert_eq!(wire.frames().count(), 41, "{}", run.cell);
    }
    if missing.is_none() {
        assert_eq!(over_quic, 2, "HTTP/3 in Chromium and in Firefox");
        assert!(stderr(&output).contains("SKIPPED(webkit: HTTP/3, 1 lane: it has none)"));
    }
    shown.end(missing);
}

/// A stream of a browser: its number, and what was read of it.
fn streams<'a>(all: &'a [RunRecord], protocol: &str) -> Vec<&'a RunRecord> {
    let part = format!("/{protocol}/");
    all.iter().filter(|run| run.cell.contains(&part)).collect()
}

/// When a stream's first bytes came.
fn began(run: &RunRecord) -> Stamp {
    run.arrivals.deliveries.first().map(|delivery| delivery.at).unwrap()
}

#[test]
fn twenty_streams_run_at_once_over_http2_where_the_seventh_waits_over_http1() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let output = run(&[
        "browse",
        "--browser",
        "chromium",
        // The page comes over HTTPS itself, as isolated as ever.
        "--page-over",
        "https",
        "--preset",
        "connection-limit",
        "--readers",
        "fetch",
        "--runs",
        "1",
        "--json",
        "--out",
        out.to_str().unwrap(),
    ]);
    if not_found(&output) {
        return;
    }
    assert!(matches!(status(&output), 0 | 3), "{}", stderr(&output));
    let (document, all) = (document(&output), runs(&out));
    assert!(document.complete);
    assert!(document.cells.iter().all(|row| row.browser.as_ref().unwrap().isolated));
    let over = |protocol| {
        let own = streams(&all, protocol);
        let first_end = own.iter().map(|run| run.arrivals.ended).min().unwrap();
        let late = own.iter().filter(|run| began(run) >= first_end).count();
        (own, late)
    };
    let (six, late) = over("http/1.1");
    assert_eq!(
        (six.len(), late),
        (7, 1),
        "over HTTP/1.1 the seventh waits until another has ended"
    );
    let (twenty, late) = over("h2");
    assert_eq!((twenty.len(), late), (20, 0), "over HTTP/2 all have begun before any has ended");
    for run in twenty {
        // On one connection the emitter still tells every stream's frames apart; the tap does not.
        let ledger = run.ledger.as_ref().unwrap();
        assert_eq!((ledger.entries.len(), &ledger.broken), (41, &None), "{}", run.cell);
        assert_eq!(ledger.upstream_protocol, "HTTP/2.0");
        let why = run.wire_unknown.as_deref().unwrap_or_default();
        assert!(run.wire.is_none() && why.starts_with("20 streams at once"), "{}: {why}", run.cell);
    }
    for row in &document.cells {
        let (protocol, verdict) = (&row.cell.request.client_protocol, row.summary.verdict.name);
        let limited = protocol == "h2" && verdict == Verdict::ConnectionLimit;
        assert!(!limited, "{}: {}", row.id, row.summary.verdict.because);
    }
}
