//! The command line: help, usage errors, bad input. Nothing here measures.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{run, status, stderr};

fn help(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(status(&output), 0);
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn help_is_as_it_was() {
    insta::assert_snapshot!("help", help(&["--help"]));
    insta::assert_snapshot!("help_measure", help(&["measure", "--help"]));
    insta::assert_snapshot!("help_browse", help(&["browse", "--help"]));
    insta::assert_snapshot!("help_matrix", help(&["matrix", "--help"]));
    insta::assert_snapshot!("help_demo", help(&["demo", "--help"]));
}

#[test]
fn a_wrong_word_is_one_line_and_status_2() {
    for (arguments, line) in [
        (
            &["measure", "--endpoints", "squid"][..],
            "holdup: no endpoint is called \"squid\": there are direct, ",
        ),
        (
            &["measure", "--preset", "nope"],
            "holdup: no preset is called \"nope\": known are headline",
        ),
        (
            &["measure", "--headers", "firefox"],
            "holdup: no header set is called \"firefox\": known are plain, chromium-eventsource, chromium-fetch",
        ),
        (&["measure", "--own", "haproxy"], "holdup: --own haproxy: "),
        (&["measure", "--own", "squid=/bin/true"], "holdup: "),
        (&["browse", "--readers", "xhr"], "holdup: no reader is called \"xhr\": known are "),
        (&["browse", "--preset", "nope"], "holdup: no preset is called \"nope\""),
        (
            &["measure", "--preset", "busy-page"],
            "holdup: busy-page is about a browser's own page: use `holdup browse --preset busy-page`",
        ),
        (
            &["browse", "--preset", "chat-replay"],
            "holdup: chat-replay puts prompts to a chat route, and a page reads streams: use `holdup measure --preset chat-replay`",
        ),
        (&["browse", "--readers", "recv"], "holdup: recv reads without a browser: "),
        (
            &["browse", "--preset", "temp-file"],
            "holdup: temp-file reads slowly, which no browser can be told to do: use `holdup measure --preset temp-file`",
        ),
        (&["report", "/nonexistent"], "holdup: "),
        (&["judge", "/nonexistent"], "holdup: /nonexistent holds no results.json"),
        (&["matrix", "--only", "squid"], "holdup: no path is called \"squid\": there are apache, "),
        (&["findings", "/nonexistent"], "holdup: /nonexistent/published/results.json: "),
        (&["proxies", "config", "direct"], "holdup: "),
        (&["proxies", "fetch", "squid"], "holdup: "),
        (&["selftest", "--emitter", "nowhere"], "holdup: \"nowhere\" is no address of an emitter"),
    ] {
        let output = run(arguments);
        let said = stderr(&output);
        assert_eq!(status(&output), 2, "{arguments:?}: {said}");
        assert!(said.starts_with(line), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn numbers_out_of_range_are_status_2_with_their_bounds() {
    for (arguments, bound) in [
        (&["measure", "--runs", "0"][..], "1..=1000"),
        (&["measure", "--mss", "12"], "88 to 32755"),
        (&["measure", "--mss", "jumbo"], "loopback or a number"),
        (&["emit", "--ledger-memory", "0"], "1..=65536"),
        (&["browse", "--browser", "netscape"], "chromium"),
        (&["browse", "--script", "frames=0"], "frames is 0: it must be from 1 to 99999"),
    ] {
        let output = run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(bound), "{}", stderr(&output));
    }
}

#[test]
fn a_reader_that_has_seen_enough_breaks_nothing() {
    let mut child = common::holdup(&["proxies", "config", "nginx"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
}

#[test]
fn a_taken_port_is_one_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["emit", "--listen", &address]);
    assert_eq!(status(&output), 4);
    assert!(stderr(&output).starts_with(&format!("holdup: cannot listen on {address}: ")));
    assert_eq!(stderr(&output).lines().count(), 1);
}

#[test]
fn a_folder_that_holds_results_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("results.json"), "{}").unwrap();
    let out = folder.path().to_str().unwrap();
    let output = run(&["measure", "--endpoints", "direct", "--out", out]);
    assert_eq!(status(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("already holds results"));
    assert_eq!(std::fs::read_to_string(folder.path().join("results.json")).unwrap(), "{}");
}

#[test]
fn every_endpoint_shows_the_configuration_it_runs() {
    for (endpoint, holds) in [
        ("haproxy", "mode http"),
        ("haproxy-no-delay", "option http-no-delay"),
        ("nginx-buffering-off", "proxy_buffering off;"),
        ("traefik", "traefik/dynamic.yaml"),
    ] {
        let text = help(&["proxies", "config", endpoint]);
        assert!(text.contains(holds), "{endpoint}: {text}");
    }
    assert!(!help(&["proxies", "config", "haproxy"]).contains("option http-no-delay\n"));
    let list = help(&["proxies", "list"]);
    for name in ["caddy", "envoy", "haproxy", "nginx", "traefik", "2.11.4"] {
        assert!(list.contains(name), "{list}");
    }
}
