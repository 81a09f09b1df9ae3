//! Why there is no TLS: one line each, with what to do.

use std::io;

use rustls::{AlertDescription, CertificateError, Error, OtherError, PeerMisbehaved};
use rustls_pki_types::UnixTime;

use crate::ask::Http;
use crate::trust::{SelfSigned, is_authority_as_server};

/// Names of a certificate that are shown: a line stays a line.
const NAMES_SHOWN: usize = 4;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate past its time.
    #[error("the certificate of {host} has expired{since}")]
    Expired {
        /// Whose.
        host: String,
        /// How long ago.
        since: String,
    },
    /// A certificate before its time.
    #[error("the certificate of {0} is not valid yet (is this machine's clock right?)")]
    NotYet(String),
    /// A certificate of someone else.
    #[error("the certificate that {host} shows is for {names}, not for {host}")]
    OtherName {
        /// Who was expected.
        host: String,
        /// Who was met.
        names: String,
    },
    /// An authority that is not trusted.
    #[error(
        "the certificate of {0} is of an authority that this system does not know; if you trust \
         that one, name its certificate by --cacert FILE"
    )]
    UnknownIssuer(String),
    /// An authority of a trusted one's name.
    #[error(
        "the certificate of {0} is of an authority that has the name of one that is trusted but \
         another key (an older one?): name its present certificate by --cacert FILE"
    )]
    OtherKey(String),
    /// No authority at all.
    #[error("the certificate of {0} is self-signed; if you trust it, name it by --cacert FILE")]
    SelfSigned(String),
    /// An authority's certificate in a server's place.
    #[error(
        "the certificate of {0} is an authority's own (CA:TRUE), which no server may show: it \
         needs one that this authority signed"
    )]
    AuthorityAsServer(String),
    /// Any other fault of a certificate.
    #[error("the certificate of {host} is refused: {why}")]
    Certificate {
        /// Whose.
        host: String,
        /// What the library says.
        why: String,
    },
    /// The connection was reset in the handshake.
    #[error("{0} reset the connection during the TLS handshake (is that port for TLS?)")]
    Reset(String),
    /// The connection was closed in the handshake.
    #[error("{0} closed the connection during the TLS handshake (is that port for TLS?)")]
    Closed(String),
    /// Plain HTTP on that port.
    #[error("{0} answers in plain HTTP, not in TLS: ask by http://")]
    PlainHttp(String),
    /// Something else on that port.
    #[error("{host} does not speak TLS (its answer begins \"{begins}\")")]
    NotTls {
        /// Who.
        host: String,
        /// Its first bytes.
        begins: String,
    },
    /// HTTP/2 was asked for and is not spoken.
    #[error("{0} does not speak HTTP/2 over TLS: ask with --http 1.1")]
    NoHttp2(String),
    /// Nothing that was offered is spoken.
    #[error("{host} speaks none of what was offered by ALPN ({offered}): try the other --http")]
    NoProtocol {
        /// Who.
        host: String,
        /// What was offered.
        offered: String,
    },
    /// The peer ended it with an alert.
    #[error("{host} ended TLS with the alert {alert}")]
    Alert {
        /// Who.
        host: String,
        /// The alert's name.
        alert: String,
    },
    /// Any other fault.
    #[error("TLS with {host} failed: {why}")]
    Other {
        /// Who.
        host: String,
        /// What the library says.
        why: String,
    },
    /// The library takes no more bytes.
    #[error("TLS takes no more bytes: {0}")]
    Buffer(io::Error),
}

/// What the library's error means to someone who asked that host.
pub(crate) fn explain(error: Error, host: &str, first: &[u8], http: Http) -> TlsError {
    let host = host.to_owned();
    if is_authority_as_server(&error) {
        return TlsError::AuthorityAsServer(host);
    }
    match error {
        Error::InvalidCertificate(fault) => certificate(fault, host),
        Error::InvalidMessage(_) if first.starts_with(b"HTTP/") => TlsError::PlainHttp(host),
        // A record begins with its type, 20 to 23, and a version whose first byte is 3.
        Error::InvalidMessage(_) if !matches!(first, [20..=23, 3, ..] | [20..=23] | []) => {
            let begins = String::from_utf8_lossy(first).escape_debug().collect();
            TlsError::NotTls { host, begins }
        }
        Error::AlertReceived(AlertDescription::NoApplicationProtocol)
        | Error::NoApplicationProtocol
        | Error::PeerMisbehaved(PeerMisbehaved::SelectedUnofferedApplicationProtocol) => {
            if http == Http::Two {
                TlsError::NoHttp2(host)
            } else {
                TlsError::NoProtocol { host, offered: http.offered().join(", ") }
            }
        }
        Error::AlertReceived(alert) => TlsError::Alert { host, alert: format!("{alert:?}") },
        error => TlsError::Other { host, why: error.to_string() },
    }
}

fn certificate(fault: CertificateError, host: String) -> TlsError {
    match fault {
        CertificateError::Expired => TlsError::Expired { host, since: String::new() },
        CertificateError::ExpiredContext { time, not_after } => {
            TlsError::Expired { host, since: ago(time, not_after) }
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsError::NotYet(host)
        }
        CertificateError::NotValidForName => {
            TlsError::OtherName { host, names: "someone else".into() }
        }
        CertificateError::NotValidForNameContext { presented, .. } => {
            TlsError::OtherName { host, names: names(&presented) }
        }
        CertificateError::BadSignature => TlsError::OtherKey(host),
        CertificateError::UnknownIssuer => TlsError::UnknownIssuer(host),
        CertificateError::Other(OtherError(cause)) => {
            if cause.is::<SelfSigned>() {
                TlsError::SelfSigned(host)
            } else {
                TlsError::Certificate { host, why: cause.to_string() }
            }
        }
        fault => TlsError::Certificate { host, why: fault.to_string() },
    }
}

fn ago(now: UnixTime, then: UnixTime) -> String {
    let seconds = now.as_secs().saturating_sub(then.as_secs());
    match seconds / 86_400 {
        0 => " today".into(),
        1 => " a day ago".into(),
        days => format!(" {days} days ago"),
    }
}

/// The library writes a name as `DnsName("example.org")`.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| name.split('"').nth(1).unwrap_or(name).chars().take(80).collect();
    let shown: Vec<String> = presented.iter().take(NAMES_SHOWN).map(bare).collect();
    match presented.len() {
        0 => "no name at all".into(),
        some if some > NAMES_SHOWN => {
            format!("{} and {} more", shown.join(", "), some - NAMES_SHOWN)
        }
        _ => shown.join(", "),
    }
}
