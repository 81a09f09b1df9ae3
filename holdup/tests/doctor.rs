//! The doctor on real proxies: each cause by its name, cured by its cure. Shapes, no milliseconds.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod service;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use common::{alone, run, status, stderr};
use emitter::{Config, Emitter};
use proxies::node::{Flush, NodeError, NodeOrigin};
use proxies::source::Cache;
use proxies::supervise::Supervisor;
use proxies::{Proxies, Running, StartOptions};
use serde_json::Value;
use service::{Service, play};

static PROXIES: LazyLock<Proxies> = LazyLock::new(|| Proxies::of_user(Vec::new()).unwrap());

fn supervisor() -> Supervisor {
    Supervisor::program(env!("CARGO_BIN_EXE_holdup"))
}

/// A real proxy in front of an emitter; absent, and said so, where it cannot be had.
fn start(endpoint: &str, emitter: &Emitter) -> Option<Running> {
    let options = StartOptions::with_supervisor(supervisor());
    match PROXIES.start(endpoint, emitter.address(), &options, &mut |_| ()) {
        Ok(running) => Some(running),
        Err(error) => {
            println!("SKIPPED({endpoint}: {error})");
            None
        }
    }
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

/// Whether a machine too noisy to measure left it open: says so, and the caller returns. On an idle
/// one no run is void, and none is left open.
fn void(told: &Value) -> bool {
    let lines = told["evidence"].as_array().unwrap();
    let noisy = |line: &&Value| line["shows"] == "void" || line["shows"] == "cannot-tell";
    let undecided = told["diagnosis"]["answer"] == "cannot-tell" || told["cured"] == "cannot-tell";
    let noise = lines.iter().find(noisy).filter(|_| undecided);
    if let Some(line) = noise {
        println!("SKIPPED(void: {}: {})", line["name"], line["because"]);
    }
    noise.is_some()
}

/// Examines, expects a cause, then verifies at another address and expects it cured there.
fn cause_and_cure(
    held: &str,
    cured: &str,
    cause: &str,
    sure: &str,
    more: &[&str],
) -> Option<Value> {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("diagnosis");
    let out = out.to_str().unwrap();
    let output = run(&[&["doctor", held, "--json", "--out", out][..], more].concat());
    let told = service::told(&output);
    if void(&told) {
        return None;
    }
    let diagnosis = &told["diagnosis"];
    assert_eq!(diagnosis["cause"], cause, "{diagnosis:#}\n{:#}", told["evidence"]);
    assert_eq!(diagnosis["sure"], sure, "{diagnosis:#}");
    assert_eq!(status(&output), 1);
    assert!(!diagnosis["cures"].as_array().unwrap().is_empty());
    kept(Path::new(out), &told);

    let output = run(&["doctor", held, "--verify", out, "--json"]
        .iter()
        .chain(more)
        .copied()
        .collect::<Vec<_>>());
    let still = json(&output);
    if void(&still) {
        return None;
    }
    assert_eq!((still["cured"].as_str(), status(&output)), (Some("not-cured"), 1), "{still:#}");

    let output = run(&["doctor", cured, "--verify", out, "--json"]
        .iter()
        .chain(more)
        .copied()
        .collect::<Vec<_>>());
    let now = json(&output);
    if void(&now) {
        return None;
    }
    assert_eq!((now["cured"].as_str(), status(&output)), (Some("cured"), 0), "{now:#}");
    Some(told)
}

/// The folder holds what was printed, and one raw run for each line of evidence.
fn kept(folder: &Path, told: &Value) {
    let text = std::fs::read_to_string(folder.join("doctor.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), *told);
    let runs = std::fs::read_to_string(folder.join("doctor-runs.ndjson")).unwrap();
    assert_eq!(runs.lines().count(), told["evidence"].as_array().unwrap().len());
    let (made, most) = (&told["requests"]["made"], &told["requests"]["most"]);
    assert!(made.as_u64() <= most.as_u64(), "{made} of {most}");
}

/// A cause that one endpoint shows and another one cures, our own emitter behind both.
fn by_endpoints(held: &str, cured: &str, query: &str, cause: &str) -> Option<Value> {
    let _alone = alone();
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let (held, cured) = (start(held, &emitter)?, start(cured, &emitter)?);
    let url = |running: &Running| format!("http://{}/stream{query}", running.listen());
    cause_and_cure(&url(&held), &url(&cured), cause, "certain", &[])
}

#[test]
fn haproxy_stock_corks_chunks_and_no_delay_cures_it() {
    let Some(told) = by_endpoints("haproxy", "haproxy-no-delay", "", "chunks-corked") else {
        return;
    };
    assert_eq!(told["diagnosis"]["cures"][0]["lines"], "option http-no-delay");
}

#[test]
fn nginx_with_an_http10_upstream_waits_for_whole_buffers_and_http11_cures_it() {
    let Some(told) = by_endpoints("nginx-http10", "nginx", "", "whole-buffers") else { return };
    assert_eq!(told["evidence"][0]["upstream_protocol"], "HTTP/1.0");
    let suspects = told["diagnosis"]["suspects"].to_string();
    assert!(suspects.contains("nginx 1.31.3"), "{suspects}");
}

#[test]
fn nginx_gzip_holds_browsers_only_and_buffering_off_cures_it() {
    let told = by_endpoints("nginx-gzip", "nginx-gzip-buffering-off", "", "gzip-into-buffers");
    let Some(told) = told else { return };
    assert_eq!(told["evidence"][0]["shows"], "live", "as curl");
    assert_eq!(told["evidence"][1]["shows"], "held", "as a browser");
}

/// Small events are live as curl and as a browser: only larger ones show it.
#[test]
fn caddys_older_encode_holds_large_events_and_a_newer_caddy_cures_it() {
    let told = by_endpoints("caddy-2.6-encode", "caddy-encode", "", "compressor-waits");
    let Some(told) = told else { return };
    let lines = told["diagnosis"]["cures"].to_string();
    assert!(lines.contains("match {") && lines.contains("2.11.4"), "{lines}");
}

#[test]
fn an_origin_that_batches_is_named_by_its_own_record_and_clears_the_proxy() {
    let _alone = alone();
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let Some(nginx) = start("nginx", &emitter) else { return };
    let url = |query: &str| format!("http://{}/stream{query}", nginx.listen());
    // What was played is part of the URL: the cured origin plays the other script.
    cause_and_cure(
        &url("?script=batched"),
        &url("?script=headline"),
        "origin-batches",
        "certain",
        &[],
    );
}

#[test]
fn clean_paths_are_clean() {
    let _alone = alone();
    let emitter = Emitter::start(Config::loopback()).unwrap();
    // Caddy compresses large events and flushes each: an encoding alone proves nothing.
    for endpoint in ["nginx", "caddy-encode"] {
        let Some(running) = start(endpoint, &emitter) else { return };
        let output = run(&["doctor", &format!("http://{}/stream", running.listen()), "--json"]);
        let told = service::told(&output);
        if void(&told) {
            return;
        }
        assert_eq!(told["diagnosis"]["answer"], "clean", "{endpoint}: {:#}", told["diagnosis"]);
        assert_eq!(status(&output), 0);
        let coded = told["evidence"].to_string().contains("chunked, gzip");
        assert_eq!(coded, endpoint == "caddy-encode", "{endpoint}");
    }
}

/// An emitter whose clock is not ours, as on another machine: in a time namespace of its own.
struct Elsewhere(Child, String);

impl Elsewhere {
    fn start() -> Option<Elsewhere> {
        let mut child = Command::new("unshare")
            .args(["--time", "--monotonic", "100000", "--fork", "--kill-child"])
            .args([env!("CARGO_BIN_EXE_holdup"), "emit", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        match url.map(String::from) {
            Some(url) => Some(Elsewhere(child, url)),
            None => {
                let _ = child.wait();
                None
            }
        }
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_machines_clock_is_synchronised_and_said() {
    let _alone = alone();
    let Some(emitter) = Elsewhere::start() else {
        println!("SKIPPED(no time namespace may be made here)");
        return;
    };
    let output = run(&["doctor", &emitter.1, "--json"]);
    let told = service::told(&output);
    if void(&told) {
        return;
    }
    assert_eq!(told["diagnosis"]["answer"], "clean", "{:#}", told["diagnosis"]);
    assert_eq!(told["evidence"][0]["timed"], true, "its times are used");
    let off = told["clock_uncertainty_us"].as_i64().unwrap();
    assert!((1..=10_000).contains(&off), "{off} µs");
}

#[test]
fn someone_elses_origin_that_batches_is_named_beside_itself() {
    let _alone = alone();
    let origin = Service::start(|_, stream| play(stream, 40, 4, Duration::from_millis(120)));
    let cured = Service::start(|_, stream| play(stream, 40, 1, Duration::from_millis(30)));
    // Through a relay of ours that passes on each read at once.
    let honest = |to| {
        tap::Tap::start("127.0.0.1:0".parse().unwrap(), to, tap::Behaviour::Honest, None).unwrap()
    };
    let (held, live) = (honest(origin.address), honest(cured.address));
    let url = |at: std::net::SocketAddr| format!("http://{at}/v1/answers");
    let against = url(origin.address);
    let more = ["--against", &against];
    cause_and_cure(&url(held.address()), &url(live.address()), "origin-batches", "likely", &more);
}

#[test]
fn an_origin_that_compresses_is_named_and_no_hop_is() {
    let _alone = alone();
    let cache = Cache::of_user().unwrap();
    let node = |flush| match NodeOrigin::start(&cache, flush, &supervisor()) {
        Ok(origin) => Some(origin),
        Err(error @ (NodeError::NoNode | NodeError::Npm(_))) => {
            println!("SKIPPED({error})");
            None
        }
        Err(error) => panic!("{error}"),
    };
    let Some((held, cured)) = node(Flush::Never).zip(node(Flush::EachEvent)) else { return };
    let honest = |to| {
        tap::Tap::start("127.0.0.1:0".parse().unwrap(), to, tap::Behaviour::Honest, None).unwrap()
    };
    let (through, live) = (honest(held.address()), honest(cured.address()));
    // Another path than the emitter's, so that it is somebody else's.
    let url = |at: std::net::SocketAddr| format!("http://{at}/answers");
    let against = url(held.address());
    let more = ["--against", &against];
    let cause = "compressed-at-origin";
    cause_and_cure(&url(through.address()), &url(live.address()), cause, "certain", &more);
}
