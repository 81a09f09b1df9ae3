//! Ollama's `/api/chat` and `/api/generate`: an object a line, the last with everything else.

use serde_json::{Value, json};

use super::{Event, FAILURE, PROMPT_TOKENS, Said, TOOL, Told};

pub(in crate::chat) struct Ollama {
    /// `/api/generate`, where the text stands at the top.
    pub(super) generate: bool,
}

impl Ollama {
    pub(super) fn say(&self, said: Said<'_>, told: &Told, events: &mut Vec<Event>) {
        events.push(Event::json(match said {
            Said::Role => self.object(told, "", None),
            Said::Text(text) => self.object(told, text, None),
            Said::Reasoning(text) => self.object(told, "", Some(text)),
            Said::Tool if !self.generate => {
                let mut object = self.object(told, "", None);
                object["message"]["tool_calls"] = calls();
                object
            }
            Said::Error => error(FAILURE),
            Said::End => self.last(told, "", None),
            // The usage and the reason come with the end; `/api/generate` calls no tool.
            Said::Usage | Said::Finish | Said::Tool => return,
        }));
    }

    pub(super) fn whole(&self, told: &Told) -> Value {
        let thinking = Some(told.reasoning.as_str()).filter(|text| !text.is_empty());
        let mut whole = self.last(told, &told.text, thinking);
        if told.tool && !self.generate {
            whole["message"]["tool_calls"] = calls();
        }
        whole
    }

    fn object(&self, told: &Told, text: &str, thinking: Option<&str>) -> Value {
        let mut object = json!({
            "model": told.model, "created_at": "2026-01-01T00:00:00.000000Z", "done": false,
        });
        let place = if self.generate {
            object["response"] = text.into();
            &mut object
        } else {
            object["message"] = json!({ "role": "assistant", "content": text });
            &mut object["message"]
        };
        if let Some(thinking) = thinking {
            place["thinking"] = thinking.into();
        }
        object
    }

    fn last(&self, told: &Told, text: &str, thinking: Option<&str>) -> Value {
        let mut last = self.object(told, text, thinking);
        last["done"] = true.into();
        last["done_reason"] = "stop".into();
        last["prompt_eval_count"] = PROMPT_TOKENS.into();
        last["eval_count"] = told.output_tokens().into();
        last
    }
}

fn calls() -> Value {
    let arguments: Value = serde_json::from_str(TOOL.1).unwrap_or_default();
    json!([{ "function": { "name": TOOL.0, "arguments": arguments } }])
}

pub(super) fn error(message: &str) -> Value {
    json!({ "error": message })
}
