//! The way of a request through Traefik, and what holds or cuts a stream on it.

use serde_json::Value;

use super::rule::{self, Asked};
use crate::secret;
use crate::structured::{at, field, list, millis, word};

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
    /// The router that answers; none if the files have no `http` half.
    pub router: Option<String>,
    /// The host that is asked for.
    pub host: Option<String>,
    /// The middlewares on the way by their names, chains resolved.
    pub middlewares: Vec<String>,
    /// Those that hold the answer.
    pub holding: Vec<String>,
    /// Those of them that an entry point puts on every router.
    pub of_entry_point: Vec<String>,
    /// The entry point that ends answers, and after how many milliseconds.
    pub cut: Option<(String, u64)>,
    /// The way, step by step.
    pub steps: Vec<String>,
    /// What may lead elsewhere.
    pub open: Vec<String>,
    /// What stands on the way and is not known here.
    pub unknown: Vec<String>,
    /// Causes: a name, and why.
    pub causes: Vec<(&'static str, String)>,
    /// What else is of interest.
    pub notes: Vec<String>,
}

/// Chains that are followed at most.
pub(super) const MOST_CHAINS: usize = 200;

/// Finds it.
///
/// # Errors
/// One line: no router serves the path, several hosts could be meant, a rule cannot be read.
pub fn way(whole: &Value, request: &Request<'_>) -> Result<Way, String> {
    if !request.path.starts_with('/') {
        return Err(format!("{:?} is no path: a path starts with `/`", request.path));
    }
    let mut way = Way::default();
    let path = request.path.split(['?', '#']).next().unwrap_or_default();
    let routers = at(whole, &["http", "routers"]).and_then(Value::as_object);
    let Some(routers) = routers else {
        way.open.push("no routers stand in it: give the file provider's file as well".into());
        entry_points(whole, None, request.port, &mut way);
        return Ok(way);
    };
    let mut hosts: Vec<String> =
        routers.values().flat_map(|router| rule::hosts(word(router, &["rule"]))).collect();
    hosts.sort_unstable();
    hosts.dedup();
    way.host = match (request.host, &hosts[..]) {
        (Some(host), _) => Some(host.split(':').next().unwrap_or_default().to_ascii_lowercase()),
        (None, [only]) => Some(only.clone()),
        (None, _) => None,
    };
    // Chat services are asked by POST; `EventSource` asks by GET.
    let host = way.host.clone();
    let asked = Asked { path, host: host.as_deref(), method: "POST" };
    let other = Asked { method: "GET", ..asked };
    let mut ranked: Vec<(&String, &Value)> = routers.iter().collect();
    ranked.sort_by_key(|(_, router)| std::cmp::Reverse(priority(router)));
    let mut redirects = None;
    let mut chosen = None;
    for (name, router) in ranked {
        if !listens(whole, router, request.port) {
            continue;
        }
        let rule = word(router, &["rule"]);
        let wrong = |why| format!("router {name}: {why}");
        let answers = rule::holds(rule, &asked).map_err(wrong)?;
        if answers != rule::holds(rule, &other).map_err(wrong)? {
            way.open.push(match answers {
                Some(true) => format!("router {name} ({rule}) answers a POST, as here; not a GET"),
                _ => format!("router {name} ({rule}) answers a GET; here it is a POST"),
            });
        }
        match answers {
            Some(false) => {}
            None if way.host.is_none() && !rule::hosts(rule).is_empty() => {
                return Err(format!(
                    "several hosts could be meant: say --host: {}",
                    hosts.join("; ")
                ));
            }
            None => way.open.push(format!("router {name} ({rule}) is taken not to match")),
            Some(true) if redirecting(whole, router) => {
                way.steps.push(format!("router {name} ({rule}) only redirects: not meant"));
                redirects = redirects.or(Some((name, router)));
            }
            Some(true) => {
                chosen = Some((name, router));
                break;
            }
        }
    }
    let Some((name, router)) = chosen.or(redirects) else {
        let all =
            routers.iter().take(8).map(|(name, own)| format!("{name} {}", word(own, &["rule"])));
        return Err(format!("no router serves {path}: {}", all.collect::<Vec<_>>().join("; ")));
    };
    way.router = Some(name.clone());
    let rule = word(router, &["rule"]);
    way.steps.push(format!("router {name} answers: {rule}, priority {}", priority(router)));
    entry_points(whole, Some(router), request.port, &mut way);
    for own in list(router, &["middlewares"]).iter().filter_map(Value::as_str) {
        follow(whole, own, false, &mut Vec::new(), &mut way);
    }
    service(whole, word(router, &["service"]), &mut way);
    Ok(way)
}

/// Longer rules go first, unless one says otherwise.
pub(super) fn priority(router: &Value) -> i64 {
    let own = field(router, "priority").and_then(Value::as_i64).filter(|own| *own != 0);
    let length = word(router, &["rule"]).len();
    own.unwrap_or_else(|| i64::try_from(length).unwrap_or(i64::MAX))
}

/// The entry points of a router, as far as the files say; all of them where it names none.
fn points<'v>(whole: &'v Value, router: Option<&Value>) -> Vec<(&'v String, &'v Value)> {
    let own = router.map_or(&[][..], |router| list(router, &["entryPoints"]));
    let known = field(whole, "entryPoints").and_then(Value::as_object);
    let named = |name: &str| own.is_empty() || own.iter().any(|own| own.as_str() == Some(name));
    known.into_iter().flatten().filter(|(name, _)| named(name)).collect()
}

fn at_port(point: &Value, port: Option<u16>) -> bool {
    let address = word(point, &["address"]).split('/').next().unwrap_or_default();
    port.is_none_or(|port| address.ends_with(&format!(":{port}")))
}

fn listens(whole: &Value, router: &Value, port: Option<u16>) -> bool {
    let points = points(whole, Some(router));
    points.is_empty() || points.iter().any(|(_, point)| at_port(point, port))
}

/// What entry points do to every answer that goes by them.
fn entry_points(whole: &Value, router: Option<&Value>, port: Option<u16>, way: &mut Way) {
    for (name, point) in points(whole, router) {
        if !at_port(point, port) {
            continue;
        }
        way.steps.push(format!("entry point {name} at {}", word(point, &["address"])));
        let write = at(point, &["transport", "respondingTimeouts", "writeTimeout"]);
        if let Some(ms) = write.and_then(super::limit) {
            way.cut = Some((name.clone(), ms));
            way.causes.push((
                "writeTimeout",
                format!(
                    "entry point {name} ends every answer {} after its request (measured: cut off \
                     in the middle)",
                    shown(ms)
                ),
            ));
        }
        for own in list(point, &["http", "middlewares"]).iter().filter_map(Value::as_str) {
            follow(whole, own, true, &mut Vec::new(), way);
        }
    }
}

fn redirecting(whole: &Value, router: &Value) -> bool {
    list(router, &["middlewares"]).iter().filter_map(Value::as_str).any(|own| {
        let own = middleware(whole, own).map(|(_, own)| own);
        own.is_some_and(|own| {
            field(own, "redirectScheme").is_some() || field(own, "redirectRegex").is_some()
        })
    })
}

fn middleware<'v>(whole: &'v Value, name: &str) -> Option<(&'v String, &'v Value)> {
    let plain = name.strip_suffix("@file").unwrap_or(name);
    let all = at(whole, &["http", "middlewares"])?.as_object()?;
    all.iter().find(|(own, _)| *own == plain)
}

/// One middleware, or those of a chain that was not followed yet: chains that name chains twice
/// would multiply, and one that names itself would not end.
fn follow<'v>(
    whole: &'v Value,
    name: &str,
    of_entry_point: bool,
    chains: &mut Vec<&'v str>,
    way: &mut Way,
) {
    let Some((plain, own)) = middleware(whole, name) else {
        way.unknown.push(format!("middleware {name} stands elsewhere: what it does is not known"));
        return;
    };
    if let Some(chain) = field(own, "chain") {
        if chains.contains(&plain.as_str()) {
            return;
        }
        if chains.len() == MOST_CHAINS {
            way.unknown.push(format!("{name} is one chain too many: it is not followed"));
            return;
        }
        chains.push(plain);
        for next in list(chain, &["middlewares"]).iter().filter_map(Value::as_str) {
            follow(whole, next, of_entry_point, chains, way);
        }
        return;
    }
    if way.middlewares.contains(plain) {
        return;
    }
    way.middlewares.push(plain.clone());
    let Some((kind, value)) = own.as_object().and_then(|own| own.iter().next()) else { return };
    way.steps.push(format!("middleware {plain}: {kind}"));
    match kind.to_ascii_lowercase().as_str() {
        "buffering" => {
            way.holding.push(plain.clone());
            if of_entry_point {
                way.of_entry_point.push(plain.clone());
            }
            way.causes.push((
                "buffering",
                format!(
                    "middleware {plain} reads the whole answer before it passes any of it on, \
                     whichever of its limits is set (measured)"
                ),
            ));
            if let Some(bytes) = field(value, "maxRequestBodyBytes").and_then(Value::as_i64) {
                way.notes.push(format!(
                    "{plain} limits requests to {bytes} bytes: without it the origin has to"
                ));
            }
        }
        "compress" => way.notes.push(format!(
            "{plain} compresses event streams and is live: each piece is flushed, whatever \
             minResponseBodyBytes says (measured on 3.7.13; older versions were not)"
        )),
        "errors" => way.notes.push(format!(
            "{plain} puts pages in the place of failed answers; others pass it live (measured)"
        )),
        "retry" => way.notes.push(format!("{plain} is live (measured)")),
        "plugin" => way.unknown.push(format!("{plain} is a plugin: what it does is not known")),
        "replacepath" | "replacepathregex" | "stripprefix" | "stripprefixregex" | "addprefix" => {
            way.notes.push(format!("{plain} changes the path on its way to the origin"));
        }
        _ => {}
    }
}

fn service(whole: &Value, name: &str, way: &mut Way) {
    let plain = name.strip_suffix("@file").unwrap_or(name);
    let Some(own) = at(whole, &["http", "services"]).and_then(|all| all.get(plain)) else {
        way.open.push(format!("service {name} stands elsewhere"));
        return;
    };
    let balancer = field(own, "loadBalancer");
    let servers = balancer.map_or(&[][..], |balancer| list(balancer, &["servers"]));
    let to: Vec<String> =
        servers.iter().map(|server| secret::text(word(server, &["url"]))).collect();
    way.steps.push(format!("service {plain}: {}", to.join(" ")));
    let Some(balancer) = balancer else { return };
    if let Some(interval) = at(balancer, &["responseForwarding", "flushInterval"]) {
        way.notes.push(format!(
            "responseForwarding.flushInterval {} does not hold event streams, which are flushed at \
             once (measured); lines of JSON wait for it",
            millis(interval).map_or_else(|| interval.to_string(), shown)
        ));
    }
    let transport = word(balancer, &["serversTransport"]);
    if !transport.is_empty() {
        way.notes.push(format!(
            "serversTransport {transport}: its time limits end no stream that has begun (measured)"
        ));
    }
}

/// Milliseconds as people say them.
pub(super) fn shown(ms: u64) -> String {
    match ms % 1000 {
        0 => format!("{} s", ms / 1000),
        _ => format!("{ms} ms"),
    }
}
