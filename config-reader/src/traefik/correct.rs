//! Traefik's files without what holds a stream: a router of the path's own, or the entry point.

use serde_json::{Value, json};

use super::way::{MOST_CHAINS, Way, priority};
use crate::structured::{at, field, set, table, word};

/// What comes of it.
#[derive(Clone, Debug)]
pub struct Corrected {
    /// All of it.
    pub whole: Value,
    /// What is new, with the tables it stands in.
    pub block: Value,
    /// What was done.
    pub lines: Vec<String>,
}

/// Corrects a configuration for a request's way.
pub fn correct(whole: &Value, way: &Way, path: &str) -> Corrected {
    let mut corrected = Corrected { whole: whole.clone(), block: json!({}), lines: Vec::new() };
    if let Some((name, _)) = &way.cut {
        let points = table(&mut corrected.whole, "entryPoints");
        if let Some(point) = points.get_mut(name) {
            let mut transport = Value::Object(table(point, "transport").clone());
            let timeouts = table(&mut transport, "respondingTimeouts");
            timeouts.retain(|key, _| !key.eq_ignore_ascii_case("writeTimeout"));
            timeouts.insert("writeTimeout".into(), "0s".into());
            set(point, "transport", transport.clone());
            table(&mut corrected.block, "entryPoints")
                .insert(name.clone(), json!({ "transport": transport }));
        }
        corrected.lines.push(format!("entry point {name} ends no answer by the clock"));
    }
    for name in &way.of_entry_point {
        let points = table(&mut corrected.whole, "entryPoints");
        for (point, own) in points.iter_mut() {
            let http = own.as_object_mut().and_then(|own| own.get_mut("http"));
            let Some(http) = http else { continue };
            let Some(list) = field(http, "middlewares").and_then(Value::as_array) else { continue };
            let plain = |own: &Value| {
                own.as_str().map(|own| own.strip_suffix("@file").unwrap_or(own) == name)
            };
            let kept: Vec<Value> =
                list.iter().filter(|own| plain(own) != Some(true)).cloned().collect();
            if kept.len() == list.len() {
                continue;
            }
            set(http, "middlewares", kept.clone().into());
            table(&mut corrected.block, "entryPoints")
                .insert(point.clone(), json!({ "http": { "middlewares": kept } }));
            corrected.lines.push(format!(
                "entry point {point} goes without {name}: a router cannot take it out for itself; \
                 name it in the routers that need it"
            ));
        }
    }
    let router = way.router.as_ref();
    let own = |name: &String| !way.of_entry_point.contains(name);
    if let (Some(name), true) = (router, way.holding.iter().any(own)) {
        for_path(&mut corrected, way, name, path);
    }
    corrected
}

/// A router of the stream's own before the one that answers, with what that one does but for
/// what holds.
fn for_path(corrected: &mut Corrected, way: &Way, name: &str, path: &str) {
    let Some(mut router) = at(&corrected.whole, &["http", "routers", name]).cloned() else {
        return;
    };
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let rule = word(&router, &["rule"]).to_owned();
    let of_router = |own: &&String| !way.holding.contains(own);
    let mut kept: Vec<Value> = Vec::new();
    let named = crate::structured::list(&router, &["middlewares"]);
    for own in named.iter().filter_map(Value::as_str) {
        let plain = own.strip_suffix("@file").unwrap_or(own);
        let all = at(&corrected.whole, &["http", "middlewares"]);
        let chain = all.and_then(|all| all.get(plain)).and_then(|own| field(own, "chain"));
        match chain {
            // A chain that holds nothing stays as it is.
            Some(_) if holds_none(&corrected.whole, plain, &way.holding) => kept.push(own.into()),
            Some(_) => {
                let inside = members(&corrected.whole, plain);
                kept.extend(inside.iter().filter(of_router).map(|own| own.clone().into()));
            }
            None if way.holding.iter().any(|held| held == plain) => {}
            None => kept.push(own.into()),
        }
    }
    let narrow = rule.contains(&format!("Path(`{path}`)"));
    let key = if narrow { name.to_owned() } else { format!("{name}-stream") };
    if !narrow {
        set(&mut router, "rule", format!("({rule}) && Path(`{path}`)").into());
        if field(&router, "priority").is_some() {
            let above = priority(&router).saturating_add(1);
            set(&mut router, "priority", above.into());
        }
    }
    match kept.is_empty() {
        true => drop(crate::structured::remove(&mut router, "middlewares")),
        false => set(&mut router, "middlewares", kept.into()),
    }
    corrected.lines.push(format!("router {key} serves {path} without {}", way.holding.join(", ")));
    let mut http = Value::Object(table(&mut corrected.whole, "http").clone());
    table(&mut http, "routers").insert(key.clone(), router.clone());
    set(&mut corrected.whole, "http", http);
    let mut routers = json!({});
    set(&mut routers, &key, router);
    table(&mut corrected.block, "http").insert("routers".into(), routers);
}

/// The middlewares of a chain, those of chains in it included, each chain once.
fn members(whole: &Value, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    collect(whole, name, &mut Vec::new(), &mut found);
    found
}

fn collect<'v>(whole: &'v Value, name: &'v str, chains: &mut Vec<&'v str>, into: &mut Vec<String>) {
    let own = at(whole, &["http", "middlewares"]).and_then(|all| all.get(name));
    let Some(chain) = own.and_then(|own| field(own, "chain")) else {
        into.push(name.to_owned());
        return;
    };
    if chains.contains(&name) || chains.len() == MOST_CHAINS {
        return;
    }
    chains.push(name);
    for own in crate::structured::list(chain, &["middlewares"]).iter().filter_map(Value::as_str) {
        collect(whole, own.strip_suffix("@file").unwrap_or(own), chains, into);
    }
}

fn holds_none(whole: &Value, name: &str, holding: &[String]) -> bool {
    !members(whole, name).iter().any(|own| holding.contains(own))
}
