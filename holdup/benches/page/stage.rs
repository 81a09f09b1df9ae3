//! What stands behind the benchmarked page: an emitter, eight taps straight to it, and a place for
//! what the page posts. No proxies: what the page itself costs is no matter of theirs.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use emitter::ledgers::Lookup;
use emitter::{Assets, Config, Emitter};
use measure::cell::{DIRECT, ETHERNET_MSS};
use measure::page::{Finished, Lane, Lanes, RunPost, Settings, Way};
use measure::plan::Plan;
use measure::results::{Endpoint, RunRecord};
use measure::{Arrivals, RunId};
use tap::{Behaviour, Tap};

/// Lanes at once: as many as the headline preset has.
pub(crate) const LANES: usize = 8;
/// The session that the page posts its runs to.
pub(crate) const SESSION: &str = "bench";

#[derive(Clone, Default)]
struct Shared {
    lanes: Arc<Mutex<Option<Lanes>>>,
    taps: Arc<Mutex<Vec<Tap>>>,
    posts: Arc<Mutex<Vec<RunPost>>>,
    finished: Arc<Mutex<Option<Finished>>>,
}

/// A running stage.
pub(crate) struct Stage {
    emitter: Emitter,
    shared: Shared,
    lanes: Lanes,
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stage {
    /// A stage that serves the page in that folder.
    pub(crate) fn start(page: &str) -> Result<Stage, String> {
        let folder = PathBuf::from(page);
        if !folder.join("pkg").is_dir() {
            return Err(format!("{page} has no page: run `cargo xtask page` first"));
        }
        let shared = Shared::default();
        let more = Router::new()
            .route("/lanes", get(lanes))
            .route("/wire/{run}", get(wire))
            .route("/arrivals/{session}", post(arrivals))
            .route("/finished/{session}", post(finished))
            .with_state(shared.clone());
        let assets = Assets::Folder(folder);
        let emitter = Emitter::start(Config { assets, more, ..Config::loopback() })
            .map_err(|error| error.to_string())?;
        let mut all = Vec::new();
        for index in 0..LANES {
            let name = if index == 0 { DIRECT.into() } else { format!("tap-{index}") };
            let mss = Some(ETHERNET_MSS);
            let listen = ([127, 0, 0, 1], 0).into();
            let tap = Tap::start(listen, emitter.address(), Behaviour::Honest, mss)
                .map_err(|error| error.to_string())?;
            let origin = format!("http://{}", tap.address());
            let endpoint = Endpoint { name, ..Endpoint::direct() };
            all.push(Lane { endpoint, ways: vec![Way { mss, origin, quic: false }] });
            lock(&shared.taps).push(tap);
        }
        let lanes = Lanes {
            instance: emitter.instance().into(),
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: "bench".into(),
            cpus: 0,
            load: None,
            mss: Some(ETHERNET_MSS),
            lanes: all,
        };
        lock(&shared.lanes).replace(lanes.clone());
        Ok(Stage { emitter, shared, lanes })
    }

    /// The address of the page without its settings.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.emitter.address())
    }

    /// The names of all lanes, as an address has them.
    pub(crate) fn names(&self) -> String {
        let names: Vec<&str> =
            self.lanes.lanes.iter().map(|lane| lane.endpoint.name.as_str()).collect();
        names.join(",")
    }

    /// The origins of all lanes.
    pub(crate) fn origins(&self) -> Vec<&str> {
        let ways = self.lanes.lanes.iter().flat_map(|lane| &lane.ways);
        ways.map(|way| way.origin.as_str()).collect()
    }

    /// The plan that the page makes of a query.
    pub(crate) fn plan(&self, query: &str) -> Result<Plan, String> {
        let pairs: Vec<(String, String)> =
            serde_urlencoded::from_str(query).map_err(|error| error.to_string())?;
        let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let settings = Settings::from_query(pairs).map_err(|error| error.to_string())?;
        let settings = Settings { engine: Some("chromium".into()), ..settings };
        settings.plan(&self.lanes).map_err(|error| error.to_string())
    }

    /// The page's last word, once it is said.
    pub(crate) fn finished(&self) -> Option<Finished> {
        lock(&self.shared.finished).take()
    }

    /// The runs that the page has posted, with the other sides of each; they are forgotten here.
    pub(crate) fn take(&self) -> Vec<RunRecord> {
        std::mem::take(&mut *lock(&self.shared.posts))
            .into_iter()
            .map(|post| RunRecord {
                ledger: match self.emitter.ledgers().lookup(post.arrivals.run) {
                    Lookup::Known(ledger) => Some(*ledger),
                    Lookup::Dropped | Lookup::Unknown => None,
                },
                wire: self.wire(post.arrivals.run),
                cell: post.cell,
                round: post.round,
                position: post.position,
                arrivals: post.arrivals,
                wire_unknown: None,
                proxy: None,
            })
            .collect()
    }

    /// What any tap saw of a run.
    pub(crate) fn wire(&self, run: RunId) -> Option<Arrivals> {
        self.shared.wire(run)
    }
}

impl Shared {
    fn wire(&self, run: RunId) -> Option<Arrivals> {
        lock(&self.taps).iter().find_map(|tap| tap.arrivals(run))
    }
}

async fn lanes(State(shared): State<Shared>) -> Response {
    match lock(&shared.lanes).clone() {
        Some(lanes) => Json(lanes).into_response(),
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

async fn wire(State(shared): State<Shared>, Path(run): Path<String>) -> Response {
    match run.parse().ok().and_then(|run| shared.wire(run)) {
        Some(arrivals) => Json(arrivals).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

async fn arrivals(
    State(shared): State<Shared>,
    Path(_): Path<String>,
    Json(run): Json<RunPost>,
) -> StatusCode {
    lock(&shared.posts).push(run);
    StatusCode::NO_CONTENT
}

async fn finished(
    State(shared): State<Shared>,
    Path(_): Path<String>,
    Json(end): Json<Finished>,
) -> StatusCode {
    lock(&shared.finished).replace(end);
    StatusCode::NO_CONTENT
}
