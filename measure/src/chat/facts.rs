//! What one event says, whatever its shape.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::count::Tokens;
use super::json::Json;

/// Characters of an error's message that are kept: enough for a sentence, and one line.
const MESSAGE_KEPT: usize = 300;

/// What one event says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Facts {
    /// Text for the person who asked.
    pub(super) text: String,
    /// Reasoning, as far as it is shown.
    pub(super) reasoning: String,
    /// Names and arguments of tool calls, and code that the service runs.
    pub(super) tool: String,
    pub(super) usage: Usage,
    /// Why the answer ended, in the service's word.
    pub(super) finish: Option<String>,
    pub(super) error: Option<ServiceError>,
    /// It is the shape's last event.
    pub(super) terminal: bool,
}

impl Facts {
    pub(super) fn add_text(&mut self, text: Option<&str>) {
        self.text.push_str(text.unwrap_or_default());
    }

    pub(super) fn add_reasoning(&mut self, text: Option<&str>) {
        self.reasoning.push_str(text.unwrap_or_default());
    }

    pub(super) fn add_tool(&mut self, text: Option<&str>) {
        self.tool.push_str(text.unwrap_or_default());
    }
}

/// Tokens as the service reported them. What it did not report is absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Of the prompt, cached ones included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Tokens>,
    /// Generated, reasoning included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Tokens>,
    /// Reasoning among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Tokens>,
}

impl Usage {
    /// Takes over what a later report says: services report running totals.
    pub(super) fn update(&mut self, later: Usage) {
        self.input = later.input.or(self.input);
        self.output = later.output.or(self.output);
        self.reasoning = later.reasoning.or(self.reasoning);
    }

    /// Whether nothing was reported.
    pub fn is_empty(&self) -> bool {
        *self == Usage::default()
    }
}

/// An error that the service put into its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceError {
    /// Its kind or code, in the service's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its message, on one line.
    pub message: String,
}

impl ServiceError {
    /// An error from its value: a text, or an object with a message.
    ///
    /// OpenAI, Anthropic and Gemini send an object (`message`; `type`, `code` or `status` beside
    /// it), Ollama and Hugging Face a text.
    pub(super) fn of(json: &Json) -> ServiceError {
        if let Some(message) = json.as_text() {
            return ServiceError { kind: None, message: one_line(message) };
        }
        let kind = ["type", "status", "code"].iter().find_map(|name| json.text(name));
        let message = json.text("message").or_else(|| json.text("error")).map(one_line);
        ServiceError {
            kind: kind.map(one_line),
            message: message.unwrap_or_else(|| "no message came with it".into()),
        }
    }

    /// The error in an event of any shape, if it is one.
    pub(super) fn in_event(name: &str, json: &Json) -> Option<ServiceError> {
        // OpenRouter repeats it within the choice, vLLM's older servers say it in `object`.
        match json.get("error") {
            // Said by services that always send the field.
            None | Some(Json::Bool(false)) => {}
            Some(Json::Text(text)) if text.is_empty() => {}
            Some(error) => return Some(ServiceError::of(error)),
        }
        let is_error =
            [json.text("type"), json.text("object"), Some(name)].contains(&Some("error"));
        is_error.then(|| ServiceError {
            // `type` only says that it is an error.
            kind: json.text("code").map(one_line),
            ..ServiceError::of(json)
        })
    }

    /// An error event whose data is no JSON.
    pub(super) fn plain(data: &str) -> ServiceError {
        ServiceError { kind: None, message: one_line(data) }
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Some(kind) => write!(f, "{kind}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// A message as it may stand in a sentence: on one line, without control characters, not endless.
fn one_line(text: &str) -> String {
    let start: String = text
        .chars()
        // White space may shrink to a word's length, so a little more is looked at than is kept.
        .take(2 * MESSAGE_KEPT)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE_KEPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
