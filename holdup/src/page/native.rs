//! The native reader on behalf of the page: it confirms a lane's path without a browser.
//!
//! One run at a time, only through endpoints of the rig, only scripts that the emitter plays, and
//! only for the page itself: the request needs a header that pages of other origins cannot send.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, TryLockError};

use axum::http::{HeaderMap, StatusCode};
use measure::cell::{DIRECT, HeaderSet};
use measure::script::PARAMETERS;
use measure::transport::ClientProtocol;
use measure::{Arrivals, RunId, Script};
use recv_client::{Ask, Secure};

use crate::runner;

/// The header that only the page's own requests carry: another origin's would be asked about
/// first, and nothing here answers such a question.
const OWN: &str = "holdup-page";

/// Longest `Accept-Encoding` that is passed on, bytes.
const MAX_ENCODING: usize = 100;

/// Where the native reader finds the endpoints.
pub(crate) struct Paths {
    addresses: BTreeMap<String, SocketAddr>,
    emitter: SocketAddr,
    /// Where the emitter itself speaks TLS, and whom the reader believes.
    secure: Option<(SocketAddr, Secure)>,
    /// Held while a run is read: a second one beside it would disturb both.
    reading: Mutex<()>,
}

impl Paths {
    pub(crate) fn new(
        addresses: BTreeMap<String, SocketAddr>,
        emitter: SocketAddr,
        secure: Option<(SocketAddr, Secure)>,
    ) -> Paths {
        Paths { addresses, emitter, secure, reading: Mutex::new(()) }
    }
}

/// Why nothing was read.
type Refusal = (StatusCode, String);

fn bad(why: impl ToString) -> Refusal {
    (StatusCode::BAD_REQUEST, why.to_string())
}

/// Reads one run as the query asks: `run`, `endpoint`, `mss`, `headers`, `accept_encoding`,
/// `protocol`, and the script's own parameters.
pub(crate) async fn read(
    paths: Arc<Paths>,
    query: String,
    headers: &HeaderMap,
) -> Result<Arrivals, Refusal> {
    if !headers.contains_key(OWN) {
        return Err((StatusCode::FORBIDDEN, "only Holdup's own page may ask for this".into()));
    }
    let (run, ask) = asked(&paths, &query)?;
    let reading = tokio::task::spawn_blocking(move || {
        let _alone = match paths.reading.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let why = "another native run is under way: ask again when it has ended";
                return Err((StatusCode::CONFLICT, why.to_string()));
            }
            Ok(alone) => alone,
            // Nothing is kept under the lock that a panic could have left half done.
            Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
        };
        Ok(runner::read(&ask, run))
    });
    reading.await.unwrap_or_else(|error| {
        Err((StatusCode::INTERNAL_SERVER_ERROR, format!("the native run failed: {error}")))
    })
}

fn asked(paths: &Paths, query: &str) -> Result<(RunId, Ask), Refusal> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).map_err(bad)?;
    let of = |key: &str| pairs.iter().find(|(own, _)| own == key).map(|(_, value)| value.as_str());
    let run: RunId = of("run").unwrap_or_default().parse().map_err(bad)?;
    let endpoint = of("endpoint").unwrap_or_default();
    let mut address = *paths
        .addresses
        .get(endpoint)
        .ok_or_else(|| bad(format!("no endpoint called {endpoint:?} runs here")))?;
    let named = of("protocol").unwrap_or(ClientProtocol::Http11.name());
    let protocol = ClientProtocol::from_name(named)
        .ok_or_else(|| bad(format!("no protocol is called {named:?}")))?;
    let secure = paths.secure.as_ref().filter(|_| protocol.is_secure());
    match secure {
        None if protocol.is_secure() => return Err(bad("nothing here speaks TLS")),
        Some((direct, _)) if endpoint == DIRECT => address = *direct,
        _ => {}
    }
    let named = of("headers").unwrap_or("plain");
    let headers = HeaderSet::from_name(named)
        .ok_or_else(|| bad(format!("no header set is called {named:?}")))?;
    let accept_encoding = of("accept_encoding").map(String::from);
    if accept_encoding.as_ref().is_some_and(|text| text.len() > MAX_ENCODING || !text.is_ascii()) {
        return Err(bad("accept_encoding is too long or not ASCII"));
    }
    let segment = match of("mss") {
        None => None,
        Some(text) => text.parse::<crate::cli::Mss>().map_err(bad)?.0,
    };
    let script = pairs
        .iter()
        .filter(|(key, _)| PARAMETERS.contains(&key.as_str()))
        .map(|(key, value)| (key.as_str(), value.as_str()));
    let script = Script::from_query(script).map_err(bad)?;
    let mut ask = Ask::plain(address, runner::path_of(&script, run));
    ask.headers = headers;
    ask.accept_encoding = accept_encoding;
    ask.options.segment = segment;
    ask.secure = secure.map(|(_, secure)| secure.clone());
    ask.http = runner::http(protocol);
    ask.target.origin = format!("http://{}", paths.emitter);
    Ok((run, ask))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths() -> Paths {
        let address = crate::rig::any_port();
        Paths::new([("direct".to_string(), address)].into(), address, None)
    }

    const RUN: &str = "run=000000000000000000000000000000ff";

    #[test]
    fn a_run_is_asked_for_as_the_page_says() {
        let query = format!(
            "{RUN}&endpoint=direct&mss=1448&headers=chromium-fetch&accept_encoding=gzip&frames=3"
        );
        let (run, ask) = asked(&paths(), &query).unwrap();
        assert_eq!(run, RunId(255));
        assert_eq!((ask.headers, ask.options.segment), (HeaderSet::ChromiumFetch, Some(1448)));
        assert_eq!(ask.accept_encoding.as_deref(), Some("gzip"));
    }

    #[test]
    fn what_cannot_be_asked_for_is_refused() {
        for (query, why) in [
            ("endpoint=direct", "run"),
            (&format!("{RUN}&endpoint=nobody"), "no endpoint called \"nobody\" runs here"),
            (&format!("{RUN}&endpoint=direct&mss=4"), "it is loopback or a number"),
            (&format!("{RUN}&endpoint=direct&headers=evil"), "no header set is called"),
            (&format!("{RUN}&endpoint=direct&frames=0"), "frames is 0"),
            (&format!("{RUN}&endpoint=direct&protocol=h9"), "no protocol is called \"h9\""),
            (&format!("{RUN}&endpoint=direct&protocol=h2"), "nothing here speaks TLS"),
            (
                &format!("{RUN}&endpoint=direct&accept_encoding={}", "x".repeat(200)),
                "accept_encoding is too long",
            ),
        ] {
            let (status, said) = asked(&paths(), query).unwrap_err();
            assert_eq!(status, StatusCode::BAD_REQUEST);
            assert!(why == "run" || said.contains(why), "{query}: {said}");
        }
    }

    #[tokio::test]
    async fn only_the_page_itself_may_ask() {
        let refused = read(Arc::new(paths()), String::new(), &HeaderMap::new()).await;
        assert_eq!(refused.unwrap_err().0, StatusCode::FORBIDDEN);
    }
}
