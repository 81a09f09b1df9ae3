//! Anthropic's messages. Content comes in blocks that are opened and closed.

use serde_json::{Value, json};

use super::{Event, FAILURE, PROMPT_TOKENS, Said, TOOL, Told};

/// The block that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Text,
    Thinking,
}

#[derive(Default)]
pub(in crate::chat) struct Anthropic {
    begun: bool,
    finished: bool,
    open: Option<Block>,
    /// Blocks so far, the open one not counted.
    closed: u32,
}

impl Anthropic {
    pub(super) fn say(&mut self, said: Said<'_>, told: &Told, events: &mut Vec<Event>) {
        if matches!(said, Said::Error) {
            return events.push(Event::typed("error", error(FAILURE)));
        }
        if !self.begun {
            self.begun = true;
            let message = message(told, json!([]), None, 1);
            events.push(Event::typed("message_start", json!({ "message": message })));
        }
        match said {
            Said::Text(text) => {
                self.open(Block::Text, json!({ "type": "text", "text": "" }), events);
                self.delta(json!({ "type": "text_delta", "text": text }), events);
            }
            Said::Reasoning(text) => {
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                self.open(Block::Thinking, block, events);
                self.delta(json!({ "type": "thinking_delta", "thinking": text }), events);
            }
            Said::Tool => {
                self.close(events);
                let block =
                    json!({ "type": "tool_use", "id": "toolu_0", "name": TOOL.0, "input": {} });
                self.start(block, events);
                self.delta(json!({ "type": "input_json_delta", "partial_json": TOOL.1 }), events);
                self.stop(events);
            }
            Said::Usage => events.push(message_delta(told, None)),
            Said::Finish => self.finish(told, events),
            Said::End => {
                self.finish(told, events);
                events.push(Event::typed("message_stop", json!({})));
            }
            Said::Role | Said::Error => {}
        }
    }

    pub(super) fn whole(&self, told: &Told) -> Value {
        let mut content = Vec::new();
        if !told.reasoning.is_empty() {
            content.push(json!({
                "type": "thinking", "thinking": told.reasoning, "signature": SIGNATURE,
            }));
        }
        if !told.text.is_empty() {
            content.push(json!({ "type": "text", "text": told.text }));
        }
        if told.tool {
            let input: Value = serde_json::from_str(TOOL.1).unwrap_or_default();
            content.push(
                json!({ "type": "tool_use", "id": "toolu_0", "name": TOOL.0, "input": input }),
            );
        }
        message(told, content.into(), Some(reason(told)), told.output_tokens())
    }

    fn open(&mut self, block: Block, value: Value, events: &mut Vec<Event>) {
        if self.open != Some(block) {
            self.close(events);
            self.open = Some(block);
            self.start(value, events);
        }
    }

    fn close(&mut self, events: &mut Vec<Event>) {
        if self.open == Some(Block::Thinking) {
            let signature = json!({ "type": "signature_delta", "signature": SIGNATURE });
            self.delta(signature, events);
        }
        if self.open.take().is_some() {
            self.stop(events);
        }
    }

    fn finish(&mut self, told: &Told, events: &mut Vec<Event>) {
        if !self.finished {
            self.finished = true;
            self.close(events);
            events.push(message_delta(told, Some(reason(told))));
        }
    }

    fn start(&self, block: Value, events: &mut Vec<Event>) {
        let start = json!({ "index": self.closed, "content_block": block });
        events.push(Event::typed("content_block_start", start));
    }

    fn delta(&self, delta: Value, events: &mut Vec<Event>) {
        let delta = json!({ "index": self.closed, "delta": delta });
        events.push(Event::typed("content_block_delta", delta));
    }

    fn stop(&mut self, events: &mut Vec<Event>) {
        events.push(Event::typed("content_block_stop", json!({ "index": self.closed })));
        self.closed += 1;
    }
}

/// Base64 of "holdup": a signature is opaque to whoever gets it.
const SIGNATURE: &str = "aG9sZHVw";

fn message(told: &Told, content: Value, stop: Option<&str>, output_tokens: u32) -> Value {
    json!({
        "id": format!("msg_{}", told.run),
        "type": "message",
        "role": "assistant",
        "model": told.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": null,
        "usage": { "input_tokens": PROMPT_TOKENS, "output_tokens": output_tokens },
    })
}

fn message_delta(told: &Told, stop: Option<&str>) -> Event {
    let delta = json!({
        "delta": { "stop_reason": stop, "stop_sequence": null },
        "usage": {
            "output_tokens": told.output_tokens(),
            "output_tokens_details": { "thinking_tokens": told.reasoning_words },
        },
    });
    Event::typed("message_delta", delta)
}

fn reason(told: &Told) -> &'static str {
    if told.tool { "tool_use" } else { "end_turn" }
}

pub(super) fn error(message: &str) -> Value {
    json!({ "type": "error", "error": { "type": "overloaded_error", "message": message } })
}
