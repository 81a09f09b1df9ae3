//! OpenAI's chat completions.

use serde_json::{Value, json};

use super::{CREATED, Data, Event, FAILURE, PROMPT_TOKENS, Said, TOOL, Told};

pub(in crate::chat) struct OpenaiChat;

impl OpenaiChat {
    pub(super) fn say(&self, said: Said<'_>, told: &Told, events: &mut Vec<Event>) {
        let delta = match said {
            Said::Role => json!({ "role": "assistant", "content": "" }),
            Said::Text(text) => json!({ "content": text }),
            Said::Reasoning(text) => json!({ "reasoning_content": text }),
            Said::Tool => json!({ "tool_calls": [call()] }),
            Said::Finish => json!({}),
            Said::Usage => {
                let mut last = chunk(told, json!([]));
                last["usage"] = usage(told);
                return events.push(Event::json(last));
            }
            Said::Error => return events.push(Event::json(error(FAILURE))),
            Said::End => {
                return events.push(Event { name: None, data: Data::Text("[DONE]") });
            }
        };
        let finish = matches!(said, Said::Finish).then(|| finish(told));
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        events.push(Event::json(chunk(told, json!([choice]))));
    }

    pub(super) fn whole(&self, told: &Told) -> Value {
        let mut message = json!({ "role": "assistant", "content": told.text, "refusal": null });
        if !told.reasoning.is_empty() {
            message["reasoning_content"] = told.reasoning.as_str().into();
        }
        if told.tool {
            message["tool_calls"] = json!([call()]);
        }
        let choice = json!({
            "index": 0, "message": message, "logprobs": null, "finish_reason": finish(told),
        });
        let mut whole = chunk(told, json!([choice]));
        whole["object"] = "chat.completion".into();
        whole["usage"] = usage(told);
        whole
    }
}

fn chunk(told: &Told, choices: Value) -> Value {
    json!({
        "id": format!("chatcmpl-{}", told.run),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": told.model,
        "choices": choices,
    })
}

fn call() -> Value {
    let (name, arguments) = TOOL;
    json!({
        "index": 0, "id": "call_0", "type": "function",
        "function": { "name": name, "arguments": arguments },
    })
}

fn finish(told: &Told) -> &'static str {
    if told.tool { "tool_calls" } else { "stop" }
}

fn usage(told: &Told) -> Value {
    json!({
        "prompt_tokens": PROMPT_TOKENS,
        "completion_tokens": told.output_tokens(),
        "total_tokens": PROMPT_TOKENS + told.output_tokens(),
        "completion_tokens_details": { "reasoning_tokens": told.reasoning_words },
    })
}

/// The same in both of OpenAI's shapes, outside their streams.
pub(super) fn error(message: &str) -> Value {
    json!({
        "error": { "message": message, "type": "server_error", "param": null, "code": null },
    })
}
