//! The form: what is asked, where, with which key, on which way.

use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, HtmlInputElement, HtmlTextAreaElement};

use super::ask::{Fields, KEY_HEADERS, SHAPES};
use crate::api;
use crate::view::markup::{filled, joined};
use crate::view::place::{By, find, put};

/// A paced answer of the emitter's own chat route: 40 words, 50 ms apart.
const EXAMPLE: &str = "/v1/chat/completions?tokens=40&interval_ms=50";
/// The lane that holds a stream without a word of configuration against it.
const HOLDING: &str = "haproxy";
/// What it is asked.
const PROMPT: &str = "Who is holding up my tokens?";
const MODEL: &str = "demo";

/// A field with its name above it and its fault below it.
fn field(name: &str, id: &str, control: &str) -> String {
    filled(
        "<div class=\"field\"><label for=\"ask-¤\">¤</label>¤<p class=\"why\" id=\"why-¤\"></p></div>",
        &[id, name, control, id],
    )
}

fn options(pairs: &[(&str, &str)]) -> String {
    pairs
        .iter()
        .map(|(value, name)| joined(&["<option value=\"", value, "\">", name, "</option>"]))
        .collect()
}

/// The form's markup.
pub fn markup() -> String {
    let text = |id: &str, more: &str| {
        joined(&[
            "<input type=\"text\" id=\"ask-",
            id,
            "\" autocomplete=\"off\" spellcheck=\"false\" ",
            more,
            ">",
        ])
    };
    let area = |id: &str, rows: &str, more: &str| {
        joined(&[
            "<textarea id=\"ask-",
            id,
            "\" rows=\"",
            rows,
            "\" spellcheck=\"false\" ",
            more,
            "></textarea>",
        ])
    };
    let keys = KEY_HEADERS.map(|name| (name, name));
    let select = |id: &str, pairs: &[(&str, &str)]| {
        joined(&["<select id=\"ask-", id, "\">", &options(pairs), "</select>"])
    };
    let ways = [
        ("gateway", "through the gateway: wire and page"),
        ("direct", "directly from this browser: page only"),
    ];
    let whats = [("prompt", "model and prompts"), ("body", "a whole body")];
    joined(&[
        "<form class=\"asks\" autocomplete=\"off\" aria-label=\"What is asked\">",
        &field(
            "Address",
            "address",
            &text("address", "inputmode=\"url\" placeholder=\"https://HOST/v1/chat/completions\""),
        ),
        &field("Race it with (empty for none)", "other", &text("other", "inputmode=\"url\"")),
        "<label class=\"check\"><input type=\"checkbox\" id=\"ask-same\">both lead to the same service</label>",
        &field("Way", "way", &select("way", &ways)),
        &field("Shape of the answer", "shape", &select("shape", &SHAPES)),
        &field("What to send", "what", &select("what", &whats)),
        "<div class=\"by-prompt\">",
        &field("Model", "model", &text("model", "")),
        &field("Prompts, one a line", "prompts", &area("prompts", "3", "")),
        "</div><div class=\"by-body\" hidden>",
        &field(
            "Body",
            "body",
            &area("body", "7", "placeholder='{\"model\": …, \"stream\": true, …}'"),
        ),
        "</div><div class=\"pair\">",
        &field(
            "API key",
            "key",
            "<input type=\"password\" id=\"ask-key\" autocomplete=\"off\" spellcheck=\"false\">",
        ),
        &field("In header", "key_header", &select("key_header", &keys)),
        "</div>",
        "<p class=\"hint\">The key stays in this page’s memory: it is in no address, file or log.</p>",
        "<div class=\"pair narrow\">",
        &field("More headers, Name: value", "headers", &area("headers", "1", "")),
        &field("Times each", "repeats", &text("repeats", "inputmode=\"numeric\" value=\"1\"")),
        "</div>",
        "</form>",
    ])
}

/// Makes an element's part of the form visible, or not.
pub fn show_part() {
    let body = value("what") == "body";
    for (selector, hidden) in [(".by-prompt", body), (".by-body", !body)] {
        if let Some(element) = find(selector) {
            put(&element, By::Flag("hidden"), if hidden { "yes" } else { "" });
        }
    }
}

/// A field's value. Whatever has a `value` is asked by that name.
fn value(id: &str) -> String {
    let Some(element) = find(&["#ask-", id].concat()) else { return String::new() };
    if let Some(input) = element.dyn_ref::<HtmlInputElement>() {
        return input.value();
    }
    if let Some(area) = element.dyn_ref::<HtmlTextAreaElement>() {
        return area.value();
    }
    let value = js_sys::Reflect::get(&element, &"value".into()).unwrap_or_default();
    value.as_string().unwrap_or_default()
}

fn set(id: &str, value: &str) {
    if let Some(element) = find(&["#ask-", id].concat()) {
        put(&element, By::Value, value);
    }
}

fn checkbox(id: &str) -> Option<HtmlInputElement> {
    find(&["#ask-", id].concat())?.dyn_into().ok()
}

/// Puts the focus into a field, and so brings it into sight.
pub fn focus(id: &str) {
    if let Some(field) = find(&["#ask-", id].concat()) {
        // What cannot be focused is left alone.
        let _ = field.unchecked_into::<HtmlElement>().focus();
    }
}

/// What the form holds.
pub fn fields() -> Fields {
    Fields {
        addresses: [value("address"), value("other")],
        same: checkbox("same").is_some_and(|checkbox| checkbox.checked()),
        shape: value("shape"),
        model: value("model"),
        prompts: value("prompts"),
        body: (value("what") == "body").then(|| value("body")),
        headers: value("headers"),
        key: value("key"),
        key_header: value("key_header"),
        direct: value("way") == "direct",
        repeats: value("repeats").trim().parse().unwrap_or(1),
    }
}

/// Fills in an example that one click shows: the emitter's chat route through a lane that holds,
/// raced with the same route without it. Says why there is none.
pub async fn example() -> Result<(), String> {
    let lanes = api::lanes().await.map_err(|error| error.to_string())?;
    let origin = |name: &str| {
        let lane = lanes.lanes.iter().find(|lane| lane.endpoint.name == name);
        let lane = lane.filter(|lane| lane.endpoint.failed.is_none())?;
        let way = lane.ways.iter().find(|way| way.mss == lanes.mss);
        way.or(lane.ways.first()).map(|way| way.origin.clone())
    };
    let addresses = [origin(HOLDING), origin("direct")];
    let mut filled = addresses.iter().flatten();
    if let Some(first) = filled.next() {
        set("address", &[first, EXAMPLE].concat());
    }
    if let Some(second) = filled.next() {
        set("other", &[second, EXAMPLE].concat());
    }
    if let Some(checkbox) = checkbox("same") {
        checkbox.set_checked(addresses.iter().all(Option::is_some));
    }
    set("model", MODEL);
    set("prompts", PROMPT);
    Ok(())
}

/// Another address is another service until somebody says otherwise.
pub fn readdressed() {
    if let Some(checkbox) = checkbox("same") {
        checkbox.set_checked(false);
    }
}
