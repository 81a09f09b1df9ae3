//! Experiments as data: what is asked, and what is varied.
//!
//! An experiment differs from its neighbour in one thing, so that a difference in what comes has
//! one explanation.

use measure::cell::HeaderSet;
use measure::script::{Body, Framing, Header, Script};
use measure::{Protocol, Span};
use serde::{Deserialize, Serialize};

/// Size of a large event, bytes: above the least sizes that compressors in use ask for (Caddy
/// 512, Traefik and Node 1,024) and, with its framing, above one Ethernet segment.
pub(crate) const LARGE: u32 = 1_500;
/// The other pace, milliseconds: no multiple of the 50 ms, and its own multiples (130, 260) fit
/// neither the kernel's 200 ms nor one another.
pub(crate) const OTHER_PACE: u32 = 130;
/// The header that nginx obeys.
pub(crate) const UNBUFFERED: (&str, &str) = ("X-Accel-Buffering", "no");

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// To the URL in question.
    Through,
    /// To the one that `--against` names.
    Beside,
}

/// Whose headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Client {
    /// A command-line client's: no encoding is offered.
    Curl,
    /// Chromium's for `fetch()`.
    Fetch,
    /// Chromium's for an `EventSource`, with `Accept: text/event-stream`.
    EventSource,
}

/// One content encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Coding {
    Gzip,
    Br,
    Zstd,
    Deflate,
}

impl Coding {
    pub(crate) const ALL: [Coding; 4] = [Coding::Gzip, Coding::Br, Coding::Zstd, Coding::Deflate];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Br => "br",
            Coding::Zstd => "zstd",
            Coding::Deflate => "deflate",
        }
    }
}

/// Which encodings are offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Offer {
    /// What the client offers by itself.
    Own,
    /// One alone.
    Only(Coding),
    /// None.
    Nothing,
}

/// Which HTTP is spoken over TLS. Without TLS it is HTTP/1: HTTP/2 by prior knowledge is not tried
/// at other people's services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Speak {
    /// As browsers and curl: both are offered, and the server chooses.
    #[default]
    #[serde(rename = "negotiated")]
    Negotiated,
    /// HTTP/1.1 alone.
    #[serde(rename = "http/1.1")]
    One,
    /// HTTP/2 alone.
    #[serde(rename = "h2")]
    Two,
}

/// What is changed about the stream; only where Holdup's own emitter plays it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Play {
    /// Size of each event, bytes.
    pub(crate) bytes: Option<u32>,
    /// Time between events, milliseconds.
    pub(crate) pace_ms: Option<u32>,
    /// How many events.
    pub(crate) frames: Option<u32>,
    /// The end is marked by closing the connection, not by chunks.
    pub(crate) close: bool,
    /// The origin sends `X-Accel-Buffering: no`.
    pub(crate) header: bool,
    /// Each event in two writes.
    pub(crate) halves: bool,
}

impl Play {
    /// The stream as it is.
    pub(crate) fn is_as_it_is(&self) -> bool {
        *self == Play::default()
    }

    /// What is played for it, from the stream as it is.
    pub(crate) fn script(&self, base: &Script) -> Script {
        let mut script = base.clone();
        if self.halves
            && let Ok(halves) = Script::named("halves")
        {
            script.body = halves.body;
        }
        if let Body::Paced { frames, interval_us, frame_bytes } = &mut script.body {
            *frame_bytes = self.bytes.unwrap_or(*frame_bytes);
            *frames = self.frames.unwrap_or(*frames);
            if let Some(pace) = self.pace_ms {
                *interval_us = Span::millis(pace.into());
            }
        }
        if self.close {
            script.framing = Framing::Close;
        }
        if self.header {
            let (name, value) = UNBUFFERED;
            script.headers.push(Header { name: name.into(), value: value.into() });
        }
        script
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Experiment {
    /// Which way.
    pub(crate) way: Way,
    /// Whose headers.
    pub(crate) client: Client,
    /// Which encodings are offered.
    pub(crate) offer: Offer,
    /// Whether it is asked by HTTP/1.0, whose answers have no chunks.
    pub(crate) http10: bool,
    /// Which HTTP is spoken over TLS.
    #[serde(default)]
    pub(crate) http: Speak,
    /// What is changed about the stream.
    #[serde(default)]
    pub(crate) play: Play,
}

impl Experiment {
    /// A client's request as it makes it.
    pub(crate) fn of(client: Client) -> Experiment {
        Experiment {
            way: Way::Through,
            client,
            offer: Offer::Own,
            http10: false,
            http: Speak::Negotiated,
            play: Play::default(),
        }
    }

    /// The same with another stream.
    pub(crate) fn playing(self, change: impl FnOnce(&mut Play)) -> Experiment {
        let mut play = self.play;
        change(&mut play);
        Experiment { play, ..self }
    }

    /// The same beside the suspect.
    pub(crate) fn beside(self) -> Experiment {
        Experiment { way: Way::Beside, ..self }
    }

    /// The same with no encoding offered. A command-line client offers none anyhow.
    pub(crate) fn uncompressed(self) -> Experiment {
        match self.client {
            Client::Curl => Experiment { offer: Offer::Own, ..self },
            _ => Experiment { offer: Offer::Nothing, ..self },
        }
    }

    /// The same by the other version of HTTP over TLS; `spoke` is what this one came to speak.
    pub(crate) fn other_http(self, spoke: Option<Protocol>) -> Experiment {
        let http = match (self.http, spoke) {
            (Speak::Negotiated, Some(Protocol::Http2)) => Speak::One,
            (Speak::Negotiated, _) => Speak::Two,
            (Speak::One | Speak::Two, _) => Speak::Negotiated,
        };
        Experiment { http, ..self }
    }

    /// The header set that is sent.
    pub(crate) fn headers(&self) -> HeaderSet {
        match self.client {
            Client::Curl => HeaderSet::Plain,
            Client::Fetch => HeaderSet::ChromiumFetch,
            Client::EventSource => HeaderSet::ChromiumEventsource,
        }
    }

    /// The `Accept-Encoding` that is sent; `None` for the header set's own.
    pub(crate) fn accept_encoding(&self) -> Option<String> {
        match self.offer {
            Offer::Own => None,
            Offer::Only(coding) => Some(coding.name().into()),
            Offer::Nothing => Some(String::new()),
        }
    }

    /// What is asked, in words.
    pub(crate) fn name(&self) -> String {
        let mut name = match self.client {
            Client::Curl => "as curl",
            Client::Fetch => "as a browser's fetch",
            Client::EventSource => "as a browser's EventSource",
        }
        .to_string();
        match self.offer {
            Offer::Own => {}
            Offer::Only(coding) => name.push_str(&format!(", {} alone", coding.name())),
            Offer::Nothing => name.push_str(", no encoding"),
        }
        match self.http {
            // HTTP/1.0 needs HTTP/1 alone, and says so by itself.
            Speak::One if !self.http10 => name.push_str(", HTTP/1.1 alone"),
            Speak::Two => name.push_str(", HTTP/2 alone"),
            Speak::One | Speak::Negotiated => {}
        }
        if self.http10 {
            name.push_str(", by HTTP/1.0");
        }
        let Play { bytes, pace_ms, frames, close, header, halves } = self.play;
        if let Some(frames) = frames {
            name.push_str(&format!(", {frames} events"));
        }
        if let Some(bytes) = bytes {
            name.push_str(&format!(", {bytes} B events"));
        }
        if let Some(pace) = pace_ms {
            name.push_str(&format!(", one each {pace} ms"));
        }
        if close {
            name.push_str(", no chunks");
        }
        if header {
            name.push_str(&format!(", {}: {}", UNBUFFERED.0, UNBUFFERED.1));
        }
        if halves {
            name.push_str(", events in two writes");
        }
        if self.way == Way::Beside {
            name.push_str(", beside");
        }
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_is_varied() {
        let fetch = Experiment::of(Client::Fetch);
        for (experiment, name) in [
            (fetch, "as a browser's fetch"),
            (fetch.uncompressed(), "as a browser's fetch, no encoding"),
            (
                Experiment { offer: Offer::Only(Coding::Zstd), ..fetch }.beside(),
                "as a browser's fetch, zstd alone, beside",
            ),
            (
                Experiment { http10: true, ..Experiment::of(Client::Curl) }
                    .playing(|play| play.header = true),
                "as curl, by HTTP/1.0, X-Accel-Buffering: no",
            ),
        ] {
            assert_eq!(experiment.name(), name);
        }
        let curl = Experiment::of(Client::Curl);
        let one = curl.other_http(Some(Protocol::Http2));
        assert_eq!(one.name(), "as curl, HTTP/1.1 alone");
        assert_eq!(one.other_http(Some(Protocol::Http11)), curl);
        let two = curl.other_http(Some(Protocol::Http11));
        assert_eq!(two.name(), "as curl, HTTP/2 alone");
        assert_eq!(curl.uncompressed(), curl, "it offers none anyhow");
        assert_eq!(curl.accept_encoding(), None);
        assert_eq!(fetch.uncompressed().accept_encoding().as_deref(), Some(""));
    }

    #[test]
    fn a_change_is_played_and_nothing_else_is() {
        let base = Script::headline();
        assert_eq!(Play::default().script(&base), base);
        let play = Play { bytes: Some(LARGE), header: true, ..Play::default() };
        let script = play.script(&base);
        assert_eq!(script.slug(), "41x1500B@50ms+x-accel-buffering=no");
        let close = Play { close: true, ..Play::default() };
        assert_eq!(close.script(&base).slug(), "41x60B@50ms+close");
        let halves = Play { halves: true, ..Play::default() };
        assert_eq!(halves.script(&base).write_count(), 82);
    }

    #[test]
    fn an_experiment_survives_its_file() {
        let experiment = Experiment::of(Client::Fetch).playing(|play| play.bytes = Some(LARGE));
        let text = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), experiment);
    }
}
