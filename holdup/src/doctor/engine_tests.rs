//! The choosing, against a scripted executor: what each experiment shows is known beforehand.

use std::collections::HashMap;

use super::*;
use crate::doctor::diagnosis::{Answer as Told, Diagnosis};
use crate::doctor::experiment::{Coding, Offer, Speak, Way};
use measure::cause::CauseId;
use measure::cause::naming::Header;
use measure::verdict::arrivals::Sighting;
use measure::verdict::{Finding, Sure};
use measure::{Arrivals, End, Ledger, Protocol, Reader, RunId, Script, Span, Stamp};
use wire::http1::Head;

use crate::doctor::evidence::{Carried, Raw};

/// What the fake answers to one kind of experiment.
#[derive(Clone, Default)]
struct Reply {
    shows: Option<Verdict>,
    headers: Vec<(&'static str, &'static str)>,
}

fn shows(shows: Verdict) -> Reply {
    Reply { shows: Some(shows), headers: Vec::new() }
}

fn gzip(held: Verdict) -> Reply {
    Reply { shows: Some(held), headers: vec![("Content-Encoding", "gzip")] }
}

impl Reply {
    fn with(mut self, name: &'static str, value: &'static str) -> Reply {
        self.headers.push((name, value));
        self
    }
}

/// A path that behaves by a rule.
struct Fake<F> {
    rule: F,
    /// Our emitter stands behind, asked by this HTTP version.
    emitter: Option<&'static str>,
    against: bool,
    /// It comes over TLS; where both are offered, this is spoken.
    tls: Option<Protocol>,
    left: u32,
    played: Vec<String>,
    /// Ends everything at this experiment, by its name.
    stop: HashMap<String, Stop>,
}

fn fake<F: Fn(&Experiment) -> Reply>(rule: F) -> Fake<F> {
    Fake {
        rule,
        emitter: Some("HTTP/1.1"),
        against: false,
        tls: None,
        left: 100,
        played: Vec::new(),
        stop: HashMap::new(),
    }
}

impl<F: Fn(&Experiment) -> Reply> Fake<F> {
    fn foreign(self) -> Self {
        Fake { emitter: None, ..self }
    }

    fn beside(self) -> Self {
        Fake { against: true, ..self.foreign() }
    }

    fn over(self, protocol: Protocol) -> Self {
        Fake { tls: Some(protocol), ..self }
    }

    fn stop(mut self, at: &str, stop: Stop) -> Self {
        self.stop.insert(at.into(), stop);
        self
    }

    fn examine(&mut self) -> (Examined, Diagnosis) {
        let examined = examine(self, &mut |_| ());
        let diagnosis = Diagnosis::of(&examined);
        (examined, diagnosis)
    }

    /// What is named, how surely, and whether it is the path's.
    fn named(&mut self) -> (CauseId, Sure) {
        let (_, told) = self.examine();
        assert_eq!(told.answer, Told::Cause, "{told:?} after {:?}", self.played);
        (told.cause.unwrap(), told.sure.unwrap())
    }
}

impl<F: Fn(&Experiment) -> Reply> Executor for Fake<F> {
    fn price(&self, experiment: &Experiment) -> Option<u32> {
        let possible = match experiment.way {
            Way::Through => self.emitter.is_some() || experiment.play.is_as_it_is(),
            Way::Beside => self.against && experiment.play.is_as_it_is(),
        };
        let spoken = experiment.http == Speak::Negotiated || self.tls.is_some();
        (possible && spoken).then_some(1)
    }

    fn left(&self) -> u32 {
        self.left
    }

    fn play(&mut self, experiment: &Experiment) -> Result<Run, Stop> {
        assert!(self.price(experiment).is_some() && self.left > 0, "{}", experiment.name());
        self.left -= 1;
        self.played.push(experiment.name());
        if let Some(stop) = self.stop.get(&experiment.name()) {
            return Err(stop.clone());
        }
        let reply = (self.rule)(experiment);
        let name = reply.shows.unwrap_or(Verdict::Live);
        let finding = Finding::new(name, "scripted");
        let script = experiment.play.script(&Script::headline());
        let ledger =
            self.emitter.filter(|_| experiment.way == Way::Through).map(|version| Ledger {
                run: RunId(1),
                instance: "i".into(),
                attempts: 1,
                script: script.clone(),
                upstream_protocol: version.into(),
                segment_bytes: None,
                started: Stamp(0),
                entries: Vec::new(),
                writes: 0,
                body_bytes: 0,
                done: None,
                handed: Vec::new(),
                waits: Vec::new(),
                broken: None,
            });
        let mut arrivals = Arrivals::begin(RunId(1), Reader::Recv, Stamp(0));
        arrivals.end = End::Closed;
        // Without a script there is nothing that times are held against, and the shapes speak.
        let raw = ledger.is_some().then_some(Raw {
            arrivals,
            ledger,
            uncertainty: Span::ZERO,
            script: Some(script),
            stopped: false,
        });
        let headers: Vec<(String, String)> =
            reply.headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let head = Head { status: 200, minor: 1, headers, bytes: 0 };
        let alone = Sighting { finding, candidates: Vec::new() };
        let protocol = self.tls.map(|chosen| match experiment.http {
            _ if experiment.http10 => Protocol::Http11,
            Speak::Negotiated => chosen,
            Speak::One => Protocol::Http11,
            Speak::Two => Protocol::Http2,
        });
        let carried = Carried { protocol, tls: self.tls.map(|_| "TLSv1.3".into()) };
        Ok(Run {
            experiment: *experiment,
            alone,
            raw,
            head: (name != Verdict::Failed).then_some(head),
            carried,
        })
    }
}

use Verdict as V;

#[test]
fn a_clean_path_is_clean_only_after_curl_browser_and_large_events() {
    let mut path = fake(|_| shows(V::Live));
    let (_, told) = path.examine();
    assert_eq!(told.answer, Told::Clean);
    assert_eq!(
        path.played,
        [
            "as curl",
            "as a browser's fetch",
            "as a browser's fetch, 1500 B events",
            "as a browser's EventSource",
            "as curl, events in two writes",
            "as curl, by HTTP/1.0",
        ]
    );
}

#[test]
fn haproxy_is_known_by_what_it_does_without_chunks() {
    let mut path = fake(|e| {
        let chunks = !e.http10 && !e.play.close;
        shows(if chunks && e.play.bytes != Some(LARGE) { V::Corked } else { V::Live })
    });
    assert_eq!(path.named(), (CauseId::ChunksCorked, Sure::Certain));
    assert_eq!(
        path.played[..5],
        [
            "as curl",
            "as a browser's fetch",
            "as curl, by HTTP/1.0",
            "as curl",
            "as curl, by HTTP/1.0"
        ],
        "asked, decided, confirmed"
    );
}

/// nginx that was asked by HTTP/1.0, or whose origin closes.
fn whole_buffers(e: &Experiment) -> Reply {
    if e.play.header { shows(V::Live) } else { shows(V::Held).with("Server", "nginx/1.22.1") }
}

#[test]
fn nginx_with_an_http10_upstream_is_known_by_the_header_that_helps() {
    let mut path = Fake { emitter: Some("HTTP/1.0"), ..fake(whole_buffers) };
    let (_, told) = path.examine();
    assert_eq!((told.cause, told.sure), (Some(CauseId::WholeBuffers), Some(Sure::Certain)));
    assert!(told.header.unwrap().ends_with("sent, it is honoured."));
    assert_eq!(told.suspects, ["nginx 1.22.1 (Server: nginx/1.22.1)"]);
    assert!(told.cures[0].lines.starts_with("proxy_http_version 1.1;"));
    // The buffer's size is looked for.
    assert_eq!(path.played.last().unwrap(), "as curl, 200 events, 400 B events, one each 10 ms");
}

#[test]
fn a_header_that_is_taken_and_not_honoured_is_said() {
    let mut path = Fake { emitter: Some("HTTP/1.0"), ..fake(|_| shows(V::Held)) };
    let (_, told) = path.examine();
    assert_eq!((told.cause, told.sure), (Some(CauseId::WholeBuffers), Some(Sure::Likely)));
    assert!(told.header.unwrap().contains("does not honour it"));
    let mut passed = fake(|e| match e.play.header {
        true => shows(V::Held).with("X-Accel-Buffering", "no"),
        false => shows(V::Held),
    });
    let (_, told) = passed.examine();
    assert_eq!((told.cause, told.sure), (Some(CauseId::HopBuffers), Some(Sure::Likely)));
    assert!(told.header.unwrap().contains("no hop takes notice of it"));
}

#[test]
fn a_header_the_origin_sends_itself_and_the_reader_never_sees_was_ignored() {
    let mut path = fake(|e| match e.way {
        Way::Beside => shows(V::Live).with("X-Accel-Buffering", "no"),
        Way::Through => shows(V::Held),
    })
    .beside();
    assert_eq!(path.named(), (CauseId::HeaderIgnored, Sure::Certain));
}

/// Compression for whoever accepts gzip.
fn accepts_gzip(e: &Experiment) -> bool {
    match e.offer {
        Offer::Own => e.client != Client::Curl,
        Offer::Only(coding) => coding == Coding::Gzip,
        Offer::Nothing => false,
    }
}

#[test]
fn gzip_in_nginx_is_told_from_a_compressor_that_waits() {
    let mut nginx = fake(|e| match (accepts_gzip(e), e.play.header) {
        (true, false) => gzip(V::Held),
        (true, true) => gzip(V::Live),
        (false, _) => shows(V::Live),
    });
    let (examined, told) = nginx.examine();
    assert_eq!((told.cause, told.sure), (Some(CauseId::GzipIntoBuffers), Some(Sure::Certain)));
    assert_eq!(examined.question.client, Client::Fetch);
    assert_eq!(told.extent, ["Alone: held with gzip; live with br, zstd, deflate."]);

    let mut other = fake(|e| {
        let reply = if accepts_gzip(e) { gzip(V::Held) } else { shows(V::Live) };
        if e.play.header { reply.with("X-Accel-Buffering", "no") } else { reply }
    });
    assert_eq!(other.named(), (CauseId::CompressorWaits, Sure::Certain));
}

#[test]
fn a_compressor_of_large_events_is_found_and_its_least_size_too() {
    let mut caddy = fake(|e| {
        let large = e.play.bytes.unwrap_or(60) >= 512;
        let reply = if accepts_gzip(e) && large { gzip(V::Held) } else { shows(V::Live) };
        let reply = reply.with("Server", "Caddy");
        if e.play.header { reply.with("X-Accel-Buffering", "no") } else { reply }
    });
    let (_, told) = caddy.examine();
    assert_eq!((told.cause, told.sure), (Some(CauseId::CompressorWaits), Some(Sure::Certain)));
    assert!(
        told.cures.iter().all(|cure| ["Caddy", "the origin's program"].contains(&&*cure.software))
    );
    assert_eq!(told.extent[1], "It begins between events of 510 B and of 555 B.");
}

#[test]
fn a_clean_path_is_held_against_the_direct_one_where_there_is_one() {
    // That the control is not live is not this path's doing.
    let mut path = fake(|e| shows(if e.way == Way::Beside { V::Held } else { V::Live })).beside();
    let (_, told) = path.examine();
    assert_eq!(told.answer, Told::Clean, "{:?}", path.played);
    assert!(path.played.contains(&"as curl, beside".to_string()));
}

#[test]
fn compression_alone_proves_nothing() {
    let mut path = fake(|e| if accepts_gzip(e) { gzip(V::Live) } else { shows(V::Live) });
    let (_, told) = path.examine();
    assert_eq!(told.answer, Told::Clean);
    assert!(told.notes.iter().any(|note| note.contains("proves nothing")), "{:?}", told.notes);
}

#[test]
fn an_origin_that_compresses_or_batches_clears_the_path() {
    let mut node = fake(|e| if accepts_gzip(e) { gzip(V::Held) } else { shows(V::Live) }).beside();
    assert_eq!(node.named(), (CauseId::CompressedAtOrigin, Sure::Certain));
    let mut batches = fake(|_| shows(V::BatchedAtOrigin)).beside();
    assert_eq!(batches.named(), (CauseId::OriginBatches, Sure::Likely));
    let mut timed = fake(|_| shows(V::BatchedAtOrigin));
    assert_eq!(timed.named(), (CauseId::OriginBatches, Sure::Certain));
}

#[test]
fn one_behind_is_played_at_another_pace() {
    let mut path = fake(|_| shows(V::OneBehind));
    assert_eq!(path.named(), (CauseId::OneBehind, Sure::Certain));
    assert!(path.played.contains(&"as curl, 21 events, one each 130 ms".to_string()));
}

#[test]
fn a_rewritten_type_and_a_cut_are_named() {
    let mut typed = fake(|_| shows(V::TypeChanged));
    assert_eq!(typed.named(), (CauseId::TypeRewritten, Sure::Certain));
    let mut cut = fake(|_| shows(V::Truncated));
    assert_eq!(cut.named(), (CauseId::CutOnTheWay, Sure::Certain));
    let mut at_origin = fake(|_| shows(V::Truncated)).beside();
    assert_eq!(at_origin.named(), (CauseId::CutAtOrigin, Sure::Certain));
}

#[test]
fn at_someone_elses_service_without_a_control_nobody_is_blamed() {
    let mut path = fake(|_| shows(V::Held)).foreign();
    let (_, told) = path.examine();
    assert_eq!(told.answer, Told::CannotTell);
    assert!(told.name.contains("--against"), "{}", told.name);
    assert_eq!(path.played, ["as curl", "as a browser's fetch"]);
    let mut beside = fake(|e| shows(if e.way == Way::Beside { V::Live } else { V::Held })).beside();
    assert_eq!(beside.named(), (CauseId::HopBuffers, Sure::Likely));
}

#[test]
fn runs_the_guards_take_away_are_played_again_and_counted() {
    let calls = std::cell::Cell::new(0);
    let mut path = fake(|_| {
        calls.set(calls.get() + 1);
        shows(if calls.get() == 1 { V::Void } else { V::Live })
    });
    let (examined, told) = path.examine();
    assert_eq!(told.answer, Told::Clean);
    assert_eq!(path.played[..2], ["as curl", "as curl"]);
    assert_eq!(examined.evidence.runs[0].alone.finding.name, V::Void);

    let mut noisy = fake(|_| shows(V::Void));
    let (_, told) = noisy.examine();
    assert_eq!(told.answer, Told::CannotTell);
    assert!(told.name.starts_with("void: "), "{}", told.name);
    assert_eq!(noisy.played.len(), 6, "three tries as curl and as a browser");
}

#[test]
fn noise_that_leaves_one_run_open_is_outvoted_and_not_believed() {
    let calls = std::cell::Cell::new(0);
    let mut path = fake(|_| {
        calls.set(calls.get() + 1);
        shows(if calls.get() == 1 { V::CannotTell } else { V::Live })
    });
    assert_eq!(path.examine().1.answer, Told::Clean, "{:?}", path.played);
    assert_eq!(path.played[..3], ["as curl", "as curl", "as curl"]);

    // An experiment that noise leaves open decides nothing: not that chunks make no difference.
    let mut corked = fake(|e| shows(if e.http10 { V::CannotTell } else { V::Corked }));
    assert_eq!(corked.named(), (CauseId::ChunksCorked, Sure::Likely));
}

#[test]
fn a_cause_that_does_not_show_twice_is_not_named() {
    let calls = std::cell::Cell::new(0);
    let mut path = fake(|e| {
        calls.set(calls.get() + 1);
        shows(if e.http10 || calls.get() > 3 { V::Live } else { V::Corked })
    });
    let (_, told) = path.examine();
    assert_eq!(told.answer, Told::CannotTell, "{told:?}");
}

#[test]
fn a_stream_of_an_odd_client_is_found_when_the_rest_is_live() {
    let mut path = fake(|e| {
        shows(if e.client == Client::EventSource && e.offer == Offer::Own {
            V::Held
        } else {
            V::Live
        })
    });
    let (examined, told) = path.examine();
    assert_eq!(examined.question.client, Client::EventSource);
    assert_eq!(told.answer, Told::CannotTell, "it is not compressed: nothing known does this");
}

#[test]
fn the_header_of_the_script_itself_counts_as_the_origins() {
    let facts = |header| {
        let rule = move |_: &Experiment| match header {
            true => shows(V::Held).with("X-Accel-Buffering", "no"),
            false => shows(V::Held),
        };
        let mut path = fake(rule);
        path.examine().0.evidence.facts(&Experiment::of(Client::Curl)).header
    };
    assert_eq!(facts(true), Header::Passed);
    assert_eq!(facts(false), Header::Missing);
}

#[path = "engine_limits_tests.rs"]
mod limits;

#[path = "engine_tls_tests.rs"]
mod over_tls;
