//! What is asked of a configuration, by the command or by the page, and why it has no answer.

use std::fmt;
use std::path::PathBuf;

use config_reader::Product;
use config_reader::nginx::Version;
use serde_json::{Value, json};

use super::cli::Configuration;
use crate::exit::{Exit, Problem};
use crate::interrupt::Interrupt;

/// A configuration and a request.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// Whose it is.
    pub(crate) product: Product,
    /// The text.
    pub(crate) text: String,
    /// The file it came from, where it came from one: what it names beside itself lies there.
    pub(crate) file: Option<PathBuf>,
    /// The stream's path.
    pub(crate) path: String,
    /// The host's name.
    pub(crate) host: Option<String>,
    /// The port.
    pub(crate) port: Option<u16>,
    /// The version that runs it.
    pub(crate) version: Option<Version>,
}

impl Question {
    /// What the command asks of a file's text.
    pub(super) fn of(own: &Configuration, file: &std::path::Path, text: String) -> Question {
        let product = match (&own.nginx_config, &own.caddyfile) {
            (Some(_), _) => Product::Nginx,
            (_, Some(_)) => Product::Caddy,
            _ if own.envoy_config.is_some() => Product::Envoy,
            _ if !own.traefik_config.is_empty() => Product::Traefik,
            _ => Product::Haproxy,
        };
        Question {
            product,
            text,
            file: Some(file.into()),
            path: own.path.clone().unwrap_or_else(|| "/".into()),
            host: own.host.clone(),
            port: own.port,
            version: own.nginx_version.or(own.caddy_version),
        }
    }
}

/// How a proof is made: what ends it, and who is told how far it is.
pub(crate) struct Proving<'a> {
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) tell: &'a (dyn Fn(Progress) + Sync),
}

/// How far a proof is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The proxies are started.
    Starting,
    /// So many runs of so many are done.
    Runs(u32, u32),
}

/// One of several that could be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) shown: String,
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
}

/// A line of the text that is at fault. It is masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// Within the whole text, from 1.
    pub(crate) line: usize,
    /// From 1; absent where the whole line is meant.
    pub(crate) column: Option<usize>,
    pub(crate) text: String,
}

/// What of the question is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// The configuration.
    Text,
    /// The path.
    Path,
    /// Host or port.
    Host,
    /// The version.
    Version,
    /// Nothing of it.
    Nothing,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) problem: Problem,
    pub(crate) about: About,
    pub(crate) spot: Option<Spot>,
    pub(crate) choices: Vec<Choice>,
}

impl Fault {
    pub(super) fn new(exit: Exit, about: About, line: impl fmt::Display) -> Fault {
        let mut problem = Problem::usage(line);
        problem.exit = exit;
        Fault { problem, about, spot: None, choices: Vec::new() }
    }

    /// A fault of the text.
    pub(crate) fn text(line: impl fmt::Display) -> Fault {
        Fault::new(Exit::Usage, About::Text, line)
    }

    pub(super) fn at(mut self, spot: Option<Spot>) -> Fault {
        self.spot = spot;
        self
    }

    pub(super) fn choices(mut self, choices: Vec<Choice>) -> Fault {
        self.choices = choices;
        self
    }

    /// For the page.
    pub(crate) fn json(&self, said: &str) -> Value {
        let spot = self
            .spot
            .as_ref()
            .map(|spot| json!({ "line": spot.line, "column": spot.column, "text": spot.text }));
        let choices = self.choices.iter().map(
            |choice| json!({ "shown": choice.shown, "host": choice.host, "port": choice.port }),
        );
        let about = match self.about {
            About::Text => "text",
            About::Path => "path",
            About::Host => "host",
            About::Version => "version",
            About::Nothing => "nothing",
        };
        json!({ "error": said, "about": about, "spot": spot,
                "choices": choices.collect::<Vec<Value>>() })
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Fault {
        Fault { problem, about: About::Nothing, spot: None, choices: Vec::new() }
    }
}

/// A line of a text, from 1, as it may be shown.
pub(super) fn spot(text: &str, line: usize, column: Option<usize>) -> Option<Spot> {
    let own = text.lines().nth(line.checked_sub(1)?)?;
    Some(Spot { line, column, text: shortened(&config_reader::secret::line(own)) })
}

/// Characters of a line that are shown at most: a line of a minified file says nothing.
const MOST_SHOWN: usize = 200;

pub(super) fn shortened(line: &str) -> String {
    let mut shown: String = line.chars().take(MOST_SHOWN).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    shown
}
