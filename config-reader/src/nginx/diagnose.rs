//! What is wrong in the location that answers, and why it holds a stream.
//!
//! What is called a cause here was measured: HTTP/1.0 towards the origin and gzip of event
//! streams, each with buffering on. The rest is said as a note.

use super::force::{InForce, Said};
use super::serve::Served;
use super::site::{Kind, Site};
use super::tree::Directive;
use super::version::Version;

/// Something in force that holds a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// In a few words.
    pub name: &'static str,
    /// What it does to a stream, with its directives.
    pub why: String,
    /// The directives whose values make it.
    pub rests_on: &'static [&'static str],
}

/// Who makes the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handler<'t> {
    /// `proxy_pass`.
    Proxy(&'t Directive),
    /// Another kind of upstream.
    Other(&'t Directive),
    /// nginx itself: `return`, a redirect, a file.
    Itself(String),
}

/// What is in force, and what of it is wrong.
#[derive(Clone, Debug)]
pub struct Diagnosis<'t> {
    /// Who makes the answer.
    pub handler: Handler<'t>,
    /// What holds a stream.
    pub causes: Vec<Cause>,
    /// What else is worth a look.
    pub notes: Vec<String>,
    /// What is in force: name, value, and who says so.
    pub table: Vec<(&'static str, String, String)>,
}

impl<'t> Site<'t> {
    /// Looks at the location that a request ended up in.
    pub fn diagnose(&self, served: &Served<'t>, version: Version) -> Diagnosis<'t> {
        let force = InForce::new(self.levels(served.location(), served.server), version);
        let handler = self.handler(served, &force);
        let mut diagnosis = Diagnosis { handler, causes: vec![], notes: vec![], table: vec![] };
        if let Handler::Other(by) = &diagnosis.handler {
            let note =
                format!("the answer comes by {}, whose buffering is not looked at here", by.name);
            diagnosis.notes.push(note);
        }
        if matches!(diagnosis.handler, Handler::Proxy(_)) {
            self.look_at_proxy(&force, &mut diagnosis);
        }
        diagnosis
    }

    fn handler(&self, served: &Served<'t>, force: &InForce<'t>) -> Handler<'t> {
        if let Some(detour) = served.ends_before() {
            return Handler::Itself(crate::secret::text(&detour.what));
        }
        if served.hops.last().is_some_and(|choice| choice.to_slash) {
            return Handler::Itself("redirects to the same path with a slash (301)".into());
        }
        if served.location().is_none() {
            return Handler::Itself(
                "no location serves the path: it is looked for among files".into(),
            );
        }
        if let Some(by) = force.all("proxy_pass").last() {
            return Handler::Proxy(by);
        }
        let others = ["fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass"];
        match others.iter().find_map(|name| force.all(name).last().copied()) {
            Some(by) => Handler::Other(by),
            None => Handler::Itself("passes nothing on: it is looked for among files".into()),
        }
    }

    fn look_at_proxy(&self, force: &InForce<'t>, into: &mut Diagnosis<'t>) {
        let source = &self.tree.source;
        let by = |said: &Said<'_>| match said.by {
            Some(by) => source.line(by.span.start),
            None => format!("default of {}: {}", force.version(), said.source),
        };
        let shown = |name: &str| {
            force.value(name).unwrap_or(Said { value: "-".into(), by: None, source: "" })
        };
        for name in ["proxy_buffering", "proxy_http_version", "gzip", "gzip_types", "proxy_cache"] {
            let said = shown(name);
            into.table.push((name, said.value.clone(), by(&said)));
        }
        if let Some(said) = force.request_header("Connection") {
            let value = if said.value.is_empty() { "(none)".into() } else { said.value.clone() };
            into.table.push(("Connection to the origin", value, by(&said)));
        }
        if let Some(said) = force.value("proxy_ignore_headers") {
            into.table.push(("proxy_ignore_headers", said.value.clone(), by(&said)));
        }
        let buffering = shown("proxy_buffering");
        let buffers = buffering.value == "on";
        let protocol = shown("proxy_http_version");
        if buffers && protocol.value == "1.0" {
            into.causes.push(Cause {
                name: "HTTP/1.0 to the origin, with buffering",
                why: format!(
                    "proxy_http_version is 1.0 ({}), so the answer has no chunks, only an end; with \
                     proxy_buffering on ({}) nginx passes it on when a whole buffer is full or the \
                     origin has ended",
                    by(&protocol),
                    by(&buffering)
                ),
                rests_on: &["proxy_buffering", "proxy_http_version"],
            });
        }
        let types = force.covers_events("gzip_types");
        if let (true, true, Some(types)) = (buffers, force.is("gzip", "on"), &types) {
            into.causes.push(Cause {
                name: "gzip of event streams, with buffering",
                why: format!(
                    "gzip is on ({}) and gzip_types has text/event-stream ({}): with proxy_buffering \
                     on ({}) the compressor keeps everything to the end. Browsers always accept \
                     gzip, most command-line clients do not",
                    by(&shown("gzip")),
                    by(types),
                    by(&buffering)
                ),
                rests_on: &["proxy_buffering", "gzip", "gzip_types"],
            });
        }
        self.notes(force, buffers, into);
    }

    fn notes(&self, force: &InForce<'t>, buffers: bool, into: &mut Diagnosis<'t>) {
        let line = |by: &Directive| self.tree.source.line(by.span.start);
        let mut note = |text: String| into.notes.push(text);
        let ignores = force.value("proxy_ignore_headers");
        let ignored = ignores.filter(|said| {
            said.value.split(' ').any(|name| name.eq_ignore_ascii_case("X-Accel-Buffering"))
        });
        match ignored.and_then(|said| said.by) {
            Some(by) if buffers => note(format!(
                "proxy_ignore_headers names X-Accel-Buffering ({}): the service cannot turn \
                 buffering off by itself",
                line(by)
            )),
            None if buffers => note(
                "a service that sends `X-Accel-Buffering: no` turns buffering off by itself: \
                 then nothing here holds its streams"
                    .into(),
            ),
            _ => {}
        }
        let cache = force.value("proxy_cache").filter(|said| said.value != "off");
        if let Some(by) = cache.and_then(|said| said.by).filter(|_| buffers) {
            note(format!(
                "proxy_cache is on ({}): a stream may be kept and played again, at once",
                line(by)
            ));
        }
        for (name, types) in [
            ("sub_filter", "sub_filter_types"),
            ("ssi", "ssi_types"),
            ("brotli", "brotli_types"),
            ("zstd", "zstd_types"),
        ] {
            let on = force.all(name).last().copied().filter(|by| by.arg(0) != Some("off"));
            if let (Some(by), Some(_)) = (on, force.covers_events(types)) {
                note(format!(
                    "{name} works on event streams ({}): that is not measured here",
                    line(by)
                ));
            }
        }
        for name in ["limit_rate", "proxy_limit_rate"] {
            let said = force.value(name).filter(|said| said.value != "0");
            if let Some(by) = said.and_then(|said| said.by) {
                note(format!("{} slows every answer ({})", crate::secret::written(by), line(by)));
            }
        }
        let silence = force.value("proxy_read_timeout");
        if let Some(said) = silence.filter(|said| said.by.is_none() || said.value.ends_with("ms")) {
            note(format!("a stream that is silent for {} is cut (proxy_read_timeout)", said.value));
        }
    }

    /// The location that somebody wrote for this path's streams, when another one answers.
    pub fn intended(&self, served: &Served<'_>) -> Option<Intended> {
        let winner = served.location();
        let uri = served.hops.first().map(|_| served.uri.as_slice())?;
        let settings = |index: usize| -> usize {
            let own = self.locations[index].directive.children();
            own.iter().filter(|own| is_stream_setting(own)).count()
        };
        if winner.is_some_and(|winner| settings(winner) > 0) {
            return None;
        }
        let mut best: Option<(usize, usize, Intended)> = None;
        for (index, location) in self.locations.iter().enumerate() {
            let count = settings(index);
            if location.server != served.server || Some(index) == winner || count == 0 {
                continue;
            }
            let Some(why) = self.missed(index, winner, uri) else { continue };
            let rank = (count, location.name.len());
            if best.as_ref().is_none_or(|(count, length, _)| rank > (*count, *length)) {
                best = Some((rank.0, rank.1, Intended { location: index, why }));
            }
        }
        best.map(|(_, _, intended)| intended)
    }

    /// Why a location does not answer; `None` when it has nothing to do with the path.
    fn missed(&self, index: usize, winner: Option<usize>, uri: &[u8]) -> Option<Missed> {
        let location = &self.locations[index];
        let name = location.name.as_bytes();
        let winner = winner.map(|winner| &self.locations[winner]);
        match &location.kind {
            Kind::Regex(pattern) => match pattern.matches(uri) {
                Ok(true) => Some(Missed::Order),
                _ => None,
            },
            Kind::Named => None,
            Kind::Prefix { .. } if uri.starts_with(name) => match winner.map(|own| &own.kind) {
                Some(Kind::Regex(_)) => Some(Missed::Regex),
                _ => Some(Missed::Longer),
            },
            Kind::Prefix { .. } | Kind::Exact => {
                let bare =
                    |path: &[u8]| path.strip_suffix(b"/").unwrap_or(path).to_ascii_lowercase();
                (bare(name) == bare(uri) && name.len() > 1).then_some(Missed::Near)
            }
        }
    }
}

/// A location that was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intended {
    /// Which.
    pub location: usize,
    /// Why it does not answer.
    pub why: Missed,
}

/// Why a location does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// A regular expression matches and is preferred to any prefix without `^~`.
    Regex,
    /// Another regular expression stands before it.
    Order,
    /// A longer prefix, or one whose exact path it is, is preferred.
    Longer,
    /// It differs from the path by a slash or by capital letters.
    Near,
}

impl Missed {
    /// In one sentence.
    pub fn why(self) -> &'static str {
        match self {
            Missed::Regex => {
                "nginx prefers a matching regular expression to a prefix, however long, unless the \
                 prefix says `^~`"
            }
            Missed::Order => {
                "regular expressions are tried in their order, and an earlier one matches"
            }
            Missed::Longer => "nginx takes the longest prefix that matches, or the exact path",
            Missed::Near => "it differs from the path by its last slash or by capital letters",
        }
    }
}

/// Whether a directive is one that people write for streams.
pub(super) fn is_stream_setting(directive: &Directive) -> bool {
    let is = |index: usize, value: &str| {
        directive.arg(index).is_some_and(|own| own.eq_ignore_ascii_case(value))
    };
    match directive.name.as_str() {
        "proxy_buffering" | "gzip" | "proxy_cache" => is(0, "off"),
        "add_header" => is(0, "X-Accel-Buffering"),
        "proxy_set_header" => is(0, "Connection") && is(1, ""),
        _ => false,
    }
}
