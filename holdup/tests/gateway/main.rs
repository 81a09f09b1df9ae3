//! The gateway as it stands in the demo: it passes one answer on and tells what the wire showed,
//! and it is no open door.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

#[path = "../common/mod.rs"]
mod common;
mod configuration;
mod target;
mod web;

use std::time::Duration;

use common::alone;
use measure::Arrivals;
use measure::chat::ChatAnswer;
use serde_json::{Value, json};

use target::Target;
use web::{Answer, Demo};

const RUN: &str = "000000000000000000000000000000a1";

/// What the page fetches once an answer has ended.
struct Seen {
    arrivals: Arrivals,
    answer: ChatAnswer,
    whole: Value,
}

fn seen(demo: &Demo, run: &str) -> Seen {
    let whole: Value = serde_json::from_str(&demo.seen(run).body).unwrap();
    let part = |name: &str| whole[name].clone();
    Seen {
        arrivals: serde_json::from_value(part("arrivals")).unwrap(),
        answer: serde_json::from_value(part("answer")).unwrap(),
        whole,
    }
}

fn ask(url: &str) -> Value {
    json!({
        "run": RUN,
        "url": url,
        "headers": [["content-type", "application/json"]],
        "body": "{\"stream\":true}",
    })
}

#[test]
fn one_answer_is_seen_from_both_sides_of_the_gateway() {
    let _alone = alone();
    let demo = Demo::start(&["--endpoints", "haproxy"]);
    let lanes = demo.get("/lanes").body;
    let lanes: Value = serde_json::from_str(&lanes).unwrap();
    assert_eq!(lanes["lanes"][1]["endpoint"]["failed"], Value::Null, "{lanes}");
    let haproxy = demo.lane("haproxy");
    let query = "tokens=40&interval_ms=50";
    for (run, base) in [("b1", demo.origin.clone()), ("b2", haproxy)] {
        let run = format!("{run:0>32}");
        let mut wanted = ask(&format!("{base}/v1/chat/completions?{query}"));
        wanted["run"] = json!(run);
        let answer = demo.ask(&wanted);
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.header("content-type"), Some("application/octet-stream"));
        assert!(answer.body.ends_with("data: [DONE]\n\n"), "{}", answer.body);
        let Seen { arrivals, answer: told, .. } = seen(&demo, &run);
        assert_eq!(told.text_events.0, 40);
        let body: u64 = arrivals.deliveries.iter().filter_map(|it| it.body_bytes).sum();
        assert_eq!(body, answer.body.len() as u64, "the page has what the wire brought");
        let carrying = arrivals.deliveries.iter().filter(|it| !it.frames.is_empty());
        for delivery in carrying.clone() {
            let handed = delivery.forwarded.expect("what was read was handed on");
            assert!(handed >= delivery.at, "{delivery:?}");
        }
        let frames = arrivals.frames().count();
        let per_read = frames as f64 / carrying.count() as f64;
        assert_eq!(per_read > 3.0, base != demo.origin, "{base}: {per_read} frames per read");
    }
}

/// Everything a request can be that must not come in, or must not go out.
#[test]
fn hostile_requests_are_all_refused() {
    let _alone = alone();
    let target = Target::start();
    let demo = Demo::start(&["--endpoints", "direct"]);
    let good = ask(&format!("{}/v1/chat/completions?tokens=1", demo.origin));
    let host = demo.host();
    let own =
        |name: &str, value: &str| demo.request("POST", "/gateway/ask", &good, &[(name, value)]);
    let to = |url: &str| demo.ask(&ask(url));
    let with = |key: &str, value: Value| {
        let mut changed = good.clone();
        changed[key] = value;
        demo.ask(&changed)
    };
    let far = target.url("/v1/chat");
    let big = json!({ "body": "x".repeat(2 << 20) });
    let preflight = [("origin", "http://evil.example"), ("access-control-request-method", "POST")];
    let list: Vec<(&str, Answer, u16)> = vec![
        ("a rebound name", own("host", "evil.example"), 421),
        ("a rebound name with our port", own("host", "evil.example:4700"), 421),
        ("no port", own("host", "127.0.0.1"), 421),
        ("another site's page", own("origin", "http://evil.example"), 403),
        ("a sandboxed frame", own("origin", "null"), 403),
        ("our origin over https", own("origin", &format!("https://{host}")), 403),
        ("another port's page", own("origin", "http://127.0.0.1:1"), 403),
        ("no origin", own("origin", ""), 403),
        ("cross-site", own("sec-fetch-site", "cross-site"), 403),
        ("same-site", own("sec-fetch-site", "same-site"), 403),
        ("no secret", own("holdup-gateway", ""), 403),
        ("a guessed secret", own("holdup-gateway", &"0".repeat(32)), 403),
        ("the secret and more", own("holdup-gateway", &format!("{}0", demo.secret)), 403),
        ("a form", own("content-type", "application/x-www-form-urlencoded"), 415),
        ("a simple request", own("content-type", "text/plain"), 415),
        ("a preflight", demo.request("OPTIONS", "/gateway/ask", &Value::Null, &preflight), 405),
        ("a GET", demo.request("GET", "/gateway/ask", &Value::Null, &[]), 405),
        (
            "the page for a rebound name",
            demo.request("GET", "/own", &Value::Null, &[("host", "evil.example")]),
            421,
        ),
        (
            "results without the secret",
            demo.request(
                "GET",
                &format!("/gateway/runs/{RUN}"),
                &Value::Null,
                &[("holdup-gateway", "")],
            ),
            403,
        ),
        (
            "confirming without the secret",
            demo.request(
                "POST",
                "/gateway/confirm",
                &json!({ "url": far }),
                &[("holdup-gateway", "")],
            ),
            403,
        ),
        (
            "a plan without the secret",
            demo.request("GET", "/gateway/plan/0", &Value::Null, &[("holdup-gateway", "")]),
            403,
        ),
        (
            "a plan that nobody left",
            demo.request("GET", &format!("/gateway/plan/{}", "0".repeat(32)), &Value::Null, &[]),
            404,
        ),
        (
            "results that nobody waits for",
            demo.request("POST", "/gateway/results/0", &json!({ "document": {} }), &[]),
            404,
        ),
        ("a target nobody confirmed", to(&far), 403),
        ("the same by another name", to(&far.replace("127.0.0.1", "localhost")), 403),
        ("the same as a number", to(&far.replace("127.0.0.1", "2130706433")), 403),
        ("the same in IPv6", to(&far.replace("127.0.0.1", "[::ffff:7f00:1]")), 403),
        ("cloud credentials", to("http://169.254.169.254/latest/meta-data/"), 403),
        ("confirming those", demo.confirm("http://169.254.169.254/"), 403),
        ("every address", to("http://0.0.0.0/"), 403),
        ("a file", to("file:///etc/passwd"), 400),
        ("another protocol", to("gopher://127.0.0.1/"), 400),
        ("a password in the address", to("http://me:secret@127.0.0.1/"), 400),
        ("a smuggled header", with("headers", json!([["x", "1\r\nhost: other"]])), 400),
        ("a smuggled request", with("method", json!("GET / HTTP/1.1\r\n\r\n")), 400),
        ("another method", with("method", json!("DELETE")), 400),
        ("a header twice", with("headers", json!([["x", "1"], ["X", "2"]])), 400),
        ("a header without end", with("headers", json!([["x", "y".repeat(9000)]])), 400),
        ("too many headers", with("headers", json!(vec![["x", "y"]; 65])), 400),
        ("a field of another version", with("follow_redirects", json!(true)), 400),
        ("no run", with("run", json!("")), 400),
        ("a body without end", demo.ask(&big), 413),
        ("no JSON", demo.request("POST", "/gateway/ask", &json!("text"), &[]), 400),
    ];
    for (what, answer, status) in &list {
        assert_eq!(answer.status, *status, "{what}: {}", answer.body);
        assert!(!answer.body.contains("secret@"), "{what}: {}", answer.body);
        assert!(answer.body.lines().count() <= 1, "{what}: one line: {}", answer.body);
        let shared = answer.header("access-control-allow-origin");
        assert_eq!(shared, None, "{what}: no other origin may read this");
    }
    assert!(list.len() >= 20);
    assert_eq!(target.requests().len(), 0, "nothing came out");
    println!("{} hostile requests, all refused", list.len());
    // The door is not simply shut.
    assert_eq!(demo.ask(&good).status, 200);
}

#[test]
fn a_target_is_gone_to_once_it_is_confirmed_and_redirects_are_not_followed() {
    let _alone = alone();
    let (target, other) = (Target::start(), Target::start());
    let demo = Demo::start(&["--endpoints", "direct"]);
    let refused = demo.ask(&ask(&target.url("/v1/chat")));
    assert_eq!(refused.status, 403);
    let told: Value = serde_json::from_str(&refused.body).unwrap();
    assert_eq!(told["confirm"], true);
    assert!(told["error"].as_str().unwrap().contains("on this machine"), "{told}");
    assert_eq!(demo.confirm(&target.url("/")).status, 204);
    target.answer(&format!(
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: {}?key=secret\r\nContent-Length: 0\r\n\r\n",
        other.url("/login")
    ));
    let answer = demo.ask(&ask(&target.url("/v1/chat")));
    assert_eq!((answer.status, answer.body.as_str()), (200, ""));
    let seen = seen(&demo, RUN).whole;
    assert_eq!(seen["arrivals"]["status"], 307);
    assert_eq!(seen["leads_to"], other.url("/login"));
    assert_eq!(target.requests().len(), 1);
    assert_eq!(other.requests().len(), 0, "a redirect is shown and not followed");
}

#[test]
fn a_page_that_leaves_takes_its_answer_along() {
    let _alone = alone();
    let target = Target::start();
    let demo = Demo::start(&["--endpoints", "direct", "--target", &target.url("/")]);
    target.answer_without_end();
    let mut page = demo.begin("/gateway/ask", &ask(&target.url("/v1/chat")));
    page.until("data: x");
    assert!(!target.was_left(Duration::from_millis(300)), "somebody reads still");
    drop(page);
    assert!(target.was_left(Duration::from_secs(10)), "nobody reads any more");
}

#[test]
fn only_what_the_page_wrote_goes_out_and_no_key_comes_back() {
    let _alone = alone();
    let target = Target::start();
    let demo = Demo::start(&["--endpoints", "direct", "--target", &target.url("/")]);
    let key = "sk-0123456789abcdef";
    target.answer(&format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nServer: {key}\r\nSet-Cookie: a=b\r\nVia: 1.1 hop\r\n\r\ndata: {{\"error\":{{\"message\":\"Incorrect API key: {key}\"}}}}\n\n"
    ));
    let mut wanted = ask(&target.url("/v1/chat?api_key=query-0123456789"));
    wanted["headers"] = json!([
        ["Authorization", format!("Bearer {key}")],
        ["Content-Type", "application/json"],
        ["Connection", "x-hop"],
        ["X-Hop", "1"],
        ["Proxy-Authorization", "x"],
        ["Transfer-Encoding", "chunked"],
        ["Host", "internal.example"],
    ]);
    let answer = demo.request("POST", "/gateway/ask", &wanted, &[("cookie", "session=1")]);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("set-cookie"), None);
    let sent = target.requests().pop().unwrap().to_ascii_lowercase();
    assert!(sent.contains(&format!("authorization: bearer {key}")), "{sent}");
    assert!(sent.contains(&format!("host: {}\r\n", target.address())), "{sent}");
    let dropped =
        ["x-hop", "proxy-authorization", "transfer-encoding", "cookie", "holdup", "internal"];
    for name in dropped {
        assert!(!sent.contains(name), "{name} in {sent}");
    }
    let seen = seen(&demo, RUN);
    let told = seen.whole.to_string();
    assert!(!told.contains(key) && !told.contains("query-0123456789"), "{told}");
    assert!(told.contains("Incorrect API key: ***"), "{told}");
    assert!(!told.contains("set-cookie"), "{told}");
    assert_eq!(seen.whole["head"][1], json!(["server", "***"]), "{told}");
    assert!(matches!(seen.answer.outcome, measure::measurement::Outcome::Failed { .. }));
    // A second one of the same name would be a replay.
    assert_eq!(demo.ask(&wanted).status, 409);
    let output = demo.stop();
    assert!(!output.contains(key) && !output.contains("0123456789"), "{output}");
}
