//! Every story told from rows made for it: shown, not shown, and nothing to tell.

use super::*;
use crate::cell::{Cell, Link, Request};
use crate::plan::{BROWSER_PRESETS, PRESETS};
use crate::stats::Spread;
use crate::summary;
use crate::verdict::{Finding, Thresholds};

fn row(endpoint: &str, reader: Reader, verdict: Verdict, ttft_ms: i64, ratio: f64) -> CellResult {
    let mut summary = summary::summarise(&[], None, &Thresholds::standard());
    summary.runs = 1;
    summary.verdict = Finding::new(verdict, "made for the test");
    summary.ttft_us = Spread::of([Span::millis(ttft_ms)]);
    summary.frames_per_read = RatioSpread::of([ratio]);
    let cell = Cell {
        endpoint: endpoint.into(),
        preset: "headline".into(),
        reader,
        engine: None,
        request: Request::plain(),
        link: Link { mss: Some(1448), pooled: None, nagle: false },
        concurrency: 1,
        stream: None,
        page_work_us: None,
        script: Script::headline(),
    };
    CellResult { id: cell.id(), cell, browser: None, summary }
}

fn worker(endpoint: &str, verdict: Verdict, ttft_ms: i64, ratio: f64) -> CellResult {
    row(endpoint, Reader::FetchWorker, verdict, ttft_ms, ratio)
}

#[test]
fn every_story_plays_a_preset_with_readers_that_the_page_has() {
    for story in &STORIES {
        let settings = story.settings();
        assert!(PRESETS.contains(&settings.preset.as_str()), "{}", story.id);
        assert!(settings.readers.iter().any(|reader| reader.in_browser()), "{}", story.id);
        assert!(matches!(story.tell(&[]), Telling::Nothing(_)), "{}", story.id);
        assert_eq!(of(story.id).map(|own| own.title), Some(story.title));
    }
    assert!(BROWSER_PRESETS.iter().all(|name| STORIES.iter().any(|own| own.preset == *name)));
}

#[test]
fn the_cork_and_its_cure_are_told_with_their_figures() {
    let rows = [
        worker("haproxy", Verdict::Corked, 207, 4.56),
        worker("haproxy-no-delay", Verdict::Live, 3, 1.0),
    ];
    let told = of("cork").unwrap().tell(&rows);
    let Telling::Shown(text) = &told else { panic!("{told:?}") };
    for part in ["after 207 ms", "4.6 at a time", "after 3.0 ms, one at a time"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let live = [worker("haproxy", Verdict::Live, 3, 1.0), rows[1].clone()];
    let told = of("cork").unwrap().tell(&live);
    assert_eq!(
        told,
        Telling::NotShown(
            "This run does not show it: haproxy was live, the first token after 3.0 ms; \
             haproxy-no-delay was live, the first token after 3.0 ms."
                .into()
        )
    );
}

#[test]
fn big_frames_and_the_header_compare_two_scripts_of_one_lane() {
    let mut big = worker("haproxy", Verdict::Corked, 53, 1.95);
    big.cell.script = Script::paced(41, Span::millis(50), 1_100).unwrap();
    let small = worker("haproxy", Verdict::Corked, 207, 4.56);
    let told = of("big-frames").unwrap().tell(&[small.clone(), big]);
    assert!(
        matches!(&told, Telling::Shown(text) if text.contains("two of them fill a segment of 1448 bytes")),
        "{told:?}"
    );

    let mut with = worker("haproxy", Verdict::Corked, 214, 4.56);
    with.cell
        .script
        .headers
        .push(crate::script::Header { name: "X-Accel-Buffering".into(), value: "no".into() });
    let told = of("header").unwrap().tell(&[small.clone(), with.clone()]);
    assert!(
        matches!(&told, Telling::Shown(text) if text.contains("with X-Accel-Buffering: no after 214 ms")),
        "{told:?}"
    );
    with.summary.ttft_us = Spread::of([Span::millis(40)]);
    assert!(matches!(of("header").unwrap().tell(&[small, with]), Telling::NotShown(_)));
}

#[test]
fn the_command_line_is_told_from_the_browser() {
    let rows = [
        worker("nginx-gzip", Verdict::Held, 2_003, 41.0),
        row("nginx-gzip", Reader::Recv, Verdict::Live, 2, 1.0),
        worker("nginx-gzip-buffering-off", Verdict::Live, 4, 1.0),
    ];
    let told = of("gzip").unwrap().tell(&rows);
    assert!(
        matches!(&told, Telling::Shown(text) if text.contains("after 2.0 ms. This") && text.ends_with("live: 4.0 ms.")),
        "{told:?}"
    );
    let told = of("nginx-upstream").unwrap().tell(&[
        worker("nginx", Verdict::Live, 5, 1.0),
        worker("nginx-http10", Verdict::Held, 2_001, 20.5),
        worker("nginx-http10-buffering-off", Verdict::Live, 6, 1.0),
    ]);
    assert!(
        matches!(&told, Telling::Shown(text) if text.contains("the version: 6.0 ms")),
        "{told:?}"
    );
}

#[test]
fn the_busy_page_is_told_from_the_wire_and_the_worker() {
    let mut page = row("nginx", Reader::Fetch, Verdict::PageBusy, 3, 1.0);
    page.summary.busy_frames_per_delivery = RatioSpread::of([5.1]);
    page.summary.frames_per_read = None;
    page.summary.wire_frames_per_read = RatioSpread::of([1.0]);
    let worker = worker("nginx", Verdict::PageBusy, 3, 1.0);
    let told = of("busy-page").unwrap().tell(&[page.clone(), worker.clone()]);
    assert!(
        matches!(&told, Telling::Shown(text) if text.starts_with("The page took 5.1 tokens at a time")),
        "{told:?}"
    );
    page.summary.verdict = Finding::new(Verdict::Live, "");
    assert!(matches!(of("busy-page").unwrap().tell(&[page, worker]), Telling::NotShown(_)));
}

#[test]
fn the_seventh_stream_waits() {
    let mut rows: Vec<CellResult> = (1..=7)
        .map(|stream| {
            let mut row = worker(DIRECT, Verdict::Live, 4, 1.0);
            row.cell.stream = Some(stream);
            row
        })
        .collect();
    assert!(matches!(of("seventh").unwrap().tell(&rows), Telling::NotShown(_)));
    rows[6].summary.verdict = Finding::new(Verdict::ConnectionLimit, "");
    rows[6].summary.ttft_us = Spread::of([Span::millis(2_010)]);
    rows[6].summary.left_us = Spread::of([Span::millis(2_006)]);
    let told = of("seventh").unwrap().tell(&rows);
    assert!(
        matches!(&told, Telling::Shown(text) if text.contains("after 2010 ms") && text.contains("for 2006 ms")),
        "{told:?}"
    );
    assert!(told.text().ends_with("HTTP/2 was not asked here."), "{told:?}");
    let alone = rows.clone();
    for stream in 1..=20 {
        let mut row = worker(DIRECT, Verdict::Live, 9, 1.0);
        row.cell.stream = Some(stream);
        row.cell.request.client_protocol = "h2".into();
        rows.push(row);
    }
    let told = of("seventh").unwrap().tell(&rows);
    let all = "over HTTP/2 20 streams ran at once, and each had its first token within 9.0 ms.";
    assert!(told.text().ends_with(all), "{told:?}");
    rows[25].summary.ttft_us = None;
    let told = of("seventh").unwrap().tell(&rows);
    assert!(told.text().ends_with("over HTTP/2 not all have figures that count."), "{told:?}");
    rows[25].summary.ttft_us = Spread::of([Span::millis(9)]);
    rows[26].summary.ttft_us = Spread::of([Span::millis(1_900)]);
    let told = of("seventh").unwrap().tell(&rows);
    assert!(told.text().ends_with("had its first token after 1900 ms, too."), "{told:?}");
    for row in &mut rows[7..] {
        (row.summary.ttft_us, row.summary.runs) = (None, 0);
    }
    let told = of("seventh").unwrap().tell(&rows);
    let asked = "over HTTP/2 not all have figures that count.";
    assert!(told.text().ends_with(asked), "asked for, and none counts: {told:?}");
    assert!(matches!(of("seventh").unwrap().tell(&alone[1..]), Telling::Nothing(_)));
}

#[test]
fn the_language_of_the_users_is_told_from_that_of_the_test() {
    let over_http2 = |verdict, ttft_ms, ratio| {
        let mut row = worker("haproxy-tls", verdict, ttft_ms, ratio);
        row.cell.request.client_protocol = "h2".into();
        row
    };
    let corked = worker("haproxy", Verdict::Corked, 207, 4.56);
    let told = of("protocols").unwrap().tell(&[corked.clone(), over_http2(Verdict::Live, 4, 1.0)]);
    let Telling::Shown(text) = &told else { panic!("{told:?}") };
    for part in ["after 207 ms", "4.6 at a time", "after 4.0 ms, one at a time"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let told =
        of("protocols").unwrap().tell(&[corked.clone(), over_http2(Verdict::CannotTell, 4, 1.0)]);
    let Telling::NotShown(text) = &told else { panic!("{told:?}") };
    assert!(text.ends_with("haproxy-tls was cannot-tell, the first token after 4.0 ms."), "{text}");
    assert!(matches!(of("protocols").unwrap().tell(&[corked]), Telling::Nothing(_)));
}
