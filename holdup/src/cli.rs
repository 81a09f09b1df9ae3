//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use measure::cell::{ETHERNET_MSS, HeaderSet};

/// Who is holding up my token stream: the origin, a proxy, the browser or the page?
#[derive(Debug, Parser)]
#[command(name = "holdup", version, max_term_width = 100, after_help = EXIT_STATUS)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_STATUS: &str = "Exit status: 0 done; 1 an expectation failed or a cause was found; \
2 usage; 3 void or cannot tell; 4 nothing could be measured; 130 interrupted.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Starts emitter, proxies and taps, serves the page and opens it
    Demo(Demo),
    /// Plays streams through the pinned proxies and reads them natively
    Measure(Box<Measure>),
    /// Reads the same streams by the page in real browsers
    Browse(Box<Browse>),
    /// Asks one deployed endpoint, or two ways to it, and says how its answers come
    Probe(Box<crate::probe::cli::Probe>),
    /// Asks one deployed stream until the cause of its delay has a name, then says the cure
    Doctor(Box<crate::doctor::cli::Doctor>),
    /// Runs the emitter alone, to stand behind a proxy of one's own
    Emit(Emit),
    /// Proves the instrument on streams whose truth is known
    Selftest(Selftest),
    /// Turns results into one self-contained HTML file and Markdown
    Report(Report),
    /// Makes the verdicts of a results folder again from its runs, and says which changed
    Judge(crate::commands::judge::Judge),
    /// Writes what a run of the presets found, from its results
    Findings(Findings),
    /// Plays streams whose cause is known and shows what is said of them
    Matrix(crate::matrix::cli::Matrix),
    /// Writes the causes and their cures, with what a run of the matrix saw of them
    Causes(crate::matrix::cli::Causes),
    /// Keeps one processor busy
    #[command(hide = true)]
    Spin,
    /// Shows what proxies are pinned, fetches them, shows what they run
    #[command(subcommand)]
    Proxies(Proxies),
}

/// What every command that starts proxies takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Rig {
    /// Endpoints to measure, separated by commas; `direct` is always among them [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub(crate) endpoints: Vec<String>,
    /// A binary of your own instead of the pinned one, such as haproxy=/usr/sbin/haproxy
    #[arg(long, value_name = "ENGINE=PATH")]
    pub(crate) own: Vec<String>,
    /// Where proxies come from: the pinned binaries, or container images of nginx, HAProxy, Caddy
    /// and Traefik, by exact tags, on the host's network (the others stay the pinned binaries)
    #[arg(long, value_name = "SOURCE", default_value = "pinned")]
    pub(crate) source: ProxySource,
    /// A configuration of your own as one more endpoint, such as nginx=nginx.conf (haproxy, caddy,
    /// traefik, envoy): beside its engine's stock one where no endpoints are named. Addresses come
    /// from {{listen}} and {{upstream}} in it, or are changed where they are plain to see, and said;
    /// more than once for more
    #[arg(long, value_name = "ENGINE=FILE")]
    pub(crate) own_config: Vec<crate::own_config::Asked>,
    /// The path of your configuration (nginx, haproxy) that streams are to go by
    /// [default: /stream, as it is asked for]
    #[arg(long, value_name = "PATH", requires = "own_config")]
    pub(crate) own_path: Option<String>,
    /// Payload of a TCP segment towards the reader in bytes, or `loopback` for its own 65 KB
    #[arg(long, value_name = "N|loopback", default_value_t = Mss(Some(ETHERNET_MSS)))]
    pub(crate) mss: Mss,
}

/// Where the programs of proxies come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProxySource {
    /// The pinned binaries
    Pinned,
    /// Container images, where an engine has one
    Docker,
}

/// What every command takes that serves the gateway to deployed endpoints.
#[derive(Clone, Debug, Args)]
pub(crate) struct Gateway {
    /// An endpoint of your own that the page may ask through the gateway without confirming it;
    /// more than once for more
    #[arg(long, value_name = "URL", value_parser = crate::gateway::target)]
    pub(crate) target: Vec<url::Url>,
    /// Let browsers on other machines use the gateway too, where --listen lets them reach it
    #[arg(long)]
    pub(crate) gateway_open: bool,
    /// Certificates (PEM) of an authority that the gateway believes beside the system's
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
}

/// A segment size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mss(pub(crate) Option<u32>);

impl std::fmt::Display for Mss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(bytes) => write!(f, "{bytes}"),
            None => f.write_str("loopback"),
        }
    }
}

impl std::str::FromStr for Mss {
    type Err = String;
    fn from_str(text: &str) -> Result<Mss, String> {
        use wire::connect::{MAX_SEGMENT, MIN_SEGMENT};
        if text == "loopback" {
            return Ok(Mss(None));
        }
        match text.parse() {
            Ok(bytes) if (MIN_SEGMENT..=MAX_SEGMENT).contains(&bytes) => Ok(Mss(Some(bytes))),
            _ => Err(format!("it is loopback or a number from {MIN_SEGMENT} to {MAX_SEGMENT}")),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Measure {
    /// What to measure
    #[arg(long, value_name = "NAME", default_value = "headline")]
    pub(crate) preset: String,
    /// How many rounds; each plays every cell once, `direct` first and last
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(measure::plan::MAX_ROUNDS)))]
    pub(crate) runs: u32,
    #[command(flatten)]
    pub(crate) rig: Rig,
    #[command(flatten)]
    pub(crate) service: crate::upstream::cli::Service,
    /// Headers to send: plain, chromium-eventsource or chromium-fetch
    #[arg(long, value_name = "SET", default_value = "plain")]
    pub(crate) headers: String,
    /// Accept-Encoding to send instead of the header set's own
    #[arg(long, value_name = "CODINGS")]
    pub(crate) accept_encoding: Option<String>,
    /// Seed of the shuffle [default: from the clock, recorded in the results]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// A folder for runs.ndjson and results.json; it must not hold results yet
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the results document to standard output, everything else to standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// End with 4 when any row failed
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) files: crate::ci::Files,
}

/// The header set of that name.
pub(crate) fn headers(name: &str) -> Result<HeaderSet, crate::exit::Problem> {
    HeaderSet::from_name(name).ok_or_else(|| {
        crate::exit::Problem::usage(format!(
            "no header set is called {name:?}: known are plain, chromium-eventsource, chromium-fetch"
        ))
    })
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// Where to serve the page; taps listen at the same address
    /// [default: 127.0.0.1:4700, or a free port when that is taken]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// The name or address under which browsers on other machines reach this one
    #[arg(long, value_name = "NAME")]
    pub(crate) public_host: Option<String>,
    /// Print the address and open nothing
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) gateway: Gateway,
    #[command(flatten)]
    pub(crate) rig: Rig,
    /// The folder of the page, with index.html and pkg/
    #[arg(long, value_name = "DIR")]
    pub(crate) page: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Browse {
    /// Browsers, separated by commas; each plays the same plan, one after the other
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "chromium")]
    pub(crate) browser: Vec<crate::browser::Wanted>,
    /// A WebDriver service that has the browsers, such as a Selenium Grid, instead of drivers
    /// that are started here
    #[arg(long, value_name = "URL")]
    pub(crate) webdriver: Option<crate::browser::Service>,
    /// Where to serve the page; taps listen at the same address [default: a free port of 127.0.0.1]
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,
    /// The name or address under which browsers on other machines reach this one
    #[arg(long, value_name = "NAME")]
    pub(crate) public_host: Option<String>,
    /// What the page itself is served over: https is with HTTP/2, and isolated as well
    #[arg(long, value_name = "SCHEME", default_value = "http")]
    pub(crate) page_over: Scheme,
    #[command(flatten)]
    pub(crate) own: Own,
    /// What to measure
    #[arg(long, value_name = "NAME", default_value = "headline")]
    pub(crate) preset: String,
    /// A story of the page instead of a preset: its lanes, its stream, its readers; each browser
    /// tells it from its own run. Ends with 1 where one does not show it
    #[arg(long, value_name = "NAME", conflicts_with_all = ["preset", "script", "protocol", "readers", "endpoints", "own_config"])]
    pub(crate) story: Option<String>,
    /// A script instead of the preset's, as an address has it: frames=12&interval_ms=100, or
    /// script=NAME
    #[arg(long, value_name = "QUERY", value_parser = script)]
    pub(crate) script: Option<measure::Script>,
    /// How many rounds; each plays every cell once, `direct` first and last
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(measure::plan::MAX_ROUNDS)))]
    pub(crate) runs: u32,
    /// What every lane is asked over, instead of what the preset says: http/1.1, or h2 with the
    /// endpoints that have TLS in front
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol)]
    pub(crate) protocol: Option<measure::transport::ClientProtocol>,
    /// Readers, separated by commas: eventsource, fetch, fetch-worker in the browser, and recv,
    /// the native one, which confirms each lane without a browser
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "eventsource,fetch,fetch-worker,recv"
    )]
    pub(crate) readers: Vec<String>,
    #[command(flatten)]
    pub(crate) rig: Rig,
    /// Seed of the shuffle [default: from the clock, recorded in the results]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// A folder for runs.ndjson and results.json; it must not hold results yet
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print the results document to standard output, everything else to standard error
    #[arg(long)]
    pub(crate) json: bool,
    /// End with 4 when any row failed
    #[arg(long)]
    pub(crate) strict: bool,
    /// The folder of the page, with index.html and pkg/
    #[arg(long, value_name = "DIR")]
    pub(crate) page: Option<PathBuf>,
    /// Take screenshots of the finished page into this folder: three sizes, dark and light
    #[arg(long, value_name = "DIR")]
    pub(crate) screenshots: Option<PathBuf>,
}

/// An endpoint of one's own instead of the lanes.
#[derive(Debug, Args)]
pub(crate) struct Own {
    /// A chat endpoint of your own instead of a preset: its answers seen from the wire and from
    /// each browser
    #[arg(long, value_name = "URL", value_parser = crate::gateway::target,
          conflicts_with_all = ["preset", "story", "script", "protocol", "page_over", "readers", "endpoints", "own_config", "screenshots"])]
    pub(crate) target: Option<url::Url>,
    /// The answer's shape, such as openai-chat [default: told by the path, else by the answer]
    #[arg(long, value_name = "NAME", requires = "target")]
    pub(crate) shape: Option<measure::chat::Shape>,
    /// The model to ask
    #[arg(long, value_name = "NAME", requires = "target")]
    pub(crate) model: Option<String>,
    /// The prompt, put into the shape's body
    #[arg(long, value_name = "TEXT", requires = "target", conflicts_with = "body_file")]
    pub(crate) prompt: Option<String>,
    /// A file with the whole body
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) body_file: Option<PathBuf>,
    /// A header to send; repeatable. For a key: --key-env or --key-file
    #[arg(short = 'H', long, value_name = "NAME: VALUE", requires = "target")]
    pub(crate) header: Vec<String>,
    /// An environment variable that holds the key; it is sent, never stored or shown
    #[arg(long, value_name = "VAR", requires = "target", conflicts_with = "key_file")]
    pub(crate) key_env: Option<String>,
    /// A file that holds the key
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) key_file: Option<PathBuf>,
    /// The header that carries the key, with what stands before it
    #[arg(long, value_name = "NAME[: SCHEME]", default_value = "Authorization: Bearer")]
    pub(crate) key_header: String,
    /// Whether the browsers ask through the gateway, which sees the wire, or by themselves
    #[arg(long, value_name = "WAY", default_value = "gateway")]
    pub(crate) way: OwnWay,
    /// Which HTTP the gateway speaks to it [default: as a browser: over TLS what the server chooses,
    /// else 1.1]
    #[arg(long, value_name = "VERSION", requires = "target")]
    pub(crate) http: Option<crate::probe::cli::Version>,
    /// Certificates (PEM) of an authority that the gateway believes beside the system's
    #[arg(long, value_name = "FILE", requires = "target")]
    pub(crate) cacert: Option<PathBuf>,
}

/// How a browser reaches an endpoint of one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OwnWay {
    /// Through the gateway of this command
    Gateway,
    /// By itself, as far as the endpoint lets other origins in
    Direct,
}

/// What a page is served over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scheme {
    /// HTTP/1.1
    Http,
    /// TLS with HTTP/2
    Https,
}

fn protocol(name: &str) -> Result<measure::transport::ClientProtocol, String> {
    let settings = measure::page::Settings::from_query([("protocol", name)]);
    let protocol = settings.map_err(|error| error.to_string())?.protocol;
    protocol.ok_or_else(|| "it is empty".into())
}

fn script(query: &str) -> Result<measure::Script, String> {
    let pairs: Vec<(String, String)> =
        serde_urlencoded::from_str(query).map_err(|error| error.to_string())?;
    let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    measure::Script::from_query(pairs).map_err(|error| error.to_string())
}

#[derive(Debug, Args)]
pub(crate) struct Emit {
    /// Where to listen
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4700")]
    pub(crate) listen: SocketAddr,
    /// Speak TLS as well, with HTTP/2 or HTTP/1.1 above it, and HTTP/3 over UDP at the same port [default address: 127.0.0.1:4743]
    #[arg(long, value_name = "ADDR", num_args = 0..=1, default_missing_value = "127.0.0.1:4743")]
    pub(crate) tls: Option<SocketAddr>,
    /// Memory for ledgers, MiB
    #[arg(long, value_name = "MIB", default_value_t = 64,
          value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub(crate) ledger_memory: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Selftest {
    /// Test against this emitter; one that this command did not start is refused
    #[arg(long, value_name = "URL")]
    pub(crate) emitter: Option<String>,
    /// Print the table as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The results folder, as --out of measure or browse left it
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Where to put report.html and report.md [default: the results folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Findings {
    /// A folder with one results folder for each of published, haproxy-trigger, nginx-grid and
    /// no-delay-cost
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Where to write it [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Proxies {
    /// Lists what is pinned and where it is
    List,
    /// Fetches the pinned binaries, all or the named ones
    Fetch {
        /// Engines, such as haproxy
        engines: Vec<String>,
    },
    /// Prints the exact configuration text an endpoint runs
    Config {
        /// The endpoint, such as haproxy-no-delay
        endpoint: String,
    },
}

/// The seed that was asked for, else one by chance, short enough to type again.
pub(crate) fn seed(asked: Option<u64>) -> u64 {
    asked.unwrap_or_else(|| fastrand::u64(..=u64::from(u32::MAX)))
}
