//! A payload's JSON, with only the fields that some shape reads.
//!
//! A tree of everything would let 16 MB of `1,1,1,…` take 16 times its size, and most of what
//! services send (log probabilities, signatures, images) concerns nobody here. So a field whose
//! name is not in [`FIELDS`] is passed over without being kept, and so many values at most are
//! kept of one event.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Values kept of one event. An event holds a delta, or a whole answer of some hundred parts;
/// this many take 4 MB.
const MAX_VALUES: u32 = 1 << 16;

/// Every name that a shape reads; what each is, and who sends it, stands with the shape.
#[rustfmt::skip]
const FIELDS: &[&str] = &[
    // Common.
    "type", "object", "error", "message", "code", "status", "content", "text", "usage",
    // What the emitter of this program adds where no field of the shape can carry it.
    "holdup",
    // OpenAI chat completions and who is compatible.
    "choices", "delta", "finish_reason", "refusal", "tool_calls", "function_call", "function",
    "name", "arguments", "input", "prompt_tokens", "completion_tokens",
    "completion_tokens_details", "reasoning_tokens", "x_groq", "reasoning_content", "reasoning",
    "reasoning_text", "reasoning_details", "summary", "thinking", "thinking_blocks", "thought",
    // OpenAI responses.
    "response", "item", "output", "input_tokens", "output_tokens", "output_tokens_details",
    "incomplete_details", "reason",
    // Anthropic messages.
    "content_block", "partial_json", "stop_reason", "thinking_tokens", "cache_read_input_tokens",
    "cache_creation_input_tokens",
    // Ollama.
    "done", "done_reason", "prompt_eval_count", "eval_count",
    // Gemini.
    "candidates", "parts", "functionCall", "executableCode", "finishReason", "promptFeedback",
    "blockReason", "usageMetadata", "promptTokenCount", "candidatesTokenCount",
    "thoughtsTokenCount", "responseId",
    // Plain streams; see `shapes::plain`.
    "token", "answer", "chunk", "completion", "generated_text",
];

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// A number; `None` when it is no whole one from 0 up.
    Number(Option<u64>),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

impl Json {
    /// Reads a text that is one JSON value and nothing else.
    ///
    /// # Errors
    /// When it is not, or has more values than are kept of one event.
    pub(super) fn parse(text: &str) -> Result<Json, serde_json::Error> {
        let left = Cell::new(MAX_VALUES);
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let json = Node { left: &left }.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(json)
    }

    /// A field; the last one of that name, and none when it is null.
    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        let Json::Object(fields) = self else { return None };
        let (_, value) = fields.iter().rev().find(|(field, _)| *field == name)?;
        (*value != Json::Null).then_some(value)
    }

    /// Whether there is such a field, null or not.
    pub(super) fn has(&self, name: &str) -> bool {
        matches!(self, Json::Object(fields) if fields.iter().any(|(field, _)| *field == name))
    }

    /// A field that is a text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text()
    }

    /// A field that is a whole number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Json::Number(number) => *number,
            _ => None,
        }
    }

    /// Whether a field is `true`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name) == Some(&Json::Bool(true))
    }

    /// The items of a field that is a list; none of anything else.
    pub(super) fn list(&self, name: &str) -> impl Iterator<Item = &Json> {
        match self.get(name) {
            Some(Json::List(items)) => items.as_slice(),
            _ => &[],
        }
        .iter()
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads one value as long as there are some left.
#[derive(Clone, Copy)]
struct Node<'a> {
    left: &'a Cell<u32>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        let Some(left) = self.left.get().checked_sub(1) else {
            return Err(D::Error::custom(format_args!("it has more than {MAX_VALUES} values")));
        };
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(Some(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.try_into().ok()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        // Some services write a count as `12.0`.
        let whole = value.fract() == 0.0 && (0.0..9e15).contains(&value);
        Ok(Json::Number(whole.then_some(value as u64)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.into()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = entries.next_key_seed(FieldName)? {
            match name {
                Some(name) => fields.push((name, entries.next_value_seed(self)?)),
                None => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Json::Object(fields))
    }
}

/// A name, if it is one that is read.
struct FieldName;

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = Option<&'static str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldName {
    type Value = Option<&'static str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(FIELDS.iter().copied().find(|field| *field == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_that_are_read_are_kept() {
        let json = Json::parse(
            r#"{"text":"a","logprobs":[[1],{"x":2}],"done":true,"eval_count":3,"type":null}"#,
        )
        .unwrap();
        assert_eq!(json.text("text"), Some("a"));
        assert!(!json.has("logprobs") && json.flag("done"));
        assert_eq!((json.number("eval_count"), json.number("text")), (Some(3), None));
        assert!(json.has("type") && json.get("type").is_none());
    }

    #[test]
    fn what_is_no_json_is_an_error() {
        for bad in ["", ": keepalive", "{", "{}x", "{\"text\":\"a\u{1}\"}"] {
            assert!(Json::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_values_of_one_event_are_bounded_and_ignored_ones_are_free() {
        let many = "1,".repeat(MAX_VALUES as usize);
        assert!(Json::parse(&format!("{{\"content\":[{many}1]}}")).is_err());
        assert!(Json::parse(&format!("{{\"context\":[{many}1]}}")).is_ok());
    }
}
