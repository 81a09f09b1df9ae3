//! What `holdup matrix` and `holdup causes` take.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Matrix {
    /// How often each path is played
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(measure::plan::MAX_ROUNDS)))]
    pub(crate) runs: u32,
    /// Keep every processor busy with other work
    #[arg(long)]
    pub(crate) busy: bool,
    /// Play these only, separated by commas: relays, endpoints and origins, such as
    /// cork,nginx-gzip,node-compression
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// A binary of your own instead of the pinned one, such as haproxy=/usr/sbin/haproxy
    #[arg(long, value_name = "ENGINE=PATH")]
    pub(crate) own: Vec<String>,
    /// Where proxies come from: the pinned binaries, or container images where an engine has one
    #[arg(long, value_name = "SOURCE", default_value = "pinned")]
    pub(crate) source: crate::cli::ProxySource,
    /// Seed of the shuffle [default: from the clock, recorded in the results]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// A folder for runs.ndjson, results.json and matrix.json; it must not hold results yet
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the matrix as JSON to standard output, everything else to standard error
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) files: crate::ci::Files,
}

#[derive(Debug, Args)]
pub(crate) struct Causes {
    /// The folder, as --out of matrix left it
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Where to write it [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}
