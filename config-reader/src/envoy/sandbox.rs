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

/// What may stand in those and in routes: everything else with a type of its own may open files,
/// reach hosts or run code.
const PARTS: &[&str] = &[
    "HttpConnectionManager",
    "FilterConfig",
    "LuaPerRoute",
    "BufferPerRoute",
    "CompressorPerRoute",
    "CorsPolicy",
    "HeaderMutationPerRoute",
    "Gzip",
    "Brotli",
    "Zstd",
];

/// Fields that name files, variables, other hosts or folders, or hold what cannot be looked at.
const OUTSIDE: &[&str] = &[
    "filename",
    "environmentvariable",
    "watcheddirectory",
    "inlinebytes",
    "googlegrpc",
    "storagebufferpath",
    "upgradeconfigs",
    "upstreamlog",
    "upstreamhttpfilters",
    "configdiscovery",
];

/// What of a listener stays, beside its address and the connection manager.
const OF_LISTENER: &[&str] = &["name", "perconnectionbufferlimitbytes"];

/// Lua of Envoy has all of its libraries: a script could read files and start programs. What a
/// stream needs does not use them; a prefix keeps the numbers of lines, and bytecode out.
const ALONE: &str =
    "os,io,package,require,module,debug,jit,ffi,load,loadstring,loadfile,dofile=nil; ";

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
    // Only the chain that was followed, and only its connection manager.
    let mut numbers = way.manager.split('/').filter_map(|own| own.parse::<usize>().ok()).skip(1);
    let chains = list(&listener, &["filter_chains"]);
    let chain = numbers.next().and_then(|number| chains.get(number)).cloned().unwrap_or_default();
    let filters = list(&chain, &["filters"]);
    let mut filter = numbers.next().and_then(|number| filters.get(number)).cloned();
    filter.iter_mut().for_each(scrub);
    for name in ["transport_socket", "filter_chain_match"] {
        if field(&chain, name).is_some() {
            changed.insert("TLS towards clients is left out".into());
        }
    }
    if let Some(fields) = listener.as_object_mut() {
        fields.retain(|name, _| OF_LISTENER.contains(&plain(name).as_str()));
    }
    set(&mut listener, "address", socket(address, port));
    set(
        &mut listener,
        "filter_chains",
        json!([{ "filters": filter.into_iter().collect::<Vec<_>>() }]),
    );
    let known = list(whole, &["static_resources", "clusters"]);
    let clusters: Vec<Value> =
        known.iter().map(|cluster| behind(cluster, place.upstream)).collect();
    changed.insert("upstreams are the emitter, asked plainly by HTTP/1.1".into());
    changed
        .insert("logs, statistics, tracing, admin, layers and other listeners are left out".into());
    changed.insert("what reads files or reaches other hosts is left out, of scripts too".into());
    let text = json!({ "static_resources": { "listeners": [listener], "clusters": clusters } });
    (text, changed)
}

fn plain(name: &str) -> String {
    name.replace('_', "").to_ascii_lowercase()
}

/// Whether something has a type that is not known to stay here.
fn foreign(value: &Value) -> bool {
    let typed = |value: &Value| {
        let kind = kind(value);
        field(value, "@type").is_some() && !KEPT.contains(&kind) && !PARTS.contains(&kind)
    };
    typed(value) || field(value, "typed_config").is_some_and(typed)
}

/// Takes out what reaches outside, wherever it stands.
fn scrub(value: &mut Value) {
    let script = matches!(kind(value), "Lua" | "LuaPerRoute");
    match value {
        Value::Array(values) => {
            values.retain(|own| !foreign(own));
            values.iter_mut().for_each(scrub);
        }
        Value::Object(fields) => {
            fields.retain(|name, own| !OUTSIDE.contains(&plain(name).as_str()) && !foreign(own));
            fields.values_mut().for_each(scrub);
        }
        _ => {}
    }
    if script {
        by_itself(value);
    }
}

/// Every script of a filter of Lua, without the libraries that reach outside.
fn by_itself(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(by_itself),
        Value::Object(fields) => {
            for (name, own) in fields {
                match own {
                    Value::String(code)
                        if matches!(plain(name).as_str(), "inlinestring" | "inlinecode") =>
                    {
                        code.insert_str(0, ALONE);
                    }
                    own => by_itself(own),
                }
            }
        }
        _ => {}
    }
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
