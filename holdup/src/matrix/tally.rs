//! Counts what was said of each stream against what it is.

use std::collections::BTreeMap;

use measure::cause::CauseId;
use measure::results::{Judgement, Machine, RunRecord};
use measure::stats::{RatioSpread, Spread};
use measure::verdict::Verdict;
use measure::{Measurement, Span};
use serde::{Deserialize, Serialize};

use super::alone::Alone;
use super::truths::Truth;

/// The schema of `matrix.json` and of `--json`.
pub(crate) const SCHEMA: &str = "holdup.matrix/1";

/// The whole of a run of the matrix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Matrix {
    pub(crate) schema: String,
    /// Whether every planned run was made.
    pub(crate) complete: bool,
    pub(crate) command: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) started_at: String,
    /// Whether other work kept the processors busy.
    pub(crate) busy: bool,
    pub(crate) machine: Machine,
    pub(crate) rows: Vec<Row>,
}

/// One stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) path: String,
    /// The endpoint it went through.
    pub(crate) endpoint: String,
    /// Software and version, where it is a proxy.
    pub(crate) software: Option<String>,
    /// The script's short name.
    pub(crate) stream: String,
    pub(crate) offers: Option<String>,
    pub(crate) truth: Verdict,
    /// Which cause it is; none for a clean path.
    pub(crate) cause: Option<CauseId>,
    /// Why that is known.
    pub(crate) known_because: String,
    /// Why it could not be played.
    pub(crate) skipped: Option<String>,
    /// Runs made, excluded ones included.
    pub(crate) runs: u32,
    pub(crate) excluded: u32,
    pub(crate) right: u32,
    pub(crate) undecided: u32,
    pub(crate) wrong: u32,
    /// What the last right run's verdict said.
    pub(crate) said: Option<String>,
    pub(crate) ttft_us: Option<Spread>,
    pub(crate) frames_per_read: Option<RatioSpread>,
    /// Every run that was not called what it is.
    pub(crate) others: Vec<Other>,
    /// What its arrivals alone would say; nothing for a stream without a ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) alone: Vec<Alone>,
}

/// A run that was not called what it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Other {
    pub(crate) run: String,
    pub(crate) round: u32,
    /// `void` for an excluded one.
    pub(crate) verdict: Verdict,
    pub(crate) because: String,
}

impl Other {
    /// Whether it names another cause, and does not only leave it open.
    pub(crate) fn is_wrong(&self) -> bool {
        !matches!(self.verdict, Verdict::Void | Verdict::CannotTell)
    }
}

impl Row {
    /// A row without runs.
    pub(crate) fn new(truth: &Truth, software: Option<String>, skipped: Option<String>) -> Row {
        Row {
            path: truth.name(),
            endpoint: truth.way.endpoint(),
            software,
            stream: truth.stream.script().slug(),
            offers: truth.offers.map(String::from),
            truth: truth.verdict,
            cause: truth.cause,
            known_because: truth.because.into(),
            skipped,
            runs: 0,
            excluded: 0,
            right: 0,
            undecided: 0,
            wrong: 0,
            said: None,
            ttft_us: None,
            frames_per_read: None,
            others: Vec::new(),
            alone: Vec::new(),
        }
    }

    /// Counts its runs.
    pub(crate) fn count(&mut self, runs: &[(&RunRecord, &Judgement)]) {
        let mut ttft: Vec<Span> = Vec::new();
        let mut ratio: Vec<f64> = Vec::new();
        for (run, judgement) in runs {
            self.runs += 1;
            let (verdict, because) = match judgement {
                Ok(finding) => (finding.name, finding.because.clone()),
                Err(exclusion) => {
                    (Verdict::Void, format!("{}: {}", exclusion.guard(), exclusion.why()))
                }
            };
            if verdict == self.truth {
                self.right += 1;
                self.said = Some(because);
                let measured = Measurement::join(run.ledger.as_ref(), &run.arrivals);
                ttft.extend(measured.ttft);
                ratio.extend(measured.frames_per_read());
                continue;
            }
            match verdict {
                Verdict::Void => self.excluded += 1,
                Verdict::CannotTell => self.undecided += 1,
                _ => self.wrong += 1,
            }
            self.others.push(Other {
                run: run.arrivals.run.to_string(),
                round: run.round,
                verdict,
                because,
            });
        }
        self.ttft_us = Spread::of(ttft);
        self.frames_per_read = RatioSpread::of(ratio);
    }
}

/// Which goal a stream counts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nobody holds it: to blame anybody is wrong.
    Clean,
    /// Something on the way holds it.
    Hold,
    /// The origin batches, it ends early, or its type is changed.
    Other,
}

impl Kind {
    pub(crate) fn of(truth: Verdict) -> Kind {
        match truth {
            Verdict::Live => Kind::Clean,
            Verdict::Held | Verdict::Corked | Verdict::BufferBursts | Verdict::OneBehind => {
                Kind::Hold
            }
            _ => Kind::Other,
        }
    }
}

/// Sums over rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) runs: u32,
    pub(crate) excluded: u32,
    pub(crate) right: u32,
    pub(crate) undecided: u32,
    pub(crate) wrong: u32,
}

impl Sum {
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Sum {
        rows.into_iter().fold(Sum::default(), |sum, row| Sum {
            runs: sum.runs + row.runs,
            excluded: sum.excluded + row.excluded,
            right: sum.right + row.right,
            undecided: sum.undecided + row.undecided,
            wrong: sum.wrong + row.wrong,
        })
    }

    /// A part of all runs; 0 without runs.
    pub(crate) fn share(&self, part: u32) -> f64 {
        if self.runs == 0 { 0.0 } else { f64::from(part) / f64::from(self.runs) }
    }

    /// Share of runs that the guards excluded or that were left undecided.
    pub(crate) fn lost(&self) -> f64 {
        self.share(self.undecided + self.excluded)
    }
}

impl Matrix {
    pub(crate) fn sum(&self, kind: Kind) -> Sum {
        Sum::of(self.rows.iter().filter(|row| Kind::of(row.truth) == kind))
    }

    pub(crate) fn total(&self) -> Sum {
        Sum::of(&self.rows)
    }

    /// How many runs of each truth were called what.
    pub(crate) fn confusion(&self) -> BTreeMap<Verdict, BTreeMap<Verdict, u32>> {
        let mut all: BTreeMap<Verdict, BTreeMap<Verdict, u32>> = BTreeMap::new();
        for row in self.rows.iter().filter(|row| row.runs > 0) {
            let said = all.entry(row.truth).or_default();
            *said.entry(row.truth).or_default() += row.right;
            for other in &row.others {
                *said.entry(other.verdict).or_default() += 1;
            }
        }
        all
    }
}
