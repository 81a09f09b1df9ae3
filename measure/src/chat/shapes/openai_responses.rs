//! OpenAI's responses (API reference, "Streaming events"; `ResponseStreamEvent` of the official
//! Python client). Every event says what it is in `type`, and in SSE's `event` field as well.
//!
//! | type | channel |
//! |---|---|
//! | `response.output_text.delta`, `response.refusal.delta` | text |
//! | `response.reasoning_text.delta`, `response.reasoning_summary_text.delta`, and their older names `response.reasoning.delta`, `response.reasoning_summary.delta` | reasoning |
//! | `response.function_call_arguments.delta`, `response.custom_tool_call_input.delta`, `response.mcp_call_arguments.delta`, `response.code_interpreter_call_code.delta`, `response.shell_call_command.delta` | tool calls |
//! | `response.output_item.added` with a call's `name` | tool calls |
//! | `response.completed`, `response.incomplete` | the end |
//! | `response.failed`, `error` | an error |
//!
//! A `.done` event repeats what its deltas said and holds no token. `delta` is the text in all of
//! them. `response.usage` comes with the end; `output_tokens` includes
//! `output_tokens_details.reasoning_tokens`. A response that was not streamed is an object of
//! `"object": "response"` with the same `usage`, and its text in `output[].content[].text`.

use crate::chat::count::Tokens;
use crate::chat::facts::{Facts, ServiceError, Usage};
use crate::chat::json::Json;

pub(super) fn facts(name: &str, json: &Json) -> Facts {
    let mut facts = Facts::default();
    let kind = json.text("type").unwrap_or(name);
    let delta = json.text("delta");
    match kind.strip_prefix("response.").unwrap_or(kind) {
        "output_text.delta" | "refusal.delta" => facts.add_text(delta),
        "output_item.added" => {
            facts.add_tool(json.get("item").and_then(|item| item.text("name")));
        }
        kind if kind.ends_with(".delta") && kind.starts_with("reasoning") => {
            facts.add_reasoning(delta);
        }
        kind if kind.ends_with(".delta") && kind.contains("call") => facts.add_tool(delta),
        "completed" | "incomplete" => facts.terminal = true,
        _ => {}
    }
    let response = json.get("response").unwrap_or(json);
    if json.text("object") == Some("response") {
        whole(&mut facts, json);
    }
    facts.usage = response.get("usage").map(usage_of).unwrap_or_default();
    facts.error = response.get("error").map(ServiceError::of);
    if facts.error.is_none() && kind == "response.failed" {
        facts.error = Some(ServiceError::plain("the response failed and does not say why"));
    }
    if facts.terminal {
        let reason = response.get("incomplete_details").and_then(|why| why.text("reason"));
        facts.finish = reason.or_else(|| response.text("status")).map(Into::into);
    }
    facts
}

/// The answer that was not streamed.
fn whole(facts: &mut Facts, response: &Json) {
    for item in response.list("output") {
        for part in item.list("content") {
            facts.add_text(part.text("text").or_else(|| part.text("refusal")));
        }
        for part in item.list("summary") {
            facts.add_reasoning(part.text("text"));
        }
        for name in ["name", "arguments", "input"] {
            facts.add_tool(item.text(name));
        }
    }
    facts.terminal = true;
}

fn usage_of(json: &Json) -> Usage {
    let details = json.get("output_tokens_details");
    Usage {
        input: json.number("input_tokens").map(Tokens),
        output: json.number("output_tokens").map(Tokens),
        reasoning: details.and_then(|details| details.number("reasoning_tokens")).map(Tokens),
    }
}
