//! Traefik's dynamic half that runs alone: the router that answers, its middlewares, and the
//! emitter as its service.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::way::Way;
use crate::structured::{at, field, remove, set, word};

/// Middlewares that ask somebody else, refuse a stranger, or need what is not here.
const LEFT_OUT: &[&str] = &[
    "basicauth",
    "digestauth",
    "forwardauth",
    "ipallowlist",
    "ipwhitelist",
    "passtlsclientcert",
    "plugin",
    // By a server of Redis, or with the refusals that a proof would run into.
    "ratelimit",
    "inflightreq",
    "redirectregex",
    "redirectscheme",
];

/// The entry point that the router listens at.
pub const ENTRY_POINT: &str = "own";

/// Makes it, for an upstream such as `http://127.0.0.1:80` that is asked for one path. The second
/// is what was put in another's place. None without a router.
pub fn sandbox(
    whole: &Value,
    way: &Way,
    upstream: &str,
    path: &str,
) -> Option<(Value, BTreeSet<String>)> {
    let name = way.router.as_ref()?;
    let mut router = at(whole, &["http", "routers"])?.get(name)?.clone();
    let mut changed = BTreeSet::new();
    changed.insert("upstreams are the emitter".into());
    changed.insert("TLS, logs, other routers and other entry points are left out".into());
    let all = at(whole, &["http", "middlewares"]).and_then(Value::as_object);
    let mut kept = Map::new();
    let mut names: Vec<Value> = Vec::new();
    for own in &way.middlewares {
        let Some(value) = all.and_then(|all| all.get(own)) else { continue };
        let kind = value.as_object().and_then(|own| own.keys().next());
        let kind = kind.map(|kind| kind.to_ascii_lowercase()).unwrap_or_default();
        if LEFT_OUT.contains(&kind.as_str()) {
            changed.insert(format!("middleware {own} is left out"));
            continue;
        }
        // An errors middleware leads to a service that is not here.
        let mut value = value.clone();
        if let Some(errors) = value.get_mut("errors") {
            set(errors, "service", "emitter".into());
        }
        kept.insert(own.clone(), value);
        names.push(own.clone().into());
    }
    kept.insert("holdup-path".into(), json!({ "replacePath": { "path": path } }));
    names.push("holdup-path".into());
    remove(&mut router, "tls");
    remove(&mut router, "observability");
    set(&mut router, "entryPoints", json!([ENTRY_POINT]));
    set(&mut router, "middlewares", names.into());
    let service = word(&router, &["service"]).to_owned();
    set(&mut router, "service", "emitter".into());
    let mut balancer = json!({ "servers": [{ "url": upstream }] });
    let plain = service.strip_suffix("@file").unwrap_or(&service);
    let own = at(whole, &["http", "services"]).and_then(|all| all.get(plain));
    let flush = own.and_then(|own| at(own, &["loadBalancer", "responseForwarding"]));
    if let Some(flush) = flush.filter(|flush| field(flush, "flushInterval").is_some()) {
        set(&mut balancer, "responseForwarding", flush.clone());
    }
    let text = json!({ "http": {
        "routers": { "own": router },
        "middlewares": kept,
        "services": { "emitter": { "loadBalancer": balancer } },
    } });
    Some((text, changed))
}
