//! OpenAI's responses. Items are opened and closed round what they hold, and every event counts.

use serde_json::{Value, json};

use super::{CREATED, Event, FAILURE, PROMPT_TOKENS, Said, TOOL, Told};

/// The item that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Reasoning,
    Message,
}

#[derive(Default)]
pub(in crate::chat) struct OpenaiResponses {
    sequence: u64,
    begun: bool,
    open: Option<Item>,
    /// Items that are closed, as they ended.
    output: Vec<Value>,
    /// How much of the text and the reasoning stands in closed items, bytes.
    told: (usize, usize),
}

impl OpenaiResponses {
    pub(super) fn say(&mut self, said: Said<'_>, told: &Told, events: &mut Vec<Event>) {
        if matches!(said, Said::Error) {
            let error = json!({ "code": "server_error", "message": FAILURE, "param": null });
            return self.event("error", error, events);
        }
        if !self.begun {
            self.begun = true;
            for name in ["response.created", "response.in_progress"] {
                self.event(name, json!({ "response": self.response(told, "in_progress") }), events);
            }
        }
        match said {
            Said::Text(text) => {
                self.open(Item::Message, told, events);
                let delta = self.part(json!({ "delta": text, "logprobs": [] }));
                self.event("response.output_text.delta", delta, events);
            }
            Said::Reasoning(text) => {
                self.open(Item::Reasoning, told, events);
                let delta = self.summary(json!({ "delta": text }));
                self.event("response.reasoning_summary_text.delta", delta, events);
            }
            Said::Tool => self.call(told, events),
            Said::Finish => self.close(told, events),
            Said::End => {
                self.close(told, events);
                let response = self.response(told, "completed");
                self.event("response.completed", json!({ "response": response }), events);
            }
            // The usage comes with the end.
            Said::Role | Said::Usage | Said::Error => {}
        }
    }

    pub(super) fn whole(&self, told: &Told) -> Value {
        let mut closed = OpenaiResponses { output: self.output.clone(), ..*self };
        closed.close(told, &mut Vec::new());
        closed.response(told, "completed")
    }

    fn event(&mut self, name: &'static str, mut value: Value, events: &mut Vec<Event>) {
        value["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        events.push(Event::typed(name, value));
    }

    fn open(&mut self, item: Item, told: &Told, events: &mut Vec<Event>) {
        if self.open == Some(item) {
            return;
        }
        self.close(told, events);
        self.open = Some(item);
        let index = self.output.len();
        let (item, added, part) = match item {
            Item::Reasoning => (
                json!({ "id": self.id(), "type": "reasoning", "summary": [] }),
                "response.reasoning_summary_part.added",
                self.summary(json!({ "part": { "type": "summary_text", "text": "" } })),
            ),
            Item::Message => (
                json!({
                    "id": self.id(), "type": "message", "status": "in_progress",
                    "role": "assistant", "content": [],
                }),
                "response.content_part.added",
                self.part(json!({ "part": text_part("") })),
            ),
        };
        let item = json!({ "output_index": index, "item": item });
        self.event("response.output_item.added", item, events);
        self.event(added, part, events);
    }

    /// Closes what is open.
    fn close(&mut self, told: &Told, events: &mut Vec<Event>) {
        let Some(item) = self.open.take() else { return };
        let index = self.output.len();
        let item = match item {
            Item::Reasoning => {
                let text = &told.reasoning[self.told.1..];
                self.told.1 = told.reasoning.len();
                let part = json!({ "type": "summary_text", "text": text });
                let done = self.summary(json!({ "text": text }));
                self.event("response.reasoning_summary_text.done", done, events);
                let done = self.summary(json!({ "part": part }));
                self.event("response.reasoning_summary_part.done", done, events);
                json!({ "id": self.id(), "type": "reasoning", "summary": [part] })
            }
            Item::Message => {
                let text = &told.text[self.told.0..];
                self.told.0 = told.text.len();
                let done = self.part(json!({ "text": text, "logprobs": [] }));
                self.event("response.output_text.done", done, events);
                let done = self.part(json!({ "part": text_part(text) }));
                self.event("response.content_part.done", done, events);
                json!({
                    "id": self.id(), "type": "message", "status": "completed",
                    "role": "assistant", "content": [text_part(text)],
                })
            }
        };
        self.output.push(item.clone());
        let done = json!({ "output_index": index, "item": item });
        self.event("response.output_item.done", done, events);
    }

    fn call(&mut self, told: &Told, events: &mut Vec<Event>) {
        self.close(told, events);
        let (name, arguments) = TOOL;
        let (index, id) = (self.output.len(), self.id());
        let item = |status, arguments| {
            json!({
                "id": id, "type": "function_call", "status": status, "call_id": "call_0",
                "name": name, "arguments": arguments,
            })
        };
        let at = |mut value: Value| {
            value["item_id"] = id.as_str().into();
            value["output_index"] = index.into();
            value
        };
        let added = json!({ "output_index": index, "item": item("in_progress", "") });
        self.event("response.output_item.added", added, events);
        let delta = at(json!({ "delta": arguments }));
        self.event("response.function_call_arguments.delta", delta, events);
        let done = at(json!({ "name": name, "arguments": arguments }));
        self.event("response.function_call_arguments.done", done, events);
        let item = item("completed", arguments);
        self.output.push(item.clone());
        let done = json!({ "output_index": index, "item": item });
        self.event("response.output_item.done", done, events);
    }

    /// The id of the item that is open, or comes next.
    fn id(&self) -> String {
        format!("item_{}", self.output.len())
    }

    /// An event's place in the message that is open.
    fn part(&self, mut value: Value) -> Value {
        value["item_id"] = self.id().into();
        value["output_index"] = self.output.len().into();
        value["content_index"] = 0.into();
        value
    }

    /// An event's place in the reasoning that is open.
    fn summary(&self, mut value: Value) -> Value {
        value["item_id"] = self.id().into();
        value["output_index"] = self.output.len().into();
        value["summary_index"] = 0.into();
        value
    }

    fn response(&self, told: &Told, status: &str) -> Value {
        let completed = status == "completed";
        json!({
            "id": format!("resp_{}", told.run),
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "metadata": {},
            "model": told.model,
            "output": if completed { self.output.clone() } else { Vec::new() },
            "parallel_tool_calls": true,
            "temperature": 1.0,
            "tool_choice": "auto",
            "tools": [],
            "top_p": 1.0,
            "usage": completed.then(|| usage(told)),
        })
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] })
}

fn usage(told: &Told) -> Value {
    json!({
        "input_tokens": PROMPT_TOKENS,
        "input_tokens_details": { "cached_tokens": 0, "cache_write_tokens": 0 },
        "output_tokens": told.output_tokens(),
        "output_tokens_details": { "reasoning_tokens": told.reasoning_words },
        "total_tokens": PROMPT_TOKENS + told.output_tokens(),
    })
}
