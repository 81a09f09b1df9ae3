//! What is asked: addresses, bodies, headers, in which order. The form's fields and the command's
//! plan are taken apart here, and what is wrong with them is said by field.

use js_sys::{Array, JSON};
use wasm_bindgen::JsValue;

use crate::json::Writing;

/// Most answers of one go: what a person waits for, and what a page keeps.
pub const MAX_ANSWERS: usize = 400;

/// Shapes by their names in results, with what they are called.
pub const SHAPES: [(&str, &str); 9] = [
    ("", "recognise it"),
    ("openai-chat", "OpenAI chat completions, and compatible"),
    ("openai-responses", "OpenAI responses"),
    ("anthropic", "Anthropic messages"),
    ("gemini", "Gemini generateContent"),
    ("ollama-chat", "Ollama /api/chat"),
    ("ollama-generate", "Ollama /api/generate"),
    ("sse", "any event stream"),
    ("ndjson", "any JSON lines"),
];

/// Where keys go: a header's name, with what stands before the key.
pub const KEY_HEADERS: [&str; 4] =
    ["Authorization: Bearer", "x-api-key", "x-goog-api-key", "api-key"];

/// What Anthropic's routes want to be told.
const ANTHROPIC_VERSION: &str = "2023-06-01";
/// Most tokens of an answer where a shape must name some.
const MAX_TOKENS: u32 = 1_024;

/// The fields as they were filled in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The address, and another one to race it with, or nothing.
    pub addresses: [String; 2],
    /// Whether the second one leads to the same service.
    pub same: bool,
    /// A shape's name, or nothing.
    pub shape: String,
    /// The model's name.
    pub model: String,
    /// Prompts, one a line.
    pub prompts: String,
    /// A body instead of model and prompts.
    pub body: Option<String>,
    /// Headers, one a line.
    pub headers: String,
    /// The key. It goes into the request and nowhere else.
    pub key: String,
    /// In which header, as `NAME[: SCHEME]`.
    pub key_header: String,
    /// Whether the browser is to ask by itself.
    pub direct: bool,
    /// How often each is asked.
    pub repeats: u32,
}

/// One address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// As it was typed.
    pub url: String,
    /// Without query and fragment, which may be secret.
    pub shown: String,
}

/// What is to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One address or two.
    pub targets: Vec<Target>,
    /// Whether both lead to the same service.
    pub same: bool,
    /// The prompts, or nothing where a body was given.
    pub prompts: Vec<String>,
    /// A shape's name.
    pub shape: Option<String>,
    /// Whether the browser asks by itself.
    pub direct: bool,
    /// What is asked in turn: target, question, round.
    pub turns: Vec<(usize, usize, u32)>,
    /// The key. It goes into the request and nowhere else.
    pub key: Option<String>,
    /// A whole body, where one was given.
    pub body: Option<String>,
    model: String,
    headers: Vec<(String, String)>,
}

/// What is wrong, and with which field.
pub type Fault = (&'static str, String);

fn fault<T>(field: &'static str, why: &str) -> Result<T, Fault> {
    Err((field, why.into()))
}

impl Plan {
    /// Takes the fields apart.
    ///
    /// # Errors
    /// The first field that cannot be used, and why.
    pub fn of(fields: &Fields) -> Result<Plan, Fault> {
        let mut targets = vec![target("address", &fields.addresses[0])?];
        if !fields.addresses[1].trim().is_empty() {
            targets.push(target("other", &fields.addresses[1])?);
        }
        let prompts: Vec<String> = match &fields.body {
            Some(_) => Vec::new(),
            None => {
                let lines = fields.prompts.lines().map(str::trim);
                lines.filter(|line| !line.is_empty()).map(String::from).collect()
            }
        };
        let body = match &fields.body {
            Some(body) if body.trim().is_empty() => return fault("body", "The body is empty."),
            Some(body) => Some(body.clone()),
            None if prompts.is_empty() => return fault("prompts", "Write a prompt."),
            None => None,
        };
        let key = fields.key.trim();
        let mut headers = lines_of(&fields.headers)?;
        if !key.is_empty() {
            if !key.is_ascii() || key.contains(|letter: char| letter.is_ascii_control()) {
                return fault("key", "A key is one line of plain letters.");
            }
            let (name, scheme) =
                fields.key_header.split_once(':').unwrap_or((&fields.key_header, ""));
            let value = match scheme.trim() {
                "" => key.to_string(),
                scheme => [scheme, " ", key].concat(),
            };
            headers.push((name.trim().into(), value));
        }
        let repeats = fields.repeats.max(1);
        let questions = prompts.len().max(1);
        let turns = turns(targets.len(), questions, repeats);
        if turns.len() > MAX_ANSWERS {
            return fault("repeats", "That is more than 400 answers: repeat it less often.");
        }
        Ok(Plan {
            targets,
            same: fields.same,
            prompts,
            shape: Some(fields.shape.clone()).filter(|shape| !shape.is_empty()),
            direct: fields.direct,
            turns,
            key: Some(key.to_string()).filter(|key| !key.is_empty()),
            body,
            model: fields.model.trim().into(),
            headers,
        })
    }

    /// The body of a question at an address.
    pub fn body_for(&self, target: usize, question: usize) -> String {
        if let Some(body) = &self.body {
            return body.clone();
        }
        let prompt = self.prompts.get(question).map_or("", String::as_str);
        body_of(self.shape_of(target), &self.model, prompt)
    }

    /// The header fields for an address, the body's type among them.
    pub fn headers(&self, target: usize) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        let mut add = |name: &str, value: &str| {
            if headers.iter().all(|(own, _)| !own.eq_ignore_ascii_case(name)) {
                headers.push((name.into(), value.into()));
            }
        };
        add("content-type", "application/json");
        if self.shape_of(target) == "anthropic" {
            add("anthropic-version", ANTHROPIC_VERSION);
            if self.direct {
                add("anthropic-dangerous-direct-browser-access", "true");
            }
        }
        headers
    }

    fn shape_of(&self, target: usize) -> &str {
        match &self.shape {
            Some(shape) => shape,
            None => shape_of_path(&self.targets[target].shown),
        }
    }
}

/// Who is asked what when: one at a time, and of two addresses each is first as often as second.
fn turns(targets: usize, questions: usize, repeats: u32) -> Vec<(usize, usize, u32)> {
    let mut turns = Vec::new();
    for round in 0..repeats {
        for question in 0..questions {
            let turned = (round as usize * questions + question) % 2 == 1;
            for place in 0..targets {
                let target = if turned { targets - 1 - place } else { place };
                turns.push((target, question, round));
            }
        }
    }
    turns
}

fn target(field: &'static str, text: &str) -> Result<Target, Fault> {
    let text = text.trim();
    let wrong = "Write the whole address: http://HOST[:PORT]/PATH, or https://.";
    let Ok(url) = web_sys::Url::new(text) else { return fault(field, wrong) };
    if !matches!(url.protocol().as_str(), "http:" | "https:") {
        return fault(field, wrong);
    }
    if !url.username().is_empty() || !url.password().is_empty() {
        return fault(
            field,
            "A user name or password does not belong into the address: put it \
                             into a header.",
        );
    }
    let shown = [url.origin(), url.pathname()].concat();
    url.set_hash("");
    Ok(Target { url: url.href(), shown })
}

/// Headers out of lines.
fn lines_of(text: &str) -> Result<Vec<(String, String)>, Fault> {
    let mut headers = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some((name, value)) = line.split_once(':') else {
            return fault("headers", "Write each header on a line of its own, as Name: value.");
        };
        let name = name.trim();
        let is_token = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || !name.chars().all(is_token) {
            return fault("headers", "A header’s name is made of letters, digits and hyphens.");
        }
        headers.push((name.to_string(), value.trim().to_string()));
    }
    Ok(headers)
}

/// The shape that a path is known for; what is compatible with OpenAI's chat is the most usual.
pub fn shape_of_path(shown: &str) -> &'static str {
    let has = |part: &str| shown.ends_with(part);
    if has("/messages") {
        "anthropic"
    } else if has("/responses") {
        "openai-responses"
    } else if has("/api/chat") {
        "ollama-chat"
    } else if has("/api/generate") {
        "ollama-generate"
    } else if has("enerateContent") {
        "gemini"
    } else {
        "openai-chat"
    }
}

/// A prompt as the body that a shape's service takes.
pub fn body_of(shape: &str, model: &str, prompt: &str) -> String {
    let one = |writing: Writing| JsValue::from(Array::of1(&writing.0));
    let user = || Writing::new().put("role", "user");
    let messages = || one(user().put("content", prompt));
    let streamed = || {
        let body = Writing::new();
        let body = if model.is_empty() { body } else { body.put("model", model) };
        body.put("stream", true)
    };
    let body = match shape {
        "anthropic" => streamed().put("max_tokens", MAX_TOKENS).put("messages", messages()),
        "openai-responses" => streamed().put("input", prompt),
        "gemini" => {
            let parts = one(Writing::new().put("text", prompt));
            Writing::new().put("contents", one(user().put("parts", parts)))
        }
        "ollama-generate" | "sse" | "ndjson" => streamed().put("prompt", prompt),
        _ => streamed().put("messages", messages()),
    };
    JSON::stringify(&body.0).map(String::from).unwrap_or_default()
}
