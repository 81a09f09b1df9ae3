//! What `holdup measure` is told about somebody's own service.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

/// Requests at most, unless said otherwise: what one may ask of somebody else's service without
/// having asked them.
const MAX_REQUESTS: u32 = 20;

#[derive(Debug, Args)]
pub(crate) struct Service {
    /// A chat service of your own for the proxies to stand before, instead of the emitter:
    /// http[s]://HOST[:PORT]/v1/chat/completions. The request goes through each of them and to the
    /// service itself
    #[arg(long, value_name = "URL", requires = "body", conflicts_with = "preset")]
    pub(crate) upstream: Option<String>,
    /// A file with the request's body for --upstream, a JSON object; it is sent as it is
    #[arg(long, value_name = "FILE", requires = "upstream")]
    pub(crate) body: Option<PathBuf>,
    /// An environment variable that holds the service's key; it is sent, never stored or shown
    #[arg(long, value_name = "VAR", requires = "upstream", conflicts_with = "key_file")]
    pub(crate) key_env: Option<String>,
    /// A file that holds the service's key
    #[arg(long, value_name = "FILE", requires = "upstream")]
    pub(crate) key_file: Option<PathBuf>,
    /// The header that carries the key, with what stands before it
    #[arg(long, value_name = "NAME[: SCHEME]", default_value = "Authorization: Bearer")]
    pub(crate) key_header: String,
    /// Certificates (PEM) of an authority that is believed beside the system's, for an https service
    #[arg(long, value_name = "FILE", requires = "upstream")]
    pub(crate) cacert: Option<PathBuf>,
    /// Requests to the service at most; --runs is cut to the whole rounds that fit
    #[arg(long, value_name = "N", default_value_t = MAX_REQUESTS,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_requests: u32,
    /// How long to wait between requests to the service
    #[arg(long, value_name = "DURATION", default_value = "500ms",
          value_parser = humantime::parse_duration)]
    pub(crate) pause: Duration,
    /// How long one answer of the service is read at most
    #[arg(long, value_name = "DURATION", default_value = "120s",
          value_parser = humantime::parse_duration)]
    pub(crate) time_limit: Duration,
}
