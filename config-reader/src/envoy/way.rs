//! The way of a request through Envoy, and the same with a route for the stream.

use regex::Regex;
use serde_json::{Value, json};

use super::filter::{self, Does};
use super::{kind, listeners};
use crate::structured::{at, field, list, millis, set, word};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The stream's path.
    pub path: &'a str,
    /// The host's name.
    pub host: Option<&'a str>,
    /// The port.
    pub port: Option<u16>,
}

/// Where a request goes, and what is in force there.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// The listener, as an index.
    pub listener: usize,
    /// As people know it.
    pub listener_shown: String,
    /// The connection manager below the listener, as a JSON pointer.
    pub manager: String,
    /// The route, as a JSON pointer.
    pub route: String,
    /// The host that is asked for.
    pub host: Option<String>,
    /// The clusters that it leads to; none if it is answered here.
    pub clusters: Vec<String>,
    /// Filters that hold the answer, by their names.
    pub holding: Vec<String>,
    /// What ends the answer, and after how many milliseconds.
    pub cuts: Vec<(&'static str, u64)>,
    /// The way, step by step.
    pub steps: Vec<String>,
    /// What may lead elsewhere.
    pub open: Vec<String>,
    /// What stands on the way and is not known here.
    pub unknown: Vec<String>,
    /// Causes: a name, and why.
    pub causes: Vec<(&'static str, String)>,
    /// In force there: a name, its value, and where it comes from.
    pub table: Vec<(String, String, String)>,
    /// What else is of interest.
    pub notes: Vec<String>,
}

/// Envoy's own, where a route says nothing: the whole answer within so much.
const TIMEOUT: u64 = 15_000;

/// Envoy's own, where neither says anything: no byte either way for so long.
const IDLE: u64 = 300_000;

/// Finds it.
///
/// # Errors
/// One line: no listener or route serves the path, or several could be meant.
pub fn way(whole: &Value, request: &Request<'_>) -> Result<Way, String> {
    if !request.path.starts_with('/') {
        return Err(format!("{:?} is no path: a path starts with `/`", request.path));
    }
    let path = request.path.split(['?', '#']).next().unwrap_or_default();
    let mut found = Vec::new();
    let all = listeners(whole)?;
    for (index, listener) in all.iter().enumerate() {
        let port = at(listener, &["address", "socket_address", "port_value"]);
        let port = port.and_then(Value::as_u64);
        if request.port.is_none_or(|asked| port == Some(asked.into())) {
            found.extend(managers(index, listener).map(|manager| (index, port, manager)));
        }
    }
    let several: Vec<usize> = {
        let mut indices: Vec<usize> = found.iter().map(|(index, _, _)| *index).collect();
        indices.dedup();
        indices
    };
    if several.len() > 1 {
        let mut ports: Vec<_> = found.iter().filter_map(|(_, port, _)| *port).collect();
        ports.dedup();
        let ports: Vec<String> = ports.iter().map(u64::to_string).collect();
        return Err(format!(
            "{} listeners could answer: say --port: {}",
            several.len(),
            ports.join("; ")
        ));
    }
    let mut last = None;
    for (index, port, manager) in found {
        let shown = word(&all[index], &["name"]);
        let port = port.map_or(String::new(), |port| format!(" at port {port}"));
        let mut way = Way {
            listener: index,
            listener_shown: format!("listener {shown}{port}"),
            manager: manager.clone(),
            host: request.host.map(|host| host.to_ascii_lowercase()),
            ..Way::default()
        };
        match through(whole, &mut way, path) {
            Ok(()) => return Ok(way),
            Err(why) => last = Some(why),
        }
    }
    Err(last.unwrap_or_else(|| "no listener of it speaks HTTP there: check --port".into()))
}

/// The connection managers of a listener, as pointers.
fn managers(index: usize, listener: &Value) -> impl Iterator<Item = String> {
    let key = |value: &Value, name: &str| {
        crate::structured::key_of(value, name).cloned().unwrap_or_default()
    };
    let mut found = Vec::new();
    let chains = list(listener, &["filter_chains"]);
    let chains_key = key(listener, "filter_chains");
    for (chain, value) in chains.iter().enumerate() {
        for (number, own) in list(value, &["filters"]).iter().enumerate() {
            let config = field(own, "typed_config").unwrap_or(&Value::Null);
            if kind(config) == "HttpConnectionManager" {
                let config = key(own, "typed_config");
                found.push(format!("{chains_key}/{chain}/filters/{number}/{config}"));
            }
        }
    }
    found.into_iter().map(move |rest| format!("{index}/{rest}"))
}

/// A value below the listeners.
fn below<'v>(whole: &'v Value, pointer: &str) -> Option<&'v Value> {
    let listeners = at(whole, &["static_resources", "listeners"])?;
    listeners.pointer(&format!("/{pointer}"))
}

pub(super) fn below_mut<'v>(whole: &'v mut Value, pointer: &str) -> Option<&'v mut Value> {
    let outer = crate::structured::key_of(whole, "static_resources").cloned()?;
    let statics = whole.get_mut(&outer)?;
    let inner = crate::structured::key_of(statics, "listeners").cloned()?;
    statics.get_mut(&inner)?.pointer_mut(&format!("/{pointer}"))
}

fn through(whole: &Value, way: &mut Way, path: &str) -> Result<(), String> {
    let manager = below(whole, &way.manager).ok_or("its connection manager is gone")?;
    let routes_key = crate::structured::key_of(manager, "route_config");
    let Some(routes_key) = routes_key else {
        return Err("its routes come from a server (rds): only a route_config is read".into());
    };
    let hosts_key = crate::structured::key_of(&manager[routes_key], "virtual_hosts");
    let hosts_key = hosts_key.ok_or("its route_config has no virtual_hosts")?;
    let hosts = manager[routes_key][hosts_key].as_array().map_or(&[][..], Vec::as_slice);
    let number = virtual_host(hosts, way)?;
    let host = &hosts[number];
    way.steps.push(format!("{}, virtual host {}", way.listener_shown, word(host, &["name"])));
    let insensitive = |own: &Value| field(own, "case_sensitive") == Some(&Value::Bool(false));
    for (index, route) in list(host, &["routes"]).iter().enumerate() {
        let rule = field(route, "match").unwrap_or(&Value::Null);
        match matches(rule, path, insensitive(rule)) {
            Some(false) => continue,
            None => {
                way.open.push(format!("route {} is taken not to match", brief(rule)));
                continue;
            }
            Some(true) => {}
        }
        way.route = format!("{}/{routes_key}/{hosts_key}/{number}/routes/{index}", way.manager);
        way.steps.push(format!("route {} answers", brief(rule)));
        force(whole, way, manager, host, route);
        return Ok(());
    }
    let all = list(host, &["routes"]).iter().take(8);
    let all: Vec<String> = all.filter_map(|own| field(own, "match").map(brief)).collect();
    Err(format!("no route serves {path}: {}", all.join("; ")))
}

fn brief(rule: &Value) -> String {
    let text = crate::structured::masked(rule).to_string();
    text.chars().take(120).collect()
}

/// Exact names first, then the longest with a star.
fn virtual_host(hosts: &[Value], way: &mut Way) -> Result<usize, String> {
    let domains = |host: &Value| -> Vec<String> {
        let all = list(host, &["domains"]).iter().filter_map(Value::as_str);
        all.map(str::to_ascii_lowercase).collect()
    };
    let Some(asked) = way.host.clone() else {
        return match hosts {
            [] => Err("its route_config has no virtual hosts".into()),
            [only] => {
                let named = domains(only).into_iter().find(|own| !own.contains('*'));
                way.host = named;
                Ok(0)
            }
            many => {
                let all: Vec<String> = many.iter().flat_map(domains).take(12).collect();
                Err(format!(
                    "{} virtual hosts could answer: say --host: {}",
                    many.len(),
                    all.join("; ")
                ))
            }
        };
    };
    let bare = asked.split(':').next().unwrap_or_default();
    let rank = |own: &str| -> Option<(u8, usize)> {
        if own == "*" {
            Some((0, 0))
        } else if own == asked || own == bare {
            Some((3, own.len()))
        } else if let Some(end) = own.strip_prefix('*') {
            (bare.len() > end.len() && bare.ends_with(end)).then_some((2, own.len()))
        } else if let Some(start) = own.strip_suffix('*') {
            (bare.len() > start.len() && bare.starts_with(start)).then_some((1, own.len()))
        } else {
            None
        }
    };
    let best = hosts.iter().enumerate().filter_map(|(index, host)| {
        let best = domains(host).iter().filter_map(|own| rank(own)).max()?;
        Some((best, index))
    });
    best.max_by_key(|(rank, index)| (*rank, std::cmp::Reverse(*index)))
        .map(|(_, index)| index)
        .ok_or_else(|| {
            let all: Vec<String> = hosts.iter().flat_map(domains).take(12).collect();
            format!("no virtual host is called {asked}: {}", all.join("; "))
        })
}

/// Whether a route's match holds; none where more than the path decides.
fn matches(rule: &Value, path: &str, insensitive: bool) -> Option<bool> {
    let fold = |text: &str| if insensitive { text.to_ascii_lowercase() } else { text.to_owned() };
    let asked = fold(path);
    let text = |name| field(rule, name).and_then(Value::as_str).map(fold);
    let holds = if let Some(prefix) = text("prefix") {
        asked.starts_with(&prefix)
    } else if let Some(whole) = text("path") {
        asked == whole
    } else if let Some(prefix) = text("path_separated_prefix") {
        asked.strip_prefix(&prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    } else if let Some(pattern) = at(rule, &["safe_regex", "regex"]).and_then(Value::as_str) {
        Regex::new(&format!("^(?:{pattern})$")).ok()?.is_match(path)
    } else {
        return None;
    };
    let more = [
        "headers",
        "query_parameters",
        "runtime_fraction",
        "grpc",
        "tls_context",
        "dynamic_metadata",
    ];
    match holds && more.iter().any(|name| field(rule, name).is_some()) {
        true => None,
        false => Some(holds),
    }
}

/// What is in force at a route.
fn force(whole: &Value, way: &mut Way, manager: &Value, host: &Value, route: &Value) {
    let Some(action) = field(route, "route") else {
        let ends = ["redirect", "direct_response"];
        let end = ends.into_iter().find(|name| field(route, name).is_some());
        way.steps.push(format!("it is answered here: {}", end.unwrap_or("by a filter")));
        return;
    };
    let one = word(action, &["cluster"]);
    way.clusters.extend((!one.is_empty()).then(|| one.to_owned()));
    for own in list(action, &["weighted_clusters", "clusters"]) {
        way.clusters.push(word(own, &["name"]).to_owned());
    }
    way.steps.push(match way.clusters.is_empty() {
        true => "the request itself names its cluster".into(),
        false => format!("cluster {}", way.clusters.join(", ")),
    });
    time_limits(way, manager, action);
    let of = |level: &Value, name: &str| -> Option<Value> {
        field(level, "typed_per_filter_config")?.get(name).cloned()
    };
    for own in list(manager, &["http_filters"]) {
        let name = word(own, &["name"]);
        let config = at(manager, &["route_config"]).and_then(|level| of(level, name));
        let said = of(route, name).or_else(|| of(host, name)).or(config);
        let is_off =
            said.as_ref().is_some_and(|said| field(said, "disabled") == Some(&true.into()));
        let off = field(own, "disabled") == Some(&true.into()) && said.is_none();
        if off || is_off {
            way.notes.push(format!("{name} is off there"));
            continue;
        }
        match filter::does(own, said.as_ref()) {
            Does::Holds(cause, why) => {
                way.holding.push(name.to_owned());
                way.causes.push((cause, why));
            }
            Does::Passes(note) => way.notes.push(note),
            Does::Unknown(what) => way.unknown.push(what),
            Does::Nothing => {}
        }
    }
    let known = list(whole, &["static_resources", "clusters"]);
    for cluster in &way.clusters {
        if !known.iter().any(|own| word(own, &["name"]) == cluster) {
            way.open.push(format!("cluster {cluster} stands elsewhere"));
        }
    }
}

fn time_limits(way: &mut Way, manager: &Value, action: &Value) {
    let mut row = |name: &str, ms: u64, by: &str| {
        let value = if ms == 0 { "no limit".into() } else { shown(ms) };
        way.table.push((name.into(), value, by.into()));
    };
    let own = field(action, "timeout").and_then(millis);
    let timeout = own.unwrap_or(TIMEOUT);
    row("timeout", timeout, if own.is_some() { "the route" } else { "Envoy's own default" });
    let outer =
        at(manager, &["common_http_protocol_options", "max_stream_duration"]).and_then(millis);
    let inner = at(action, &["max_stream_duration", "max_stream_duration"]).and_then(millis);
    let duration = inner.or(outer).unwrap_or(0);
    let by = if inner.is_some() { "the route" } else { "the connection manager" };
    if duration > 0 {
        row("max_stream_duration", duration, by);
    }
    let inner = field(action, "idle_timeout").and_then(millis);
    let outer = field(manager, "stream_idle_timeout").and_then(millis);
    let idle = inner.or(outer).unwrap_or(IDLE);
    let by = match (inner, outer) {
        (Some(_), _) => "the route",
        (None, Some(_)) => "the connection manager",
        (None, None) => "Envoy's own default",
    };
    row("stream_idle_timeout", idle, by);
    if timeout > 0 {
        way.cuts.push(("timeout", timeout));
        way.causes.push((
            "timeout",
            format!(
                "the whole answer has to come within {} of the request{} (measured: cut off in \
                 the middle)",
                shown(timeout),
                if own.is_some() { "" } else { ", by default" }
            ),
        ));
    }
    if duration > 0 {
        way.cuts.push(("max_stream_duration", duration));
        way.causes.push((
            "max_stream_duration",
            format!("a stream ends after {} (measured: cut off in the middle)", shown(duration)),
        ));
    }
    if idle > 0 {
        way.notes.push(format!(
            "a stream that is silent for {} is cut off (measured): comments keep it open",
            shown(idle)
        ));
    }
}

/// Milliseconds as people say them.
fn shown(ms: u64) -> String {
    match ms % 1000 {
        0 => format!("{} s", ms / 1000),
        _ => format!("{ms} ms"),
    }
}

fn limit(action: &mut Value, name: &str, ms: u64) {
    let to = match ms % 1000 {
        0 => json!(format!("{}s", ms / 1000)),
        part => json!(format!("{}.{part:03}s", ms / 1000)),
    };
    let to = match name {
        "timeout" => to,
        _ => json!({ "max_stream_duration": to }),
    };
    set(action, name, to);
}

/// The same configuration whose limits for a whole answer are so many milliseconds at its route,
/// in place of longer ones.
pub fn hurried(whole: &Value, way: &Way, ms: u64) -> Value {
    let mut hurried = whole.clone();
    let Some(route) = below_mut(&mut hurried, &way.route) else { return hurried };
    if let Some(key) = crate::structured::key_of(route, "route").cloned() {
        for (name, _) in way.cuts.iter().filter(|(_, own)| *own > ms) {
            limit(&mut route[&key], name, ms);
        }
    }
    hurried
}

/// The configuration with a route of the stream's own, or its route changed where that serves
/// nothing else or rewrites by its match; the route; and what was done.
pub fn correct(whole: &Value, way: &Way, path: &str) -> (Value, Value, Vec<String>) {
    let mut corrected = whole.clone();
    let mut lines = Vec::new();
    let Some(mut route) = below(whole, &way.route).cloned() else {
        return (corrected, Value::Null, lines);
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    if let Some(key) = crate::structured::key_of(&route, "route").cloned() {
        let action = &mut route[&key];
        for (name, _) in &way.cuts {
            limit(action, name, 0);
            lines.push(format!("{name} 0s: no limit"));
        }
    }
    for name in &way.holding {
        let off = json!({
            "@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "disabled": true,
        });
        crate::structured::table(&mut route, "typed_per_filter_config").insert(name.clone(), off);
        lines.push(format!("{name} is off there; the other routes keep it"));
    }
    let rule = field(&route, "match").cloned().unwrap_or(Value::Null);
    let narrow = [word(&rule, &["prefix"]), word(&rule, &["path"])].contains(&path);
    let rewrites = at(&route, &["route", "prefix_rewrite"]).is_some()
        || at(&route, &["route", "regex_rewrite"]).is_some();
    let Some((routes, index)) = way.route.rsplit_once('/') else {
        return (corrected, route, lines);
    };
    let index: usize = index.parse().unwrap_or_default();
    if narrow || rewrites {
        if let Some(own) = below_mut(&mut corrected, &way.route) {
            *own = route.clone();
        }
        lines.push(format!("the route {} is changed", brief(&rule)));
    } else {
        let mut narrowed = rule.clone();
        for name in ["prefix", "path", "path_separated_prefix", "safe_regex"] {
            crate::structured::remove(&mut narrowed, name);
        }
        set(&mut narrowed, "path", path.into());
        set(&mut route, "match", narrowed);
        crate::structured::remove(&mut route, "name");
        if let Some(list) = below_mut(&mut corrected, routes).and_then(Value::as_array_mut) {
            list.insert(index.min(list.len()), route.clone());
        }
        lines.push(format!("a route of {path} stands before {}", brief(&rule)));
    }
    (corrected, route, lines)
}
