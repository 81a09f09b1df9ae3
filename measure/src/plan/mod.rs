//! Plans: which cells, in which order.
//!
//! Runs go in rounds. A round plays every cell once, in an order shuffled by a recorded seed,
//! the `direct` cells first and again last, so that what changed on the machine in between
//! shows up on the control.

mod presets;
mod steps;

use serde::{Deserialize, Serialize};

use crate::arrivals::Reader;
use crate::cell::{Cell, DIRECT, HeaderSet, Link, Request};
use crate::plan::presets::Group;
use crate::script::Script;
use crate::transport::ClientProtocol;
use crate::units::Span;

pub use presets::{BROWSER_ENCODINGS, BROWSER_PRESETS, NATIVE_PRESETS, PRESETS};

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

    /// The native reader that confirms a browser's path: it sends what a browser sends, since a
    /// proxy may treat a plain client otherwise.
    pub fn confirming() -> ReaderProfile {
        ReaderProfile {
            headers: HeaderSet::ChromiumFetch,
            accept_encoding: Some(BROWSER_ENCODINGS.into()),
            ..ReaderProfile::recv()
        }
    }

    /// A reader in a browser; the browser chooses its own headers.
    pub fn browser(reader: Reader, engine: Option<String>) -> ReaderProfile {
        ReaderProfile { reader, engine, headers: HeaderSet::Browser, accept_encoding: None }
    }
}

/// The endpoints that a preset needs, `direct` first, whoever reads.
///
/// # Errors
/// When no preset has that name.
pub fn endpoints_of(preset: &str, asked: &[String]) -> Result<Vec<String>, UnknownPreset> {
    Ok(Plan::preset(preset, asked, &[ReaderProfile::recv()], None, 1, 0)?.endpoints())
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
    /// The cells of a preset. Endpoints named in `asked` take the place of the preset's own, or,
    /// for `published`, choose among them; none named means all of the preset's. `direct` is in
    /// every plan.
    ///
    /// # Errors
    /// When no preset has that name.
    pub fn preset(
        name: &str,
        asked: &[String],
        readers: &[ReaderProfile],
        mss: Option<u32>,
        rounds: u32,
        seed: u64,
    ) -> Result<Plan, UnknownPreset> {
        let groups =
            presets::groups(name).ok_or_else(|| UnknownPreset(name.chars().take(40).collect()))?;
        let own = asked.is_empty();
        let asked: Vec<&str> =
            asked.iter().map(String::as_str).filter(|name| *name != DIRECT).collect();
        let mut cells: Vec<Cell> = Vec::new();
        // A page asks for streams, not for chat answers.
        let native = readers.iter().all(|profile| !profile.reader.in_browser());
        for group in groups.iter().filter(|group| native || group.prompts.is_none()) {
            let mut endpoints = vec![DIRECT];
            match (own, name) {
                (true, _) => endpoints.extend(group.endpoints),
                (false, "published" | "protocols") => {
                    // Whoever names an endpoint means it with TLS in front too, and with
                    // another protocol behind; whoever names TLS means what is named.
                    let exactly = asked.iter().any(|name| name.ends_with("-tls"));
                    let named = |name: &&&str| {
                        if exactly {
                            return asked.contains(*name);
                        }
                        let plain = name.strip_suffix("-tls").unwrap_or(name);
                        let stock = plain.strip_suffix("-h2c").unwrap_or(plain);
                        [**name, plain, stock].iter().any(|name| asked.contains(name))
                    };
                    endpoints.extend(group.endpoints.iter().filter(named));
                }
                (false, _) => endpoints.extend(&asked),
            }
            let mut profiles = readers.to_vec();
            if group.also_plain && readers.iter().any(|own| *own == ReaderProfile::confirming()) {
                profiles.push(ReaderProfile::recv());
            }
            // A browser that is offered HTTP/2 takes it: nothing else can be asked of it. Where it
            // is told to, it speaks HTTP/3.
            let spoken = group.protocols.iter().filter(|own| native || own.in_browser());
            let asks = spoken.flat_map(|protocol| {
                let scripts = group.scripts.iter().map(move |script| (*protocol, script));
                scripts.flat_map(|(protocol, script)| {
                    profiles.iter().map(move |profile| (protocol, script, profile))
                })
            });
            for (protocol, script, profile) in asks {
                for endpoint in &endpoints {
                    let mut one = cell(group, endpoint, script, profile, mss);
                    one.request.client_protocol = protocol.name().into();
                    if protocol == ClientProtocol::Http3 {
                        // It comes in datagrams, whatever segments are.
                        one.link.mss = None;
                    }
                    if one.concurrency == 1 {
                        cells.push(one);
                        continue;
                    }
                    cells.extend(
                        (1..=one.concurrency)
                            .map(|stream| Cell { stream: Some(stream), ..one.clone() }),
                    );
                }
            }
        }
        // Groups of one preset may share their control.
        let mut seen: Vec<(String, String)> = Vec::new();
        cells.retain(|cell| {
            let own = (cell.preset.clone(), cell.id());
            let first = !seen.contains(&own);
            seen.push(own);
            first
        });
        Ok(Plan { preset: name.into(), seed, rounds, cells })
    }

    /// The endpoints that the plan needs, `direct` first, each once.
    pub fn endpoints(&self) -> Vec<String> {
        let mut names = vec![DIRECT.to_string()];
        for cell in &self.cells {
            if !names.contains(&cell.endpoint) {
                names.push(cell.endpoint.clone());
            }
        }
        names
    }

    /// The order of one round, as indices into `cells`. Cells that share a control are played
    /// in one block, the control first and last, so that it stands close to what it is held
    /// against; blocks and the cells within are shuffled. A cell that two presets name is played
    /// once. A control without other cells is played once, too.
    pub fn round(&self, round: u32) -> Vec<usize> {
        // One generator a round, so that a round's order does not depend on the rounds before it.
        let mut random = fastrand::Rng::with_seed(self.seed.wrapping_add(u64::from(round)));
        let mut seen: Vec<String> = Vec::new();
        let mut blocks: Vec<(String, Vec<usize>)> = Vec::new();
        for (index, cell) in self.cells.iter().enumerate() {
            let id = cell.id();
            if seen.contains(&id) {
                continue;
            }
            seen.push(id);
            let key = cell.control_key();
            match blocks.iter_mut().find(|(other, _)| *other == key) {
                Some((_, block)) => block.push(index),
                None => blocks.push((key, vec![index])),
            }
        }
        random.shuffle(&mut blocks);
        let mut order = Vec::new();
        for (_, block) in blocks {
            let (direct, mut others): (Vec<usize>, Vec<usize>) =
                block.into_iter().partition(|index| self.cells[*index].is_direct());
            random.shuffle(&mut others);
            let again = if others.is_empty() { Vec::new() } else { direct.clone() };
            order.extend(direct.into_iter().chain(others).chain(again));
        }
        order
    }

    /// How long the whole plan's streams last, pauses of slow readers not counted.
    pub fn duration(&self) -> Span {
        let one: i64 = self
            .round(0)
            .iter()
            .map(|index| self.cells[*index].script.duration().as_micros())
            .sum();
        Span(one * i64::from(self.rounds))
    }

    /// How many runs the whole plan has.
    pub fn run_count(&self) -> usize {
        self.round(0).len() * self.rounds as usize
    }
}

fn cell(
    group: &Group,
    endpoint: &str,
    script: &Script,
    profile: &ReaderProfile,
    mss: Option<u32>,
) -> Cell {
    let encoding = group.accept_encoding.map(String::from);
    // A browser sends its own and lets nobody change it.
    let chosen = if profile.reader.in_browser() { None } else { encoding };
    Cell {
        endpoint: endpoint.to_string(),
        preset: group.preset.to_string(),
        reader: profile.reader,
        engine: profile.engine.clone(),
        request: Request {
            client_protocol: "http/1.1".into(),
            upstream_protocol: (endpoint != DIRECT).then(|| "http/1.1".into()),
            headers: profile.headers,
            accept_encoding: chosen.or_else(|| profile.accept_encoding.clone()),
            slow: group.slow.filter(|_| !profile.reader.in_browser()),
            pause: None,
            prompts: group.prompts,
        },
        link: Link { mss: group.mss.unwrap_or(mss), pooled: None, nagle: script.nagle },
        concurrency: if profile.reader.in_browser() { group.streams } else { 1 },
        stream: None,
        page_work_us: group.page_work.filter(|_| profile.reader.in_browser()),
        script: script.clone(),
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
        assert_eq!(plan.endpoints(), ["direct", "haproxy", "caddy", "nginx"]);
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
    fn published_plays_a_cell_that_two_tables_share_once() {
        let plan =
            Plan::preset("published", &[], &[ReaderProfile::recv()], Some(1448), 1, 1).unwrap();
        let order = plan.round(0);
        let id = "haproxy/41x60B@50ms/recv/http/1.1/mss1448";
        assert_eq!(order.iter().filter(|index| plan.cells[**index].id() == id).count(), 1);
        assert!(plan.cells.iter().filter(|cell| cell.id() == id).count() >= 3);
        // Every block begins and ends with its control.
        let first = &plan.cells[order[0]];
        let block: Vec<&Cell> = order
            .iter()
            .map(|index| &plan.cells[*index])
            .take_while(|cell| cell.control_key() == first.control_key())
            .collect();
        assert!(block.first().is_some_and(|cell| cell.is_direct()));
        assert!(block.last().is_some_and(|cell| cell.is_direct()));
        let minutes = plan.duration().as_millis_f64() / 60_000.0;
        assert!((2.0..6.0).contains(&minutes), "one round of {minutes} minutes");
    }

    #[test]
    fn named_endpoints_take_the_place_of_the_presets_own() {
        let asked = ["apache".to_string()];
        let readers = [ReaderProfile::recv()];
        let plan = Plan::preset("headline", &asked, &readers, None, 1, 1).unwrap();
        assert_eq!(plan.endpoints(), ["direct", "apache"]);
        let plan = Plan::preset("headline", &["direct".into()], &readers, None, 2, 1).unwrap();
        assert_eq!((plan.endpoints().len(), plan.run_count()), (1, 2));
        let plan = Plan::preset("published", &["haproxy".into()], &readers, None, 1, 1).unwrap();
        assert_eq!(plan.endpoints(), ["direct", "haproxy"]);
    }

    #[test]
    fn an_unknown_preset_is_named() {
        let error = Plan::preset("nope", &[], &[], None, 1, 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no preset is called \"nope\": known are headline, frame-size, emit-rate, header, slow-client, connections, chunk-size, temp-file, nginx-upstream-version, gzip, shadowed-location, haproxy-trigger, no-delay-cost, nginx-grid, busy-page, connection-limit, protocols, published"
        );
    }
}
