//! The native reader: counts successful `recv()` calls and joins frames to the reads that
//! completed them.
//!
//! [`request`] writes what a command-line client or Chromium would send; [`read`] follows one
//! response and undoes its content encoding as the bytes come.

pub mod read;
pub mod request;

pub use read::{Ask, SILENCE, read};
pub use request::{BROWSER_ENCODINGS, Target};
