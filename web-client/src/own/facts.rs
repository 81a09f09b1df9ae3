//! What one event of an answer says, by the browser's own JSON parser.
//!
//! The paths of text are those of `measure::chat::shapes`, where they stand with who sends them:
//!
//! | shape | text | reasoning | end |
//! |---|---|---|---|
//! | OpenAI chat | `choices[].delta.content` (text or parts), `.refusal`; `.message.content`; `.text` | `.reasoning_content` and its other names | `[DONE]` |
//! | OpenAI responses | `delta` of `response.output_text.delta`, `response.refusal.delta`; `output[].content[].text` | `delta` of `response.reasoning….delta` | `response.completed`, `.incomplete` |
//! | Anthropic | `delta.text`, `content_block.text`; `content[].text` | `delta.thinking` | `message_stop` |
//! | Gemini | `candidates[].content.parts[].text` | the same with `thought` | `finishReason` |
//! | Ollama | `message.content`, `response` | `thinking` | `done` |
//! | others | the data itself; of an object the first of the usual names | – | `[DONE]`, `done` |
//!
//! They do not overlap, so the shape need not be known.

use js_sys::{Array, JSON, Reflect};
use measure::fields::{REASONING, TEXT};
use wasm_bindgen::{JsCast, JsValue};

/// What an event says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Text that is seen.
    pub text: String,
    /// Whether there is reasoning, or a part of a tool call, in it: tokens that are not seen.
    pub unseen: bool,
    /// Whether it is the answer's last event.
    pub terminal: bool,
    /// An error that it tells.
    pub error: Option<String>,
}

impl Facts {
    /// Whether it holds a token of any kind.
    pub fn has_token(&self) -> bool {
        self.unseen || !self.text.is_empty()
    }
}

/// An event of an event stream; its data need not be JSON.
pub fn of_data(name: &str, data: &[u8]) -> Facts {
    if data == b"[DONE]" {
        return Facts { terminal: true, ..Facts::default() };
    }
    of_json(name, data).unwrap_or_else(|| {
        let said = String::from_utf8_lossy(data).into_owned();
        match name {
            "error" => Facts { error: Some(said), ..Facts::default() },
            _ => Facts { text: said, ..Facts::default() },
        }
    })
}

/// A JSON text; `None` where it is none.
pub fn of_json(name: &str, text: &[u8]) -> Option<Facts> {
    // Most of what is no JSON is told by its first byte, and costs no exception.
    if !matches!(text.first(), Some(b'{' | b'[' | b'"')) {
        return None;
    }
    let json = JSON::parse(std::str::from_utf8(text).ok()?).ok()?;
    let mut facts = Facts::default();
    if let Some(text) = json.as_string() {
        facts.text = text;
    } else if let Some(error) = error_of(&json, name) {
        facts.error = Some(error);
    } else {
        facts.read(name, &json);
    }
    Some(facts)
}

fn get(json: &JsValue, name: &str) -> JsValue {
    Reflect::get(json, &JsValue::from_str(name)).unwrap_or_default()
}

fn text(json: &JsValue, name: &str) -> String {
    get(json, name).as_string().unwrap_or_default()
}

/// The items of a list; none of what is no list.
fn each(json: &JsValue, name: &str, mut look: impl FnMut(JsValue)) {
    if let Ok(list) = get(json, name).dyn_into::<Array>() {
        for item in list.iter() {
            look(item);
        }
    }
}

fn is_there(json: &JsValue) -> bool {
    !json.is_undefined() && !json.is_null()
}

/// The error in an event: `error` as a text, or as an object with a message.
fn error_of(json: &JsValue, name: &str) -> Option<String> {
    let nested = get(&get(json, "response"), "error");
    let error = if is_there(&nested) { nested } else { get(json, "error") };
    let error = if is_there(&error) || name != "error" { error } else { json.clone() };
    if !is_there(&error) || error == JsValue::FALSE {
        return None;
    }
    let said = error.as_string().or_else(|| get(&error, "message").as_string());
    Some(said.unwrap_or_else(|| "an error without a message".into()))
}

impl Facts {
    fn say(&mut self, said: &str) {
        self.text.push_str(said);
    }

    fn think(&mut self, json: &JsValue) {
        self.unseen |= REASONING.iter().any(|name| !text(json, name).is_empty());
    }

    fn read(&mut self, name: &str, json: &JsValue) {
        let kind = Some(text(json, "type")).filter(|kind| !kind.is_empty());
        let kind = kind.as_deref().unwrap_or(name);
        if let Some(kind) = kind.strip_prefix("response.") {
            return self.of_response(kind, json);
        }
        if is_there(&get(json, "choices")) {
            return each(json, "choices", |choice| self.of_choice(&choice));
        }
        if is_there(&get(json, "candidates")) {
            return each(json, "candidates", |candidate| self.of_candidate(&candidate));
        }
        match kind {
            "content_block_delta" => self.of_block(&get(json, "delta")),
            "content_block_start" => self.of_block(&get(json, "content_block")),
            "message_stop" => self.terminal = true,
            "message_start" | "message_delta" | "content_block_stop" | "ping" => {}
            _ if is_there(&get(json, "usageMetadata")) => {}
            _ if is_there(&get(json, "output")) || get(json, "content").is_array() => {
                self.of_whole(json);
            }
            _ => self.of_plain(json),
        }
    }

    fn of_response(&mut self, kind: &str, json: &JsValue) {
        match kind {
            "output_text.delta" | "refusal.delta" => self.say(&text(json, "delta")),
            "completed" | "incomplete" => self.terminal = true,
            _ => self.unseen |= kind.ends_with(".delta") && !text(json, "delta").is_empty(),
        }
    }

    fn of_choice(&mut self, choice: &JsValue) {
        self.say(&text(choice, "text"));
        for name in ["delta", "message"] {
            let delta = get(choice, name);
            self.say(&text(&delta, "content"));
            each(&delta, "content", |part| {
                self.say(&text(&part, "text"));
                self.unseen |= get(&part, "thinking").is_array();
            });
            self.say(&text(&delta, "refusal"));
            self.think(&delta);
            self.unseen |= get(&delta, "tool_calls").is_array();
        }
    }

    fn of_candidate(&mut self, candidate: &JsValue) {
        each(&get(candidate, "content"), "parts", |part| {
            if get(&part, "thought").is_truthy() {
                self.unseen |= !text(&part, "text").is_empty();
            } else {
                self.say(&text(&part, "text"));
            }
            self.unseen |= is_there(&get(&part, "functionCall"));
        });
        self.terminal |= !text(candidate, "finishReason").is_empty();
    }

    fn of_block(&mut self, block: &JsValue) {
        self.say(&text(block, "text"));
        // A tool's name, and the arguments that follow.
        self.unseen |= ["name", "partial_json"].iter().any(|name| !text(block, name).is_empty());
        self.think(block);
    }

    /// An answer that was not streamed: a message's or a response's parts.
    fn of_whole(&mut self, json: &JsValue) {
        each(json, "output", |item| {
            each(&item, "content", |part| self.say(&text(&part, "text")));
        });
        each(json, "content", |part| self.of_block(&part));
        self.terminal = true;
    }

    fn of_plain(&mut self, json: &JsValue) {
        for name in TEXT {
            let field = get(json, name);
            let said = field.as_string().or_else(|| {
                ["text", "content"].iter().find_map(|name| get(&field, name).as_string())
            });
            if let Some(said) = said {
                self.say(&said);
                break;
            }
        }
        self.think(json);
        let message = get(json, "message");
        self.think(&message);
        self.unseen |= get(&message, "tool_calls").is_array();
        self.terminal |= get(json, "done") == JsValue::TRUE;
    }
}
