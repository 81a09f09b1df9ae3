//! What a request asks for: the service's own parameters, and ours.
//!
//! Ours are query parameters, or fields of an object `holdup` in the body, for clients that let
//! their caller set only one of the two. In the query, names that are not ours are other
//! people's (`key`, `api-version`, `beta`) and mean nothing here; in the object they are mistakes.

use measure::RunId;
use measure::chat::Shape;
use measure::script::{Framing, Header};
use serde_json::{Map, Value};

use super::plan::{Group, Pace, parse_steps};

/// What a request asks for.
#[derive(Debug)]
pub(super) struct Ask {
    pub(super) shape: Shape,
    /// Whether the answer is streamed.
    pub(super) stream: bool,
    /// Whether Gemini's stream is one array.
    pub(super) array: bool,
    /// Whether the usage is to come in an event of its own.
    pub(super) usage: bool,
    /// The model by the name it was asked for.
    pub(super) model: String,
    pub(super) run: Option<RunId>,
    pub(super) pace: Pace,
    /// Writes as they were asked for; they go before the pace.
    pub(super) steps: Option<Vec<Group>>,
    /// A status to refuse with.
    pub(super) status: Option<u16>,
    pub(super) framing: Framing,
    pub(super) nagle: bool,
    pub(super) headers: Vec<Header>,
}

/// The shape that a path has, and Gemini's method.
pub(super) fn shape_of(path: &str) -> Option<(Shape, Option<(&str, bool)>)> {
    let shape = match path {
        "/v1/chat/completions" => Shape::OpenaiChat,
        "/v1/responses" => Shape::OpenaiResponses,
        "/v1/messages" => Shape::Anthropic,
        "/api/chat" => Shape::OllamaChat,
        "/api/generate" => Shape::OllamaGenerate,
        _ => {
            let model = ["/v1beta/models/", "/v1/models/"].iter();
            let mut model = model.filter_map(|prefix| path.strip_prefix(prefix));
            let (model, method) = model.next()?.rsplit_once(':')?;
            let stream = match method {
                "streamGenerateContent" => true,
                "generateContent" => false,
                _ => return None,
            };
            return Some((Shape::Gemini, Some((model, stream))));
        }
    };
    Some((shape, None))
}

impl Ask {
    /// Reads a request of that shape.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub(super) fn read(
        shape: Shape,
        gemini: Option<(&str, bool)>,
        query: &str,
        body: &[u8],
    ) -> Result<Ask, String> {
        let body: Map<String, Value> = serde_json::from_slice(body)
            .map_err(|error| format!("the body is no JSON object: {error}"))?;
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query)
            .map_err(|error| format!("the query cannot be read: {error}"))?;
        let asked = body.get("stream").and_then(Value::as_bool);
        // Ollama streams unless told not to, the others only when told to.
        let by_default = matches!(shape, Shape::OllamaChat | Shape::OllamaGenerate);
        let usage = body.get("stream_options").and_then(|options| options.get("include_usage"));
        let model = body.get("model").and_then(Value::as_str).unwrap_or("holdup-emitter");
        let mut ask = Ask {
            shape,
            stream: gemini.map_or(asked.unwrap_or(by_default), |(_, stream)| stream),
            array: gemini.is_some() && !pairs.iter().any(|(name, it)| name == "alt" && it == "sse"),
            usage: usage.and_then(Value::as_bool).unwrap_or_default(),
            model: gemini.map_or(model, |(model, _)| model).chars().take(100).collect(),
            run: None,
            pace: Pace::default(),
            steps: None,
            status: None,
            framing: Framing::default(),
            nagle: false,
            headers: Vec::new(),
        };
        for (name, value) in &pairs {
            ask.set(name, value)?;
        }
        match body.get("holdup") {
            None => {}
            Some(Value::Object(ours)) => {
                for (name, value) in ours {
                    ask.set_json(name, value)?;
                }
            }
            Some(_) => return Err("holdup: it is an object".into()),
        }
        Ok(ask)
    }

    fn set_json(&mut self, name: &str, value: &Value) -> Result<(), String> {
        let known = match value {
            Value::String(text) => self.set(name, text)?,
            Value::Number(number) => self.set(name, &number.to_string())?,
            Value::Array(values) => {
                let mut known = false;
                for value in values {
                    let text = value.as_str().ok_or_else(|| format!("{name}: a list of texts"))?;
                    known = self.set(name, text)?;
                }
                known
            }
            _ => return Err(format!("{name}: it is a text or a number")),
        };
        if known {
            return Ok(());
        }
        Err(format!("no parameter is called {:?}", name.chars().take(40).collect::<String>()))
    }

    /// Sets a parameter of ours; returns whether it is one.
    fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "run" => self.run = Some(value.parse().map_err(|error| format!("run: {error}"))?),
            "steps" => self.steps = Some(parse_steps(value)?),
            "status" => {
                let status = value.parse().ok().filter(|status| (400..600).contains(status));
                self.status =
                    Some(status.ok_or_else(|| format!("status is {value:?}: it is 400 to 599"))?);
            }
            "framing" => {
                self.framing = match value {
                    "chunked" => Framing::Chunked,
                    "close" => Framing::Close,
                    _ => return Err(format!("framing is {value:?}: it is chunked or close")),
                }
            }
            "nagle" => {
                self.nagle = match value {
                    "on" => true,
                    "off" => false,
                    _ => return Err(format!("nagle is {value:?}: it is on or off")),
                }
            }
            "header" => {
                let (name, value) = value
                    .split_once(':')
                    .ok_or_else(|| format!("header is {value:?}: it is written Name: value"))?;
                self.headers.push(Header { name: name.trim().into(), value: value.trim().into() });
            }
            _ => {
                let Some(set) = self.pace.set(name, value) else { return Ok(false) };
                set?;
            }
        }
        Ok(true)
    }
}
