//! `holdup probe` on real proxies: held, corked and live told apart, with the origin's own times and
//! without. Shapes, no milliseconds.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod probed;
mod service;

use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use common::{alone, run, status, stderr};
use emitter::{Config, Emitter, Tls};
use probed::{CHAT, chat, told};
use proxies::supervise::Supervisor;
use proxies::{Proxies, Running, StartOptions};
use serde_json::Value;
use service::Service;

static PROXIES: LazyLock<Proxies> = LazyLock::new(|| Proxies::of_user(Vec::new()).unwrap());

/// A real proxy; absent, and said so, where it cannot be had.
fn start(endpoint: &str, upstream: SocketAddr) -> Option<Running> {
    let supervisor = Supervisor::program(env!("CARGO_BIN_EXE_holdup"));
    let options = StartOptions::with_supervisor(supervisor);
    match PROXIES.start(endpoint, upstream, &options, &mut |_| ()) {
        Ok(running) => Some(running),
        Err(error) => {
            println!("SKIPPED({endpoint}: {error})");
            None
        }
    }
}

/// Probes with a prompt and without a pause.
fn probe(url: &str, more: &[&str]) -> Value {
    let plain = ["probe", url, "--pause", "0s", "--json"];
    let prompt = ["--model", "m", "--prompt", "What is a token, and why?"];
    let output = run(&[&plain[..], &prompt, more].concat());
    let told = told(&output);
    assert_eq!(status(&output), 0, "{}\n{told:#}", stderr(&output));
    told
}

/// Asserts the verdict; a machine too noisy to measure voids it or makes answers disagree, and that
/// is told.
fn is(told: &Value, name: &str, timed: bool) -> bool {
    let verdict = &told["verdict"];
    println!("{}: {}", verdict["name"].as_str().unwrap(), verdict["because"].as_str().unwrap());
    let disagree = verdict["because"].as_str().unwrap().contains(" disagree: ");
    if verdict["name"] == "void" || verdict["name"] == "cannot-tell" && disagree {
        println!("SKIPPED(void: {})", verdict["because"]);
        return false;
    }
    assert_eq!(verdict["name"], name, "{told:#}");
    assert_eq!(verdict["timed"], timed, "{verdict:#}");
    true
}

/// P9's contrast against our own emitter, which tells when it wrote what.
#[test]
fn held_corked_and_live_have_their_names() {
    let _alone = alone();
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let url = |address: SocketAddr, words: u32| {
        format!("http://{address}{CHAT}?interval_ms=40&tokens={words}")
    };
    let direct = probe(&url(emitter.address(), 24), &[]);
    if is(&direct, "live", true) {
        let way = &direct["ways"][0];
        assert_eq!(way["clock_uncertainty_us"], 0, "the same machine's clock");
        assert_eq!(way["text_events"], 24);
        assert!(way["tokens_per_second"]["median"].as_f64().unwrap() > 0.0, "usage is reported");
        assert_eq!(way["answers"]["in_one_delivery"], 0);
    }
    if let Some(haproxy) = start("haproxy", emitter.address()) {
        is(&probe(&url(haproxy.listen(), 24), &[]), "corked", true);
    }
    // Short enough for one of its buffers.
    let Some(nginx) = start("nginx-http10", emitter.address()) else { return };
    let against = ["--against", &url(emitter.address(), 8), "--repeat", "6", "--seed", "1"];
    let told = probe(&url(nginx.listen(), 8), &against);
    if !is(&told, "held", true) {
        return;
    }
    let order: Vec<&str> =
        told["rows"].as_array().unwrap().iter().map(|row| row["way"].as_str().unwrap()).collect();
    assert_eq!(order[..4], ["url", "against", "against", "url"]);
    let (url, other) = (&told["ways"][0], &told["ways"][1]);
    assert_eq!(
        (&url["answers"]["in_one_delivery"], &other["answers"]["in_one_delivery"]),
        (&6.into(), &0.into())
    );
    let comparison = &told["comparison"];
    let low = |name: &str| comparison[name]["interval"][0].as_f64().unwrap();
    assert!(low("ttft_us") > 0.0 && low("one_delivery") > 0.5, "{comparison:#}");
    assert!(comparison["gap_us"]["interval"][1].as_f64().unwrap() < 0.0, "{comparison:#}");
    let sentences = comparison["sentences"].to_string();
    for part in ["server \\\"nginx/", "with no name", "later (95%: ", "coalescing, not speed"] {
        assert!(sentences.contains(part), "{part} in {sentences}");
    }
}

/// The same behind somebody else's service, which tells nothing of its own times.
#[test]
fn shapes_are_named_without_the_origins_times_and_one_answer_is_too_few() {
    let _alone = alone();
    let service =
        Service::start(|asked, stream| chat(asked, stream, 28, Duration::from_millis(40)));
    let direct = service.url(CHAT);
    is(&probe(&direct, &["--repeat", "1"]), "live", false);
    let Some(nginx) = start("nginx-http10", service.address) else { return };
    let url = format!("http://{}{CHAT}", nginx.listen());
    let one = probe(&url, &["--repeat", "1"]);
    assert_eq!(one["verdict"]["name"], "cannot-tell", "{one:#}");
    assert_eq!(one["verdict"]["candidates"][0], "held");
    let three = probe(&url, &[]);
    if is(&three, "held", false) {
        assert_eq!(three["verdict"]["sure"], "likely");
    }
    // Beside a way without it the path is named from two.
    let beside = probe(&url, &["--against", &direct, "--repeat", "2"]);
    if is(&beside, "held", false) {
        assert!(beside["verdict"]["because"].as_str().unwrap().contains("likely the path"));
        assert!(beside["comparison"]["ttft_us"].get("interval").is_none(), "two pairs are too few");
    }
    let Some(haproxy) = start("haproxy", service.address) else { return };
    let url = format!("http://{}{CHAT}", haproxy.listen());
    is(&probe(&url, &["--against", &direct]), "corked", false);
}

/// A browser offers encodings and is held where a command-line client is not.
#[test]
fn it_asks_as_a_browser_does_unless_told_otherwise() {
    let _alone = alone();
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let Some(nginx) = start("nginx-gzip", emitter.address()) else { return };
    let url = format!("http://{}{CHAT}?interval_ms=30", nginx.listen());
    let browser = probe(&url, &[]);
    assert_eq!(browser["rows"][0]["content_encoding"], "gzip", "{browser:#}");
    is(&browser, "held", true);
    for plain in [&["--as", "curl"][..], &["--accept-encoding", "identity"]] {
        let told = probe(&url, plain);
        assert!(told["rows"][0].get("content_encoding").is_none());
        is(&told, "live", true);
    }
}

#[test]
fn tls_and_http2_are_negotiated_and_their_units_counted() {
    let _alone = alone();
    let authority = certs::Authority::in_memory().unwrap();
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let tls = Some(Tls { listen, leaf: authority.leaf().unwrap() });
    let emitter = Emitter::start(Config { tls, ..Config::loopback() }).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("authority.pem");
    std::fs::write(&file, authority.certificate_pem()).unwrap();
    let file = file.to_str().unwrap();
    let url = format!("https://{}{CHAT}?interval_ms=30", emitter.tls_address().unwrap());
    for (version, http) in [
        (&[][..], "h2"),
        (&["--http", "1.1"], "http/1.1"),
        (&["--http", "2"], "h2"),
        (&["--http", "3"], "h3"),
    ] {
        let told = probe(&url, &[&["--cacert", file, "--repeat", "2"], version].concat());
        is(&told, "live", true);
        let way = &told["ways"][0];
        assert_eq!(way["http"], http);
        assert!(way["tls"].as_str().unwrap().starts_with("TLSv1."), "{way:#}");
        let (connected, shaken) = (&way["connect_us"]["median"], &way["tls_us"]["median"]);
        // QUIC's connection stands when its handshake is done.
        assert_eq!(shaken.as_i64() > connected.as_i64(), http != "h3", "{way:#}");
        assert_eq!(way.get("records_per_read").is_some(), http != "h3");
        assert_eq!(way.get("datagrams_per_read").is_some(), http == "h3");
        assert_eq!(way.get("data_frames_per_read").is_some(), http != "http/1.1");
    }
    for version in ["2", "3"] {
        let asked = ["probe", &url, "--model", "m", "--prompt", "x", "--json", "--http", version];
        let refused = run(&asked);
        let told = told(&refused);
        assert_eq!((status(&refused), told["rows"].as_array().unwrap().len()), (4, 1));
        assert_eq!(told["rows"][0]["kind"], "tls");
        let line = told["rows"][0]["line"].as_str().unwrap();
        assert!(line.contains("certificate") && line.contains("--cacert FILE"), "{line}");
    }
}
