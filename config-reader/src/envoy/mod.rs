//! Envoy's bootstrap files: the listener, virtual host and route that answer a path, and what holds
//! or cuts a stream there.

mod filter;
mod sandbox;
mod way;

pub use sandbox::{Place, sandbox};
pub use way::{Request, Way, correct, hurried, way};

use serde_json::Value;

use crate::structured::{at, word};

/// The last word of a value's `@type`: `Router` of `type.googleapis.com/….Router`.
fn kind(value: &Value) -> &str {
    word(value, &["@type"]).rsplit(['.', '/']).next().unwrap_or_default()
}

/// The listeners that stand in a file.
///
/// # Errors
/// When it is no configuration of Envoy, or its listeners come from elsewhere.
fn listeners(whole: &Value) -> Result<&[Value], String> {
    let found = at(whole, &["static_resources", "listeners"]).and_then(Value::as_array);
    match found {
        Some(found) if !found.is_empty() => Ok(found),
        _ if at(whole, &["dynamic_resources"]).is_some() => Err(
            "its listeners come from a server (dynamic_resources): only static_resources are read"
                .into(),
        ),
        _ if at(whole, &["http"]).is_some() || at(whole, &["entryPoints"]).is_some() => {
            Err("it is a file of Traefik: use --traefik-config".into())
        }
        _ => Err("it is no configuration of Envoy: no static_resources with listeners".into()),
    }
}
