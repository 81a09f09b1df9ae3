//! Plans: which cells, in which order.
//!
//! Runs go in rounds. A round plays every cell once, in an order shuffled by a recorded seed,
//! the `direct` cells first and again last, so that what changed on the machine in between
//! shows up on the control.

use serde::{Deserialize, Serialize};

use crate::arrivals::Reader;
use crate::cell::{Cell, DIRECT, HeaderSet, Link, Request};
use crate::script::Script;

/// Names of the presets that can be run.
pub const PRESETS: [&str; 1] = ["headline"];

/// Most rounds of one plan: far more than any median needs, and an end for a typing mistake.
pub const MAX_ROUNDS: u32 = 1_000;

/// No preset has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no preset is called {0:?}: known are {known}", known = PRESETS.join(", "))]
pub struct UnknownPreset(pub String);

/// What the reader side of a plan looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderProfile {
    /// Who reads.
    pub reader: Reader,
    /// The engine, for a reader in a browser.
    pub engine: Option<String>,
    /// Headers of a native reader.
    pub headers: HeaderSet,
    /// `Accept-Encoding` of a native reader.
    pub accept_encoding: Option<String>,
}

impl ReaderProfile {
    /// The native reader with plain headers.
    pub fn recv() -> ReaderProfile {
        ReaderProfile {
            reader: Reader::Recv,
            engine: None,
            headers: HeaderSet::Plain,
            accept_encoding: None,
        }
    }

    /// A reader in a browser; the browser chooses its own headers.
    pub fn browser(reader: Reader, engine: Option<String>) -> ReaderProfile {
        ReaderProfile { reader, engine, headers: HeaderSet::Browser, accept_encoding: None }
    }
}

/// A list of cells and how often each is played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The preset.
    pub preset: String,
    /// Seed of the shuffle.
    pub seed: u64,
    /// How many rounds.
    pub rounds: u32,
    /// The cells, `direct` ones included.
    pub cells: Vec<Cell>,
}

impl Plan {
    /// The cells of a preset for these endpoints and readers. `direct` is added when missing.
    ///
    /// # Errors
    /// When no preset has that name.
    pub fn preset(
        name: &str,
        endpoints: &[String],
        readers: &[ReaderProfile],
        mss: Option<u32>,
        rounds: u32,
        seed: u64,
    ) -> Result<Plan, UnknownPreset> {
        let scripts = match name {
            "headline" => vec![Script::headline()],
            _ => return Err(UnknownPreset(name.chars().take(40).collect())),
        };
        let mut names = vec![DIRECT.to_string()];
        names.extend(endpoints.iter().filter(|name| *name != DIRECT).cloned());
        let mut cells = Vec::new();
        for script in &scripts {
            for profile in readers {
                for endpoint in &names {
                    cells.push(Cell {
                        endpoint: endpoint.clone(),
                        preset: name.to_string(),
                        reader: profile.reader,
                        engine: profile.engine.clone(),
                        request: Request {
                            client_protocol: "http/1.1".into(),
                            upstream_protocol: (endpoint != DIRECT).then(|| "http/1.1".into()),
                            headers: profile.headers,
                            accept_encoding: profile.accept_encoding.clone(),
                            slow: None,
                        },
                        link: Link { mss, pooled: None, nagle: script.nagle },
                        concurrency: 1,
                        script: script.clone(),
                    });
                }
            }
        }
        Ok(Plan { preset: name.into(), seed, rounds, cells })
    }

    /// The order of one round, as indices into `cells`: `direct` cells, the others shuffled,
    /// `direct` cells again. A plan of `direct` alone is played once a round.
    pub fn round(&self, round: u32) -> Vec<usize> {
        let (direct, mut others): (Vec<usize>, Vec<usize>) =
            (0..self.cells.len()).partition(|index| self.cells[*index].is_direct());
        if others.is_empty() {
            return direct;
        }
        // One generator a round, so that a round's order does not depend on the rounds before it.
        let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add(u64::from(round)));
        random.shuffle(&mut others);
        let mut order = direct.clone();
        order.append(&mut others);
        order.extend(direct);
        order
    }

    /// How many runs the whole plan has.
    pub fn run_count(&self) -> usize {
        self.round(0).len() * self.rounds as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(endpoints: &[&str]) -> Plan {
        let names: Vec<String> = endpoints.iter().map(|name| name.to_string()).collect();
        Plan::preset("headline", &names, &[ReaderProfile::recv()], Some(1448), 3, 42).unwrap()
    }

    #[test]
    fn direct_is_always_in_a_plan_first_and_last() {
        let plan = plan(&["haproxy", "caddy", "nginx"]);
        for round in 0..3 {
            let order = plan.round(round);
            assert_eq!(order.len(), 5);
            for index in [order[0], order[4]] {
                assert!(plan.cells[index].is_direct());
            }
            let mut seen = order[1..4].to_vec();
            seen.sort_unstable();
            assert_eq!(seen, [1, 2, 3]);
        }
        assert_eq!(plan.run_count(), 15);
    }

    #[test]
    fn the_seed_decides_the_order() {
        let endpoints = ["a", "b", "c", "d", "e", "f"];
        let first = plan(&endpoints);
        assert_eq!(first.round(1), plan(&endpoints).round(1));
        let other = Plan { seed: 43, ..first.clone() };
        assert!((0..3).any(|round| first.round(round) != other.round(round)));
    }

    #[test]
    fn cells_have_ids_of_their_own() {
        let readers = [
            ReaderProfile::recv(),
            ReaderProfile::browser(Reader::Fetch, Some("chromium".into())),
            ReaderProfile::browser(Reader::Eventsource, Some("chromium".into())),
        ];
        let plan = Plan::preset("headline", &["haproxy".into()], &readers, None, 1, 1).unwrap();
        let mut ids: Vec<String> = plan.cells.iter().map(Cell::id).collect();
        assert_eq!(ids[1], "haproxy/41x60B@50ms/recv/http/1.1/loopback");
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 6);
    }

    #[test]
    fn an_unknown_preset_is_named() {
        let error = Plan::preset("nope", &[], &[], None, 1, 1).unwrap_err();
        assert_eq!(error.to_string(), "no preset is called \"nope\": known are headline");
    }
}
