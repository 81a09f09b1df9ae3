//! The native reader: counts successful `recv()` calls and joins frames to the reads that
//! completed them.
//!
//! [`ask`] says what is asked; [`request`] writes what a command-line client or Chromium would
//! send; [`read`] follows one response and undoes its content encoding as the bytes come;
//! [`fetch`] reads a short answer whole. Below both lies one line: TLS ([`trust`] says whom it
//! believes) or none, HTTP/1, HTTP/2 or HTTP/3, always fed with one read of the socket at a time.

pub mod ask;
mod bounded;
pub mod fetch;
mod http2;
mod http3;
mod line;
mod pause;
pub mod read;
pub mod request;
mod tls;
mod tls_error;
pub mod trust;
mod units;

pub use ask::{Ask, Http, Limit, Pause, SILENCE};
pub use fetch::{FetchError, Page, fetch};
pub use http2::Http2Error;
pub use http3::Http3Error;
pub use line::ProtocolError;
pub use read::{Observed, Sink, observe, observe_with, read};
pub use request::{BROWSER_ENCODINGS, Form, Target};
pub use tls_error::TlsError;
pub use trust::{Secure, Trust, TrustError};
