//! The native reader: counts successful `recv()` calls and joins frames to the reads that
//! completed them.
//!
//! [`request`] writes what a command-line client or Chromium would send; [`read`] follows one
//! response and undoes its content encoding as the bytes come; [`fetch`] reads a short answer
//! whole.

mod bounded;
pub mod fetch;
pub mod read;
pub mod request;

pub use fetch::{FetchError, Page, fetch};
pub use read::{Ask, Limit, Observed, SILENCE, Sink, observe, observe_with, read};
pub use request::{BROWSER_ENCODINGS, Form, Target};
