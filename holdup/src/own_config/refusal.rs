//! What a proxy says of a configuration that it does not take, with the line of the person's file.

use std::sync::LazyLock;

use config_reader::secret;
use proxies::registry::Endpoint;
use proxies::{ProxyError, StartError};
use regex::Regex;

/// `/tmp/…/nginx.conf:12`, also in brackets; for Caddy's the name alone.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:[^\s\[\]'\x22]*/)?[\w.-]+\.?[\w-]*:(\d+)").expect("a pattern of ours")
});

/// One line: the file, its line, the proxy's own words.
pub(crate) fn refusal(endpoint: &Endpoint, error: &ProxyError) -> String {
    let name = &endpoint.name;
    let Some(own) = &endpoint.own else { return format!("{name}: {error}") };
    let ProxyError::Start(start @ (StartError::Ended { .. } | StartError::NotReady { .. })) = error
    else {
        let said = error.to_string().replace(endpoint.config.path, &own.file);
        return secret::text(&format!("{name}: {said}"));
    };
    let written = endpoint.companions.first().unwrap_or(&endpoint.config).file_name();
    let log = start.log();
    let about = |line: &&String| line.contains(&format!("{written}:"));
    let warns = |line: &&String| line.contains("[warn]") || line.contains("[WARNING]");
    let line = log
        .iter()
        .filter(about)
        .find(|line| !warns(line))
        .or_else(|| log.iter().rev().find(|line| !warns(line) && !line.trim().is_empty()));
    let Some(line) = line else { return secret::text(&format!("{name}: {error}")) };
    let said = PLACE.replace_all(line.trim(), |found: &regex::Captures<'_>| {
        let whole = &found[0];
        let number: Option<usize> = found[1].parse().ok();
        match number.filter(|_| whole.contains(&format!("{written}:"))) {
            Some(number) => match own.place(number) {
                place if place.is_empty() => format!("{} (a line of ours)", own.file),
                place => format!("{}, {place}", own.file),
            },
            None => whole.to_string(),
        }
    });
    let does = match start {
        StartError::Ended { .. } => "does not start",
        _ => "is not ready",
    };
    secret::text(&format!("{name} {does}: {said}"))
}
