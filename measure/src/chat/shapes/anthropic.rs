//! Anthropic's messages (platform.claude.com, "Streaming messages"; `RawMessageStreamEvent` of the
//! official Python client). Every event says what it is in `type`, and in SSE's `event` field.
//!
//! | type | field | channel |
//! |---|---|---|
//! | `content_block_delta` with `text_delta` | `delta.text` | text |
//! | … `thinking_delta` | `delta.thinking` | reasoning |
//! | … `input_json_delta` | `delta.partial_json` | tool calls |
//! | … `signature_delta`, `citations_delta` | – | none: no token |
//! | `content_block_start` | `content_block.text`, `.thinking`, `.name` | as above; mostly empty but for a tool's name |
//! | `message_start` | `message.usage` | the prompt's tokens |
//! | `message_delta` | `usage`, `delta.stop_reason` | running totals; why it ends |
//! | `message_stop` | – | the end |
//! | `ping` | – | a keep-alive that is an event |
//! | `error` | `error.type`, `error.message` | an error, also after status 200 |
//!
//! `output_tokens` includes `output_tokens_details.thinking_tokens`. `input_tokens` excludes what
//! was read from or written to the cache, which stand beside it.
//! A message that was not streamed has `"type": "message"` and its blocks in `content[]`.

use crate::chat::count::Tokens;
use crate::chat::facts::{Facts, Usage};
use crate::chat::json::Json;

pub(super) fn facts(name: &str, json: &Json) -> Facts {
    let mut facts = Facts::default();
    match json.text("type").unwrap_or(name) {
        "message_start" => {
            let message = json.get("message");
            facts.usage = message.and_then(|it| it.get("usage")).map(usage_of).unwrap_or_default();
        }
        "content_block_start" => {
            if let Some(block) = json.get("content_block") {
                add(&mut facts, block);
                facts.add_tool(block.text("name"));
            }
        }
        "content_block_delta" => {
            if let Some(delta) = json.get("delta") {
                add(&mut facts, delta);
            }
        }
        "message_delta" => {
            facts.usage = json.get("usage").map(usage_of).unwrap_or_default();
            let reason = json.get("delta").and_then(|delta| delta.text("stop_reason"));
            facts.finish = reason.map(Into::into);
        }
        "message_stop" => facts.terminal = true,
        "message" => {
            for block in json.list("content") {
                add(&mut facts, block);
                facts.add_tool(block.text("name"));
            }
            facts.usage = json.get("usage").map(usage_of).unwrap_or_default();
            facts.finish = json.text("stop_reason").map(Into::into);
            facts.terminal = true;
        }
        _ => {}
    }
    facts
}

/// What a block holds when it starts, and what a delta adds to it.
fn add(facts: &mut Facts, block: &Json) {
    facts.add_text(block.text("text"));
    facts.add_reasoning(block.text("thinking"));
    facts.add_tool(block.text("partial_json"));
}

fn usage_of(json: &Json) -> Usage {
    let cached = ["cache_read_input_tokens", "cache_creation_input_tokens"];
    let cached: u64 = cached.iter().filter_map(|name| json.number(name)).sum();
    let details = json.get("output_tokens_details");
    Usage {
        input: json.number("input_tokens").map(|fresh| Tokens(fresh.saturating_add(cached))),
        output: json.number("output_tokens").map(Tokens),
        reasoning: details.and_then(|details| details.number("thinking_tokens")).map(Tokens),
    }
}
