//! The document `doctor.json`: what was asked, what was seen, what it came to.

use std::fs::File;
use std::path::Path;

use measure::verdict::{Sure, Verdict};
use measure::{Measurement, Protocol, Script, Span};
use serde::{Deserialize, Serialize};

use super::diagnosis::Diagnosis;
use super::evidence::{Evidence, Run};
use super::experiment::Experiment;
use crate::exit::Problem;
use crate::out::put;

/// The document's schema. Fields may be added under the same number; a changed meaning makes the
/// next one.
pub(crate) const SCHEMA: &str = "holdup.doctor/1";
/// The document's file.
pub(crate) const FILE: &str = "doctor.json";
/// The raw runs, one a line.
pub(crate) const RUNS: &str = "doctor-runs.ndjson";
/// What the last verification came to.
pub(crate) const VERIFIED: &str = "doctor-verified.json";

/// One experiment's line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    /// What was asked.
    pub(crate) experiment: Experiment,
    /// The same in words.
    pub(crate) name: String,
    /// HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// Which HTTP carried it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) protocol: Option<Protocol>,
    /// Which TLS, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<String>,
    /// How the answer was framed and coded, such as `chunked, gzip`; over TLS with the HTTP that
    /// was spoken before it.
    pub(crate) answer: String,
    /// Call to the first event, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first_event_us: Option<Span>,
    /// Events that came.
    pub(crate) events: u32,
    /// Events a read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) events_per_read: Option<f64>,
    /// The HTTP version that reached the origin, where it is our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) upstream_protocol: Option<String>,
    /// Whether the origin's own times are known.
    pub(crate) timed: bool,
    /// What it shows.
    pub(crate) shows: Verdict,
    /// Why, with its figures.
    pub(crate) because: String,
    /// How sure, where it is judged by its arrivals alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sure: Option<Sure>,
}

/// How many requests were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Requests {
    /// So many.
    pub(crate) made: u32,
    /// Of so many.
    pub(crate) most: u32,
}

/// The document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// [`SCHEMA`].
    pub(crate) schema: String,
    /// When it began.
    pub(crate) started_at: String,
    /// The URL without credentials and query.
    pub(crate) url: String,
    /// The same of the way without the suspect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) against: Option<String>,
    /// Method.
    pub(crate) method: String,
    /// Names of the headers that were sent besides; never their values.
    pub(crate) header_names: Vec<String>,
    /// Our own emitter's identity, when it stands behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) emitter: Option<String>,
    /// How far its clock may be off ours, microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clock_uncertainty_us: Option<Span>,
    /// What it played as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) script: Option<Script>,
    /// How many requests.
    pub(crate) requests: Requests,
    /// What was seen, in the order of asking.
    pub(crate) evidence: Vec<Line>,
    /// What it came to.
    pub(crate) diagnosis: Diagnosis,
}

impl Line {
    /// Of one run.
    pub(crate) fn of(run: &Run, evidence: &Evidence) -> Line {
        let finding = evidence.sighting(run).finding;
        let raw = run.raw.as_ref();
        let measured = raw.map(|raw| Measurement::join(raw.ledger.as_ref(), &raw.arrivals));
        Line {
            experiment: run.experiment,
            name: run.experiment.name(),
            status: raw.and_then(|raw| raw.arrivals.status),
            protocol: run.carried.protocol,
            tls: run.carried.tls.clone(),
            answer: answer(run),
            first_event_us: measured.as_ref().and_then(|m| m.first_event),
            events: measured.as_ref().map_or(0, |m| m.frames),
            events_per_read: measured.as_ref().and_then(Measurement::frames_per_read),
            upstream_protocol: raw
                .and_then(|raw| Some(raw.ledger.as_ref()?.upstream_protocol.clone())),
            timed: raw.is_some_and(|raw| raw.ledger.is_some()),
            shows: finding.name,
            because: finding.because,
            sure: finding.sure,
        }
    }
}

/// How an answer was framed and coded.
fn answer(run: &Run) -> String {
    let Some(head) = &run.head else { return "–".into() };
    let framed = if run.header("transfer-encoding").is_some() {
        "chunked"
    } else if run.header("content-length").is_some() {
        "with its length"
    } else {
        "no chunks"
    };
    let framed = match head.status {
        200 => framed.to_string(),
        status => status.to_string(),
    };
    let mut answer = match (run.over_tls(), head.status) {
        // It has frames of its own, always.
        (Some(Protocol::Http2), 200) => "HTTP/2".into(),
        (Some(Protocol::Http2), status) => format!("HTTP/2, {status}"),
        (Some(Protocol::Http3), 200) => "HTTP/3".into(),
        (Some(Protocol::Http3), status) => format!("HTTP/3, {status}"),
        (Some(Protocol::Http10), _) => format!("HTTP/1.0, {framed}"),
        (Some(Protocol::Http11), _) => format!("HTTP/1.1, {framed}"),
        (None, _) => framed,
    };
    if let Some(coding) = run.coding() {
        answer.push_str(&format!(", {coding}"));
    }
    answer
}

/// A folder for a diagnosis.
pub(crate) fn create(folder: &Path) -> Result<File, Problem> {
    let cannot =
        |what: &str, error| Problem::usage(format!("cannot {what} {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(|error| cannot("make the folder", error))?;
    if folder.join(FILE).exists() {
        return Err(Problem::usage(format!(
            "{} already holds a diagnosis: choose another folder for --out, or --verify it",
            folder.display()
        )));
    }
    File::create(folder.join(RUNS)).map_err(|error| cannot("write into", error))
}

/// Puts the document in place.
pub(crate) fn write(folder: &Path, record: &Record) -> Result<(), Problem> {
    put(&folder.join(FILE), &text(record)?)
}

/// The document's text.
pub(crate) fn text(record: &Record) -> Result<String, Problem> {
    let mut text = serde_json::to_string_pretty(record).map_err(Problem::nothing)?;
    text.push('\n');
    Ok(text)
}

/// Reads a document.
pub(crate) fn read(folder: &Path) -> Result<Record, Problem> {
    let path = folder.join(FILE);
    let shown = path.display();
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Problem::usage(format!("{shown}: {error}: make one with `holdup doctor URL --out DIR`"))
    })?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Problem::usage(format!("{shown} is no diagnosis: {error}")))?;
    match value["schema"].as_str() {
        Some(SCHEMA) => {}
        Some(other) => {
            let other: String = other.chars().take(40).collect();
            return Err(Problem::usage(format!("{shown} is of {other:?}, not of {SCHEMA}")));
        }
        None => return Err(Problem::usage(format!("{shown} is no diagnosis: it names no schema"))),
    }
    serde_json::from_value(value)
        .map_err(|error| Problem::usage(format!("{shown} is no diagnosis: {error}")))
}
