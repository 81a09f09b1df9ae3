//! Streams whose cause is known by construction: what is played, through what, and why the
//! verdict is known without measuring it.

use measure::cause::CauseId;
use measure::cell::{Pause, Slow};
use measure::plan::BROWSER_ENCODINGS;
use measure::prompts::Prompts;
use measure::script::{Framing, Header};
use measure::transport::ClientProtocol;
use measure::verdict::Verdict;
use measure::{Script, Span};
use proxies::node::Flush;
use tap::Behaviour;

/// How a stream reaches its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Through a relay of our own that treats it in a known way.
    Relay(Behaviour),
    /// Through a real proxy with one configuration.
    Proxy(&'static str),
    /// Through a real proxy whose upstream is such a relay.
    ProxyOn(&'static str, Behaviour),
    /// From the Node origin, with nothing in front of it.
    Node(Flush),
    /// From the Node origin through a real proxy.
    ProxyOnNode(&'static str, Flush),
}

impl Way {
    /// The endpoint's name in cells and tables.
    pub(crate) fn endpoint(self) -> String {
        let node = |flush: Flush| match flush {
            Flush::Never => "node-compression".to_string(),
            flush => format!("node-compression-{}", flush.name()),
        };
        match self {
            Way::Relay(behaviour) => behaviour.name(),
            Way::Proxy(name) => name.into(),
            Way::ProxyOn(name, behaviour) => format!("{name} on {}", behaviour.name()),
            Way::Node(flush) => node(flush),
            Way::ProxyOnNode(name, flush) => format!("{name} on {}", node(flush)),
        }
    }

    /// Whether the emitter plays it: then its ledger judges.
    pub(crate) fn has_ledger(self) -> bool {
        !matches!(self, Way::Node(_) | Way::ProxyOnNode(..))
    }
}

/// A reader's stop on purpose, and what it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) protocol: ClientProtocol,
    pub(crate) pause: Pause,
}

/// One stream and what it is.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    pub(crate) way: Way,
    pub(crate) stream: Stream,
    /// `Accept-Encoding` of the client; nothing for one that offers nothing.
    pub(crate) offers: Option<&'static str>,
    /// How slowly its reader reads on purpose.
    pub(crate) slow: Option<Slow>,
    /// Where its reader stops on purpose.
    pub(crate) stop: Option<Stop>,
    pub(crate) verdict: Verdict,
    /// The cause; none for a clean path.
    pub(crate) cause: Option<CauseId>,
    /// Why that is the verdict, whatever is measured.
    pub(crate) because: &'static str,
}

impl Truth {
    /// The row's name: the way, and what tells it from the way's other rows.
    pub(crate) fn name(&self) -> String {
        let mut name = self.way.endpoint();
        let stream = self.stream.name();
        if !stream.is_empty() {
            name.push_str(&format!(", {stream}"));
        }
        if let Some(offers) = self.offers {
            let offers = if offers == BROWSER_ENCODINGS { "a browser's codings" } else { offers };
            name.push_str(&format!(", offered {offers}"));
        }
        if self.slow.is_some() {
            name.push_str(", a slow reader");
        }
        if let Some(stop) = self.stop {
            let protocol = match stop.protocol {
                ClientProtocol::Http11 => "",
                other => &format!(" over {}", other.name()),
            };
            name.push_str(&format!(", a reader that stops{protocol}"));
        }
        name
    }

    fn by(self, cause: CauseId) -> Truth {
        Truth { cause: Some(cause), ..self }
    }

    fn offered(self, codings: &'static str) -> Truth {
        Truth { offers: Some(codings), ..self }
    }

    /// Read a full buffer at a time, with a pause of three events between: longer than any hold
    /// that counts, so that a path would be blamed if the reader's own pace were taken for it.
    fn read_slowly(self) -> Truth {
        let slow = Slow { read_bytes: 65_536, pause_us: Span::millis(300) };
        Truth { slow: Some(slow), ..self }
    }

    /// Stop for 1.8 s after 64 KB, with a window of what HTTP/2 begins with where it has one: the
    /// 12 MB that come due meanwhile are more than two pairs of sockets hold (4.3 MB each, seen).
    fn stopping(self, protocol: ClientProtocol) -> Truth {
        let window = (protocol != ClientProtocol::Http11).then_some(65_535);
        let (after, time) = (65_536, Span::millis(1_800));
        let pause = Pause { after_bytes: after, pause_us: time, window_bytes: window };
        Truth { stream: Stream::Wide, stop: Some(Stop { protocol, pause }), ..self }
    }

    fn playing(self, stream: Stream) -> Truth {
        Truth { stream, ..self }
    }
}

/// What is played. The usual one is E of the public bug reports: 8 events, 100 ms apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// E.
    Usual,
    /// 200 events 5 ms apart: there a stall of the machine merges events.
    Fast,
    /// 21 events 50 ms apart: enough bursts for a buffer's size to show.
    Longer,
    /// E, the close of the connection marking its end.
    Close,
    /// E with `X-Accel-Buffering: no`.
    AccelNo,
    /// 12 events of 2 KB.
    Large,
    /// 8 events of 700 bytes: over the 512 from which Caddy compresses.
    Medium,
    /// Each event in two writes.
    Halves,
    /// Four events in each write.
    Batched,
    /// 300 events of 64 KB, 10 ms apart: 6.5 MB a second.
    Wide,
    /// A chat answer of nine events, 100 ms apart, that ends well-formed without its terminal one.
    Unended,
}

impl Stream {
    /// Its name in tables; nothing for the usual one.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Stream::Usual => "",
            Stream::Fast => "fast",
            Stream::Longer => "longer",
            Stream::Close => "close-delimited",
            Stream::AccelNo => "X-Accel-Buffering: no",
            Stream::Large => "2 KB events",
            Stream::Medium => "700 B events",
            Stream::Halves => "events in halves",
            Stream::Batched => "four events a write",
            Stream::Wide => "",
            Stream::Unended => "no terminal event",
        }
    }

    /// What the emitter is asked for.
    pub(crate) fn script(self) -> Script {
        let named = |name| Script::named(name).expect("the name stands in script::NAMES");
        let paced = |frames, interval, bytes| {
            Script::paced(frames, Span::millis(interval), bytes).expect("within the bounds")
        };
        let header = |name: &str, value: &str| Header { name: name.into(), value: value.into() };
        match self {
            Stream::Usual => named("cases"),
            Stream::Fast => paced(200, 5, 60),
            Stream::Longer => paced(21, 50, 60),
            Stream::Close => Script { framing: Framing::Close, ..named("cases") },
            Stream::AccelNo => {
                Script { headers: vec![header("X-Accel-Buffering", "no")], ..named("cases") }
            }
            Stream::Large => paced(12, 100, 2_048),
            Stream::Medium => paced(8, 100, 700),
            Stream::Halves => named("halves"),
            Stream::Batched => named("batched"),
            Stream::Wide => paced(300, 10, 65_536),
            Stream::Unended => Prompts::Unended.script(),
        }
    }
}

fn truth(way: Way, verdict: Verdict, because: &'static str) -> Truth {
    let stream = Stream::Usual;
    Truth { way, stream, offers: None, slow: None, stop: None, verdict, cause: None, because }
}

/// All of them.
pub(crate) fn all() -> Vec<Truth> {
    [relays(), live(), held(), origins(), ends(), stops()].concat()
}

/// Readers that stop on purpose.
fn stops() -> Vec<Truth> {
    const HONEST: Way = Way::Relay(Behaviour::Honest);
    let stops = |way, protocol, because| {
        truth(way, Verdict::FlowControl, because).by(CauseId::SlowReader).stopping(protocol)
    };
    let (h1, h2c) = (ClientProtocol::Http11, ClientProtocol::Http2Clear);
    let full = "the reader takes nothing for 1.8 s, and the buffers between are full by then";
    vec![
        stops(HONEST, h1, full),
        stops(HONEST, h2c, "the reader gives nothing back to a window of 65,535 bytes"),
        stops(Way::Proxy("nginx-buffering-off"), h1, full),
        stops(Way::Proxy("haproxy-no-delay"), h1, full),
        // It takes all that it is given, into a file if need be: only the reader waited.
        Truth {
            verdict: Verdict::Live,
            ..stops(Way::Proxy("nginx"), h1, "proxy_buffering: what is not taken goes to a file")
        },
    ]
}

fn relays() -> Vec<Truth> {
    let relay = |behaviour, verdict, because| truth(Way::Relay(behaviour), verdict, because);
    let drain = relay(Behaviour::Drain, Verdict::Held, "it writes once, at the end")
        .by(CauseId::HopBuffers);
    let cork =
        relay(Behaviour::Cork, Verdict::Corked, "it sends with MSG_MORE").by(CauseId::ChunksCorked);
    let collect = |bytes| {
        relay(Behaviour::Collect(bytes), Verdict::BufferBursts, "it waits for so many bytes")
            .by(CauseId::HopBuffers)
    };
    let honest = relay(Behaviour::Honest, Verdict::Live, "it passes each read on at once");
    vec![
        honest.clone(),
        honest.playing(Stream::Fast),
        drain.clone(),
        drain.playing(Stream::Fast),
        cork.clone().playing(Stream::Longer),
        cork.playing(Stream::Fast),
        // Two and three chunks of 66 bytes.
        collect(130),
        collect(190).playing(Stream::Longer),
        collect(2_000).playing(Stream::Fast),
        relay(Behaviour::OneBehind, Verdict::OneBehind, "it keeps each read for the next one")
            .by(CauseId::OneBehind),
        relay(Behaviour::WaitForEvent, Verdict::Live, "it keeps back no whole event")
            .playing(Stream::Halves),
    ]
}

/// Real proxies that pass every event on.
fn live() -> Vec<Truth> {
    let live = |name, because| truth(Way::Proxy(name), Verdict::Live, because);
    let mut all = vec![
        live("nginx", "passes a chunked answer on as it comes"),
        live("nginx-buffering-off", "proxy_buffering off"),
        live("nginx-http10-buffering-off", "proxy_buffering off"),
        live("nginx-1.22", "the origin's X-Accel-Buffering: no switches its buffering off")
            .playing(Stream::AccelNo),
        live("nginx-http10", "the origin's X-Accel-Buffering: no switches its buffering off")
            .playing(Stream::AccelNo),
        live("nginx-gzip", "compresses nothing for a client that does not accept it"),
        live("nginx-gzip-buffering-off", "flushes gzip when buffering is off")
            .offered(BROWSER_ENCODINGS),
        live("caddy", "flushes text/event-stream at once"),
        live("caddy-encode", "its first piece is under minimum_length, so nothing is compressed")
            .offered("gzip"),
        live("caddy-2.6-encode", "the same in 2.6").offered("gzip"),
        live("caddy-encode", "2.11 flushes gzip with each event")
            .playing(Stream::Medium)
            .offered("gzip"),
        live("caddy-encode-all", "the same, from the first small piece on").offered("gzip"),
        live("traefik", "flushes text/event-stream at once"),
        live("traefik", "it has no compression unless it is told").offered(BROWSER_ENCODINGS),
        live("traefik-compress", "flushes each piece").offered("gzip"),
        live("traefik-compress", "flushes each piece").offered("br"),
        live("traefik-compress", "flushes each piece").offered("zstd"),
        live("traefik-compress-excluded", "text/event-stream is excluded")
            .offered(BROWSER_ENCODINGS),
        live("haproxy-no-delay", "option http-no-delay: no MSG_MORE"),
        live("haproxy", "no chunk follows for which MSG_MORE would wait").playing(Stream::Close),
        live("envoy", "has no filter that buffers an answer"),
        live("apache", "flushes when its origin has nothing more to read"),
        live("apache-deflate", "the flush goes through mod_deflate").offered("gzip"),
        live("apache-buffer", "the flush goes through mod_buffer"),
        live("envoy-gzip", "the compressor flushes each piece").offered("gzip"),
        live("varnish", "do_stream is on by default"),
    ];
    for name in ["nginx", "caddy", "haproxy-no-delay", "envoy", "traefik"] {
        all.push(live(name, "as at the usual pace").playing(Stream::Fast));
    }
    // The path is live, and the reader is not: nobody on the way is to be blamed for it.
    for way in [Way::Relay(Behaviour::Honest), Way::Proxy("nginx"), Way::Proxy("haproxy-no-delay")]
    {
        let because = "the path passes each event on; the reader sleeps on purpose";
        all.push(truth(way, Verdict::Live, because).read_slowly().by(CauseId::SlowReader));
    }
    all
}

/// Real proxies that hold, each in its own way.
fn held() -> Vec<Truth> {
    let proxy = |name, verdict, because| truth(Way::Proxy(name), verdict, because);
    let corked = |name| {
        proxy(name, Verdict::Corked, "sends every chunk but the last with MSG_MORE")
            .by(CauseId::ChunksCorked)
    };
    let close = |name| {
        proxy(name, Verdict::Held, "a close-delimited answer waits for a full buffer or its end")
            .by(CauseId::WholeBuffers)
    };
    let buffers = |name| {
        proxy(name, Verdict::BufferBursts, "a buffer of 4 KB fills").by(CauseId::WholeBuffers)
    };
    let waits = |name, because| {
        proxy(name, Verdict::Held, because).by(CauseId::CompressorWaits).offered("gzip")
    };
    let whole = |name, because| proxy(name, Verdict::Held, because).by(CauseId::HopBuffers);
    vec![
        close("nginx-http10"),
        close("nginx-1.22"),
        close("nginx").playing(Stream::Close),
        buffers("nginx-http10").playing(Stream::Large),
        buffers("nginx-1.22").playing(Stream::Large),
        buffers("nginx-http10").playing(Stream::Fast),
        proxy("nginx-gzip", Verdict::Held, "gzip with buffering on keeps everything")
            .by(CauseId::GzipIntoBuffers)
            .offered(BROWSER_ENCODINGS),
        proxy(
            "nginx-header-ignored",
            Verdict::Held,
            "proxy_ignore_headers: the origin's X-Accel-Buffering: no changes nothing",
        )
        .by(CauseId::HeaderIgnored)
        .playing(Stream::AccelNo),
        corked("haproxy"),
        corked("haproxy").playing(Stream::Longer),
        corked("haproxy").playing(Stream::Fast),
        corked("haproxy-2.6").playing(Stream::Longer),
        waits("caddy-2.6-encode", "its first piece is large, and 2.6 does not flush gzip")
            .playing(Stream::Medium),
        waits("caddy-2.6-encode-all", "minimum_length 1, and 2.6 does not flush gzip"),
        whole("envoy-lua-body", "body() waits for the whole answer"),
        whole("traefik-buffering", "reads the whole answer first"),
        whole("apache-ext-filter", "a filter program is handed no flush"),
        whole("varnish-no-stream", "do_stream is off"),
    ]
}

/// Origins that hold or batch by themselves: nobody on the way is to be blamed.
fn origins() -> Vec<Truth> {
    let batched = |way| {
        truth(way, Verdict::BatchedAtOrigin, "the origin writes four at a time")
            .by(CauseId::OriginBatches)
            .playing(Stream::Batched)
    };
    let node = |flush, verdict, because| truth(Way::Node(flush), verdict, because).offered("gzip");
    vec![
        batched(Way::Relay(Behaviour::Honest)),
        batched(Way::Proxy("nginx")),
        batched(Way::Proxy("caddy")),
        batched(Way::Proxy("haproxy-no-delay")),
        node(Flush::Never, Verdict::BatchedAtOrigin, "its own gzip keeps everything")
            .by(CauseId::CompressedAtOrigin),
        node(Flush::EachEvent, Verdict::Live, "flushes its own gzip after each event"),
        node(Flush::NoTransform, Verdict::Live, "no-transform: nothing is compressed"),
        truth(
            Way::ProxyOnNode("nginx", Flush::Never),
            Verdict::BatchedAtOrigin,
            "what nginx is given comes at once",
        )
        .by(CauseId::CompressedAtOrigin)
        .offered("gzip"),
    ]
}

/// Streams that end early or change their type.
fn ends() -> Vec<Truth> {
    const CUT: Behaviour = Behaviour::Cut(5);
    let cut = |way, because| truth(way, Verdict::Truncated, because).by(CauseId::CutOnTheWay);
    let unended = |way| {
        truth(way, Verdict::Truncated, "the origin's own record has no terminal event either")
            .by(CauseId::CutAtOrigin)
            .playing(Stream::Unended)
    };
    vec![
        unended(Way::Relay(Behaviour::Honest)),
        unended(Way::Proxy("nginx")),
        unended(Way::Proxy("haproxy-no-delay")),
        cut(Way::Relay(CUT), "the connection closes after five reads"),
        cut(Way::ProxyOn("nginx-http10", CUT), "the same; nginx gives it a well-formed end"),
        truth(
            Way::Proxy("haproxy-type-rewritten"),
            Verdict::TypeChanged,
            "a rule sets text/plain; http-no-delay passes the bytes on at once",
        )
        .by(CauseId::TypeRewritten),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_name_of_its_own_and_can_be_played() {
        let mut names: Vec<String> = all().iter().map(Truth::name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        for truth in all() {
            assert_eq!(truth.stream.script().check(), Ok(()), "{}", truth.name());
            // A slow reader is a cause, but none that a verdict on the path may name; one that
            // stops has a verdict that blames nobody.
            let path = truth.cause.filter(|cause| *cause != CauseId::SlowReader);
            let nobody = matches!(truth.verdict, Verdict::Live | Verdict::FlowControl);
            assert_eq!(path.is_none(), nobody, "{}", truth.name());
        }
    }

    #[test]
    fn every_proxy_is_an_endpoint() {
        let registry = proxies::Registry::embedded().expect("the embedded registry is whole");
        for truth in all() {
            if let Way::Proxy(name) | Way::ProxyOn(name, _) | Way::ProxyOnNode(name, _) = truth.way
            {
                assert!(registry.endpoint(name).is_ok(), "{name}");
            }
        }
    }
}
