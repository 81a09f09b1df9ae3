//! The same configuration made to run alone in a scratch folder: one server, on a loopback port,
//! with a given origin behind it. How answers flow is left as it is; what reaches outside is taken
//! out and said.

use std::collections::BTreeSet;

use super::known;
use super::site::Site;
use super::source::Source;
use super::token::quote;
use super::tree::Directive;
use super::version::Version;
use crate::Moved;
use crate::secret::written;

/// Where it runs.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Where it listens: an address, or what stands for one.
    pub listen: &'a str,
    /// What every `proxy_pass` leads to.
    pub upstream: &'a str,
    /// What the origin is asked for, in nginx's own words: path and query.
    pub uri: &'a str,
    /// The path by which a location is chosen, if not the one that is asked for.
    pub chosen_by: Option<&'a str>,
    /// The version whose defaults hold.
    pub version: Version,
}

/// A configuration that can be run.
#[derive(Clone, Debug)]
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

/// Directives that reach outside, by how their names begin.
const OUT: &[&str] = &[
    "access_log",
    "aio",
    "allow",
    "auth_",
    "client_body_temp_path",
    "daemon",
    "deny",
    "error_log",
    "fastcgi_temp_path",
    "geoip",
    "http2",
    "http3",
    "js_",
    "limit_conn",
    "limit_req",
    "load_module",
    "log_format",
    "lua_",
    "mirror",
    "modsecurity",
    "more_",
    "open_log_file_cache",
    "opentracing",
    "otel",
    "perl",
    "proxy_bind",
    "proxy_redirect",
    "proxy_ssl",
    "proxy_store",
    "proxy_temp_path",
    "quic",
    "real_ip",
    "resolver",
    "satisfy",
    "scgi_temp_path",
    "set_real_ip_from",
    "ssl",
    "thread_pool",
    "uwsgi_temp_path",
    "listen",
];

/// Those of them that begin like one but stay: limits of a zone are only its size.
const STAY: &[&str] = &["limit_req_zone", "limit_conn_zone"];

/// Whether a directive answers with a refusal or a redirect: what it lets pass is not known here.
fn refuses(directive: &Directive) -> bool {
    directive.name == "return" && directive.arg(0).is_some_and(|code| !code.starts_with('2'))
}

struct Writer<'a> {
    place: Place<'a>,
    source: &'a Source,
    /// Upstream blocks by name.
    groups: BTreeSet<String>,
    /// Heads of directives that this nginx does not take.
    refused: &'a BTreeSet<String>,
    out: String,
    changed: BTreeSet<String>,
    moved: Vec<Moved>,
    places: Vec<String>,
    /// The line at hand.
    at: String,
}

impl Site<'_> {
    /// Writes one server of the configuration for a scratch folder. `refused` are lines, as they
    /// stand in an earlier text of this kind, that the nginx at hand does not take.
    pub fn sandbox(&self, server: usize, place: Place<'_>, refused: &BTreeSet<String>) -> Sandbox {
        let http = if self.tree.is_fragment() { &self.tree.root } else { self.tree.http() };
        let named = |own: &&Directive| own.name == "upstream";
        let groups = http.iter().filter(named).filter_map(|own| own.arg(0)).map(String::from);
        let groups = groups.collect();
        let mut writer = Writer {
            place,
            source: &self.tree.source,
            groups,
            refused,
            out: String::new(),
            changed: BTreeSet::new(),
            moved: Vec::new(),
            places: Vec::new(),
            at: String::new(),
        };
        for directive in self.tree.root.iter().filter(|_| !self.tree.is_fragment()) {
            if !matches!(directive.name.as_str(), "http" | "events") {
                writer.out_of_it(directive);
            }
        }
        writer.out.push_str(
            "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr warn;\n\
             events { worker_connections 512; }\nhttp {\naccess_log off;\n\
             client_body_temp_path temp-body;\nproxy_temp_path temp-proxy;\n\
             fastcgi_temp_path temp-fastcgi;\nuwsgi_temp_path temp-uwsgi;\n\
             scgi_temp_path temp-scgi;\nroot nothing;\n",
        );
        writer.defaults(http);
        writer.places = vec![String::new(); writer.out.lines().count()];
        let others = self.servers.len() - 1;
        if others > 0 {
            writer.changed.insert(format!("{others} other server blocks are left out"));
        }
        for directive in http.iter().filter(|own| own.name != "root") {
            let own = std::ptr::eq(directive, self.servers[server].directive);
            if directive.name == "server" && !own {
                writer.out_of_it(directive);
                continue;
            }
            writer.directive(directive, 0);
        }
        writer.out.push_str("}\n");
        let Writer { out: text, changed, moved, places, .. } = writer;
        Sandbox { text, changed, moved, places }
    }
}

impl Writer<'_> {
    /// An older nginx's default that the one at hand no longer has.
    fn defaults(&mut self, http: &[Directive]) {
        let value = known::default("proxy_http_version", self.place.version);
        let said = http.iter().any(|own| own.name == "proxy_http_version");
        if let Some(value) = value.filter(|_| !said) {
            self.out.push_str(&format!("proxy_http_version {};\n", value.value));
        }
    }

    fn note(&mut self, what: impl Into<String>) {
        self.changed.insert(what.into());
    }

    /// Notes a directive that is not in the text.
    fn out_of_it(&mut self, directive: &Directive) {
        self.replaced(directive, String::new());
    }

    fn replaced(&mut self, directive: &Directive, new: String) {
        let place = self.source.line(directive.span.start);
        self.moved.push(Moved { place, old: written(directive), new });
    }

    fn line(&mut self, depth: usize, line: &str) {
        if self.refused.contains(line) {
            return;
        }
        // A quoted value may have several lines.
        let lines = line.matches('\n').count() + 1;
        self.places.extend(std::iter::repeat_n(self.at.clone(), lines));
        self.out.push_str(&"    ".repeat(depth));
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn directive(&mut self, directive: &Directive, depth: usize) {
        let name = directive.name.as_str();
        if OUT.iter().any(|out| name.starts_with(out)) && !STAY.contains(&name) {
            if name != "listen" {
                self.note(format!("{name} is left out"));
                self.out_of_it(directive);
            } else {
                self.replaced(directive, format!("listen {}", self.place.listen));
            }
            return;
        }
        if name == "if" && directive.children().iter().any(refuses) {
            self.note("conditions that refuse or redirect are left out");
            self.out_of_it(directive);
            return;
        }
        self.at = self.source.line(directive.span.start);
        let head = self.head(directive);
        let Some(block) = &directive.block else {
            self.line(depth, &format!("{head};"));
            return;
        };
        if block.foreign {
            self.note(format!("{name} is left out"));
            self.out_of_it(directive);
            return;
        }
        let open = format!("{head} {{");
        if self.refused.contains(&open) {
            return;
        }
        self.line(depth, &open);
        if name == "server" && depth == 0 {
            self.line(1, &format!("listen {};", self.place.listen));
            if let Some(path) = self.place.chosen_by {
                self.line(1, &format!("rewrite ^ {};", quote(path)));
            }
        }
        let group = name == "upstream";
        if group {
            self.line(depth + 1, &format!("server {};", self.place.upstream));
            self.note("upstreams are the emitter");
        }
        for child in &block.children {
            let elsewhere = matches!(child.name.as_str(), "server" | "resolver" | "sticky");
            if !(group && elsewhere) {
                self.directive(child, depth + 1);
            } else if child.name == "server" {
                self.replaced(child, format!("server {}", self.place.upstream));
            } else {
                self.out_of_it(child);
            }
        }
        self.line(depth, "}");
    }

    /// Name and arguments, the way out put in its place.
    fn head(&mut self, directive: &Directive) -> String {
        let first = directive.arg(0).unwrap_or_default();
        match directive.name.as_str() {
            "proxy_pass" => {
                let to = self.passed_on(first);
                self.note("every proxy_pass leads to the emitter");
                self.replaced(directive, format!("proxy_pass {to}"));
                format!("proxy_pass {to}")
            }
            "fastcgi_pass" | "uwsgi_pass" | "scgi_pass" | "grpc_pass" | "memcached_pass" => {
                self.note("other kinds of upstream lead nowhere");
                // The port that is for discarding.
                format!("{} 127.0.0.1:9", directive.name)
            }
            // nginx makes the folder, and gives one that is there to another user.
            name @ ("proxy_cache_path" | "fastcgi_cache_path" | "scgi_cache_path"
            | "uwsgi_cache_path") => {
                let kind = name.split('_').next().unwrap_or_default();
                let head = match kind {
                    "proxy" => format!("{name} cache"),
                    // Two kinds in one folder are refused.
                    _ => format!("{name} cache-{kind}"),
                };
                self.replaced(directive, head.clone());
                let rest = directive.values().skip(1).map(|value| format!(" {}", quote(value)));
                format!("{head}{}", rest.collect::<String>())
            }
            _ => {
                let words = directive.values().map(|value| format!(" {}", quote(value)));
                format!("{}{}", quote(&directive.name), words.collect::<String>())
            }
        }
    }

    /// The same group, or the emitter itself; variables keep the client's own query.
    fn passed_on(&self, url: &str) -> String {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let host = rest.split(['/', '$']).next().unwrap_or_default();
        let to = match self.groups.contains(host) {
            true => host.to_string(),
            false => self.place.upstream.to_string(),
        };
        format!("http://{to}{}", self.place.uri)
    }
}
