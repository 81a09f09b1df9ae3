//! Traefik's files: the static and the dynamic half, in one or in several.

mod correct;
mod rule;
mod sandbox;
mod way;

pub use correct::{Corrected, correct};
pub use sandbox::{ENTRY_POINT, sandbox};
pub use way::{Request, Way, way};

use serde_json::Value;

use crate::structured::{self, field};

/// One file in another: tables are joined, the later one's other values stay.
///
/// # Errors
/// When the result is not what Traefik's file provider reads.
pub fn join(files: impl IntoIterator<Item = Value>) -> Result<Value, String> {
    let mut whole = Value::Object(Default::default());
    for file in files {
        known(&file)?;
        merge(&mut whole, file);
    }
    Ok(whole)
}

fn known(file: &Value) -> Result<(), String> {
    if field(file, "apiVersion").is_some() {
        return Err(
            "it is a resource of Kubernetes: Traefik's own files are read (static, and the \
                    file provider's), or what its API shows"
                .into(),
        );
    }
    if field(file, "static_resources").is_some() {
        return Err("it is a configuration of Envoy: use --envoy-config".into());
    }
    let halves = ["http", "entryPoints", "tcp", "udp", "tls", "providers"];
    match halves.iter().any(|half| field(file, half).is_some()) {
        true => Ok(()),
        false => {
            Err("it is no file of Traefik: neither `http` nor `entryPoints` stands in it".into())
        }
    }
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                let own = into.keys().find(|own| own.eq_ignore_ascii_case(&key)).cloned();
                match own.and_then(|own| into.get_mut(&own)) {
                    Some(own) => merge(own, value),
                    None => drop(into.insert(key, value)),
                }
            }
        }
        (into, from) => *into = from,
    }
}

/// A duration as Traefik means it: a bare number is seconds; 0 is no limit.
fn limit(value: &Value) -> Option<u64> {
    structured::millis(value).filter(|ms| *ms > 0)
}
