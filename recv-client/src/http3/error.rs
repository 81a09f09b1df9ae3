//! Why there is no HTTP/3, or no more of it: one line each, with what to do.

use std::time::Duration;

use h3::error::{Code, ConnectionError as H3Connection, LocalError, StreamError};
use quinn_proto::{ConnectionError, TransportErrorCode};
use rustls::AlertDescription;

/// Text of a peer's that is shown: a line stays a line.
const WORDS_SHOWN: usize = 80;

/// An answer that is no proper HTTP/3, or was ended.
#[derive(Debug, thiserror::Error)]
pub enum Http3Error {
    /// Asked without TLS.
    #[error("HTTP/3 is always encrypted: ask for an https:// address")]
    Plain,
    /// Nothing came over UDP.
    #[error(
        "no HTTP/3 at {at}: nothing answered over UDP within {} s; is UDP blocked on the way? \
         (--http 2 asks over TCP)",
        .patience.as_secs_f32()
    )]
    Silent {
        /// Host and port.
        at: String,
        /// How long was waited.
        patience: Duration,
    },
    /// The machine says that nobody listens.
    #[error("no HTTP/3 at {0}: nothing listens on that UDP port (--http 2 asks over TCP)")]
    Refused(String),
    /// QUIC, but not for HTTP/3.
    #[error("{0} speaks QUIC but not HTTP/3 (no h3 by ALPN): ask with --http 2")]
    NoHttp3(String),
    /// Another QUIC.
    #[error("{0} speaks no version of QUIC that is known here (version 1): ask with --http 2")]
    Version(String),
    /// The peer gave the connection up, in HTTP/3's words.
    #[error("the server closed the HTTP/3 connection ({0})")]
    Closed(String),
    /// The peer gave the connection up, in QUIC's words.
    #[error("the server gave the QUIC connection up ({0})")]
    GivenUp(String),
    /// The peer does not know the connection any more.
    #[error(
        "the server no longer knows the QUIC connection (a stateless reset: was it restarted?)"
    )]
    Forgotten,
    /// Nothing came for as long as the peer had said it would keep the connection.
    #[error("the QUIC connection was idle for longer than the server keeps one")]
    Idle,
    /// The peer gave the stream up.
    #[error("the server reset the stream ({0})")]
    Reset(String),
    /// The peer lets no request begin.
    #[error("the server lets no request begin on its HTTP/3 connection (its limit of streams)")]
    NoStream,
    /// The peer sends without end what is not the answer's body.
    #[error("the server's {0} is larger than {1} bytes")]
    Endless(&'static str, u64),
    /// The peer's frames are none.
    #[error("the answer breaks HTTP/3 ({0})")]
    Broken(String),
    /// The request cannot be put into HTTP/3.
    #[error("the request cannot be sent by HTTP/3: {0}")]
    Request(String),
    /// Anything else.
    #[error("HTTP/3 failed: {0}")]
    Other(String),
}

/// What a peer says, on one line.
fn words(text: &[u8]) -> String {
    let text: String =
        String::from_utf8_lossy(text).trim().chars().take(WORDS_SHOWN).collect::<String>();
    if text.is_empty() { text } else { format!(": {}", text.escape_debug()) }
}

/// QUIC's name of a code; TLS's alerts have codes of their own (RFC 9001, 4.8).
fn transport(code: TransportErrorCode) -> String {
    match alert(code) {
        Some(alert) => format!("the TLS alert {alert:?}"),
        None => format!("{code:?}"),
    }
}

/// The TLS alert that a code stands for.
pub(super) fn alert(code: TransportErrorCode) -> Option<AlertDescription> {
    let number = u64::from(code);
    (0x100..0x200).contains(&number).then(|| AlertDescription::from(number as u8))
}

/// Whether the peer ended a connection because it had no more to say.
pub(super) fn is_quiet(lost: &ConnectionError) -> bool {
    matches!(lost, ConnectionError::ApplicationClosed(close)
        if Code::from(close.error_code.into_inner()) == Code::H3_NO_ERROR)
}

/// What a lost connection means to someone who asked that host.
pub(super) fn lost(error: &ConnectionError, host: &str) -> Http3Error {
    match error {
        ConnectionError::VersionMismatch => Http3Error::Version(host.into()),
        ConnectionError::ApplicationClosed(close) => {
            let code = Code::from(close.error_code.into_inner());
            Http3Error::Closed(format!("{code}{}", words(&close.reason)))
        }
        ConnectionError::ConnectionClosed(close)
            if alert(close.error_code) == Some(AlertDescription::NoApplicationProtocol) =>
        {
            Http3Error::NoHttp3(host.into())
        }
        ConnectionError::ConnectionClosed(close) => {
            Http3Error::GivenUp(format!("{}{}", transport(close.error_code), words(&close.reason)))
        }
        ConnectionError::Reset => Http3Error::Forgotten,
        ConnectionError::TimedOut => Http3Error::Idle,
        ConnectionError::TransportError(error)
            if alert(error.code) == Some(AlertDescription::NoApplicationProtocol) =>
        {
            Http3Error::NoHttp3(host.into())
        }
        ConnectionError::TransportError(error) => Http3Error::Broken(format!(
            "{}{}",
            transport(error.code),
            words(error.reason.as_bytes())
        )),
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => {
            Http3Error::Other(error.to_string())
        }
    }
}

/// What the library's fault with a connection means.
pub(super) fn of_connection(error: &H3Connection) -> Http3Error {
    match error {
        H3Connection::Local { error: LocalError::Application { code, reason, .. }, .. } => {
            Http3Error::Broken(format!("{code}{}", words(reason.as_bytes())))
        }
        other => Http3Error::Other(other.to_string()),
    }
}

/// What the library's fault with a stream means.
pub(super) fn of_stream(error: &StreamError) -> Http3Error {
    match error {
        StreamError::RemoteTerminate { code, .. } => Http3Error::Reset(code.to_string()),
        StreamError::StreamError { code, reason, .. } => {
            Http3Error::Broken(format!("{code}{}", words(reason.as_bytes())))
        }
        StreamError::HeaderTooBig { max_size, .. } => Http3Error::Endless("head", *max_size),
        StreamError::ConnectionError { 0: error, .. } => of_connection(error),
        other => Http3Error::Other(other.to_string()),
    }
}
