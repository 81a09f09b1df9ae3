//! From what was examined to what a person is told.

use measure::Measurement;
use measure::cause::naming::{Answer as Naming, Header};
use measure::cause::suspects::{Suspect, telling};
use measure::cause::{Basis, CauseId, Cure, Hop, Software};
use measure::verdict::{Sure, Verdict};
use serde::{Deserialize, Serialize};

use super::engine::Examined;
use super::evidence::Evidence;
use super::experiment::{Client, Experiment, UNBUFFERED};
use super::stop::Stop;
use super::{extent, hit};
use crate::exit::Exit;

/// What it came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// Nothing holds this stream.
    Clean,
    /// A cause was found.
    Cause,
    /// The evidence does not decide.
    CannotTell,
    /// Nothing was measured.
    Nothing,
}

impl Answer {
    /// The exit status.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Answer::Clean => Exit::Done,
            Answer::Cause => Exit::Found,
            Answer::CannotTell => Exit::Void,
            Answer::Nothing => Exit::Nothing,
        }
    }
}

/// What to change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Advice {
    /// In which program.
    pub(crate) software: String,
    /// Of which versions.
    pub(crate) versions: String,
    /// Where.
    pub(crate) place: String,
    /// The lines.
    pub(crate) lines: String,
    /// What else they change.
    pub(crate) price: String,
    /// Whether it was measured here, or is the documentation's word.
    pub(crate) measured: bool,
    /// What to look at when it changes nothing.
    pub(crate) without_effect: String,
}

/// What a person is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Diagnosis {
    /// What it came to.
    pub(crate) answer: Answer,
    /// The cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<CauseId>,
    /// One line: the cause's name, or what was found instead.
    pub(crate) name: String,
    /// Who holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hop: Option<String>,
    /// How sure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sure: Option<Sure>,
    /// Why: the figures of what decided.
    pub(crate) because: Vec<String>,
    /// Whom headers speak of. They are suspects; bytes decide.
    pub(crate) suspects: Vec<String>,
    /// Header fields of the answer that speak of hops.
    pub(crate) fields: Vec<String>,
    /// What became of `X-Accel-Buffering: no`, where it matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<String>,
    /// Which users see it, where that hangs on their version of HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hit: Option<String>,
    /// How far it goes.
    pub(crate) extent: Vec<String>,
    /// What cures it.
    pub(crate) cures: Vec<Advice>,
    /// The experiments that decided, the stream in question first.
    pub(crate) deciding: Vec<Experiment>,
    /// Why it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stopped: Option<String>,
    /// What else should be known.
    pub(crate) notes: Vec<String>,
}

const SHORT: &str = "More would have been asked, had more requests been allowed (--max-requests).";

impl Diagnosis {
    /// From an examination.
    pub(crate) fn of(examined: &Examined) -> Diagnosis {
        let Examined { evidence, question, deciding, stopped, .. } = examined;
        let mut diagnosis = Diagnosis {
            answer: Answer::CannotTell,
            cause: None,
            name: String::new(),
            hop: None,
            sure: None,
            because: because(evidence, deciding),
            suspects: evidence.suspects(question).iter().map(suspect).collect(),
            fields: fields(evidence, question),
            header: header(evidence, question),
            hit: None,
            extent: extent::sentences(question, &examined.extent, evidence),
            cures: Vec::new(),
            deciding: deciding.clone(),
            stopped: stopped.as_ref().map(|stop| stopped_at(stop, examined.stopped_at)),
            notes: vec![hit::unasked(evidence)],
        };
        if examined.short {
            diagnosis.notes.push(SHORT.into());
        }
        match (&examined.answer, stopped) {
            (_, Some(stop)) if evidence.runs.is_empty() => diagnosis.nothing(stop),
            (Naming::Clean, _) => diagnosis.clean(evidence),
            (Naming::Named(named), _) => {
                diagnosis.answer = Answer::Cause;
                let cause = named.cause.cause();
                diagnosis.cause = Some(named.cause);
                diagnosis.name = cause.name.into();
                diagnosis.hop = Some(match named.hop {
                    Some(hop) => hop.name().into(),
                    None => {
                        "the origin or a hop before it (which, a run with --against would tell)"
                            .into()
                    }
                });
                if diagnosis.suspects.is_empty()
                    && named.hop == Some(Hop::Path)
                    && let Some(software) = only_known(named.cause)
                {
                    diagnosis.notes.insert(0, format!(
                        "No header names the hop. Of the programs measured so far, {} alone does this.",
                        software.name()
                    ));
                }
                diagnosis.sure = Some(named.sure);
                diagnosis.hit = hit::who(evidence, question);
                diagnosis.cures = cures(named.cause, &evidence.software(question));
                hit::without_http2(evidence, &mut diagnosis.cures);
                let second = hit::whole_cure_first(named.cause, evidence, &mut diagnosis.cures);
                diagnosis.notes.extend(second);
            }
            (Naming::CannotTell(why), _) => diagnosis.cannot_tell(evidence, question, why),
            (Naming::Open(_), _) => {
                diagnosis.cannot_tell(evidence, question, "what would decide could not be had");
            }
        }
        diagnosis
    }

    fn nothing(&mut self, stop: &Stop) {
        self.answer = Answer::Nothing;
        self.name = format!("nothing was measured: {stop}");
        self.stopped = None;
        self.notes.clear();
    }

    fn clean(&mut self, evidence: &Evidence) {
        self.answer = Answer::Clean;
        self.name = "nothing holds this stream".into();
        self.extent.clear();
        let curl = Experiment::of(Client::Curl);
        let first = |experiment: &Experiment| {
            let raw = evidence.last(experiment)?.raw.as_ref()?;
            Measurement::join(None, &raw.arrivals).first_event
        };
        if let Some((here, beside)) = first(&curl).zip(first(&curl.beside())) {
            self.extent.push(format!("The first event came after {here}, and {beside} beside."));
        }
        self.extent.extend(extent::halves(evidence));
        let asked = [curl, Experiment::of(Client::Fetch)];
        for experiment in asked.into_iter().chain(evidence.other_http(&curl)) {
            let found = evidence.finding(&experiment);
            self.because.extend(found.map(|f| format!("{}: {}", experiment.name(), f.because)));
        }
        if evidence.runs.iter().any(|run| run.coding().is_some()) {
            let note = "The answer comes compressed to whoever accepts that, and is live all the same: a content encoding by itself proves nothing.";
            self.notes.push(note.into());
        }
    }

    fn cannot_tell(&mut self, evidence: &Evidence, question: &Experiment, why: &str) {
        self.name = format!("cannot tell: {why}");
        let Some(run) = evidence.last(question) else {
            // Every run was taken away by the guards; each has said why.
            if let Some(void) = evidence.finding(question) {
                self.name = format!("void: {}", void.because);
            }
            return;
        };
        let sighting = evidence.sighting(run);
        let found = &sighting.finding;
        self.because = vec![format!("{}: {}", question.name(), found.because)];
        if found.name != Verdict::CannotTell && found.name != Verdict::Live {
            self.because[0] =
                format!("{}: {}: {}", question.name(), found.name.name(), found.because);
        }
        if !sighting.candidates.is_empty() {
            let names: Vec<&str> = sighting.candidates.iter().map(|v| v.name()).collect();
            self.because.push(format!("It may be {}.", names.join(" or ")));
        }
    }
}

/// Why it ended early, and at what where that makes a difference.
fn stopped_at(stop: &Stop, at: Option<Experiment>) -> String {
    match (stop, at) {
        (Stop::Interrupted | Stop::Shifted { .. }, _) | (_, None) => stop.to_string(),
        (_, Some(experiment)) => format!("{}: {stop}", experiment.name()),
    }
}

fn because(evidence: &Evidence, deciding: &[Experiment]) -> Vec<String> {
    let line = |experiment: &Experiment| {
        let found = evidence.finding(experiment)?;
        Some(format!("{}: {}: {}", experiment.name(), found.name.name(), found.because))
    };
    deciding.iter().filter_map(line).collect()
}

fn suspect(suspect: &Suspect) -> String {
    let version = suspect.version.as_ref().map_or(String::new(), |version| format!(" {version}"));
    format!("{}{version} ({})", suspect.name, suspect.field)
}

fn fields(evidence: &Evidence, question: &Experiment) -> Vec<String> {
    let head = evidence.last(question).and_then(|run| run.head.as_ref());
    let all = head.into_iter().flat_map(|head| &head.headers);
    telling(all.map(|(name, value)| (name.as_str(), value.as_str())))
        .map(|(name, value)| format!("{name}: {}", value.chars().take(80).collect::<String>()))
        .collect()
}

/// What became of the header, in a sentence: sent and honoured, sent and not honoured, or missing.
fn header(evidence: &Evidence, question: &Experiment) -> Option<String> {
    if evidence.shows(question)? == Verdict::Live {
        return None;
    }
    let facts = evidence.facts(question);
    let (name, value) = UNBUFFERED;
    let sent = match facts.header {
        Header::Taken => "the origin sends it, a hop takes it away, and it is not honoured",
        Header::Passed => "it reaches the reader, so no hop that knows it stands in between",
        Header::Missing => match facts.with_header? {
            (Verdict::Live, _) => "the origin does not send it; sent, it is honoured",
            (_, Header::Taken) => {
                "the origin does not send it; sent, a hop takes it away and does not honour it (proxy_ignore_headers?)"
            }
            _ => "the origin does not send it; sent, no hop takes notice of it",
        },
    };
    Some(format!("{name}: {value}: {sent}."))
}

/// The one program that a cause is known of, where it is one.
fn only_known(cause: CauseId) -> Option<Software> {
    let mut known = cause.cause().cures.iter().map(|cure| cure.software);
    let mut programs = known.clone().filter(|s| !matches!(s, Software::Origin | Software::Page));
    let first = programs.next()?;
    let alone = known.all(|s| s == first || s == Software::Origin);
    alone.then_some(first)
}

/// The cures: first those for whom a header speaks of, then those that need no hop to be known.
/// Where nobody is suspected, all of them.
fn cures(cause: CauseId, suspected: &[Software]) -> Vec<Advice> {
    let all = cause.cause().cures;
    let fits = |cure: &&Cure| {
        let anywhere = matches!(cure.software, Software::Origin | Software::Page);
        anywhere || suspected.contains(&cure.software)
    };
    let known = all.iter().any(|cure| suspected.contains(&cure.software));
    all.iter().filter(|cure| !known || fits(cure)).map(advice).collect()
}

fn advice(cure: &Cure) -> Advice {
    Advice {
        software: cure.software.name().into(),
        versions: cure.versions.into(),
        place: cure.place.into(),
        lines: cure.lines.into(),
        price: cure.price.into(),
        measured: cure.basis == Basis::Measured,
        without_effect: cure.without_effect.into(),
    }
}
