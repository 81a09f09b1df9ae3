//! The doctor over TLS: who is held by which HTTP, on real proxies. Shapes, no milliseconds.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod service;

use std::sync::LazyLock;

use certs::Authority;
use common::{alone, run, status, stderr};
use emitter::{Config, Emitter};
use proxies::supervise::Supervisor;
use proxies::{Proxies, Running, StartOptions};
use serde_json::Value;
use service::{Service, told};
use tempfile::TempDir;

static PROXIES: LazyLock<Proxies> = LazyLock::new(|| Proxies::of_user(Vec::new()).unwrap());

/// An emitter, and an authority whose certificates the proxies before it show.
struct Rig {
    emitter: Emitter,
    authority: Authority,
    folder: TempDir,
}

impl Rig {
    fn start() -> Rig {
        let authority = Authority::in_memory().unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("authority.pem"), authority.certificate_pem()).unwrap();
        Rig { emitter: Emitter::start(Config::loopback()).unwrap(), authority, folder }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_string()
    }

    /// A real proxy before the emitter; absent, and said so, where it cannot be had.
    fn proxy(&self, endpoint: &str) -> Option<Running> {
        let supervisor = Supervisor::program(env!("CARGO_BIN_EXE_holdup"));
        let leaf = Some(self.authority.leaf().unwrap().into());
        let options = StartOptions { leaf, ..StartOptions::with_supervisor(supervisor) };
        match PROXIES.start(endpoint, self.emitter.address(), &options, &mut |_| ()) {
            Ok(running) => Some(running),
            Err(error) => {
                println!("SKIPPED({endpoint}: {error})");
                None
            }
        }
    }

    /// What the doctor says of it, with its status; absent where noise left it open.
    fn examine(&self, proxy: &Running, more: &[&str]) -> Option<(Value, i32)> {
        let url = format!("https://{}/stream", proxy.listen());
        let trust = self.file("authority.pem");
        let output = run(&[&["doctor", &url, "--cacert", &trust, "--json"][..], more].concat());
        let verifies = more.contains(&"--verify");
        let said: Value = match verifies {
            true => serde_json::from_slice(&output.stdout).unwrap(),
            false => told(&output),
        };
        let open = said["diagnosis"]["answer"] == "cannot-tell" || said["cured"] == "cannot-tell";
        let noisy =
            |line: &&Value| ["void", "cannot-tell"].map(Value::from).contains(&line["shows"]);
        let lines = said["evidence"].as_array().unwrap();
        if let Some(line) = lines.iter().find(noisy).filter(|_| open) {
            println!("SKIPPED(void: {}: {})", line["name"], line["because"]);
            return None;
        }
        Some((said, status(&output)))
    }
}

/// What the experiment of that name showed, with the HTTP that was spoken.
fn line<'a>(told: &'a Value, name: &str) -> (&'a str, &'a str) {
    let lines = told["evidence"].as_array().unwrap();
    let found = lines.iter().rfind(|line| line["name"] == name);
    let found = found.unwrap_or_else(|| panic!("{name} was not asked: {lines:#?}"));
    assert!(found["tls"].as_str().unwrap().starts_with("TLSv1."), "{found:#}");
    (found["shows"].as_str().unwrap(), found["protocol"].as_str().unwrap())
}

#[test]
fn haproxy_corks_chunks_for_whoever_speaks_http1_over_tls() {
    let _alone = alone();
    let rig = Rig::start();
    let Some((held, cured)) = rig.proxy("haproxy-tls").zip(rig.proxy("haproxy-no-delay-tls"))
    else {
        return;
    };
    let out = rig.file("before");
    let Some((told, status)) = rig.examine(&held, &["--out", &out]) else { return };
    let diagnosis = &told["diagnosis"];
    assert_eq!(diagnosis["cause"], "chunks-corked", "{diagnosis:#}\n{:#}", told["evidence"]);
    assert_eq!((diagnosis["sure"].as_str(), status), (Some("certain"), 1));
    assert_eq!(line(&told, "as curl"), ("live", "h2"));
    assert_eq!(line(&told, "as curl, HTTP/1.1 alone"), ("corked", "http/1.1"));
    let hit = diagnosis["hit"].as_str().unwrap();
    assert!(hit.contains("do not see this; clients that speak HTTP/1.1 do"), "{hit}");
    // The emitter's own times, through the proxy and over TLS.
    assert_eq!(told["evidence"][0]["timed"], true);
    assert_eq!(told["clock_uncertainty_us"], 0);

    let Some((now, status)) = rig.examine(&cured, &["--verify", &out]) else { return };
    assert_eq!((now["cured"].as_str(), status), (Some("cured"), 0), "{now:#}");

    let plain = run(&["doctor", "http://127.0.0.1:9/stream", "--verify", &out]);
    let said = stderr(&plain);
    assert_eq!((common::status(&plain), said.lines().count()), (2, 1), "{said}");
    assert!(said.contains("verify it by https://"), "{said}");
}

#[test]
fn nginx_with_an_http10_upstream_holds_both_and_buffering_off_cures_both() {
    let _alone = alone();
    let rig = Rig::start();
    let held = rig.proxy("nginx-http10-tls");
    let Some((held, cured)) = held.zip(rig.proxy("nginx-buffering-off-tls")) else { return };
    let Some(half) = rig.proxy("nginx-tls") else { return };
    let out = rig.file("before");
    let Some((told, status)) = rig.examine(&held, &["--out", &out]) else { return };
    let diagnosis = &told["diagnosis"];
    assert_eq!(diagnosis["cause"], "whole-buffers", "{diagnosis:#}\n{:#}", told["evidence"]);
    assert_eq!((diagnosis["sure"].as_str(), status), (Some("certain"), 1));
    assert_eq!(line(&told, "as curl"), ("held", "h2"));
    assert_eq!(line(&told, "as curl, HTTP/1.1 alone"), ("held", "http/1.1"));
    assert!(diagnosis["hit"].as_str().unwrap().contains("see it too"), "{diagnosis:#}");
    assert_eq!(diagnosis["cures"][0]["lines"], "proxy_buffering off;");

    let Some((now, status)) = rig.examine(&cured, &["--verify", &out]) else { return };
    assert_eq!((now["cured"].as_str(), status), (Some("cured"), 0), "{now:#}");
    // HTTP/1.1 to the origin cures those who speak HTTP/2 alone.
    let Some((now, status)) = rig.examine(&half, &["--verify", &out]) else { return };
    assert_eq!((now["cured"].as_str(), status), (Some("not-cured"), 1), "{now:#}");
    assert!(now["name"].as_str().unwrap().contains("held as curl, HTTP/1.1 alone"), "{now:#}");
}

#[test]
fn nginx_gathers_what_leaves_by_http1_over_tls() {
    let _alone = alone();
    let rig = Rig::start();
    let Some((held, cured)) = rig.proxy("nginx-tls").zip(rig.proxy("nginx-buffering-off-tls"))
    else {
        return;
    };
    let out = rig.file("before");
    let Some((told, status)) = rig.examine(&held, &["--out", &out]) else { return };
    let diagnosis = &told["diagnosis"];
    assert_eq!(diagnosis["cause"], "tls-gathers", "{diagnosis:#}\n{:#}", told["evidence"]);
    assert_eq!((diagnosis["sure"].as_str(), status), (Some("certain"), 1));
    assert_eq!(line(&told, "as a browser's fetch"), ("live", "h2"));
    let Some((now, status)) = rig.examine(&cured, &["--verify", &out]) else { return };
    assert_eq!((now["cured"].as_str(), status), (Some("cured"), 0), "{now:#}");
}

#[test]
fn a_clean_path_is_clean_over_both() {
    let _alone = alone();
    let rig = Rig::start();
    let Some(caddy) = rig.proxy("caddy-tls") else { return };
    let Some((told, status)) = rig.examine(&caddy, &[]) else { return };
    assert_eq!(told["diagnosis"]["answer"], "clean", "{:#}", told["diagnosis"]);
    assert_eq!(status, 0);
    assert_eq!(line(&told, "as curl, HTTP/1.1 alone"), ("live", "http/1.1"));
}

#[test]
fn who_cannot_be_trusted_or_speaks_no_tls_is_one_line() {
    let rig = Rig::start();
    let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let tls = Some(emitter::Tls { listen, leaf: rig.authority.leaf().unwrap() });
    let emitter = Emitter::start(Config { tls, ..Config::loopback() }).unwrap();
    let address = emitter.tls_address().unwrap();
    for (url, said) in [
        // Where our own emitter is looked for first, and where it is not.
        (format!("https://{address}/stream"), "name its certificate by --cacert FILE"),
        (format!("https://{address}/v1/chat/completions"), "name its certificate by --cacert FILE"),
        (format!("https://{}/stream", rig.emitter.address()), "ask by http://"),
    ] {
        let output = run(&["doctor", &url]);
        let shown = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        assert_eq!(status(&output), 4, "{url}: {shown}");
        let lines: Vec<&str> = shown.lines().filter(|line| line.contains(said)).collect();
        assert_eq!(lines.len(), 1, "{url}: {shown}");
    }
    let trust = rig.file("authority.pem");
    let nowhere = rig.file("nowhere.pem");
    let service = Service::of("");
    for (arguments, said) in [
        ([&service.url("/x"), "--cacert", &trust], "--cacert is for https"),
        ([&format!("https://{address}/x"), "--cacert", &nowhere], "nowhere.pem: "),
    ] {
        let output = run(&[&["doctor"][..], &arguments].concat());
        let text = stderr(&output);
        assert_eq!((status(&output), text.lines().count()), (2, 1), "{text}");
        assert!(text.contains(said), "{text}");
    }
}
