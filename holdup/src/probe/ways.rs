//! The rows of one way, pooled: figures of complete answers, everything else counted beside them.

use std::collections::BTreeMap;

use measure::Span;
use measure::chat::{ChatAnswer, ChatPool, Events};
use measure::measurement::Outcome;
use measure::stats::{RatioSpread, Spread};
use measure::transport::Protocol;
use measure::verdict::answers::of_answers;
use measure::verdict::arrivals::Sighting;
use measure::verdict::{Finding, Sure, Thresholds, Verdict};
use serde::{Deserialize, Serialize};

use super::kind::Kind;
use super::plan::Way;
use super::row::Row;

/// What many answers show, with how that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// The verdict.
    pub(crate) name: Verdict,
    /// Why, with its figures.
    pub(crate) because: String,
    /// How sure; absent where the origin's own times are known, or nothing is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sure: Option<Sure>,
    /// Where it is `cannot-tell`: what it may be, likelier first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) candidates: Vec<Verdict>,
    /// Whether the origin's own times are known.
    pub(crate) timed: bool,
}

/// One way's figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WayResult {
    /// Which.
    pub(crate) way: Way,
    /// The URL without what may be secret.
    pub(crate) url: String,
    /// How many requests came to what; warm-up left out.
    pub(crate) kinds: BTreeMap<Kind, u32>,
    /// Who says to have answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<String>,
    /// Who says to have passed it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) via: Option<String>,
    /// The HTTP that was spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) http: Option<Protocol>,
    /// The version of TLS; absent without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls: Option<String>,
    /// Figures of the complete answers.
    pub(crate) answers: ChatPool,
    /// The same of answers that were left at our limit, as far as they went.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) left: Option<ChatPool>,
    /// Call to the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) connect_us: Option<Spread>,
    /// Call to the end of the TLS handshake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tls_us: Option<Spread>,
    /// Call to the response's head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head_us: Option<Spread>,
    /// TLS records by the reads that brought the end of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) records_per_read: Option<RatioSpread>,
    /// DATA frames of HTTP/2 and HTTP/3 by the reads that brought the end of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) data_frames_per_read: Option<RatioSpread>,
    /// Datagrams by the reads that took them; HTTP/3 only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) datagrams_per_read: Option<RatioSpread>,
    /// Events with text of an answer, in the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text_events: Option<Events>,
    /// Tokens a second as they came, of the answers that reported their usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tokens_per_second: Option<RatioSpread>,
    /// How long the path held frames, in the median of each answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) path_hold_us: Option<Spread>,
    /// How far that may be off, by the two clocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) clock_uncertainty_us: Option<Span>,
    /// What its answers show.
    pub(crate) verdict: Told,
}

impl WayResult {
    /// Pools the rows of a way.
    pub(crate) fn of(way: Way, url: String, rows: &[Row]) -> WayResult {
        let rows: Vec<&Row> = rows.iter().filter(|row| row.way == way && row.counts()).collect();
        let mut kinds = BTreeMap::new();
        for row in &rows {
            *kinds.entry(row.kind).or_default() += 1;
        }
        let complete: Vec<&Row> = rows.iter().copied().filter(|row| row.is_answer()).collect();
        let left: Vec<&Row> = rows.iter().copied().filter(|row| row.is_left()).collect();
        let of_rows = |rows: &[&Row]| {
            let answers: Vec<ChatAnswer> = rows.iter().map(|row| as_complete(row)).collect();
            ChatPool::of(&answers)
        };
        let not_left: Vec<ChatAnswer> =
            rows.iter().filter(|row| !row.is_left()).map(|row| row.answer.clone()).collect();
        let shown = if complete.is_empty() { &left } else { &complete };
        let first = |of: fn(&Row) -> &Option<String>| {
            rows.iter().find_map(|row| of(row).clone()).map(|it| it.chars().take(80).collect())
        };
        let mut text_events: Vec<Events> = shown.iter().map(|row| row.answer.text_events).collect();
        text_events.sort_unstable();
        // What came at once has no rate.
        let rate = |row: &&Row| {
            let per_token = row.answer.per_token()?.as_micros();
            (per_token > 0).then(|| 1e6 / per_token as f64)
        };
        let holds = shown.iter().filter_map(|row| Some(row.path_hold_us.as_ref()?.median));
        WayResult {
            way,
            url,
            kinds,
            server: first(|row| &row.server),
            via: first(|row| &row.via),
            http: rows.iter().find_map(|row| row.http),
            tls: first(|row| &row.tls),
            answers: ChatPool::of(&not_left),
            left: (!left.is_empty()).then(|| of_rows(&left)),
            connect_us: Spread::of(shown.iter().filter_map(|row| row.connect_us)),
            tls_us: Spread::of(shown.iter().filter_map(|row| row.tls_us)),
            head_us: Spread::of(shown.iter().filter_map(|row| row.head_us)),
            records_per_read: RatioSpread::of(shown.iter().filter_map(|row| row.records_per_read)),
            data_frames_per_read: RatioSpread::of(
                shown.iter().filter_map(|row| row.data_frames_per_read),
            ),
            datagrams_per_read: RatioSpread::of(
                shown.iter().filter_map(|row| row.datagrams_per_read),
            ),
            text_events: text_events.get(text_events.len().saturating_sub(1) / 2).copied(),
            tokens_per_second: RatioSpread::of(shown.iter().filter_map(rate)),
            path_hold_us: Spread::of(holds),
            clock_uncertainty_us: shown.iter().filter_map(|row| row.clock_uncertainty_us).max(),
            verdict: told(shown, &rows),
        }
    }

    /// The figures that are shown: of complete answers, else of those left at the limit.
    pub(crate) fn shown(&self) -> (&ChatPool, bool) {
        match &self.left {
            Some(left) if self.answers.outcomes.complete == 0 => (left, true),
            _ => (&self.answers, false),
        }
    }

    /// How many answers are in the figures.
    pub(crate) fn count(&self) -> u32 {
        self.shown().0.outcomes.complete
    }
}

/// An answer that counts as far as it went.
fn as_complete(row: &Row) -> ChatAnswer {
    ChatAnswer { outcome: Outcome::Complete, ..row.answer.clone() }
}

/// What answers show together. Voided ones are no evidence, unless all are.
fn told(shown: &[&Row], rows: &[&Row]) -> Told {
    let timed = shown.iter().any(|row| row.run.is_some());
    // The origin's own times go before what arrivals alone say.
    let of_kind: Vec<&&Row> = shown.iter().filter(|row| row.run.is_some() == timed).collect();
    let all: Vec<_> = of_kind.iter().filter_map(|row| row.shown()).collect();
    let sound: Vec<_> =
        all.iter().filter(|(it, _)| it.sighting.finding.name != Verdict::Void).cloned().collect();
    let Sighting { finding, candidates } = match (sound.as_slice(), all.as_slice()) {
        ([], []) => {
            let what = match most(rows) {
                Some((kind, count)) => {
                    format!("no answer to judge: {count} of {} {}", rows.len(), kind.words())
                }
                None => "nothing was asked".into(),
            };
            let finding = Finding::new(Verdict::Failed, what);
            Sighting { finding, candidates: Vec::new() }
        }
        ([], all) => of_answers(all, &Thresholds::standard()),
        (sound, _) => of_answers(sound, &Thresholds::standard()),
    };
    Told { name: finding.name, because: finding.because, sure: finding.sure, candidates, timed }
}

/// The kind that most rows are of.
fn most(rows: &[&Row]) -> Option<(Kind, usize)> {
    let count = |kind: Kind| rows.iter().filter(|row| row.kind == kind).count();
    rows.iter().map(|row| (row.kind, count(row.kind))).max_by_key(|(_, count)| *count)
}
