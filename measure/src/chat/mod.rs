//! Chat answers: the shapes in which services stream them, and what they tell.
//!
//! A [`ChatReader`] is given each read's bytes with the time at which the read returned, before
//! anything looks at them; it yields a [`ChatRecord`]: which frames came in which read, and which
//! of them held a token. [`ChatAnswer`] is the figures of one record, [`ChatPool`] those of many.
//! How the bytes were cut into reads changes no frame, only the read it is counted under.
//!
//! Four things are counted, and each has its own type or name so that none stands for another:
//! a *frame* (a block on the wire, comments included), an *event* ([`Events`]: what a parser
//! dispatches), a *read* ([`Reads`]) and a *token* ([`Tokens`], known only where the service
//! reports its usage). An event with text is called that, not a token.
//!
//! What does not come is absent, never 0.
//!
//! # The shapes
//!
//! | shape | carried by | ends with | documented at |
//! |---|---|---|---|
//! | [`Shape::OpenaiChat`] | SSE | `data: [DONE]` | platform.openai.com, "Chat Completions: streaming" |
//! | [`Shape::OpenaiResponses`] | SSE | `response.completed` or `response.incomplete` | platform.openai.com, "Responses: streaming events" |
//! | [`Shape::Anthropic`] | SSE | `message_stop` | platform.claude.com, "Streaming messages" |
//! | [`Shape::OllamaChat`], [`Shape::OllamaGenerate`] | newline-delimited JSON | `"done": true` | docs.ollama.com, "Streaming", "Errors" |
//! | [`Shape::Gemini`] | SSE with `alt=sse`, else one JSON array | a `finishReason` | ai.google.dev, "generateContent" |
//! | [`Shape::Sse`], [`Shape::Ndjson`] | as they say | nothing that all agree on; `[DONE]` when it comes | – |
//!
//! Each one's fields, and who sends them, stand in [`Shape`]'s modules under `shapes`.
//!
//! The page does without this module: it would have to carry a JSON parser of its own.

#[cfg(target_arch = "wasm32")]
compile_error!("the feature `chat` is for native crates: the page has no room for a JSON parser");

mod answer;
mod carrier;
mod count;
mod facts;
mod json;
mod lines;
mod pool;
mod reader;
mod record;
mod shape;
mod shapes;
mod values;

pub use answer::{ChatAnswer, ChatMilestones};
pub use carrier::Carrier;
pub use count::{Events, Reads, Tokens};
pub use facts::{ServiceError, Usage};
pub use pool::ChatPool;
pub use reader::{ChatReader, MAX_NOTED, TEXT_KEPT, TooLong};
pub use record::{ChatMark, ChatRead, ChatRecord, Kind};
pub use shape::{Shape, UnknownShape};
