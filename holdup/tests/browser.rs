//! Real browsers on the same path: three engines through HAProxy, joined in one document.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use common::shown::{Shown, noise};
use common::{
    alone, document, family, holdup, left, not_found, rows, run, runs, skip_missing, status,
    stderr, wait_for, wait_gone,
};
use measure::Reader;
use measure::results::{CellResult, Document};
use measure::verdict::Verdict;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const ENGINES: [&str; 3] = ["chromium", "firefox", "webkit"];

fn median(ratio: &Option<measure::stats::RatioSpread>) -> Option<f64> {
    ratio.as_ref().map(|ratio| ratio.median)
}

/// What a browser's row must show when the path holds (or not) what it reads. The page's own
/// figures are left out when it was busy: then that is returned, and the wire's stand.
fn agrees_with_the_wire(row: &CellResult, verdict: Verdict) -> Option<String> {
    let (id, summary, held) = (&row.id, &row.summary, verdict == Verdict::Corked);
    assert_eq!(summary.verdict.name, verdict, "{id}: {}", summary.verdict.because);
    let on_wire = median(&summary.wire_frames_per_read).unwrap();
    assert_eq!(on_wire > 3.0, held, "{id}: {on_wire} on the wire");
    let browser = row.browser.as_ref().unwrap();
    assert!(browser.isolated, "{browser:?}");
    // The driver knows the whole version, a user agent only its first number.
    assert!(browser.version.contains('.'), "{browser:?}");
    assert!(summary.clock_uncertainty_us.is_some());
    let (Some(per_delivery), Some(hold)) =
        (median(&summary.frames_per_read), &summary.browser_hold_us)
    else {
        return Some(format!("void: {id}: the page was busy"));
    };
    // An engine may hand one read over in parts, but never makes bursts of what came one by one.
    assert_eq!(per_delivery > 1.5, held, "{id}: {per_delivery}");
    // What the browser itself added is far under what the path held.
    assert!(hold.median.as_micros().abs() < 50_000, "{id}: {}", hold.median);
    None
}

#[test]
fn every_engine_sees_what_the_wire_and_the_native_reader_see() {
    let _alone = alone();
    let output =
        run(&["browse", "--browser", "all", "--runs", "1", "--endpoints", "haproxy", "--json"]);
    if not_found(&output) {
        return;
    }
    assert!(matches!(status(&output), 0 | 3), "{}", stderr(&output));
    let document = document(&output);
    assert!(document.complete);
    let (missing, mut shown) = (skip_missing(&document), Shown::default());
    for (endpoint, verdict) in [("direct", Verdict::Live), ("haproxy", Verdict::Corked)] {
        let played: Vec<(Option<&str>, Reader)> = rows(&document, endpoint)
            .iter()
            .filter(|row| row.summary.verdict.name != Verdict::Failed)
            .map(|row| (row.cell.engine.as_deref(), row.cell.reader))
            .collect();
        if missing.is_none() {
            let readers = [Reader::Eventsource, Reader::Fetch, Reader::FetchWorker];
            let each = |engine| readers.map(|reader| (Some(engine), reader));
            let mut wanted: Vec<_> = ENGINES.into_iter().flat_map(each).collect();
            wanted.push((None, Reader::Recv));
            assert_eq!(played, wanted, "one document, in one order");
        }
        // A row without a browser in one's name is that of a browser that is not here.
        let here = |row: &&CellResult| row.browser.is_some() || row.cell.engine.is_none();
        for row in rows(&document, endpoint).into_iter().filter(here) {
            let noise = noise(&document, row).or_else(|| {
                if row.cell.engine.is_some() {
                    return agrees_with_the_wire(row, verdict);
                }
                let found = &row.summary.verdict;
                assert_eq!(found.name, verdict, "{}: {}", row.id, found.because);
                None
            });
            shown.row(row, noise);
        }
    }
    shown.end(missing);
}

/// One run of all engines for several tests: the head at once, the first byte 600 ms later.
struct LateFirst {
    output: Output,
    folder: PathBuf,
}

impl LateFirst {
    fn of_all() -> &'static LateFirst {
        static RUN: OnceLock<LateFirst> = OnceLock::new();
        RUN.get_or_init(|| {
            // Under `target/`, since what is static is never dropped.
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("late-first");
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).unwrap();
            let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
            let output = run(&[
                "browse",
                "--browser",
                "all",
                "--runs",
                "1",
                "--endpoints",
                "direct",
                "--readers",
                "eventsource,fetch",
                "--script",
                "script=late-first",
                "--out",
                &path("results"),
                "--screenshots",
                &path("pictures"),
                "--json",
            ]);
            LateFirst { output, folder }
        })
    }

    fn pictures(&self) -> PathBuf {
        self.folder.join("pictures")
    }
}

#[test]
fn firefox_first_byte() {
    let _alone = alone();
    let late = LateFirst::of_all();
    if not_found(&late.output) {
        return;
    }
    let document = document(&late.output);
    let (missing, mut shown) = (skip_missing(&document), Shown::default());
    for row in document.cells.iter().filter(|row| row.browser.is_some()) {
        let noise = noise(&document, row);
        shown.row(row, noise.clone());
        if noise.is_some() {
            continue;
        }
        let summary = &row.summary;
        // No hold is reported, whenever the engine thought that the answer had begun.
        assert_eq!(summary.verdict.name, Verdict::Live, "{}: {}", row.id, summary.verdict.because);
        let first = summary.ttft_us.as_ref().unwrap().median.as_micros();
        assert!((600_000..750_000).contains(&first), "{}: first event after {first} µs", row.id);
    }
    for run in runs(&late.folder.join("results")) {
        let Some(head) = run.arrivals.head else { continue };
        let after = (head - run.arrivals.call).as_micros();
        let settled_with_the_first_byte = after > 500_000;
        assert_eq!(settled_with_the_first_byte, run.cell.contains("firefox"), "{after} µs");
    }
    shown.end(missing);
}

#[test]
fn the_page_can_be_looked_at_in_three_sizes_dark_and_light() {
    let _alone = alone();
    let late = LateFirst::of_all();
    if not_found(&late.output) {
        return;
    }
    let skipped = skip_missing(&document(&late.output));
    let names: BTreeSet<String> = std::fs::read_dir(late.pictures())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for engine in ENGINES {
        // Chromium's are the ones that documents show.
        let prefix = if engine == "chromium" { "page-".into() } else { format!("page-{engine}-") };
        let own = |name: &&String| {
            name.strip_prefix(&prefix).is_some_and(|rest| rest.starts_with(char::is_numeric))
        };
        let sizes: Vec<(u32, u32)> =
            names.iter().filter(own).map(|name| size_of(&late.pictures().join(name))).collect();
        let missing = document(&late.output).cells.iter().any(|row| {
            row.summary.verdict.name == Verdict::Failed
                && row.cell.engine.as_deref() == Some(engine)
        });
        if missing {
            continue;
        }
        assert_eq!(sizes.len(), 6, "{engine}: {names:?}");
        for size in [(1920, 1080), (1366, 768)] {
            assert_eq!(sizes.iter().filter(|own| **own == size).count(), 2, "{engine}: {names:?}");
        }
        // A window may not go as narrow as a phone; the name says how far it went.
        let narrow = sizes.iter().filter(|(width, height)| *width <= 450 && *height == 844);
        assert_eq!(narrow.count(), 2, "{engine}: {names:?}");
        // Dark is dark: the pictures of one size differ.
        let one = |scheme: &str| {
            std::fs::read(late.pictures().join(format!("{prefix}1366x768-{scheme}.png"))).unwrap()
        };
        assert_ne!(one("light"), one("dark"), "{engine}");
    }
    skipped.inspect(|why| println!("{why}"));
}

/// A PNG's size, which its name must tell.
fn size_of(picture: &Path) -> (u32, u32) {
    let png = std::fs::read(picture).unwrap();
    let side = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    let (width, height) = (side(16), side(20));
    let name = picture.file_name().unwrap().to_str().unwrap();
    assert!(name.contains(&format!("{width}x{height}")), "{name} is {width}x{height}");
    (width, height)
}

#[test]
fn missing_drivers_are_one_line_each_with_what_installs_them() {
    let _alone = alone();
    let nowhere = |browser: &str| {
        let mut command = holdup(&["browse", "--runs", "1", "--browser", browser]);
        let empty = tempfile::tempdir().unwrap();
        command.env("PATH", "/nonexistent").env("HOME", empty.path());
        command.env("HOLDUP_CACHE_DIR", empty.path()).output().unwrap()
    };
    let output = nowhere("chromium");
    assert_eq!(status(&output), 4);
    assert_eq!(
        stderr(&output),
        "holdup: chromium not found: there is no chromedriver; install it with: apt-get install chromium chromium-driver\n"
    );
    let output = nowhere("all");
    assert_eq!(status(&output), 4);
    let said = stderr(&output);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 3, "{said}");
    for (line, engine) in lines.iter().zip(ENGINES) {
        let line = line.trim_start_matches("holdup: ");
        assert!(line.starts_with(&format!("{engine} not found: there is no ")), "{line}");
        assert!(line.contains("; install it with: "), "{line}");
    }
}

#[test]
fn an_engine_that_is_missing_is_a_row_and_does_not_stop_the_others() {
    let _alone = alone();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let chromedriver = std::env::split_paths(&path)
        .map(|folder| folder.join("chromedriver"))
        .find(|file| file.is_file());
    let Some(chromedriver) = chromedriver else {
        println!("SKIPPED(no chromedriver: apt-get install chromium chromium-driver)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(chromedriver, folder.path().join("chromedriver")).unwrap();
    let only = |strict: &[&str]| {
        let plan = ["--runs", "1", "--endpoints", "direct", "--readers", "fetch"];
        let more = ["--browser", "chromium,webkit", "--json"];
        let mut command = holdup(&["browse"]);
        command.args(plan).args(more).args(strict);
        // Its browser is found by its own places, not by PATH.
        command.env("PATH", folder.path()).output().unwrap()
    };
    let output = only(&[]);
    assert!(matches!(status(&output), 0 | 3), "{}", stderr(&output));
    let document = document(&output);
    assert!(document.complete);
    let webkit: Vec<&CellResult> =
        document.cells.iter().filter(|row| row.cell.engine.as_deref() == Some("webkit")).collect();
    assert_eq!(webkit.len(), 1, "one row");
    assert_eq!(webkit[0].summary.verdict.name, Verdict::Failed);
    assert!(webkit[0].summary.verdict.because.contains("install it with: apt-get install webkit"));
    assert!(stderr(&output).contains("webkit not found: there is no WebKitWebDriver"));
    assert!(document.cells.iter().any(|row| row.browser.is_some()), "Chromium played");
    assert_eq!(status(&only(&["--strict"])), 4);
}

/// A long run of one engine, once its first runs are on the disk; `None` where the engine is not
/// to be had. Everything temporary is beside the results.
fn mid_run(engine: &str, out: &Path) -> Option<Child> {
    let mut child = holdup(&["browse", "--runs", "200", "--endpoints", "direct"])
        .args(["--readers", "fetch", "--browser", engine, "--out", out.to_str().unwrap()])
        .env("TMPDIR", out.parent().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the first run", Duration::from_secs(120), || {
        std::fs::metadata(out.join("runs.ndjson")).is_ok_and(|file| file.len() > 0)
            || child.try_wait().unwrap().is_some()
    });
    if child.try_wait().unwrap().is_none() {
        return Some(child);
    }
    let output = child.wait_with_output().unwrap();
    assert!(not_found(&output), "{engine} ended early: {}", stderr(&output));
    None
}

/// Kills the browser itself, under its driver, and looks what the command makes of it.
fn survives_its_death(engine: &str, processes: &[&str]) {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let Some(child) = mid_run(engine, &out) else { return };
    let everybody = family(child.id());
    let browser: Vec<u32> = left(&everybody)
        .into_iter()
        .filter(|(_, name)| processes.iter().any(|process| name.starts_with(process)))
        .map(|(pid, _)| pid)
        .collect();
    assert!(!browser.is_empty(), "{:?}", left(&everybody));
    for pid in browser {
        let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 4, "{}", stderr(&output));
    let last = stderr(&output).lines().last().unwrap_or_default().to_string();
    assert!(last.starts_with(&format!("holdup: {engine} stopped answering: ")), "{last}");
    let kept = std::fs::read_to_string(out.join("results.json")).unwrap();
    assert!(!Document::from_json(&kept).unwrap().complete, "what was measured is kept");
    let left = wait_gone(&everybody, Duration::from_secs(10));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_chromium_killed_mid_run_ends_it_with_what_was_measured_and_leaves_nothing() {
    survives_its_death("chromium", &["chromium", "chrome"]);
}

#[test]
fn a_firefox_killed_mid_run_ends_it_with_what_was_measured_and_leaves_nothing() {
    survives_its_death("firefox", &["firefox"]);
}

#[test]
fn a_webkit_killed_mid_run_ends_it_with_what_was_measured_and_leaves_nothing() {
    survives_its_death("webkit", &["MiniBrowser", "WebKitWebProces"]);
}

#[test]
fn however_it_ends_browser_driver_screen_and_their_folder_are_gone() {
    let _alone = alone();
    for signal in [Signal::SIGINT, Signal::SIGKILL] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("results");
        let Some(child) = mid_run("webkit", &out) else { return };
        let everybody = family(child.id());
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        if signal == Signal::SIGINT {
            assert_eq!(status(&output), 130, "{}", stderr(&output));
            let kept = std::fs::read_to_string(out.join("results.json")).unwrap();
            assert!(!Document::from_json(&kept).unwrap().complete);
        }
        let left = wait_gone(&everybody, Duration::from_secs(10));
        assert!(left.is_empty(), "after {signal}: {left:?}");
        // The results alone.
        let entries = std::fs::read_dir(folder.path()).unwrap().flatten();
        let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        assert_eq!(names, ["results"], "after {signal}");
    }
}

#[test]
fn the_demo_serves_its_page_and_lanes_and_leaves_nothing() {
    let (_alone, data) = (alone(), tempfile::tempdir().unwrap());
    let mut child =
        holdup(&["demo", "--no-open", "--listen", "127.0.0.1:0", "--endpoints", "haproxy,caddy"])
            .env("HOLDUP_DATA_DIR", data.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    let url = first.rsplit(' ').next().unwrap().to_string();
    assert!(first.starts_with("open this in a browser: http://127.0.0.1:"), "{first}");
    let everybody = family(child.id());
    let authority = url.trim_start_matches("http://").split('/').next().unwrap().to_string();
    let address = authority.parse().unwrap();
    let body = |path: &str| {
        let mut socket = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(
            &mut socket,
            format!("GET {path} HTTP/1.0\r\nHost: {authority}\r\n\r\n").as_bytes(),
        )
        .unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut socket, &mut text).unwrap();
        text
    };
    let _: std::net::SocketAddr = address;
    assert!(body("/").contains("Who is holding up your tokens?"));
    let lanes = body("/lanes");
    let json = lanes.split("\r\n\r\n").nth(1).unwrap();
    let lanes: measure::page::Lanes = serde_json::from_str(json).unwrap();
    let names: Vec<&str> = lanes.lanes.iter().map(|lane| lane.endpoint.name.as_str()).collect();
    assert_eq!(names, ["direct", "haproxy", "caddy"]);
    // One for each segment size, and the same over TLS, which the proxies named here do not speak.
    assert_eq!(lanes.lanes.iter().map(|lane| lane.ways.len()).collect::<Vec<_>>(), [4, 2, 2]);
    let second = lines.next().unwrap().unwrap();
    assert!(second.starts_with("over HTTPS and HTTP/2: https://127.0.0.1:"), "{second}");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    assert!(child.wait().unwrap().success());
    let left = wait_gone(&everybody, Duration::from_secs(10));
    assert!(left.is_empty(), "{left:?}");
}

/// The engines in turn, so that each tells some: all in all is what `browse --browser all --story`
/// is for, and takes eight minutes.
#[test]
fn every_story_is_told_by_a_browser_from_its_own_run() {
    let _alone = alone();
    let mut noisy = None;
    for (story, engine) in measure::story::STORIES.iter().zip(ENGINES.into_iter().cycle()) {
        let output =
            run(&["browse", "--browser", engine, "--runs", "1", "--story", story.id, "--json"]);
        if not_found(&output) {
            return;
        }
        let (document, said) = (document(&output), stderr(&output));
        let begins = format!("{} in {engine}: ", story.title);
        let line = said.lines().find(|line| line.starts_with(&begins));
        let line = line.unwrap_or_else(|| panic!("{}: {engine}: {said}", story.id));
        if line.contains(": shown. ") {
            continue;
        }
        // What a noisy machine takes away is no story's fault: its rows say so.
        let about_busy = story.id == "busy-page";
        let why = document
            .cells
            .iter()
            // The busy page is what that story is about.
            .filter(|row| row.summary.verdict.name != Verdict::PageBusy || !about_busy)
            .find_map(|row| noise(&document, row));
        assert!(why.is_some(), "{}: {line}", story.id);
        noisy = noisy.or(why);
    }
    if let Some(why) = noisy {
        println!("SKIPPED({why})");
    }
}
