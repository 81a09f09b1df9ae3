//! What `holdup probe` left, held against the committed schema.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::stderr;
use crate::service::Asked;

/// The path of OpenAI's chat completions.
pub(crate) const CHAT: &str = "/v1/chat/completions";

/// The document that `--json` printed.
pub(crate) fn told(output: &Output) -> Value {
    let said = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", stderr(output)));
    check(&said);
    said
}

/// Holds a document against the schema.
pub(crate) fn check(said: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema/probe.schema.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("urn:holdup:probe:1", schema).unwrap();
    let index = compiler.compile("urn:holdup:probe:1", &mut schemas).unwrap();
    schemas.validate(said, index).unwrap_or_else(|error| panic!("{error}: {said:#}"));
}

/// The kinds of the rows, in order.
pub(crate) fn kinds(told: &Value) -> Vec<&str> {
    told["rows"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap()).collect()
}

/// One event of OpenAI's chat completions.
pub(crate) fn event(text: &str) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": { "content": text } }] }))
}

/// Answers as somebody else's service: so many events, each after so long, a write each; chunked
/// where HTTP/1.1 was asked for, else to the connection's end.
pub(crate) fn chat(asked: &Asked, stream: &mut TcpStream, events: usize, each: Duration) {
    let chunked = asked.head.contains(" HTTP/1.1\r\n");
    let framing = if chunked { "Transfer-Encoding: chunked" } else { "Connection: close" };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{framing}\r\n\r\n");
    let framed = |text: &str| match chunked {
        true => format!("{:x}\r\n{text}\r\n", text.len()),
        false => text.to_string(),
    };
    let mut write = |text: String| stream.write_all(text.as_bytes()).is_ok();
    let mut going = write(head);
    for word in 0..events {
        std::thread::sleep(each);
        going = going && write(framed(&event(&format!("word {word} "))));
    }
    going = going && write(framed("data: [DONE]\n\n"));
    if going && chunked {
        write("0\r\n\r\n".into());
    }
}
