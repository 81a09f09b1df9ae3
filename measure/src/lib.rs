//! The ruler: everything between raw arrivals and a verdict.
//!
//! No I/O and no clock. The same code is compiled for the native command and for the page
//! (wasm32), so a browser's figures and a socket's figures are made by one piece of code.
//!
//! The flow: a [`script::Script`] is played by the emitter, which fills a [`ledger::Ledger`];
//! a reader yields [`arrivals::Arrivals`]; [`measurement::Measurement::join`] joins the two;
//! [`guards`] accept or exclude the run; [`summary`] pools runs into a cell; [`verdict`] names
//! what the evidence shows; [`results`] is the document that all of it lands in.

pub mod arrivals;
pub mod cause;
pub mod cell;
#[cfg(feature = "chat")]
pub mod chat;
pub mod clock;
pub mod confirm;
pub mod fields;
pub mod frames;
pub mod guards;
pub mod ledger;
pub mod measurement;
pub mod page;
pub mod plan;
pub mod prompts;
pub mod published;
pub mod results;
pub mod script;
pub mod sse;
mod stations;
pub mod stats;
pub mod story;
pub mod summary;
pub mod transport;
pub mod trigger;
pub mod units;
pub mod verdict;

#[cfg(test)]
mod fixtures;

pub use arrivals::{Arrivals, Delivery, End, FrameMark, Reader};
pub use cell::{Cell, Link, Request};
pub use ledger::Ledger;
pub use measurement::Measurement;
pub use script::Script;
pub use transport::{Protocol, Tls, Transport};
pub use units::{RunId, Span, Stamp};
pub use verdict::Verdict;
