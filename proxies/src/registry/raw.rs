//! `registry.toml` and `endpoints.toml` as they are written.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    Endpoint, Engine, Need, PinnedImage, PinnedSource, Ready, RegistryError, UpstreamProtocol,
    VersionCommand,
};
use crate::embedded;
use crate::names::{EndpointName, EngineName, Version};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEngines {
    pub(super) engine: BTreeMap<EngineName, RawEngine>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEndpoints {
    pub(super) endpoint: Vec<RawEndpoint>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEngine {
    version: Version,
    command: String,
    run: Vec<String>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    version_command: VersionCommand,
    ready: Ready,
    own_ready: Option<Ready>,
    #[serde(default)]
    needs: Vec<Need>,
    source: PinnedSource,
    image: Option<PinnedImage>,
}

impl RawEngine {
    pub(super) fn named(self, name: EngineName) -> Engine {
        Engine {
            name,
            version: self.version,
            command: self.command,
            run: self.run,
            environment: self.environment,
            version_command: self.version_command,
            own_ready: self.own_ready.unwrap_or(Ready::Connect {}),
            ready: self.ready,
            needs: self.needs,
            source: self.source,
            image: self.image,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawEndpoint {
    pub(super) name: EndpointName,
    pub(super) engine: EngineName,
    label: String,
    config: String,
    #[serde(default)]
    companions: Vec<String>,
    #[serde(default)]
    default: bool,
    #[serde(default)]
    tls: bool,
    #[serde(default)]
    http3: bool,
    #[serde(default)]
    upstream_protocol: UpstreamProtocol,
    pooled: Option<bool>,
}

impl RawEndpoint {
    pub(super) fn with_files(self) -> Result<Endpoint, RegistryError> {
        let file = |path: &String| {
            let found = embedded::FILES.iter().find(|file| file.path == path);
            found.cloned().ok_or_else(|| RegistryError::NoFile {
                endpoint: self.name.clone(),
                path: path.clone(),
            })
        };
        let config = file(&self.config)?;
        let companions = self.companions.iter().map(file).collect::<Result<_, _>>()?;
        Ok(Endpoint {
            name: self.name,
            engine: self.engine,
            label: self.label,
            config,
            companions,
            default: self.default,
            tls: self.tls,
            http3: self.http3,
            upstream_protocol: self.upstream_protocol,
            pooled: self.pooled,
            own: None,
        })
    }
}
