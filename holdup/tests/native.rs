//! The native matrix through real proxies. Shapes, not milliseconds: who holds, who is live.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::process::Stdio;
use std::time::Duration;

use common::{alone, document, holdup, rows, run, skipped, status, stderr, void};
use measure::results::Document;
use measure::verdict::Verdict;

const LIVE: [&str; 6] =
    ["nginx", "nginx-buffering-off", "caddy", "traefik", "haproxy-no-delay", "envoy"];

/// The headline: HAProxy corks, everybody else is live.
fn headline(document: &Document) {
    let direct = &rows(document, "direct")[0].summary;
    assert_eq!(direct.verdict.name, Verdict::Live, "{}", direct.verdict.because);
    for name in LIVE {
        for row in rows(document, name) {
            let summary = &row.summary;
            assert_eq!(summary.verdict.name, Verdict::Live, "{name}: {}", summary.verdict.because);
            assert!(summary.frames_per_read.as_ref().unwrap().median <= 1.1, "{name}");
        }
    }
    let held = &rows(document, "haproxy")[0].summary;
    assert_eq!(held.verdict.name, Verdict::Corked, "{}", held.verdict.because);
    assert!(held.frames_per_read.as_ref().unwrap().median > 3.0);
    let ttft = |summary: &measure::summary::Summary| summary.ttft_us.as_ref().unwrap().median;
    assert!((ttft(held) - ttft(direct)).as_micros() >= 150_000);
    assert!(held.gap_us.as_ref().unwrap().median.as_micros() < 5_000);
}

#[test]
fn haproxy_corks_and_everybody_else_is_live_with_either_segment_size() {
    let _alone = alone();
    for mss in ["1448", "loopback"] {
        let output = run(&["measure", "--runs", "1", "--mss", mss, "--json"]);
        let document = document(&output);
        if skipped(&document) {
            return;
        }
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        headline(&document);
        let sizes: Vec<Option<u32>> = document.cells.iter().map(|c| c.cell.link.mss).collect();
        assert!(sizes.iter().all(|size| *size == mss.parse().ok()), "{sizes:?}");
        for endpoint in document.endpoints.iter().filter(|e| e.name != "direct") {
            assert!(endpoint.version.is_some() && endpoint.config.is_some(), "{}", endpoint.name);
            assert_eq!(endpoint.sha256.as_ref().map(String::len), Some(64));
        }
    }
}

#[test]
fn results_on_disk_are_the_ones_shown() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let arguments = [
        "measure",
        "--runs",
        "2",
        "--endpoints",
        "direct",
        "--json",
        "--out",
        out.to_str().unwrap(),
    ];
    let output = run(&arguments);
    let shown = document(&output);
    let text = std::fs::read_to_string(out.join("results.json")).unwrap();
    assert_eq!(Document::from_json(&text).unwrap(), shown);
    assert!(shown.complete);
    let runs = common::runs(&out);
    assert_eq!(runs.len(), 2, "direct alone is played once a round");
    for run in &runs {
        assert_eq!(run.ledger.as_ref().unwrap().entries.len(), 41);
        assert_eq!(run.arrivals.frames().count(), 41);
        assert!(run.arrivals.deliveries.iter().all(|delivery| delivery.kernel.is_some()));
    }
}

#[test]
fn a_browsers_headers_are_sent_and_decoded() {
    let _alone = alone();
    for set in ["chromium-eventsource", "chromium-fetch"] {
        let output = run(&[
            "measure",
            "--runs",
            "1",
            "--endpoints",
            "direct,nginx",
            "--headers",
            set,
            "--json",
        ]);
        let document = document(&output);
        if skipped(&document) {
            return;
        }
        assert!(document.cells.iter().all(|cell| cell.summary.verdict.name == Verdict::Live));
    }
}

#[test]
fn a_proxy_that_does_not_start_is_a_row_and_the_rest_goes_on() {
    let _alone = alone();
    let arguments = [
        "measure",
        "--runs",
        "1",
        "--endpoints",
        "haproxy",
        "--own",
        "haproxy=/bin/false",
        "--json",
    ];
    let output = run(&arguments);
    let found = document(&output);
    if void(&found) {
        return;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let failed = rows(&found, "haproxy")[0];
    assert_eq!(failed.summary.verdict.name, Verdict::Failed);
    assert_eq!(failed.summary.ttft_us, None);
    assert!(stderr(&output).lines().any(|line| line.starts_with("haproxy: ")));
    assert_eq!(rows(&found, "direct")[0].summary.outcomes.complete, 1);
    let strict = run(&[&arguments[..], &["--strict"]].concat());
    assert_eq!(status(&strict), 4);
}

#[test]
fn without_python_the_direct_path_is_still_measured() {
    let _alone = alone();
    let cache = tempfile::tempdir().unwrap();
    let output = holdup(&["measure", "--runs", "1", "--endpoints", "caddy", "--json"])
        .env("PATH", "/nonexistent")
        .env("HOLDUP_CACHE_DIR", cache.path())
        .output()
        .unwrap();
    let document = document(&output);
    if void(&document) {
        return;
    }
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert_eq!(rows(&document, "caddy")[0].summary.verdict.name, Verdict::Failed);
    assert_eq!(rows(&document, "direct")[0].summary.outcomes.complete, 1);
    assert!(stderr(&output).contains("python3"), "{}", stderr(&output));
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let child = holdup(&[
        "measure",
        "--runs",
        "50",
        "--endpoints",
        "direct",
        "--out",
        out.to_str().unwrap(),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    common::wait_for("the first run", Duration::from_secs(20), || {
        std::fs::metadata(out.join("runs.ndjson")).is_ok_and(|file| file.len() > 0)
    });
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 130, "{}", stderr(&output));
    let text = std::fs::read_to_string(out.join("results.json")).unwrap();
    let kept = Document::from_json(&text).unwrap();
    assert!(!kept.complete);
    assert!((1..50).contains(&common::runs(&out).len()));
}

/// A small file system of its own, if that may be had.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(kib: u32) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "holdup-test"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_that_fills_keeps_whole_runs_and_says_so() {
    let _alone = alone();
    let Some(disk) = SmallDisk::mount(24) else {
        println!("SKIPPED(no small file system may be mounted here)");
        return;
    };
    let out = disk.0.path().join("results");
    let output =
        run(&["measure", "--runs", "6", "--endpoints", "direct", "--out", out.to_str().unwrap()]);
    assert_eq!(status(&output), 4, "{}", stderr(&output));
    let last = stderr(&output).lines().last().unwrap_or_default().to_string();
    assert!(last.starts_with("holdup: cannot append to ") && last.contains("No space"), "{last}");
    let kept = common::runs(&out).len();
    assert!((1..6).contains(&kept), "{kept} whole runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("direct"), "the table is shown");
    let left: Vec<_> =
        std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with('.')), "{left:?}");
}

#[test]
fn the_selftest_tells_every_relay_apart_and_refuses_a_foreign_emitter() {
    let _alone = alone();
    let output = run(&["selftest", "--json"]);
    let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    if status(&output) == 3 {
        println!("SKIPPED(void: {rows})");
        return;
    }
    assert_eq!(status(&output), 0, "{rows}");
    let found = |name: &str, field: &str| {
        rows.as_array().unwrap().iter().find(|row| row["relay"] == name).unwrap()[field].clone()
    };
    assert_eq!(found("drain", "frames_per_read"), 41.0);
    assert_eq!(found("direct", "snd_mss"), 1448);

    let foreign = emitter::Emitter::start(emitter::Config::loopback()).unwrap();
    let url = format!("http://{}", foreign.address());
    let refused = run(&["selftest", "--emitter", &url]);
    assert_eq!(status(&refused), 3);
    assert!(stderr(&refused).starts_with("holdup: refused: "), "{}", stderr(&refused));
}
