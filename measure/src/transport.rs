//! What carried a stream: which HTTP, which TLS, and how its units lie in the reads.

use serde::{Deserialize, Serialize};

use crate::units::Stamp;

/// The protocol that was spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// HTTP/1.0, as the answer's status line says.
    #[serde(rename = "http/1.0")]
    Http10,
    /// HTTP/1.1.
    #[serde(rename = "http/1.1")]
    Http11,
    /// HTTP/2, by TLS's negotiation or by prior knowledge.
    #[serde(rename = "h2")]
    Http2,
}

impl Protocol {
    /// Its name in results; those of ALPN, and for HTTP/1.0 one like them.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Http10 => "http/1.0",
            Protocol::Http11 => "http/1.1",
            Protocol::Http2 => "h2",
        }
    }
}

/// The TLS of one connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// The version as its registry writes it: `TLSv1.3`.
    pub version: String,
    /// What ALPN settled on; absent where the server settled on nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpn: Option<String>,
    /// When the handshake was done and the request could be written.
    pub handshake_done: Stamp,
    /// Reads that the handshake took; they are no deliveries.
    pub handshake_reads: u32,
}

/// What carried one answer.
///
/// A unit counts for the read that brought its last byte, as frames do. Both lists stand in
/// parallel to the arrivals' deliveries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    /// The protocol; absent when no head of an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Absent for a plain connection, and when the handshake failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// TLS records, by their headers in the ciphertext; empty without TLS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records_per_read: Vec<u32>,
    /// HTTP/2 DATA frames, empty ones that only end the stream included; empty without HTTP/2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_frames_per_read: Vec<u32>,
}
