//! The registry and the configuration files, carried in the program so that it works alone.

use std::borrow::Cow;

/// The text of `registry.toml`.
pub(crate) const ENGINES: &str = include_str!("../registry.toml");

/// The text of `endpoints.toml`.
pub(crate) const ENDPOINTS: &str = include_str!("../endpoints.toml");

/// A configuration file: one of this folder, or somebody's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Its path below `proxies/`, as the registry names it.
    pub path: &'static str,
    /// Its text, placeholders and all.
    pub template: Cow<'static, str>,
}

impl ConfigFile {
    /// The file's own name, which it keeps in the scratch folder.
    pub fn file_name(&self) -> &'static str {
        self.path.rsplit_once('/').map_or(self.path, |(_, name)| name)
    }
}

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(ConfigFile { path: $path, template: Cow::Borrowed(include_str!(concat!("../", $path))) }),*]
    };
}

/// Every configuration file. A test holds this list against the folder and the registry.
pub(crate) const FILES: &[ConfigFile] = files![
    "apache/apache-buffer.conf",
    "apache/apache-deflate.conf",
    "apache/apache-ext-filter.conf",
    "apache/apache.conf",
    "caddy/Caddyfile",
    "caddy/Caddyfile-2.6-encode",
    "caddy/Caddyfile-2.6-encode-all",
    "caddy/Caddyfile-encode",
    "caddy/Caddyfile-encode-all",
    "caddy/Caddyfile-fresh",
    "caddy/Caddyfile-full-duplex",
    "caddy/Caddyfile-h2c",
    "caddy/Caddyfile-h2c-tls",
    "caddy/Caddyfile-keepalive",
    "caddy/Caddyfile-tls",
    "envoy/envoy-gzip.yaml",
    "envoy/envoy-h2c-tls.yaml",
    "envoy/envoy-h2c.yaml",
    "envoy/envoy-lua-body.yaml",
    "envoy/envoy-tls.yaml",
    "envoy/envoy.yaml",
    "haproxy/haproxy-h2c-tls.cfg",
    "haproxy/haproxy-h2c.cfg",
    "haproxy/haproxy-no-delay-tls.cfg",
    "haproxy/haproxy-no-delay.cfg",
    "haproxy/haproxy-tls.cfg",
    "haproxy/haproxy-type-rewritten.cfg",
    "haproxy/haproxy.cfg",
    "nginx/cors.conf",
    "nginx/http.conf",
    "nginx/nginx-1.22-tls.conf",
    "nginx/nginx-buffering-off-tls.conf",
    "nginx/nginx-buffering-off.conf",
    "nginx/nginx-fresh.conf",
    "nginx/nginx-gzip-buffering-off-tls.conf",
    "nginx/nginx-gzip-buffering-off.conf",
    "nginx/nginx-gzip-tls.conf",
    "nginx/nginx-gzip.conf",
    "nginx/nginx-http10-buffering-off.conf",
    "nginx/nginx-http10-gzip-buffering-off.conf",
    "nginx/nginx-h2c-tls.conf",
    "nginx/nginx-h2c.conf",
    "nginx/nginx-header-ignored.conf",
    "nginx/nginx-http10-gzip.conf",
    "nginx/nginx-http10-tls.conf",
    "nginx/nginx-http10.conf",
    "nginx/nginx-keepalive.conf",
    "nginx/nginx-no-temp-file.conf",
    "nginx/nginx-shadow-cured.conf",
    "nginx/nginx-shadowed.conf",
    "nginx/nginx-tls.conf",
    "nginx/nginx.conf",
    "nginx/process.conf",
    "traefik/dynamic-buffering.yaml",
    "traefik/dynamic-compress-excluded.yaml",
    "traefik/dynamic-compress.yaml",
    "traefik/dynamic-fresh.yaml",
    "traefik/dynamic-h2c-tls.yaml",
    "traefik/dynamic-h2c.yaml",
    "traefik/dynamic-keepalive.yaml",
    "traefik/dynamic-tls.yaml",
    "traefik/dynamic.yaml",
    "traefik/traefik-tls.yaml",
    "traefik/traefik.yaml",
    "varnish/varnish-no-stream.vcl",
    "varnish/varnish.vcl",
];
