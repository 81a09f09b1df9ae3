//! The shapes by name, and how one is recognised from its first event.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::json::Json;

/// How a service shapes its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// OpenAI's chat completions and everything compatible; legacy completions, too.
    OpenaiChat,
    /// OpenAI's responses.
    OpenaiResponses,
    /// Anthropic's messages.
    Anthropic,
    /// Ollama's `/api/chat`.
    OllamaChat,
    /// Ollama's `/api/generate`.
    OllamaGenerate,
    /// Gemini's `generateContent` and `streamGenerateContent`.
    Gemini,
    /// An event stream of no shape that is known here.
    Sse,
    /// Newline-delimited JSON, or other JSON, of no shape that is known here.
    Ndjson,
}

/// No shape has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no chat shape is called {0:?}: known are {known}", known = Shape::names().join(", "))]
pub struct UnknownShape(String);

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 8] = [
        Shape::OpenaiChat,
        Shape::OpenaiResponses,
        Shape::Anthropic,
        Shape::OllamaChat,
        Shape::OllamaGenerate,
        Shape::Gemini,
        Shape::Sse,
        Shape::Ndjson,
    ];

    /// The name in results, tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Shape::OpenaiChat => "openai-chat",
            Shape::OpenaiResponses => "openai-responses",
            Shape::Anthropic => "anthropic",
            Shape::OllamaChat => "ollama-chat",
            Shape::OllamaGenerate => "ollama-generate",
            Shape::Gemini => "gemini",
            Shape::Sse => "sse",
            Shape::Ndjson => "ndjson",
        }
    }

    /// All names.
    pub fn names() -> [&'static str; 8] {
        Shape::ALL.map(Shape::name)
    }

    /// What its last event is, in words: for a sentence that says what did not come. Absent where
    /// no end is agreed on.
    pub fn terminal(self) -> Option<&'static str> {
        match self {
            Shape::OpenaiChat => Some("data: [DONE]"),
            Shape::OpenaiResponses => Some("response.completed"),
            Shape::Anthropic => Some("message_stop"),
            Shape::OllamaChat | Shape::OllamaGenerate => Some("\"done\": true"),
            Shape::Gemini => Some("a finishReason"),
            Shape::Sse | Shape::Ndjson => None,
        }
    }

    /// Whether every event of it is a JSON object, so that anything else is malformed.
    pub(super) fn is_json(self) -> bool {
        self != Shape::Sse
    }

    /// Whether it is one of the two that any payload fits.
    pub(super) fn is_plain(self) -> bool {
        matches!(self, Shape::Sse | Shape::Ndjson)
    }

    /// Whether `[DONE]` is its end.
    pub(super) fn ends_with_done(self) -> bool {
        self == Shape::OpenaiChat || self.is_plain()
    }

    /// Whether it streams as SSE and nothing else, so that a body of plain JSON is the answer
    /// that was not streamed, whole with its last byte.
    pub(super) fn only_sse(self) -> bool {
        matches!(self, Shape::OpenaiChat | Shape::OpenaiResponses | Shape::Anthropic)
    }

    /// Whether it is carried by newline-delimited JSON.
    pub(super) fn is_lines(self) -> bool {
        matches!(self, Shape::OllamaChat | Shape::OllamaGenerate | Shape::Ndjson)
    }

    /// The shape that an event belongs to; `None` when it could be anyone's, as an error and a
    /// keep-alive could. `name` is the event's own where it has one.
    pub(super) fn of_event(name: &str, json: &Json) -> Option<Shape> {
        let kind = json.text("type").unwrap_or(name);
        if kind.starts_with("response.") || json.text("object") == Some("response") {
            return Some(Shape::OpenaiResponses);
        }
        if json.get("choices").is_some() {
            return Some(Shape::OpenaiChat);
        }
        if kind.starts_with("message_") || kind.starts_with("content_block_") || kind == "ping" {
            return Some(Shape::Anthropic);
        }
        // The answer that was not streamed.
        if kind == "message" && json.list("content").next().is_some() {
            return Some(Shape::Anthropic);
        }
        if ["candidates", "promptFeedback", "usageMetadata"].iter().any(|name| json.has(name)) {
            return Some(Shape::Gemini);
        }
        // Both have `model` as well, but so does nearly everything.
        if json.has("done") && json.has("message") {
            return Some(Shape::OllamaChat);
        }
        if json.has("done") && json.has("response") {
            return Some(Shape::OllamaGenerate);
        }
        None
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Shape {
    type Err = UnknownShape;
    fn from_str(text: &str) -> Result<Shape, UnknownShape> {
        Shape::ALL
            .into_iter()
            .find(|shape| shape.name() == text)
            .ok_or_else(|| UnknownShape(text.chars().take(40).collect()))
    }
}
