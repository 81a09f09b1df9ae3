//! Which of a service's users see it, where that hangs on the version of HTTP they speak over TLS.

use measure::Protocol;
use measure::cause::CauseId;
use measure::verdict::Verdict;

use super::diagnosis::Advice;
use super::evidence::{Evidence, Run, is_decided};
use super::experiment::{Client, Experiment};

const PLAIN: &str = "This URL is plain HTTP. Browsers speak HTTP/2 over TLS, and a path may behave differently there: examine its https URL too, if it has one.";
const FOR_HTTP2: &str = "speak HTTP/2";
const NO_HTTP3: &str = "HTTP/3 is not asked.";
const GATHERS_TOO: &str = "Over TLS and HTTP/1.1 nginx gathers short answers for a second reason (tls-gathers), which only proxy_buffering off cures; HTTP/1.1 to the origin cures what HTTP/2 clients see.";

/// Who is hit, in a sentence; `None` where it did not come over TLS.
pub(crate) fn who(evidence: &Evidence, question: &Experiment) -> Option<String> {
    let spoke = evidence.last(question)?.over_tls()?;
    let here = evidence.shows(question)?;
    let other = evidence.other_http(question)?;
    let there = evidence.shows(&other)?;
    let refused = evidence.last(&other).is_some_and(|run| run.head.is_none());
    if there == Verdict::Failed && refused {
        return Some(match spoke {
            Protocol::Http2 => "It speaks HTTP/2 alone over TLS, as browsers do.".into(),
            _ => "It does not speak HTTP/2 over TLS, so browsers come by HTTP/1.1 and see it too."
                .into(),
        });
    }
    if !is_decided(there) {
        return None;
    }
    let (one, two) = if spoke == Protocol::Http2 { (there, here) } else { (here, there) };
    let users = match (one == Verdict::Live, two == Verdict::Live) {
        (false, true) => {
            "Browsers speak HTTP/2 over TLS and do not see this; clients that speak HTTP/1.1 do"
        }
        (true, false) => {
            "Browsers speak HTTP/2 over TLS and see this; clients that stay on HTTP/1.1 do not"
        }
        _ => {
            "It does not hang on which of the two a client speaks: browsers, by HTTP/2, see it too"
        }
    };
    // Runs that show different patterns have none to be named by.
    let word = |shows: Verdict| if is_decided(shows) { shows.name() } else { "not live" };
    Some(format!("Over HTTP/1.1: {}; over HTTP/2: {}. {users}.", word(one), word(two)))
}

/// What no experiment here can show.
pub(crate) fn unasked(evidence: &Evidence) -> String {
    let tls = evidence.runs.iter().any(|run| run.over_tls().is_some());
    if tls { NO_HTTP3.into() } else { PLAIN.into() }
}

/// Whether it is spoken already, so that switching it on cures nobody.
fn speaks_http2(evidence: &Evidence) -> bool {
    evidence.runs.iter().any(|run| run.over_tls() == Some(Protocol::Http2))
}

/// Leaves out cures that switch HTTP/2 on where it is spoken: the table gives their place as
/// being for clients that speak it.
pub(crate) fn without_http2(evidence: &Evidence, cures: &mut Vec<Advice>) {
    if speaks_http2(evidence) {
        cures.retain(|cure| !cure.place.ends_with(FOR_HTTP2));
    }
}

/// Where nginx holds whoever comes over TLS by HTTP/1.1 in any case, what cures that goes first;
/// with a sentence that says so.
pub(crate) fn whole_cure_first(
    cause: CauseId,
    evidence: &Evidence,
    cures: &mut [Advice],
) -> Option<String> {
    let tls = evidence.last(&Experiment::of(Client::Curl)).and_then(Run::over_tls).is_some();
    let off = |cure: &Advice| cure.lines.starts_with("proxy_buffering off");
    if cause != CauseId::WholeBuffers || !tls || !cures.iter().any(off) {
        return None;
    }
    cures.sort_by_key(|cure| !off(cure));
    Some(GATHERS_TOO.into())
}
