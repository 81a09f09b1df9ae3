//! Names of fields in chat events that differ from service to service. They stand here since two
//! readers use them: the native one, `chat`, and the page's own, which has no room for `chat`.

/// The text in a JSON event of no known shape: the names that services written for one page mostly
/// use. The first that an event has is it.
pub const TEXT: [&str; 10] = [
    "text",
    "content",
    "token",
    "delta",
    "answer",
    "response",
    "completion",
    "generated_text",
    "chunk",
    "message",
];

/// The reasoning in a delta of the OpenAI chat shape; the first that is not empty counts, as some
/// services send the same words under two names.
pub const REASONING: [&str; 5] =
    ["reasoning_content", "reasoning", "reasoning_text", "thinking", "thought"];
