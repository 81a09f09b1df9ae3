//! The arguments of `holdup doctor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use measure::cell::ETHERNET_MSS;

use super::config::cli::Configuration;
use crate::ci::Files;
use crate::cli::Mss;

/// Requests at most, unless said otherwise: what one may ask of somebody else's service without
/// having asked them.
const MAX_REQUESTS: u32 = 20;
/// How long one stream is read at most: the longest of the emitter's own here takes 6 s, and a
/// model has begun to speak by then.
const SECONDS: u32 = 30;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// The stream, as its readers reach it: http[s]://HOST[:PORT]/PATH
    #[arg(value_name = "URL", required_unless_present_any = ["nginx_config", "haproxy_config", "caddyfile", "traefik_config", "envoy_config"])]
    pub(crate) url: Option<String>,
    /// The same stream on a way without the suspect, such as the origin itself
    #[arg(long, value_name = "URL")]
    pub(crate) against: Option<String>,
    /// The method; it is never varied
    #[arg(long, value_name = "METHOD", default_value = "GET")]
    pub(crate) method: String,
    /// A header to send with every request; repeatable. For a key: --key-env or --key-file
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// An environment variable that holds the key; it is sent, never stored or shown
    #[arg(long, value_name = "VAR", conflicts_with = "key_file", requires = "url")]
    pub(crate) key_env: Option<String>,
    /// A file that holds the key
    #[arg(long, value_name = "FILE", requires = "url")]
    pub(crate) key_file: Option<PathBuf>,
    /// The header that carries the key, with what stands before it
    #[arg(long, value_name = "NAME[: SCHEME]", default_value = "Authorization: Bearer")]
    pub(crate) key_header: String,
    /// A file to send as the body of every request; it is never varied
    #[arg(long, value_name = "FILE")]
    pub(crate) body: Option<PathBuf>,
    /// A file of certificates in PEM to trust besides the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Requests at most, in all
    #[arg(long, value_name = "N", default_value_t = MAX_REQUESTS,
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) max_requests: u32,
    /// How long one stream is read at most
    #[arg(long, value_name = "SECONDS", default_value_t = SECONDS,
          value_parser = clap::value_parser!(u32).range(1..=600))]
    pub(crate) seconds: u32,
    /// Payload of a TCP segment towards us in bytes, or `loopback` to leave it to the link
    #[arg(long, value_name = "N|loopback", default_value_t = Mss(Some(ETHERNET_MSS)))]
    pub(crate) mss: Mss,
    /// A folder for doctor.json and the raw runs; it must not hold a diagnosis yet
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The folder of an earlier diagnosis: plays its deciding experiment again and says cured
    /// or not
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    pub(crate) verify: Option<PathBuf>,
    /// Print the diagnosis as JSON to standard output, everything else to standard error
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) configuration: Configuration,
    #[command(flatten)]
    pub(crate) files: Files,
}

impl Doctor {
    /// How long one stream is read at most.
    pub(crate) fn limit(&self) -> Duration {
        Duration::from_secs(self.seconds.into())
    }
}
