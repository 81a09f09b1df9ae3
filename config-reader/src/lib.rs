//! Reads configurations of reverse proxies as they read them themselves: which rule answers a
//! path, what is in force there, what holds a stream, and the same text without it.
//!
//! No I/O: text in, answers out. Where a configuration can do what is not followed here, the
//! answer says so; nothing is guessed. The tests let the real programs decide who is right.

pub mod envoy;
pub mod haproxy;
mod moved;
pub mod nginx;
mod product;
pub mod secret;
mod station;
pub mod structured;
pub mod traefik;

pub use moved::Moved;
pub use product::Product;
pub use station::{Look, Station};
