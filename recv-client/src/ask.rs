//! What is asked, how, and how much of the answer is read.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::cell::HeaderSet;
use wire::Options;

use crate::request::{Form, Target};
use crate::trust::Secure;

/// How long a stream may be silent: above every pace and every hold that the presets play
/// (the longest held answer comes after some 10 s), and an end for one that never speaks.
pub const SILENCE: Duration = Duration::from_secs(30);

/// One request.
#[derive(Clone, Debug)]
pub struct Ask {
    /// Where to connect.
    pub address: SocketAddr,
    /// TLS, and whom to expect at the other end; absent for a plain connection.
    pub secure: Option<Secure>,
    /// Which HTTP to speak.
    pub http: Http,
    /// What to ask for.
    pub target: Target,
    /// With which headers.
    pub headers: HeaderSet,
    /// `Accept-Encoding` instead of the header set's own; an empty one for none.
    pub accept_encoding: Option<String>,
    /// Method, version, more fields, body.
    pub form: Form,
    /// Whether the run is named in the request, so that frames of another one are strangers; else
    /// whatever comes is the stream.
    pub named: bool,
    /// How much of the stream is read; absent for all of it.
    pub limit: Option<Limit>,
    /// Set when the rest is no longer wanted; a limited reader then ends as at its limit.
    pub leave: Option<Arc<AtomicBool>>,
    /// Switches of the connection.
    pub options: Options,
    /// Read this many bytes at a time with this pause after each read; absent for a reader that
    /// reads as fast as it can. Over HTTP/3 it is whole datagrams, one at least; those that find no
    /// room in the socket meanwhile are lost, and sent again.
    pub slow: Option<(usize, Duration)>,
    /// Stop once on purpose; absent for a reader that does not.
    pub pause: Option<Pause>,
}

/// A stop on purpose: HTTP/1 reads nothing meanwhile, so that the TCP window closes; HTTP/2 goes
/// on reading its socket and gives nothing back to the stream's and the connection's windows; so does
/// HTTP/3, where what had come is read from the stream when the stop is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// After so many bytes of the body, decoded.
    pub after_bytes: u64,
    /// For so long.
    pub time: Duration,
    /// HTTP/2 and HTTP/3: the stream's window to declare; absent for Chromium's.
    pub window: Option<u32>,
}

/// Which HTTP to speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Http {
    /// As a browser: over TLS both are offered and the server chooses; HTTP/1 without TLS.
    #[default]
    Negotiated,
    /// HTTP/1 alone.
    One,
    /// HTTP/2 alone: over TLS by ALPN, without TLS by prior knowledge.
    Two,
    /// HTTP/3, over QUIC. A segment size says nothing there.
    Three,
}

impl Http {
    /// What is offered by ALPN, in order of preference; browsers' order.
    pub(crate) fn offered(self) -> &'static [&'static str] {
        match self {
            Http::Negotiated => &["h2", "http/1.1"],
            Http::One => &["http/1.1"],
            Http::Two => &["h2"],
            Http::Three => &["h3"],
        }
    }
}

/// How much of a stream is read: streams of other people's may never end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// From the call on.
    pub time: Duration,
    /// Bytes from the socket.
    pub bytes: u64,
}

impl Ask {
    /// A plain request for a path at an address.
    pub fn plain(address: SocketAddr, path: impl Into<String>) -> Ask {
        Ask {
            address,
            secure: None,
            http: Http::Negotiated,
            target: Target {
                host: address.to_string(),
                path: path.into(),
                origin: format!("http://{address}"),
            },
            headers: HeaderSet::Plain,
            accept_encoding: None,
            form: Form::default(),
            named: true,
            limit: None,
            leave: None,
            options: Options { read_timeout: Some(SILENCE), ..Options::default() },
            slow: None,
            pause: None,
        }
    }
}
