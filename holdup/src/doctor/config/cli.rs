//! The arguments that ask about a configuration instead of a stream.

use std::path::PathBuf;

use clap::Args;
use config_reader::nginx::Version;

/// What the reader of configurations takes.
#[derive(Debug, Args)]
pub(crate) struct Configuration {
    /// Read a configuration of nginx instead of asking a URL: the output of `nginx -T`
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["haproxy_config", "url", "against", "body", "header", "verify", "markdown", "junit"])]
    pub(crate) nginx_config: Option<PathBuf>,
    /// The same for a haproxy.cfg
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["url", "against", "body", "header", "verify", "markdown", "junit"])]
    pub(crate) haproxy_config: Option<PathBuf>,
    /// The same for a Caddyfile, which Caddy itself adapts
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["nginx_config", "haproxy_config", "url", "against", "body", "header", "verify", "markdown", "junit"])]
    pub(crate) caddyfile: Option<PathBuf>,
    /// The same for Traefik: the static file, the file provider's, or both, one option each (YAML
    /// or TOML)
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["nginx_config", "haproxy_config", "caddyfile", "envoy_config", "url", "against", "body", "header", "verify", "markdown", "junit"])]
    pub(crate) traefik_config: Vec<PathBuf>,
    /// The same for Envoy: its bootstrap file (YAML or JSON)
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["nginx_config", "haproxy_config", "caddyfile", "url", "against", "body", "header", "verify", "markdown", "junit"])]
    pub(crate) envoy_config: Option<PathBuf>,
    /// The path of the stream, as its readers ask for it
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// The host's name that its readers ask for, where several servers could answer
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// The port that they ask at, where several servers could answer
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// The version that runs it, as `nginx -v` says: defaults have changed
    #[arg(long, value_name = "VERSION", requires = "nginx_config")]
    pub(crate) nginx_version: Option<Version>,
    /// The same for Caddy
    #[arg(long, value_name = "VERSION", requires = "caddyfile")]
    pub(crate) caddy_version: Option<Version>,
    /// Print the configuration with a header in each location that names it, and end
    #[arg(long, requires = "nginx_config")]
    pub(crate) marked: bool,
    /// Say what is wrong and what to write, and measure nothing
    #[arg(long)]
    pub(crate) no_proof: bool,
}

impl Configuration {
    /// Whether a configuration is to be read.
    pub(crate) fn is_asked(&self) -> bool {
        let files = [&self.nginx_config, &self.haproxy_config, &self.caddyfile, &self.envoy_config];
        files.iter().any(|file| file.is_some()) || !self.traefik_config.is_empty()
    }
}
