//! Chooses the next experiment by what the last one showed, until the cause has a name.
//!
//! What is decided is in [`measure::cause::naming`]: it names a cause or the fact that would
//! decide. Here that fact becomes an experiment, within what may be asked.

use measure::cause::CauseId;
use measure::cause::naming::{Answer, Missing, Named, name};
use measure::verdict::Verdict;

use super::evidence::{Evidence, Run, is_decided};
use super::experiment::{Client, Experiment, LARGE, OTHER_PACE, Speak, Way};
use super::extent;
use super::stop::Stop;

/// How often an experiment is played at most when the guards take its runs away or noise leaves
/// them open. Every run is kept, shown and counted; of three that disagree two must agree.
const TRIES: u32 = 3;
/// Accepted runs that confirm what was seen: one may be the machine's.
const CONFIRMED: usize = 2;
/// Events of a stream at the other pace: 2.6 s, as many waits as the stream as it is has in 1 s.
const OTHER_FRAMES: u32 = 21;

/// Plays experiments. A scripted fake stands in for it in tests.
pub(crate) trait Executor {
    /// How many requests an experiment takes; `None` for one that cannot be had here.
    fn price(&self, experiment: &Experiment) -> Option<u32>;

    /// How many requests may still be made.
    fn left(&self) -> u32;

    /// Plays one.
    ///
    /// # Errors
    /// What ends the whole examination.
    fn play(&mut self, experiment: &Experiment) -> Result<Run, Stop>;
}

/// What an examination came to.
#[derive(Debug)]
pub(crate) struct Examined {
    /// Everything that was seen.
    pub(crate) evidence: Evidence,
    /// The first stream that was not live; the first of all where all were.
    pub(crate) question: Experiment,
    /// What can be said of it.
    pub(crate) answer: Answer,
    /// The experiments that decided, the question first.
    pub(crate) deciding: Vec<Experiment>,
    /// What was asked besides, to see how far it goes.
    pub(crate) extent: Vec<Experiment>,
    /// Why it ended early.
    pub(crate) stopped: Option<Stop>,
    /// At which experiment.
    pub(crate) stopped_at: Option<Experiment>,
    /// Whether more would have been asked, had more requests been allowed.
    pub(crate) short: bool,
}

const TOO_FEW: &str = "too few requests were allowed to ask as curl and as a browser";
const ONCE: &str = "what was seen at first did not show again";
const ENDED_EARLY: &str = "it ended before there was enough to tell";

/// The same at another pace.
pub(crate) fn other_pace(question: &Experiment) -> Experiment {
    question.playing(|play| {
        play.pace_ms = Some(OTHER_PACE);
        play.frames = Some(OTHER_FRAMES);
    })
}

/// The experiment that brings a missing fact.
fn experiment_for(question: &Experiment, missing: Missing, evidence: &Evidence) -> Experiment {
    match missing {
        Missing::Uncompressed => question.uncompressed(),
        Missing::Beside => question.beside(),
        Missing::WithHeader => question.playing(|play| play.header = true),
        Missing::Unchunked => Experiment { http10: true, ..*question },
        Missing::OtherPace => other_pace(question),
        Missing::OtherHttp => evidence.other_http(question).unwrap_or(*question),
    }
}

/// Examines a stream; tells each experiment before it is played.
pub(crate) fn examine(executor: &mut dyn Executor, tell: &mut dyn FnMut(&Experiment)) -> Examined {
    let curl = Experiment::of(Client::Curl);
    let mut engine = Engine {
        executor,
        tell,
        evidence: Evidence::default(),
        tried: Vec::new(),
        short: false,
        last: None,
    };
    let mut examined = Examined {
        evidence: Evidence::default(),
        question: curl,
        answer: Answer::CannotTell(ENDED_EARLY),
        deciding: Vec::new(),
        extent: Vec::new(),
        stopped: None,
        stopped_at: None,
        short: false,
    };
    let ended = engine.run(&mut examined);
    if let Err(stop) = ended {
        // What is there may be enough.
        if engine.evidence.accepted(&examined.question) > 0
            && let named @ Answer::Named(_) =
                name(&engine.evidence.facts(&examined.question), &|_| false)
        {
            examined.answer = named;
        }
        examined.stopped = Some(stop);
        examined.stopped_at = engine.last;
    }
    if matches!(examined.answer, Answer::Named(_)) {
        examined.deciding = engine.deciding(&examined.question);
    }
    Examined { evidence: engine.evidence, short: engine.short, ..examined }
}

struct Engine<'a> {
    executor: &'a mut dyn Executor,
    tell: &'a mut dyn FnMut(&Experiment),
    evidence: Evidence,
    /// Facts that were asked for, in order.
    tried: Vec<Missing>,
    short: bool,
    /// What was asked last.
    last: Option<Experiment>,
}

impl Engine<'_> {
    fn run(&mut self, examined: &mut Examined) -> Result<(), Stop> {
        let Some(question) = self.find_question()? else {
            examined.answer = if self.both_asked() {
                self.look_round(examined)?;
                Answer::Clean
            } else {
                Answer::CannotTell(TOO_FEW)
            };
            // What was asked to see how far it goes may find a stream that is not live.
            let through = |e: &&Experiment| e.way == Way::Through && self.is_odd(e);
            let odd = examined.extent.iter().find(through).copied();
            return match odd {
                Some(question) => self.settle(question, examined),
                None => Ok(()),
            };
        };
        self.settle(question, examined)
    }

    /// Names what holds the stream in question, confirms it, and sees how far it goes.
    fn settle(&mut self, question: Experiment, examined: &mut Examined) -> Result<(), Stop> {
        examined.question = question;
        examined.answer = Answer::CannotTell(ENDED_EARLY);
        examined.answer = self.decide(&question)?;
        if let Answer::Named(Named { cause, .. }) = examined.answer {
            for experiment in self.deciding(&question) {
                self.confirm(&experiment)?;
            }
            examined.answer = match name(&self.evidence.facts(&question), &|_| false) {
                Answer::Clean => Answer::CannotTell(ONCE),
                answer => answer,
            };
            if matches!(examined.answer, Answer::Named(_)) {
                // Which of a service's users are hit.
                if let Some(other) = self.evidence.other_http(&question) {
                    self.once(&other)?;
                }
                self.see_extent(cause, &question, &mut examined.extent)?;
            }
        }
        Ok(())
    }

    fn both_asked(&self) -> bool {
        [Client::Curl, Client::Fetch]
            .iter()
            .all(|client| self.evidence.accepted(&Experiment::of(*client)) > 0)
    }

    fn is_odd(&self, experiment: &Experiment) -> bool {
        self.evidence.accepted(experiment) > 0
            && self.evidence.shows(experiment) != Some(Verdict::Live)
    }

    /// The first stream that is not live: as curl, as a browser, then with large events, which
    /// some compressors alone touch.
    fn find_question(&mut self) -> Result<Option<Experiment>, Stop> {
        let curl = Experiment::of(Client::Curl);
        let fetch = Experiment::of(Client::Fetch);
        // A difference between the two tells more than either, so both are always asked.
        let mut odd = None;
        for experiment in [curl, fetch] {
            self.see(&experiment)?;
            let live = self.evidence.shows(&experiment).is_none_or(|shows| shows == Verdict::Live);
            odd = odd.or((!live).then_some(experiment));
        }
        // Over TLS the same hop may hold one version of HTTP and not the other.
        if let Some(other) = self.evidence.other_http(&curl) {
            self.see(&other)?;
            let shows = self.evidence.shows(&other).filter(|shows| {
                // A server that does not speak the other one is not to blame for that.
                is_decided(*shows) || *shows == Verdict::CannotTell
            });
            odd = odd.or(shows.filter(|shows| *shows != Verdict::Live).map(|_| other));
        }
        if odd.is_some() {
            return Ok(odd);
        }
        for experiment in
            [fetch.playing(|play| play.bytes = Some(LARGE)), Experiment::of(Client::EventSource)]
        {
            self.see(&experiment)?;
            if self.is_odd(&experiment) {
                return Ok(Some(experiment));
            }
        }
        Ok(None)
    }

    /// Asks for one missing fact after the other.
    fn decide(&mut self, question: &Experiment) -> Result<Answer, Stop> {
        loop {
            let facts = self.evidence.facts(question);
            let open = |missing| {
                let experiment = experiment_for(question, missing, &self.evidence);
                // A server that does not speak the other HTTP does not by being asked again.
                let refused = experiment.http != Speak::Negotiated
                    && self.evidence.shows(&experiment) == Some(Verdict::Failed);
                !self.tried.contains(&missing)
                    && self.executor.price(&experiment).is_some()
                    && experiment != *question
                    && !refused
            };
            let answer = name(&facts, &|missing| open(missing));
            let Answer::Open(missing) = answer else { return Ok(answer) };
            self.tried.push(missing);
            self.see(&experiment_for(question, missing, &self.evidence))?;
        }
    }

    /// The question, and the experiment whose difference to it decided: the last one that made
    /// the stream live.
    fn deciding(&self, question: &Experiment) -> Vec<Experiment> {
        let asked = self.tried.iter().rev();
        let asked = asked.map(|missing| experiment_for(question, *missing, &self.evidence));
        // It may have been asked before there was a question.
        let mut asked = asked.chain(self.evidence.other_http(question));
        let live = |e: &Experiment| self.evidence.shows(e) == Some(Verdict::Live);
        [*question].into_iter().chain(asked.find(live)).collect()
    }

    /// Plays an experiment until it shows something.
    fn see(&mut self, experiment: &Experiment) -> Result<(), Stop> {
        for _ in 0..TRIES {
            if !self.evidence.is_open(experiment) || !self.once_more(experiment)? {
                break;
            }
        }
        Ok(())
    }

    /// Plays it if that was not yet done and may be.
    fn once(&mut self, experiment: &Experiment) -> Result<(), Stop> {
        if self.evidence.accepted(experiment) == 0 {
            self.once_more(experiment)?;
        }
        Ok(())
    }

    /// Plays it again until two runs agree.
    fn confirm(&mut self, experiment: &Experiment) -> Result<(), Stop> {
        for _ in 0..TRIES {
            let enough = self.evidence.accepted(experiment) >= CONFIRMED;
            if enough && !self.evidence.is_open(experiment) || !self.once_more(experiment)? {
                break;
            }
        }
        Ok(())
    }

    /// Plays it once, if it may be; whether it was.
    fn once_more(&mut self, experiment: &Experiment) -> Result<bool, Stop> {
        let Some(price) = self.executor.price(experiment) else { return Ok(false) };
        if price > self.executor.left() {
            self.short = true;
            return Ok(false);
        }
        (self.tell)(experiment);
        self.last = Some(*experiment);
        let run = self.executor.play(experiment)?;
        self.evidence.runs.push(run);
        Ok(true)
    }

    fn see_extent(
        &mut self,
        cause: CauseId,
        question: &Experiment,
        asked: &mut Vec<Experiment>,
    ) -> Result<(), Stop> {
        while let Some(experiment) = extent::next(cause, question, asked, &self.evidence) {
            let known = self.evidence.accepted(&experiment) > 0;
            if !known && !self.once_more(&experiment)? {
                // It cannot be had, or not be afforded: nor can what follows from it.
                break;
            }
            asked.push(experiment);
        }
        Ok(())
    }

    /// A clean path: what else may differ, while it may be asked.
    fn look_round(&mut self, examined: &mut Examined) -> Result<(), Stop> {
        // That there is no room for these is no lack: the path is clean as it was asked.
        let short = self.short;
        for experiment in extent::round() {
            if self.once_more(&experiment)? {
                examined.extent.push(experiment);
            }
        }
        self.short = short;
        Ok(())
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
