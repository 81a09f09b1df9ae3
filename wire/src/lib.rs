//! Instrumented sockets: what each read and each write carried, and when.
//!
//! Times are taken at the call that got or gave the bytes, before anything looks at them. The
//! kernel's receive stamp stands beside the time at which the read returned, so that a reader's
//! own wake-up is never billed to what stands before it.

pub mod connect;
pub mod datagram;
pub mod decode;
pub mod http1;
pub mod moment;
pub mod priority;
pub mod socket;
#[cfg(target_os = "linux")]
mod tcp_info;

pub use connect::{Options, connect};
pub use datagram::DatagramSocket;
pub use moment::Moment;
pub use socket::{Read, Socket, TcpSocket, Write};

/// The receive buffer offered at each `recv()`, bytes. It is declared in the results because it
/// shapes what a slow client's reads hold; 64 KiB is a full loopback segment.
pub const RECV_BUFFER: usize = 65_536;
