//! The official clients of OpenAI and Anthropic stream from the emitter without an error, and see
//! what it said.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod clients;

use clients::Clients;
use emitter::{Config, Emitter};
use serde_json::{Value, json};

const SENTENCE: &str = "the token left on time and came when it was due so";
const TOOL: [&str; 2] = ["look_up", "token"];

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
