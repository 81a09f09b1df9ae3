//! Plays experiments with the native client.

use std::io::Write as _;
use std::time::Duration;

use measure::script::{Body, EVENT_STREAM, Script};
use measure::verdict::arrivals::Sighting;
use measure::verdict::{Finding, Verdict};
use measure::{Arrivals, End, Ledger, RunId, Span, Transport};
use recv_client::{Ask, Form, Http, Limit, Observed};
use serde_json::json;

use super::behind::{Asker, Behind, NoLedger};
use super::budget::Budget;
use super::engine::Executor;
use super::evidence::{Carried, Raw, Run};
use super::experiment::{Experiment, Offer, Speak, Way};
use super::judge;
use super::stop::Stop;
use crate::interrupt::Interrupt;
use crate::runner;
use crate::target::Target;

/// Bytes of one stream at most: well above the largest played here, and an end for a firehose.
const MOST_BYTES: u64 = 16 << 20;

/// The native client, with what it may ask.
pub(crate) struct Native {
    /// The URL in question.
    pub(crate) through: Target,
    /// The way without the suspect.
    pub(crate) beside: Option<Target>,
    /// Our own emitter, when it stands behind.
    pub(crate) behind: Option<Behind>,
    /// What is played as it is.
    pub(crate) base: Script,
    /// Method, headers, body.
    pub(crate) form: Form,
    /// How long a stream is read at most.
    pub(crate) limit: Duration,
    /// Segment payload towards us.
    pub(crate) mss: Option<u32>,
    /// How many requests may be made.
    pub(crate) budget: Budget,
    /// Whether somebody wants this to end.
    pub(crate) interrupt: Interrupt,
    /// Where the raw runs go.
    pub(crate) keep: Option<std::fs::File>,
}

impl Native {
    /// Looks for our own emitter behind the URL.
    ///
    /// # Errors
    /// When nobody answers.
    pub(crate) fn look_behind(&mut self) -> Result<(), Stop> {
        self.behind = self.asker().find()?;
        if self.behind.is_some() {
            self.budget.keep_back();
        }
        Ok(())
    }

    fn asker(&mut self) -> Asker<'_> {
        Asker { target: &self.through, form: &self.form, budget: &mut self.budget }
    }

    /// Looks at the clock once more, after everything.
    ///
    /// # Errors
    /// When it is not the clock it was.
    pub(crate) fn check_clock(&mut self) -> Result<(), Stop> {
        match self.behind.clone() {
            Some(behind) => self.asker().check_clock(&behind),
            None => Ok(()),
        }
    }

    /// Whether our emitter plays this experiment's stream.
    fn plays(&self, experiment: &Experiment) -> bool {
        self.behind.is_some() && experiment.way == Way::Through
    }

    fn ask(&self, experiment: &Experiment, run: RunId) -> Option<(Ask, Option<Script>)> {
        let target = match experiment.way {
            Way::Through => &self.through,
            Way::Beside => self.beside.as_ref()?,
        };
        let script = self.plays(experiment).then(|| experiment.play.script(&self.base));
        let path = match &script {
            Some(script) => {
                let mut query = vec![("run", run.to_string())];
                query.extend(script.to_query()?);
                let query = serde_urlencoded::to_string(query).ok()?;
                format!("{}?{query}", target.sibling("stream"))
            }
            None => target.path(),
        };
        let mut ask = target.ask(path);
        ask.headers = experiment.headers();
        ask.accept_encoding = experiment.accept_encoding();
        ask.form = target.form(&self.form);
        ask.form.minor = u8::from(!experiment.http10);
        ask.http = match experiment.http {
            // Without TLS it is HTTP/1 by itself, and nothing else is tried.
            _ if experiment.http10 || !target.is_secure() => Http::One,
            Speak::Negotiated => Http::Negotiated,
            Speak::One => Http::One,
            Speak::Two => Http::Two,
        };
        ask.named = script.is_some();
        ask.options.segment = self.mss;
        ask.options.read_timeout = Some(self.limit);
        ask.limit = Some(Limit { time: self.limit, bytes: MOST_BYTES });
        Some((ask, script))
    }

    fn ledger(&mut self, run: RunId) -> Result<Option<Ledger>, Stop> {
        let Some(behind) = self.behind.clone().filter(|behind| behind.ledgers) else {
            return Ok(None);
        };
        match self.asker().ledger(&behind, run) {
            Ok(ledger) => Ok(Some(ledger)),
            Err(NoLedger::Unknown) => Ok(None),
            Err(NoLedger::Restarted) => {
                let what = "the emitter was started anew in between".to_string();
                Err(Stop::Shifted { what })
            }
            Err(NoLedger::Elsewhere) => {
                if let Some(behind) = &mut self.behind {
                    behind.ledgers = false;
                }
                Ok(None)
            }
        }
    }

    fn keep(&mut self, experiment: &Experiment, raw: &Raw, transport: &Transport) {
        let Some(file) = &mut self.keep else { return };
        let line = json!({ "experiment": experiment, "arrivals": raw.arrivals,
                           "ledger": raw.ledger, "stopped": raw.stopped,
                           "transport": transport });
        if let Err(error) = writeln!(file, "{line}") {
            // What cannot be kept is still judged and shown.
            eprintln!("the raw runs can be kept no further: {error}");
            self.keep = None;
        }
    }
}

impl Executor for Native {
    fn price(&self, experiment: &Experiment) -> Option<u32> {
        let play = experiment.play;
        let changes_body = play.bytes.or(play.pace_ms).or(play.frames).is_some() || play.halves;
        let paced = matches!(self.base.body, Body::Paced { .. });
        if !play.is_as_it_is() && (!self.plays(experiment) || changes_body && !paced) {
            return None;
        }
        if experiment.way == Way::Beside && self.beside.is_none() {
            return None;
        }
        let chosen = experiment.http != Speak::Negotiated;
        if experiment.way == Way::Through && chosen && !self.through.is_secure() {
            return None;
        }
        let ledger =
            self.plays(experiment) && self.behind.as_ref().is_some_and(|behind| behind.ledgers);
        Some(1 + u32::from(ledger))
    }

    fn left(&self) -> u32 {
        self.budget.left()
    }

    fn play(&mut self, experiment: &Experiment) -> Result<Run, Stop> {
        if self.interrupt.came() {
            return Err(Stop::Interrupted);
        }
        let run = RunId(fastrand::u128(..));
        let asked = self.ask(experiment, run).filter(|_| self.budget.take());
        let Some((ask, script)) = asked else {
            let what = "an experiment was chosen that cannot be asked".into();
            return Err(Stop::Unreachable { what });
        };
        let Observed { arrivals, head, stopped, transport } =
            runner::before_others(|| recv_client::observe(&ask, run));
        let finite = script.is_some();
        let target = match (experiment.way, &self.beside) {
            (Way::Beside, Some(beside)) => beside,
            _ => &self.through,
        };
        let left = stopped && !finite;
        let came = Came { arrivals: &arrivals, head: head.as_ref(), transport: &transport };
        let found = classify(experiment, &came, left, (target, &ask));
        let ledger = if finite { self.ledger(run)? } else { None };
        let uncertainty = self.behind.as_ref().and_then(Behind::uncertainty);
        let uncertainty = uncertainty.unwrap_or_default();
        let raw = Raw { arrivals, ledger, uncertainty, script, stopped: left };
        self.keep(experiment, &raw, &transport);
        let alone = match found {
            Ok(None) => judge::alone(&raw),
            Ok(Some(what)) => {
                let finding = Finding::new(Verdict::Failed, what);
                Sighting { finding, candidates: Vec::new() }
            }
            Err(stop) => return Err(stop),
        };
        let carried = Carried::of(&transport);
        Ok(Run { experiment: *experiment, alone, raw: Some(raw), head, carried })
    }
}

/// What one request brought.
struct Came<'a> {
    arrivals: &'a Arrivals,
    head: Option<&'a wire::http1::Head>,
    transport: &'a Transport,
}

/// What an answer is before its times are looked at: a stream (`None`), a failure of this
/// experiment alone, or the end of all.
fn classify(
    experiment: &Experiment,
    Came { arrivals, head, transport }: &Came<'_>,
    left: bool,
    (target, ask): (&Target, &Ask),
) -> Result<Option<String>, Stop> {
    let through = experiment.way == Way::Through;
    // A control that cannot be had, or a variation that is refused, ends only itself.
    let spoken = experiment.http != Speak::Negotiated;
    let varied = !through || experiment.offer != Offer::Own || experiment.http10 || spoken;
    let or_alone =
        |stop: Stop, alone: bool| if alone { Ok(Some(stop.to_string())) } else { Err(stop) };
    let events = arrivals.frames().filter(|(_, frame)| frame.event).count() as u32;
    let limit = Span(ask.limit.map_or(0, |limit| limit.time.as_micros() as i64));
    let Some(status) = arrivals.status else {
        let what = match &arrivals.end {
            End::TimedOut { .. } => return or_alone(Stop::Silent { limit, events }, !through),
            End::Failed { what }
                if target.is_secure()
                    && arrivals.connected.is_some()
                    && transport.tls.is_none() =>
            {
                // What the reader says of its own option is not for here.
                let what = what.split(": ask with --http").next().unwrap_or_default().into();
                return or_alone(Stop::NoTls { what }, !through || spoken);
            }
            End::Failed { what } => what.clone(),
            _ => format!("{} closed the connection without an answer", ask.address),
        };
        return or_alone(Stop::Unreachable { what }, !through);
    };
    let header = |name: &str| head.and_then(|head| head.header(name)).map(String::from);
    match status {
        200 => {}
        300..=399 => {
            let to = header("location").map(|to| target.location(&to));
            let to = to.unwrap_or_else(|| "nowhere".into());
            return or_alone(Stop::Redirect { status, to }, !through || spoken);
        }
        401 | 403 | 407 => {
            let what = format!("status {status}");
            return or_alone(Stop::Login { what }, !through || spoken);
        }
        429 => return Err(Stop::RateLimited { retry_after: header("retry-after") }),
        505 if varied => return or_alone(Stop::Refused { status }, true),
        500.. => return Err(Stop::Server { status, retry_after: header("retry-after") }),
        _ => return or_alone(Stop::Refused { status }, varied),
    }
    let content_type = arrivals.content_type.as_deref().unwrap_or("no content type");
    // Long enough for any real one.
    let content_type: String = content_type.chars().take(80).collect();
    let media = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if events == 0 && media == "text/html" {
        let what = "a page in text/html".to_string();
        return or_alone(Stop::Login { what }, !through);
    }
    let timed_out = matches!(arrivals.end, End::TimedOut { .. });
    if timed_out && (events == 0 || !left) {
        let last = arrivals.deliveries.last().map(|delivery| delivery.at);
        let silent = last.map_or(limit, |last| arrivals.ended - last);
        // Paused for less than half of the time, it was still at it.
        let stop = match events > 0 && silent.as_micros() * 2 < limit.as_micros() {
            true => Stop::Longer { limit, events },
            false if events > 0 => Stop::Silent { limit: silent, events },
            false => Stop::Silent { limit, events },
        };
        return or_alone(stop, !through);
    }
    if events == 0 && media != EVENT_STREAM {
        return or_alone(Stop::NoStream { content_type }, varied);
    }
    if events == 0 && arrivals.end == End::Closed {
        return or_alone(Stop::Empty, varied);
    }
    Ok(None)
}
