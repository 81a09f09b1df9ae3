//! Chat answers over real sockets: every shape, streamed and not, its ledger, and what is refused.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod post;

use std::sync::mpsc;
use std::time::Duration;

use emitter::{Config, Emitter, now};
use measure::chat::{Carrier, ChatAnswer, ChatMark, ChatReader, Shape, Tokens};
use measure::measurement::{Measurement, Outcome};
use measure::{End, RunId, Span};
use post::*;
use serde_json::Value;

const SENTENCE: &str = "the token left on time and came when it was due so";

/// Every route, a body that asks it for a stream, and what should come.
const ROUTES: [(&str, &str, Shape, Carrier); 7] = [
    ("/v1/chat/completions", r#"{"stream":true}"#, Shape::OpenaiChat, Carrier::Sse),
    ("/v1/responses", r#"{"stream":true}"#, Shape::OpenaiResponses, Carrier::Sse),
    ("/v1/messages", r#"{"stream":true}"#, Shape::Anthropic, Carrier::Sse),
    ("/api/chat", "{}", Shape::OllamaChat, Carrier::Ndjson),
    ("/api/generate", "{}", Shape::OllamaGenerate, Carrier::Ndjson),
    ("/v1beta/models/g:streamGenerateContent", "{}", Shape::Gemini, Carrier::JsonArray),
    ("/v1beta/models/g:streamGenerateContent?alt=sse", "{}", Shape::Gemini, Carrier::Sse),
];

fn with_query(path: &str, query: &str) -> String {
    format!("{path}{}{query}", if path.contains('?') { '&' } else { '?' })
}

#[test]
fn every_shape_is_played_event_by_event_and_each_has_its_line() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    for (index, (path, body, shape, carrier)) in ROUTES.into_iter().enumerate() {
        let run = RunId(100 + index as u128);
        let path = with_query(path, &format!("run={run}&reasoning=3&interval_ms=8"));
        let got = post(emitter.address(), &path, body);
        assert_eq!(got.head.status, 200, "{path}: {}", got.text());
        let expected = match carrier {
            Carrier::Sse => "text/event-stream",
            Carrier::Ndjson => "application/x-ndjson",
            _ => "application/json",
        };
        assert_eq!(got.head.header("content-type"), Some(expected), "{path}");
        let record = got.record(None, run);
        assert_eq!((record.shape, record.carrier), (Some(shape), Some(carrier)), "{path}");
        assert_eq!((record.text.as_str(), record.tail_bytes), (SENTENCE, 0), "{path}");
        let answer = ChatAnswer::of(&record, got.call, Some(200), &End::Closed);
        assert_eq!(answer.outcome, Outcome::Complete, "{path}");
        let frames = |wanted: fn(&ChatMark) -> bool| {
            record.frames.iter().filter(|mark| wanted(mark)).count()
        };
        assert_eq!((frames(|it| it.text), frames(|it| it.reasoning)), (12, 3), "{path}");
        if shape != Shape::OpenaiChat {
            assert_eq!(record.usage.output, Some(Tokens(15)), "{path}");
        }
        assert!(answer.milestones.first_reasoning < answer.milestones.ttft, "{path}");

        // Each event is in the ledger, in a write of its own, and joined by its number.
        let ledger = ledger(&emitter, run);
        assert_eq!(ledger.entries.len(), record.frames.len(), "{path}");
        let numbers: Vec<u32> = record.frames.iter().filter_map(|mark| mark.seq).collect();
        assert!(numbers.iter().copied().eq(0..ledger.entries.len() as u32), "{path}: {numbers:?}");
        assert_eq!((ledger.attempts, ledger.merged_writes()), (1, 0), "{path}");
        assert_eq!(ledger.script.content_type(), expected, "{path}");
        assert_eq!(ledger.body_bytes, got.body_bytes(), "{path}");
        for entry in &ledger.entries {
            assert!(entry.before >= entry.due && entry.before <= entry.after);
        }
        let arrivals = got.arrivals(&record, run);
        let joined = Measurement::join(Some(&ledger), &arrivals);
        assert_eq!(joined.outcome, Outcome::Complete, "{path}");
        assert_eq!(joined.holds.len(), record.frames.len(), "{path}");
    }
}

#[test]
fn what_is_not_streamed_comes_whole_when_a_stream_would_have_ended() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let routes = [
        ("/v1/chat/completions", "{}", Shape::OpenaiChat),
        ("/v1/responses", r#"{"stream":false}"#, Shape::OpenaiResponses),
        ("/v1/messages", r#"{"stream":false}"#, Shape::Anthropic),
        ("/api/chat", r#"{"stream":false}"#, Shape::OllamaChat),
        ("/api/generate", r#"{"stream":false}"#, Shape::OllamaGenerate),
        ("/v1beta/models/g:generateContent", "{}", Shape::Gemini),
        ("/v1/models/g:generateContent", "{}", Shape::Gemini),
    ];
    for (path, body, shape) in routes {
        let run = RunId(7);
        let got = post(emitter.address(), &with_query(path, "reasoning=2&interval_ms=10"), body);
        assert_eq!(got.head.header("content-type"), Some("application/json"), "{path}");
        let whole: Value = serde_json::from_slice(&got.body()).unwrap();
        assert!(whole.is_object(), "{path}");
        let record = got.record(None, run);
        let answer = ChatAnswer::of(&record, got.call, Some(200), &End::Closed);
        assert_eq!((answer.outcome, record.shape), (Outcome::Complete, Some(shape)), "{path}");
        assert_eq!((record.text.as_str(), record.frames.len()), (SENTENCE, 1), "{path}");
        assert!(record.usage.output == Some(Tokens(14)), "{path}: {:?}", record.usage);
        assert!(answer.milestones.ttft.unwrap() >= Span::millis(100), "{path}");
    }
}

/// The case `what-is-the-first-token`, on the wire.
#[test]
fn what_is_the_first_token() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let steps = "role@0,comment@50,empty@100,reasoning@200,text@900,usage@1000,finish+end@1000";
    for (index, (path, body, ..)) in ROUTES.into_iter().enumerate() {
        let run = RunId(200 + index as u128);
        let got = post(
            emitter.address(),
            &with_query(path, &format!("run={run}&steps={}", steps.replace('+', "%2B"))),
            body,
        );
        let record = got.record(None, run);
        let it = ChatAnswer::of(&record, got.call, Some(200), &End::Closed).milestones;
        let ledger = ledger(&emitter, run);
        // When the frame was due that came at a milestone; the time itself is this machine's.
        let due = |milestone: Option<Span>, wanted: fn(&ChatMark) -> bool| {
            let mut frames = record.frames.iter().filter(|mark| wanted(mark));
            let mark = frames.find(|mark| Some(record.at(mark) - got.call) == milestone).unwrap();
            let due = ledger.entry(mark.seq.unwrap()).unwrap().due - ledger.started;
            assert!(milestone.unwrap() >= due, "{path}: {milestone:?} is before {due}");
            due.as_micros() / 1_000
        };
        assert!(it.first_byte.unwrap() <= it.first_event.unwrap(), "{path}");
        assert_eq!(due(it.first_event, ChatMark::is_event), 0, "{path}");
        assert_eq!(due(it.first_token, ChatMark::has_token), 200, "{path}");
        assert_eq!(due(it.first_reasoning, |mark| mark.reasoning), 200, "{path}");
        assert_eq!(due(it.ttft, |mark| mark.visible), 900, "{path}");
        assert_eq!(due(it.last_token, ChatMark::has_token), 900, "{path}");
        assert_eq!(due(it.terminal, |mark| mark.terminal), 1_000, "{path}");
    }
}

/// The case `parse-cost`, with somebody who is really busy: the times are the reads', and reading
/// waits for nobody.
#[test]
fn parse_cost() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let run = RunId(300);
    let path = format!("/v1/chat/completions?run={run}&interval_ms=20");
    let (sender, receiver) = mpsc::channel::<Part>();
    let parsing = std::thread::spawn(move || {
        let mut reader = ChatReader::new(None, Some(run));
        for part in receiver {
            let before = reader.so_far().frames.len();
            reader.read(part.at, &part.bytes).unwrap();
            let events = (reader.so_far().frames.len() - before) as u32;
            std::thread::sleep(Duration::from_millis(50) * events);
        }
        (reader.finish(), now())
    });
    let body = r#"{"stream":true}"#;
    let got = request_with(emitter.address(), "POST", &path, "", body, |part| {
        sender.send(part.clone()).unwrap();
    });
    drop(sender);
    let (slow, parsed) = parsing.join().unwrap();
    assert_eq!(slow, got.record(None, run), "what is done with the bytes is nobody's delay");
    let busy = Span::millis(50 * slow.frames.len() as i64);
    assert!(parsed - got.call >= busy, "it was busy for {busy}");
}

#[test]
fn events_in_one_write_and_tokens_in_one_event() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let body = r#"{"stream":true,"stream_options":{"include_usage":true},
        "holdup":{"steps":"text+text+text+text+text@0,text*5@60,finish@80,usage@120,end@120"}}"#;
    let got = post(emitter.address(), "/v1/chat/completions", body);
    let record = got.record(Some(Shape::OpenaiChat), RunId(0));
    let answer = ChatAnswer::of(&record, got.call, Some(200), &End::Closed);
    assert_eq!((answer.text_events.0, answer.usage.output), (6, Some(Tokens(10))));
    assert_eq!(answer.text_reads.0, 2, "five events of one write came in one read");
    assert_eq!(got.head.header("holdup-run").map(str::len), Some(32), "a run of its own");
}

#[test]
fn errors_keepalives_and_truncated_answers() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    for (path, body, shape, _) in ROUTES {
        let outcome = |query: &str| {
            let got = post(emitter.address(), &with_query(path, query), body);
            let record = got.record(None, RunId(0));
            assert_eq!(record.shape, Some(shape), "{path}");
            (ChatAnswer::of(&record, got.call, Some(200), &End::Closed), record)
        };
        let run = RunId(500);
        let numbered = with_query(path, &format!("run={run}&error_after=1&interval_ms=1"));
        let record = post(emitter.address(), &numbered, body).record(None, run);
        let numbers = record.frames.iter().map(|mark| mark.seq);
        assert!(numbers.eq((0..).take(record.frames.len()).map(Some)), "{path}: errors as well");
        let (answer, record) = outcome("error_after=2&interval_ms=1");
        assert!(matches!(answer.outcome, Outcome::Failed { .. }), "{path}: {answer:?}");
        assert_eq!(record.text, "the token", "{path}: the partial text is kept");
        assert_eq!(record.frames.last().unwrap().seq, None, "{path}: nobody asked for numbers");
        let (answer, _) = outcome("end=none&interval_ms=1");
        assert_eq!(answer.outcome, Outcome::Truncated, "{path}");
        let (answer, record) =
            outcome("steps=role@0,keepalive@5,comment@10,text@20,keepalive@25,end@30");
        assert_eq!((answer.outcome, record.text.as_str()), (Outcome::Complete, "the"), "{path}");
        assert!(answer.milestones.ttft.unwrap() >= Span::millis(20), "{path}");
        let malformed = answer.unreadable_events.0;
        let expected = match (shape, record.carrier) {
            (Shape::Anthropic, _) | (_, Some(Carrier::JsonArray)) => 0,
            _ => 2,
        };
        assert_eq!(malformed, expected, "{path}: data that is no JSON");
    }
}

#[test]
fn a_refusal_has_the_services_form_and_headers() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    for (path, body, ..) in ROUTES {
        let path = with_query(path, "status=429&header=Retry-After:%202");
        let got = post(emitter.address(), &path, body);
        assert_eq!((got.head.status, got.head.header("retry-after")), (429, Some("2")));
        let answer = ChatAnswer::of(&got.record(None, RunId(0)), got.call, Some(429), &End::Closed);
        let Outcome::Failed { what } = answer.outcome else { panic!("{answer:?}") };
        assert!(what.starts_with("the service answered 429: "), "{what}");
        assert!(what.ends_with("the emitter was asked to fail here"), "{what}");
    }
}

#[test]
fn what_cannot_be_asked_for_is_refused_in_the_services_form() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    for (query, body, why) in [
        ("", "hello", "the body is no JSON object"),
        ("", "[]", "the body is no JSON object"),
        ("tokens=10001", "{}", "tokens is \"10001\": it must be from 0 to 10000"),
        ("interval_ms=-1", "{}", "interval_ms is \"-1\": it must be from 0 to 60000 milliseconds"),
        ("steps=sing@0", "{}", "steps: no step is called \"sing\""),
        (
            "steps=text@0,comment@5",
            r#"{"stream":true}"#,
            "write 1: the script must end with a whole frame",
        ),
        ("status=200", "{}", "status is \"200\": it is 400 to 599"),
        ("run=12", "{}", "run: a run id is 32 hexadecimal digits"),
        ("header=Content-Length:1", "{}", "header \"Content-Length\" may not be set"),
        ("interval_ms=60000&tokens=100", "{}", "the stream's duration is"),
        ("", r#"{"holdup":{"colour":"red"}}"#, "no parameter is called \"colour\""),
        ("", r#"{"holdup":3}"#, "holdup: it is an object"),
    ] {
        for path in ["/v1/chat/completions", "/api/chat"] {
            let got = post(emitter.address(), &format!("{path}?{query}"), body);
            assert_eq!(got.head.status, 400, "{query} {body}");
            let error: Value = serde_json::from_slice(&got.body()).unwrap();
            let said = error["error"]["message"].as_str().or(error["error"].as_str()).unwrap();
            assert!(said.starts_with(why), "{said}");
        }
    }
    // Other people's parameters mean nothing here.
    let got = post(emitter.address(), "/v1/messages?beta=true&key=x&interval_ms=0", "{}");
    assert_eq!(got.head.status, 200);
    assert_eq!(post(emitter.address(), "/v1beta/models/g:embed", "{}").head.status, 404);
}

#[test]
fn pages_of_other_origins_may_ask() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    for (path, ..) in ROUTES {
        let asked = "Origin: http://a\r\nAccess-Control-Request-Method: POST\r\n\
                     Access-Control-Request-Headers: authorization,content-type\r\n";
        let got = request(emitter.address(), "OPTIONS", path, asked, "");
        assert_eq!(got.head.status, 204, "{path}");
        for (name, value) in [
            ("access-control-allow-origin", "*"),
            ("access-control-allow-headers", "authorization,content-type"),
            ("access-control-allow-methods", "POST, OPTIONS"),
        ] {
            assert_eq!(got.head.header(name), Some(value), "{path} {name}");
        }
        let path = with_query(path, "interval_ms=0");
        let got = request(emitter.address(), "POST", &path, "Origin: http://a\r\n", "{}");
        assert_eq!(got.head.header("access-control-allow-origin"), Some("*"), "{path}");
        assert_eq!(got.head.header("timing-allow-origin"), Some("*"), "{path}");
        assert_eq!(post(emitter.address(), &path, "{}").head.header("timing-allow-origin"), None);
    }
}

#[test]
fn a_chat_answer_can_be_close_delimited_and_asked_for_twice() {
    let emitter = Emitter::start(Config::loopback()).unwrap();
    let path = format!("/v1/messages?run={}&framing=close&interval_ms=0", RunId(400));
    let got = post(emitter.address(), &path, r#"{"stream":true}"#);
    assert_eq!(got.head.header("transfer-encoding"), None);
    post(emitter.address(), &path, r#"{"stream":true}"#);
    let ledger = ledger(&emitter, RunId(400));
    assert_eq!((ledger.attempts, ledger.done.is_some()), (2, true));
}
