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
    /// HTTP/3, over QUIC.
    #[serde(rename = "h3")]
    Http3,
}

impl Protocol {
    /// Its name in results; those of ALPN, and for HTTP/1.0 one like them.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Http10 => "http/1.0",
            Protocol::Http11 => "http/1.1",
            Protocol::Http2 => "h2",
            Protocol::Http3 => "h3",
        }
    }
}

/// Protocol between a reader and an endpoint, as a cell plans it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientProtocol {
    /// HTTP/1.1 without TLS.
    Http11,
    /// HTTP/1.1 over TLS, asked for by offering nothing else.
    Http11Tls,
    /// HTTP/2 over TLS, as browsers negotiate it.
    Http2,
    /// HTTP/2 without TLS, by prior knowledge.
    Http2Clear,
    /// HTTP/3, over QUIC, whose handshake is TLS's.
    Http3,
}

impl ClientProtocol {
    /// All of them.
    pub const ALL: [ClientProtocol; 5] = [
        ClientProtocol::Http11,
        ClientProtocol::Http11Tls,
        ClientProtocol::Http2,
        ClientProtocol::Http2Clear,
        ClientProtocol::Http3,
    ];

    /// Its name in results and tables.
    pub fn name(self) -> &'static str {
        match self {
            ClientProtocol::Http11 => "http/1.1",
            ClientProtocol::Http11Tls => "http/1.1+tls",
            ClientProtocol::Http2 => "h2",
            ClientProtocol::Http2Clear => "h2c",
            ClientProtocol::Http3 => "h3",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<ClientProtocol> {
        ClientProtocol::ALL.into_iter().find(|own| own.name() == name)
    }

    /// Whether it goes over TLS on a TCP connection.
    pub fn is_tls(self) -> bool {
        matches!(self, ClientProtocol::Http11Tls | ClientProtocol::Http2)
    }

    /// Whether the server has to show a certificate.
    pub fn is_secure(self) -> bool {
        self.is_tls() || self == ClientProtocol::Http3
    }

    /// Whether a browser can be made to speak it.
    pub fn in_browser(self) -> bool {
        matches!(self, ClientProtocol::Http11 | ClientProtocol::Http2 | ClientProtocol::Http3)
    }

    /// Whether what a reader says it spoke (`http/1.0`, `http/1.1`, `h2`, `h3`: the names of ALPN
    /// and of Resource Timing) is this. A server that answers HTTP/1.0 was still asked in HTTP/1.1.
    pub fn is_spoken(self, spoken: &str) -> bool {
        match self {
            ClientProtocol::Http11 | ClientProtocol::Http11Tls => spoken.starts_with("http/1"),
            ClientProtocol::Http2 | ClientProtocol::Http2Clear => spoken == "h2",
            ClientProtocol::Http3 => spoken == "h3",
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
    /// DATA frames of HTTP/2 and HTTP/3, empty ones that only end the stream included; empty
    /// in HTTP/1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_frames_per_read: Vec<u32>,
    /// Datagrams that a read took, each by a `recvmsg` of its own; empty without HTTP/3.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub datagrams_per_read: Vec<u32>,
    /// When the reader stopped on purpose, and when it went on; absent if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<(Stamp, Stamp)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_are_found_by_their_names_and_told_apart_by_what_is_spoken() {
        for protocol in ClientProtocol::ALL {
            assert_eq!(ClientProtocol::from_name(protocol.name()), Some(protocol));
        }
        assert_eq!(ClientProtocol::from_name("h9"), None);
        assert!(ClientProtocol::Http11Tls.is_spoken("http/1.0"));
        assert!(!ClientProtocol::Http11Tls.is_spoken("h2"));
        assert!(ClientProtocol::Http2.is_spoken("h2") && !ClientProtocol::Http2.is_spoken("h3"));
        assert!(ClientProtocol::Http3.is_spoken("h3") && !ClientProtocol::Http3.is_spoken("h2"));
    }
}
