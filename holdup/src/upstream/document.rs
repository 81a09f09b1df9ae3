//! The document `upstream.json`: what was asked on which way, what came. It holds no key, neither
//! prompt nor answer.

use measure::Span;
use measure::chat::Shape;
use measure::results::{Endpoint, Machine};
use measure::stats::Spread;
use serde::Serialize;

use crate::probe::plan::Way;
use crate::probe::row;
use crate::probe::ways::WayResult;

/// The document's schema.
const SCHEMA: &str = "holdup.upstream/1";
/// The document's file.
pub(super) const FILE: &str = "upstream.json";

/// One request.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Row {
    /// Through which endpoint.
    pub(super) endpoint: String,
    /// In which round, from 0.
    pub(super) round: u32,
    /// What came.
    #[serde(flatten)]
    pub(super) row: row::Row,
}

/// The answers that came through one endpoint.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Through {
    /// What runs there, with its configuration.
    pub(super) endpoint: Endpoint,
    /// Their figures and what they show.
    #[serde(flatten)]
    pub(super) result: WayResult,
    /// Frames of a complete answer, median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frames: Option<u32>,
}

/// What was asked, and how it went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Asked {
    /// The service's URL without what may be secret.
    pub(super) upstream: String,
    /// The answers' shape by the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shape: Option<Shape>,
    /// Seed of the rounds' order.
    pub(super) seed: u64,
    /// When it began.
    pub(super) started_at: String,
    /// The machine.
    pub(super) machine: Machine,
    /// Requests that were wanted.
    pub(super) planned: u32,
    /// Why fewer were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) stopped: Option<String>,
    /// Payload of a segment towards us; absent for loopback's own.
    pub(super) mss: Option<u32>,
}

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Document {
    schema: &'static str,
    #[serde(flatten)]
    pub(super) asked: Asked,
    /// The ways, `direct` first.
    pub(super) ways: Vec<Through>,
    /// One a request.
    pub(super) requests: Vec<Row>,
}

impl Document {
    /// Pools the rows of each endpoint.
    pub(super) fn of(asked: Asked, endpoints: &[Endpoint], requests: Vec<Row>) -> Document {
        let through = |endpoint: &Endpoint| {
            let rows: Vec<row::Row> = requests
                .iter()
                .filter(|row| row.endpoint == endpoint.name)
                .map(|row| row.row.clone())
                .collect();
            let mut frames: Vec<u32> =
                rows.iter().filter(|row| row.is_answer()).map(|row| row.answer.frames).collect();
            frames.sort_unstable();
            Through {
                endpoint: endpoint.clone(),
                result: WayResult::of(Way::Url, asked.upstream.clone(), &rows),
                frames: frames.get(frames.len().saturating_sub(1) / 2).copied(),
            }
        };
        let ways = endpoints.iter().map(through).collect();
        Document { schema: SCHEMA, asked, ways, requests }
    }

    /// The service's own times to the first token.
    pub(super) fn direct_ttft(&self) -> Option<&Spread> {
        self.ways.first()?.result.shown().0.ttft_us.as_ref()
    }

    /// How far the service's own time to the first token varies: a smaller difference of a proxy's
    /// says nothing.
    pub(super) fn variation(&self) -> Option<Span> {
        self.direct_ttft().filter(|ttft| ttft.n > 1).map(|ttft| ttft.max - ttft.min)
    }
}
