//! What is kept of one request: a row, and beside it the raw record.

use measure::chat::{ChatAnswer, ChatRecord};
use measure::measurement::Outcome;
use measure::stats::Spread;
use measure::transport::{Protocol, Transport};
use measure::verdict::answers::Shown;
use measure::verdict::{Finding, Verdict};
use measure::{Arrivals, RunId, Span};
use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::plan::{Step, Way};
use super::secret::Secrets;

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Which way it went.
    pub(crate) way: Way,
    /// Which prompt, counted from 0.
    pub(crate) prompt: usize,
    /// Which pair of requests, or which request where there is one way.
    pub(crate) pair: u32,
    /// It was there to warm things up and counts in no figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) warm_up: bool,
    /// What came.
    pub(crate) kind: Kind,
    /// The line that says so; absent for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<String>,
    /// HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// Content type as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_type: Option<String>,
    /// Content encoding as it came; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content_encoding: Option<String>,
    /// `Retry-After` as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after: Option<String>,
    /// Who says to have answered, and to have passed it on: `Server` and `Via` as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// See [`Row::server`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) via: Option<String>,
    /// The HTTP that was spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) http: Option<Protocol>,
    /// The version of TLS; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<String>,
    /// Call to the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) connect_us: Option<Span>,
    /// Call to the end of the TLS handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls_us: Option<Span>,
    /// Call to the response's head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head_us: Option<Span>,
    /// TLS records by the reads that brought the end of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) records_per_read: Option<f64>,
    /// DATA frames of HTTP/2 and HTTP/3 by the reads that brought the end of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data_frames_per_read: Option<f64>,
    /// Datagrams by the reads that took them; HTTP/3 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) datagrams_per_read: Option<f64>,
    /// Call to the end.
    pub(crate) total_us: Span,
    /// The figures.
    pub(crate) answer: ChatAnswer,
    /// Why it ended, in the service's word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finish: Option<String>,
    /// What it shows by itself; absent where there is nothing to judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shows: Option<Finding>,
    /// Where that is open: what it may be, likelier first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) candidates: Vec<Verdict>,
    /// Where that is open: what it looks like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) looks: Option<Verdict>,
    /// How long the path held the frames, where Holdup's own emitter stands behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path_hold_us: Option<Spread>,
    /// How far those may be off, by the two clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clock_uncertainty_us: Option<Span>,
    /// The emitter's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<RunId>,
    /// The answer's text, when it was to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
}

/// A row with what it was made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Run {
    #[serde(flatten)]
    pub(crate) row: Row,
    /// Reads and frames, without payload.
    pub(crate) record: ChatRecord,
    /// The same as every other reader has it, with the socket's own bytes and stamps.
    pub(crate) arrivals: Arrivals,
    /// What carried it.
    pub(crate) transport: Transport,
}

impl Row {
    /// Whether it is there to warm up, or counts.
    pub(crate) fn counts(&self) -> bool {
        !self.warm_up
    }

    /// Whether it is a complete answer that counts.
    pub(crate) fn is_answer(&self) -> bool {
        self.counts() && self.kind == Kind::Complete
    }

    /// Whether it was left at our limit, and counts.
    pub(crate) fn is_left(&self) -> bool {
        self.counts() && self.kind == Kind::Left
    }

    /// What it shows, to be pooled with others.
    pub(crate) fn shown(&self) -> Option<(Shown, Option<Span>)> {
        let finding = self.shows.clone()?;
        let candidates = self.candidates.clone();
        let sighting = measure::verdict::arrivals::Sighting { finding, candidates };
        Some((Shown { sighting, looks: self.looks }, self.answer.milestones.ttft))
    }

    /// Leaves out what hangs on a clock that turned out to be stepped.
    pub(crate) fn forget_times(&mut self) {
        if self.run.is_some() {
            let why = "the emitter's clock was stepped while it was asked";
            self.shows = Some(Finding::new(Verdict::Void, why));
            self.path_hold_us = None;
        }
    }

    /// As it is for a step.
    pub(crate) fn of_step(self, step: &Step) -> Row {
        let Step { way, prompt, pair, warm_up } = *step;
        Row { way, prompt, pair, warm_up, ..self }
    }
}

impl Run {
    /// Without what must not be told. All that a service says in its own words is looked through;
    /// numbers and our own words cannot hold any of it. The service's message is left out of the
    /// raw record unless texts are kept: it may repeat a part of the prompt.
    pub(crate) fn cleaned(mut self, secrets: &Secrets, keep_text: bool) -> Run {
        let clean = |text: &mut String| *text = secrets.clean(text);
        let row = &mut self.row;
        let words = [
            &mut row.line,
            &mut row.content_type,
            &mut row.content_encoding,
            &mut row.retry_after,
            &mut row.server,
            &mut row.via,
            &mut row.finish,
            &mut row.text,
            &mut self.record.finish,
            &mut self.arrivals.content_type,
            &mut self.arrivals.content_encoding,
        ];
        words.into_iter().flatten().for_each(clean);
        if let Some(finding) = &mut row.shows {
            clean(&mut finding.because);
        }
        if let Outcome::Failed { what } = &mut row.answer.outcome {
            clean(what);
        }
        if let measure::End::Failed { what } = &mut self.arrivals.end {
            clean(what);
        }
        match &mut self.record.error {
            Some(error) if keep_text => {
                clean(&mut error.message);
                error.kind.as_mut().map(clean);
            }
            error => *error = None,
        }
        self
    }
}
