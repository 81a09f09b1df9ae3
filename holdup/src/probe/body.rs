//! What is sent: the body as it is, or a shape's body made of model and prompt. Whatever cannot
//! be meant is refused before anything is sent.

use std::path::Path;

use measure::chat::Shape;
use serde_json::{Map, Value, json};

use super::cli::Probe;
use crate::exit::Problem;

/// Most bytes of a file that is read here: prompts of a whole benchmark have some megabytes.
const MOST_BYTES: u64 = 64 << 20;
/// Anthropic's version header, without which it answers nothing; the version that its clients send.
const ANTHROPIC_VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");
/// Anthropic wants a limit; others have one of their own. Enough for an answer of a page.
const MAX_TOKENS: u32 = 1024;

/// What is sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// One body for each prompt; one that is empty where there is none.
    pub(crate) bodies: Vec<Vec<u8>>,
    /// The prompts, to be kept out of the results.
    pub(crate) prompts: Vec<String>,
    /// Headers that the body wants.
    pub(crate) fields: Vec<(String, String)>,
    /// What should be known before it is sent.
    pub(crate) notes: Vec<String>,
}

/// The shape that a path is known for.
pub(crate) fn shape_of_path(path: &str) -> Option<Shape> {
    let path = path.trim_end_matches('/');
    let known = [
        ("/chat/completions", Shape::OpenaiChat),
        ("/responses", Shape::OpenaiResponses),
        ("/messages", Shape::Anthropic),
        ("/api/chat", Shape::OllamaChat),
        ("/api/generate", Shape::OllamaGenerate),
        (":streamGenerateContent", Shape::Gemini),
        (":generateContent", Shape::Gemini),
    ];
    known.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, shape)| shape)
}

/// Makes the bodies.
pub(crate) fn sent(options: &Probe, shape: Option<Shape>) -> Result<Sent, Problem> {
    let base = match (&options.body, &options.body_file) {
        (Some(text), _) => Some((text.clone().into_bytes(), "--body".to_string())),
        (None, Some(path)) => {
            let name = format!("--body-file {}", path.display());
            Some((read(path, &name)?, name))
        }
        (None, None) => None,
    };
    let lines = match (&options.prompt, &options.prompts) {
        (Some(prompt), _) => vec![Line::Prompt(prompt.clone())],
        (None, Some(path)) => lines(path)?,
        (None, None) => Vec::new(),
    };
    if lines.is_empty() && options.model.is_some() && base.is_none() {
        return Err(Problem::usage(
            "--model without a prompt: give --prompt TEXT or --prompts FILE",
        ));
    }
    let json = base.as_ref().map(|(bytes, name)| (serde_json::from_slice::<Value>(bytes), name));
    let object = match (json, shape) {
        (Some((Ok(Value::Object(object)), _)), _) => Some(object),
        (Some((Ok(_), name)), Some(shape)) if wants_json(shape) => {
            return Err(Problem::usage(format!("{name} is no JSON object, which {shape} wants")));
        }
        (Some((Err(error), name)), Some(shape)) if wants_json(shape) => {
            return Err(Problem::usage(format!("{name} is no JSON, which {shape} wants: {error}")));
        }
        _ => None,
    };
    let mut sent = Sent::default();
    for line in lines {
        let (body, prompt) = match line {
            Line::Body(body) => (body, None),
            Line::Prompt(prompt) => {
                let shape = place(shape)?;
                let base = match (&object, &base, &options.model) {
                    (Some(object), _, _) => object.clone(),
                    (None, Some((_, name)), _) => {
                        return Err(Problem::usage(format!(
                            "{name} is no JSON object: a prompt has no place in it"
                        )));
                    }
                    (None, None, model) => of_model(shape, model.as_deref())?,
                };
                (with_prompt(base, shape, &prompt), Some(prompt))
            }
        };
        sent.notes.extend(whole(shape, &body));
        sent.bodies.push(serde_json::to_vec(&body).map_err(Problem::nothing)?);
        sent.prompts.extend(prompt.or_else(|| prompt_of(&body)));
    }
    if sent.bodies.is_empty() {
        sent.notes.extend(object.as_ref().and_then(|object| whole(shape, object)));
        sent.prompts.extend(object.as_ref().and_then(prompt_of));
        sent.bodies.push(base.map(|(bytes, _)| bytes).unwrap_or_default());
    }
    sent.notes.dedup();
    if sent.bodies.iter().any(|body| serde_json::from_slice::<Value>(body).is_ok()) {
        sent.fields.push(("Content-Type".into(), "application/json".into()));
    }
    if shape == Some(Shape::Anthropic) {
        sent.fields.push((ANTHROPIC_VERSION.0.into(), ANTHROPIC_VERSION.1.into()));
    }
    Ok(sent)
}

/// One line of a file of prompts.
enum Line {
    Prompt(String),
    Body(Map<String, Value>),
}

/// A file of bounded size; `name` is named in the error.
pub(crate) fn read(path: &Path, name: &str) -> Result<Vec<u8>, Problem> {
    let named = |why: &dyn std::fmt::Display| Problem::usage(format!("{name}: {why}"));
    let size = std::fs::metadata(path).map_err(|error| named(&error))?.len();
    if size > MOST_BYTES {
        return Err(named(&format!("{size} bytes are more than is sent here")));
    }
    std::fs::read(path).map_err(|error| named(&error))
}

fn lines(path: &Path) -> Result<Vec<Line>, Problem> {
    let name = format!("--prompts {}", path.display());
    let text = String::from_utf8(read(path, &name)?)
        .map_err(|_| Problem::usage(format!("{name}: it is no text in UTF-8")))?;
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if !line.starts_with('{') {
            lines.push(Line::Prompt(line.into()));
            continue;
        }
        let object: Map<String, Value> = serde_json::from_str(line).map_err(|error| {
            let (line, column) = (number + 1, error.column());
            Problem::usage(format!("{name}: line {line}, column {column}: no JSON object"))
        })?;
        // A body for Ollama has a prompt as well, and a model beside it.
        lines.push(match object.get("prompt").and_then(Value::as_str) {
            Some(prompt) if !object.contains_key("model") => Line::Prompt(prompt.into()),
            _ => Line::Body(object),
        });
    }
    if lines.is_empty() {
        return Err(Problem::usage(format!("{name}: there is no prompt in it")));
    }
    Ok(lines)
}

fn wants_json(shape: Shape) -> bool {
    !matches!(shape, Shape::Sse | Shape::Ndjson)
}

/// The shape whose body has a place for a prompt.
fn place(shape: Option<Shape>) -> Result<Shape, Problem> {
    shape.filter(|shape| wants_json(*shape)).ok_or_else(|| {
        let named = Shape::ALL.into_iter().filter(|shape| wants_json(*shape)).map(Shape::name);
        Problem::usage(format!(
            "a prompt needs a shape to be put into: --shape {}",
            named.collect::<Vec<_>>().join("|")
        ))
    })
}

/// A shape's body without its prompt.
fn of_model(shape: Shape, model: Option<&str>) -> Result<Map<String, Value>, Problem> {
    let mut body = Map::new();
    match (shape, model) {
        // Its model stands in the path.
        (Shape::Gemini, _) => {}
        (_, Some(model)) => {
            body.insert("model".into(), json!(model));
        }
        (_, None) => {
            return Err(Problem::usage(format!(
                "{shape} wants a model: give --model NAME, or a body"
            )));
        }
    }
    if shape != Shape::Gemini {
        body.insert("stream".into(), json!(true));
    }
    if shape == Shape::OpenaiChat {
        body.insert("stream_options".into(), json!({ "include_usage": true }));
    }
    if shape == Shape::Anthropic {
        body.insert("max_tokens".into(), json!(MAX_TOKENS));
    }
    Ok(body)
}

/// Puts a prompt where the shape has it: what the user said last.
fn with_prompt(mut body: Map<String, Value>, shape: Shape, prompt: &str) -> Map<String, Value> {
    let (list, message) = match shape {
        Shape::OpenaiResponses => {
            body.insert("input".into(), json!(prompt));
            return body;
        }
        Shape::OllamaGenerate => {
            body.insert("prompt".into(), json!(prompt));
            return body;
        }
        Shape::Gemini => ("contents", json!({ "role": "user", "parts": [{ "text": prompt }] })),
        _ => ("messages", json!({ "role": "user", "content": prompt })),
    };
    match body.get_mut(list).and_then(Value::as_array_mut) {
        Some(said) => match said.iter_mut().rfind(|said| said["role"] == "user") {
            Some(last) => *last = message,
            None => said.push(message),
        },
        None => {
            body.insert(list.into(), json!([message]));
        }
    }
    body
}

/// The prompt in a body, to be kept out of the results.
pub(crate) fn prompt_of(body: &Map<String, Value>) -> Option<String> {
    let text = |value: &Value| value.as_str().map(String::from);
    let last = |list: &str| {
        let said = body.get(list)?.as_array()?.iter().rfind(|said| said["role"] == "user")?;
        text(&said["content"]).or_else(|| text(&said["parts"][0]["text"]))
    };
    last("messages")
        .or_else(|| last("contents"))
        .or_else(|| body.get("input").and_then(text))
        .or_else(|| body.get("prompt").and_then(text))
}

/// Says so when the answer was not asked to be streamed. The body is sent as it is.
pub(crate) fn whole(shape: Option<Shape>, body: &Map<String, Value>) -> Option<String> {
    let asked = body.get("stream").and_then(Value::as_bool);
    let streams = match shape? {
        Shape::OpenaiChat | Shape::OpenaiResponses | Shape::Anthropic => asked == Some(true),
        Shape::OllamaChat | Shape::OllamaGenerate => asked != Some(false),
        Shape::Gemini | Shape::Sse | Shape::Ndjson => true,
    };
    (!streams).then(|| "the body does not say \"stream\": true: the answer will come whole".into())
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
