//! OpenAI's chat completions, and everything that calls itself compatible.
//!
//! `choices[].delta` of each `chat.completion.chunk` (OpenAI API reference, "The chat completion
//! chunk object"; `ChatCompletionChunk` of the official Python client):
//!
//! | field | channel | sent by |
//! |---|---|---|
//! | `content` (text) | text | all |
//! | `content` (list of `{"type":"text","text"}`) | text | Mistral's reasoning models |
//! | `refusal` | text: it is what the person reads | OpenAI |
//! | `reasoning_content` | reasoning | DeepSeek, Qwen, xAI, SGLang, LiteLLM, vLLM before 2026 |
//! | `reasoning` | reasoning | vLLM since (pull request 27752), OpenRouter, Groq, Ollama's `/v1` |
//! | `reasoning_text` | reasoning | GitHub Copilot |
//! | `thinking`, `thought` | reasoning | smaller gateways |
//! | `reasoning_details[].text`, `.summary` | reasoning | OpenRouter, beside `reasoning` |
//! | `thinking_blocks[].thinking` | reasoning | LiteLLM, beside `reasoning_content` |
//! | `content[].thinking[].text` | reasoning | Mistral |
//! | `tool_calls[].function.name`, `.arguments` | tool calls | all |
//! | `tool_calls[].function.input` and `function_call` | tool calls | custom tools; the older form |
//!
//! `choices[].text` is the legacy completions' text, `choices[].message` the answer that was not
//! streamed. `usage` comes in a last chunk without choices (`stream_options.include_usage`), in
//! every chunk (xAI, vLLM's continuous usage), or as `x_groq.usage` (Groq).
//! `completion_tokens` includes `completion_tokens_details.reasoning_tokens`.

use crate::chat::count::Tokens;
use crate::chat::facts::{Facts, ServiceError, Usage};
use crate::chat::json::Json;
use crate::fields::REASONING;

pub(super) fn facts(json: &Json) -> Facts {
    let mut facts = Facts::default();
    for choice in json.list("choices") {
        facts.add_text(choice.text("text"));
        for delta in ["delta", "message"].iter().filter_map(|name| choice.get(name)) {
            add_delta(&mut facts, delta);
        }
        let reason = choice.text("finish_reason").filter(|reason| !reason.is_empty());
        facts.finish = facts.finish.or(reason.map(Into::into));
        facts.error = facts.error.or(choice.get("error").map(ServiceError::of));
    }
    let usage = json.get("usage").or_else(|| json.get("x_groq")?.get("usage"));
    facts.usage = usage.map(usage_of).unwrap_or_default();
    facts
}

fn add_delta(facts: &mut Facts, delta: &Json) {
    match delta.get("content") {
        Some(Json::Text(text)) => facts.add_text(Some(text)),
        Some(Json::List(parts)) => {
            for part in parts {
                facts.add_text(part.text("text"));
                for thought in part.list("thinking") {
                    facts.add_reasoning(thought.text("text"));
                }
            }
        }
        _ => {}
    }
    facts.add_text(delta.text("refusal"));
    let named = REASONING.iter().filter_map(|name| delta.text(name)).find(|text| !text.is_empty());
    if named.is_some() {
        facts.add_reasoning(named);
    } else {
        for detail in delta.list("reasoning_details") {
            facts.add_reasoning(detail.text("text").or_else(|| detail.text("summary")));
        }
        for block in delta.list("thinking_blocks") {
            facts.add_reasoning(block.text("thinking"));
        }
    }
    let calls = delta.list("tool_calls").filter_map(|call| call.get("function"));
    for call in calls.chain(delta.get("function_call")) {
        for name in ["name", "arguments", "input"] {
            facts.add_tool(call.text(name));
        }
    }
}

fn usage_of(json: &Json) -> Usage {
    let details = json.get("completion_tokens_details");
    Usage {
        input: json.number("prompt_tokens").map(Tokens),
        output: json.number("completion_tokens").map(Tokens),
        reasoning: details.and_then(|details| details.number("reasoning_tokens")).map(Tokens),
    }
}
