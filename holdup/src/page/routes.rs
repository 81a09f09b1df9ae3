//! The routes.

use std::sync::{Arc, OnceLock};

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use measure::RunId;
use measure::page::{Finished, Lanes, RunPost};
use tap::record::Records;

use crate::machine;
use crate::page::Inbox;
use crate::page::inbox::Refused;

/// Most bytes of one posted run: 100,000 frames of some 120 bytes each.
const MAX_POST: usize = 16 << 20;

/// What the routes know. The lanes are told once everything has started.
#[derive(Clone, Default)]
pub(crate) struct Page {
    pub(crate) inbox: Inbox,
    lanes: Arc<OnceLock<(Lanes, Vec<Records>)>>,
}

impl Page {
    /// Tells the lanes and the taps' records.
    pub(crate) fn tell(&self, lanes: Lanes, records: Vec<Records>) {
        // Told once, by the one who started the rig.
        let _ = self.lanes.set((lanes, records));
    }

    /// The routes, for the emitter to serve.
    pub(crate) fn router(&self) -> Router {
        Router::new()
            .route("/lanes", get(lanes))
            .route("/wire/{run}", get(wire))
            .route("/arrivals/{session}", post(arrivals))
            .route("/finished/{session}", post(finished))
            .layer(DefaultBodyLimit::max(MAX_POST))
            .with_state(self.clone())
    }

    /// What any tap saw of a run.
    pub(crate) fn wire(&self, run: RunId) -> Option<measure::Arrivals> {
        self.lanes.get()?.1.iter().find_map(|records| records.get(run))
    }
}

async fn lanes(State(page): State<Page>) -> Response {
    match page.lanes.get() {
        Some((lanes, _)) => {
            let now = Lanes { load: machine::load(), ..lanes.clone() };
            ([("cache-control", "no-store")], Json(now)).into_response()
        }
        None => {
            (StatusCode::SERVICE_UNAVAILABLE, "the proxies are still starting\n").into_response()
        }
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
