//! The arguments of `holdup probe`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use measure::cell::HeaderSet;
use measure::chat::Shape;
use recv_client::Http;

use crate::ci::Files;

/// Requests at most, unless said otherwise: what one may ask of somebody else's service without
/// having asked them.
const MAX_REQUESTS: u32 = 20;
/// Bytes of one answer at most, as they come and decoded: a long answer has under 1 MB.
const MAX_BYTES: u64 = 16 << 20;

#[derive(Debug, Args)]
pub(crate) struct Probe {
    /// The endpoint, as its clients reach it: http[s]://HOST[:PORT]/PATH
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Another way to the same service, such as round the proxy; the two are asked in turn
    #[arg(long, value_name = "URL")]
    pub(crate) against: Option<String>,
    /// The method [default: POST with a body, else GET]
    #[arg(long, value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// A header to send; repeatable. For a key: --key-env or --key-file
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// The body
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub(crate) body: Option<String>,
    /// A file with the body
    #[arg(long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,
    /// The answer's shape: openai-chat, openai-responses, anthropic, ollama-chat,
    /// ollama-generate, gemini, sse, ndjson [default: told by the path, else by the answer]
    #[arg(long, value_name = "NAME")]
    pub(crate) shape: Option<Shape>,
    /// Asks this model; with --prompt or --prompts it makes the shape's body
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// A prompt, put into the shape's body
    #[arg(long, value_name = "TEXT", conflicts_with = "prompts")]
    pub(crate) prompt: Option<String>,
    /// A file with a prompt a line, or a JSON object a line: a whole body, or one with "prompt"
    #[arg(long, value_name = "FILE")]
    pub(crate) prompts: Option<PathBuf>,
    /// An environment variable that holds the key; it is sent, never stored or shown
    #[arg(long, value_name = "VAR", conflicts_with = "key_file")]
    pub(crate) key_env: Option<String>,
    /// A file that holds the key
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// The header that carries the key, with what stands before it
    #[arg(long, value_name = "NAME[: SCHEME]", default_value = "Authorization: Bearer")]
    pub(crate) key_header: String,
    /// How often each prompt is asked, on each way [default: 3, and 1 with --prompts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) repeat: Option<u32>,
    /// How long to wait between requests
    #[arg(long, value_name = "DURATION", default_value = "500ms",
          value_parser = humantime::parse_duration)]
    pub(crate) pause: Duration,
    /// Requests on each way before those that count; they are kept and marked
    #[arg(long, value_name = "N", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) warm_up: u32,
    /// Whose headers to send: a browser's, which offer gzip, br and zstd, or curl's
    #[arg(long = "as", value_name = "WHO", default_value = "browser")]
    pub(crate) who: Who,
    /// Which HTTP to speak [default: as a browser: over TLS what the server chooses, else 1.1]
    #[arg(long, value_name = "VERSION")]
    pub(crate) http: Option<Version>,
    /// A file of certificates in PEM to trust besides the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Accept-Encoding instead of that; identity to compare
    #[arg(long, value_name = "CODINGS")]
    pub(crate) accept_encoding: Option<String>,
    /// How long one answer is read at most
    #[arg(long, value_name = "DURATION", default_value = "120s",
          value_parser = humantime::parse_duration)]
    pub(crate) time_limit: Duration,
    /// How many bytes of one answer are read at most
    #[arg(long, value_name = "N", default_value_t = MAX_BYTES,
          value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub(crate) max_bytes: u64,
    /// Requests at most, warm-up included
    #[arg(long, value_name = "N", default_value_t = MAX_REQUESTS,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) max_requests: u32,
    /// Makes it a check: ends with 1 unless the answers come live, with 3 when that cannot be told
    #[arg(long, value_name = "VERDICT")]
    pub(crate) expect: Option<Expected>,
    /// Seed of the intervals [default: by chance, recorded in the results]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// A folder for probe-runs.ndjson and probe.json; it must not hold results yet
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the document to standard output, everything else to standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the answers' texts and the services' own words in the results
    #[arg(long)]
    pub(crate) keep_text: bool,
    #[command(flatten)]
    pub(crate) files: Files,
}

/// Whose headers are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Who {
    /// Chromium's `fetch()`.
    Browser,
    /// A command-line client, which offers no encoding.
    Curl,
}

impl Who {
    /// The header set.
    pub(crate) fn headers(self) -> HeaderSet {
        match self {
            Who::Browser => HeaderSet::ChromiumFetch,
            Who::Curl => HeaderSet::Plain,
        }
    }

    /// In the results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Who::Browser => "browser",
            Who::Curl => "curl",
        }
    }
}

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Version {
    /// HTTP/1.1 alone.
    #[value(name = "1.1")]
    One,
    /// HTTP/2 alone; without TLS by prior knowledge.
    #[value(name = "2")]
    Two,
    /// HTTP/3, over QUIC.
    #[value(name = "3")]
    Three,
}

impl Version {
    /// As the reader has it.
    pub(crate) fn http(asked: Option<Version>) -> Http {
        match asked {
            None => Http::Negotiated,
            Some(Version::One) => Http::One,
            Some(Version::Two) => Http::Two,
            Some(Version::Three) => Http::Three,
        }
    }
}

/// What may be expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Expected {
    /// Events come one by one, at once.
    Live,
}
