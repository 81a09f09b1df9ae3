//! Traefik: the dynamic half, with a static half of ours before it.

use std::collections::BTreeSet;

use super::Prepared;
use super::lines::{self, Becomes};
use crate::exit::Problem;

/// Words of a static half.
const STATIC: [&str; 4] = ["entryPoints:", "providers:", "api:", "certificatesResolvers:"];

/// A dynamic configuration in YAML.
pub(super) fn prepare(text: &str, placed: bool) -> Result<Prepared, Problem> {
    if let Some(word) = STATIC.iter().find(|word| text.lines().any(|line| line.starts_with(*word)))
    {
        return Err(Problem::usage(format!(
            "{word} is of Traefik's static half, which is ours here: give the dynamic half, with http: and its routers and services"
        )));
    }
    if !text.lines().any(|line| line.trim_end() == "http:") {
        return Err(Problem::usage("there is no `http:` in it: give the dynamic half, as YAML"));
    }
    if placed {
        return Ok(Prepared { template: text.into(), ..Prepared::default() });
    }
    let value = |line: &str| {
        let line = line.trim().trim_start_matches("- ");
        let value = line.strip_prefix("url:")?;
        Some(value.trim().trim_matches(['"', '\'']).to_string())
    };
    let urls: BTreeSet<String> = text.lines().filter_map(value).collect();
    let rules = text.lines().filter(|line| line.trim().starts_with("rule:")).count();
    if urls.len() != 1 || rules != 1 {
        return Err(Problem::usage(format!(
            "{} routers and {} upstreams are in it: where there is not one of each, put http://{{{{upstream}}}} in as the url, and a rule that takes /stream",
            rules,
            urls.len()
        )));
    }
    let mut list: Option<usize> = None;
    Ok(lines::over_indented(text, |line, indent| {
        if let Some(depth) = list {
            if line.starts_with("- ") && indent >= depth {
                return Becomes::Out;
            }
            list = None;
        }
        let dash = if line.starts_with("- ") { "- " } else { "" };
        let bare = line.trim_start_matches("- ");
        if bare.starts_with("url:") {
            Becomes::Text(format!("{dash}url: \"http://{{{{upstream}}}}\""))
        } else if bare.starts_with("rule:") {
            Becomes::Text("rule: \"PathPrefix(`/`)\"".into())
        } else if bare.starts_with("entryPoints:") {
            list = Some(indent);
            Becomes::Out
        } else {
            Becomes::Same
        }
    }))
}
