//! Small streams from public bug reports, each with its one right outcome.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod chat;

use std::cell::Cell;

use chat::*;
use measure::chat::{
    Carrier, ChatAnswer, ChatPool, ChatReader, Events, Kind, MAX_NOTED, Reads, Shape, TEXT_KEPT,
    Tokens,
};
use measure::measurement::Outcome;
use measure::{End, RunId, Span, Stamp};

const DONE: &str = "data: [DONE]\n\n";

fn usage_only(completion: u64) -> String {
    format!(
        "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":3,\"completion_tokens\":{completion}}}}}\n\n"
    )
}

/// `what-is-the-first-token`
#[test]
fn what_is_the_first_token() {
    let (record, answer) = timed(
        None,
        &[
            (0, &delta(r#"{"role":"assistant"}"#)),
            (50, ": keep-alive\n\n"),
            (100, &delta(r#"{"content":""}"#)),
            (200, &delta(r#"{"reasoning_content":"Hm"}"#)),
            (900, &delta(r#"{"content":"Yes"}"#)),
            (1_000, &usage_only(2)),
            (1_000, DONE),
        ],
    );
    let it = answer.milestones;
    assert_eq!((it.first_byte, it.first_event), (ms(0), ms(0)));
    assert_eq!((it.first_token, it.first_reasoning, it.ttft), (ms(200), ms(200), ms(900)));
    assert_eq!((it.last_token, it.terminal), (ms(900), ms(1_000)));
    assert_eq!(it.first_tool_call, None);
    assert_eq!((record.frames.len(), answer.events), (7, Events(6)));
    assert_eq!(answer.outcome, Outcome::Complete);
}

/// White space is a token of the text, and nothing that can be seen.
#[test]
fn text_that_cannot_be_seen_is_no_visible_text() {
    let parts = [
        (10, delta(r#"{"content":"\n\n"}"#)),
        (20, delta(r#"{"content":"A"}"#)),
        (20, DONE.into()),
    ];
    let parts: Vec<(i64, &str)> = parts.iter().map(|(at, part)| (*at, part.as_str())).collect();
    let it = timed(None, &parts).1.milestones;
    assert_eq!((it.first_token, it.ttft), (ms(10), ms(20)));
}

/// `event-token-read`
#[test]
fn event_token_read() {
    let five: String = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|word| delta(&format!("{{\"content\":\"{word}\"}}")))
        .collect();
    let (_, answer) = timed(None, &[(5, &five)]);
    assert_eq!((answer.events, answer.text_events), (Events(5), Events(5)));
    assert_eq!((answer.reads, answer.delivering_reads), (Reads(1), Reads(1)));
    assert_eq!(answer.frames_per_read(), Some(5.0));
    assert_eq!(answer.in_one_delivery(), Some(true));
    assert_eq!(answer.text_gaps, [Span::ZERO; 4]);
    // Nobody reported tokens, so nobody knows how many there were.
    assert_eq!((answer.usage.output, answer.per_token()), (None, None));

    let one = delta(r#"{"content":"one two three four five"}"#);
    let (_, answer) = timed(None, &[(5, &one)]);
    assert_eq!((answer.events, answer.text_events), (Events(1), Events(1)));
    assert_eq!((answer.usage.output, answer.text_gaps.len()), (None, 0));
    assert_eq!(answer.in_one_delivery(), None, "one event cannot tell");

    let (_, answer) = timed(None, &[(5, &one), (9, &usage_only(5)), (9, DONE)]);
    assert_eq!((answer.events, answer.text_events), (Events(3), Events(1)));
    assert_eq!(answer.usage.output, Some(Tokens(5)));
    assert_eq!(
        (Events(1).to_string(), Tokens(5).to_string()),
        ("1 event".into(), "5 tokens".into())
    );
}

/// `usage-last`
#[test]
fn usage_last() {
    let words = [(100, delta(r#"{"content":"a"}"#)), (150, delta(r#"{"content":"b"}"#))];
    let mut parts: Vec<(i64, &str)> = words.iter().map(|(at, it)| (*at, it.as_str())).collect();
    let without = timed(None, &[parts.as_slice(), &[(150, DONE)]].concat()).1;
    let usage = usage_only(2);
    parts.extend([(450, usage.as_str()), (450, DONE)]);
    let with = timed(None, &parts).1;
    assert_eq!(with.text_gaps, [Span::millis(50)]);
    assert_eq!(with.text_gaps, without.text_gaps);
    assert_eq!(with.milestones.last_token, ms(150));
    assert_eq!(with.milestones.last_token, without.milestones.last_token);
    assert_eq!(with.per_token(), ms(50), "two tokens, 50 ms from the first to the last");
    assert_eq!((with.milestones.terminal, without.milestones.terminal), (ms(450), ms(150)));
}

/// `error-under-200`
#[test]
fn error_under_200() {
    let error = "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\"}}\n\n";
    let first = delta(r#"{"content":"Half "}"#);
    let second = delta(r#"{"content":"an answer"}"#);
    let (record, failed) = timed(None, &[(10, &first), (20, &second), (30, error)]);
    let Outcome::Failed { what } = &failed.outcome else { panic!("{failed:?}") };
    assert!(what.ends_with("server_error: Overloaded"), "{what}");
    assert_eq!(record.text, "Half an answer");
    // An answer that went on to say that it was done failed all the same.
    let (_, done) = timed(None, &[(10, &first), (30, error), (31, DONE)]);
    assert!(matches!(done.outcome, Outcome::Failed { .. }));

    let (_, good) = timed(None, &[(70, &first), (80, DONE)]);
    let pool = ChatPool::of(&[failed, good]);
    assert_eq!((pool.outcomes.failed, pool.outcomes.complete), (1, 1));
    assert_eq!(pool.ttft_us.unwrap().max, Span::millis(70));
    assert_eq!(pool.first_byte_us.unwrap().n, 1);
}

/// `no-token-at-all`
#[test]
fn no_token_at_all() {
    for shape in [None, Some(Shape::OpenaiChat)] {
        let (_, answer) = timed(shape, &[(7, DONE)]);
        assert_eq!(answer.outcome, Outcome::NoToken);
        let it = answer.milestones;
        assert_eq!((it.ttft, it.first_token, it.last_token), (None, None, None));
        assert_eq!((it.first_event, it.terminal), (ms(7), ms(7)));
        let json = serde_json::to_value(&answer).unwrap();
        assert_eq!(json["milestones"].get("ttft_us"), None, "missing, not 0: {json}");
        let pool = ChatPool::of(&[answer]);
        assert_eq!((pool.outcomes.no_token, pool.single_delivery_share()), (1, None));
        assert_eq!(pool.ttft_us, None);
    }
}

/// `keepalive-as-data`
#[test]
fn keepalive_as_data() {
    let keepalive = "data: : keepalive\n\n";
    let word = delta(r#"{"content":"Hello"}"#);
    for shape in [None, Some(Shape::OpenaiChat)] {
        let (record, answer) =
            timed(shape, &[(1, keepalive), (40, &word), (41, keepalive), (50, DONE)]);
        assert_eq!((answer.events, answer.unreadable_events), (Events(4), Events(2)));
        assert_eq!(record.frames[0].kind, Kind::Malformed);
        let it = answer.milestones;
        assert_eq!((it.first_event, it.first_token, it.ttft), (ms(1), ms(40), ms(40)));
        assert_eq!((it.last_token, record.text.as_str()), (ms(40), "Hello"));
        assert_eq!(answer.outcome, Outcome::Complete);
    }
}

/// An event with nothing in it is neither malformed nor a token.
#[test]
fn empty_data() {
    let word = delta(r#"{"content":"a"}"#);
    let (record, answer) =
        timed(None, &[(1, &word), (2, "data\n\n"), (3, "data:  \n\n"), (4, DONE)]);
    assert_eq!((answer.events, answer.unreadable_events), (Events(4), Events(0)));
    assert_eq!((record.text.as_str(), answer.milestones.last_token), ("a", ms(1)));
}

/// `ndjson-any-cut`
#[test]
fn ndjson_any_cut() {
    let objects = concat!(
        r#"{"model":"m","message":{"role":"assistant","content":"{\"a\": \"\\\\ }\""},"done":false}"#,
        "\n",
        r#"{"model":"m","message":{"role":"assistant","content":"ü\n😀"},"done":false}"#,
        "\r\n\n",
        r#"{"model":"m","message":{"content":""},"done":true,"eval_count":2}"#,
        "\n",
    );
    for shape in [None, Some(Shape::OllamaChat)] {
        let record = read_in_any_cut(shape, objects.as_bytes());
        assert_eq!(record.text, "{\"a\": \"\\\\ }\"ü\n😀");
        assert_eq!((record.frames.len(), record.tail_bytes), (3, 0));
        // Without its line feed the last object is as whole.
        let unended = read_in_any_cut(shape, objects.trim_end().as_bytes());
        assert_eq!((unended.frames.len(), unended.tail_bytes), (3, 0));
        assert!(unended.frames[2].terminal);
    }
    // Two objects in one read, the second cut inside a string.
    let cut = objects.find("ü").unwrap() + 1;
    let mut reader = ChatReader::new(None, None);
    reader.read(CALL + Span::millis(3), &objects.as_bytes()[..cut]).unwrap();
    reader.read(CALL + Span::millis(9), &objects.as_bytes()[cut..]).unwrap();
    let record = reader.finish();
    let reads: Vec<u32> = record.frames.iter().map(|mark| mark.read).collect();
    assert_eq!(reads, [0, 1, 1]);
    // A broken line costs itself and no other.
    let broken = objects.replacen("\"done\":false}", "", 1);
    let record = read_in_any_cut(Some(Shape::OllamaChat), broken.as_bytes());
    let kinds: Vec<Kind> = record.frames.iter().map(|mark| mark.kind).collect();
    assert_eq!(kinds, [Kind::Malformed, Kind::Event, Kind::Event]);
}

/// `parse-cost`: the kernel hands over bytes as they come, while whoever reads them spends 50 ms
/// on each event before it reads again.
#[test]
fn parse_cost() {
    let came: Vec<(i64, String)> =
        (0..8).map(|n| (n * 20, delta(&format!("{{\"content\":\"{n}\"}}")))).collect();
    let clock = Cell::new(CALL);
    let mut reader = ChatReader::new(None, None);
    for (at, part) in &came {
        // The stamp is the read's. What comes after it, parsing among it, is the reader's time.
        let at = CALL + Span::millis(*at);
        let before = reader.so_far().frames.len();
        reader.read(at, part.as_bytes()).unwrap();
        let events = (reader.so_far().frames.len() - before) as i64;
        clock.set(clock.get().max(at) + Span::millis(50 * events));
    }
    let record = reader.finish();
    let answer = ChatAnswer::of(&record, CALL, Some(200), &End::Closed);
    assert_eq!(answer.milestones.last_token, ms(140));
    assert_eq!(answer.text_gaps, [Span::millis(20); 7]);
    assert_eq!(clock.get() - CALL, Span::millis(400), "it was busy long after");
}

/// `ends-without-terminal`, as far as the body tells
#[test]
fn ends_without_terminal() {
    let anthropic = String::from_utf8(fixture("anthropic.sse")).unwrap();
    let cut = anthropic.find("event: message_stop").unwrap();
    let openai = [(1, delta(r#"{"content":"a"}"#))];
    let openai: Vec<(i64, &str)> = openai.iter().map(|(at, part)| (*at, part.as_str())).collect();
    for (parts, shape) in [
        (openai, Shape::OpenaiChat),
        (vec![(1, &anthropic[..cut])], Shape::Anthropic),
        (vec![(1, "{\"message\":{\"content\":\"a\"},\"done\":false}\n")], Shape::OllamaChat),
    ] {
        let (record, answer) = timed(None, &parts);
        assert_eq!(record.shape, Some(shape));
        assert_eq!(answer.outcome, Outcome::Truncated, "{shape}, whatever the framing says");
        assert!(answer.milestones.ttft.is_some() && answer.milestones.terminal.is_none());
        let pool = ChatPool::of(&[answer]);
        assert_eq!((pool.outcomes.truncated, pool.outcomes.failed), (1, 0));
        assert_eq!(pool.ttft_us, None);
    }
    // `[DONE]` is not Anthropic's end.
    let (_, answer) = timed(None, &[(1, &anthropic[..cut]), (2, DONE)]);
    assert_eq!(answer.outcome, Outcome::Truncated);
    // Where no end is agreed on, the framing's word counts.
    let (record, answer) = timed(None, &[(1, "data: a\n\ndata: b\n\n")]);
    assert_eq!(answer.outcome, Outcome::Complete);
    assert_eq!(ChatAnswer::of(&record, CALL, Some(200), &End::Cut).outcome, Outcome::Truncated);
}

/// `huge-line`, as far as it concerns chat
#[test]
fn a_huge_event_is_named_and_not_kept() {
    let long = "x".repeat(600_000);
    let (record, _) =
        timed(None, &[(1, &delta(&format!("{{\"content\":\"{long}\"}}"))), (2, DONE)]);
    assert_eq!(record.text_bytes, 600_000);
    assert_eq!(record.text.len(), TEXT_KEPT);

    let limit = 1_000;
    let word = delta(r#"{"content":"a"}"#);
    let line = "{\"response\":\"a\",\"done\":false}\n";
    for (head, huge, tail, carrier) in [
        (word.as_str(), format!("data: {long}\n\n"), word.as_str(), Carrier::Sse),
        (line, format!("{{\"response\":\"{long}\"}}\n"), line, Carrier::Ndjson),
        ("[{\"candidates\":[]}", format!(",{{\"a\":\"{long}\\\"]\"}}"), ",{}]", Carrier::JsonArray),
    ] {
        for step in [7, 64 << 10] {
            let bytes = [head, &huge, tail].concat().into_bytes();
            let reader = ChatReader::with_limit(None, None, limit);
            let record = read_slices(reader, bytes.chunks(step));
            let kinds: Vec<Kind> = record.frames.iter().map(|mark| mark.kind).collect();
            assert_eq!(kinds, [Kind::Event, Kind::TooLarge, Kind::Event], "{carrier}");
            assert_eq!((record.carrier, record.tail_bytes), (Some(carrier), 0));
        }
    }
}

#[test]
fn a_stream_without_end_is_ended() {
    let mut reader = ChatReader::new(None, None);
    let many = ": a\n\n".repeat(1 << 16);
    let ended = (0..).find_map(|n| reader.read(Stamp(n), many.as_bytes()).err()).unwrap();
    assert!(ended.to_string().contains("1048576 events"), "{ended}");
    assert_eq!(reader.finish().frames.len(), MAX_NOTED, "what came before is kept");
}

#[test]
fn frames_are_joined_by_run_and_sequence() {
    let (ours, other) = (RunId(0xa), RunId(0xb));
    let stream = format!(
        "id: {ours}-0\n{}id: {other}-1\n{}: note\n\nid: {ours}-2\n{DONE}",
        delta(r#"{"content":"a"}"#),
        delta(r#"{"content":"b"}"#),
    );
    let mut reader = ChatReader::new(None, Some(ours));
    let (head, tail) = stream.split_at(stream.find(": note").unwrap());
    reader.read(CALL, head.as_bytes()).unwrap();
    reader.read(CALL + Span::millis(1), tail.as_bytes()).unwrap();
    let record = reader.finish();
    assert_eq!((record.foreign_frames, record.text.as_str()), (1, "a"));
    let first: Vec<_> = record.frames_of_read(0).collect();
    assert_eq!(first.len(), 1);
    assert!(first[0].seq == Some(0) && first[0].text && first[0].event);
    let second: Vec<_> = record.frames_of_read(1).collect();
    assert_eq!(second.len(), 2);
    assert!(!second[0].event && second[0].seq.is_none());
    assert!(second[1].terminal && !second[1].text && second[1].seq == Some(2));
    assert_eq!(second[1].end, Some(stream.len() as u64));

    let lines = format!("{{\"response\":\"a\",\"done\":false,\"holdup\":\"{ours}-5\"}}\n");
    let record = read_slices(ChatReader::new(None, Some(ours)), [lines.as_bytes()]);
    assert_eq!(record.frames[0].seq, Some(5));
}

#[test]
fn many_answers_are_pooled_and_the_rest_counted_apart() {
    let answer = |together: bool| {
        let (a, b) = (delta(r#"{"content":"a"}"#), delta(r#"{"content":"b"}"#));
        let second = if together { 10 } else { 30 };
        let parts = if together {
            vec![(10, format!("{a}{b}{DONE}"))]
        } else {
            vec![(10, a), (second, b), (second, DONE.to_string())]
        };
        let parts: Vec<(i64, &str)> = parts.iter().map(|(at, it)| (*at, it.as_str())).collect();
        timed(None, &parts).1
    };
    let answers: Vec<ChatAnswer> = (0..20).map(|n| answer(n % 4 == 0)).collect();
    let pool = ChatPool::of(&answers);
    assert_eq!((pool.in_one_delivery, pool.with_more_events), (5, 20));
    assert_eq!(pool.single_delivery_share(), Some(0.25));
    let ttft = pool.ttft_us.unwrap();
    assert_eq!((ttft.median, ttft.p95, ttft.n), (Span::millis(10), ms(10), 20));
    assert_eq!(pool.text_gap_us.unwrap().max, Span::millis(20));
    assert_eq!(pool.frames_per_read.unwrap().max, 3.0);
    assert_eq!((pool.per_token_us, pool.first_reasoning_us), (None, None));
    assert_eq!(ChatPool::of(&answers[..19]).ttft_us.unwrap().p95, None);
}

#[test]
fn an_answer_says_its_own_run_and_a_read_may_come_in_parts() {
    let event =
        |run: u128, seq: u32| format!("id: {}-{seq}\ndata: {{\"choices\": []}}\n\n", RunId(run));
    let mut reader = ChatReader::of_any_run(None);
    let (first, second) = (event(7, 0), event(7, 1));
    reader.read(Stamp(1), first.as_bytes()).unwrap();
    reader.read(Stamp(1), second.as_bytes()).unwrap();
    // Somebody else's id is no stranger where no run was asked for.
    reader.read(Stamp(2), event(8, 0).as_bytes()).unwrap();
    let record = reader.finish();
    assert_eq!((record.run, record.foreign_frames), (Some(RunId(7)), 0));
    let seqs: Vec<_> = record.frames.iter().map(|mark| (mark.read, mark.seq)).collect();
    assert_eq!(seqs, [(0, Some(0)), (0, Some(1)), (1, None)]);
    assert_eq!(record.reads[0].bytes, (first.len() + second.len()) as u64);
}
