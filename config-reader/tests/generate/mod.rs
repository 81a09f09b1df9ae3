//! Configurations by chance: few names and short ones, so that they get in each other's way.

use std::collections::BTreeSet;

use fastrand::Rng;

/// How long each location's own answer is.
pub(crate) const BODY: usize = 60;

const PARTS: &[&str] = &["a", "b", "ab", "A", "a.b", "c"];

const PATTERNS: &[&str] = &[
    "^/a",
    "b$",
    "^/a/b",
    "/b/",
    "^/(a|b)/",
    "^/(?!a)",
    "\\.b$",
    "^/a/?$",
    "[ab]{2}",
    "^/a+$",
    "^/.+/b\\b",
    "A",
    "^/(.)\\1",
    "^/c",
    "ab|c$",
    "^/[^/]+$",
    "/$",
    "(?<=a)b",
    "%",
    "^/a++b?$",
];

/// Writes configurations.
pub(crate) struct Generator<'a> {
    chance: &'a mut Rng,
    marker: usize,
}

/// Where a location would stand.
#[derive(Clone, Copy, PartialEq)]
enum Around<'a> {
    Server,
    Prefix(&'a str),
    Regex,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(chance: &'a mut Rng) -> Self {
        Self { chance, marker: 0 }
    }

    pub(crate) fn markers(&self) -> usize {
        self.marker
    }

    fn pick<'b>(&mut self, from: &[&'b str]) -> &'b str {
        from[self.chance.usize(..from.len())]
    }

    fn often(&mut self, of_ten: u32) -> bool {
        self.chance.u32(..10) < of_ten
    }

    /// Directives that inner levels inherit or replace.
    pub(crate) fn inherited(&mut self) -> String {
        let mut out = String::new();
        let value = self.chance.u32(..1_000);
        for name in ["X-A", "X-B", "X-C"] {
            for _ in 0..2 {
                if self.often(1) {
                    out.push_str(&format!(
                        "add_header {name} v{}{value} always;\n",
                        self.chance.u8(..)
                    ));
                }
            }
        }
        if self.often(1) {
            let rule = self.pick(&["on", "off", "merge"]);
            out.push_str(&format!("add_header_inherit {rule};\n"));
        }
        for (name, values) in [
            ("expires", &["100", "200", "off"][..]),
            ("default_type", &["text/html", "text/plain", "text/event-stream", "a/b"]),
            ("server_tokens", &["on", "off"]),
            ("gzip", &["on", "off"]),
            ("gzip_types", &["text/plain", "text/event-stream a/b", "*", "a/b"]),
            ("gzip_min_length", &["0", "50", "500"]),
            ("proxy_http_version", &["1.0", "1.1"]),
            (
                "proxy_set_header",
                &["X-P p1", "X-Q q1", "X-P p2", "Connection \"\"", "Connection x"],
            ),
        ] {
            if self.often(2) {
                let value = self.pick(values);
                out.push_str(&format!("{name} {value};\n"));
            }
        }
        out
    }

    /// A server of one name with locations.
    pub(crate) fn server(&mut self, name: &str, port: u16) -> String {
        let mut out = format!("server {{\nlisten 127.0.0.1:{port};\nserver_name {name};\n");
        if self.often(2) {
            out.push_str("merge_slashes off;\n");
        }
        out.push_str(&self.inherited());
        out.push_str(&format!("location @n {{ return 200 \"{:BODY$}\"; }}\n", "named;"));
        out.push_str(&self.locations(Around::Server, 0));
        out.push_str("}\n");
        out
    }

    fn locations(&mut self, around: Around<'_>, depth: usize) -> String {
        let mut out = String::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let count = if depth == 0 { 4 + self.chance.usize(..6) } else { self.chance.usize(..4) };
        for _ in 0..count {
            let regex = around == Around::Regex || self.often(4);
            if regex {
                let operator = self.pick(&["~", "~*"]);
                let pattern = self.pick(PATTERNS);
                out.push_str(&format!(
                    "location {operator} \"{}\" {{\n",
                    pattern.replace('\\', "\\\\")
                ));
                out.push_str(&self.inside(Around::Regex, depth));
                continue;
            }
            let start = match around {
                Around::Prefix(start) => start,
                _ => "",
            };
            let name = self.name(start);
            let exact = self.often(2);
            // A nested one of the same path is fine; twice in one level is not.
            if !taken.insert(format!("{exact}{name}")) {
                continue;
            }
            let operator = match exact {
                true => "= ",
                false if self.often(3) => "^~ ",
                false => "",
            };
            out.push_str(&format!("location {operator}{name} {{\n"));
            out.push_str(&match exact {
                true => format!("{}}}\n", self.content()),
                false => self.inside(Around::Prefix(&name), depth),
            });
        }
        out
    }

    fn name(&mut self, start: &str) -> String {
        let mut name = String::from(start);
        let parts =
            if start.is_empty() { 1 + self.chance.usize(..3) } else { self.chance.usize(..3) };
        if start.is_empty() && self.often(1) {
            return "/".into();
        }
        for _ in 0..parts {
            if !name.ends_with('/') && (name.is_empty() || self.often(7)) {
                name.push('/');
            }
            name.push_str(self.pick(PARTS));
        }
        if self.often(3) && !name.ends_with('/') {
            name.push('/');
        }
        name
    }

    fn inside(&mut self, around: Around<'_>, depth: usize) -> String {
        let mut out = self.content();
        if depth < 2 && self.often(3) {
            out.push_str(&self.locations(around, depth + 1));
        }
        out.push_str("}\n");
        out
    }

    /// What a location does, and what it says for itself and those in it.
    fn content(&mut self) -> String {
        let mut out = self.inherited();
        let marker = self.marker;
        self.marker += 1;
        out.push_str(&match self.chance.u32(..10) {
            0..5 => format!("return 200 \"{:BODY$}\";\n", format!("loc{marker};")),
            5..8 => format!("proxy_pass http://m{marker};\n"),
            8 => "try_files /none @n;\n".into(),
            _ => String::new(),
        });
        out
    }

    /// Servers of one port that only their names tell apart.
    pub(crate) fn names(&mut self, port: u16) -> String {
        let mut out = String::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        let default = self.chance.usize(..9);
        for index in 0..12 {
            let mut names = String::new();
            for _ in 0..2 {
                let name = match self.chance.u32(..8) {
                    0..2 => host(self.chance),
                    2 => format!("*.{}", host(self.chance)),
                    3 => format!(".{}", host(self.chance)),
                    4 => format!("{}.*", host(self.chance)),
                    5 => format!("~^{}", self.pick(&["a", "b\\\\.", "x", "A"])),
                    6 => format!("~{}$", self.pick(&["a", "test", "b\\\\.a"])),
                    _ => "\"\"".into(),
                };
                if taken.insert(name.trim_start_matches("*").into()) {
                    names.push_str(&format!(" \"{}\"", name.trim_matches('"')));
                }
            }
            let own = if names.is_empty() { String::new() } else { format!("server_name{names};") };
            let default = if index == default { " default_server" } else { "" };
            out.push_str(&format!(
                "server {{ listen 127.0.0.1:{port}{default}; {own} gzip off; return 200 \"server{index}\"; }}\n"
            ));
        }
        out
    }
}

/// A host's name.
pub(crate) fn host(chance: &mut Rng) -> String {
    let parts = ["a", "b", "x", "test"];
    let count = 1 + chance.usize(..3);
    (0..count).map(|_| parts[chance.usize(..parts.len())]).collect::<Vec<_>>().join(".")
}

/// A path as a client may send it.
pub(crate) fn path(chance: &mut Rng) -> String {
    let mut out = String::new();
    for _ in 0..1 + chance.usize(..4) {
        out.push_str(["/", "/", "/", "/", "/", "//", "/./", "/../", "%2F"][chance.usize(..9)]);
        let parts = ["a", "a", "b", "ab", "A", "a.b", "c", "%61", "aa", "%25", ""];
        out.push_str(parts[chance.usize(..parts.len())]);
    }
    if chance.u32(..10) < 3 {
        out.push('/');
    }
    if chance.u32(..10) < 1 {
        out.push_str("?q=/b");
    }
    if !out.starts_with('/') {
        out.insert(0, '/');
    }
    out
}
