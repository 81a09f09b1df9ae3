//! A configuration of Envoy that runs alone: one listener on a port of ours, every cluster the
//! emitter, nothing that reaches outside.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::kind;
use super::way::{Way, below_mut};
use crate::structured::{field, key_of, list, remove, set, word};

/// Where it is put.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The host and port it listens at.
    pub listen: (&'a str, u16),
    /// Those of what stands behind it.
    pub upstream: (&'a str, u16),
    /// The path that is asked for there.
    pub path: &'a str,
}

/// Filters that need nothing from outside.
const KEPT: &[&str] = &[
    "Router",
    "Lua",
    "Buffer",
    "Compressor",
    "Decompressor",
    "Cors",
    "HeaderMutation",
    "FileSystemBufferFilterConfig",
    "JsonToMetadata",
    "HTTPFault",
    "LocalRateLimit",
];

/// Makes it. The second is what was put in another's place.
pub fn sandbox(whole: &Value, way: &Way, place: Place<'_>) -> (Value, BTreeSet<String>) {
    let mut changed = BTreeSet::new();
    let mut own = whole.clone();
    if let Some(manager) = below_mut(&mut own, &way.manager) {
        alone(manager, place.path, &mut changed);
    }
    let listener = below_mut(&mut own, &way.listener.to_string()).map(Value::take);
    let mut listener = listener.unwrap_or_default();
    let (address, port) = place.listen;
    set(&mut listener, "address", socket(address, port));
    for name in ["additional_addresses", "access_log", "listener_filters"] {
        remove(&mut listener, name);
    }
    // Only the chain that was followed.
    let chains = list(&listener, &["filter_chains"]).to_vec();
    let number = way.manager.split('/').nth(2).and_then(|own| own.parse::<usize>().ok());
    let chain = number.and_then(|number| chains.get(number)).cloned();
    if let Some(mut chain) = chain {
        for name in ["transport_socket", "filter_chain_match"] {
            if remove(&mut chain, name).is_some() {
                changed.insert("TLS towards clients is left out".into());
            }
        }
        set(&mut listener, "filter_chains", json!([chain]));
    }
    let known = list(whole, &["static_resources", "clusters"]);
    let clusters: Vec<Value> =
        known.iter().map(|cluster| behind(cluster, place.upstream)).collect();
    changed.insert("upstreams are the emitter, asked plainly by HTTP/1.1".into());
    changed
        .insert("logs, statistics, tracing, admin, layers and other listeners are left out".into());
    let text = json!({ "static_resources": { "listeners": [listener], "clusters": clusters } });
    (text, changed)
}

fn socket(address: &str, port: u16) -> Value {
    json!({ "socket_address": { "address": address, "port_value": port } })
}

/// A cluster of the same name with the emitter in it.
fn behind(cluster: &Value, (address, port): (&str, u16)) -> Value {
    let name = word(cluster, &["name"]);
    let mut own = json!({
        "name": name, "type": "STATIC", "connect_timeout": "5s",
        "load_assignment": { "cluster_name": name, "endpoints": [
            { "lb_endpoints": [{ "endpoint": { "address": socket(address, port) } }] }] },
    });
    if let Some(bytes) = field(cluster, "per_connection_buffer_limit_bytes") {
        set(&mut own, "per_connection_buffer_limit_bytes", bytes.clone());
    }
    own
}

fn alone(manager: &mut Value, path: &str, changed: &mut BTreeSet<String>) {
    for name in ["access_log", "tracing", "access_log_options", "http3_protocol_options"] {
        remove(manager, name);
    }
    if word(manager, &["codec_type"]) == "HTTP3" {
        set(manager, "codec_type", "AUTO".into());
    }
    let mut gone = Vec::new();
    if let Some(key) = key_of(manager, "http_filters").cloned()
        && let Some(filters) = manager[&key].as_array_mut()
    {
        filters.retain(|own| {
            let config = field(own, "typed_config").unwrap_or(&Value::Null);
            let kept = KEPT.contains(&kind(config));
            if !kept {
                gone.push(word(own, &["name"]).to_owned());
            }
            kept
        });
    }
    for name in &gone {
        changed
            .insert(format!("filter {name} is left out: it reaches outside or is not known here"));
    }
    let Some(key) = key_of(manager, "route_config").cloned() else { return };
    routes(&mut manager[&key], path, &gone);
}

/// Every route asks for the stream; what a filter that is gone was told goes as well.
fn routes(value: &mut Value, path: &str, gone: &[String]) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|own| routes(own, path, gone)),
        Value::Object(_) => {
            if let Some(key) = key_of(value, "typed_per_filter_config").cloned()
                && let Some(own) = value[&key].as_object_mut()
            {
                own.retain(|name, _| !gone.contains(name));
            }
            let leads = ["cluster", "weighted_clusters", "cluster_header"];
            if leads.iter().any(|name| field(value, name).is_some())
                && field(value, "name").is_none()
            {
                for name in [
                    "prefix_rewrite",
                    "path_rewrite_policy",
                    "host_rewrite_literal",
                    "auto_host_rewrite",
                    "request_mirror_policies",
                    "rate_limits",
                ] {
                    remove(value, name);
                }
                let all = json!({ "pattern": { "regex": "^.*$" }, "substitution": path });
                set(value, "regex_rewrite", all);
            }
            let fields = value.as_object_mut().into_iter().flatten();
            for (_, own) in fields {
                routes(own, path, gone);
            }
        }
        _ => {}
    }
}
