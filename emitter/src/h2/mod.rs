//! Serving HTTP/2.
//!
//! The `h2` library is used without a server above it, because only it says which stream a
//! request came on: a ledger that were joined to its stream by order could be another stream's.

mod serve;
mod streams;

pub(crate) use serve::{by_prior_knowledge, complete, of_no_connection, serve};
pub(crate) use streams::Streams;
