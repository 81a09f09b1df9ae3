//! Gemini's `generateContent`: the same object in SSE, in an array, and by itself.

use serde_json::{Value, json};

use super::{Event, FAILURE, PROMPT_TOKENS, Said, TOOL, Told};

pub(in crate::chat) struct Gemini;

impl Gemini {
    pub(super) fn say(&self, said: Said<'_>, told: &Told, events: &mut Vec<Event>) {
        events.push(Event::json(match said {
            Said::Role => object(told, &json!([{ "text": "" }]), false),
            Said::Text(text) => object(told, &json!([{ "text": text }]), false),
            Said::Reasoning(text) => {
                object(told, &json!([{ "text": text, "thought": true }]), false)
            }
            Said::Tool => object(told, &json!([call()]), false),
            Said::Usage => json!({
                "usageMetadata": usage(told), "modelVersion": told.model,
                "responseId": told.run.to_string(),
            }),
            Said::Error => error(FAILURE),
            Said::End => object(told, &json!([{ "text": "" }]), true),
            // The reason comes with the end.
            Said::Finish => return,
        }));
    }

    pub(super) fn whole(&self, told: &Told) -> Value {
        let mut parts = Vec::new();
        if !told.reasoning.is_empty() {
            parts.push(json!({ "text": told.reasoning, "thought": true }));
        }
        parts.push(json!({ "text": told.text }));
        if told.tool {
            parts.push(call());
        }
        object(told, &parts.into(), true)
    }
}

fn object(told: &Told, parts: &Value, last: bool) -> Value {
    let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
    if last {
        candidate["finishReason"] = "STOP".into();
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage(told),
        "modelVersion": told.model,
        "responseId": told.run.to_string(),
    })
}

fn call() -> Value {
    let arguments: Value = serde_json::from_str(TOOL.1).unwrap_or_default();
    json!({ "functionCall": { "name": TOOL.0, "args": arguments } })
}

/// Running totals, as they come with every object; thoughts are counted apart.
fn usage(told: &Told) -> Value {
    json!({
        "promptTokenCount": PROMPT_TOKENS,
        "candidatesTokenCount": told.text_words,
        "thoughtsTokenCount": told.reasoning_words,
        "totalTokenCount": PROMPT_TOKENS + told.output_tokens(),
    })
}

pub(super) fn error(message: &str) -> Value {
    json!({ "error": { "code": 503, "message": message, "status": "UNAVAILABLE" } })
}
