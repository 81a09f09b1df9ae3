//! Streams of no shape that is known here.
//!
//! The data of an SSE event that is no JSON object is the text itself. Of an object the text is
//! the first of [`TEXT`] that it has: the names that services written for one page mostly use.
//! An object with none of them is an event without a token, because a wrong first token is worse
//! than none. `delta` and `message` may hold it one level deeper.

use crate::chat::facts::Facts;
use crate::chat::json::Json;
use crate::fields::TEXT;

pub(super) fn facts(json: &Json) -> Facts {
    let mut facts = Facts::default();
    let text = TEXT.iter().find_map(|name| match json.get(name)? {
        Json::Text(text) => Some(text.as_str()),
        // Hugging Face's text-generation-inference has `token.text`.
        inner => ["text", "content"].iter().find_map(|name| inner.text(name)),
    });
    facts.add_text(text.or(json.as_text()));
    facts.terminal = json.flag("done");
    facts
}

/// Data that is no JSON at all.
pub(in crate::chat) fn of_text(data: &str) -> Facts {
    Facts { text: data.into(), ..Facts::default() }
}
