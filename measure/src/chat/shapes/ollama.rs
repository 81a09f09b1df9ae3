//! Ollama's own routes (docs.ollama.com, "Chat", "Generate", "Streaming", "Errors"): one JSON
//! object a line.
//!
//! | `/api/chat` | `/api/generate` | channel |
//! |---|---|---|
//! | `message.content` | `response` | text |
//! | `message.thinking` | `thinking` | reasoning |
//! | `message.tool_calls[].function` | – | tool calls, whole in one object |
//!
//! The last object has `"done": true`, `done_reason`, and the usage: `prompt_eval_count` and
//! `eval_count`, the latter with reasoning. An error in mid-stream is a line `{"error": "…"}`.
//! The answer that was not streamed is that last object with all text in it.

use crate::chat::count::Tokens;
use crate::chat::facts::{Facts, Usage};
use crate::chat::json::Json;

pub(super) fn facts(json: &Json) -> Facts {
    let mut facts = Facts::default();
    facts.add_text(json.text("response"));
    facts.add_reasoning(json.text("thinking"));
    if let Some(message) = json.get("message") {
        facts.add_text(message.text("content"));
        facts.add_reasoning(message.text("thinking"));
        for call in message.list("tool_calls").filter_map(|call| call.get("function")) {
            // The arguments are an object here, and come whole with the name.
            facts.add_tool(call.text("name"));
        }
    }
    facts.usage = Usage {
        input: json.number("prompt_eval_count").map(Tokens),
        output: json.number("eval_count").map(Tokens),
        reasoning: None,
    };
    facts.terminal = json.flag("done");
    facts.finish = json.text("done_reason").map(Into::into);
    facts
}
