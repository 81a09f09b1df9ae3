//! What experiments showed, and the facts that follow from it.

use measure::cause::Software;
use measure::cause::naming::{Facts, Header, Side};
use measure::cause::suspects::{Suspect, suspects};
use measure::script::Framing;
use measure::verdict::arrivals::Sighting;
use measure::verdict::{Finding, Thresholds, Verdict, of_cell};
use measure::{Arrivals, Ledger, Protocol, Script, Span, Transport};
use wire::http1::Head;

use super::experiment::{Client, Experiment, UNBUFFERED, Way};
use super::judge;

/// The two ends of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    /// What came, on our clock.
    pub(crate) arrivals: Arrivals,
    /// What the emitter wrote, on our clock; absent where it is not ours, or its clock is not
    /// known well enough.
    pub(crate) ledger: Option<Ledger>,
    /// How far the ledger's clock may be off.
    pub(crate) uncertainty: Span,
    /// What was asked for, where the emitter is ours.
    pub(crate) script: Option<Script>,
    /// Whether the reader stopped at its own limit.
    pub(crate) stopped: bool,
}

/// What carried an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Carried {
    /// Which HTTP.
    pub(crate) protocol: Option<Protocol>,
    /// Which TLS; absent without, and when its handshake failed.
    pub(crate) tls: Option<String>,
}

impl Carried {
    /// Of what the reader saw.
    pub(crate) fn of(transport: &Transport) -> Carried {
        let tls = transport.tls.as_ref().map(|tls| tls.version.clone());
        Carried { protocol: transport.protocol, tls }
    }
}

/// One request and what it showed.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// What was asked.
    pub(crate) experiment: Experiment,
    /// What it shows by itself.
    pub(crate) alone: Sighting,
    /// The two ends; absent where it was scripted.
    pub(crate) raw: Option<Raw>,
    /// The answer's head.
    pub(crate) head: Option<Head>,
    /// What carried it.
    pub(crate) carried: Carried,
}

impl Run {
    /// Which HTTP carried it over TLS.
    pub(crate) fn over_tls(&self) -> Option<Protocol> {
        self.carried.tls.as_ref().and(self.carried.protocol)
    }

    fn is_void(&self) -> bool {
        self.alone.finding.name == Verdict::Void
    }

    /// Whether the origin's own times are known.
    fn is_timed(&self) -> bool {
        self.raw.as_ref().is_some_and(|raw| raw.ledger.is_some())
    }

    /// The answer's content encoding, when it has one.
    pub(crate) fn coding(&self) -> Option<&str> {
        self.head.as_ref()?.header("content-encoding").filter(|coding| *coding != "identity")
    }

    /// A header of the answer.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.as_ref()?.header(name)
    }
}

/// Whether a verdict says whether the stream is held.
pub(crate) fn is_decided(shows: Verdict) -> bool {
    use Verdict::{CannotTell, Failed, NoToken, Void};
    !matches!(shows, CannotTell | Failed | NoToken | Void)
}

/// Everything that was seen so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    /// In the order of asking.
    pub(crate) runs: Vec<Run>,
}

impl Evidence {
    /// The accepted runs of an experiment.
    fn of(&self, experiment: &Experiment) -> impl Iterator<Item = &Run> + use<'_> {
        let experiment = *experiment;
        self.runs.iter().filter(move |run| run.experiment == experiment && !run.is_void())
    }

    /// The last accepted run of an experiment.
    pub(crate) fn last(&self, experiment: &Experiment) -> Option<&Run> {
        self.of(experiment).last()
    }

    /// How often it was played and accepted.
    pub(crate) fn accepted(&self, experiment: &Experiment) -> usize {
        self.of(experiment).count()
    }

    /// What one run shows, held against the best that is there to hold it against: the origin's
    /// own times, else the same request beside the suspect, else the same stream uncompressed if
    /// that is live, else what is beside the suspect for another client, unless an encoding may
    /// make the difference.
    pub(crate) fn sighting(&self, run: &Run) -> Sighting {
        let Some(raw) = run.raw.as_ref().filter(|_| !run.is_timed() && !run.is_void()) else {
            return run.alone.clone();
        };
        if raw.script.is_some() {
            return run.alone.clone();
        }
        let experiment = &run.experiment;
        let through = experiment.way == Way::Through;
        let control = |other: Experiment| {
            (through && other != *experiment).then(|| self.last(&other)?.raw.as_ref()).flatten()
        };
        if let Some(beside) = control(experiment.beside()) {
            return judge::against(raw, beside);
        }
        let plain = experiment.uncompressed();
        let live = self.last(&plain).is_some_and(|run| run.alone.finding.name == Verdict::Live);
        if let Some(plain) = control(plain).filter(|_| live) {
            return judge::against_same(raw, plain, "with no encoding");
        }
        // Nobody behind whoever ends TLS sees which HTTP was spoken before it.
        let other = self.other_http(experiment).filter(|_| through);
        let live = |e: &Experiment| {
            self.last(e).is_some_and(|run| run.alone.finding.name == Verdict::Live)
        };
        if let Some(other) = other.filter(live).and_then(control) {
            return judge::against_same(raw, other, "by the other version of HTTP");
        }
        let others = [plain.beside(), Experiment::of(Client::Curl).beside()];
        match others.into_iter().find_map(control).filter(|_| run.coding().is_none()) {
            Some(beside) => judge::against(raw, beside),
            None => run.alone.clone(),
        }
    }

    /// What an experiment shows: what enough of its accepted runs agree on, as the runs of a cell
    /// do. All void is void, never played is nothing.
    pub(crate) fn finding(&self, experiment: &Experiment) -> Option<Finding> {
        let of_run = |run: &Run| {
            let first = run.raw.as_ref().and_then(|raw| raw.arrivals.deliveries.first());
            let waited = first.zip(run.raw.as_ref()).map(|(d, raw)| d.at - raw.arrivals.call);
            (self.sighting(run).finding, waited)
        };
        let found: Vec<_> = self.of(experiment).map(of_run).collect();
        match found.as_slice() {
            [] => {
                let void = self.runs.iter().rfind(|run| run.experiment == *experiment)?;
                Some(void.alone.finding.clone())
            }
            [(only, _)] => Some(only.clone()),
            several => Some(of_cell(several, &Thresholds::standard())),
        }
    }

    /// The name of what it shows, where that is decided.
    fn decided(&self, experiment: &Experiment) -> Option<Verdict> {
        self.shows(experiment).filter(|shows| is_decided(*shows))
    }

    /// Whether to play it again: the guards took every run, or noise leaves open what runs with
    /// the origin's own times show.
    pub(crate) fn is_open(&self, experiment: &Experiment) -> bool {
        match self.shows(experiment) {
            None | Some(Verdict::Void) => true,
            Some(Verdict::CannotTell) => self.last(experiment).is_some_and(Run::is_timed),
            Some(_) => false,
        }
    }

    /// The name of what it shows.
    pub(crate) fn shows(&self, experiment: &Experiment) -> Option<Verdict> {
        self.finding(experiment).map(|finding| finding.name)
    }

    /// The same by the other version of HTTP; `None` where it did not come over TLS.
    pub(crate) fn other_http(&self, experiment: &Experiment) -> Option<Experiment> {
        let spoke = self.last(experiment)?.over_tls()?;
        Some(experiment.other_http(Some(spoke)))
    }

    /// What became of a header that asks not to buffer, between origin and reader.
    fn header(&self, question: &Experiment) -> Header {
        let (name, _) = UNBUFFERED;
        let reached = |run: &Run| run.header(name).is_some();
        let here = self.last(question).is_some_and(reached);
        let script = self.last(question).and_then(|run| run.raw.as_ref()?.script.clone());
        let sent = match script {
            Some(script) => script.headers.iter().any(|h| h.name.eq_ignore_ascii_case(name)),
            None => self.last(&question.beside()).is_some_and(reached),
        };
        match (sent, here) {
            (_, true) => Header::Passed,
            (true, false) => Header::Taken,
            (false, false) => Header::Missing,
        }
    }

    /// What it shows without chunks. Some origins send chunks to HTTP/1.0 too: that tells nothing.
    fn unchunked(&self, question: &Experiment) -> Option<Verdict> {
        let experiment = Experiment { http10: true, ..*question };
        let chunked = |run: &Run| run.header("transfer-encoding").is_some();
        self.decided(&experiment).filter(|_| !self.last(&experiment).is_some_and(chunked))
    }

    fn side(&self, question: &Experiment) -> Side {
        let timed = |run: &Run| {
            let ledger = run.raw.as_ref()?.ledger.as_ref()?;
            // Ours ends a stream early only when it is stopped itself; else its client left.
            let stopped = ledger.broken.as_deref().is_some_and(|why| why.contains("was stopped"));
            Some(Side::Timed { whole: !stopped })
        };
        if let Some(side) = self.last(question).and_then(timed) {
            return side;
        }
        let beside = question.beside();
        match self.last(&beside).zip(self.shows(&beside)) {
            // A control that could not be had is none.
            Some((_, Verdict::Failed | Verdict::NoToken)) | None => Side::Unknown,
            Some((run, shows)) => Side::Beside { shows, compressed: run.coding().is_some() },
        }
    }

    /// The facts about one experiment's stream.
    pub(crate) fn facts(&self, question: &Experiment) -> Facts {
        let raw = self.last(question).and_then(|run| run.raw.as_ref());
        let with_header = question.playing(|play| play.header = true);
        let after = |run: &Run| {
            let passed = run.header(UNBUFFERED.0).is_some();
            if passed { Header::Passed } else { Header::Taken }
        };
        Facts {
            may_be_corked: self
                .last(question)
                .is_some_and(|run| self.sighting(run).candidates.contains(&Verdict::Corked)),
            compressed: self.last(question).is_some_and(|run| run.coding().is_some()),
            uncompressed: self.decided(&question.uncompressed()),
            origin: self.side(question),
            close_delimited: raw.and_then(|raw| {
                let ledger = raw.ledger.as_ref()?;
                let closes = ledger.script.framing == Framing::Close;
                Some(closes || ledger.upstream_protocol == "HTTP/1.0")
            }),
            header: self.header(question),
            with_header: self.decided(&with_header).zip(self.last(&with_header).map(after)),
            unchunked: self.unchunked(question),
            over_tls: self.last(question).and_then(Run::over_tls),
            other_http: self.other_http(question).and_then(|other| self.decided(&other)),
            other_pace: self.decided(&super::engine::other_pace(question)),
            suspect: self.suspects(question).iter().find_map(|suspect| suspect.software),
            ..Facts::of(self.shows(question).unwrap_or(Verdict::CannotTell))
        }
    }

    /// Whom the answer's head speaks of, without those whom the direct way's head speaks of too:
    /// they stand behind both.
    pub(crate) fn suspects(&self, question: &Experiment) -> Vec<Suspect> {
        let of = |run: Option<&Run>| {
            let head = run.and_then(|run| run.head.as_ref());
            let fields = head.into_iter().flat_map(|head| &head.headers);
            suspects(fields.map(|(name, value)| (name.as_str(), value.as_str())))
        };
        let beside = of(self.runs.iter().rfind(|run| run.experiment.way == Way::Beside));
        let mut found = of(self.last(question));
        found.retain(|suspect| beside.iter().all(|other| other.field != suspect.field));
        found
    }

    /// The programs whose cures are worth showing first.
    pub(crate) fn software(&self, question: &Experiment) -> Vec<Software> {
        self.suspects(question).iter().filter_map(|suspect| suspect.software).collect()
    }
}
