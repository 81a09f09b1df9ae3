//! What page and command say to each other: by data, never by scraping.
//!
//! The address carries the plan ([`Settings`]), `/lanes` tells the page what there is
//! ([`Lanes`]), the page posts each run as a [`RunPost`] and ends with a [`Finished`].

use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, Reader};
use crate::cell::DIRECT;
use crate::plan::{MAX_ROUNDS, PRESETS, Plan, ReaderProfile, UnknownPreset};
use crate::results::{Browser, Endpoint};
use crate::script::{Script, ScriptError};

/// Most lanes that run at once.
pub const MAX_LANES: usize = 32;

/// One lane: a way to the emitter as the page reaches it, through its tap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// What it is, with the configuration it runs.
    pub endpoint: Endpoint,
    /// The tap's origin, such as `http://127.0.0.1:4711`; absent when the endpoint failed.
    pub origin: Option<String>,
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
    /// Segment payload on the taps' connections to the proxies; absent for loopback's own.
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
    /// Not a reader.
    #[error("no reader is called {0:?}: known are eventsource, fetch")]
    Reader(String),
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
            readers: vec![Reader::Fetch],
            runs: 1,
            seed: 1,
            go: false,
            session: None,
            engine: None,
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
        let mut settings = Settings::default();
        let mut script: Vec<(&str, &str)> = Vec::new();
        for (key, value) in pairs {
            match key {
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
                                .filter(|reader| {
                                    matches!(reader, Reader::Eventsource | Reader::Fetch)
                                })
                                .ok_or_else(|| SettingsError::Reader(short(name)))
                        })
                        .collect::<Result<_, _>>()?;
                    if settings.readers.is_empty() {
                        return Err(SettingsError::Reader(String::new()));
                    }
                }
                "runs" => settings.runs = number("runs", value, 1, MAX_ROUNDS.into())? as u32,
                "seed" => settings.seed = number("seed", value, 0, u64::MAX)?,
                "go" => settings.go = value != "0",
                "session" => settings.session = Some(short(value)),
                "engine" => settings.engine = Some(short(value)),
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
        for (key, value) in [("session", &self.session), ("engine", &self.engine)] {
            query.extend(value.iter().map(|value| (key, value.clone())));
        }
        if self.go {
            query.push(("go", "1".into()));
        }
        query
    }

    /// The plan for the lanes there are. An endpoint that failed to start is left to its own
    /// row and not planned.
    ///
    /// # Errors
    /// When a named endpoint does not exist.
    pub fn plan(&self, lanes: &Lanes) -> Result<Plan, SettingsError> {
        let all: Vec<&str> = lanes.lanes.iter().map(|lane| lane.endpoint.name.as_str()).collect();
        if let Some(unknown) = self.endpoints.iter().find(|name| !all.contains(&name.as_str())) {
            return Err(SettingsError::Endpoint(unknown.clone(), all.join(", ")));
        }
        let wanted = |name: &str| {
            name == DIRECT || self.endpoints.is_empty() || self.endpoints.iter().any(|n| n == name)
        };
        let endpoints: Vec<String> = lanes
            .lanes
            .iter()
            .filter(|lane| lane.origin.is_some() && wanted(&lane.endpoint.name))
            .map(|lane| lane.endpoint.name.clone())
            .collect();
        let readers: Vec<ReaderProfile> = self
            .readers
            .iter()
            .map(|reader| ReaderProfile::browser(*reader, self.engine.clone()))
            .collect();
        let mut plan =
            Plan::preset(&self.preset, &endpoints, &readers, lanes.mss, self.runs, self.seed)?;
        if let Some(script) = &self.script {
            for cell in &mut plan.cells {
                cell.script = script.clone();
                cell.link.nagle = script.nagle;
            }
        }
        Ok(plan)
    }
}

fn number(what: &'static str, value: &str, min: u64, max: u64) -> Result<u64, SettingsError> {
    value.parse().ok().filter(|number| (min..=max).contains(number)).ok_or_else(|| {
        SettingsError::Number { what, value: value.chars().take(40).collect(), min, max }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes() -> Lanes {
        let lane = |name: &str, origin: Option<&str>| Lane {
            endpoint: Endpoint { name: name.into(), ..Endpoint::direct() },
            origin: origin.map(String::from),
        };
        Lanes {
            instance: "i".into(),
            version: "0".into(),
            kernel: "k".into(),
            cpus: 2,
            load: None,
            mss: Some(1448),
            lanes: vec![
                lane("direct", Some("http://127.0.0.1:1")),
                lane("haproxy", Some("http://127.0.0.1:2")),
                lane("envoy", None),
            ],
        }
    }

    #[test]
    fn settings_round_trip_through_the_address() {
        let query = [
            ("preset", "headline"),
            ("endpoints", "haproxy"),
            ("readers", "eventsource,fetch"),
            ("runs", "3"),
            ("frames", "12"),
            ("header", "X-Accel-Buffering: no"),
            ("session", "abc"),
            ("go", "1"),
        ];
        let settings = Settings::from_query(query).unwrap();
        let again = settings.to_query();
        let pairs = again.iter().map(|(key, value)| (*key, value.as_str()));
        assert_eq!(Settings::from_query(pairs), Ok(settings.clone()));
        let plan = settings.plan(&lanes()).unwrap();
        assert_eq!(plan.cells.len(), 4, "direct and haproxy, each by two readers");
        assert_eq!(plan.cells[0].script.frame_count(), 12);
    }

    #[test]
    fn a_failed_lane_is_not_planned() {
        let plan = Settings::default().plan(&lanes()).unwrap();
        assert!(plan.cells.iter().all(|cell| cell.endpoint != "envoy"));
    }

    #[test]
    fn what_cannot_be_followed_is_named() {
        for (query, message) in [
            (("runs", "0"), "runs is \"0\": it must be a number from 1 to 1000"),
            (("readers", "xhr"), "no reader is called \"xhr\": known are eventsource, fetch"),
            (
                ("preset", "x"),
                "no preset is called \"x\": known are headline, frame-size, emit-rate, header, slow-client, connections, chunk-size, temp-file, nginx-upstream-version, gzip, shadowed-location, haproxy-trigger, no-delay-cost, nginx-grid, published",
            ),
            (("colour", "red"), "no setting is called \"colour\""),
            (("frames", "0"), "frames is 0: it must be from 1 to 99999"),
        ] {
            assert_eq!(Settings::from_query([query]).unwrap_err().to_string(), message);
        }
        let settings = Settings::from_query([("endpoints", "squid")]).unwrap();
        assert_eq!(
            settings.plan(&lanes()).unwrap_err().to_string(),
            "no lane is called \"squid\": there are direct, haproxy, envoy"
        );
    }
}
