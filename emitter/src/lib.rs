//! The emitter: an axum server that plays scripts and keeps a ledger of what left its sockets
//! and when.
//!
//! Parts: [`pacer`] wakes streams at absolute deadlines; [`play`] is the response body that
//! yields a script's writes; [`listener`] wraps every connection so that the writes themselves
//! are stamped, [`tls`] joins them to what was handed over above TLS, `h2` speaks HTTP/2 and
//! finds each response's bytes on its connection, and `h3` does both for HTTP/3 in the datagrams
//! of a UDP socket; [`follow`] turns stamped writes into ledger lines; [`ledgers`] keeps a bounded
//! number of ledgers; [`routes`] is the HTTP side, `chat` its routes that real chat services have,
//! and [`page`] its files; `worker` is a thread that serves streams and nothing else; [`server`]
//! starts and stops the whole; [`system`] is what is asked of the operating system.

pub mod assets;
mod chat;
pub mod follow;
mod h2;
mod h3;
pub mod ledgers;
pub mod listener;
pub mod pacer;
pub mod page;
pub mod play;
pub mod routes;
pub mod server;
pub mod system;
pub mod tls;
mod worker;

pub use assets::Assets;
pub use ledgers::{Ledgers, Lookup};
pub use server::{Config, Emitter, StartError, Tls};
pub use system::raise_descriptor_limit;

use measure::Stamp;

/// Now, on the clock that all native parts share.
pub fn now() -> Stamp {
    Stamp(wire::Moment::now().micros())
}
