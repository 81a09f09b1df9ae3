//! The routes.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use measure::RunId;
use measure::page::{Finished, Lanes, RunPost};
use tap::record::Records;

use crate::machine;
use crate::page::Inbox;
use crate::page::inbox::Refused;
use crate::page::native::{self, Paths};
use crate::rig::Rig;

/// Most bytes of one posted run: 100,000 frames of some 120 bytes each.
const MAX_POST: usize = 16 << 20;

/// What the routes know. The lanes are told once everything has started.
#[derive(Clone, Default)]
pub(crate) struct Page {
    pub(crate) inbox: Inbox,
    told: Arc<OnceLock<Told>>,
}

struct Told {
    lanes: Lanes,
    records: Vec<Records>,
    paths: Arc<Paths>,
}

impl Page {
    /// Tells the lanes, the taps' records, and where the native reader finds what the lanes lead
    /// to.
    pub(crate) fn tell(&self, lanes: Lanes, rig: &Rig, emitter: SocketAddr) {
        let paths = Arc::new(Paths::new(rig.addresses(), emitter));
        // Told once, by the one who started the rig.
        let _ = self.told.set(Told { lanes, records: rig.records(), paths });
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
    pub(crate) fn wire(&self, run: RunId) -> Option<measure::Arrivals> {
        self.told.get()?.records.iter().find_map(|records| records.get(run))
    }
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

async fn wire(State(page): State<Page>, Path(run): Path<String>) -> Response {
    let found = run.parse().ok().and_then(|run| page.wire(run));
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
