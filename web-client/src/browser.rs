//! The browser around us: its clock, its name, chance, and the page's address.

use std::pin::Pin;

use measure::results::Browser;
use measure::{RunId, Span};
use wasm_bindgen::JsValue;

/// How long the clock's step is looked for, at most: a coarse clock steps once a millisecond.
const STEP_SEARCH_US: i64 = 15_000;
/// Steps after which the smallest one is known well enough.
const STEPS_WANTED: u32 = 40;

thread_local! {
    static PERFORMANCE: Option<web_sys::Performance> = web_sys::window().and_then(|w| w.performance());
}

/// The page's own monotonic clock, microseconds since its time origin.
pub fn now_us() -> i64 {
    PERFORMANCE
        .with(|clock| clock.as_ref().map_or(0, |clock| (clock.now() * 1_000.0).round() as i64))
}

/// Keeps the page's thread busy for that long, on purpose.
pub fn work(time: Option<Span>) {
    let Some(time) = time else { return };
    let until = now_us() + time.as_micros();
    while now_us() < until {}
}

/// The protocol that the page's timeline names for a stream that has ended; absent where the
/// browser does not tell.
pub fn protocol_of(url: &str) -> Option<String> {
    PERFORMANCE.with(|clock| {
        let entry = clock.as_ref()?.get_entries_by_name(url).get(0);
        let name = JsValue::from_str("nextHopProtocol");
        let protocol = js_sys::Reflect::get(&entry, &name).ok()?.as_string()?;
        Some(protocol).filter(|protocol| !protocol.is_empty())
    })
}

/// Empties the timeline of requests: the browser keeps only so many, and then drops new ones.
pub fn clear_requests() {
    PERFORMANCE.with(|clock| {
        if let Some(clock) = clock {
            clock.clear_resource_timings();
        }
    });
}

/// Leaves a mark in the page's performance timeline.
pub fn mark(name: &str) {
    PERFORMANCE.with(|clock| {
        // A mark that cannot be set loses a line in a profiler, nothing else.
        let _ = clock.as_ref().map(|clock| clock.mark(name));
    });
}

/// A run's identity from the browser's own source of chance.
///
/// # Errors
/// When the browser refuses random numbers.
pub fn run_id() -> Result<RunId, String> {
    let mut bytes = [0; 16];
    web_sys::window()
        .ok_or("there is no window")?
        .crypto()
        .and_then(|crypto| crypto.get_random_values_with_u8_array(&mut bytes))
        .map_err(|error| describe(&error))?;
    Ok(RunId(u128::from_be_bytes(bytes)))
}

/// The browser as this page sees it.
pub fn browser() -> Browser {
    let window = web_sys::window();
    let agent = window.as_ref().and_then(|w| w.navigator().user_agent().ok()).unwrap_or_default();
    let (name, version) = name_of(&agent);
    Browser { name: name.into(), version, isolated: is_isolated(), clock_step_us: clock_step_us() }
}

/// Whether this page is cross-origin isolated, and so has the browser's fine clock.
fn is_isolated() -> bool {
    let name = JsValue::from_str("crossOriginIsolated");
    js_sys::Reflect::get(&js_sys::global(), &name).is_ok_and(|value| value.is_truthy())
}

/// Engine and version out of a user agent: the engine is what shapes the figures.
pub fn name_of(agent: &str) -> (&'static str, String) {
    let after = |token: &str| {
        // Searched place by place: the standard search is as large as the rest of this file.
        let rest = (0..agent.len()).find_map(|at| agent.get(at..)?.strip_prefix(token))?;
        let mut version =
            rest.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
        // Browsers freeze all but the first number; the zeros say nothing.
        while let Some(shorter) = version.strip_suffix(".0").or(version.strip_suffix('.')) {
            version = shorter;
        }
        Some(version.to_string())
    };
    let known = [
        ("firefox", "Firefox/"),
        ("chromium", "Chrome/"),
        ("webkit", "Version/"),
        ("webkit", "AppleWebKit/"),
    ];
    known
        .into_iter()
        .find_map(|(name, token)| Some((name, after(token)?)))
        .unwrap_or(("unknown", String::new()))
}

/// The smallest step of the clock that was seen, microseconds.
fn clock_step_us() -> i64 {
    let begin = now_us();
    let (mut last, mut step, mut steps) = (begin, i64::MAX, 0);
    while steps < STEPS_WANTED && last - begin < STEP_SEARCH_US {
        let now = now_us();
        if now > last {
            step = step.min(now - last);
            steps += 1;
            last = now;
        }
    }
    if steps == 0 { 0 } else { step }
}

/// Whether the tab is hidden now.
pub fn is_hidden() -> bool {
    web_sys::window().and_then(|w| w.document()).is_some_and(|document| document.hidden())
}

/// Where this page came from, such as `http://127.0.0.1:4700`.
pub fn origin() -> String {
    web_sys::window().and_then(|w| w.location().origin().ok()).unwrap_or_default()
}

/// The address's query as decoded pairs.
///
/// # Errors
/// The pair that cannot be decoded.
pub fn query_pairs(search: &str) -> Result<Vec<(String, String)>, String> {
    let decode = |text: &str| {
        js_sys::decode_uri_component(&text.replace('+', " "))
            .map(String::from)
            .map_err(|_| format!("{text:?} in the address is not percent-encoded text"))
    };
    let mut pairs = Vec::new();
    for pair in search.trim_start_matches('?').split('&') {
        if !pair.is_empty() {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            pairs.push((decode(key)?, decode(value)?));
        }
    }
    Ok(pairs)
}

/// Pairs as a query, percent-encoded.
pub fn encode_query(pairs: &[(&str, &str)]) -> String {
    let encode = |text: &str| String::from(js_sys::encode_uri_component(text));
    let mut query = String::new();
    for (key, value) in pairs {
        if !query.is_empty() {
            query.push('&');
        }
        query.push_str(&encode(key));
        query.push('=');
        query.push_str(&encode(value));
    }
    query
}

/// The query of this page's address.
pub fn search() -> String {
    web_sys::window().and_then(|w| w.location().search().ok()).unwrap_or_default()
}

/// Writes a query into the address without a new entry in the history.
pub fn write_search(query: &str) {
    let Some(history) = web_sys::window().and_then(|w| w.history().ok()) else { return };
    // An address that cannot be written costs a link to share, not a measurement.
    let _ = history.replace_state_with_url(&JsValue::NULL, "", Some(&format!("?{query}")));
}

/// Runs a task of the page. In a box, so that the code that polls it is there once.
pub fn spawn(task: impl Future<Output = ()> + 'static) {
    let task: Pin<Box<dyn Future<Output = ()>>> = Box::pin(task);
    wasm_bindgen_futures::spawn_local(task);
}

/// Tells a driver, through the document element, what the page is doing.
pub fn set_state(state: &str) {
    let root = web_sys::window().and_then(|w| w.document()).and_then(|d| d.document_element());
    if let Some(root) = root {
        // Only a screenshot waits for it.
        let _ = root.set_attribute("data-state", state);
    }
}

/// What a thrown value says, in one line.
pub fn describe(error: &JsValue) -> String {
    let message = js_sys::Reflect::get(error, &JsValue::from_str("message"))
        .ok()
        .and_then(|message| message.as_string());
    message.or_else(|| error.as_string()).unwrap_or_else(|| format!("{error:?}"))
}
