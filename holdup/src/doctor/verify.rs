//! Plays the deciding experiment again after a person's change: cured or not.

use measure::cause::CauseId;
use measure::verdict::Verdict;
use serde::Serialize;

use super::diagnosis::Answer;
use super::engine::Executor;
use super::evidence::{Evidence, is_decided};
use super::experiment::{Client, Experiment, Speak};
use super::record::{Line, Record};
use super::stop::Stop;
use crate::exit::{Exit, Problem};
use crate::junit::State;

/// Live runs of the stream in question that make it cured: one may be luck on a busy machine.
const RUNS: usize = 2;
/// How often it is played for that at most: runs that the guards take away, or that noise leaves
/// open, are played again, kept and shown.
const TRIES: usize = 5;

/// What it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Cured {
    /// The stream that was held is live.
    #[serde(rename = "cured")]
    Yes,
    /// It is not.
    #[serde(rename = "not-cured")]
    No,
    /// It does not show.
    CannotTell,
    /// Nothing was measured.
    Nothing,
}

impl Cured {
    /// The exit status.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Cured::Yes => Exit::Done,
            Cured::No => Exit::Found,
            Cured::CannotTell => Exit::Void,
            Cured::Nothing => Exit::Nothing,
        }
    }
}

/// What a verification shows.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Verified {
    /// What it came to.
    pub(crate) cured: Cured,
    /// The cause that was found before.
    pub(crate) cause: CauseId,
    /// One line.
    pub(crate) name: String,
    /// Why.
    pub(crate) because: Vec<String>,
    /// What was seen.
    pub(crate) evidence: Vec<Line>,
}

impl Verified {
    pub(crate) fn state(&self) -> State {
        match self.cured {
            Cured::Yes => State::Passed,
            Cured::No => State::Failed(self.name.clone()),
            Cured::CannotTell => State::Skipped(self.name.clone()),
            Cured::Nothing => State::Error(self.name.clone()),
        }
    }
}

/// What an earlier diagnosis asks to be verified.
#[derive(Clone, Debug)]
pub(crate) struct Earlier {
    cause: CauseId,
    question: Experiment,
    /// What else was held then and must not be now, by the other version of HTTP.
    also: Option<Experiment>,
}

impl Earlier {
    /// From its document.
    pub(crate) fn of(record: &Record) -> Result<Earlier, Problem> {
        let diagnosis = &record.diagnosis;
        match (diagnosis.answer, diagnosis.cause, diagnosis.deciding.first()) {
            (Answer::Cause, Some(cause), Some(question)) => {
                let shown = |line: &&Line| {
                    let http = line.experiment.http;
                    let same = Experiment { http: question.http, ..line.experiment };
                    same == *question && http != question.http
                };
                let held = |line: &&Line| is_decided(line.shows) && line.shows != Verdict::Live;
                let also = record.evidence.iter().filter(shown).find(held);
                let also = also.map(|line| line.experiment);
                Ok(Earlier { cause, question: *question, also })
            }
            _ => Err(Problem::usage(
                "the earlier diagnosis found no cause, so there is nothing to verify: run it without --verify",
            )),
        }
    }
}

impl Earlier {
    /// Whether its question is one version of HTTP over TLS, which a plain URL cannot be asked.
    pub(crate) fn needs_tls(&self) -> bool {
        self.question.http != Speak::Negotiated
    }
}

/// Verifies.
pub(crate) fn verify(
    earlier: &Earlier,
    executor: &mut dyn Executor,
    tell: &mut dyn FnMut(&Experiment),
) -> Verified {
    let mut evidence = Evidence::default();
    let stopped = play(earlier, executor, tell, &mut evidence).err();
    let question = &earlier.question;
    let accepted = evidence.accepted(question);
    let browser = Experiment::of(Client::Fetch);
    let shows = evidence.finding(question);
    // A cure that holds browsers instead is none, nor one for half of those who were held.
    let besides = [Some(browser), earlier.also].into_iter().flatten();
    let besides: Vec<_> = besides
        .filter(|other| other != question)
        .filter_map(|other| Some((other, evidence.finding(&other)?)))
        .collect();
    let held =
        besides.iter().find(|(_, found)| found.name != Verdict::Live && is_decided(found.name));
    let cause = earlier.cause.cause().name;
    let mut because = Vec::new();
    let (cured, name) = match (shows.as_ref().map(|f| f.name), held) {
        (None, _) => {
            let why =
                stopped.as_ref().map_or("too few requests were allowed".into(), Stop::to_string);
            (Cured::Nothing, format!("nothing was measured: {why}"))
        }
        (Some(Verdict::Live), Some((other, found))) => {
            let (said, how) = (found.name.name(), other.name());
            (Cured::No, format!("not cured: live {}, but {said} {how}", question.name()))
        }
        (Some(Verdict::Live), _) if accepted >= RUNS => {
            (Cured::Yes, format!("cured: it was \"{cause}\", and is live now"))
        }
        (Some(Verdict::Live), _) => {
            (Cured::CannotTell, "live now, but too few runs were accepted to be sure".into())
        }
        (Some(other), _) if !is_decided(other) => {
            (Cured::CannotTell, "cannot tell whether it is cured".into())
        }
        (Some(other), _) => (Cured::No, format!("not cured: {}", other.name())),
    };
    let shown = shows.map(|found| (*question, found));
    for (experiment, found) in shown.into_iter().chain(besides) {
        because.push(format!("{}: {}", experiment.name(), found.because));
    }
    if cured == Cured::No {
        let hints = earlier.cause.cause().cures.iter().map(|cure| cure.without_effect);
        let mut hints: Vec<&str> = hints.filter(|hint| !hint.is_empty()).collect();
        hints.dedup();
        because.extend(hints.first().map(|hint| format!("If the lines are in place: {hint}")));
    }
    because.extend(stopped.map(|stop| format!("Ended early: {stop}")));
    let lines = evidence.runs.iter().map(|run| Line::of(run, &evidence)).collect();
    Verified { cured, cause: earlier.cause, name, because, evidence: lines }
}

fn play(
    earlier: &Earlier,
    executor: &mut dyn Executor,
    tell: &mut dyn FnMut(&Experiment),
    evidence: &mut Evidence,
) -> Result<(), Stop> {
    let question = earlier.question;
    let mut once = |experiment: Experiment, evidence: &mut Evidence| -> Result<bool, Stop> {
        let may = executor.price(&experiment).is_some_and(|price| price <= executor.left());
        if may {
            tell(&experiment);
            evidence.runs.push(executor.play(&experiment)?);
        }
        Ok(may)
    };
    // Beside the suspect first: without the origin's own times it is what the rest is held against.
    once(question.beside(), evidence)?;
    for _ in 0..TRIES {
        let enough = evidence.accepted(&question) >= RUNS && !evidence.is_open(&question);
        if enough || !once(question, evidence)? {
            break;
        }
    }
    let besides = [Some(Experiment::of(Client::Fetch)), earlier.also].into_iter().flatten();
    for other in besides.filter(|other| *other != question) {
        for _ in 0..RUNS {
            if !evidence.is_open(&other) || !once(other, evidence)? {
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "verify_tests.rs"]
mod tests;
