//! The routes of the reader of configurations: the same door, bounded bodies, nothing secret in an
//! answer, and one proof at a time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::alone;
use crate::web::Demo;

const SHADOWED: &str = include_str!("../configurations/shadowed.conf");
const ROUTES: [&str; 3] =
    ["/configuration/read", "/configuration/marked", "/configuration/measure"];

fn asked(text: &str) -> Value {
    json!({ "text": text, "path": "/api/chat", "version": "1.24.0" })
}

#[test]
fn a_configuration_comes_in_by_the_same_door_only() {
    let _alone = alone();
    let demo = Demo::start(&["--endpoints", "direct"]);
    let good = asked(SHADOWED);
    let mut refused = 0;
    for route in ROUTES {
        for (name, value, status) in [
            ("host", "evil.example", 421),
            ("origin", "http://evil.example", 403),
            ("origin", "null", 403),
            ("origin", "", 403),
            ("sec-fetch-site", "cross-site", 403),
            ("holdup-gateway", "", 403),
            ("holdup-gateway", "00000000000000000000000000000000", 403),
            ("content-type", "text/plain", 415),
            ("content-type", "application/x-www-form-urlencoded", 415),
        ] {
            let answer = demo.request("POST", route, &good, &[(name, value)]);
            assert_eq!(answer.status, status, "{route}, {name}: {value}: {}", answer.body);
            assert_eq!(answer.header("access-control-allow-origin"), None);
            assert!(!answer.body.contains("location"), "{}", answer.body);
            refused += 1;
        }
        let status = |body: &Value| demo.request("POST", route, body, &[]).status;
        assert_eq!(demo.get(route).status, 405);
        assert_eq!(status(&json!("text")), 400);
        assert_eq!(status(&json!({ "text": "x", "path": "/", "file": "/etc/passwd" })), 400);
        assert_eq!(status(&asked(&"x".repeat(17 << 20))), 413, "{route}");
    }
    let page = demo.request("GET", "/configuration", &Value::Null, &[("host", "evil.example")]);
    assert_eq!(page.status, 421);
    assert!(demo.get("/configuration").body.contains(&demo.secret));
    println!("{refused} requests, all refused");
}

#[test]
fn what_is_read_is_told_without_its_secrets_and_faults_have_their_place() {
    let _alone = alone();
    let demo = Demo::start(&["--endpoints", "direct"]);
    let post = |route: &str, body: &Value| {
        let answer = demo.request("POST", route, body, &[]);
        assert!(!answer.body.contains("S3CRET"), "{}", answer.body);
        let told: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        (answer.status, told)
    };
    let (status, told) = post(ROUTES[0], &asked(SHADOWED));
    assert_eq!((status, told["answer"].as_str()), (200, Some("found")), "{told:#}");
    assert_eq!(told["product"], "nginx");
    let way: Vec<(&str, bool)> = told["way"]
        .as_array()
        .unwrap()
        .iter()
        .map(|own| (own["look"].as_str().unwrap(), own["meant"].as_bool().unwrap()))
        .collect();
    assert_eq!(
        way,
        [("server", false), ("passed", false), ("remembered", true), ("chosen", false)]
    );
    assert_eq!(told["proof"], Value::Null, "nothing was measured");
    let (status, marked) = post(ROUTES[1], &asked(SHADOWED));
    assert_eq!(status, 200);
    assert!(marked["text"].as_str().unwrap().contains("X-Holdup-Location"), "{marked}");
    assert!(marked["masked"].as_u64().unwrap() > 0);

    let two = "server { listen 1; server_name a.example; location / { proxy_pass http://a; } }
               server { listen 2; server_name b.example; location / { proxy_pass http://a; } }";
    for (text, about, line, said) in [
        ("http {\n\n  set $my_token 'S3CRET;\n}", "text", 3, "a quote that is never closed"),
        ("http {\n  include mime.types;\n}", "text", 2, "the included file mime.types is missing"),
        ("server { location /other { return 200; } }", "path", 0, "look at path and host"),
        (two, "host", 0, "2 servers could answer this path: choose one"),
        ("\u{0}\u{1}\u{2}", "text", 0, "line 1 holds a zero byte"),
        ("frontend f\nbackend \"b\nglobal\n", "text", 2, "a quote that is never closed"),
        (" ", "text", 0, "there is nothing in it"),
    ] {
        let (status, fault) = post(ROUTES[0], &asked(text));
        assert_eq!(status, 422, "{fault:#}");
        assert_eq!(fault["about"], about, "{fault:#}");
        assert!(fault["error"].as_str().unwrap().contains(said), "{fault:#}");
        assert_eq!(fault["spot"]["line"].as_u64().unwrap_or_default(), line, "{fault:#}");
    }
    let (_, fault) = post(ROUTES[0], &asked(two));
    assert_eq!(fault["choices"][1]["host"], "b.example", "{fault:#}");
    // Eight times a million lines are as much as a reader takes, and no more.
    let (status, fault) = post(ROUTES[0], &asked(&"a b;\n".repeat(1_800_000)));
    assert_eq!((status, fault["about"].as_str()), (422, Some("text")), "{fault:#}");
}

#[test]
fn one_proof_at_a_time_and_none_for_a_page_that_has_left() {
    let _alone = alone();
    let demo = Demo::start(&["--endpoints", "direct"]);
    let mut first = demo.begin(ROUTES[2], &asked(SHADOWED));
    first.until("\"runs\":");
    let second = demo.request("POST", ROUTES[2], &asked(SHADOWED), &[]);
    assert_eq!(second.status, 429, "{}", second.body);
    assert!(second.body.contains("another proof is being measured"), "{}", second.body);
    drop(first);
    // A run is finished before it is left.
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        // Its path is no path: it is answered at once, if it is let in.
        let mut wrong = asked(SHADOWED);
        wrong["path"] = json!("x");
        let next = demo.request("POST", ROUTES[2], &wrong, &[]);
        if next.status == 200 {
            assert!(next.body.contains("is no path that nginx takes"), "{}", next.body);
            break;
        }
        assert_eq!(next.status, 429, "{}", next.body);
        assert!(Instant::now() < end, "the proof of a page that has left goes on");
        std::thread::sleep(Duration::from_millis(100));
    }
}
