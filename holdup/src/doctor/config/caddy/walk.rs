//! The way of a request through Caddy's own form of a configuration, as far as paths and hosts
//! tell.

use config_reader::{Look, Station, secret};
use serde_json::Value;

use super::super::question::Choice;

/// Why no way can be told.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoWay {
    /// No path.
    #[error("{0:?} is no path: a path starts with `/`")]
    Path(String),
    /// Nobody at the port.
    #[error("no server of it accepts there: check --port")]
    NoServer,
    /// Several that could be meant.
    #[error("{} {what} could answer: say {option}: {}", .found.len(), shown(.found))]
    Many { what: &'static str, option: &'static str, found: Vec<Choice> },
}

fn shown(found: &[Choice]) -> String {
    found.iter().map(|own| own.shown.as_str()).collect::<Vec<_>>().join("; ")
}

/// Where a request goes.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// The server, as a JSON pointer.
    pub(super) server: String,
    /// As people know it.
    pub(super) server_shown: String,
    /// The host's name that is asked for.
    pub(super) host: Option<String>,
    /// The reverse_proxy that answers.
    pub(super) proxy: Option<String>,
    /// What else answers.
    pub(super) end: Option<String>,
    /// Compressors on the way.
    pub(super) encodes: Vec<String>,
    pub(super) steps: Vec<Station>,
    pub(super) open: Vec<String>,
}

/// Finds it.
pub(super) fn way(
    adapted: &Value,
    path: &str,
    host: Option<&str>,
    port: Option<u16>,
) -> Result<Way, NoWay> {
    if !path.starts_with('/') {
        return Err(NoWay::Path(path.into()));
    }
    let servers = adapted.pointer("/apps/http/servers").and_then(Value::as_object);
    let listens = |server: &Value| -> String {
        let all = server["listen"].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let at = |server: &Value| {
        port.is_none_or(|port| {
            listens(server).split(", ").any(|own| own.ends_with(&format!(":{port}")))
        })
    };
    let found: Vec<(&String, &Value)> =
        servers.into_iter().flatten().filter(|(_, server)| at(server)).collect();
    let [(name, server)] = found[..] else {
        if found.is_empty() {
            return Err(NoWay::NoServer);
        }
        let choice = |(_, server): &(&String, &Value)| {
            let shown = listens(server);
            let port = shown.split(", ").find_map(|own| own.rsplit(':').next()?.parse().ok());
            Choice { shown, host: None, port }
        };
        let found = found.iter().map(choice).collect();
        return Err(NoWay::Many { what: "servers", option: "--port", found });
    };
    let mut hosts: Vec<&str> = Vec::new();
    let routes = server["routes"].as_array().into_iter().flatten();
    for set in routes.flat_map(|route| route["match"].as_array().into_iter().flatten()) {
        hosts.extend(set["host"].as_array().into_iter().flatten().filter_map(Value::as_str));
    }
    hosts.sort_unstable();
    hosts.dedup();
    let host = match (host, &hosts[..]) {
        (Some(host), _) => Some(host.to_string()),
        (None, []) => None,
        (None, [only]) => Some(only.to_string()),
        (None, many) => {
            let choice = |host: &&str| {
                // A star stands for one label.
                let name = host.replace('*', "any");
                Choice { shown: host.to_string(), host: Some(name), port: None }
            };
            let found = many.iter().map(choice).collect();
            return Err(NoWay::Many { what: "sites", option: "--host", found });
        }
    };
    let mut walk = Walk {
        adapted,
        path: path.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase(),
        way: Way {
            server: format!("/apps/http/servers/{}", name.replace('~', "~0").replace('/', "~1")),
            server_shown: format!(
                "{} ({})",
                host.as_deref().unwrap_or("any host"),
                listens(server)
            ),
            host,
            ..Way::default()
        },
    };
    let shown = walk.way.server_shown.clone();
    walk.step(Look::Server, &shown, "its site serves this host");
    let routes = format!("{}/routes", walk.way.server);
    walk.routes(&routes, 0);
    Ok(walk.way)
}

/// Subroutes in each other at most.
const MOST_DEPTH: usize = 40;

struct Walk<'a> {
    adapted: &'a Value,
    path: String,
    way: Way,
}

impl Walk<'_> {
    fn step(&mut self, look: Look, what: &str, why: &str) {
        self.way.steps.push(Station::new(look, secret::text(what), "", why));
    }

    /// Whether something answered.
    fn routes(&mut self, pointer: &str, depth: usize) -> bool {
        let adapted = self.adapted;
        let Some(routes) = adapted.pointer(pointer).and_then(Value::as_array) else { return false };
        let mut groups: Vec<&str> = Vec::new();
        for (index, route) in routes.iter().enumerate().filter(|_| depth < MOST_DEPTH) {
            let group = route["group"].as_str().unwrap_or_default();
            if !group.is_empty() && groups.contains(&group) {
                continue;
            }
            match self.matches(&route["match"]) {
                Some(true) => groups.push(group),
                Some(false) => continue,
                None => {
                    let matcher = config_reader::secret::text(&route["match"].to_string());
                    let matcher: String = matcher.chars().take(120).collect();
                    self.way.open.push(format!("{matcher} is taken not to match"));
                    continue;
                }
            }
            let handlers = route["handle"].as_array().map_or(0, Vec::len);
            for handler in 0..handlers {
                if self.handler(&format!("{pointer}/{index}/handle/{handler}"), depth) {
                    return true;
                }
            }
        }
        false
    }

    fn handler(&mut self, pointer: &str, depth: usize) -> bool {
        let adapted = self.adapted;
        let Some(value) = adapted.pointer(pointer) else { return false };
        let name = value["handler"].as_str().unwrap_or_default();
        match name {
            "subroute" => return self.routes(&format!("{pointer}/routes"), depth + 1),
            "encode" => {
                let codings: Vec<&String> =
                    value["encodings"].as_object().into_iter().flat_map(|own| own.keys()).collect();
                let codings: Vec<&str> = codings.into_iter().map(String::as_str).collect();
                let what = format!("encode {}", codings.join(" "));
                self.step(Look::Detour, &what, "answers are compressed on the way");
                self.way.encodes.push(pointer.into());
            }
            "rewrite" => match value["strip_path_prefix"].as_str() {
                Some(prefix) => {
                    let rest = self.path.strip_prefix(&prefix.to_ascii_lowercase());
                    self.path = rest.map_or(self.path.clone(), String::from);
                    self.step(Look::Detour, "rewrite", &format!("{prefix} is taken off the path"));
                }
                None => self.way.open.push("the path is rewritten: it may go elsewhere".into()),
            },
            "reverse_proxy" => {
                let to = value["upstreams"].as_array().into_iter().flatten();
                let to: Vec<&str> = to.filter_map(|own| own["dial"].as_str()).collect();
                self.step(Look::Chosen, &format!("reverse_proxy {}", to.join(" ")), "it answers");
                self.way.proxy = Some(pointer.into());
                return true;
            }
            "static_response" | "file_server" | "error" => {
                self.way.end = Some(format!("{name} answers"));
                self.step(Look::Chosen, name, "it answers by itself");
                return true;
            }
            _ => self.step(Look::Detour, name, "the request passes through it"),
        }
        false
    }

    /// Any of the sets, each with all of its matchers; `None` where more than path and host
    /// decides.
    fn matches(&self, sets: &Value) -> Option<bool> {
        let Some(sets) = sets.as_array() else { return Some(true) };
        let mut open = false;
        for set in sets {
            match self.set(set) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => open = true,
            }
        }
        if open { None } else { Some(false) }
    }

    fn set(&self, set: &Value) -> Option<bool> {
        let mut open = false;
        for (name, value) in set.as_object().into_iter().flatten() {
            let texts = || value.as_array().into_iter().flatten().filter_map(Value::as_str);
            let holds = match name.as_str() {
                "path" => {
                    let all: Vec<Option<bool>> = texts().map(|own| path(own, &self.path)).collect();
                    match all.contains(&Some(true)) {
                        true => Some(true),
                        false if all.contains(&None) => None,
                        false => Some(false),
                    }
                }
                "host" => self.way.host.as_ref().map(|host| texts().any(|own| site(own, host))),
                "not" => self.matches(value).map(|holds| !holds),
                "method" => Some(texts().any(|own| own == "GET" || own == "POST")),
                _ => None,
            };
            match holds {
                Some(true) => {}
                Some(false) => return Some(false),
                None => open = true,
            }
        }
        if open { None } else { Some(true) }
    }
}

/// Caddy's paths: a star at an end or at both; one within is not followed here.
fn path(pattern: &str, path: &str) -> Option<bool> {
    let pattern = pattern.to_ascii_lowercase();
    let middle = pattern.trim_start_matches('*').trim_end_matches('*');
    if middle.contains(['*', '?', '[', '{', '\\']) {
        return None;
    }
    Some(match (pattern.starts_with('*'), pattern.ends_with('*')) {
        (true, true) => path.contains(middle),
        (true, false) => path.ends_with(middle),
        (false, true) => path.starts_with(middle),
        (false, false) => path == pattern,
    })
}

/// Caddy's hosts: a star stands for one label.
fn site(pattern: &str, host: &str) -> bool {
    let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let (own, asked) = (pattern.split('.'), host.split('.'));
    own.clone().count() == asked.clone().count()
        && own.zip(asked).all(|(own, asked)| own == "*" || own.eq_ignore_ascii_case(asked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_hosts_are_caddys() {
        for (pattern, asked, expected) in [
            ("/api/*", "/api/chat", Some(true)),
            ("/api/*", "/apx", Some(false)),
            ("*.php", "/a.php", Some(true)),
            ("*", "/", Some(true)),
            ("/API", "/api", Some(true)),
            ("/a/*/b", "/a/x/b", None),
        ] {
            assert_eq!(path(pattern, asked), expected, "{pattern} {asked}");
        }
        assert!(
            site("*.example.com", "chat.example.com:443") && !site("*.example.com", "example.com")
        );
    }
}
