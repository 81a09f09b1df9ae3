//! `holdup probe` and services that are not as one would wish; keys; limits. Each ends in one line,
//! in little memory, with what had been seen.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod probed;
mod service;

use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Output, Stdio};
use std::time::Duration;

use common::{holdup, run, status, stderr, wait_for};
use probed::{CHAT, chat, check, event, kinds, told};
use serde_json::Value;
use service::{STREAM, Service};

const KEY: &str = "sk-5ecretK3y-0123456789";
const PROMPT: &str = "the prompt that nobody may find again";

fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Probes once, without a pause.
fn once(url: &str, more: &[&str]) -> Output {
    run(&[&["probe", url, "--repeat", "1", "--pause", "0s", "--json"], more].concat())
}

fn live(asked: &service::Asked, stream: &mut TcpStream) {
    chat(asked, stream, 12, Duration::from_millis(15));
}

#[test]
fn help_is_as_it_was() {
    let help = run(&["probe", "--help"]);
    insta::assert_snapshot!("help_probe", String::from_utf8(help.stdout).unwrap());
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_sent() {
    let service = Service::start(live);
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body.json");
    std::fs::write(&body, "{\n  \"model\": ,\n}").unwrap();
    let (url, body) = (service.url(CHAT), body.to_str().unwrap());
    for (arguments, said) in [
        (&["example"][..], "\"example\" is no URL"),
        (&["ftp://host/x"], "is a ftp URL"),
        (&[&url, "-H", "Authorization: Bearer s3cret"], "use --key-env VAR or --key-file FILE"),
        (&["http://u:s3cret@127.0.0.1:1/x"], "the URL holds credentials"),
        (
            &[&url, "--body-file", body],
            "is no JSON, which openai-chat wants: expected value at line 2 column 12",
        ),
        (&[&url, "--key-env", "HOLDUP_NO_SUCH_VARIABLE"], "no such variable is set"),
        (&[&url, "--key-file", "/nonexistent"], "--key-file /nonexistent: "),
        (&[&url, "--prompt", "x"], "openai-chat wants a model"),
        (&[&url, "--shape", "telegraph"], "no chat shape is called \"telegraph\""),
        (&[&url, "--warm-up", "3", "--max-requests", "3"], "leaves no request that counts"),
        (&[&url, "--cacert", "/nonexistent"], "--cacert is for https"),
        (&[&url, "--pause", "soon"], "invalid value 'soon'"),
    ] {
        let output = run(&[&["probe"], arguments].concat());
        let line = stderr(&output);
        assert_eq!(status(&output), 2, "{arguments:?}: {line}");
        assert!(line.contains(said), "{arguments:?}: {line}");
        assert!(!line.contains("s3cret") || said.contains("URL"), "{line}");
        assert!(output.stdout.is_empty());
    }
    assert!(service.asked().is_empty());
}

#[test]
fn what_is_no_answer_is_a_row_of_its_own_kind_with_one_line() {
    let sse = |events: &str| format!("{STREAM}{events}");
    let error = r#"{"error": {"message": "no such model", "type": "invalid_request_error"}}"#;
    for (reply, kind, said) in [
        (
            answer("302 Found\r\nLocation: /login?next=s3cret", ""),
            "redirect",
            "it redirects (302) to http://",
        ),
        (
            answer("401 Unauthorized", error),
            "login",
            "it answered 401, saying invalid_request_error: no such model: send the key",
        ),
        (answer("403 Forbidden", ""), "login", "it answered 403"),
        (
            answer("200 OK\r\nContent-Type: text/html", "<!doctype html><form>"),
            "login",
            "an HTML page came",
        ),
        (
            answer("429 Too Many Requests\r\nRetry-After: 30", ""),
            "rate-limited",
            "(429, Retry-After: 30)",
        ),
        (
            answer("529 Overloaded\r\nRetry-After: 5", error),
            "server-error",
            "it answered 529, Retry-After: 5, saying",
        ),
        (answer("404 Not Found", "no"), "refused", "it answered 404: check the path"),
        (
            answer("200 OK\r\nContent-Type: application/pdf", "%PDF-1.7"),
            "wrong-type",
            "it answered application/pdf",
        ),
        (
            sse(&format!("{}data: {error}\n\n", event("half"))),
            "error-inside",
            "status 200, and an error inside after 2 events",
        ),
        (sse(&event("half")), "truncated", "without `data: [DONE]`"),
        (sse("data: [DONE]\n\n"), "no-token", "it ended well after 1 event"),
        (sse(""), "truncated", "it ended after 0 events"),
        ("SSH-2.0-OpenSSH_9.2\r\n".into(), "broken", "no HTTP/1"),
        (String::new(), "broken", "the connection was closed without an answer"),
    ] {
        let service = Service::of(reply.clone());
        let output = once(&service.url(CHAT), &[]);
        let told = told(&output);
        assert_eq!(status(&output), 4, "{reply:?}: {told:#}");
        assert_eq!(kinds(&told), [kind], "{reply:?}: {told:#}");
        let line = told["rows"][0]["line"].as_str().unwrap();
        assert!(line.contains(said) && !line.contains('\n'), "{reply:?}: {line}");
        assert!(!line.contains("s3cret"), "{line}");
        assert_eq!(told["ways"][0]["answers"].get("ttft_us"), None, "it is no answer's");
        // What is shown to people holds the same line.
        let shown = run(&["probe", &service.url(CHAT), "--repeat", "1"]);
        assert!(String::from_utf8_lossy(&shown.stdout).contains(said), "{reply:?}");
    }
}

#[test]
fn nobody_there_is_one_line_and_one_request() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = run(&["probe", &format!("http://{free}{CHAT}"), "--json"]);
    let told = told(&output);
    assert_eq!((status(&output), kinds(&told)), (4, vec!["unreachable"]));
    assert!(told["stopped"].as_str().unwrap().starts_with("no more was asked, since "));
}

#[test]
fn nothing_is_asked_twice_and_a_limit_is_a_row() {
    let service = Service::start(|asked, stream| match asked.index {
        1 | 2 => {
            let limited = answer("429 Too Many Requests\r\nRetry-After: 7", "");
            let _ = stream.write_all(limited.as_bytes());
        }
        _ => live(asked, stream),
    });
    let output = run(&["probe", &service.url(CHAT), "--repeat", "5", "--pause", "0s", "--json"]);
    let told = told(&output);
    assert_eq!(status(&output), 0);
    assert_eq!(kinds(&told), ["complete", "rate-limited", "rate-limited", "complete", "complete"]);
    assert_eq!((service.asked().len(), &told["rows"][1]["retry_after"]), (5, &"7".into()));
    assert_eq!(told["ways"][0]["answers"]["ttft_us"]["n"], 3);
}

#[test]
fn it_stops_at_its_limit_of_requests_and_never_changes_what_it_sends() {
    let service = Service::start(live);
    let body = r#"{"model": "m", "stream": true, "messages": []}"#;
    let limit = ["--repeat", "9", "--pause", "0s", "--max-requests", "4", "--warm-up", "1"];
    let output =
        run(&[&["probe", &service.url(CHAT), "--json", "--body", body][..], &limit].concat());
    let said = stderr(&output);
    assert!(said.contains("4 requests of the 10 that were asked for"), "{said}");
    let told = told(&output);
    assert_eq!(told["complete"], false);
    assert_eq!(told["rows"][0]["warm_up"], true);
    assert_eq!(told["ways"][0]["answers"]["outcomes"]["complete"], 3);
    let asked = service.asked();
    assert_eq!(asked.len(), 4);
    for asked in &asked {
        assert_eq!((&asked.head, asked.body.as_str()), (&service.asked()[0].head, body));
        assert!(asked.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"));
        assert!(asked.accepts_gzip(), "as a browser: {}", asked.head);
        assert!(asked.head.contains("Content-Type: application/json\r\n"));
    }
}

/// A service that repeats all that it is told, in a header, in its errors and in its text.
fn parrot(asked: &service::Asked, stream: &mut TcpStream) {
    let said = format!("{KEY} {PROMPT}");
    let head = asked.head.contains(KEY);
    assert!(head && asked.body.contains(PROMPT), "the service gets both: {}", asked.head);
    let reply = match asked.index % 3 {
        0 => answer(
            &format!("429 {KEY}\r\nRetry-After: {KEY}\r\nServer: {KEY}\r\nVia: {PROMPT}"),
            &format!("{{\"error\": \"no: {said}\"}}"),
        ),
        1 => format!(
            "{STREAM}{}data: {{\"error\": {{\"message\": \"{said}\", \"type\": \"{KEY}\"}}}}\n\n",
            event(&said)
        ),
        _ => {
            let mut events = String::new();
            for word in 0..8 {
                events.push_str(&event(&format!("{said} {word}")));
            }
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; k={KEY}\r\n\r\n{events}data: [DONE]\n\n"
            )
        }
    };
    let _ = stream.write_all(reply.as_bytes());
}

#[test]
fn the_key_is_in_no_output_and_no_file_and_texts_only_when_asked_for() {
    let service = Service::start(parrot);
    let folder = tempfile::tempdir().unwrap();
    let (key, out) = (folder.path().join("key"), folder.path().join("out"));
    std::fs::write(&key, format!("{KEY}\n")).unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_string();
    let (junit, markdown) = (path("junit.xml"), path("summary.md"));
    let probe = |out: &str, key: &[&str], more: &[&str]| {
        let url = service.url(CHAT);
        let plain =
            ["probe", &url, "--pause", "0s", "--model", "m", "--prompt", PROMPT, "--out", out];
        holdup(&[&plain, key, more].concat()).env("HOLDUP_TEST_KEY", KEY).output().unwrap()
    };
    let everything = |output: &Output, out: &std::path::Path| {
        let mut all = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(output);
        for name in ["probe.json", "probe-runs.ndjson"] {
            all += &std::fs::read_to_string(out.join(name)).unwrap();
        }
        all
    };
    let from_file = ["--key-file", key.to_str().unwrap()];
    let from_env = ["--key-env", "HOLDUP_TEST_KEY", "--key-header", "x-api-key"];
    for (index, how) in [&from_file[..], &from_env].into_iter().enumerate() {
        for json in [&[][..], &["--json"]] {
            let out = out.join(format!("{index}{}", json.len()));
            let files = ["--junit", &junit, "--markdown", &markdown, "--expect", "live"];
            let output = probe(out.to_str().unwrap(), how, &[&files[..], json].concat());
            let mut all = everything(&output, &out);
            all += &std::fs::read_to_string(&junit).unwrap();
            all += &std::fs::read_to_string(&markdown).unwrap();
            assert!(!all.contains(KEY), "{all}");
            assert!(!all.contains(PROMPT), "{all}");
            assert!(all.contains("[key]"), "it is said where it was: {all}");
            let document = std::fs::read_to_string(out.join("probe.json")).unwrap();
            check(&serde_json::from_str(&document).unwrap());
        }
    }
    let kept = out.join("kept");
    let output = probe(kept.to_str().unwrap(), &from_file, &["--keep-text"]);
    let all = everything(&output, &kept);
    assert!(!all.contains(KEY) && all.contains(PROMPT), "texts were asked for: {all}");
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let service = Service::start(live);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let arguments = ["--repeat", "20", "--pause", "0s", "--out", out.to_str().unwrap()];
    let child = holdup(&[&["probe", &service.url(CHAT)][..], &arguments].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let rows = || std::fs::read_to_string(out.join("probe-runs.ndjson")).unwrap_or_default();
    wait_for("two rows", Duration::from_secs(20), || rows().lines().count() >= 2);
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 130);
    let text = std::fs::read_to_string(out.join("probe.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    check(&document);
    assert_eq!(
        (&document["complete"], &document["stopped"]),
        (&false.into(), &"interrupted".into())
    );
    let kept = document["rows"].as_array().unwrap().len();
    assert!((2..20).contains(&kept) && rows().lines().count() == kept, "{kept}");
    let again = run(&["probe", &service.url(CHAT), "--out", out.to_str().unwrap()]);
    assert_eq!(status(&again), 2, "results are not written over: {}", stderr(&again));
}

#[test]
fn an_interrupt_does_not_wait_for_a_service_that_says_nothing_more() {
    let service = Service::start(|_, stream| {
        let _ = stream.write_all(format!("{STREAM}{}", event("the first")).as_bytes());
        std::thread::sleep(Duration::from_secs(60));
    });
    let child = holdup(&["probe", &service.url(CHAT), "--repeat", "1", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the request", Duration::from_secs(20), || service.asked().len() == 1);
    std::thread::sleep(Duration::from_millis(200));
    let pid = nix::unistd::Pid::from_raw(child.id() as i32);
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let began = std::time::Instant::now();
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 130, "{}", stderr(&output));
    assert!(began.elapsed() < Duration::from_secs(20), "it waited for the service");
    let document = told(&output);
    let line = document["rows"][0]["line"].as_str().unwrap();
    assert!(line.contains("somebody wanted this to end"), "what came is kept: {line}");
}

#[test]
fn a_stream_that_stops_in_the_middle_is_not_live() {
    let service = Service::start(|_, stream| {
        let _ = stream.write_all(STREAM.as_bytes());
        for word in 0..8 {
            let _ = stream.write_all(event(&format!("word {word} ")).as_bytes());
            std::thread::sleep(Duration::from_millis(40));
        }
        std::thread::sleep(Duration::from_secs(20));
    });
    let limit = ["--repeat", "1", "--time-limit", "3s", "--expect", "live", "--json"];
    let output = run(&[&["probe", &service.url(CHAT)][..], &limit].concat());
    assert_ne!(status(&output), 0, "{}", stderr(&output));
    let document = told(&output);
    assert_eq!(kinds(&document), ["stalled"]);
    let line = document["rows"][0]["line"].as_str().unwrap();
    assert!(line.starts_with("no more came for "), "{line}");
}

#[test]
fn a_key_in_the_place_of_its_variables_name_is_not_repeated() {
    let output = once("http://127.0.0.1:1/v1/chat/completions", &["--key-env", KEY]);
    assert_eq!(status(&output), 2);
    assert!(!stderr(&output).contains(KEY), "{}", stderr(&output));
    assert!(stderr(&output).contains("never the key itself"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_written_is_said_before_anything_is_asked() {
    let service = Service::start(live);
    let output = once(&service.url(CHAT), &["--junit", "/nonexistent/junit.xml"]);
    assert_eq!(status(&output), 2);
    assert!(stderr(&output).contains("cannot write /nonexistent/junit.xml"), "{}", stderr(&output));
    assert_eq!(service.asked().len(), 0, "nothing was paid for");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let asked = ["probe", &service.url(CHAT), "--repeat", "1", "--json"];
    let output = holdup(&asked).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(status(&output), 4);
    assert!(stderr(&output).contains("cannot write to standard output"), "{}", stderr(&output));
}

/// Some answers whole, others cut: the file for CI says what the status says.
#[test]
fn a_check_that_fails_is_no_pass_for_ci() {
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("junit.xml");
    let service = Service::start(|asked, stream| {
        if asked.index % 2 == 0 {
            return live(asked, stream);
        }
        let _ = stream.write_all(format!("{STREAM}{}", event("cut")).as_bytes());
    });
    let files = ["--expect", "live", "--junit", junit.to_str().unwrap()];
    let asked = ["probe", &service.url(CHAT), "--repeat", "6", "--pause", "0s"];
    let output = run(&[&asked[..], &files].concat());
    let xml = std::fs::read_to_string(&junit).unwrap();
    assert_ne!(status(&output), 0);
    assert!(!xml.contains("failures=\"0\" errors=\"0\"") || xml.contains("skipped=\"1\""), "{xml}");
    if status(&output) == 1 {
        assert!(stderr(&output).contains("3 of 6 truncated"), "{}", stderr(&output));
        assert!(xml.contains("failures=\"1\""), "{xml}");
    }
}

#[test]
fn it_is_a_check_with_a_status_and_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let junit = folder.path().join("junit.xml");
    let check = |service: &Service, repeat: &str| {
        let files = ["--expect", "live", "--junit", junit.to_str().unwrap()];
        let asked = ["probe", &service.url(CHAT), "--repeat", repeat, "--pause", "0s"];
        let output = run(&[&asked[..], &files].concat());
        let lines: Vec<String> = stderr(&output)
            .lines()
            .filter_map(|l| l.strip_prefix("holdup: "))
            .map(String::from)
            .collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        (status(&output), lines[0].clone(), std::fs::read_to_string(&junit).unwrap())
    };
    let (exit, line, xml) = check(&Service::start(live), "3");
    if exit == 3 {
        println!("SKIPPED(void: {line})");
    } else {
        assert_eq!((exit, xml.contains("failures=\"0\"")), (0, true), "{line}: {xml}");
        assert!(line.starts_with("live, as expected: "), "{line}");
    }
    let whole = || Service::start(chat_at_once);
    let (exit, line, xml) = check(&whole(), "3");
    assert_eq!((exit, xml.contains("failures=\"1\"")), (1, true), "{line}: {xml}");
    assert!(line.starts_with("expected live: held: 3 of 3 answers; "), "{line}");
    let (exit, line, xml) = check(&whole(), "1");
    assert_eq!((exit, xml.contains("skipped=\"1\"")), (3, true), "{line}: {xml}");
    assert!(line.starts_with("expected live, and it cannot be told: "), "{line}");
}

/// All of it after a while.
fn chat_at_once(_: &service::Asked, stream: &mut TcpStream) {
    std::thread::sleep(Duration::from_millis(300));
    let events: String = (0..20).map(|word| event(&format!("word {word} "))).collect();
    let _ = stream.write_all(format!("{STREAM}{events}data: [DONE]\n\n").as_bytes());
}
