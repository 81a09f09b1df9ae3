//! What will be asked, said before the first request.

use super::behind::{Behind, Clock};
use super::native::Native;

/// Before anything is asked.
pub(crate) fn first(native: &Native) -> String {
    let Native { through, beside, form, limit, budget, .. } = native;
    let mut text = format!(
        "{} {}: at most {} requests, one at a time, each read for {} s at most.\n",
        form.method,
        through.shown(),
        budget.most(),
        limit.as_secs(),
    );
    if through.may_be_emitter() {
        let route = through.sibling("instance");
        text.push_str(&format!("First one request for {route}: is Holdup's own emitter behind?\n"));
    }
    text.push_str(
        "Then as curl and as a browser, and by what these show: as EventSource, with no encoding, each encoding alone, by HTTP/1.0",
    );
    if through.is_secure() {
        text.push_str(", by HTTP/1.1 alone or HTTP/2 alone, whichever was not negotiated");
    }
    if beside.is_some() {
        text.push_str(", and beside the suspect");
    }
    text.push_str(". Method, path and body stay as they are; redirects are not followed.");
    text
}

/// Once it is known that our own emitter stands behind.
pub(crate) fn behind(behind: &Behind) -> String {
    let clock = match behind.clock {
        Clock::Ours => "on this machine's clock".into(),
        Clock::Other { sync, .. } => {
            format!("on another clock, known to ± {} µs", sync.uncertainty().as_micros())
        }
        Clock::Unknown => "whose clock cannot be had: its times are not used".into(),
    };
    format!(
        "Holdup's own emitter stands behind, {clock}: its stream is varied too (size, pace, framing, headers)."
    )
}
