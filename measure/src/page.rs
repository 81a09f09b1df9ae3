//! What page and command say to each other: by data, never by scraping.
//!
//! The address carries the plan ([`Settings`]), `/lanes` tells the page what there is
//! ([`Lanes`]), the page posts each run as a [`RunPost`] and ends with a [`Finished`].

use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, Reader};
use crate::cell::{Cell, speaking};
use crate::plan::{self, MAX_ROUNDS, PRESETS, Plan, ReaderProfile, UnknownPreset};
use crate::results::{Browser, Endpoint};
use crate::script::{Script, ScriptError};
use crate::story::{self, STORIES};
use crate::transport::ClientProtocol;
use crate::units::Span;

/// Smallest segment payload that Linux lets a client ask for (`TCP_MIN_MSS`), bytes.
const MIN_MSS: u64 = 88;
/// Largest: `TCP_MAXSEG` ends at 32,767, of which timestamps take 12.
const MAX_MSS: u64 = 32_755;
/// Longest that a page may be made to work after a delivery: it cannot be stopped meanwhile.
pub const MAX_BUSY_MS: u64 = 2_000;

/// One lane: a way to the emitter as the page reaches it, through its tap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// What it is, with the configuration it runs.
    pub endpoint: Endpoint,
    /// How the page reaches it, one way for each segment size; none when the endpoint failed.
    pub ways: Vec<Way>,
}

impl Lane {
    /// The origin of the way that a cell takes: with its segment size, over TLS or not.
    pub fn origin(&self, cell: &Cell) -> Option<&str> {
        let fits = |way: &&Way| way.speaks(cell) && (way.quic || way.mss == cell.link.mss);
        self.ways.iter().find(fits).map(|way| way.origin.as_str())
    }
}

/// A tap before a lane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Way {
    /// Segment payload on the tap's connection to the proxy; absent for loopback's own.
    pub mss: Option<u32>,
    /// The tap's origin, such as `http://127.0.0.1:4711`; of a scheme with TLS where the lane
    /// speaks it.
    pub origin: String,
    /// Whether it leads to HTTP/3, over datagrams, and to nothing else.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quic: bool,
}

impl Way {
    /// Whether what a cell asks over goes this way.
    fn speaks(&self, cell: &Cell) -> bool {
        let secure = self.origin.starts_with("https");
        (secure, self.quic) == (cell.request.is_secure(), cell.request.is_quic())
    }
}

/// What stands behind the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lanes {
    /// The emitter process.
    pub instance: String,
    /// The program's version.
    pub version: String,
    /// Kernel name and release.
    pub kernel: String,
    /// Processors.
    pub cpus: u32,
    /// One-minute load average; absent where it cannot be read.
    pub load: Option<f64>,
    /// Segment payload that plans use unless the settings name another; absent for loopback's own.
    pub mss: Option<u32>,
    /// The lanes, `direct` first.
    pub lanes: Vec<Lane>,
}

/// One run, as the page posts it to `/arrivals/{session}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunPost {
    /// The cell's id.
    pub cell: String,
    /// The round, from 0.
    pub round: u32,
    /// Place in the order, from 0.
    pub position: u32,
    /// The browser, as the page sees itself.
    pub browser: Browser,
    /// What was read, on the shared clock.
    pub arrivals: Arrivals,
}

/// The page's last word on a plan, posted to `/finished/{session}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// How many runs were posted.
    pub runs: u32,
    /// Why it stopped early; absent when the whole plan was played.
    pub stopped: Option<String>,
}

/// The plan in the address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The preset; absent when the script is given by its own parameters.
    pub preset: String,
    /// The script, when it differs from the preset's.
    pub script: Option<Script>,
    /// Endpoints by name; empty for all there are.
    pub endpoints: Vec<String>,
    /// Readers, in order.
    pub readers: Vec<Reader>,
    /// Rounds.
    pub runs: u32,
    /// Seed of the shuffle.
    pub seed: u64,
    /// Start at once.
    pub go: bool,
    /// Where arrivals are posted to; absent when nobody waits for them.
    pub session: Option<String>,
    /// The engine's name as the driver knows it.
    pub engine: Option<String>,
    /// What every browser cell is asked over, instead of what the preset says.
    pub protocol: Option<ClientProtocol>,
    /// Whether this browser was started so that it speaks HTTP/3 where a way leads to nothing else.
    /// No other browser can be asked for it: it would take what is offered over TCP.
    pub quic: bool,
    /// Segment size instead of the lanes' own; the inner value is absent for loopback's.
    pub mss: Option<Option<u32>>,
    /// How long the page works after each delivery, on purpose, instead of the preset's own.
    pub busy: Option<Span>,
    /// All lanes at the same time instead of one after the other.
    pub at_once: bool,
    /// The story that is told, by its name: its settings hold where no other is given.
    pub story: Option<String>,
}

/// Settings in the address that cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// Not a known preset.
    #[error(transparent)]
    Preset(#[from] UnknownPreset),
    /// Not a script that can be played.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Not a story.
    #[error("no story is called {0:?}: there are {known}", known = STORIES.map(|own| own.id).join(", "))]
    Story(String),
    /// Not a reader.
    #[error("no reader is called {0:?}: known are eventsource, fetch, fetch-worker, recv")]
    Reader(String),
    /// Not a protocol that a browser can be made to speak.
    #[error(
        "no protocol is called {0:?}: browsers speak http/1.1, h2, and h3 where they are told to"
    )]
    Protocol(String),
    /// Nobody to ask over it.
    #[error("no lane here speaks {0}")]
    NotSpoken(&'static str),
    /// Not an endpoint.
    #[error("no lane is called {0:?}: there are {1}")]
    Endpoint(String, String),
    /// Out of range.
    #[error("{what} is {value:?}: it must be a number from {min} to {max}")]
    Number {
        /// The parameter.
        what: &'static str,
        /// What was given.
        value: String,
        /// Smallest allowed.
        min: u64,
        /// Largest allowed.
        max: u64,
    },
    /// Not a segment size that there is a way for.
    #[error("there is no way with segments of {0}: there are {1}")]
    Segment(String, String),
    /// A parameter nobody knows.
    #[error("no setting is called {0:?}")]
    Unknown(String),
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            preset: PRESETS[0].into(),
            script: None,
            endpoints: Vec::new(),
            readers: vec![Reader::FetchWorker, Reader::Recv],
            runs: 1,
            seed: 1,
            go: false,
            session: None,
            engine: None,
            protocol: None,
            quic: false,
            mss: None,
            busy: None,
            at_once: false,
            story: None,
        }
    }
}

impl Settings {
    /// Reads the address's query, already percent-decoded into pairs.
    ///
    /// # Errors
    /// The first setting that cannot be followed, with what would be right.
    pub fn from_query<'a>(
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Settings, SettingsError> {
        let short = |text: &str| text.chars().take(40).collect::<String>();
        let list = |text: &str| -> Vec<String> {
            text.split(',')
                .map(str::trim)
                .filter(|item| !item.is_empty())
                .map(String::from)
                .collect()
        };
        let pairs: Vec<(&str, &str)> = pairs.into_iter().collect();
        let mut settings = Settings::default();
        if let Some((_, id)) = pairs.iter().find(|(key, _)| *key == "story") {
            let story = story::of(id).ok_or_else(|| SettingsError::Story(short(id)))?;
            settings = story.settings();
        }
        let mut script: Vec<(&str, &str)> = Vec::new();
        for (key, value) in pairs {
            match key {
                "story" => {}
                "preset" => {
                    if !PRESETS.contains(&value) {
                        return Err(UnknownPreset(short(value)).into());
                    }
                    settings.preset = value.into();
                }
                "endpoints" => settings.endpoints = list(value),
                "readers" => {
                    settings.readers = list(value)
                        .iter()
                        .map(|name| {
                            Reader::from_name(name)
                                .ok_or_else(|| SettingsError::Reader(short(name)))
                        })
                        .collect::<Result<_, _>>()?;
                    if !settings.readers.iter().any(|reader| reader.in_browser()) {
                        // A page that reads nothing itself has nothing to confirm.
                        return Err(SettingsError::Reader(short(value)));
                    }
                }
                "runs" => settings.runs = number("runs", value, 1, MAX_ROUNDS.into())? as u32,
                "seed" => settings.seed = number("seed", value, 0, u64::MAX)?,
                "go" => settings.go = value != "0",
                "session" => settings.session = Some(short(value)),
                "engine" => settings.engine = Some(short(value)),
                "protocol" => {
                    let known = ClientProtocol::from_name(value).filter(|own| own.in_browser());
                    settings.protocol =
                        Some(known.ok_or_else(|| SettingsError::Protocol(short(value)))?);
                }
                "quic" => settings.quic = value != "0",
                "mss" if value == "loopback" => settings.mss = Some(None),
                "mss" => {
                    settings.mss = Some(Some(number("mss", value, MIN_MSS, MAX_MSS)? as u32));
                }
                "busy_ms" => {
                    let ms = number("busy_ms", value, 0, MAX_BUSY_MS)?;
                    settings.busy = Some(Span::millis(ms as i64));
                }
                "at_once" => settings.at_once = value != "0",
                _ if crate::script::PARAMETERS.contains(&key) => script.push((key, value)),
                _ => return Err(SettingsError::Unknown(short(key))),
            }
        }
        if !script.is_empty() {
            settings.script = Some(Script::from_query(script)?);
        }
        Ok(settings)
    }

    /// The query that carries these settings, as pairs still to be percent-encoded.
    pub fn to_query(&self) -> Vec<(&'static str, String)> {
        let readers: Vec<&str> = self.readers.iter().map(|reader| reader.name()).collect();
        let mut query = vec![
            ("preset", self.preset.clone()),
            ("readers", readers.join(",")),
            ("runs", self.runs.to_string()),
            ("seed", self.seed.to_string()),
        ];
        if !self.endpoints.is_empty() {
            query.push(("endpoints", self.endpoints.join(",")));
        }
        if let Some(script) = self.script.as_ref().and_then(Script::to_query) {
            query.extend(script);
        }
        for (key, value) in
            [("session", &self.session), ("engine", &self.engine), ("story", &self.story)]
        {
            query.extend(value.iter().map(|value| (key, value.clone())));
        }
        if let Some(protocol) = self.protocol {
            query.push(("protocol", protocol.name().into()));
        }
        if let Some(mss) = self.mss {
            query.push(("mss", mss.map_or("loopback".into(), |bytes| bytes.to_string())));
        }
        if let Some(busy) = self.busy {
            query.push(("busy_ms", (busy.as_micros() / 1_000).to_string()));
        }
        if self.quic {
            query.push(("quic", "1".into()));
        }
        if self.at_once {
            query.push(("at_once", "1".into()));
        }
        if self.go {
            query.push(("go", "1".into()));
        }
        query
    }

    /// The endpoints that the settings ask for, `direct` first.
    ///
    /// # Errors
    /// When no preset has that name.
    pub fn names(&self) -> Result<Vec<String>, UnknownPreset> {
        let names = plan::endpoints_of(&self.preset, &self.endpoints)?;
        if let Some(protocol) = self.protocol {
            let mut spoken: Vec<String> = Vec::new();
            for name in names {
                let name = speaking(&name, protocol);
                if !spoken.contains(&name) {
                    spoken.push(name);
                }
            }
            return Ok(spoken);
        }
        Ok(names)
    }

    /// The plan for the lanes there are. An endpoint that failed to start is left to its own
    /// row and not planned.
    ///
    /// # Errors
    /// When a named endpoint does not exist.
    pub fn plan(&self, lanes: &Lanes) -> Result<Plan, SettingsError> {
        let all: Vec<&str> = lanes.lanes.iter().map(|lane| lane.endpoint.name.as_str()).collect();
        let asked = self.endpoints.iter().map(|name| match self.protocol {
            Some(protocol) => speaking(name, protocol),
            None => name.clone(),
        });
        for name in asked {
            if !all.contains(&name.as_str()) {
                return Err(SettingsError::Endpoint(name, all.join(", ")));
            }
        }
        let mss = self.mss.unwrap_or(lanes.mss);
        let readers: Vec<ReaderProfile> = self
            .readers
            .iter()
            .map(|reader| match reader {
                Reader::Recv => ReaderProfile::confirming(),
                reader => ReaderProfile::browser(*reader, self.engine.clone()),
            })
            .collect();
        let mut plan =
            Plan::preset(&self.preset, &self.endpoints, &readers, mss, self.runs, self.seed)?;
        if let Some(protocol) = self.protocol {
            for cell in &mut plan.cells {
                cell.endpoint = speaking(&cell.endpoint, protocol);
                let was_quic = cell.request.is_quic();
                cell.request.client_protocol = protocol.name().into();
                if cell.request.is_quic() != was_quic {
                    // Datagrams have no segments.
                    cell.link.mss = if was_quic { mss } else { None };
                }
            }
        }
        plan.cells.retain(|cell| lanes.runs(cell) && (self.quic || !cell.request.is_quic()));
        if let (Some(protocol), true) = (self.protocol, plan.cells.is_empty()) {
            return Err(SettingsError::NotSpoken(protocol.name()));
        }
        if let Some(cell) = plan.cells.iter().find(|cell| !lanes.has_way(cell)) {
            let text = |mss: Option<u32>| {
                mss.map_or("loopback's own size".into(), |bytes| format!("{bytes} bytes"))
            };
            let of_lane = lanes.lanes.iter().find(|lane| lane.endpoint.name == cell.endpoint);
            let ways = of_lane.map_or(&[][..], |lane| &lane.ways);
            let there: Vec<String> =
                ways.iter().filter(|way| way.speaks(cell)).map(|way| text(way.mss)).collect();
            return Err(SettingsError::Segment(text(cell.link.mss), there.join(", ")));
        }
        for cell in &mut plan.cells {
            if let Some(script) = &self.script {
                cell.script = script.clone();
                cell.link.nagle = script.nagle;
            }
            if cell.reader.in_browser() {
                let busy = self.busy.or(cell.page_work_us);
                cell.page_work_us = busy.filter(|busy| *busy > Span::ZERO);
            }
        }
        if self.script.is_some() || self.protocol.is_some() {
            // Cells that differed in that alone are one now.
            let mut seen: Vec<String> = Vec::new();
            plan.cells.retain(|cell| {
                let (id, first) = (cell.id(), !seen.contains(&cell.id()));
                seen.push(id);
                first
            });
        }
        if self.at_once {
            plan.all_at_once();
        }
        Ok(plan)
    }
}

impl Lanes {
    /// Whether a cell's endpoint is there and started, and speaks TLS where the cell does.
    fn runs(&self, cell: &Cell) -> bool {
        let mut of_name = self.lanes.iter().filter(|lane| lane.endpoint.name == cell.endpoint);
        of_name.any(|lane| lane.ways.iter().any(|way| way.speaks(cell)))
    }

    /// Whether a cell's endpoint can be reached over its link.
    fn has_way(&self, cell: &Cell) -> bool {
        let lane = self.lanes.iter().find(|lane| lane.endpoint.name == cell.endpoint);
        lane.is_some_and(|lane| lane.origin(cell).is_some())
    }
}

fn number(what: &'static str, value: &str, min: u64, max: u64) -> Result<u64, SettingsError> {
    value.parse().ok().filter(|number| (min..=max).contains(number)).ok_or_else(|| {
        SettingsError::Number { what, value: value.chars().take(40).collect(), min, max }
    })
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
