//! The routes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use emitter::{Emitter, Ledgers, Lookup};
use measure::page::{Finished, Lanes, RunPost};
use measure::{Arrivals, RunId};
use tap::record::Records;
use tap::sealed::Sealed;

use crate::machine;
use crate::page::Inbox;
use crate::page::inbox::Refused;
use crate::page::native::{self, Paths};
use crate::rig::Rig;
use crate::secured::Secured;

/// Most bytes of one posted run: 100,000 frames of some 120 bytes each.
const MAX_POST: usize = 16 << 20;

/// How many joined runs are kept: each is asked for twice, by the page and by the command, soon
/// after its end.
const JOINED_KEPT: usize = 256;

/// What the routes know. The lanes are told once everything has started.
#[derive(Clone, Default)]
pub(crate) struct Page {
    pub(crate) inbox: Inbox,
    told: Arc<OnceLock<Told>>,
}

struct Told {
    lanes: Lanes,
    records: Vec<Records>,
    /// By the ports of the taps.
    sealed: BTreeMap<u16, Sealed>,
    /// What was joined of them: while it is fresh, and what comes later cannot disturb it.
    joined: Mutex<BTreeMap<RunId, Arrivals>>,
    ledgers: Ledgers,
    paths: Arc<Paths>,
}

/// What a tap saw of a run; without it why it cannot tell, where there is a why.
pub(crate) type Wire = Result<Arrivals, Option<String>>;

impl Page {
    /// Tells the lanes, the taps' records, and where the native reader finds what the lanes lead
    /// to.
    ///
    /// The native reader speaks TLS with whom `secured` vouches for, where anything does.
    pub(crate) fn tell(
        &self,
        lanes: Lanes,
        rig: &Rig,
        emitter: &Emitter,
        address: SocketAddr,
        secured: Option<&Secured>,
    ) {
        let secure = rig.direct_tls().zip(secured.map(Secured::secure));
        let told = Told {
            lanes,
            records: rig.records(),
            sealed: rig.sealed(),
            joined: Mutex::default(),
            ledgers: emitter.ledgers().clone(),
            paths: Arc::new(Paths::new(rig.addresses(), address, secure)),
        };
        // Told once, by the one who started the rig.
        let _ = self.told.set(told);
    }

    /// The routes, for the emitter to serve.
    pub(crate) fn router(&self) -> Router {
        Router::new()
            .route("/lanes", get(lanes))
            .route("/wire/{run}", get(wire))
            .route("/native", post(confirm))
            .route("/arrivals/{session}", post(arrivals))
            .route("/finished/{session}", post(finished))
            .layer(DefaultBodyLimit::max(MAX_POST))
            .with_state(self.clone())
    }

    /// What any tap saw of a run.
    pub(crate) fn wire(&self, run: RunId, origin: Option<&str>) -> Wire {
        let told = self.told.get().ok_or(None)?;
        if let Some(arrivals) = told.records.iter().find_map(|records| records.get(run)) {
            return Ok(arrivals);
        }
        let sealed = origin.and_then(|origin| told.sealed.get(&port(origin)?)).ok_or(None)?;
        let mut joined = told.joined.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(arrivals) = joined.get(&run) {
            return Ok(arrivals.clone());
        }
        let Lookup::Known(ledger) = told.ledgers.lookup(run) else { return Err(None) };
        let arrivals = sealed.join(&ledger).map_err(|why| Some(why.to_string()))?;
        if joined.len() == JOINED_KEPT {
            joined.pop_first();
        }
        joined.insert(run, arrivals.clone());
        Ok(arrivals)
    }
}

/// The port in an address such as `https://127.0.0.1:4711/stream`.
fn port(address: &str) -> Option<u16> {
    let host = address.split_once("://")?.1.split(['/', '?']).next()?;
    host.rsplit_once(':')?.1.parse().ok()
}

fn still_starting() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "the proxies are still starting\n").into_response()
}

async fn lanes(State(page): State<Page>) -> Response {
    match page.told.get() {
        Some(told) => {
            let now = Lanes { load: machine::load(), ..told.lanes.clone() };
            ([("cache-control", "no-store")], Json(now)).into_response()
        }
        None => still_starting(),
    }
}

/// Reads natively through an endpoint and answers with what was read: the confirmation of a
/// lane's path without a browser.
async fn confirm(
    State(page): State<Page>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Response {
    let Some(told) = page.told.get() else { return still_starting() };
    match native::read(Arc::clone(&told.paths), query.unwrap_or_default(), &headers).await {
        Ok(arrivals) => ([("cache-control", "no-store")], Json(arrivals)).into_response(),
        Err((status, why)) => (status, format!("{why}\n")).into_response(),
    }
}

async fn wire(
    State(page): State<Page>,
    Path(run): Path<String>,
    RawQuery(url): RawQuery,
) -> Response {
    let found = run.parse().ok().and_then(|run| page.wire(run, url.as_deref()).ok());
    match found {
        Some(arrivals) => ([("cache-control", "no-store")], Json(arrivals)).into_response(),
        None => (StatusCode::NOT_FOUND, "no tap saw this run\n").into_response(),
    }
}

async fn arrivals(
    State(page): State<Page>,
    Path(session): Path<String>,
    Json(run): Json<RunPost>,
) -> Response {
    answer(page.inbox.post(&session, run))
}

async fn finished(
    State(page): State<Page>,
    Path(session): Path<String>,
    Json(end): Json<Finished>,
) -> Response {
    answer(page.inbox.finish(&session, end))
}

fn answer(taken: Result<(), Refused>) -> Response {
    match taken {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(Refused::NoSession) => {
            (StatusCode::NOT_FOUND, "nobody waits for the runs of this session\n").into_response()
        }
        Err(Refused::Full) => {
            (StatusCode::CONFLICT, "this session takes no more runs\n").into_response()
        }
    }
}
