//! HAProxy: sections, their defaults, the way of a request, and what holds a stream there.
//!
//! The cause that is known was measured: `mode http` without `option http-no-delay` on either
//! side sends every chunk but the last with `MSG_MORE`.

pub mod diagnose;
pub mod parse;
pub mod route;
pub mod sandbox;
pub mod secret;

pub use parse::{ReadError, Tree};
