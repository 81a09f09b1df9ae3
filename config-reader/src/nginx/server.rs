//! Which server answers: by the address it came in at, then by the host's name.

use super::pattern::{Pattern, Undecidable};
use super::tree::Directive;

/// Ports that a range may open at most; nginx itself opens them all.
const MOST_PORTS: u16 = 1_000;

/// An address that a server listens at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listen {
    /// `*`, an address, a name, or `unix:PATH`.
    pub host: String,
    /// The port; 0 for a unix socket.
    pub port: u16,
    /// Whether it says `default_server`.
    pub default: bool,
    /// Whether it says `ssl` or `quic`.
    pub tls: bool,
}

impl Listen {
    /// What tells addresses apart.
    pub fn address(&self) -> String {
        if self.port == 0 { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

/// A name of a server.
#[derive(Clone, Debug)]
pub enum Name {
    /// The name itself.
    Exact(String),
    /// `*.example.com`: what stands behind the star, with its dot.
    Leading(String),
    /// `.example.com`: the name without its dot, and all below it.
    Below(String),
    /// `www.example.*`: what stands before the star, with its dot.
    Trailing(String),
    /// `~...`.
    Regex(Box<Pattern>),
}

/// The listening addresses of a server block.
pub(super) fn listens(server: &[Directive]) -> Vec<Listen> {
    let mut found: Vec<Listen> = Vec::new();
    for directive in server.iter().filter(|directive| directive.name == "listen") {
        let Some(address) = directive.arg(0) else { continue };
        let has = |words: &[&str]| directive.values().skip(1).any(|value| words.contains(&value));
        let default = has(&["default_server", "default"]);
        let tls = has(&["ssl", "quic"]);
        for (host, port) in addresses(address) {
            found.push(Listen { host, port, default, tls });
        }
    }
    if found.is_empty() {
        // Started by root, which a server for people is.
        found.push(Listen { host: "*".into(), port: 80, default: false, tls: false });
    }
    found
}

fn addresses(text: &str) -> Vec<(String, u16)> {
    if text.starts_with("unix:") {
        return vec![(text.into(), 0)];
    }
    let (host, ports) = match text.rsplit_once(':') {
        // The colons of a bare IPv6 address stand in brackets.
        Some((host, ports)) if !ports.ends_with(']') => (host, ports),
        _ if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => ("*", text),
        _ => (text, "80"),
    };
    let host = match host {
        "" | "0.0.0.0" => "*",
        host => host,
    };
    let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
    match (first.parse::<u16>(), last.parse::<u16>()) {
        (Ok(first), Ok(last)) => (first..=last.min(first.saturating_add(MOST_PORTS)))
            .map(|port| (host.to_ascii_lowercase(), port))
            .collect(),
        _ => Vec::new(),
    }
}

/// The names of a server block.
pub(super) fn names(server: &[Directive]) -> Vec<Name> {
    let mut found = Vec::new();
    let directives = server.iter().filter(|directive| directive.name == "server_name");
    for name in directives.flat_map(Directive::values) {
        if let Some(pattern) = name.strip_prefix('~') {
            // nginx compares without regard to case if the pattern has a capital letter.
            let caseless = pattern.bytes().any(|byte| byte.is_ascii_uppercase());
            found.push(Name::Regex(Box::new(Pattern::new(pattern, caseless))));
            continue;
        }
        let lower = name.to_ascii_lowercase();
        if let Some(rest) = lower.strip_prefix("*.") {
            found.push(Name::Leading(format!(".{rest}")));
        } else if let Some(rest) = lower.strip_suffix(".*") {
            found.push(Name::Trailing(format!("{rest}.")));
        } else if let Some(rest) = lower.strip_prefix('.') {
            found.push(Name::Below(rest.into()));
        } else {
            found.push(Name::Exact(lower));
        }
    }
    if found.is_empty() {
        found.push(Name::Exact(String::new()));
    }
    found
}

/// A host as nginx compares it: lower case, without port and last dot.
pub fn host_name(host: &str) -> String {
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

/// The names of one address, as nginx sorts them in: a name that somebody has already is left
/// out, and `.example.com` is left out whole when `example.com` is taken.
#[derive(Default)]
struct Table<'n> {
    exact: Vec<(&'n str, usize)>,
    leading: Vec<(String, usize)>,
    trailing: Vec<(&'n str, usize)>,
    regex: Vec<(&'n Pattern, usize)>,
}

impl<'n> Table<'n> {
    fn of(servers: &[(&'n [Name], bool)]) -> Table<'n> {
        let mut table = Table::default();
        for (index, (names, _)) in servers.iter().enumerate() {
            for name in *names {
                table.add(name, index);
            }
        }
        table
    }

    fn add(&mut self, name: &'n Name, index: usize) {
        let taken = |exact: &[(&str, usize)], name: &str| exact.iter().any(|(own, _)| *own == name);
        let leading = match name {
            Name::Exact(name) if !taken(&self.exact, name) => {
                self.exact.push((name, index));
                return;
            }
            Name::Below(name) if !taken(&self.exact, name) => {
                self.exact.push((name, index));
                format!(".{name}")
            }
            Name::Leading(end) => end.clone(),
            Name::Trailing(start) => {
                if !taken(&self.trailing, start) {
                    self.trailing.push((start, index));
                }
                return;
            }
            Name::Regex(pattern) => {
                self.regex.push((pattern, index));
                return;
            }
            Name::Exact(_) | Name::Below(_) => return,
        };
        if !self.leading.iter().any(|(own, _)| *own == leading) {
            self.leading.push((leading, index));
        }
    }

    fn find(&self, host: &str) -> Result<Option<(usize, How)>, Undecidable> {
        if let Some((_, index)) = self.exact.iter().find(|(own, _)| *own == host) {
            return Ok(Some((*index, How::Exact)));
        }
        let below = |own: &str| host.len() > own.len() && host.ends_with(own);
        let leading = self.leading.iter().filter(|(own, _)| below(own));
        if let Some((_, index)) = leading.max_by_key(|(own, _)| own.len()) {
            return Ok(Some((*index, How::Wildcard)));
        }
        let above = |own: &str| host.len() > own.len() && host.starts_with(own);
        let trailing = self.trailing.iter().filter(|(own, _)| above(own));
        if let Some((_, index)) = trailing.max_by_key(|(own, _)| own.len()) {
            return Ok(Some((*index, How::Wildcard)));
        }
        for (pattern, index) in self.regex.iter().filter(|_| !host.is_empty()) {
            if pattern.matches(host.as_bytes())? {
                return Ok(Some((*index, How::Regex)));
            }
        }
        Ok(None)
    }
}

/// By what a server was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// One of its names is the host's.
    Exact,
    /// One with a star, or with a dot before it, fits.
    Wildcard,
    /// A regular expression fits.
    Regex,
    /// Nobody's name fits, and it is the address's default.
    Default,
    /// Nobody's name fits, and it stands first.
    First,
}

/// The server among those of one address that answers for a host: its place in the list, and by
/// what.
pub(super) fn choose(servers: &[(&[Name], bool)], host: &str) -> Result<(usize, How), Undecidable> {
    if let Some(found) = Table::of(servers).find(&host_name(host))? {
        return Ok(found);
    }
    let default = servers.iter().position(|(_, default)| *default);
    Ok(default.map_or((0, How::First), |place| (place, How::Default)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, expected) in [
            ("80", ("*", 80)),
            ("*:8080", ("*", 8080)),
            ("127.0.0.1", ("127.0.0.1", 80)),
            ("127.0.0.1:81", ("127.0.0.1", 81)),
            ("[::]:443", ("[::]", 443)),
            ("[::1]", ("[::1]", 80)),
            ("localhost:8000", ("localhost", 8000)),
            ("unix:/run/x.sock", ("unix:/run/x.sock", 0)),
        ] {
            assert_eq!(addresses(text), [(expected.0.to_string(), expected.1)], "{text}");
        }
        assert_eq!(addresses("8000-8002").len(), 3);
    }
}
