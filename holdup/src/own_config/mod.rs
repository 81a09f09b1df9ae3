//! A configuration of somebody's own, measured as one more endpoint: where it listens and what it
//! leads to are put in their places, and what is changed in it is said before anything runs.

mod caddy;
mod haproxy;
mod lines;
mod nginx;
mod refusal;
mod traefik;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use config_reader::{Moved, secret};
use measure::cell::DIRECT;
use measure::results::Document;
use proxies::{OwnConfig, Proxies};

use crate::cli;
use crate::exit::Problem;

pub(crate) use refusal::refusal;

/// Bytes that are read at most: one more than the reader itself takes, so that it is the reader
/// that refuses.
const MOST_BYTES: u64 = config_reader::nginx::source::MOST_BYTES as u64 + 1;

/// The path that streams are asked for at.
const STREAM: &str = "/stream";

/// What may stand between two pairs of braces.
const KNOWN: [&str; 12] = [
    "listen",
    "listen_host",
    "listen_port",
    "upstream",
    "upstream_host",
    "upstream_port",
    "admin",
    "admin_host",
    "admin_port",
    "scratch",
    "user",
    "group",
];

/// Whose configuration it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Nginx,
    Haproxy,
    Caddy,
    Traefik,
    Envoy,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Nginx, Kind::Haproxy, Kind::Caddy, Kind::Traefik, Kind::Envoy];

    /// The engine's name.
    fn name(self) -> &'static str {
        match self {
            Kind::Nginx => "nginx",
            Kind::Haproxy => "haproxy",
            Kind::Caddy => "caddy",
            Kind::Traefik => "traefik",
            Kind::Envoy => "envoy",
        }
    }
}

/// A file that was asked for: `nginx=FILE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    kind: Kind,
    file: PathBuf,
}

impl FromStr for Asked {
    type Err = String;
    fn from_str(text: &str) -> Result<Asked, String> {
        let known = || Kind::ALL.map(Kind::name).join(", ");
        let (engine, file) = text
            .split_once('=')
            .filter(|(_, file)| !file.is_empty())
            .ok_or("it is ENGINE=FILE, such as nginx=nginx.conf")?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.name() == engine).ok_or_else(|| {
            format!("no engine takes a configuration by the name {engine:?}: there are {}", known())
        })?;
        Ok(Asked { kind, file: file.into() })
    }
}

/// A text that can be run, and what was changed in it.
#[derive(Debug, Default)]
struct Prepared {
    template: String,
    /// As [`OwnConfig::places`] has it.
    places: Vec<String>,
    moved: Vec<Moved>,
    /// What else is worth a line.
    notes: Vec<String>,
}

/// The names of the endpoints, in the order in which the files were asked for.
pub(crate) fn names(asked: &[Asked]) -> Vec<String> {
    let mut before: BTreeMap<Kind, usize> = BTreeMap::new();
    let name = |asked: &Asked| {
        let count = before.entry(asked.kind).or_default();
        *count += 1;
        match count {
            1 => format!("{}-own", asked.kind.name()),
            count => format!("{}-own-{count}", asked.kind.name()),
        }
    };
    asked.iter().map(name).collect()
}

/// The endpoints of a command line: with own configurations, those and, where no endpoint is named,
/// the stock ones of their engines.
pub(crate) fn endpoints(options: &cli::Rig) -> Vec<String> {
    let mut endpoints = options.endpoints.clone();
    if endpoints.is_empty() {
        for asked in &options.own_config {
            let stock = asked.kind.name().to_string();
            if !endpoints.contains(&stock) {
                endpoints.push(stock);
            }
        }
    }
    endpoints.extend(names(&options.own_config));
    endpoints
}

/// Whether own configurations were all that was asked for, and none of them started.
pub(crate) fn only_refused(options: &cli::Rig, document: &Document) -> bool {
    let names = names(&options.own_config);
    let failed = |name: &String| {
        document.endpoints.iter().any(|own| own.name == *name && own.failed.is_some())
    };
    !names.is_empty()
        && options.endpoints.iter().all(|name| name == DIRECT)
        && names.iter().all(failed)
}

/// Reads the files, says what is changed in each, and adds them to the endpoints.
pub(crate) fn add(proxies: &mut Proxies, options: &cli::Rig) -> Result<(), Problem> {
    if let Some(path) = &options.own_path {
        let plain = |char: char| char.is_ascii_alphanumeric() || "/-_.~".contains(char);
        if !path.starts_with('/') || !path.chars().all(plain) {
            return Err(Problem::usage(format!(
                "--own-path {path:?} is no plain path: it starts with `/`, and has letters, digits and -_.~ in it"
            )));
        }
    }
    for (asked, name) in options.own_config.iter().zip(names(&options.own_config)) {
        let file = asked.file.display().to_string();
        let at = |problem: Problem| {
            let line = secret::text(&format!("{file}: {problem}"));
            let mut named = Problem::usage(line);
            named.exit = problem.exit;
            named
        };
        let text = read(&asked.file)?;
        let prepared = prepare(asked.kind, &text, options.own_path.as_deref()).map_err(at)?;
        eprintln!("{name}: {}", said(&file, &prepared));
        for moved in &prepared.moved {
            eprintln!("  {}", secret::text(&moved.to_string()));
        }
        for note in &prepared.notes {
            eprintln!("  {}", secret::text(note));
        }
        let own = OwnConfig { file, template: prepared.template, places: prepared.places };
        let name = name.parse().map_err(Problem::usage)?;
        proxies.add_own(asked.kind.name(), name, own).map_err(Problem::usage)?;
    }
    Ok(())
}

fn said(file: &str, prepared: &Prepared) -> String {
    match prepared.moved.len() {
        0 => format!("{file} runs as it is"),
        _ => format!("{file} runs in a scratch folder, with these lines changed:"),
    }
}

/// The text with placeholders in it, the person's own or in the place of what is plain to see.
fn prepare(kind: Kind, text: &str, own_path: Option<&str>) -> Result<Prepared, Problem> {
    let listen = has(text, "listen");
    let upstream = has(text, "upstream");
    if own_path.is_some() && !matches!(kind, Kind::Nginx | Kind::Haproxy) {
        return Err(Problem::usage("--own-path is for configurations of nginx and haproxy"));
    }
    if listen != upstream && kind != Kind::Traefik {
        let (is, misses) =
            if listen { ("{{listen}}", "{{upstream}}") } else { ("{{upstream}}", "{{listen}}") };
        return Err(Problem::usage(format!(
            "it has {is} but not {misses}: put {misses} in its place, too"
        )));
    }
    unknown(text)?;
    let placed = listen || upstream;
    if placed && own_path.is_some() {
        return Err(Problem::usage(
            "--own-path is for files without placeholders: lead /stream to where it belongs instead",
        ));
    }
    match kind {
        Kind::Nginx if placed => Ok(nginx::placed(text)),
        Kind::Nginx => nginx::plain(text, own_path),
        Kind::Haproxy if placed => Ok(haproxy::placed(text)),
        Kind::Haproxy => haproxy::plain(text, own_path),
        Kind::Caddy => caddy::prepare(text, placed),
        Kind::Traefik => traefik::prepare(text, placed),
        Kind::Envoy if placed => Ok(Prepared { template: text.into(), ..Prepared::default() }),
        Kind::Envoy => Err(Problem::usage(
            "put {{listen_host}} and {{listen_port}} where it listens, and {{upstream_host}} and {{upstream_port}} where its cluster's endpoint stands",
        )),
    }
}

/// Whether one of the placeholders of an address is there.
fn has(text: &str, name: &str) -> bool {
    ["", "_host", "_port"].iter().any(|part| text.contains(&format!("{{{{{name}{part}}}}}")))
}

/// Refuses what looks like a placeholder and is none.
fn unknown(text: &str) -> Result<(), Problem> {
    for (index, line) in text.lines().enumerate() {
        for behind in line.split("{{").skip(1) {
            let name = behind.split_once("}}").map_or(behind, |(name, _)| name);
            if !KNOWN.contains(&name) {
                let name: String = name.chars().take(40).collect();
                return Err(Problem::usage(format!(
                    "line {}: `{{{{{name}` is no placeholder: there are {}",
                    index + 1,
                    KNOWN.join(", ")
                )));
            }
        }
    }
    Ok(())
}

/// The text of a configuration.
pub(crate) fn read(path: &Path) -> Result<String, Problem> {
    use std::io::Read as _;
    let problem = |error: std::io::Error| Problem::usage(format!("{}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(problem)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(problem)?;
    if bytes.len() as u64 == MOST_BYTES {
        let line = format!(
            "{}: {MOST_BYTES} bytes is the most that is read: is it a configuration?",
            path.display()
        );
        return Err(Problem::usage(line));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The whole text that ran, masked.
pub(crate) fn masked(engine: &str, text: &str) -> String {
    use config_reader::{haproxy, nginx};
    match engine {
        "nginx" => nginx::Tree::read(text)
            .map_or_else(|_| secret::text(text), |tree| secret::config(&tree)),
        "haproxy" => haproxy::Tree::read(text)
            .map_or_else(|_| secret::text(text), |tree| haproxy::secret::config(&tree)),
        _ => secret::text(text),
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.kind.name(), self.file.display())
    }
}
