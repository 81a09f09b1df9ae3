//! What the page asks the gateway for, taken apart and bounded.
//!
//! The page's own request never goes anywhere: its JSON says which request is to be made, so that
//! no cookie, no forwarding header and no other word of the browser's slips through.

use std::fmt;

use axum::http::{HeaderName, HeaderValue, StatusCode};
use measure::RunId;
use measure::chat::Shape;
use serde::Deserialize;
use url::Url;

use super::door::Refusal;
use super::targets;

/// Most bytes of what the page sends: a long conversation with room to spare, no more.
pub(crate) const MAX_BODY: usize = 1 << 20;
/// Most header fields, and most bytes of one: what common servers take.
const MAX_FIELDS: usize = 64;
const MAX_FIELD: usize = 8 * 1024;

/// Fields that belong to a connection (RFC 9110, section 7.6.1), or that the client makes by
/// itself: they are left out.
const NOT_PASSED_ON: [&str; 14] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
    "host",
    "content-length",
    "expect",
    super::door::HEADER,
];

/// Header fields whose values are nobody's business.
const NOT_SECRET: [&str; 9] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "anthropic-version",
    "cache-control",
    "content-type",
    "openai-beta",
    "origin",
    "user-agent",
];

/// As the page writes it. Unknown fields are a page of another version.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    run: String,
    url: String,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    shape: Option<String>,
    #[serde(default)]
    accept_encoding: Option<String>,
}

/// A request that the gateway is to make.
pub(crate) struct Request {
    /// The name under which its reads are kept.
    pub(crate) run: RunId,
    /// Where to.
    pub(crate) url: Url,
    /// `GET` or `POST`.
    pub(crate) method: &'static str,
    /// Fields to pass on.
    pub(crate) fields: Vec<(String, String)>,
    /// The body.
    pub(crate) body: Vec<u8>,
    /// The answer's shape, where the person named it.
    pub(crate) shape: Option<Shape>,
    /// Instead of what browsers offer.
    pub(crate) accept_encoding: Option<String>,
}

impl fmt::Debug for Request {
    /// Without query, values and body: they may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("run", &self.run)
            .field("origin", &targets::origin_of(&self.url))
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

fn bad(why: impl Into<String>) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, why)
}

impl Request {
    /// Takes the page's JSON apart.
    ///
    /// # Errors
    /// What is wrong with it, in one line that repeats no value.
    pub(crate) fn read(json: &[u8]) -> Result<Request, Refusal> {
        let written: Written = serde_json::from_slice(json).map_err(|error| {
            // The error's own text may quote what was sent.
            bad(format!(
                "the request cannot be read (line {}, column {})",
                error.line(),
                error.column()
            ))
        })?;
        let run: RunId = written.run.parse().map_err(|_| bad("run is no 128-bit hex number"))?;
        let url = targets::parse(&written.url).map_err(super::refusal)?;
        let method = match written.method.as_deref() {
            Some("GET") => "GET",
            Some("POST") | None => "POST",
            Some(_) => return Err(bad("the gateway asks by GET or POST only")),
        };
        if written.headers.len() > MAX_FIELDS {
            return Err(bad(format!("more than {MAX_FIELDS} header fields")));
        }
        let shape = written.shape.as_deref().filter(|name| !name.is_empty());
        let shape = shape.map(|name| name.parse::<Shape>().map_err(|error| bad(error.to_string())));
        Ok(Request {
            run,
            url,
            method,
            fields: pass_on(written.headers)?,
            body: written.body.into_bytes(),
            shape: shape.transpose()?,
            accept_encoding: written.accept_encoding.map(encoding).transpose()?,
        })
    }

    /// Takes every value out of a text that could be a key: what goes to a log, a result or an
    /// error passes through here.
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut masked = text.to_string();
        let secret = |name: &str| NOT_SECRET.iter().all(|own| !name.eq_ignore_ascii_case(own));
        let fields = self.fields.iter().filter(|(name, _)| secret(name));
        let parts = fields.flat_map(|(_, value)| value.split_ascii_whitespace());
        let query: Vec<String> =
            self.url.query_pairs().map(|(_, value)| value.into_owned()).collect();
        // `Bearer` and a query's `sse` are no secrets: only what is long enough to be one.
        for part in parts.chain(query.iter().map(String::as_str)).filter(|part| part.len() >= 8) {
            masked = masked.replace(part, "***");
        }
        masked
    }
}

fn encoding(text: String) -> Result<String, Refusal> {
    let known =
        |name: &str| matches!(name.trim(), "" | "identity" | "gzip" | "deflate" | "br" | "zstd");
    if text.split(',').all(known) {
        Ok(text)
    } else {
        Err(bad("accept_encoding may name identity, gzip, deflate, br and zstd"))
    }
}

/// The fields without those of a connection: the known ones, and those that `Connection` names.
fn pass_on(fields: Vec<(String, String)>) -> Result<Vec<(String, String)>, Refusal> {
    let named: Vec<String> = fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut passed: Vec<(String, String)> = Vec::new();
    for (index, (name, value)) in fields.into_iter().enumerate() {
        let which = index + 1;
        if name.len() > MAX_FIELD || value.len() > MAX_FIELD {
            return Err(bad(format!("header field {which} is longer than 8 KB")));
        }
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| bad(format!("header field {which} has a name that is none")))?;
        let whole = HeaderValue::from_str(&value).is_ok() && value.is_ascii();
        if !whole {
            return Err(bad(format!(
                "{name} has a line end or another character that no header may hold"
            )));
        }
        let left_out = NOT_PASSED_ON.contains(&name.as_str())
            || named.iter().any(|named| named == name.as_str());
        if left_out {
            continue;
        }
        if passed.iter().any(|(own, _)| own == name.as_str()) {
            return Err(bad(format!("{name} is there twice")));
        }
        passed.push((name.as_str().to_string(), value));
    }
    Ok(passed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn with(key: &str, value: Value) -> Vec<u8> {
        let mut written = json!({
            "run": "000000000000000000000000000000ff",
            "url": "https://chat.example/v1/chat/completions?key=query-secret",
            "headers": [["Authorization", "Bearer sk-very-secret"], ["content-type", "application/json"]],
            "body": "{\"stream\":true}",
        });
        written[key] = value;
        written.to_string().into_bytes()
    }

    #[test]
    fn a_request_is_taken_apart() {
        let request = Request::read(&with("shape", json!("openai-chat"))).unwrap();
        assert_eq!((request.run, request.method), (RunId(255), "POST"));
        assert_eq!(request.shape, Some(Shape::OpenaiChat));
        assert_eq!(request.fields[0], ("authorization".into(), "Bearer sk-very-secret".into()));
        assert_eq!(request.body, b"{\"stream\":true}");
    }

    #[test]
    fn what_belongs_to_a_connection_is_dropped() {
        let fields = json!([
            ["Connection", "close, X-Hop"],
            ["Keep-Alive", "1"],
            ["TE", "trailers"],
            ["Transfer-Encoding", "chunked"],
            ["Upgrade", "h2c"],
            ["Host", "internal"],
            ["Content-Length", "0"],
            ["Proxy-Authorization", "x"],
            ["x-hop", "1"],
            ["holdup-gateway", "stolen"],
            ["X-Api-Key", "k"],
        ]);
        let request = Request::read(&with("headers", fields)).unwrap();
        assert_eq!(request.fields, [("x-api-key".to_string(), "k".to_string())]);
    }

    #[test]
    fn what_cannot_be_asked_is_refused_and_never_repeated() {
        let long = "secret".repeat(2000);
        let many: Vec<Value> = (0..65).map(|n| json!([format!("x-{n}"), "1"])).collect();
        for (key, value) in [
            ("run", json!("secret")),
            ("url", json!("gopher://secret")),
            ("url", json!("http://user:secret@a/")),
            ("method", json!("DELETE")),
            ("method", json!("POST /secret HTTP/1.1\r\nx: y")),
            ("headers", json!([["x", "1\r\nsecret: 2"]])),
            ("headers", json!([["x", "1\nsecret"]])),
            ("headers", json!([["x y", "secret"]])),
            ("headers", json!([["", "secret"]])),
            ("headers", json!([["x", "\u{0}secret"]])),
            ("headers", json!([["x", long]])),
            ("headers", json!([["x", "1"], ["X", "2"]])),
            ("headers", json!(many)),
            ("shape", json!("secret-shape-of-mine")),
            ("accept_encoding", json!("gzip\r\nsecret: 1")),
            ("secret", json!(1)),
            ("body", json!({"secret": 1})),
        ] {
            let refused = Request::read(&with(key, value.clone())).unwrap_err();
            assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{key} {value}");
            let named = key == "shape" || !refused.why.contains("secret");
            assert!(named && refused.why.lines().count() == 1, "{}", refused.why);
        }
    }

    #[test]
    fn keys_are_masked_wherever_they_would_stand() {
        let request = Request::read(&with("shape", json!(null))).unwrap();
        let text = "Incorrect API key sk-very-secret (or query-secret) for application/json";
        assert_eq!(request.mask(text), "Incorrect API key *** (or ***) for application/json");
        assert!(!format!("{request:?}").contains("secret"), "{request:?}");
    }
}
