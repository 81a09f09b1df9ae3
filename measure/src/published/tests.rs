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

/// The replay's rows: TTFT and its 95th percentile in milliseconds, answers in one read, each of
/// 200 prompts.
fn replay(figures: [(&str, i64, i64, u32); 3]) -> Document {
    let own = cells("chat-replay", Some(1448));
    let rows = figures.map(|(endpoint, median, high, single)| {
        let mut row = row(cell(&own, endpoint), median, 9, 1.0);
        let one = Span::millis(median);
        row.summary.ttft_us = Some(Spread {
            median: one,
            p95: Some(Span::millis(high)),
            p99: None,
            min: one,
            max: one,
            n: 200,
        });
        row.summary.outcomes.complete = 200;
        row.summary.single_delivery_share = Some(f64::from(single) / 200.0);
        row
    });
    document(rows.to_vec())
}

#[test]
fn a_replay_is_held_against_its_direct_path() {
    let (direct, held) = ("direct", "nginx-http10");
    let (label, cure) = ("nginx, defaults", "nginx, the fix that really applied");
    let cured = ("nginx-shadow-cured", 40, 70, 0);
    let document = replay([(direct, 36, 66, 0), (held, 170, 480, 58), cured]);
    for label in [direct, label, cure] {
        let row = found(&document, "P9", label);
        assert_eq!(row.agreement, Agreement::Agrees, "{label}");
        assert_eq!(row.conditions[0].split(',').nth(1), Some(" 20 times as fast"));
    }
    let row = found(&document, "P9", label);
    assert_eq!(row.ours[2].unwrap().to_string(), "58 of 200");
    // Nothing is held here, and nothing comes in one read.
    let other = replay([(direct, 36, 66, 0), (held, 40, 70, 0), cured]);
    let said = found(&other, "P9", label).agreement.sentence();
    assert_eq!(said, "differs in TTFT and TTFT p95 and in one read, cause not known");
    // A direct path of another speed is another service.
    let said = found(&replay([(direct, 90, 150, 0), (held, 170, 480, 58), cured]), "P9", direct);
    assert!(said.agreement.sentence().starts_with("differs in TTFT and TTFT p95"));
}

#[test]
fn a_few_prompts_show_no_share() {
    let mut few = replay([
        ("direct", 36, 66, 0),
        ("nginx-http10", 170, 480, 58),
        ("nginx-shadow-cured", 40, 70, 0),
    ]);
    for cell in &mut few.cells {
        cell.summary.outcomes.complete = 3;
    }
    let said = found(&few, "P9", "nginx, defaults").agreement.sentence();
    assert!(said.starts_with("skipped: 3 prompts are too few"), "{said}");
}

#[test]
fn a_model_is_the_emitters_own_route_and_says_so() {
    let own = cells("real-model", Some(1448));
    let mut held = row(cell(&own, "haproxy"), 300, 0, 5.4);
    let document = |row: &CellResult| document(vec![row.clone()]);
    let agreed = found(&document(&held), "P6", "HAProxy");
    assert_eq!(agreed.agreement, Agreement::Agrees);
    assert_eq!(agreed.ours[2], Some(Figure::Count(176)));
    assert!(agreed.conditions.iter().any(|one| one.contains("for a real model")));
    held.summary.frames_per_read = RatioSpread::of([1.02]);
    let said = found(&document(&held), "P6", "HAProxy").agreement.sentence();
    assert_eq!(said, "differs in frames per read, cause not known");
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
