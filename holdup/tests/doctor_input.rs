//! The doctor and services that are not as one would wish: each ends in one line, within its
//! limits, with what had been seen.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod service;

use std::io::Write as _;
use std::time::Duration;

use common::{run, status, stderr};
use service::{STREAM, Service, play, told};

fn live(stream: &mut std::net::TcpStream) {
    play(stream, 40, 1, Duration::from_millis(15));
}

fn answer(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn help_is_as_it_was() {
    let help = run(&["doctor", "--help"]);
    insta::assert_snapshot!("help_doctor", String::from_utf8(help.stdout).unwrap());
}

#[test]
fn a_key_comes_from_a_variable_and_is_not_repeated() {
    let output = run(&["doctor", "http://127.0.0.1:9/stream", "--key-env", "sk-S3CRET"]);
    assert_eq!(status(&output), 2, "{}", stderr(&output));
    assert!(!stderr(&output).contains("S3CRET"), "{}", stderr(&output));
    let service = Service::start(|asked, stream| {
        match asked.head.to_ascii_lowercase().contains("\r\nx-api-key: s3cretkey\r\n") {
            true => live(stream),
            false => drop(stream.write_all(answer("401 Unauthorized", "").as_bytes())),
        }
    });
    let url = service.url("/stream");
    let arguments = ["doctor", &url, "--key-env", "HOLDUP_TEST_KEY", "--key-header", "X-Api-Key"];
    let output = common::holdup(&[&arguments[..], &["--max-requests", "3"]].concat())
        .env("HOLDUP_TEST_KEY", "S3CRETkey")
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), stderr(&output));
    assert!(!said.contains("wants a login") && !said.contains("S3CRET"), "{said}");
}

#[test]
fn what_is_no_stream_is_named_with_what_to_do() {
    for (reply, said) in [
        (answer("302 Found\r\nLocation: /login?next=x", ""), "it redirects (302) to http://"),
        (answer("401 Unauthorized", ""), "it wants a login (status 401)"),
        (answer("403 Forbidden", ""), "it wants a login (status 403)"),
        (
            answer("200 OK\r\nContent-Type: text/html; charset=utf-8", "<form>"),
            "it wants a login (a page in text/html)",
        ),
        (answer("429 Too Many Requests\r\nRetry-After: 30", ""), "(429, Retry-After: 30)"),
        (answer("503 Service Unavailable", ""), "it answers 503: look at its own log"),
        (answer("404 Not Found", "no"), "it answers 404: check the path"),
        (answer("200 OK\r\nContent-Type: application/json", "{}"), "it answers application/json"),
        (answer("200 OK\r\nContent-Type: text/event-stream", ""), "ends without an event"),
        ("SSH-2.0-OpenSSH_9.2\r\n".into(), "no HTTP/1"),
        (String::new(), "closed the connection without an answer"),
    ] {
        let service = Service::of(reply.clone());
        let output = run(&["doctor", &service.url("/v1/x"), "--json"]);
        let found = told(&output);
        let name = found["diagnosis"]["name"].as_str().unwrap();
        assert_eq!(status(&output), 4, "{reply:?}: {name}");
        assert!(name.contains(said), "{reply:?}: {name}");
        assert_eq!(service.asked().len(), 1, "{reply:?}: nothing more is asked");
    }
}

#[test]
fn nobody_there_is_one_line() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = run(&["doctor", &format!("http://{free}/v1/x")]);
    assert_eq!(status(&output), 4);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("Nothing was measured: connect "), "{said}");
    // Where our own emitter is looked for first, the same.
    let output = run(&["doctor", &format!("http://{free}/stream")]);
    assert_eq!(status(&output), 4, "{}", stderr(&output));
}

#[test]
fn a_service_that_asks_for_less_is_left_alone_and_what_was_seen_is_kept() {
    let service = Service::start(|asked, stream| match asked.index {
        0 => live(stream),
        _ => {
            let _ =
                stream.write_all(answer("429 Too Many Requests\r\nRetry-After: 7", "").as_bytes());
        }
    });
    let output = run(&["doctor", &service.url("/v1/x"), "--json"]);
    let found = told(&output);
    assert_eq!(status(&output), 3, "one live stream is no clean path: {found:#}");
    assert_eq!(found["evidence"].as_array().unwrap().len(), 1);
    assert_eq!(found["evidence"][0]["shows"], "live");
    assert!(found["diagnosis"]["stopped"].as_str().unwrap().contains("Retry-After: 7"));
    assert_eq!(service.asked().len(), 2);
}

#[test]
fn a_service_that_stops_answering_ends_within_the_limit() {
    let service = Service::start(|asked, stream| match asked.index {
        0 => live(stream),
        _ => std::thread::sleep(Duration::from_secs(20)),
    });
    let began = std::time::Instant::now();
    let output = run(&["doctor", &service.url("/v1/x"), "--seconds", "2", "--json"]);
    let found = told(&output);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(status(&output), 3, "{found:#}");
    assert_eq!(found["evidence"].as_array().unwrap().len(), 1);
    let stopped = found["diagnosis"]["stopped"].as_str().unwrap();
    assert!(stopped.starts_with("as a browser's fetch: no event came in 2000 ms"), "{stopped}");
}

#[test]
fn a_stream_that_never_ends_is_left_at_the_limit_and_judged() {
    let service = Service::start(|_, stream| {
        let _ = stream.write_all(STREAM.as_bytes());
        while stream.write_all(b"data: one more\n\n").is_ok() {
            std::thread::sleep(Duration::from_millis(25));
        }
    });
    let output = run(&["doctor", &service.url("/feed"), "--seconds", "1", "--json"]);
    let found = told(&output);
    assert_eq!(found["diagnosis"]["answer"], "clean", "{found:#}");
    assert_eq!(status(&output), 0);
}

#[test]
fn a_flood_is_left_too() {
    let service = Service::start(|_, stream| {
        let _ = stream.write_all(STREAM.as_bytes());
        let many = "data: flood\n\n".repeat(5_000);
        while stream.write_all(many.as_bytes()).is_ok() {}
    });
    let output = run(&["doctor", &service.url("/feed"), "--seconds", "30", "--json"]);
    let found = told(&output);
    // Everything at once shows no pace: nothing is claimed of it.
    assert_eq!(found["diagnosis"]["answer"], "cannot-tell", "{:#}", found["diagnosis"]);
    assert!(service.asked().len() <= 20);
}

#[test]
fn method_and_body_are_never_varied_and_secrets_are_not_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let body = folder.path().join("body.json");
    std::fs::write(&body, r#"{"stream":true,"prompt":"private"}"#).unwrap();
    let out = folder.path().join("out");
    let service = Service::start(|asked, stream| match asked.accepts_gzip() {
        // A service that compresses says so and is held; this one is only odd.
        true => play(stream, 40, 40, Duration::ZERO),
        false => live(stream),
    });
    let url = format!("http://user:hunter2@{}/v1/x?key=s3cret", service.address);
    let output = run(&[
        "doctor",
        &url,
        "--method",
        "POST",
        "--body",
        body.to_str().unwrap(),
        "--header",
        "X-Api-Key: t0ken",
        "--max-requests",
        "5",
        "--out",
        out.to_str().unwrap(),
    ]);
    let asked = service.asked();
    assert!((3..=5).contains(&asked.len()), "{} requests", asked.len());
    for asked in &asked {
        assert!(asked.head.starts_with("POST /v1/x?key=s3cret HTTP/1."), "{}", asked.head);
        assert!(asked.head.contains("X-Api-Key: t0ken\r\n"), "{}", asked.head);
        assert!(asked.head.contains("Authorization: Basic dXNlcjpodW50ZXIy\r\n"), "{}", asked.head);
        assert_eq!(asked.body, r#"{"stream":true,"prompt":"private"}"#);
    }
    let written = std::fs::read_to_string(out.join("doctor.json")).unwrap();
    let runs = std::fs::read_to_string(out.join("doctor-runs.ndjson")).unwrap();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
    for secret in ["hunter2", "s3cret", "t0ken", "private", "dXNlcjpodW50ZXIy"] {
        for text in [&written, &runs, &shown] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    assert!(written.contains("X-Api-Key"), "the name is kept");
}

#[test]
fn the_plan_is_said_before_and_the_limit_holds() {
    let service = Service::start(|_, stream| live(stream));
    let output = run(&["doctor", &service.url("/v1/x"), "--max-requests", "1"]);
    assert_eq!(status(&output), 3, "one request makes no clean path");
    assert_eq!(service.asked().len(), 1);
    let plan = stderr(&output);
    assert!(
        plan.starts_with(&format!("GET {}: at most 1 requests", service.url("/v1/x"))),
        "{plan}"
    );
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("1 of at most 1 requests"), "{shown}");
}

#[test]
fn an_emitter_that_is_started_anew_in_between_voids() {
    // What answers as an emitter names itself differently each time it is asked for a ledger.
    let service = Service::start(|asked, stream| {
        let line = asked.head.lines().next().unwrap_or_default().to_string();
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros();
        let reply = |body: String| answer("200 OK\r\nContent-Type: application/json", &body);
        let text = if line.contains("/instance") {
            reply(r#"{"instance":"first","version":"0"}"#.into())
        } else if line.contains("/clock") {
            reply(format!("{{\"now_us\":{now}}}"))
        } else if line.contains("/runs/") {
            let run =
                line.split('/').nth(2).unwrap_or_default().split(' ').next().unwrap_or_default();
            reply(format!(
                r#"{{"run":"{run}","instance":"second","attempts":1,"script":{{"body":{{"kind":"paced","frames":2,"interval_us":1000,"frame_bytes":60}}}},"upstream_protocol":"HTTP/1.1","started":0,"entries":[],"writes":0,"body_bytes":0}}"#
            ))
        } else {
            return live(stream);
        };
        let _ = stream.write_all(text.as_bytes());
    });
    let output = run(&["doctor", &service.url("/stream"), "--json"]);
    let found = told(&output);
    let stopped = found["diagnosis"]["name"].as_str().unwrap_or_default().to_string()
        + found["diagnosis"]["stopped"].as_str().unwrap_or_default();
    assert!(stopped.contains("started anew"), "{found:#}");
    assert!([3, 4].contains(&status(&output)));
}

#[test]
fn headers_that_would_steer_a_terminal_do_not() {
    let service = Service::start(|_, stream| {
        // A C1 control sequence introducer, as UTF-8; httparse lets it pass.
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nServer: nginx/\u{9b}31m1\r\n\r\n";
        let _ = stream.write_all(head.as_bytes());
        let all = "data: x\n\n".repeat(20) + "data: [DONE]\n\n";
        let _ = stream.write_all(all.as_bytes());
    });
    let output = run(&["doctor", &service.url("/v1/x")]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("Server: nginx/31m1"), "{shown:?}");
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
}

#[test]
fn usage_is_status_2_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().to_str().unwrap();
    std::fs::create_dir(folder.path().join("clean")).unwrap();
    std::fs::write(folder.path().join("clean/doctor.json"), "{\"schema\":\"holdup.doctor/9\"}")
        .unwrap();
    let other = folder.path().join("clean");
    let other = other.to_str().unwrap();
    for (arguments, said) in [
        (&["doctor", "nowhere"][..], "holdup: \"nowhere\" is no URL"),
        (&["doctor", "http://127.0.0.1/", "--header", "x"], "holdup: --header \"x\": "),
        (&["doctor", "http://127.0.0.1/", "--method", "G T"], "holdup: \"G T\" is no method"),
        (
            &["doctor", "http://127.0.0.1/", "--body", "/nonexistent"],
            "holdup: --body /nonexistent: ",
        ),
        (&["doctor", "http://127.0.0.1:9/", "--verify", empty], "doctor.json: No such file"),
        (&["doctor", "http://127.0.0.1:9/", "--verify", other], "is of \"holdup.doctor/9\""),
        (&["doctor", "http://127.0.0.1:9/", "--out", other], "already holds a diagnosis"),
    ] {
        let output = run(arguments);
        let text = stderr(&output);
        assert_eq!(status(&output), 2, "{arguments:?}: {text}");
        assert!(text.contains(said), "{arguments:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
    }
    for (arguments, bound) in
        [(["--max-requests", "0"], "1..=1000"), (["--seconds", "0"], "1..=600")]
    {
        let output = run(&[&["doctor", "http://127.0.0.1:9/"][..], &arguments].concat());
        assert_eq!(status(&output), 2);
        assert!(stderr(&output).contains(bound));
    }
}

#[test]
fn files_for_ci_say_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let (markdown, junit) = (folder.path().join("s.md"), folder.path().join("j.xml"));
    let service = Service::start(|_, stream| live(stream));
    let output = run(&[
        "doctor",
        &service.url("/v1/x"),
        "--markdown",
        markdown.to_str().unwrap(),
        "--junit",
        junit.to_str().unwrap(),
    ]);
    assert_eq!(status(&output), 0, "{}", String::from_utf8_lossy(&output.stdout));
    let markdown = std::fs::read_to_string(markdown).unwrap();
    assert!(markdown.starts_with("## Doctor: http://"), "{markdown}");
    assert!(markdown.contains("| as curl | no chunks |"), "{markdown}");
    assert!(markdown.contains("Clean: nothing holds this stream."), "{markdown}");
    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(junit.contains(r#"tests="1" skipped="0" failures="0" errors="0""#), "{junit}");
}
