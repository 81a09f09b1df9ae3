//! Serving HTTP/3, over QUIC.
//!
//! What leaves a UDP socket is encrypted, and several frames, streams or nothing at all may be in a
//! datagram. So the packets are looked into where they still can be read, before they are sealed
//! ([`seal`]), and a datagram is known again at the socket by the seal that it carries
//! ([`socket`]): a ledger's line is joined to the very datagram that its frame's last byte went
//! with. Parts: [`packet`] reads QUIC's frames; [`framing`] reads HTTP/3's own in a stream;
//! [`streams`] follows a connection's responses; [`guard`] bounds what a client can make us keep;
//! [`serve`] answers requests; [`thread`] is where all of it runs.

mod framing;
mod guard;
mod packet;
mod seal;
mod serve;
mod socket;
mod streams;
mod thread;

pub(crate) use streams::Streams;
pub(crate) use thread::Quic;

/// HTTP/3, as ALPN and a ledger call it.
pub(crate) const H3: &str = "h3";

/// A whole number as QUIC and HTTP/3 write it, and the bytes behind it (RFC 9000, 16).
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let (number, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = number[1..]
        .iter()
        .fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte));
    Some((value, rest))
}
