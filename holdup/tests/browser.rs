//! A real browser on the same path: Chromium through HAProxy and through Caddy.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use common::{
    alone, document, family, holdup, left, rows, run, skipped, status, stderr, wait_for, wait_gone,
};
use measure::Reader;
use measure::verdict::Verdict;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Whether a browser can be driven here; says so when not.
fn no_browser() -> bool {
    let missing = !["chromedriver", "chromium"].iter().all(|program| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    });
    if missing {
        println!("SKIPPED(no Chromium with its driver: apt-get install chromium chromium-driver)");
    }
    missing
}

#[test]
fn both_readers_see_what_the_wire_and_the_native_reader_see() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let output = run(&["browse", "--runs", "1", "--endpoints", "haproxy,caddy", "--json"]);
    let document = document(&output);
    if skipped(&document) {
        return;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    for (endpoint, verdict) in
        [("direct", Verdict::Live), ("caddy", Verdict::Live), ("haproxy", Verdict::Corked)]
    {
        let rows = rows(&document, endpoint);
        let readers: Vec<Reader> = rows.iter().map(|row| row.cell.reader).collect();
        assert_eq!(readers, [Reader::Eventsource, Reader::Fetch, Reader::Recv]);
        for row in rows {
            let summary = &row.summary;
            assert_eq!(summary.verdict.name, verdict, "{}: {}", row.id, summary.verdict.because);
            let median = |ratio: &Option<measure::stats::RatioSpread>| {
                ratio.as_ref().map(|ratio| ratio.median)
            };
            let per_delivery = median(&summary.frames_per_read).unwrap();
            let held = verdict == Verdict::Corked;
            assert_eq!(per_delivery > 3.0, held, "{}: {per_delivery}", row.id);
            if row.cell.reader != Reader::Recv {
                let on_wire = median(&summary.wire_frames_per_read).unwrap();
                assert_eq!(on_wire > 3.0, held, "{}: {on_wire} on the wire", row.id);
                let browser = row.browser.as_ref().unwrap();
                assert!(browser.isolated, "{browser:?}");
                assert!(browser.version.starts_with(|first: char| first.is_ascii_digit()));
                // What the browser itself added is far under what the path held.
                let added = summary.browser_hold_us.as_ref().unwrap().median;
                assert!(added.as_micros().abs() < 50_000, "{}: {added}", row.id);
                assert!(summary.clock_uncertainty_us.is_some());
            }
        }
    }
}

#[test]
fn the_page_can_be_looked_at_in_three_sizes_dark_and_light() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pictures = folder.path().join("pictures");
    let output = run(&[
        "browse",
        "--runs",
        "1",
        "--endpoints",
        "direct",
        "--readers",
        "fetch",
        "--native-runs",
        "0",
        "--screenshots",
        pictures.to_str().unwrap(),
    ]);
    assert!(matches!(status(&output), 0 | 3), "{}", stderr(&output));
    let mut names: Vec<String> = std::fs::read_dir(&pictures)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "page-1366x768-dark.png",
            "page-1366x768-light.png",
            "page-1920x1080-dark.png",
            "page-1920x1080-light.png",
            "page-390x844-dark.png",
            "page-390x844-light.png",
        ]
    );
    for name in names {
        let png = std::fs::read(pictures.join(&name)).unwrap();
        let width = u32::from_be_bytes(png[16..20].try_into().unwrap());
        assert!(name.contains(&format!("page-{width}x")), "{name} is {width} wide");
    }
}

#[test]
fn a_missing_driver_is_one_line_with_what_installs_it() {
    let _alone = alone();
    let output = holdup(&["browse", "--runs", "1"]).env("PATH", "/nonexistent").output().unwrap();
    assert_eq!(status(&output), 4);
    assert_eq!(
        stderr(&output),
        "holdup: no chromedriver found for chromium: apt-get install chromium chromium-driver\n"
    );
}

#[test]
fn a_browser_killed_mid_run_ends_it_with_what_was_measured_and_leaves_nothing() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let child = holdup(&[
        "browse",
        "--runs",
        "200",
        "--endpoints",
        "direct",
        "--readers",
        "fetch",
        "--out",
        out.to_str().unwrap(),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    wait_for("the first run", Duration::from_secs(120), || {
        std::fs::metadata(out.join("runs.ndjson")).is_ok_and(|file| file.len() > 0)
    });
    let everybody = family(child.id());
    let browser: Vec<u32> = left(&everybody)
        .into_iter()
        .filter(|(_, name)| name.starts_with("chromium") || name == "chrome")
        .map(|(pid, _)| pid)
        .collect();
    assert!(!browser.is_empty(), "{:?}", left(&everybody));
    for pid in browser {
        let _ = kill(Pid::from_raw(pid as i32), Signal::SIGKILL);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 4, "{}", stderr(&output));
    let last = stderr(&output).lines().last().unwrap_or_default().to_string();
    assert!(last.starts_with("holdup: chromium stopped answering: "), "{last}");
    assert!(out.join("results.json").is_file(), "what was measured is kept");
    let left = wait_gone(&everybody, Duration::from_secs(10));
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn the_demo_serves_its_page_and_lanes_and_leaves_nothing() {
    let _alone = alone();
    let mut child =
        holdup(&["demo", "--no-open", "--listen", "127.0.0.1:0", "--endpoints", "haproxy,caddy"])
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
    assert_eq!(lanes.lanes[0].ways.len(), 2, "one for each segment size");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    assert!(child.wait().unwrap().success());
    let left = wait_gone(&everybody, Duration::from_secs(10));
    assert!(left.is_empty(), "{left:?}");
}
