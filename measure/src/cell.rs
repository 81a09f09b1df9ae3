//! A cell's identity: what is measured, by whom, asked how, over which link.

use serde::{Deserialize, Serialize};

use crate::arrivals::Reader;
use crate::prompts::Prompts;
use crate::script::Script;
use crate::transport::ClientProtocol;
use crate::units::Span;

/// The endpoint without a proxy. It is in every plan: the control.
pub const DIRECT: &str = "direct";

/// How the names of endpoints end that are others with TLS in front.
const TLS: &str = "-tls";

/// The endpoint that speaks a protocol, of those that differ in that alone: `haproxy`, and
/// `haproxy-tls`.
pub(crate) fn speaking(endpoint: &str, protocol: ClientProtocol) -> String {
    let plain = endpoint.strip_suffix(TLS).unwrap_or(endpoint);
    if protocol.is_secure() && plain != DIRECT { [plain, TLS].concat() } else { plain.into() }
}

/// Which headers a native reader sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeaderSet {
    /// What command-line clients send: host, user agent, accept.
    #[default]
    Plain,
    /// Exactly what Chromium sends for an EventSource.
    ChromiumEventsource,
    /// Exactly what Chromium sends for a `fetch()`.
    ChromiumFetch,
    /// A browser sends its own.
    Browser,
}

impl HeaderSet {
    /// The set's name in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            HeaderSet::Plain => "plain",
            HeaderSet::ChromiumEventsource => "chromium-eventsource",
            HeaderSet::ChromiumFetch => "chromium-fetch",
            HeaderSet::Browser => "browser",
        }
    }

    /// The set of that name, of those a native reader can send.
    pub fn from_name(name: &str) -> Option<HeaderSet> {
        [HeaderSet::Plain, HeaderSet::ChromiumEventsource, HeaderSet::ChromiumFetch]
            .into_iter()
            .find(|set| set.name() == name)
    }
}

/// A client that reads slowly on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slow {
    /// Bytes offered at each read.
    pub read_bytes: u32,
    /// Pause between reads, microseconds.
    pub pause_us: Span,
}

/// A client that stops once on purpose, and goes on.
///
/// On HTTP/1 it reads nothing meanwhile. On HTTP/2 it goes on reading its socket and gives nothing
/// back to the windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// After so many bytes of the body.
    pub after_bytes: u32,
    /// For so long, microseconds.
    pub pause_us: Span,
    /// HTTP/2: the stream's window that it declares; absent for its usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u32>,
}

/// How the request is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Protocol between reader and endpoint, such as `http/1.1`.
    pub client_protocol: String,
    /// Protocol between proxy and emitter as the configuration has it; absent for `direct`.
    #[serde(default)]
    pub upstream_protocol: Option<String>,
    /// Which headers go with it.
    pub headers: HeaderSet,
    /// The `Accept-Encoding` sent; absent when none is.
    #[serde(default)]
    pub accept_encoding: Option<String>,
    /// How slowly the answer is read; absent for a reader that reads as fast as it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow: Option<Slow>,
    /// Where its reader stops for a while; absent for one that does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// The prompts that are put to the emitter's chat route, one a round; absent for a script's
    /// stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Prompts>,
}

impl Request {
    /// The protocol between reader and endpoint; absent for one that this version does not know.
    pub fn protocol(&self) -> Option<ClientProtocol> {
        ClientProtocol::from_name(&self.client_protocol)
    }

    /// Whether it goes over TLS on a TCP connection.
    pub fn is_tls(&self) -> bool {
        self.protocol().is_some_and(ClientProtocol::is_tls)
    }

    /// Whether the server has to show a certificate.
    pub fn is_secure(&self) -> bool {
        self.protocol().is_some_and(ClientProtocol::is_secure)
    }

    /// Whether it goes over QUIC, in datagrams.
    pub fn is_quic(&self) -> bool {
        self.protocol() == Some(ClientProtocol::Http3)
    }

    /// HTTP/1.1 with plain headers and no `Accept-Encoding`.
    pub fn plain() -> Request {
        Request {
            client_protocol: "http/1.1".into(),
            upstream_protocol: None,
            headers: HeaderSet::Plain,
            accept_encoding: None,
            slow: None,
            pause: None,
            prompts: None,
        }
    }
}

/// The link between reader and endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Payload of a segment in bytes; absent for the loopback's own (about 65 KB).
    pub mss: Option<u32>,
    /// Whether upstream connections are pooled, where the configuration says so explicitly.
    #[serde(default)]
    pub pooled: Option<bool>,
    /// Whether Nagle's algorithm is on at the emitter.
    #[serde(default)]
    pub nagle: bool,
}

/// Payload of an Ethernet segment with TCP timestamps: 1500 − 20 (IP) − 20 (TCP) − 12.
pub const ETHERNET_MSS: u32 = 1448;

/// What one row of a table measures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    /// One way to the emitter: `direct`, or a proxy with one named configuration.
    pub endpoint: String,
    /// The preset that asked for it.
    pub preset: String,
    /// Who reads.
    pub reader: Reader,
    /// The browser engine, for the readers that live in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// How it is asked.
    pub request: Request,
    /// Over which link.
    pub link: Link,
    /// How many lanes run at the same time; figures of different concurrency are never pooled.
    pub concurrency: u32,
    /// Which of several streams at once through the one endpoint, from 1; absent for a cell that
    /// has its endpoint to itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<u32>,
    /// How long the page is made to work after each delivery, on purpose; absent for a page that
    /// is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_work_us: Option<Span>,
    /// What is played.
    pub script: Script,
}

impl Cell {
    /// Whether this is the control.
    pub fn is_direct(&self) -> bool {
        self.endpoint == DIRECT
    }

    /// What the cell shares with its `direct` control: everything but the endpoint and what
    /// belongs to the endpoint alone.
    pub fn control_key(&self) -> String {
        let mss = self.link.mss.map_or("loopback".into(), |mss| format!("mss{mss}"));
        let mut key = format!("{}/{}", self.script.slug(), self.reader.name());
        if let Some(engine) = &self.engine {
            key.push_str(&format!(":{engine}"));
        }
        key.push_str(&format!("/{}", self.request.client_protocol));
        if self.request.headers != HeaderSet::Plain && self.request.headers != HeaderSet::Browser {
            key.push_str(&format!("+{}", self.request.headers.name()));
        }
        if let Some(encoding) = &self.request.accept_encoding {
            key.push_str(&format!("+accept={}", encoding.replace([' ', ','], "")));
        }
        if let Some(slow) = &self.request.slow {
            key.push_str(&format!("+{}B-each-{}ms", slow.read_bytes, slow.pause_us.millis_text()));
        }
        if let Some(pause) = &self.request.pause {
            let window = pause.window_bytes.unwrap_or_default();
            let after = pause.after_bytes;
            key.push_str(&format!(
                "+stop{}ms-at-{after}B-of-{window}B",
                pause.pause_us.millis_text()
            ));
        }
        if let Some(prompts) = self.request.prompts {
            key.push_str(&format!("+prompts={}", prompts.name()));
        }
        key.push_str(&format!("/{mss}"));
        if self.concurrency > 1 {
            key.push_str(&format!("/x{}", self.concurrency));
        }
        if let Some(work) = self.page_work_us {
            key.push_str(&format!("/busy{}ms", work.millis_text()));
        }
        key
    }

    /// What the cells of one lane share: everything but who reads, how it asks, and what else
    /// runs at the same time.
    pub fn lane_key(&self) -> String {
        let mss = self.link.mss.map_or("loopback".into(), |mss| format!("mss{mss}"));
        let mut key = format!("{}/{}/{mss}", self.endpoint, self.script.slug());
        let protocol = &self.request.client_protocol;
        if protocol != ClientProtocol::Http11.name() {
            key.push_str(&format!("/{protocol}"));
        }
        self.stream.map_or_else(|| key.clone(), |stream| format!("{key}/stream{stream}"))
    }

    /// Whether this native cell confirms the path of a browser's: the same way, the same script.
    pub fn confirms(&self, other: &Cell) -> bool {
        self.reader == Reader::Recv
            && other.reader.in_browser()
            && self.endpoint == other.endpoint
            && self.link.mss == other.link.mss
            && self.request.client_protocol == other.request.client_protocol
            && self.script == other.script
    }

    /// The identity that runs name: readable, and different for every cell of a plan.
    pub fn id(&self) -> String {
        let id = format!("{}/{}", self.endpoint, self.control_key());
        self.stream.map_or_else(|| id.clone(), |stream| format!("{id}/stream{stream}"))
    }
}
