//! Each shape as its service documents it: what is recognised, and what is read from it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod chat;

use chat::*;
use measure::End;
use measure::chat::{Carrier, ChatAnswer, ChatRecord, Kind, Shape, Tokens, Usage};
use measure::measurement::Outcome;

fn usage(input: u64, output: u64, reasoning: Option<u64>) -> Usage {
    Usage {
        input: Some(Tokens(input)),
        output: Some(Tokens(output)),
        reasoning: reasoning.map(Tokens),
    }
}

/// Reads a fixture unnamed and named, in any cut; it must be whole.
fn whole(file: &str, shape: Shape, carrier: Carrier) -> ChatRecord {
    let bytes = fixture(file);
    let record = read_in_any_cut(None, &bytes);
    assert_eq!((record.shape, record.carrier), (Some(shape), Some(carrier)), "{file}");
    assert_eq!(without_reads(read_in_any_cut(Some(shape), &bytes)), without_reads(record.clone()));
    assert_eq!((record.tail_bytes, record.event_cut), (0, false), "{file}");
    assert!(record.frames.iter().all(|mark| mark.kind != Kind::Malformed), "{file}");
    let answer = ChatAnswer::of(&record, CALL, Some(200), &End::Closed);
    assert_eq!(answer.outcome, Outcome::Complete, "{file}");
    record
}

/// How many frames have text, reasoning, a tool call, and which is the last event.
fn counts(record: &ChatRecord) -> (usize, usize, usize, Vec<usize>) {
    let count = |wanted: fn(&measure::chat::ChatMark) -> bool| {
        record.frames.iter().filter(|mark| wanted(mark)).count()
    };
    let terminal = record.frames.iter().enumerate().filter(|(_, mark)| mark.terminal);
    (
        count(|mark| mark.text),
        count(|mark| mark.reasoning),
        count(|mark| mark.tool),
        terminal.map(|(index, _)| index).collect(),
    )
}

#[test]
fn openai_chat_completions() {
    let record = whole("openai-chat.sse", Shape::OpenaiChat, Carrier::Sse);
    assert_eq!(record.text, "Tulips open towards the sun — “täglich”.");
    assert_eq!(counts(&record), (4, 0, 0, vec![7]));
    assert_eq!(record.usage, usage(14, 9, Some(0)));
    assert_eq!(record.finish.as_deref(), Some("stop"));
}

#[test]
fn reasoning_under_every_name_in_use() {
    let record = whole("openai-chat-reasoning.sse", Shape::OpenaiChat, Carrier::Sse);
    assert_eq!(record.text, "Six petals.");
    assert_eq!(record.frames[0].kind, Kind::Comment);
    // Eight names; the words that come under two of them in one delta count once.
    assert_eq!(counts(&record), (2, 8, 0, vec![14]));
    assert_eq!(record.reasoning_bytes, "Count the petals of the red one twice.".len() as u64);
    assert_eq!(record.usage, usage(8, 13, Some(9)));
}

#[test]
fn tool_calls_are_tokens_without_text() {
    let record = whole("openai-chat-tools.sse", Shape::OpenaiChat, Carrier::Sse);
    assert_eq!(counts(&record), (0, 0, 3, vec![4]));
    assert_eq!(record.tool_bytes, "water{\"bed\":7}".len() as u64);
    assert_eq!((record.text.as_str(), record.finish.as_deref()), ("", Some("tool_calls")));
    assert!(record.usage.is_empty());
}

#[test]
fn openai_responses() {
    let record = whole("openai-responses.sse", Shape::OpenaiResponses, Carrier::Sse);
    assert_eq!(record.text, "Plant them deep.");
    // What `.done` events repeat is no token.
    assert_eq!(counts(&record), (3, 2, 0, vec![16]));
    assert_eq!(record.usage, usage(11, 19, Some(12)));
    assert_eq!(record.finish.as_deref(), Some("completed"));
}

#[test]
fn anthropic_messages() {
    let record = whole("anthropic.sse", Shape::Anthropic, Carrier::Sse);
    assert_eq!(record.text, "Water sparingly.");
    assert_eq!(counts(&record), (2, 2, 2, vec![16]));
    assert_eq!(record.tool_bytes, "forecast{\"days\":3}".len() as u64);
    // Prompt tokens from the first event, cached ones included; the rest from the last report.
    assert_eq!(record.usage, usage(25, 41, Some(12)));
    assert_eq!(record.finish.as_deref(), Some("tool_use"));
}

#[test]
fn ollama_chat_and_generate() {
    let record = whole("ollama-chat.ndjson", Shape::OllamaChat, Carrier::Ndjson);
    assert_eq!(record.text, "Dig them up\nin \"June\".");
    assert_eq!(counts(&record), (2, 2, 1, vec![5]));
    assert_eq!(record.usage, usage(17, 31, None));

    let record = whole("ollama-generate.ndjson", Shape::OllamaGenerate, Carrier::Ndjson);
    assert_eq!(record.text, "Sand helps.");
    assert_eq!(counts(&record), (2, 1, 0, vec![3]));
    assert_eq!((record.usage, record.finish.as_deref()), (usage(4, 8, None), Some("stop")));
}

#[test]
fn gemini_as_sse_and_as_an_array() {
    let sse = whole("gemini.sse", Shape::Gemini, Carrier::Sse);
    let array = whole("gemini-array.json", Shape::Gemini, Carrier::JsonArray);
    for record in [sse, array] {
        assert_eq!(record.text, "Loam drains ]}, well.");
        assert_eq!(counts(&record), (2, 1, 1, vec![3]));
        // `candidatesTokenCount` leaves thoughts out, and tokens generated are both.
        assert_eq!(record.usage, usage(6, 17, Some(9)));
        assert_eq!(record.finish.as_deref(), Some("STOP"));
    }
}

#[test]
fn plain_streams() {
    let record = whole("plain.sse", Shape::Sse, Carrier::Sse);
    assert_eq!(record.text, "Mulch in autumn.");
    assert_eq!(counts(&record), (3, 0, 0, vec![]));
    let record = whole("plain.ndjson", Shape::Ndjson, Carrier::Ndjson);
    assert_eq!(record.text, "Cut the stalks.");
    // An object of unknown fields is an event without a token.
    assert_eq!((counts(&record), record.frames.len()), ((2, 0, 0, vec![]), 3));
}

#[test]
fn answers_that_were_not_streamed_are_whole_with_their_last_byte() {
    for (file, shape, text) in [
        ("openai-chat-whole.json", Shape::OpenaiChat, "Yes, in pots."),
        ("anthropic-whole.json", Shape::Anthropic, "No frost."),
        ("openai-responses-whole.json", Shape::OpenaiResponses, "Plant them deep."),
    ] {
        let record = whole(file, shape, Carrier::Json);
        assert_eq!((record.text.as_str(), record.frames.len()), (text, 1), "{file}");
        assert!(record.frames[0].terminal && record.usage.output.is_some(), "{file}");
        let bytes = fixture(file);
        let cut = read_in_any_cut(None, &bytes[..bytes.len() - 4]);
        let answer = ChatAnswer::of(&cut, CALL, Some(200), &End::Closed);
        assert_eq!(answer.outcome, Outcome::Truncated, "{file}");
    }
}

#[test]
fn errors_are_read_in_every_form() {
    for (body, said) in [
        (
            r#"{"error":{"message":"No such model.","type":"invalid_request_error"}}"#,
            "invalid_request_error: No such model.",
        ),
        (r#"{"error":"model \"x\"\nnot found"}"#, "model \"x\" not found"),
        (
            "[{\n  \"error\": {\"code\": 429, \"message\": \"Quota.\", \"status\": \"RESOURCE_EXHAUSTED\"}\n}\n]",
            "RESOURCE_EXHAUSTED: Quota.",
        ),
        (
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
            "overloaded_error: Overloaded",
        ),
        (
            "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"Sorry.\",\"param\":null}\n\n",
            "server_error: Sorry.",
        ),
        (
            "event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"object\":\"response\",\"error\":{\"code\":\"server_error\",\"message\":\"It broke.\"}}}\n\n",
            "server_error: It broke.",
        ),
        ("event: error\ndata: backend gone\n\n", "backend gone"),
        (
            "data: {\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\",\"error\":{\"code\":502,\"message\":\"Provider disconnected\"}}]}\n\n",
            "Provider disconnected",
        ),
        (
            "data: {\"object\":\"error\",\"message\":\"EngineDead\",\"type\":\"InternalServerError\"}\n\n",
            "EngineDead",
        ),
        (
            "data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n",
            "SAFETY: the service refused the prompt",
        ),
    ] {
        let record = read_in_any_cut(None, body.as_bytes());
        let answer = ChatAnswer::of(&record, CALL, Some(200), &End::Closed);
        let what = format!("the service reported an error under status 200: {said}");
        assert_eq!(answer.outcome, Outcome::Failed { what }, "{body}");
        assert_eq!((record.text.as_str(), answer.milestones.ttft), ("", None), "{body}");
    }
}

#[test]
fn a_field_that_says_there_is_no_error_is_none() {
    let stream = "data: {\"error\":null,\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n\
                  data: {\"error\":\"\",\"choices\":[]}\n\ndata: [DONE]\n\n";
    assert_eq!(read_in_any_cut(None, stream.as_bytes()).error, None);
}

#[test]
fn a_page_for_people_is_named() {
    let record = read_in_any_cut(None, b"\r\n <!doctype html><title>Sign in</title>\n\n");
    let answer = ChatAnswer::of(&record, CALL, Some(200), &End::Closed);
    assert_eq!(record.carrier, Some(Carrier::Html));
    let Outcome::Failed { what } = answer.outcome else { panic!("{answer:?}") };
    assert!(what.contains("HTML"), "{what}");
}

#[test]
fn a_status_that_is_no_success_fails_with_what_the_service_said() {
    let record = read_in_any_cut(None, br#"{"error":{"message":"Bad key.","type":"auth"}}"#);
    let answer = ChatAnswer::of(&record, CALL, Some(401), &End::Closed);
    let what = "the service answered 401: auth: Bad key.".into();
    assert_eq!(answer.outcome, Outcome::Failed { what });
}

#[test]
fn shapes_have_names_and_unknown_ones_are_refused() {
    for shape in Shape::ALL {
        assert_eq!(shape.name().parse(), Ok(shape));
        assert_eq!(serde_json::to_value(shape).unwrap(), shape.name());
    }
    let error = "openai".parse::<Shape>().unwrap_err().to_string();
    assert!(
        error.starts_with("no chat shape is called \"openai\": known are openai-chat,"),
        "{error}"
    );
}
