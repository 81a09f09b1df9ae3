//! Which frontend and backend a request takes, as far as plain conditions tell.

use super::parse::{Line, Section, Tree};
use crate::nginx::pattern::Pattern;
use crate::station::{Look, Station};

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// The path as a client sends it.
    pub path: &'a str,
    /// The host's name, where it is known.
    pub host: Option<&'a str>,
    /// The port, where it is known.
    pub port: Option<u16>,
}

/// Why no way can be told.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRouted {
    /// Several frontends, each with a port of its own.
    #[error("{} frontends could take it: say which with --port: {}", .0.len(), shown(.0))]
    ManyFrontends(Vec<(String, Option<u16>)>),
    /// None at the port.
    #[error("no frontend listens at port {0}")]
    NoPort(u16),
    /// No backend.
    #[error("no backend takes this path in {0}")]
    NoBackend(String),
    /// A backend that is not there.
    #[error("line {line}: there is no backend called {name}")]
    Unknown {
        /// From 1.
        line: usize,
        /// Its name.
        name: String,
    },
}

fn head(section: &Section, look: Look, why: &str) -> Station {
    Station::new(look, section.shown(), format!("line {}", section.head.number), why)
}

fn shown(frontends: &[(String, Option<u16>)]) -> String {
    frontends.iter().map(|(shown, _)| shown.as_str()).collect::<Vec<_>>().join("; ")
}

/// The way of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The frontend's place among the sections.
    pub frontend: usize,
    /// The backend's; the same for a `listen` section.
    pub backend: usize,
    /// What was looked at.
    pub steps: Vec<Station>,
    /// What may lead elsewhere and could not be followed.
    pub open: Vec<String>,
}

/// Yes, no, or what only a running HAProxy knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Yes,
    No,
    Open,
}

impl Known {
    fn not(self) -> Known {
        match self {
            Known::Yes => Known::No,
            Known::No => Known::Yes,
            Known::Open => Known::Open,
        }
    }

    fn and(self, other: Known) -> Known {
        match (self, other) {
            (Known::No, _) | (_, Known::No) => Known::No,
            (Known::Yes, Known::Yes) => Known::Yes,
            _ => Known::Open,
        }
    }

    fn or(self, other: Known) -> Known {
        self.not().and(other.not()).not()
    }
}

impl From<bool> for Known {
    fn from(yes: bool) -> Known {
        if yes { Known::Yes } else { Known::No }
    }
}

impl Tree {
    /// The way of a request.
    ///
    /// # Errors
    /// When frontend or backend cannot be told.
    pub fn route(&self, request: &Request<'_>) -> Result<Route, NotRouted> {
        let frontend = self.frontend(request)?;
        let mut route = Route { frontend, backend: frontend, steps: Vec::new(), open: Vec::new() };
        let section = &self.sections[frontend];
        let why = match request.port {
            Some(port) => format!("it listens at port {port}"),
            None => "no other takes requests".into(),
        };
        route.steps.push(head(section, Look::Server, &why));
        for line in &section.lines {
            let acts = ["redirect", "http-request", "http-after-response", "tcp-request"];
            let leads = line.words.iter().any(|word| {
                matches!(
                    word.as_str(),
                    "redirect"
                        | "deny"
                        | "return"
                        | "reject"
                        | "set-path"
                        | "replace-path"
                        | "set-uri"
                        | "replace-uri"
                        | "use-service"
                        | "auth"
                        | "tarpit"
                )
            });
            if acts.contains(&line.words[0].as_str()) && leads {
                let condition = self.condition(frontend, line, request);
                if condition != Known::No {
                    let may = if condition == Known::Yes {
                        "answers or changes"
                    } else {
                        "may answer or change"
                    };
                    let said = super::secret::line(&line.words);
                    route.open.push(format!("`{said}` (line {}) {may} the request", line.number));
                }
            }
        }
        for line in section.lines.iter().filter(|line| line.words[0] == "use_backend") {
            let name = line.words.get(1).cloned().unwrap_or_default();
            let said = super::secret::line(&line.words);
            let step =
                |look, why: &str| Station::new(look, &said, format!("line {}", line.number), why);
            match self.condition(frontend, line, request) {
                Known::No => {
                    route.steps.push(step(Look::Passed, "its condition does not hold for this path"));
                }
                Known::Open => route.open.push(format!(
                    "`{said}` (line {}) depends on more than path and host: it is taken not to apply",
                    line.number
                )),
                Known::Yes => {
                    route.steps.push(step(Look::Chosen, "its condition holds"));
                    route.backend = self.backend(&name, line)?;
                    let own = &self.sections[route.backend];
                    route.steps.push(head(own, Look::Chosen, "its servers answer"));
                    return Ok(route);
                }
            }
        }
        if let Some(line) = self.all(frontend, &["default_backend"]).last() {
            let name = line.words.get(1).cloned().unwrap_or_default();
            let (said, place) = (super::secret::line(&line.words), format!("line {}", line.number));
            route.steps.push(Station::new(Look::Chosen, said, place, "no use_backend applies"));
            route.backend = self.backend(&name, line)?;
            let own = &self.sections[route.backend];
            route.steps.push(head(own, Look::Chosen, "its servers answer"));
            return Ok(route);
        }
        match section.kind.as_str() {
            "listen" => Ok(route),
            _ => Err(NotRouted::NoBackend(section.shown())),
        }
    }

    fn backend(&self, name: &str, line: &Line) -> Result<usize, NotRouted> {
        let fits = |kind: &str| matches!(kind, "backend" | "listen");
        let found = self.sections.iter().position(|own| fits(&own.kind) && own.name == name);
        found.ok_or_else(|| NotRouted::Unknown { line: line.number, name: name.into() })
    }

    fn frontend(&self, request: &Request<'_>) -> Result<usize, NotRouted> {
        let mut found = Vec::new();
        for (index, section) in self.sections.iter().enumerate() {
            let accepts = matches!(section.kind.as_str(), "frontend" | "listen");
            let serves =
                section.kind == "frontend" || section.lines.iter().any(|l| l.words[0] == "server");
            let ports = section.ports();
            if accepts && serves && request.port.is_none_or(|port| ports.contains(&port)) {
                found.push(index);
            }
        }
        match found[..] {
            [] => Err(NotRouted::NoPort(request.port.unwrap_or_default())),
            [only] => Ok(only),
            _ => {
                let own = |index: &usize| {
                    let section = &self.sections[*index];
                    (section.shown(), section.ports().first().copied())
                };
                Err(NotRouted::ManyFrontends(found.iter().map(own).collect()))
            }
        }
    }

    /// The condition of a line; without one it always holds.
    fn condition(&self, section: usize, line: &Line, request: &Request<'_>) -> Known {
        let at = line.words.iter().position(|word| word == "if" || word == "unless");
        let Some(at) = at else { return Known::Yes };
        let mut any = Known::No;
        let mut all = Known::Yes;
        let mut words = line.words[at + 1..].iter().map(String::as_str);
        while let Some(word) = words.next() {
            if matches!(word, "||" | "or" | "OR") {
                any = any.or(all);
                all = Known::Yes;
                continue;
            }
            let (negated, word) = match word.strip_prefix('!') {
                Some("") => (true, words.next().unwrap_or_default()),
                Some(rest) => (true, rest),
                None => (false, word),
            };
            let holds = if word == "{" {
                let inner: Vec<&str> = words.by_ref().take_while(|word| *word != "}").collect();
                test(&inner, request)
            } else {
                self.named(section, word, request)
            };
            all = all.and(if negated { holds.not() } else { holds });
        }
        let holds = any.or(all);
        if line.words[at] == "unless" { holds.not() } else { holds }
    }

    /// A named condition: its lines are alternatives.
    fn named(&self, section: usize, name: &str, request: &Request<'_>) -> Known {
        match name {
            "TRUE" | "METH_GET" | "HTTP" => return Known::Yes,
            "FALSE" | "METH_POST" => return Known::No,
            _ => {}
        }
        let lines = self.levels(section).into_iter().flat_map(|level| &level.lines);
        let own = lines.filter(|line| line.begins(&["acl", name]));
        let tests: Vec<Known> = own
            .map(|line| {
                test(&line.words[2..].iter().map(String::as_str).collect::<Vec<_>>(), request)
            })
            .collect();
        if tests.is_empty() { Known::Open } else { tests.into_iter().fold(Known::No, Known::or) }
    }
}

/// One test of path or host.
fn test(words: &[&str], request: &Request<'_>) -> Known {
    let Some((fetch, mut rest)) = words.split_first() else { return Known::Open };
    let mut caseless = false;
    let mut method = None;
    while let Some(flag) = rest.first().filter(|word| word.starts_with('-')) {
        match *flag {
            "-i" => caseless = true,
            "-m" => {
                method = rest.get(1).copied();
                rest = &rest[1..];
            }
            "--" => {}
            _ => return Known::Open,
        }
        rest = &rest[1..];
    }
    let path = request.path.split(['?', '#']).next().unwrap_or_default();
    let host = request.host.map(|host| host.split(':').next().unwrap_or_default());
    let fetch = fetch.trim_start_matches("req.");
    let base = fetch.split('(').next().unwrap_or_default();
    let of_host = fetch.to_ascii_lowercase().contains("(host)");
    let (subject, suffix) = match base {
        "path" | "path_beg" | "path_end" | "path_sub" | "path_dir" | "path_reg" => {
            (Some(path), base.strip_prefix("path").unwrap_or_default())
        }
        "hdr" | "hdr_beg" | "hdr_end" | "hdr_sub" | "hdr_dom" | "hdr_reg" if of_host => {
            caseless = true;
            (host, base.strip_prefix("hdr").unwrap_or_default())
        }
        _ => return Known::Open,
    };
    let (Some(subject), true) = (subject, !fetch.contains(',')) else { return Known::Open };
    let method = method.unwrap_or(match suffix {
        "" => "str",
        suffix => &suffix[1..],
    });
    let mut known = Known::No;
    for pattern in rest {
        let (subject, pattern) = match caseless && method != "reg" {
            true => (subject.to_ascii_lowercase(), pattern.to_ascii_lowercase()),
            false => (subject.to_string(), pattern.to_string()),
        };
        let holds = match method {
            "str" => (subject == pattern).into(),
            "beg" => subject.starts_with(&pattern).into(),
            "end" => subject.ends_with(&pattern).into(),
            "sub" => subject.contains(&pattern).into(),
            "dir" => {
                let dir = format!("/{}/", pattern.trim_matches('/'));
                format!("{subject}/").contains(&dir).into()
            }
            "reg" => match Pattern::new(&pattern, caseless).matches(subject.as_bytes()) {
                Ok(matches) => matches.into(),
                Err(_) => Known::Open,
            },
            _ => Known::Open,
        };
        known = known.or(holds);
    }
    known
}
