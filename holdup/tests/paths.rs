//! The group "Paths" of the cases from public bug reports: real proxies and a real origin, each
//! with its one right outcome. What the command says is held against the raw arrivals as well:
//! held or live, never milliseconds.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{alone, run, runs, status, stderr};
use measure::results::RunRecord;
use measure::{End, Measurement};
use serde_json::Value;

/// What one run of the matrix left.
struct Played {
    rows: Vec<Value>,
    runs: Vec<RunRecord>,
    said: String,
}

/// Plays the named endpoints once.
fn play(only: &str) -> Played {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = ["matrix", "--runs", "1", "--json", "--only", only, "--out"];
    let output = run(&[&arguments[..], &[out.to_str().unwrap()]].concat());
    let said = stderr(&output);
    assert!([0, 1, 3].contains(&status(&output)), "{said}");
    let matrix: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut runs = runs(&out);
    if let Ok(text) = std::fs::read_to_string(out.join("origins.ndjson")) {
        runs.extend(text.lines().map(|line| serde_json::from_str::<RunRecord>(line).unwrap()));
    }
    Played { rows: matrix["rows"].as_array().unwrap().clone(), runs, said }
}

/// One stream: the verdict on it, and its raw run.
struct Stream<'a> {
    verdict: String,
    because: String,
    run: &'a RunRecord,
}

impl Played {
    /// The stream of that name; none, and said so, where it could not be had or the guards took
    /// the ground away.
    fn stream(&self, path: &str) -> Option<Stream<'_>> {
        let row = self.rows.iter().find(|row| row["path"] == path);
        let row = row.unwrap_or_else(|| panic!("no row {path} among {:?}", self.rows));
        if let Some(why) = row["skipped"].as_str() {
            println!("SKIPPED({path}: {why})");
            return None;
        }
        let other = row["others"].as_array().unwrap().first();
        let (verdict, because) = match other {
            Some(other) => (&other["verdict"], &other["because"]),
            None => (&row["truth"], &row["said"]),
        };
        let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
        let (verdict, because) = (text(verdict), text(because));
        if verdict == "void" {
            println!("SKIPPED(void: {path}: {because})");
            return None;
        }
        let (endpoint, slug) = (row["endpoint"].as_str().unwrap(), row["stream"].as_str().unwrap());
        let offers = row["offers"].as_str().map(|offers| offers.replace([' ', ','], ""));
        let run = self.runs.iter().find(|run| {
            let accepts = run.cell.split("+accept=").nth(1).and_then(|rest| rest.split('/').next());
            run.cell.starts_with(&format!("{endpoint}/{slug}/")) && accepts == offers.as_deref()
        });
        let run = run.unwrap_or_else(|| panic!("no run of {path}: {}", self.said));
        Some(Stream { verdict, because, run })
    }
}

impl Stream<'_> {
    fn measured(&self) -> Measurement {
        Measurement::join(self.run.ledger.as_ref(), &self.run.arrivals)
    }

    /// Whether the stream's parts came while it was played, and not only at its end: by the times
    /// of its deliveries alone.
    fn is_spread_out(&self) -> bool {
        let measured = self.measured();
        let first = measured.first_byte.unwrap_or(measured.total);
        measured.bursts.len() > 1 && first.as_micros() * 2 < measured.total.as_micros()
    }

    fn coding(&self) -> Option<&str> {
        self.run.arrivals.content_encoding.as_deref()
    }

    /// Whether a stall of this machine left the verdict open; says so.
    fn is_open(&self) -> bool {
        let open = self.verdict == "cannot-tell";
        if open {
            println!("SKIPPED(void: the verdict on {}: {})", self.run.cell, self.because);
        }
        open
    }

    /// Asserts the shape, and the verdict on it unless it was left open.
    fn is(&self, verdict: &str) {
        assert_eq!(self.is_spread_out(), verdict != "held", "{}: {}", self.run.cell, self.because);
        if !self.is_open() {
            assert_eq!(self.verdict, verdict, "{}: {}", self.run.cell, self.because);
        }
    }
}

#[test]
fn nginx_http10_default() {
    let _alone = alone();
    let played = play("nginx-1.22,nginx-http10-buffering-off");
    if let Some(held) = played.stream("nginx-1.22") {
        held.is("held");
        let measured = held.measured();
        let (head, total) = (measured.head.unwrap(), measured.total);
        assert!(head.as_micros() * 10 > total.as_micros() * 9, "headers too: {head} of {total}");
    }
    if let Some(live) = played.stream("nginx-1.22, X-Accel-Buffering: no") {
        live.is("live");
    }
    if let Some(live) = played.stream("nginx-http10-buffering-off") {
        live.is("live");
    }
    if let Some(groups) = played.stream("nginx-1.22, 2 KB events") {
        groups.is("buffer-bursts");
        let bodies: Vec<u64> =
            groups.run.arrivals.deliveries.iter().filter_map(|d| d.body_bytes).collect();
        // The first one is shorter by the origin's head; the end brings what is left.
        let full = bodies.iter().filter(|bytes| **bytes == 4_096).count();
        assert!(full >= 3, "groups of 4 KB: {bodies:?}");
    }
}

#[test]
fn haproxy_cork() {
    let _alone = alone();
    let played = play("haproxy,haproxy-no-delay");
    for path in ["haproxy", "haproxy, longer"] {
        if let Some(corked) = played.stream(path) {
            corked.is("corked");
            let timer = corked.because.contains("200 ms timer");
            assert!(timer || corked.is_open(), "{}", corked.because);
        }
    }
    for path in ["haproxy-no-delay", "haproxy, close-delimited"] {
        if let Some(live) = played.stream(path) {
            live.is("live");
        }
    }
}

#[test]
fn caddy_encode_threshold() {
    let _alone = alone();
    let played = play("caddy-encode,caddy-encode-all,caddy-2.6-encode,caddy-2.6-encode-all");
    // Each version by its own bytes: compressed or not, held or live, are two questions.
    for (path, coding, verdict) in [
        ("caddy-2.6-encode, offered gzip", None, "live"),
        ("caddy-2.6-encode, 700 B events, offered gzip", Some("gzip"), "held"),
        ("caddy-2.6-encode-all, offered gzip", Some("gzip"), "held"),
        ("caddy-encode, offered gzip", None, "live"),
        ("caddy-encode, 700 B events, offered gzip", Some("gzip"), "live"),
        ("caddy-encode-all, offered gzip", Some("gzip"), "live"),
    ] {
        if let Some(stream) = played.stream(path) {
            stream.is(verdict);
            assert_eq!(stream.coding(), coding, "{path}");
        }
    }
}

#[test]
fn traefik_compress() {
    let _alone = alone();
    let played = play("traefik,traefik-compress,traefik-compress-excluded");
    for coding in ["gzip", "br", "zstd"] {
        if let Some(stream) = played.stream(&format!("traefik-compress, offered {coding}")) {
            stream.is("live");
            assert_eq!(stream.coding(), Some(coding));
        }
    }
    for path in ["traefik", "traefik-compress-excluded"] {
        if let Some(stream) = played.stream(&format!("{path}, offered a browser's codings")) {
            stream.is("live");
            assert_eq!(stream.coding(), None, "{path}");
        }
    }
}

#[test]
fn node_compression() {
    let _alone = alone();
    let played = play(
        "node-compression,node-compression-each-event,node-compression-no-transform,nginx on node-compression",
    );
    if let Some(held) = played.stream("node-compression, offered gzip") {
        assert_eq!(held.verdict, "batched-at-origin");
        assert!(held.because.starts_with("read at the origin itself"), "{}", held.because);
        assert!(!held.is_spread_out());
        assert_eq!(held.coding(), Some("gzip"));
    }
    if let Some(behind) = played.stream("nginx on node-compression, offered gzip") {
        assert_eq!(behind.verdict, "batched-at-origin", "nginx is not blamed");
        assert!(behind.because.contains("both ways agree"), "{}", behind.because);
    }
    for (path, coding) in [("each-event", Some("gzip")), ("no-transform", None)] {
        if let Some(live) = played.stream(&format!("node-compression-{path}, offered gzip")) {
            live.is("live");
            assert_eq!(live.coding(), coding, "{path}");
        }
    }
}

#[test]
fn apache_control() {
    let _alone = alone();
    let played = play("apache,apache-deflate");
    for (path, coding) in [("apache", None), ("apache-deflate, offered gzip", Some("gzip"))] {
        if let Some(stream) = played.stream(path) {
            stream.is("live");
            assert_eq!(stream.coding(), coding, "{path}");
        }
    }
}

#[test]
fn type_rewritten() {
    let _alone = alone();
    let played = play("haproxy-type-rewritten");
    if let Some(changed) = played.stream("haproxy-type-rewritten") {
        changed.is("type-changed");
        assert_eq!(changed.run.arrivals.content_type.as_deref(), Some("text/plain; charset=utf-8"));
        let because = &changed.because;
        assert!(because.contains("the content type was changed on the way"), "{because}");
        assert!(because.contains("EventSource refuses"), "{because}");
        assert!(!because.contains("buffer"), "{because}");
    }
}

#[test]
fn ends_without_terminal() {
    let _alone = alone();
    let played = play("cut-5,nginx-http10 on cut-5");
    for (path, end) in [("cut-5", End::Cut), ("nginx-http10 on cut-5", End::Closed)] {
        if let Some(cut) = played.stream(path) {
            assert_eq!(cut.verdict, "truncated", "{}", cut.because);
            assert_eq!(cut.run.arrivals.end, end, "{path}: what the framing says");
            let measured = cut.measured();
            assert!((1..8).contains(&measured.frames), "{} frames", measured.frames);
        }
    }
}
