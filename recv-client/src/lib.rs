//! The native reader: counts successful `recv()` calls and joins frames to the reads that
//! completed them.
//!
//! [`request`] writes what a command-line client or Chromium would send, [`decode`] undoes
//! content encodings as the bytes come, [`read`] follows one response.

pub mod decode;
pub mod read;
pub mod request;

pub use read::{Ask, SILENCE, read};
pub use request::{BROWSER_ENCODINGS, Target};
