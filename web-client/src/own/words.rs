//! Errors of one's own endpoint in the page's words: what happened, and what to do.

use measure::End;

use super::answer::Page;
use super::carrier::Carrier;
use super::seen::{Outcome, Seen};
use crate::view::markup::filled;

/// What became of an answer that is none: a heading and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// A few words.
    pub what: String,
    /// What to do.
    pub so: String,
}

fn trouble(what: &str, so: impl Into<String>) -> Option<Trouble> {
    Some(Trouble { what: what.into(), so: so.into() })
}

/// Why an answer is not to be judged; `None` where it is.
pub fn of_answer(page: &Page, seen: Option<&Seen>) -> Option<Trouble> {
    let status = seen.map_or(page.status, |seen| seen.arrivals.status);
    let said = match seen.map(|seen| &seen.outcome) {
        Some(Outcome::Failed(what)) => crate::words::sentence(what),
        _ => page.error.as_deref().map(crate::words::sentence).unwrap_or_default(),
    };
    if let Some(to) = seen.and_then(|seen| seen.leads_to.as_ref()) {
        let status = status.unwrap_or_default().to_string();
        return trouble(
            "A redirect",
            filled(
                "It answers ¤ and points to ¤. That was not followed: if it is yours, give that \
                 address instead.",
                &[&status, to],
            ),
        );
    }
    if let Some(status) = status.filter(|status| !(200..300).contains(status)) {
        return of_status(status, &said, seen.and_then(|seen| seen.field("retry-after")));
    }
    let html = page.carrier == Some(Carrier::Html)
        || seen.is_some_and(|seen| seen.carrier.as_deref() == Some("html"));
    if html {
        return trouble(
            "An HTML page",
            "A page for people came where an answer was expected, perhaps a login: check the \
             address, or give the key that it wants.",
        );
    }
    let outcome = seen.map_or_else(|| of_page(page), |seen| seen.outcome.clone());
    match outcome {
        Outcome::Complete => None,
        Outcome::Failed(_) if page.error.is_some() => trouble("An error under status 200", said),
        Outcome::Failed(_) => trouble("Failed", said),
        Outcome::NoToken => trouble(
            "No token",
            "It ended well, and no text came before its end: check model and prompt, and whether \
             this is a chat route.",
        ),
        Outcome::Truncated => trouble(
            "Cut short",
            filled(
                "It ended¤ after ¤ events and without its last one: a time limit on the way, or an \
                 origin that stopped.",
                &[
                    if page.tail > 0 { " inside an event," } else { "" },
                    &page.marks.iter().filter(|mark| mark.event).count().to_string(),
                ],
            ),
        ),
    }
}

/// How an answer came out that only the page has read.
pub fn of_page(page: &Page) -> Outcome {
    let token = page.token_end.is_some();
    if let Some(error) = &page.error {
        return Outcome::Failed(error.clone());
    }
    if page.marks.iter().any(|mark| mark.terminal) {
        return if token { Outcome::Complete } else { Outcome::NoToken };
    }
    match &page.end {
        Some(End::Failed { what }) => Outcome::Failed(what.clone()),
        // Where no last event is agreed on, the framing's word is all there is.
        Some(End::Closed) if page.tail == 0 && token => Outcome::Complete,
        Some(End::Closed) if page.tail == 0 => Outcome::NoToken,
        _ => Outcome::Truncated,
    }
}

fn of_status(status: u16, said: &str, retry: Option<&str>) -> Option<Trouble> {
    let number = status.to_string();
    let (what, so) = match status {
        401 | 403 => (
            "It refuses the key",
            "It wants a key, or not this one, or wants it in another header than the one beside \
             the key.",
        ),
        429 => ("Too many requests", "Its limit is reached: wait, or ask fewer times."),
        404 | 405 => ("Not there", "Nothing there takes such a request: check the path."),
        400 | 415 | 422 => {
            ("It refuses the request", "It does not take this body: check shape and model.")
        }
        502..=504 => ("A hop failed", "A proxy on the way got no answer from what is behind it."),
        500.. => ("It failed itself", "The service failed while it answered."),
        _ => ("No answer", "The status is none of an answer’s."),
    };
    let retry = retry.map_or(String::new(), |value| filled(" Retry-After: ¤.", &[value]));
    trouble(what, filled("Status ¤. ¤¤ ¤", &[&number, so, &retry, said]))
}

/// Why a direct request came to nothing. The browser gives a page no reason on purpose.
pub fn blocked(origin: &str, headers: &[(String, String)]) -> String {
    let mut names = String::from("content-type");
    for (name, _) in headers {
        let name = name.to_ascii_lowercase();
        if name != "content-type" && name != "accept" {
            names.push_str(", ");
            names.push_str(&name);
        }
    }
    filled(
        "The browser gave this page neither an answer nor a reason. Either nothing answers at that \
         address, or it does not let pages of other origins read its answers (CORS). Its answer to \
         the browser’s preflight (OPTIONS) has to be a 2xx, and both answers have to say:\n\
         Access-Control-Allow-Origin: ¤\nAccess-Control-Allow-Methods: POST\n\
         Access-Control-Allow-Headers: ¤\nOr ask through the gateway, which needs none of it.",
        &[origin, &names],
    )
}

/// What is missing where the browser keeps its own timings from the page.
pub fn no_timings(origin: &str) -> String {
    filled(
        "The browser does not show this page its own timings of the answer; the page’s own are \
         there. To see them, too, the endpoint has to say:\nTiming-Allow-Origin: ¤",
        &[origin],
    )
}

/// A content type that does not fit what came, which `EventSource` and some clients refuse.
pub fn wrong_type(page: &Page, seen: Option<&Seen>) -> Option<String> {
    let sse = seen
        .map_or(page.carrier == Some(Carrier::Sse), |seen| seen.carrier.as_deref() == Some("sse"));
    let came = match seen {
        Some(seen) => seen.arrivals.content_type.as_deref(),
        None => page.content_type.as_deref(),
    };
    let media = came.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    (sse && !media.eq_ignore_ascii_case("text/event-stream")).then(|| {
        let came = if media.is_empty() { "no content type" } else { media };
        filled(
            "It is an event stream, and came as ¤: an EventSource refuses it. The origin, or a \
             hop, has to say:\nContent-Type: text/event-stream",
            &[came],
        )
    })
}
