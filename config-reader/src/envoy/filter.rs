//! HTTP filters of Envoy: which of them hold an answer, and which were seen not to.

use serde_json::Value;

use super::kind;
use crate::structured::{at, field, list, word};

/// What a filter does to a stream.
pub(super) enum Does {
    /// Holds it; why.
    Holds(&'static str, String),
    /// Was looked at and lets it pass.
    Passes(String),
    /// Is not known here.
    Unknown(String),
    /// Has nothing to do with answers.
    Nothing,
}

/// What a filter of the chain does; `route` is what the route says of it.
pub(super) fn does(filter: &Value, route: Option<&Value>) -> Does {
    let name = word(filter, &["name"]);
    let config = field(filter, "typed_config").unwrap_or(&Value::Null);
    match kind(config) {
        "Lua" => lua(name, config, route),
        "FileSystemBufferFilterConfig" => {
            let behavior = at(config, &["response", "behavior"]);
            let full = |name| behavior.is_some_and(|own| field(own, name).is_some());
            match full("fully_buffer") || full("fully_buffer_and_always_inject_content_length") {
                true => Does::Holds(
                    "file_system_buffer",
                    format!("{name} buffers the whole answer before any of it goes on (measured)"),
                ),
                false => Does::Nothing,
            }
        }
        "JsonToMetadata" => {
            let types = list(config, &["response_rules", "allow_content_types"]);
            match types.iter().any(|own| own.as_str() == Some("text/event-stream")) {
                true => Does::Holds(
                    "json_to_metadata",
                    format!(
                        "{name} has rules for answers of text/event-stream and reads the whole \
                         body for them (measured)"
                    ),
                ),
                false => Does::Nothing,
            }
        }
        "Compressor" => Does::Passes(format!(
            "{name} flushes each piece: event streams are live, compressed or not (measured)"
        )),
        "Buffer" => {
            Does::Passes(format!("{name} buffers requests; answers go through it live (measured)"))
        }
        "ExternalProcessor" => {
            let mode = word(config, &["processing_mode", "response_body_mode"]);
            Does::Unknown(format!(
                "{name} sends answers to another server (response_body_mode {}): not measured \
                 here, since that server decides",
                if mode.is_empty() { "NONE" } else { mode }
            ))
        }
        "Router" | "Cors" | "HealthCheck" | "HeaderMutation" | "JwtAuthentication" | "RBAC"
        | "LocalRateLimit" | "RateLimit" | "ExtAuthz" => Does::Nothing,
        "" => Does::Unknown(format!("{name} has no typed_config here")),
        other => Does::Unknown(format!("{name} ({other}) was not looked at")),
    }
}

/// Lua waits for an answer's end where its `envoy_on_response` asks for the whole body.
fn lua(name: &str, config: &Value, route: Option<&Value>) -> Does {
    let own = route.and_then(|route| field(route, "source_code"));
    let mut sources = vec![
        field(config, "inline_code").and_then(Value::as_str),
        at(config, &["default_source_code", "inline_string"]).and_then(Value::as_str),
    ];
    if let Some(named) = route.map(|route| word(route, &["name"])).filter(|name| !name.is_empty()) {
        let all = field(config, "source_codes");
        sources = vec![
            all.and_then(|all| all.get(named))
                .and_then(|own| field(own, "inline_string").and_then(Value::as_str)),
        ];
    }
    if let Some(own) = own {
        sources = vec![field(own, "inline_string").and_then(Value::as_str)];
    }
    let sources: Vec<&str> = sources.into_iter().flatten().collect();
    if sources.is_empty() {
        return Does::Unknown(format!("{name} runs a script that stands elsewhere"));
    }
    match sources.iter().any(|source| takes_body(source)) {
        true => Does::Holds(
            "lua",
            format!(
                "envoy_on_response of {name} asks for body(), which waits for the whole answer \
                 (measured; bodyChunks() does not)"
            ),
        ),
        false => Does::Passes(format!("{name} does not ask for an answer's whole body")),
    }
}

fn takes_body(source: &str) -> bool {
    let code: String = source
        .lines()
        .map(|line| line.split("--").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let Some((_, response)) = code.split_once("envoy_on_response") else { return false };
    let response = response.split("envoy_on_request").next().unwrap_or_default();
    let plain: String = response.chars().filter(|c| !c.is_whitespace()).collect();
    plain.contains(":body(")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_response_that_asks_for_its_body_waits() {
        for (source, waits) in [
            ("function envoy_on_response(r)\n local b = r:body()\nend", true),
            ("function envoy_on_response(r)\n r : body ( )\nend", true),
            ("function envoy_on_response(r)\n -- r:body()\nend", false),
            ("function envoy_on_response(r)\n for c in r:bodyChunks() do end\nend", false),
            ("function envoy_on_request(r) r:body() end", false),
            ("function envoy_on_response(r) end\nfunction envoy_on_request(r) r:body() end", false),
        ] {
            assert_eq!(takes_body(source), waits, "{source}");
        }
    }
}
