//! What an answer is before its times are looked at. Each kind is counted apart, and each that is
//! no answer is one line with what to do.

use measure::chat::{Carrier, ChatAnswer, ChatRecord, Shape};
use measure::measurement::Outcome;
use measure::{Arrivals, End, Span};
use serde::{Deserialize, Serialize};
use wire::http1::Head;

use super::plan::Way;
use crate::target::Target;

/// What an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// It has its last event, and a token.
    Complete,
    /// It was left at a limit of ours, with tokens in it: what was seen counts, but apart.
    Left,
    /// It stopped in the middle: silent until our limit, far longer than ever before.
    Stalled,
    /// It ended well without a token.
    NoToken,
    /// It ended without its last event.
    Truncated,
    /// Status 200 with an error inside.
    ErrorInside,
    /// 429.
    RateLimited,
    /// 5xx.
    ServerError,
    /// It wants to know who asks: 401, 403, 407, or a page for people.
    Login,
    /// It answers elsewhere. Redirects are not followed: they would be another path.
    Redirect,
    /// It does not take the request.
    Refused,
    /// What came is of none of the shapes.
    WrongType,
    /// The connection broke, or what came was no HTTP.
    Broken,
    /// It said nothing before the limit.
    Silent,
    /// TLS could not be had: a certificate that is refused, or a server without it.
    Tls,
    /// No connection.
    Unreachable,
}

impl Kind {
    /// In a sentence that counts them.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Kind::Complete => "complete",
            Kind::Left => "left at the limit",
            Kind::Stalled => "stopped in the middle",
            Kind::NoToken => "without a token",
            Kind::Truncated => "truncated",
            Kind::ErrorInside => "with an error inside",
            Kind::RateLimited => "rate-limited",
            Kind::ServerError => "server errors",
            Kind::Login => "login wanted",
            Kind::Redirect => "redirected",
            Kind::Refused => "refused",
            Kind::WrongType => "of a wrong type",
            Kind::Broken => "broken off",
            Kind::Silent => "silent",
            Kind::Tls => "refused for their TLS",
            Kind::Unreachable => "not reached",
        }
    }

    /// Whether the next request would come to the same, so that none is made. What is refused may be
    /// one prompt among others.
    pub(crate) fn stays(self, one_prompt: bool) -> bool {
        match self {
            Kind::Login | Kind::Redirect | Kind::Tls | Kind::Unreachable => true,
            Kind::Refused => one_prompt,
            _ => false,
        }
    }
}

/// One answer, as far as its kind hangs on it.
pub(crate) struct Seen<'a> {
    pub(crate) arrivals: &'a Arrivals,
    pub(crate) head: Option<&'a Head>,
    pub(crate) record: &'a ChatRecord,
    pub(crate) answer: &'a ChatAnswer,
    /// It was left at a limit of ours: which.
    pub(crate) left: Option<String>,
    pub(crate) target: &'a Target,
    pub(crate) way: Way,
    /// Whether the TLS handshake was done.
    pub(crate) shaken: bool,
}

/// What it is, and the line that says so; an answer has none.
pub(crate) fn of(seen: &Seen<'_>) -> (Kind, Option<String>) {
    let Seen { arrivals, record, answer, left, .. } = seen;
    if arrivals.status.is_none_or(|status| !(200..300).contains(&status)) {
        let (kind, line) = refusal(seen);
        return (kind, Some(line));
    }
    let so_far = so_far(answer, arrivals);
    if record.carrier == Some(Carrier::Html) {
        let line = "an HTML page came where an answer was expected, perhaps a login: check the path, and who asks (--key-env)";
        return (Kind::Login, Some(line.into()));
    }
    if let Some(error) = &record.error {
        let line = format!("status 200, and an error inside after {so_far}: {error}");
        return (Kind::ErrorInside, Some(line));
    }
    let token = record.frames.iter().any(measure::chat::ChatMark::has_token);
    if let Some(limit) = left.as_ref().filter(|_| !ended(record)) {
        return if let Some(silent) = stalled(record, arrivals).filter(|_| token) {
            let line = format!("no more came for {silent} after {so_far}: {limit}");
            (Kind::Stalled, Some(line))
        } else if token {
            (Kind::Left, Some(format!("left after {so_far}: {limit}")))
        } else {
            (Kind::Silent, Some(format!("no token came, {so_far}: {limit}")))
        };
    }
    if !token && !is_known(arrivals, record) {
        let came = arrivals.content_type.as_deref().unwrap_or("no content type");
        let came: String = came.chars().take(80).collect();
        let line =
            format!("it answered {came} and nothing of a shape that is known here: check the path");
        return (Kind::WrongType, Some(line));
    }
    match &answer.outcome {
        Outcome::Complete => (Kind::Complete, None),
        Outcome::NoToken => {
            let line = format!(
                "it ended well after {so_far}, and without a token: check what it was asked for"
            );
            (Kind::NoToken, Some(line))
        }
        Outcome::Truncated => {
            let last = record.shape.and_then(Shape::terminal).unwrap_or("its last event");
            (Kind::Truncated, Some(format!("it ended after {so_far}, without `{last}`")))
        }
        Outcome::Failed { what } => (Kind::Broken, Some(format!("after {so_far}: {what}"))),
    }
}

/// Shortest silence at the end that is one: a model may think for some seconds, but a second is
/// more than any pace that a token stream has.
const SILENT: Span = Span::millis(1_000);
/// How many times its longest wait until then a stream must have been silent.
const LONGER: i64 = 3;

/// How long a stream had been silent when it was left, where that is far longer than it ever was
/// between two reads; absent for one that was still going on.
fn stalled(record: &ChatRecord, arrivals: &Arrivals) -> Option<Span> {
    let silent = arrivals.ended - record.reads.last()?.at;
    let waits = record.reads.windows(2).map(|pair| pair[1].at - pair[0].at);
    let longest = waits.max().unwrap_or_default();
    (silent >= SILENT && silent.as_micros() > LONGER * longest.as_micros()).then_some(silent)
}

/// Whether the shape's last event came, so that no limit cut it short.
fn ended(record: &ChatRecord) -> bool {
    record.frames.iter().any(|mark| mark.terminal)
}

/// Whether what came can be an answer: of a known shape, or of a type that carries one.
fn is_known(arrivals: &Arrivals, record: &ChatRecord) -> bool {
    let media = arrivals.content_type.as_deref().unwrap_or_default().to_ascii_lowercase();
    let media = media.split(';').next().unwrap_or_default().trim().to_string();
    let carries = media == "text/event-stream" || media.contains("json");
    match record.shape {
        Some(Shape::Sse | Shape::Ndjson) | None => carries,
        Some(_) => carries || !record.frames.is_empty(),
    }
}

fn so_far(answer: &ChatAnswer, arrivals: &Arrivals) -> String {
    format!("{} in {}", answer.events, arrivals.ended - arrivals.call)
}

/// Answers that are no 2xx, and none at all.
fn refusal(seen: &Seen<'_>) -> (Kind, String) {
    let Some(status) = seen.arrivals.status else { return nothing(seen) };
    let header = |name: &str| {
        let value = seen.head.and_then(|head| head.header(name))?;
        Some(value.chars().take(80).collect::<String>())
    };
    // What the service says of it, where it says it in a way that is known.
    let said =
        seen.record.error.as_ref().map_or(String::new(), |error| format!(", saying {error}"));
    let retry = header("retry-after").map_or(String::new(), |it| format!(", Retry-After: {it}"));
    match status {
        300..=399 => {
            let to = header("location").map(|to| seen.target.location(&to));
            // A query may hold what is nobody's business.
            let to = to.map(|to| to.split('?').next().unwrap_or_default().to_string());
            let to = to.unwrap_or_else(|| "nowhere".into());
            (
                Kind::Redirect,
                format!("it redirects ({status}) to {to}: ask that URL, if it is meant"),
            )
        }
        401 | 403 | 407 => {
            let do_it = "send the key by --key-env VAR or --key-file FILE";
            (Kind::Login, format!("it answered {status}{said}: {do_it}"))
        }
        429 => (Kind::RateLimited, format!("it asks for fewer requests (429{retry}){said}")),
        500.. => {
            (Kind::ServerError, format!("it answered {status}{retry}{said}: look at its own log"))
        }
        _ => {
            let check = "check the path, the method and the body";
            (Kind::Refused, format!("it answered {status}{said}: {check}"))
        }
    }
}

fn nothing(seen: &Seen<'_>) -> (Kind, String) {
    let arrivals = seen.arrivals;
    let other = match seen.way {
        Way::Url => "",
        Way::Against => " (--against)",
    };
    match &arrivals.end {
        End::Failed { what } if arrivals.connected.is_none() => {
            // Over UDP the line itself says what to try.
            let advice =
                if seen.target.is_http3() { "" } else { ": check that it runs, and the address" };
            (Kind::Unreachable, format!("{what}{other}{advice}"))
        }
        End::Failed { what } if seen.target.is_secure() && !seen.shaken => {
            (Kind::Tls, what.clone())
        }
        End::Failed { what } => (Kind::Broken, format!("before its answer: {what}")),
        End::TimedOut { limit_us } => {
            let limit = seen.left.clone().unwrap_or_else(|| Span(*limit_us).to_string());
            (Kind::Silent, format!("no answer came: {limit}"))
        }
        _ => (Kind::Broken, "the connection was closed without an answer".into()),
    }
}
