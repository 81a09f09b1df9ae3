//! JSON between page and emitter, by the browser's own parser.
//!
//! `serde_json` with the derived impls of these few types would be a fifth of what the page
//! costs to download, and the browser has a parser. The types are `measure`'s; the page's tests
//! hold both directions against its serde impls, so that the two cannot drift apart.

mod read;
mod write;

pub use read::{Json, arrivals, clock, lanes, ledger};
pub(crate) use read::{arrivals_of, ledger_of, reader, script};
pub(crate) use write::{Writing, arrivals_written};
pub use write::{finished, run_post};
