//! `holdup measure --upstream`: the pinned proxies before a chat service, which is the emitter's own
//! route here, told nothing but what any service is told.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::path::{Path, PathBuf};

use common::{alone, holdup, status, stderr};
use emitter::{Config, Emitter};
use serde_json::Value;

/// What a model of some 115 events a second is asked.
const BODY: &str = r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"a secret question"}],
    "holdup":{"tokens":60,"interval_ms":"8.6","first_ms":"60"}}"#;

struct Asked {
    emitter: Emitter,
    folder: tempfile::TempDir,
}

impl Asked {
    fn start() -> Asked {
        let emitter = Emitter::start(Config::loopback()).unwrap();
        Asked { emitter, folder: tempfile::tempdir().unwrap() }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn url(&self) -> String {
        format!("http://{}/v1/chat/completions", self.emitter.address())
    }

    /// The command's output.
    fn measure(&self, body: &Path, more: &[&str]) -> std::process::Output {
        let url = self.url();
        let arguments = ["measure", "--upstream", &url, "--body", body.to_str().unwrap()];
        holdup(&[&arguments[..], &["--pause", "1ms"], more].concat())
            .env("HOLDUP_TEST_KEY", "sk-never-to-be-seen")
            .output()
            .unwrap()
    }
}

fn way<'a>(document: &'a Value, endpoint: &str) -> &'a Value {
    let ways = document["ways"].as_array().unwrap();
    ways.iter().find(|way| way["endpoint"]["name"] == endpoint).unwrap()
}

#[test]
fn proxies_stand_before_any_service_and_each_is_asked_in_each_round() {
    let _alone = alone();
    let asked = Asked::start();
    let body = asked.file("body.json", BODY);
    let out = asked.folder.path().join("out");
    let output = asked.measure(
        &body,
        &[
            "--endpoints",
            "haproxy,nginx",
            "--runs",
            "5",
            "--max-requests",
            "11",
            "--key-env",
            "HOLDUP_TEST_KEY",
            "--json",
            "--out",
            out.to_str().unwrap(),
        ],
    );
    let said = stderr(&output);
    assert_eq!(status(&output), 0, "{said}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    // The number stands there before the first request, and holds.
    let plan = "9 requests, one at a time, 1ms apart: 3 rounds on each of direct, haproxy, nginx";
    assert!(said.contains(plan) && said.contains("--max-requests 11"), "{said}");
    let requests = document["requests"].as_array().unwrap();
    assert_eq!(requests.len(), 9);
    for round in 0..3 {
        let mut names: Vec<&str> = requests
            .iter()
            .filter(|row| row["round"] == round)
            .map(|row| row["endpoint"].as_str().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["direct", "haproxy", "nginx"]);
    }
    let kept = std::fs::read_to_string(out.join("upstream.json")).unwrap();
    for secret in ["sk-never-to-be-seen", "a secret question"] {
        assert!(!kept.contains(secret) && !said.contains(secret), "{secret}");
    }
    assert!(said.contains("The service's own time to the first token varied from "), "{said}");
    for name in ["direct", "haproxy", "nginx"] {
        if let Some(why) = way(&document, name)["endpoint"]["failed"].as_str() {
            println!("SKIPPED({name}: {why})");
            return;
        }
        assert_eq!(way(&document, name)["kinds"]["complete"], 3, "{name}: {said}");
        assert_eq!(way(&document, name)["frames"], 63, "{name}");
    }
    // Sixty events of 250 bytes: HAProxy fills its segments with them.
    let ratio =
        |name| way(&document, name)["answers"]["frames_per_read"]["median"].as_f64().unwrap();
    assert!(ratio("haproxy") > 2.0 * ratio("direct"), "{said}");
    assert!(ratio("nginx") < 1.5 * ratio("direct"), "{said}");
}

#[test]
fn what_cannot_be_asked_is_one_line_before_anything_is() {
    let asked = Asked::start();
    let body = asked.file("body.json", BODY);
    let no_json = asked.file("text.json", "no json");
    let said = |body: &Path, more: &[&str]| {
        let output = asked.measure(body, more);
        assert_eq!(status(&output), 2, "{}", stderr(&output));
        stderr(&output)
    };
    let few = said(&body, &["--endpoints", "haproxy,nginx", "--max-requests", "2"]);
    assert!(few.contains("--max-requests 2 is less than one round of 3 requests"), "{few}");
    assert!(said(&no_json, &[]).contains("is no JSON object"));
    let key = said(&body, &["--key-env", "HOLDUP_NO_SUCH_KEY"]);
    assert!(key.contains("no such variable is set"), "{key}");
    assert!(said(&body, &["--endpoints", "nope"]).contains("no endpoint is called \"nope\""));
    assert!(said(&body, &["--junit", "x.xml"]).contains("holdup probe --expect live"));
}

#[test]
fn a_service_behind_tls_is_reached_through_each_proxy() {
    let _alone = alone();
    let authority = certs::Authority::in_memory().unwrap();
    let listen = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let tls = emitter::Tls { listen, leaf: authority.leaf().unwrap() };
    let emitter = Emitter::start(Config { tls: Some(tls), ..Config::loopback() }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let (body, cacert) = (file("body.json", BODY), file("ca.pem", authority.certificate_pem()));
    let url = format!("https://{}/v1/chat/completions", emitter.tls_address().unwrap());
    let rig = ["--endpoints", "haproxy,nginx", "--runs", "3", "--pause", "1ms", "--json"];
    let asked = ["measure", "--upstream", &url, "--body", &body];
    let output = holdup(&[&asked[..], &rig, &["--cacert", &cacert]].concat()).output().unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("a pipe of our own ends TLS"), "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let per_read = |endpoint: &str| {
        let way = way(&document, endpoint);
        way["answers"]["frames_per_read"]["median"].as_f64().unwrap()
    };
    assert!(per_read("haproxy") > 2.0, "{}", per_read("haproxy"));
    assert!(per_read("haproxy") > per_read("direct"), "{}", per_read("direct"));
    // Nobody vouches for it: said before a proxy is started, and nothing is asked.
    let unknown = holdup(&[&asked[..], &rig].concat()).output().unwrap();
    assert_eq!(status(&unknown), 4, "{}", stderr(&unknown));
    let said = stderr(&unknown);
    assert!(said.contains("no TLS with 127.0.0.1") && said.contains("--cacert FILE"), "{said}");
}

#[test]
fn a_service_that_wants_less_is_asked_no_more() {
    let _alone = alone();
    let asked = Asked::start();
    let body = asked
        .file("body.json", r#"{"model":"m","stream":true,"messages":[],"holdup":{"status":429}}"#);
    let output = asked.measure(&body, &["--endpoints", "direct", "--runs", "3", "--json"]);
    assert_eq!(status(&output), 4, "{}", stderr(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["requests"].as_array().unwrap().len(), 1);
    assert_eq!(way(&document, "direct")["kinds"]["rate-limited"], 1);
    assert!(document["stopped"].as_str().unwrap().ends_with("no more was asked"), "{document}");
}
