//! A route of the configuration made to run alone in a scratch folder.

use std::collections::BTreeSet;

use super::parse::{Line, Tree};
use super::route::Route;
use super::secret;
use crate::Moved;

/// Statements that reach outside or need what only the person's machine has.
const OUT: &[&str] = &[
    "log",
    "bind",
    "server",
    "server-template",
    "stats",
    "errorfile",
    "errorfiles",
    "email-alert",
    "filter",
    "use-server",
    "cookie",
    "stick",
    "stick-table",
    "default-server",
    "http-check",
    "unique-id-format",
    "unique-id-header",
    "source",
    "dispatch",
    "monitor-uri",
    "monitor-net",
];

/// Where it runs.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Where it listens: an address, or what stands for one.
    pub listen: &'a str,
    /// Where every request is passed on to.
    pub upstream: &'a str,
    /// Which path the origin is asked for.
    pub path: Path<'a>,
}

/// Which path the origin is asked for, and by which one conditions are decided.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// What the client asks for; nothing is changed.
    Asked,
    /// Always this one.
    Always(&'a str),
    /// What the client asks for; in between it is this one.
    Between(&'a str),
}

/// A configuration that can be run.
#[derive(Clone, Debug, Default)]
pub struct Sandbox {
    /// The text.
    pub text: String,
    /// What was taken out or put in another's place, each once.
    pub changed: BTreeSet<String>,
    /// The same, each with its place.
    pub moved: Vec<Moved>,
    /// Where each line of the text comes from; empty for those that are not the configuration's.
    pub places: Vec<String>,
}

impl Sandbox {
    fn push(&mut self, place: &str, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
        self.places.push(place.into());
    }

    fn replaced(&mut self, line: &Line, new: String) {
        let place = format!("line {}", line.number);
        self.moved.push(Moved { place, old: secret::line(&line.words), new });
    }
}

impl Tree {
    /// The route alone; `refused` are lines that the HAProxy at hand does not take.
    pub fn sandbox(&self, route: &Route, place: Place<'_>, refused: &BTreeSet<String>) -> Sandbox {
        let mut out = Sandbox::default();
        for line in ["global", "    nbthread 1", "    maxconn 1000"] {
            out.push("", line);
        }
        out.changed.insert("the global section, other frontends and backends are left out".into());
        let mut wanted: Vec<usize> = Vec::new();
        for side in [route.frontend, route.backend] {
            let mut next = Some(side);
            while let Some(index) = next {
                wanted.push(index);
                next = self.sections[index].defaults;
            }
        }
        for (index, section) in self.sections.iter().enumerate() {
            if !wanted.contains(&index) {
                out.replaced(&section.head, String::new());
                continue;
            }
            out.push(&format!("line {}", section.head.number), &section.head.words.join(" "));
            if index == route.frontend {
                out.push("", &format!("    bind {}", place.listen));
                if let Path::Between(path) = place.path {
                    out.push("", "    http-request set-var(txn.holdup) path");
                    out.push("", &format!("    http-request set-path {path}"));
                }
            }
            for line in &section.lines {
                self.line_of(line, place, refused, &mut out);
            }
            if index == route.frontend && route.frontend != route.backend {
                let backend = &self.sections[route.backend].name;
                out.push("", &format!("    default_backend {backend}"));
            }
            if index == route.backend {
                match place.path {
                    Path::Asked => {}
                    Path::Always(path) => {
                        out.push("", &format!("    http-request set-path {path}"));
                    }
                    Path::Between(_) => {
                        out.push("", "    http-request set-path %[var(txn.holdup)]");
                    }
                }
                out.push("", &format!("    server emitter {}", place.upstream));
            }
        }
        out
    }

    fn line_of(
        &self,
        line: &Line,
        place: Place<'_>,
        refused: &BTreeSet<String>,
        out: &mut Sandbox,
    ) {
        let first = line.words[0].as_str();
        let written = self.text[line.span.clone()].trim();
        // HAProxy knows escapes and variables that are not followed here: such a word may be any.
        let disguised = !written.starts_with(first);
        let reaches = OUT.contains(&first)
            || disguised
            || line.words.iter().any(|word| word == "httpchk" || word == "lua");
        if reaches {
            out.changed.insert(format!("{first} is left out or in the emitter's place"));
            out.replaced(
                line,
                match first {
                    "bind" => format!("bind {}", place.listen),
                    "server" | "server-template" => format!("server emitter {}", place.upstream),
                    _ => String::new(),
                },
            );
            return;
        }
        // The way was decided by reading; it leads to one backend here.
        let routes = matches!(first, "use_backend" | "default_backend");
        if routes || line.words.iter().any(|word| word == "ssl_fc" || word == "!ssl_fc") {
            return;
        }
        if !refused.contains(written) {
            out.push(&format!("line {}", line.number), &format!("    {written}"));
        }
    }
}
