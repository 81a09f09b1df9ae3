//! The document `probe.json`: what was asked, what came, what it shows. It holds no key, and
//! without `--keep-text` neither prompt nor answer.

use measure::Span;
use measure::chat::Shape;
use measure::verdict::{Finding, Verdict};
use serde::{Deserialize, Serialize};

use super::against::Comparison;
use super::row::Row;
use super::ways::{Told, WayResult};

/// The document's schema. Fields may be added under the same number; a changed meaning makes the
/// next one.
pub(crate) const SCHEMA: &str = "holdup.probe/1";
/// The document's file.
pub(crate) const FILE: &str = "probe.json";
/// The raw runs, one a line.
pub(crate) const RUNS: &str = "probe-runs.ndjson";

/// How many requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Requests {
    /// Asked for.
    pub(crate) planned: usize,
    /// Made.
    pub(crate) made: usize,
    /// Of which to warm up.
    pub(crate) warm_up: usize,
    /// There may be so many.
    pub(crate) most: u32,
}

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Document {
    /// [`SCHEMA`].
    pub(crate) schema: String,
    /// Whether all that was planned was asked.
    pub(crate) complete: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopped: Option<String>,
    /// When it began.
    pub(crate) started_at: String,
    /// The method.
    pub(crate) method: String,
    /// Names of the headers that were added, never their values.
    pub(crate) header_names: Vec<String>,
    /// Whose headers were sent: `browser` or `curl`.
    #[serde(rename = "as")]
    pub(crate) who: String,
    /// `Accept-Encoding` where it was not theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) accept_encoding: Option<String>,
    /// The shape where it was named, by `--shape` or the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shape: Option<Shape>,
    /// How many prompts there were.
    pub(crate) prompts: usize,
    /// Between requests.
    pub(crate) pause_us: Span,
    /// How long one answer was read at most.
    pub(crate) time_limit_us: Span,
    /// How many bytes of one answer were read at most.
    pub(crate) max_bytes: u64,
    /// The requests.
    pub(crate) requests: Requests,
    /// The ways, the URL's first.
    pub(crate) ways: Vec<WayResult>,
    /// The two held against each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) comparison: Option<Comparison>,
    /// What it comes to for the URL.
    pub(crate) verdict: Told,
    /// One a request.
    pub(crate) rows: Vec<Row>,
}

/// What it comes to: the origin's own times go first, then what the pairs name, then the URL's
/// answers by themselves.
pub(crate) fn verdict(url: &WayResult, comparison: Option<&Comparison>) -> Told {
    let own = &url.verdict;
    let of_pairs = |finding: &Finding| Told {
        name: finding.name,
        because: finding.because.clone(),
        sure: finding.sure.or(Some(measure::verdict::Sure::Likely)),
        candidates: Vec::new(),
        timed: false,
    };
    match comparison.and_then(Comparison::names) {
        Some(named) if own.name == Verdict::CannotTell => of_pairs(named),
        Some(named) if !own.timed && own.name != Verdict::Failed => of_pairs(named),
        _ => own.clone(),
    }
}

impl Document {
    /// Its text.
    pub(crate) fn text(&self) -> Result<String, crate::exit::Problem> {
        let text = serde_json::to_string_pretty(self).map_err(crate::exit::Problem::nothing)?;
        Ok(text + "\n")
    }
}
