//! What ends an examination early: each in one line, with what to do.

use std::fmt;

use measure::Span;

/// Why no more is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It answers elsewhere. Redirects are not followed: they would be another path.
    Redirect {
        /// The status.
        status: u16,
        /// Where to.
        to: String,
    },
    /// It wants to know who asks.
    Login {
        /// What it answered.
        what: String,
    },
    /// It asks for fewer requests.
    RateLimited {
        /// Its `Retry-After`.
        retry_after: Option<String>,
    },
    /// It has an error of its own.
    Server {
        /// The status.
        status: u16,
        /// Its `Retry-After`.
        retry_after: Option<String>,
    },
    /// It does not take the request.
    Refused {
        /// The status.
        status: u16,
    },
    /// It answers, but no stream of events.
    NoStream {
        /// Its content type.
        content_type: String,
    },
    /// It answers an event stream that ends without an event.
    Empty,
    /// It cannot be reached.
    Unreachable {
        /// What failed.
        what: String,
    },
    /// There is no TLS with it.
    NoTls {
        /// Why, with what to do.
        what: String,
    },
    /// It said nothing more.
    Silent {
        /// For how long.
        limit: Span,
        /// How many events had come.
        events: u32,
    },
    /// It was still sending when no more was read.
    Longer {
        /// After how long.
        limit: Span,
        /// How many events had come.
        events: u32,
    },
    /// A clock or the emitter changed under the measurement.
    Shifted {
        /// What changed.
        what: String,
    },
    /// Somebody wants this to end.
    Interrupted,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wait = |retry: &Option<String>| match retry {
            Some(retry) => format!(", Retry-After: {}", retry.chars().take(40).collect::<String>()),
            None => String::new(),
        };
        match self {
            Stop::Redirect { status, to } => {
                write!(f, "it redirects ({status}) to {to}: examine that URL, if it is meant")
            }
            Stop::Login { what } => write!(
                f,
                "it wants a login ({what}): send what a reader sends, by --header 'Authorization: …' or --header 'Cookie: …'"
            ),
            Stop::RateLimited { retry_after } => {
                write!(f, "it asks for fewer requests (429{}): try later", wait(retry_after))
            }
            Stop::Server { status, retry_after } => {
                write!(f, "it answers {status}{}: look at its own log", wait(retry_after))
            }
            Stop::Refused { status } => write!(
                f,
                "it answers {status}: check the path, and what --method, --header and --body say"
            ),
            Stop::NoStream { content_type } => write!(
                f,
                "it answers {content_type} and no event: check the path, and whether it must be asked to stream"
            ),
            Stop::Empty => f.write_str(
                "it answers an event stream that ends without an event: check what it was asked for",
            ),
            Stop::Unreachable { what } => write!(f, "{what}: check that it runs"),
            Stop::NoTls { what } => f.write_str(what),
            Stop::Silent { limit, events: 0 } => {
                write!(f, "no event came in {limit}: allow more by --seconds, if it takes so long")
            }
            Stop::Silent { limit, events } => {
                write!(f, "it went silent for {limit} after {events} events")
            }
            Stop::Longer { limit, events } => write!(
                f,
                "its stream goes on after {limit} ({events} events so far): allow more by --seconds"
            ),
            Stop::Shifted { what } => write!(f, "{what}: examine it again"),
            Stop::Interrupted => f.write_str("interrupted"),
        }
    }
}
