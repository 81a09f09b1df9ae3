//! The comparison on synthetic documents: agree, differ, not run, skipped.

use super::*;
use crate::guards::Guards;
use crate::plan::{Plan, ReaderProfile};
use crate::results::{Endpoint, Machine, SCHEMA};
use crate::stats::{RatioSpread, Spread};
use crate::summary::{self, Summary};
use crate::verdict::{Finding, Thresholds, Verdict};

/// A row of a preset with these figures: TTFT and gap in milliseconds, frames per read.
fn row(cell: &Cell, ttft: i64, gap: i64, per_read: f64) -> CellResult {
    let mut summary = summary::summarise(&[], None, &Thresholds::standard());
    summary.runs = 3;
    summary.outcomes.complete = 3;
    summary.verdict = Finding::new(Verdict::Live, "synthetic");
    summary.ttft_us = Spread::of([Span::millis(ttft)]);
    summary.gap_us = Spread::of([Span::millis(gap)]);
    summary.frames_per_read = RatioSpread::of([per_read]);
    CellResult { id: cell.id(), cell: cell.clone(), browser: None, summary }
}

fn cells(preset: &str, mss: Option<u32>) -> Vec<Cell> {
    Plan::preset(preset, &[], &[ReaderProfile::recv()], mss, 1, 1).unwrap().cells
}

fn cell<'a>(cells: &'a [Cell], endpoint: &str) -> &'a Cell {
    cells.iter().find(|cell| cell.endpoint == endpoint).unwrap()
}

fn document(cells: Vec<CellResult>) -> Document {
    let endpoint = |name: &str, proxy: &str, version: &str| Endpoint {
        name: name.into(),
        proxy: Some(proxy.into()),
        version: Some(version.into()),
        ..Endpoint::direct()
    };
    Document {
        schema: SCHEMA.into(),
        complete: true,
        command: Vec::new(),
        seed: 1,
        started_at: String::new(),
        machine: Machine::default(),
        guards: Guards::default(),
        endpoints: vec![
            Endpoint::direct(),
            endpoint("nginx", "nginx", "1.31.3"),
            endpoint("haproxy", "haproxy", "2.8.25-5cf5d0683"),
        ],
        cells,
    }
}

fn found(document: &Document, table: &str, label: &str) -> Row {
    let tables = compare(document);
    let table = tables.into_iter().find(|found| found.id == table).unwrap();
    table.rows.into_iter().find(|row| row.label == label).unwrap()
}

/// Two segment sizes of the headline's HAProxy row.
fn haproxy(mss: Option<u32>, ttft: i64, per_read: f64) -> Document {
    document(vec![row(cell(&cells("headline", mss), "haproxy"), ttft, 0, per_read)])
}

#[test]
fn every_row_has_a_figure_a_column_and_no_more() {
    for table in tables::ALL {
        for line in table.rows {
            assert_eq!(line.figures.len(), table.columns.len(), "{} {}", table.id, line.label);
            assert!(line.figures.iter().any(Option::is_some));
        }
    }
    let ids: Vec<&str> = tables::ALL.iter().map(|table| table.id).collect();
    assert_eq!(ids, ["P1", "P2", "P3", "P4", "P5", "P6", "P7", "P9", "P10", "P11"]);
}

#[test]
fn every_row_is_found_in_the_preset_that_makes_it() {
    let published = cells("published", Some(1448));
    for line in tables::ALL.iter().flat_map(|table| table.rows) {
        if let Ours::Cell(find) = line.ours {
            let matching: Vec<String> = published
                .iter()
                .filter(|cell| cell.preset == find.preset && find.matches(cell))
                .map(Cell::id)
                .collect();
            assert_eq!(matching.len(), 1, "{}: {matching:?}", line.label);
        }
    }
}

#[test]
fn the_same_shape_agrees_though_milliseconds_differ() {
    let row = found(&haproxy(Some(1448), 202, 4.56), "P1", "HAProxy");
    assert_eq!(row.agreement, Agreement::Agrees);
    assert_eq!(row.conditions, ["HAProxy 2.8.25 for 3.4.4"]);
    assert_eq!(row.ours[0].unwrap().to_string(), "202 ms");
    assert_eq!(row.published[2].unwrap().to_string(), "5.12");
}

#[test]
fn another_shape_differs_and_names_what_and_why() {
    let row = found(&haproxy(Some(1448), 1, 1.0), "P1", "HAProxy");
    assert_eq!(
        row.agreement.sentence(),
        "differs in TTFT and frames per read, cause not known",
        "a version alone proves nothing"
    );
    let row = found(&haproxy(None, 2_000, 41.0), "P1", "HAProxy");
    let sentence = row.agreement.sentence();
    assert!(
        sentence.starts_with(
            "differs in TTFT and frames per read, because it waits for a full segment"
        )
    );
    assert_eq!(row.conditions[1], "segments: loopback's (65 KB) for 1448 bytes");
}

#[test]
fn a_segment_that_the_first_frame_fills_explains_an_early_token() {
    let sizes = cells("frame-size", Some(1448));
    let large =
        sizes.iter().find(|cell| cell.endpoint == "haproxy" && cell.script.total_bytes() > 9_000);
    let document = document(vec![row(large.unwrap(), 1, 0, 1.95)]);
    let sentence = found(&document, "P2", "about 1.1 KB").agreement.sentence();
    assert!(
        sentence.starts_with("differs in TTFT and gap, because \"about 1.1 KB\" is not known"),
        "{sentence}"
    );
}

#[test]
fn a_reader_that_slept_through_the_rest_of_the_first_frame_says_so() {
    let slow = cells("slow-client", Some(1448));
    let mut bulk = row(cell(&slow, "nginx"), 201, 0, 4.1);
    bulk.summary.first_byte_us = Spread::of([Span::micros(558)]);
    let sentence = found(&document(vec![bulk]), "P5", "nginx, buffering on").agreement.sentence();
    assert!(
        sentence.starts_with("differs in TTFT, because the first read brought only a part"),
        "{sentence}"
    );
}

#[test]
fn what_the_direct_path_shows_as_well_is_not_the_proxys() {
    let headline = cells("headline", Some(1448));
    let rows = ["direct", "nginx"].map(|name| row(cell(&headline, name), 1, 25, 2.0));
    let document = document(rows.to_vec());
    let sentence = found(&document, "P1", "nginx").agreement.sentence();
    assert!(
        sentence.ends_with("because the direct path differs in the same way: it is not the proxy")
    );
    let sentence = found(&document, "P1", "direct").agreement.sentence();
    assert!(sentence.contains("there is no proxy here"), "{sentence}");
}

#[test]
fn what_no_cell_measured_is_not_yet_run() {
    let document = document(Vec::new());
    for row in compare(&document).into_iter().flat_map(|table| table.rows) {
        assert_eq!(row.agreement, Agreement::NotRun, "{}", row.label);
        assert!(row.ours.iter().all(Option::is_none));
    }
}

#[test]
fn what_failed_or_was_void_is_skipped_with_its_reason() {
    let headline = cells("headline", Some(1448));
    for (name, why) in [(Verdict::Failed, "no binary"), (Verdict::Void, "every run was excluded")] {
        let mut failed = row(cell(&headline, "caddy"), 1, 50, 1.0);
        failed.summary = Summary {
            verdict: Finding::new(name, why),
            ..summary::summarise(&[], None, &Thresholds::standard())
        };
        let row = found(&document(vec![failed]), "P1", "Caddy");
        let said = format!("skipped: {}: {why}", name.name());
        assert_eq!(row.agreement.sentence(), said);
    }
}

#[test]
fn a_figure_that_was_not_taken_is_not_agreement() {
    let temp = cells("temp-file", Some(1448));
    let mut bulk = row(cell(&temp, "nginx"), 1, 0, 1.0);
    bulk.summary.upstream_done_us = Spread::of([Span::millis(100)]);
    bulk.summary.total_us = Spread::of([Span::millis(8_300)]);
    let label = "buffering on";
    let said = found(&document(vec![bulk.clone()]), "P11", label).agreement.sentence();
    assert_eq!(said, "skipped: no temp file was taken");
    bulk.summary.temp_file_bytes = Some(35_600_000);
    let agreed = found(&document(vec![bulk.clone()]), "P11", label);
    assert_eq!(agreed.agreement, Agreement::Agrees);
    bulk.summary.temp_file_bytes = Some(0);
    let said = found(&document(vec![bulk]), "P11", label).agreement.sentence();
    assert_eq!(said, "differs in temp file, cause not known");
}

#[test]
fn a_row_is_taken_from_its_own_preset_and_ethernets_segments_first() {
    let ethernet = cells("headline", Some(1448));
    let loopback = cells("headline", None);
    let mut other = cell(&ethernet, "haproxy").clone();
    other.preset = "emit-rate".into();
    let document = document(vec![
        row(&other, 7, 0, 1.0),
        row(cell(&loopback, "haproxy"), 8, 0, 1.0),
        row(cell(&ethernet, "haproxy"), 206, 0, 5.0),
    ]);
    let row = found(&document, "P1", "HAProxy");
    assert_eq!(row.ours[0], Some(Figure::Time(Span::millis(206))));
}

#[test]
fn a_browsers_row_or_a_slow_readers_is_not_the_published_one() {
    let headline = cells("headline", Some(1448));
    let plain = cell(&headline, "haproxy");
    let mut browser = plain.clone();
    browser.reader = Reader::Fetch;
    let mut slow = plain.clone();
    slow.request.slow = Some(Slow { read_bytes: 1, pause_us: Span(1) });
    let mut accepting = plain.clone();
    accepting.request.accept_encoding = Some("gzip".into());
    let rows = [browser, slow, accepting].map(|cell| row(&cell, 206, 0, 5.0));
    let row = found(&document(rows.to_vec()), "P1", "HAProxy");
    assert_eq!(row.agreement, Agreement::NotRun);
}

#[test]
fn exclusions_are_told_by_their_ratio() {
    let few = "skipped: 0 of 100 runs excluded with Nagle off and 1 of 100 with it on are too few to show a ratio";
    for (off, on, said) in [
        ((5, 100), (10, 100), "agrees"),
        ((0, 100), (1, 100), few),
        ((10, 100), (10, 100), "differs in excluded, cause not known"),
    ] {
        assert_eq!(agree::exclusions(true, off, on).sentence(), said, "{off:?} {on:?}");
    }
    assert_eq!(agree::exclusions(false, (5, 100), (0, 1)), Agreement::Agrees);
    assert_eq!(
        agree::exclusions(false, (20, 100), (0, 1)).sentence(),
        "differs in excluded, cause not known"
    );
}
