//! What the events of each shape say: one module a shape, with its fields and who sends them.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod plain;

use super::facts::{Facts, ServiceError};
use super::json::Json;
use super::shape::Shape;

pub(super) use plain::of_text as plain_text;

/// What an event says. `name` is the event's own where it has one, as SSE events do.
pub(super) fn facts(shape: Shape, name: &str, json: &Json) -> Facts {
    let mut facts = match shape {
        Shape::OpenaiChat => openai_chat::facts(json),
        Shape::OpenaiResponses => openai_responses::facts(name, json),
        Shape::Anthropic => anthropic::facts(name, json),
        Shape::OllamaChat | Shape::OllamaGenerate => ollama::facts(json),
        Shape::Gemini => gemini::facts(json),
        Shape::Sse | Shape::Ndjson => plain::facts(json),
    };
    facts.error = facts.error.or_else(|| ServiceError::in_event(name, json));
    if shape.is_plain() && facts.error.is_some() {
        // What looks like text is the error's.
        facts.text.clear();
    }
    facts
}
