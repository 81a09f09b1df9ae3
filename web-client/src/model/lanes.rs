//! Which lanes there are to see: one for each way that the plan plays, whoever reads it, and one
//! for each endpoint of the plan that does not run, which says why.
//!
//! Pure, so that it is tested without a browser.

use measure::page::{Lanes, Settings};
use measure::plan::Plan;
use measure::results::Endpoint;
use measure::script::{Body, Framing};
use measure::{Cell, Script};

/// Why an endpoint that runs has no part in a plan.
const NOT_SPOKEN: &str = "it does not speak the protocol that is asked here";

/// A lane as it is planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanePlan {
    /// What its cells share ([`Cell::lane_key`]); the endpoint's name where none is played.
    pub key: String,
    /// What runs there.
    pub endpoint: Endpoint,
    /// What tells it from the other lanes of its endpoint; empty where there is no other.
    pub special: String,
    /// Whether it is one of several streams at once through its endpoint.
    pub of_many: bool,
    /// Why it does not run; absent when it does.
    pub failed: Option<String>,
    /// What it plays; absent when it does not run.
    pub script: Option<Script>,
}

impl LanePlan {
    /// Its name in a sentence.
    pub fn name(&self) -> String {
        let name = &self.endpoint.name;
        if self.special.is_empty() {
            return name.clone();
        }
        [name, " (", &self.special, ")"].concat()
    }
}

/// The lanes of a plan, endpoint by endpoint, so that two scripts of one endpoint stand side by
/// side. Endpoints that the settings ask for and that did not start keep a row.
pub fn of_plan(settings: &Settings, lanes: &Lanes, plan: &Plan) -> Vec<LanePlan> {
    let endpoints: Vec<Endpoint> = lanes.lanes.iter().map(|lane| lane.endpoint.clone()).collect();
    let asked = settings.names().unwrap_or_default();
    let there: Vec<String> = asked
        .into_iter()
        .filter(|name| endpoints.iter().any(|endpoint| endpoint.name == *name))
        .collect();
    of_cells(&plan.cells, &endpoints, &there)
}

/// The lanes of cells, of whatever document, in the order of the names; endpoints that no name
/// tells of follow.
pub fn of_cells(cells: &[Cell], endpoints: &[Endpoint], names: &[String]) -> Vec<LanePlan> {
    let mut order: Vec<&str> = names.iter().map(String::as_str).collect();
    for cell in cells {
        if !order.contains(&cell.endpoint.as_str()) {
            order.push(&cell.endpoint);
        }
    }
    let mut planned = Vec::new();
    for name in order {
        let mut ways: Vec<(String, &Cell)> = Vec::new();
        for cell in cells.iter().filter(|cell| cell.endpoint == name) {
            let key = cell.lane_key();
            if !ways.iter().any(|(own, _)| *own == key) {
                ways.push((key, cell));
            }
        }
        let known = endpoints.iter().find(|endpoint| endpoint.name == name);
        let known = known.cloned().unwrap_or_else(|| Endpoint {
            name: name.into(),
            label: String::new(),
            ..Endpoint::direct()
        });
        if ways.is_empty() {
            planned.push(LanePlan {
                key: name.into(),
                special: String::new(),
                of_many: false,
                failed: known.failed.clone().or_else(|| Some(NOT_SPOKEN.into())),
                script: None,
                endpoint: known,
            });
            continue;
        }
        let facets: Vec<Vec<String>> = ways.iter().map(|(_, cell)| facets(cell)).collect();
        for ((key, cell), own) in ways.into_iter().zip(&facets) {
            planned.push(LanePlan {
                key,
                special: special(own, &facets),
                of_many: cell.stream.is_some(),
                failed: known.failed.clone(),
                script: Some(cell.script.clone()),
                endpoint: known.clone(),
            });
        }
    }
    planned
}

/// What two lanes of one endpoint may differ in, each in a few words.
fn facets(cell: &Cell) -> Vec<String> {
    let script = &cell.script;
    let mut facets = match &script.body {
        Body::Paced { frames, interval_us, frame_bytes } => vec![
            format!("frames of {frame_bytes} B"),
            format!("{} ms apart", interval_us.millis_text()),
            format!("{frames} frames"),
        ],
        Body::Writes { writes } => vec![format!("{} writes", writes.len()); 3],
    };
    let mut headers = String::new();
    for header in &script.headers {
        if !headers.is_empty() {
            headers.push_str(", ");
        }
        headers.push_str(&[&header.name, ": ", &header.value].concat());
    }
    let (headers, close) = (
        if headers.is_empty() { "no header of its own".into() } else { headers },
        script.framing == Framing::Close,
    );
    facets.push(headers);
    facets.push(if script.nagle { "Nagle on" } else { "Nagle off" }.into());
    facets.push(if close { "ends by closing" } else { "chunked" }.into());
    facets.push(match cell.link.mss {
        // Datagrams are no segments.
        _ if cell.request.is_quic() => String::new(),
        Some(mss) => format!("segments of {mss} B"),
        None => "segments of loopback".into(),
    });
    facets.push(cell.request.client_protocol.clone());
    facets.push(
        cell.stream
            .map_or(String::new(), |stream| format!("stream {stream} of {}", cell.concurrency)),
    );
    facets
}

/// Those of a lane's facets in which not all lanes of its endpoint are alike.
fn special(own: &[String], all: &[Vec<String>]) -> String {
    let mut special = String::new();
    for (place, facet) in own.iter().enumerate() {
        let differs = |other: &Vec<String>| {
            other.get(place).is_some_and(|other| !other.is_empty() && other != facet)
        };
        if !facet.is_empty() && all.iter().any(differs) {
            if !special.is_empty() {
                special.push_str(", ");
            }
            special.push_str(facet);
        }
    }
    special
}
