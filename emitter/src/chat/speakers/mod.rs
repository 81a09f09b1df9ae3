//! How each shape says what an answer does: the same steps, in the events of its documentation.
//!
//! What is sent keeps to what `measure::chat` names as its sources; the official Python clients
//! read it.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;

use measure::RunId;
use measure::chat::Shape;
use serde_json::Value;

use anthropic::Anthropic;
use gemini::Gemini;
use ollama::Ollama;
use openai_chat::OpenaiChat;
use openai_responses::OpenaiResponses;

/// Where a shape wants a time. Nobody measures by it: the ledger has the real ones, and an answer
/// that is the same each time can be compared. 1 January 2026.
const CREATED: u64 = 1_767_225_600;
/// Tokens of every prompt: nobody counts them here.
const PROMPT_TOKENS: u32 = 7;
/// What an error says.
const FAILURE: &str = "the emitter was asked to fail here";
/// The tool that is called, and with what.
const TOOL: (&str, &str) = ("look_up", "{\"word\":\"token\"}");

/// One event.
#[derive(Debug)]
pub(super) struct Event {
    /// SSE's `event` field, where the shape has one.
    pub(super) name: Option<&'static str>,
    pub(super) data: Data,
}

/// What an event holds.
#[derive(Debug)]
pub(super) enum Data {
    Json(Value),
    Text(&'static str),
    /// Nothing: a comment, which is no event.
    Comment,
}

impl Event {
    /// An event without a name.
    fn json(value: Value) -> Event {
        Event { name: None, data: Data::Json(value) }
    }

    /// An event whose name stands in its data as well.
    fn typed(name: &'static str, mut value: Value) -> Event {
        value["type"] = name.into();
        Event { name: Some(name), data: Data::Json(value) }
    }
}

/// What is said next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Said<'a> {
    Role,
    Text(&'a str),
    Reasoning(&'a str),
    Tool,
    Usage,
    Error,
    Finish,
    End,
}

/// What was said so far.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) run: RunId,
    pub(super) model: String,
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) text_words: u32,
    pub(super) reasoning_words: u32,
    pub(super) tool: bool,
    pub(super) failed: bool,
    pub(super) ended: bool,
}

impl Told {
    pub(super) fn new(run: RunId, model: &str) -> Told {
        Told {
            run,
            model: model.into(),
            text: String::new(),
            reasoning: String::new(),
            text_words: 0,
            reasoning_words: 0,
            tool: false,
            failed: false,
            ended: false,
        }
    }

    /// Tokens that were generated: a word is one here.
    fn output_tokens(&self) -> u32 {
        self.text_words + self.reasoning_words
    }
}

/// The speaker of a shape.
pub(super) enum Speaker {
    OpenaiChat(OpenaiChat),
    OpenaiResponses(OpenaiResponses),
    Anthropic(Anthropic),
    Ollama(Ollama),
    Gemini(Gemini),
}

impl Speaker {
    /// The speaker of a shape that has a route.
    pub(super) fn new(shape: Shape) -> Speaker {
        match shape {
            Shape::OpenaiResponses => Speaker::OpenaiResponses(OpenaiResponses::default()),
            Shape::Anthropic => Speaker::Anthropic(Anthropic::default()),
            Shape::OllamaChat => Speaker::Ollama(Ollama { generate: false }),
            Shape::OllamaGenerate => Speaker::Ollama(Ollama { generate: true }),
            Shape::Gemini => Speaker::Gemini(Gemini),
            Shape::OpenaiChat | Shape::Sse | Shape::Ndjson => Speaker::OpenaiChat(OpenaiChat),
        }
    }

    /// Whether the shape begins with an event of its own.
    pub(super) fn begins(&self) -> bool {
        !matches!(self, Speaker::Ollama(_) | Speaker::Gemini(_))
    }

    /// The shape's own keep-alive that is an event.
    pub(super) fn keepalive(&self) -> Option<Event> {
        match self {
            Speaker::Anthropic(_) => Some(Event::typed("ping", serde_json::json!({}))),
            _ => None,
        }
    }

    /// Says it: the events that the shape has for it, none or several.
    pub(super) fn say(&mut self, said: Said<'_>, told: &Told, events: &mut Vec<Event>) {
        match self {
            Speaker::OpenaiChat(it) => it.say(said, told, events),
            Speaker::OpenaiResponses(it) => it.say(said, told, events),
            Speaker::Anthropic(it) => it.say(said, told, events),
            Speaker::Ollama(it) => it.say(said, told, events),
            Speaker::Gemini(it) => it.say(said, told, events),
        }
    }

    /// All that was said, not streamed.
    pub(super) fn whole(&self, told: &Told) -> Value {
        match self {
            Speaker::OpenaiChat(it) => it.whole(told),
            Speaker::OpenaiResponses(it) => it.whole(told),
            Speaker::Anthropic(it) => it.whole(told),
            Speaker::Ollama(it) => it.whole(told),
            Speaker::Gemini(it) => it.whole(told),
        }
    }

    /// The body of a response that refuses.
    pub(super) fn error(&self) -> Value {
        self.error_saying(FAILURE)
    }

    /// The same with a message.
    pub(super) fn error_saying(&self, message: &str) -> Value {
        match self {
            Speaker::OpenaiChat(_) | Speaker::OpenaiResponses(_) => openai_chat::error(message),
            Speaker::Anthropic(_) => anthropic::error(message),
            Speaker::Ollama(_) => ollama::error(message),
            Speaker::Gemini(_) => gemini::error(message),
        }
    }
}
