//! The registry and the configuration files, carried in the program so that it works alone.

/// The text of `registry.toml`.
pub(crate) const REGISTRY: &str = include_str!("../registry.toml");

/// A configuration file of this folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its path below `proxies/`, as the registry names it.
    pub path: &'static str,
    /// Its text, placeholders and all.
    pub template: &'static str,
}

impl ConfigFile {
    /// The file's own name, which it keeps in the scratch folder.
    pub fn file_name(&self) -> &'static str {
        self.path.rsplit_once('/').map_or(self.path, |(_, name)| name)
    }
}

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(ConfigFile { path: $path, template: include_str!(concat!("../", $path)) }),*]
    };
}

/// Every configuration file. A test holds this list against the folder and the registry.
pub(crate) const FILES: &[ConfigFile] = files![
    "caddy/Caddyfile",
    "envoy/envoy.yaml",
    "haproxy/haproxy-no-delay.cfg",
    "haproxy/haproxy.cfg",
    "nginx/nginx-buffering-off.conf",
    "nginx/nginx.conf",
    "traefik/dynamic.yaml",
    "traefik/traefik.yaml",
];
