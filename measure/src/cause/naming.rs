//! From facts to a cause: the decision, apart from how the facts came to be known.
//!
//! [`name`] either names a cause, or says which fact is missing that would decide most. The
//! doctor gets that fact by an experiment and asks again; whoever can get no more says so and
//! hears what can be said without.

use super::{CauseId, Hop, Software};
use crate::Protocol;
use crate::verdict::{Sure, Verdict};

/// What is known of the origin's side of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Nothing.
    #[default]
    Unknown,
    /// The origin's own times; what is held was held by the path.
    Timed {
        /// Whether the origin wrote its last frame.
        whole: bool,
    },
    /// The same request on a way without the suspect.
    Beside {
        /// What it shows.
        shows: Verdict,
        /// Whether it came compressed.
        compressed: bool,
    },
}

/// `X-Accel-Buffering: no`, between origin and reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// The origin does not send it, as far as is known.
    #[default]
    Missing,
    /// It left the origin, and a hop took it away: nginx does.
    Taken,
    /// It reached the reader: no hop that knows it stood in between.
    Passed,
}

/// What is known of one stream, of its neighbours, and of its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What the stream shows.
    pub shows: Verdict,
    /// Where it shows no single pattern: whether a cork is among those that it may be.
    pub may_be_corked: bool,
    /// Whether its body came compressed.
    pub compressed: bool,
    /// What the same stream shows when no encoding is offered.
    pub uncompressed: Option<Verdict>,
    /// The origin's side.
    pub origin: Side,
    /// Whether the origin's answer has no chunks, but ends with its connection.
    pub close_delimited: Option<bool>,
    /// Whether the origin sends `X-Accel-Buffering: no` by itself.
    pub header: Header,
    /// What the stream shows when the origin is made to send it, and what became of it.
    pub with_header: Option<(Verdict, Header)>,
    /// What the stream shows when its answer has no chunks.
    pub unchunked: Option<Verdict>,
    /// What it shows at another pace.
    pub other_pace: Option<Verdict>,
    /// Which HTTP carried it over TLS, where that is known; `None` without TLS.
    pub over_tls: Option<Protocol>,
    /// What the same stream shows by the other version of HTTP over TLS.
    pub other_http: Option<Verdict>,
    /// The program that is known, or suspected by a response header, to be the hop.
    pub suspect: Option<Software>,
}

impl Facts {
    /// A stream of which only that is known.
    pub fn of(shows: Verdict) -> Facts {
        Facts {
            shows,
            may_be_corked: false,
            compressed: false,
            uncompressed: None,
            origin: Side::Unknown,
            close_delimited: None,
            header: Header::Missing,
            with_header: None,
            unchunked: None,
            other_pace: None,
            over_tls: None,
            other_http: None,
            suspect: None,
        }
    }
}

/// A fact that would decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Missing {
    /// The same without an offered encoding.
    Uncompressed,
    /// The same request beside the suspect.
    Beside,
    /// The same with `X-Accel-Buffering: no` from the origin.
    WithHeader,
    /// The same without chunks.
    Unchunked,
    /// The same at another pace.
    OtherPace,
    /// The same by the other version of HTTP over TLS.
    OtherHttp,
}

/// A cause with how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The cause.
    pub cause: CauseId,
    /// Certain: an experiment that changes only the cause changes the stream. Likely: it fits,
    /// and what would decide could not be had.
    pub sure: Sure,
    /// Who holds; absent where origin and path cannot be told apart.
    pub hop: Option<Hop>,
}

/// What can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing holds this stream.
    Clean,
    /// This.
    Named(Named),
    /// Not yet: this would decide.
    Open(Missing),
    /// Nothing, and why.
    CannotTell(&'static str),
}

const NOT_A_STREAM: &str = "the stream itself could not be judged";
const WHICH_SIDE: &str =
    "it may be the origin or a hop before it: name a way without the hop by --against";

/// Whether a fact is still missing and can be had.
type Can<'a> = &'a dyn Fn(Missing, bool) -> bool;

/// Names the cause, or the fact that would decide most among those that `can` be had.
pub fn name(facts: &Facts, can: &dyn Fn(Missing) -> bool) -> Answer {
    use Verdict as V;
    let can: Can<'_> = &|missing, known| !known && can(missing);
    match facts.shows {
        V::Live => Answer::Clean,
        V::TypeChanged => named(CauseId::TypeRewritten, Sure::Certain),
        V::PageBusy => named(CauseId::PageBusy, Sure::Certain),
        V::BatchedInBrowser => named(CauseId::BatchedInBrowser, Sure::Certain),
        V::ConnectionLimit => named(CauseId::ConnectionLimit, Sure::Certain),
        // Whoever is the last to take the bytes gives the window back; a hop may be it as well.
        V::FlowControl => somewhere(CauseId::SlowReader),
        V::Truncated => truncated(facts, can),
        V::BatchedAtOrigin => batched(facts, can),
        V::Held | V::Corked | V::BufferBursts | V::OneBehind => held(facts, can),
        V::CannotTell => undecided(facts, can),
        V::NoToken | V::Failed | V::Void => Answer::CannotTell(NOT_A_STREAM),
    }
}

fn named(cause: CauseId, sure: Sure) -> Answer {
    Answer::Named(Named { cause, sure, hop: Some(cause.cause().hop) })
}

/// The mechanism is clear, but not on which side it is.
fn somewhere(cause: CauseId) -> Answer {
    Answer::Named(Named { cause, sure: Sure::Likely, hop: None })
}

fn certain_if(certain: bool) -> Sure {
    if certain { Sure::Certain } else { Sure::Likely }
}

fn truncated(facts: &Facts, can: Can<'_>) -> Answer {
    match facts.origin {
        Side::Timed { whole: true } => named(CauseId::CutOnTheWay, Sure::Certain),
        Side::Timed { whole: false } => named(CauseId::CutAtOrigin, Sure::Certain),
        Side::Beside { shows: Verdict::Truncated, .. } => {
            named(CauseId::CutAtOrigin, Sure::Certain)
        }
        Side::Beside { shows: Verdict::Failed | Verdict::Void, .. } => {
            Answer::CannotTell("the direct way failed, and so tells nothing of the cut")
        }
        Side::Beside { .. } => named(CauseId::CutOnTheWay, Sure::Certain),
        Side::Unknown if can(Missing::Beside, false) => Answer::Open(Missing::Beside),
        Side::Unknown => Answer::CannotTell(WHICH_SIDE),
    }
}

fn batched(facts: &Facts, can: Can<'_>) -> Answer {
    if facts.compressed && can(Missing::Uncompressed, facts.uncompressed.is_some()) {
        return Answer::Open(Missing::Uncompressed);
    }
    if facts.compressed && facts.uncompressed == Some(Verdict::Live) {
        let seen = matches!(facts.origin, Side::Beside { compressed: true, .. });
        return named(CauseId::CompressedAtOrigin, certain_if(seen));
    }
    let timed = matches!(facts.origin, Side::Timed { .. });
    named(CauseId::OriginBatches, certain_if(timed))
}

fn held(facts: &Facts, can: Can<'_>) -> Answer {
    if can(Missing::Uncompressed, facts.uncompressed.is_some()) {
        return Answer::Open(Missing::Uncompressed);
    }
    let offered = facts.uncompressed == Some(Verdict::Live);
    if offered && facts.compressed {
        return compressed(facts, can);
    }
    if offered {
        return Answer::CannotTell(
            "the answer is not compressed, and yet differs with what the client sends",
        );
    }
    if facts.origin == Side::Unknown && can(Missing::Beside, false) {
        return Answer::Open(Missing::Beside);
    }
    if facts.over_tls.is_some() && can(Missing::OtherHttp, facts.other_http.is_some()) {
        return Answer::Open(Missing::OtherHttp);
    }
    match facts.shows {
        Verdict::Corked => corked(facts, can),
        Verdict::OneBehind => one_behind(facts, can),
        _ => buffered(facts, can),
    }
}

/// Held only for whoever accepts an encoding.
fn compressed(facts: &Facts, can: Can<'_>) -> Answer {
    match facts.origin {
        Side::Unknown if can(Missing::Beside, false) => return Answer::Open(Missing::Beside),
        Side::Beside { compressed: true, shows } if shows != Verdict::Live => {
            return named(CauseId::CompressedAtOrigin, Sure::Certain);
        }
        // It leaves the origin compressed and live: somebody behind it waits all the same.
        Side::Beside { compressed: true, .. } => return named(CauseId::HopBuffers, Sure::Likely),
        _ => {}
    }
    if can(Missing::WithHeader, facts.with_header.is_some()) {
        return Answer::Open(Missing::WithHeader);
    }
    let nginx = facts.suspect == Some(Software::Nginx);
    match facts.with_header {
        Some((Verdict::Live, _)) => named(CauseId::GzipIntoBuffers, Sure::Certain),
        Some((_, Header::Taken)) => named(CauseId::GzipIntoBuffers, Sure::Likely),
        Some(_) => named(CauseId::CompressorWaits, Sure::Certain),
        None => {
            let cause = if nginx { CauseId::GzipIntoBuffers } else { CauseId::CompressorWaits };
            if facts.origin == Side::Unknown {
                somewhere(cause)
            } else {
                named(cause, Sure::Likely)
            }
        }
    }
}

/// Held over HTTP/1.1 and live over HTTP/2 through the same TLS: whoever ends that TLS makes the
/// difference, for nobody behind it sees which of the two was spoken.
fn only_http1(facts: &Facts) -> bool {
    facts.over_tls == Some(Protocol::Http11) && facts.other_http == Some(Verdict::Live)
}

fn corked(facts: &Facts, can: Can<'_>) -> Answer {
    if facts.over_tls == Some(Protocol::Http2) {
        // There are no chunks in HTTP/2 that could wait.
        return match facts.origin {
            Side::Unknown => Answer::CannotTell(WHICH_SIDE),
            _ => named(CauseId::HopBuffers, Sure::Likely),
        };
    }
    if can(Missing::Unchunked, facts.unchunked.is_some()) {
        return Answer::Open(Missing::Unchunked);
    }
    match (facts.unchunked, facts.origin) {
        (Some(Verdict::Live), Side::Unknown) => somewhere(CauseId::ChunksCorked),
        (Some(Verdict::Live), _) => named(CauseId::ChunksCorked, Sure::Certain),
        // An answer without chunks cannot be had, and HTTP/2, which has none, is live.
        (None, Side::Unknown) if only_http1(facts) => somewhere(CauseId::ChunksCorked),
        (_, Side::Unknown) => Answer::CannotTell(WHICH_SIDE),
        (None, _) => named(CauseId::ChunksCorked, Sure::Likely),
        // It waits without chunks as well: not for the reason that is known.
        (Some(_), _) => named(CauseId::HopBuffers, Sure::Likely),
    }
}

fn one_behind(facts: &Facts, can: Can<'_>) -> Answer {
    if can(Missing::OtherPace, facts.other_pace.is_some()) {
        return Answer::Open(Missing::OtherPace);
    }
    match (facts.other_pace, facts.origin) {
        (None, Side::Unknown) => Answer::CannotTell(WHICH_SIDE),
        (None, _) => named(CauseId::OneBehind, Sure::Likely),
        (Some(Verdict::OneBehind), _) => named(CauseId::OneBehind, Sure::Certain),
        (Some(_), _) => Answer::CannotTell("one behind at one pace, and not at another"),
    }
}

/// Held to the end, or passed on in buffers.
fn buffered(facts: &Facts, can: Can<'_>) -> Answer {
    let nginx = facts.suspect == Some(Software::Nginx);
    if facts.origin == Side::Unknown {
        return match only_http1(facts) {
            true if nginx => named(CauseId::TlsGathers, Sure::Likely),
            true => somewhere(CauseId::HopBuffers),
            false => Answer::CannotTell(WHICH_SIDE),
        };
    }
    match facts.header {
        Header::Taken => return named(CauseId::HeaderIgnored, Sure::Certain),
        Header::Passed => return named(CauseId::HopBuffers, Sure::Likely),
        Header::Missing => {}
    }
    if can(Missing::WithHeader, facts.with_header.is_some()) {
        return Answer::Open(Missing::WithHeader);
    }
    let no_chunks = facts.close_delimited == Some(true);
    if only_http1(facts) {
        return match facts.with_header {
            Some((Verdict::Live, _)) => named(CauseId::TlsGathers, certain_if(!no_chunks)),
            Some((_, Header::Taken)) => named(CauseId::TlsGathers, Sure::Likely),
            None if nginx => named(CauseId::TlsGathers, Sure::Likely),
            _ => named(CauseId::HopBuffers, Sure::Likely),
        };
    }
    match facts.with_header {
        Some((Verdict::Live, _)) => named(CauseId::WholeBuffers, certain_if(no_chunks)),
        Some((_, Header::Taken)) if no_chunks => named(CauseId::WholeBuffers, Sure::Likely),
        None if nginx && facts.close_delimited != Some(false) => {
            named(CauseId::WholeBuffers, Sure::Likely)
        }
        _ => named(CauseId::HopBuffers, Sure::Likely),
    }
}

/// A stream that fits two patterns, or none, at this pace.
fn undecided(facts: &Facts, can: Can<'_>) -> Answer {
    if can(Missing::Uncompressed, facts.uncompressed.is_some()) {
        return Answer::Open(Missing::Uncompressed);
    }
    if facts.origin == Side::Unknown && can(Missing::Beside, false) {
        return Answer::Open(Missing::Beside);
    }
    if can(Missing::OtherPace, facts.other_pace.is_some()) {
        return Answer::Open(Missing::OtherPace);
    }
    // There are no chunks in HTTP/2.
    let may_be_corked = facts.may_be_corked && facts.over_tls != Some(Protocol::Http2);
    if may_be_corked && can(Missing::Unchunked, facts.unchunked.is_some()) {
        return Answer::Open(Missing::Unchunked);
    }
    // Bursts that only chunks come in: whatever their times are, chunks wait.
    if may_be_corked && facts.unchunked == Some(Verdict::Live) {
        return match facts.origin {
            Side::Unknown => somewhere(CauseId::ChunksCorked),
            Side::Timed { .. } | Side::Beside { shows: Verdict::Live, .. } => {
                named(CauseId::ChunksCorked, Sure::Likely)
            }
            Side::Beside { .. } => Answer::CannotTell("the direct way is not live either"),
        };
    }
    match facts.other_pace {
        // At a pace that decides it is as clear as any other.
        Some(shows) if shows != Verdict::CannotTell => {
            name(&Facts { shows, ..facts.clone() }, &|missing| can(missing, false))
        }
        _ if facts.origin == Side::Unknown => Answer::CannotTell(WHICH_SIDE),
        _ => Answer::CannotTell("it fits no known pattern"),
    }
}

#[cfg(test)]
#[path = "naming_tests.rs"]
mod tests;
