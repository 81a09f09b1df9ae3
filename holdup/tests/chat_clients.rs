//! The official clients of OpenAI and Anthropic stream from the emitter without an error, directly
//! and through every proxy, and see what it said; and so does a plain reader of every shape.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod clients;

use std::net::SocketAddr;
use std::time::Duration;

use clients::{Clients, thinking};
use emitter::{Config, Emitter};
use measure::chat::{ChatAnswer, ChatReader, Shape};
use measure::measurement::Outcome;
use measure::{Arrivals, RunId};
use proxies::source::SourceError;
use proxies::supervise::Supervisor;
use proxies::{Proxies, ProxyError, Running, StartOptions};
use recv_client::{Ask, Form};
use serde_json::{Value, json};

const SENTENCE: &str = "the token left on time and came when it was due so";
const TOOL: [&str; 2] = ["look_up", "token"];

/// Every proxy as it comes, the older ones that people still run, and the configurations that hold:
/// what is held is late, and it is whole. There is no Caddy 2.6 without its compression here.
const ENDPOINTS: [&str; 13] = [
    "nginx",
    "nginx-buffering-off",
    "nginx-http10",
    "nginx-1.22",
    "caddy",
    "caddy-2.6-encode",
    "traefik",
    "haproxy",
    "haproxy-no-delay",
    "haproxy-2.6",
    "envoy",
    "apache",
    "varnish",
];

/// How long the service behind the proxies thinks before it begins to answer: shorter than any
/// model, and long enough for [`CUTTING`].
const THINKS: Duration = Duration::from_millis(100);

/// Proxies on Go's HTTP server. They cut some of the streamed answers to a POST over HTTP/1.1 where
/// the origin begins to answer within a millisecond, as the emitter does (caddyserver/caddy#5431).
const CUTTING: [&str; 3] = ["caddy", "caddy-2.6-encode", "traefik"];
/// What cures it in Caddy from 2.7 on; Traefik has no such option.
const UNCUT: &str = "caddy-full-duplex";

/// Every route, a body that asks it for a stream, and the shape of its answer.
const ROUTES: [(&str, &str, Shape); 7] = [
    ("/v1/chat/completions", r#"{"stream":true}"#, Shape::OpenaiChat),
    ("/v1/responses", r#"{"stream":true}"#, Shape::OpenaiResponses),
    ("/v1/messages", r#"{"stream":true}"#, Shape::Anthropic),
    ("/api/chat", "{}", Shape::OllamaChat),
    ("/api/generate", "{}", Shape::OllamaGenerate),
    ("/v1beta/models/g:streamGenerateContent", "{}", Shape::Gemini),
    ("/v1beta/models/g:streamGenerateContent?alt=sse", "{}", Shape::Gemini),
];

/// Checks what the clients made of every answer.
fn check(seen: &Value) {
    for case in [
        "openai_chat",
        "openai_chat_whole",
        "openai_responses",
        "openai_responses_helper",
        "openai_responses_whole",
        "anthropic_raw",
        "anthropic_helper",
        "anthropic_whole",
    ] {
        assert_eq!(seen[case]["text"], SENTENCE, "{case}: {seen}");
        // Twelve words and two of reasoning.
        assert_eq!(seen[case]["tokens"], 14, "{case}: {seen}");
    }
    // Each event of the answer came out of the client: a role, two of reasoning, twelve of text,
    // the reason, the usage.
    assert_eq!(seen["openai_chat"]["events"], 17);
    assert_eq!(seen["anthropic_helper"]["blocks"], json!(["thinking", "text"]));
    for case in ["openai_chat_helper", "openai_responses_tool", "anthropic_tool"] {
        assert_eq!(seen[case]["text"], "the token left", "{case}: {seen}");
        assert_eq!(seen[case]["tool"][0], TOOL[0], "{case}");
        assert!(seen[case]["tool"][1].as_str().unwrap().contains(TOOL[1]), "{case}: {seen}");
    }
    for (case, raised) in [
        ("openai_error", "APIError"),
        ("openai_refused", "RateLimitError"),
        ("anthropic_error", "APIStatusError"),
        ("anthropic_refused", "OverloadedError"),
    ] {
        assert_eq!(seen[case]["raised"], raised, "{case}: {seen}");
        let message = seen[case]["message"].as_str().unwrap();
        assert!(message.contains("the emitter was asked to fail here"), "{case}: {message}");
    }
}

#[test]
fn the_official_clients_stream_without_an_error() {
    let clients = match Clients::get() {
        Ok(clients) => clients,
        Err(why) => {
            println!("SKIPPED({why})");
            return;
        }
    };
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let seen = clients.stream(&format!("http://{}", emitter.address()));
    check(&seen);
    println!("openai {}, anthropic {}", seen["versions"]["openai"], seen["versions"]["anthropic"]);
}

#[test]
fn the_official_clients_stream_through_every_proxy() {
    let clients = match Clients::get() {
        Ok(clients) => clients,
        Err(why) => {
            println!("SKIPPED({why})");
            return;
        }
    };
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let service = thinking(emitter.address(), THINKS);
    let proxies = Proxies::of_user(Vec::new()).unwrap();
    for endpoint in ENDPOINTS {
        let Some(running) = start(&proxies, endpoint, service) else { continue };
        check(&clients.stream(&format!("http://{}", running.listen())));
        println!("{endpoint}: {}", running.program().version);
    }
}

#[test]
fn every_shape_comes_whole_through_every_proxy() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let service = thinking(emitter.address(), THINKS);
    let proxies = Proxies::of_user(Vec::new()).unwrap();
    for endpoint in ENDPOINTS {
        let Some(running) = start(&proxies, endpoint, service) else { continue };
        for (path, body, shape) in ROUTES {
            let (arrivals, record) = read(running.listen(), path, body);
            let what = format!("{path} through {endpoint}");
            assert_eq!(record.shape, Some(shape), "{what}");
            assert_eq!(record.text, SENTENCE, "{what}");
            let answer = ChatAnswer::of(&record, arrivals.call, arrivals.status, &arrivals.end);
            assert_eq!(answer.outcome, Outcome::Complete, "{what}");
        }
    }
}

/// A client that reads the bytes knows that they end too early; one that reads text does not.
#[test]
fn what_is_cut_on_the_way_is_called_cut() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let proxies = Proxies::of_user(Vec::new()).unwrap();
    let (path, body, shape) = ROUTES[0];
    for endpoint in CUTTING.into_iter().chain([UNCUT]) {
        let Some(running) = start(&proxies, endpoint, emitter.address()) else { continue };
        let mut cut = 0;
        for _ in 0..20 {
            let (arrivals, record) = read(running.listen(), path, body);
            let answer = ChatAnswer::of(&record, arrivals.call, arrivals.status, &arrivals.end);
            match answer.outcome {
                Outcome::Complete => {
                    assert_eq!((record.text.as_str(), record.shape), (SENTENCE, Some(shape)));
                }
                // Before its first event, or behind it.
                _ => {
                    assert!(record.text.len() < SENTENCE.len(), "{endpoint}: {answer:?}");
                    cut += 1;
                }
            }
        }
        println!("{endpoint}: {cut} of 20 answers were cut");
        assert!(endpoint != UNCUT || cut == 0, "{endpoint}: {cut} of 20");
    }
}

/// Starts an endpoint; none, and the reason is printed, if its program cannot be had here.
fn start(proxies: &Proxies, endpoint: &str, upstream: SocketAddr) -> Option<Running> {
    let supervisor = Supervisor::program(env!("CARGO_BIN_EXE_holdup"));
    let options = StartOptions::with_supervisor(supervisor);
    match proxies.start(endpoint, upstream, &options, &mut |_| ()) {
        Ok(running) => Some(running),
        Err(ProxyError::Source(
            why @ (SourceError::Nowhere { .. }
            | SourceError::OtherInstalled { .. }
            | SourceError::Needs { .. }),
        )) => {
            println!("SKIPPED({endpoint}: {why})");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Asks as a command-line client does, which accepts gzip, and reads to the end. Its shape is to be
/// found out from what came.
fn read(address: SocketAddr, path: &str, body: &str) -> (Arrivals, measure::chat::ChatRecord) {
    let mut ask = Ask::plain(address, path);
    ask.accept_encoding = Some("gzip".into());
    ask.form = Form {
        method: "POST".into(),
        fields: vec![("Content-Type".into(), "application/json".into())],
        body: body.into(),
        ..Form::default()
    };
    let mut reader = ChatReader::new(None, None);
    let observed = recv_client::observe_with(&ask, RunId(1), &mut |at, bytes| {
        reader.read(at, bytes).unwrap();
    });
    (observed.arrivals, reader.finish())
}
