//! What is taken away and what is brought: words, pictures, files, and the page around them with
//! an emitter that is made of a few lines of JavaScript.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Page, document_of, drag, drop_files, page, record, row};
use measure::arrivals::Reader;
use measure::results::Document;
use measure::stats::{RatioSpread, Spread};
use measure::{Span, Stamp, Verdict};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_client::model::Model;
use web_client::takeaway::import::{self, Content};
use web_client::takeaway::{document, markdown, prose, runs, source};

wasm_bindgen_test_configure!(run_in_browser);

const HOSTILE: &str = "<img src=x onerror=\"document.body.dataset.hit='1'\">|*\u{1}'&";

fn spread(median: i64) -> Option<Spread> {
    Some(Spread {
        median: Span(median),
        p95: None,
        p99: None,
        min: Span(median),
        max: Span(2 * median),
        n: 3,
    })
}

/// Two browser rows and a native one, with figures.
fn measured() -> Document {
    let mut rows = Vec::new();
    for (endpoint, reader, verdict) in [
        ("direct", Reader::Fetch, Verdict::Live),
        ("haproxy", Reader::Fetch, Verdict::Corked),
        ("direct", Reader::Recv, Verdict::Live),
    ] {
        let mut row = row(endpoint, reader, verdict);
        row.summary.runs = 3;
        row.summary.ttft_us = spread(if endpoint == "haproxy" { 207_400 } else { 1_600 });
        row.summary.gap_us = spread(50_000);
        let ratio = |median| Some(RatioSpread { median, min: 1.0, max: median });
        row.summary.frames_per_read = ratio(4.56);
        if reader == Reader::Fetch {
            row.summary.wire_frames_per_read = ratio(4.5);
        }
        rows.push(row);
    }
    rows[1].summary.excluded.add("ledger", 2);
    rows[1].summary.excluded_because = vec!["ledger: late by 12 ms".into()];
    document_of(rows)
}

fn markdown_of(document: &Document) -> String {
    let rows: Vec<_> = document.cells.iter().collect();
    markdown::of(document, &rows, Some("http://127.0.0.1:1/?preset=headline"))
}

#[wasm_bindgen_test]
fn markdown_has_the_commands_table() {
    let text = markdown_of(&measured());
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(
        lines,
        [
            "| endpoint | what runs there | runs | TTFT | gap | longest gap | frames per read on the wire | frames per delivery | verdict |",
            "| --- | --- | --: | --: | --: | --: | --: | --: | --- |",
            "| direct | no proxy | 3 | 1.6 ms | 50.0 ms | 100 ms | 4.50 | 4.56 | live |",
            "| haproxy | 2.8.25, stock mode http | 3 (2 excluded) | 207 ms | 50.0 ms | 100 ms | 4.50 | 4.56 | corked |",
            "| endpoint | what runs there | runs | TTFT | gap | longest gap | frames per read | verdict |",
            "| --- | --- | --: | --: | --: | --: | --: | --- |",
            "| direct | no proxy | 3 | 1.6 ms | 50.0 ms | 100 ms | 4.56 | live |",
        ]
    );
    for said in [
        "In Chromium, by fetch: haproxy holds the tokens back, the first after 207 ms",
        "By the native reader: direct passes every token on as it comes",
        "- haproxy: corked: Because of corked.",
        "- haproxy: excluded by Ledger: late by 12 ms.",
        "- Browser: Chromium 156, isolated, clock step 5 µs",
        "- Machine: linux 6, 2 CPUs, load 0.3",
        "- Run it again: <http://127.0.0.1:1/?preset=headline>",
    ] {
        assert!(text.contains(said), "{said} is not in\n{text}");
    }
}

#[wasm_bindgen_test]
fn markdown_of_a_file_says_what_made_it() {
    let document = measured();
    let rows: Vec<_> = document.cells.iter().collect();
    let text = markdown::of(&document, &rows, None);
    assert!(text.contains("- Made by: holdup measure") && !text.contains("Run it again"));
}

#[wasm_bindgen_test]
fn nothing_of_a_file_is_taken_for_markdown() {
    let mut hostile = measured();
    hostile.command = vec![HOSTILE.into()];
    hostile.machine.kernel = "a\n# b".into();
    for row in &mut hostile.cells {
        row.cell.endpoint = HOSTILE.into();
        row.summary.verdict.because = HOSTILE.into();
    }
    let text = markdown_of(&hostile);
    // Outside of the address no bracket is left as it was.
    let free = text.replace("\\<", "").replace("<http", "");
    assert!(!free.contains('<') && !text.contains("\n# b"), "{text}");
    // A bar in a name makes no column.
    let bars = |line: &&str| line.replace("\\|", "").matches('|').count();
    let rows: Vec<usize> =
        text.lines().filter(|line| line.starts_with('|')).map(|line| bars(&line)).collect();
    assert_eq!(rows, [10, 10, 10, 10, 9, 9, 9]);
}

#[wasm_bindgen_test]
fn rows_are_compared_with_those_of_their_control_alone() {
    let mut document = measured();
    let mut other = row("haproxy", Reader::Fetch, Verdict::Live);
    other.summary.runs = 1;
    other.cell.link.mss = None;
    document.cells.push(other);
    document.cells.push(row("nginx", Reader::Fetch, Verdict::CannotTell));
    let rows: Vec<_> = document.cells.iter().collect();
    let blocks = prose::blocks(&rows);
    let titles: Vec<(&str, usize)> =
        blocks.iter().map(|block| (block.title.as_str(), block.rows.len())).collect();
    // A row that nothing was measured for is in none.
    assert_eq!(
        titles,
        [
            (
                "41 frames of 60 B, 50 ms apart, read by fetch in Chromium 156, segments of 1448 B",
                2
            ),
            ("41 frames of 60 B, 50 ms apart, read natively, segments of 1448 B", 1),
            (
                "41 frames of 60 B, 50 ms apart, read by fetch in Chromium 156, segments of loopback",
                1
            ),
        ]
    );
}

#[wasm_bindgen_test]
fn what_was_measured_here_is_a_document() {
    let model = Model::new("?readers=fetch&runs=1&seed=18446744073709551615&go=1&session=s");
    model.change(|state| state.settings.engine = Some("chromium".into()));
    model.set_lanes(common::lanes());
    assert!(source::of_page(model).is_none(), "nothing was measured yet");
    let plan = model.plan().unwrap();
    let direct = plan.cells.iter().find(|cell| cell.is_direct()).unwrap();
    model.add(&plan.cells, vec![record(&direct.id(), 0)]);
    let made = source::of_page(model).unwrap();
    assert!(!made.complete, "not every lane has run");
    assert_eq!(made.seed, u64::MAX);
    assert_eq!(made.endpoints.len(), 3);
    assert_eq!(made.endpoints[2].failed.as_deref(), Some("port 80 is taken"));
    let text = document::written(made.clone());
    assert_eq!(Document::from_json(&text).unwrap(), made);
    let row = made.cells.iter().find(|row| row.cell.is_direct()).unwrap();
    assert_eq!(row.summary.runs + row.summary.excluded.values().sum::<u32>(), 1);
    // Its wall clock is this machine's, give or take a slow test.
    let begun = js_sys::Date::parse(&made.started_at);
    assert!((js_sys::Date::now() - begun).abs() < 600_000.0, "{}", made.started_at);
    let address = source::address(model);
    assert!(made.command.contains(&address));
    assert!(address.ends_with("/?preset=headline&readers=fetch&runs=1&seed=18446744073709551615"));
    // Who reads it is told of the lane that is down.
    let rows: Vec<_> = made.cells.iter().collect();
    assert!(markdown::of(&made, &rows, None).contains("- envoy did not run: Port 80 is taken."));
}

#[wasm_bindgen_test]
fn what_is_no_results_file_is_told_in_a_sentence() {
    let good = document::written(measured());
    let run = serde_json::to_string(&record("c", 0)).unwrap();
    assert!(matches!(import::content("a", &good), Ok(Content::Document(_))));
    assert!(matches!(import::content("a", &format!("{run}\n{run}\n")), Ok(Content::Runs)));
    assert!(matches!(import::content("a", &run), Ok(Content::Runs)));
    let other = good.replace("holdup.results/1", "holdup.results/2");
    let broken = good.replace("\"verdict\"", "\"verdikt\"");
    let empty = document::written(document_of(Vec::new()));
    let long = "n".repeat(500);
    for (name, text, said) in [
        ("a.json", "", "a.json is empty."),
        ("a.json", " \n", "a.json is empty."),
        (
            "a.png",
            "\u{fffd}PNG",
            "a.png is no JSON, or not all of it: what holdup measure and holdup browse write as results.json can be shown here.",
        ),
        (
            "a.json",
            "{\"name\": \"x\"}",
            "a.json is JSON but no results file: it names no schema. What holdup measure and holdup browse write as results.json can be shown here.",
        ),
        (
            "a.json",
            &other,
            "a.json has the schema “holdup.results/2”, and this page reads holdup.results/1: open it with the version that wrote it.",
        ),
        (
            "a.json",
            &broken,
            "a.json cannot be read as results: verdict is missing. It is damaged, or of another program.",
        ),
        ("a.json", &empty, "a.json has no rows: nothing was measured."),
        (&long, "", &format!("{}… is empty.", "n".repeat(80))),
    ] {
        assert_eq!(import::content(name, text).unwrap_err(), said);
    }
    assert_eq!(import::check_size("a", 32.0 * 1_048_576.0), Ok(()));
    assert_eq!(
        import::check_size("a", 32.0 * 1_048_576.0 + 1.0).unwrap_err(),
        "a has 33 MB, and this page reads up to 32 MB: holdup report makes a page of larger ones."
    );
}

#[wasm_bindgen_test]
fn runs_are_chosen_by_their_rows_median() {
    let mut known = row("direct", Reader::Fetch, Verdict::Live);
    known.id = "c".into();
    known.summary.ttft_us = spread(30_000);
    let line = |cell: &str, at: i64, seq: u32| {
        let mut run = record(cell, at);
        run.arrivals.deliveries[0].frames[0].seq = Some(seq);
        serde_json::to_string(&run).unwrap()
    };
    let text = [
        line("c", 10_000, 0),
        line("c", 31_000, 0),
        line("c", 90_000, 0),
        line("other", 1, 0),
        // A chart with four thousand million places.
        line("c", 30_000, u32::MAX),
        line("c", 30_000, 0)[..200].to_string(),
    ]
    .join("\n");
    let runs = runs::read(&text, &[&known]);
    assert_eq!((runs.known, runs.foreign, runs.broken), (3, 1, 2));
    assert_eq!(runs.chosen.len(), 1);
    assert_eq!(runs.chosen[0].arrivals.deliveries[0].at, Stamp(31_000));
}

#[wasm_bindgen_test]
async fn a_file_is_looked_at_and_the_page_comes_back() {
    let page = page().await;
    let text = document::written(measured());
    assert!(drag("dragover") && page.find("html[data-dragging]").is_some());
    assert!(!drag("dragleave") && page.find("html[data-dragging]").is_none());
    assert!(drag("dragover"));
    drop_files(&[("results.json", &text)]);
    assert!(page.find("html[data-dragging]").is_none());
    page.until(".looked .lane").await;
    assert_eq!(page.text(".looked h2"), "results.json");
    assert!(page.text(".looked .mark").contains("not measured by this page"));
    assert_eq!(
        page.texts(".looked .verdict"),
        ["Live: nobody holds them", "Corked by the path: bursts", "Live: nobody holds them"]
    );
    assert!(page.text(".looked .from").contains("Made byholdup measure"));
    assert!(page.text(".looked .from").contains("drop the runs.ndjson"));
    assert!(!page.is_seen("main") && page.is_seen(".looked"));
    assert!(page.find(".looked .plot").is_none(), "no run, no chart");
    assert_eq!(page.said(), "results.json is shown: it was not measured by this page.");
    // The file is a file already; all else can be taken.
    assert!(page.is_disabled(".take [data-key=results]"));
    assert!(!page.is_disabled(".take [data-key=picture]"));
    page.click(".looked [data-key=live]");
    page.until("html:not([data-looking])").await;
    assert!(page.is_seen("main") && page.find(".looked .lane").is_none());
    assert_eq!(page.focused(), "open");
}

#[wasm_bindgen_test]
async fn hostile_texts_are_shown_and_never_obeyed() {
    let page = page().await;
    let mut hostile = measured();
    hostile.command = vec![HOSTILE.into(), "a".repeat(5_000)];
    hostile.machine.kernel = HOSTILE.into();
    hostile.started_at = HOSTILE.into();
    for endpoint in &mut hostile.endpoints {
        endpoint.name = HOSTILE.into();
        endpoint.label = HOSTILE.into();
    }
    for row in &mut hostile.cells {
        row.id = HOSTILE.into();
        row.cell.endpoint = HOSTILE.into();
        row.cell.request.accept_encoding = Some(HOSTILE.into());
        row.summary.verdict.because = HOSTILE.into();
        row.summary.excluded_because = vec![HOSTILE.into()];
        if let Some(browser) = &mut row.browser {
            browser.version = HOSTILE.into();
        }
    }
    let run = serde_json::to_string(&record(HOSTILE, 5_000)).unwrap();
    drop_files(&[(HOSTILE, &document::written(hostile)), ("runs.ndjson", &run)]);
    page.until(".looked svg").await;
    page.pause(50).await;
    assert!(page.find(".looked img").is_none() && page.find("[data-hit]").is_none());
    assert_eq!(page.text(".looked .lane h2"), HOSTILE);
    let picture = page.picture().await;
    assert!(!picture.contains("<img") && picture.contains("&lt;img"));
    page.well_formed(&picture);
    page.click(".looked [data-key=live]");
    page.until("html:not([data-looking])").await;
}

#[wasm_bindgen_test]
async fn a_picture_stands_alone_and_is_light() {
    let page = page().await;
    page.scheme("dark");
    let mut document = measured();
    document.cells[0].id = "c".into();
    let text = document::written(document);
    let run = serde_json::to_string(&record("c", 2_000)).unwrap();
    drop_files(&[("runs.ndjson", &run), ("results.json", &text)]);
    page.until(".looked svg").await;
    assert!(
        page.said().ends_with("1 runs of runs.ndjson are drawn, one a row."),
        "{}",
        page.said()
    );
    let before = page.style(".looked .slope .ticks", "stroke");
    let picture = page.picture().await;
    page.well_formed(&picture);
    // Nothing is left to a style sheet or to another file.
    for outside in ["class=", "<style", "href", "url(", "var("] {
        assert!(!picture.contains(outside), "{outside}");
    }
    for inside in [
        "Who is holding up your tokens?",
        "Not measured by this page: results.json",
        ">direct<",
        ">haproxy<",
        "Corked by the path: bursts",
        ">sent<",
        ">page<",
        "1.6 ms",
        "d=\"M",
        "In Chromium, by fetch: haproxy holds the tokens back",
    ] {
        assert!(picture.contains(inside), "{inside}");
    }
    // The page is dark and stays so; the picture is not.
    assert_eq!(page.style(".looked .slope .ticks", "stroke"), before);
    assert_eq!(before, "rgb(233, 236, 238)");
    assert!(!picture.contains(&before) && picture.contains("rgb(22, 25, 27)"));
    page.scheme("");
    page.click(".looked [data-key=live]");
    page.until("html:not([data-looking])").await;
}

#[wasm_bindgen_test]
async fn what_cannot_be_shown_leaves_everything_as_it_was() {
    let page = page().await;
    let run = serde_json::to_string(&record("c", 0)).unwrap();
    for (name, text, said) in [
        ("x.json", "{", "x.json is no JSON"),
        ("x.txt", "", "x.txt is empty."),
        ("runs.ndjson", run.as_str(), "runs.ndjson holds raw runs: bring the results.json"),
    ] {
        drop_files(&[(name, text)]);
        page.until_said(said).await;
        assert!(page.is_seen("main") && !page.is_seen(".looked"));
    }
    let good = document::written(measured());
    drop_files(&[("a.json", &good), ("b.json", &good)]);
    page.until_said("More than one results file").await;
    drop_files(&[("a.json", &good)]);
    page.until(".looked .lane").await;
    // Another file that cannot be shown takes nothing away.
    drop_files(&[("runs.ndjson", &run)]);
    page.until_said("No run in runs.ndjson is of a row of a.json").await;
    assert!(page.is_seen(".looked"));
    let large = "x".repeat(33 << 20);
    drop_files(&[("large.json", &large)]);
    page.until_said("large.json has 33 MB").await;
    assert!(page.is_seen(".looked"));
    page.click(".looked [data-key=live]");
    page.until("html:not([data-looking])").await;
}

#[wasm_bindgen_test]
async fn the_clipboard_is_used_where_there_is_one() {
    let page: Page = page().await;
    page.clipboard(true);
    page.click(".take [data-key=link]");
    page.until_said("The address was copied.").await;
    let copied = page.copied();
    assert!(copied.starts_with("http://127.0.0.1:") && copied.contains("/?preset="), "{copied}");
    assert!(!page.is_seen(".take textarea"));
    // Plain HTTP from another machine: the text is there, selected.
    page.clipboard(false);
    page.click(".take [data-key=link]");
    page.until_said("copied").await;
    if page.said().contains("by hand") {
        assert!(page.is_seen(".take textarea"));
        assert_eq!(page.selected(), copied);
        page.click(".take [data-key=close]");
        assert!(!page.is_seen(".take textarea"));
    }
}
