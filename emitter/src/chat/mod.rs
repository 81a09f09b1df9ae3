//! Chat answers on the routes that real services have, played like any other stream.
//!
//! | route | shape |
//! |---|---|
//! | `POST /v1/chat/completions` | OpenAI chat completions |
//! | `POST /v1/responses` | OpenAI responses |
//! | `POST /v1/messages` | Anthropic messages |
//! | `POST /api/chat`, `POST /api/generate` | Ollama |
//! | `POST /v1beta/models/{model}:streamGenerateContent` | Gemini: an array, or SSE with `alt=sse` |
//! | `POST /v1beta/models/{model}:generateContent` | Gemini, not streamed |
//! | the last two under `/v1` | the same, as its newer clients ask |
//!
//! A request ([`ask`]) names a plan ([`plan`]): steps and when they are due. The shape's speaker
//! ([`speakers`]) says each step in its own events, and [`carry`] writes them into a script of
//! literal text, each with run and sequence, so that pacer, player and ledger are the same as for
//! any stream. [`serve`] is the HTTP side.

mod ask;
mod carry;
mod plan;
mod serve;
mod speakers;

pub(crate) use serve::routes;
