//! The settings, closed until wanted. Every field is a parameter of the address: what is typed is
//! read by the same code as the address itself, and a link carries it.

mod form;

use js_sys::Reflect;
use measure::cell::DIRECT;
use measure::page::Settings;
use measure::script::{Body, Framing, Header};
use measure::transport::ClientProtocol;
use measure::{Reader, Script};
use wasm_bindgen::JsValue;
use web_sys::Element;

use crate::browser;
use crate::model::{Boot, Model, State};
use crate::takeaway::source;
use crate::view::markup::filled;
use crate::view::place::{By, effect, find, put};
use crate::words;

/// The header that asks nginx, and only nginx, not to buffer.
const ACCEL: &str = "X-Accel-Buffering";

/// Parameters of the address that describe the stream.
const STREAM: [&str; 7] = measure::script::PARAMETERS;

/// Those of them that only frames of one size at one interval have.
const PACE: [&str; 3] = ["frames", "interval_ms", "frame_bytes"];

/// Readers in the order in which they take turns.
const READERS: [(Reader, &str); 4] = [
    (Reader::Eventsource, "EventSource"),
    (Reader::Fetch, "fetch"),
    (Reader::FetchWorker, "fetch in a worker"),
    (Reader::Recv, "confirmed natively"),
];

/// What the fields show.
struct Shown<'a> {
    settings: &'a Settings,
    /// The stream that is played, where the plan has one alone.
    script: Option<Script>,
    /// The endpoints that take part.
    endpoints: Vec<String>,
}

impl Shown<'_> {
    fn of(state: &State) -> Shown<'_> {
        Shown::of_settings(&state.settings, state)
    }

    fn of_settings<'a>(settings: &'a Settings, state: &State) -> Shown<'a> {
        let plan = state.lanes.as_ref().and_then(|lanes| settings.plan(lanes).ok());
        let mut script = settings.script.clone();
        if let Some(plan) = plan {
            let mut scripts = plan.cells.iter().map(|cell| &cell.script);
            let first = scripts.next();
            if scripts.all(|other| Some(other) == first) {
                script = first.cloned();
            }
        }
        // One that is down takes part all the same, and says so in its lane.
        let endpoints = settings.names().unwrap_or_default();
        Shown { settings, script, endpoints }
    }

    /// A parameter of the stream; nothing where there are several streams.
    fn of_stream(&self, key: &str) -> String {
        let query = self.script.as_ref().and_then(Script::to_query).unwrap_or_default();
        query.into_iter().find(|(own, _)| *own == key).map(|(_, value)| value).unwrap_or_default()
    }

    fn value(&self, key: &str) -> String {
        let settings = self.settings;
        match key {
            "preset" => settings.preset.clone(),
            "framing" => match self.script.as_ref().map(|script| script.framing) {
                Some(Framing::Close) => "close".into(),
                _ => "chunked".into(),
            },
            "header" => self.headers().find(|own| !is_accel(own)).map(line).unwrap_or_default(),
            "mss" => match settings.mss {
                None => String::new(),
                Some(None) => "loopback".into(),
                Some(Some(bytes)) => bytes.to_string(),
            },
            "runs" => settings.runs.to_string(),
            "seed" => settings.seed.to_string(),
            "protocol" => settings.protocol.map_or("", ClientProtocol::name).into(),
            "busy_ms" => settings.busy.map_or(String::new(), |busy| busy.millis_text()),
            "at_once" => if settings.at_once { "1" } else { "" }.into(),
            _ => self.of_stream(key),
        }
    }

    fn is_checked(&self, what: &str, key: &str) -> bool {
        match what {
            "nagle" => self.script.as_ref().is_some_and(|script| script.nagle),
            "accel" => self.headers().any(is_accel),
            "readers" => self.settings.readers.iter().any(|reader| reader.name() == key),
            _ => key == DIRECT || self.endpoints.iter().any(|name| name == key),
        }
    }

    fn headers(&self) -> impl Iterator<Item = &Header> {
        self.script.iter().flat_map(|script| &script.headers)
    }
}

fn is_accel(header: &Header) -> bool {
    header.name.eq_ignore_ascii_case(ACCEL)
}

fn line(header: &Header) -> String {
    filled("¤: ¤", &[&header.name, &header.value])
}

/// Builds the panel when it is opened, keeps its fields, and keeps the settings in the address.
pub(crate) fn keep(model: Model) {
    effect(Box::new(move || {
        // The address of a page that could not follow it stays to be looked at.
        let follows = model.see(|state| !matches!(state.boot, Boot::BadSettings(_)));
        let query = source::query(model);
        if follows == Some(true) && browser::search().trim_start_matches('?') != query {
            browser::write_search(&query);
        }
    }));
    let mut built: Option<String> = None;
    let mut last: Vec<String> = Vec::new();
    effect(Box::new(move || {
        let open = model.is_panel_open();
        let (Some(panel), Some(button)) = (find(".panel"), find("[data-act=settings]")) else {
            return;
        };
        put(&button, By::Attribute("aria-pressed"), if open { "true" } else { "false" });
        if !open {
            built = None;
            return put(&panel, By::Markup, "");
        }
        model.see(|state| {
            let instance = state.lanes.as_ref().map_or("", |lanes| lanes.instance.as_str());
            if built.as_deref() != Some(instance) {
                built = Some(instance.into());
                last.clear();
                put(&panel, By::Controls, &form::markup(state, &READERS));
            }
            fill(&panel, state, &mut last);
        });
    }));
}

/// Every field of the panel, in its order.
fn fields(panel: &Element) -> Vec<Element> {
    let mut fields = Vec::new();
    if let Ok(list) = panel.query_selector_all("[data-set]") {
        for index in 0..list.length() {
            fields.extend(list.get(index).map(wasm_bindgen::JsCast::unchecked_into::<Element>));
        }
    }
    fields
}

/// Shows what is set, touching only the fields of which something else was shown last: what is
/// being typed, and what could not be followed, stays.
fn fill(panel: &Element, state: &State, last: &mut Vec<String>) {
    if let Some(form) = panel.first_element_child() {
        let class = if state.is_running() { "settings running" } else { "settings" };
        put(&form, By::Attribute("class"), class);
    }
    let shown = Shown::of(state);
    for (index, field) in fields(panel).iter().enumerate() {
        let what = field.get_attribute("data-set").unwrap_or_default();
        let key = field.get_attribute("data-key");
        // The control is in every plan.
        let fixed = state.is_running() || key.as_deref() == Some(DIRECT);
        put(field, By::Flag("disabled"), if fixed { "yes" } else { "" });
        let (by, value) = match key {
            Some(key) if shown.is_checked(&what, &key) => (By::Flag("checked"), "yes".into()),
            Some(_) => (By::Flag("checked"), String::new()),
            None => (By::Value, shown.value(&what)),
        };
        if last.get(index) != Some(&value) {
            put(field, by, &value);
            last.resize(last.len().max(index + 1), String::from("\u{0}"));
            last[index] = value;
        }
        if STREAM.contains(&what.as_str()) {
            let several = if shown.script.is_none() { "several" } else { "" };
            put(field, By::Attribute("placeholder"), several);
        }
    }
}

/// A field was left with something else in it, or Enter was pressed there.
pub(crate) fn changed(model: Model, field: &Element) {
    let Some(what) = field.get_attribute("data-set") else { return };
    let property = |name: &str| Reflect::get(field, &JsValue::from_str(name)).unwrap_or_default();
    let typed = property("value").as_string().unwrap_or_default();
    let key = field.get_attribute("data-key");
    let on = property("checked").is_truthy();
    let said = apply(model, &what, key.as_deref().unwrap_or_default(), typed.trim(), on);
    let said = said.err().map(|why| beside(&why, &what)).unwrap_or_default();
    if key.is_some() && !said.is_empty() {
        // A box shows what is set; a text stays to be corrected.
        put(field, By::Flag("checked"), if on { "" } else { "yes" });
    }
    put(field, By::Attribute("aria-invalid"), if said.is_empty() { "false" } else { "true" });
    let place = field.closest(".field").ok().flatten();
    if let Some(why) = place.and_then(|place| place.query_selector(".why").ok().flatten()) {
        put(&why, By::Text, &said);
    }
}

/// What is wrong, as it is said beside the field: which one it is and what it has, one sees.
fn beside(why: &str, what: &str) -> String {
    let rest = why.strip_prefix(what).filter(|rest| rest.starts_with(" is "));
    let must = rest.and_then(|rest| {
        let at = (0..rest.len()).rev().find(|at| rest.get(*at..).is_some_and(is_demand))?;
        rest.get(at + 2..)
    });
    words::sentence(must.unwrap_or(why))
}

/// Whether a text begins what settings say that a value must be.
fn is_demand(rest: &str) -> bool {
    rest.starts_with(": it ")
}

/// Goes back to the stream that the preset has.
pub(crate) fn own_stream(model: Model) {
    let settings = model.look(|state| Settings { script: None, ..state.settings.clone() });
    if let Some(settings) = settings {
        take(model, settings);
    }
}

/// Applies an edit if what comes out could stand in the address; what was measured under other
/// settings goes.
fn apply(model: Model, what: &str, key: &str, typed: &str, on: bool) -> Result<(), String> {
    let edited = model.look(|state| {
        let query = edited(state, what, key, typed, on)?;
        let pairs: Vec<(&str, &str)> =
            query.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let settings = Settings::from_query(pairs).map_err(|error| error.to_string())?;
        if let Some(lanes) = &state.lanes {
            settings.plan(lanes).map_err(|error| error.to_string())?;
        }
        Ok::<Settings, String>(settings)
    });
    if let Some(settings) = edited.transpose()? {
        take(model, settings);
    }
    Ok(())
}

fn take(model: Model, settings: Settings) {
    if model.look(|state| state.settings == settings) == Some(true) {
        return;
    }
    model.change(|state| state.settings = settings);
    model.reset();
}

/// The address's parameters with one of them edited. A link should open the page, not start it.
fn edited(
    state: &State,
    what: &str,
    key: &str,
    typed: &str,
    on: bool,
) -> Result<Vec<(String, String)>, String> {
    let shown = Shown::of(state);
    let in_stream = STREAM.contains(&what) || what == "accel";
    let mut query: Vec<(String, String)> = Vec::new();
    for (key, value) in state.settings.to_query() {
        // A story is of its own settings, and of no others.
        let stays = match key {
            "go" | "story" => false,
            // A preset comes with its own stream, endpoints and work.
            "endpoints" | "busy_ms" | "protocol" if what == "preset" => false,
            key if STREAM.contains(&key) => !in_stream && what != "preset",
            key => key != what,
        };
        if stays {
            query.push((key.into(), value));
        }
    }
    let mut add = |key: &str, value: &str| query.push((key.into(), value.into()));
    if in_stream {
        // What is played now, with one thing changed.
        let mut script = shown.script.clone().unwrap_or_else(Script::headline);
        if PACE.contains(&what) && matches!(script.body, Body::Writes { .. }) {
            script.body = Script::headline().body;
        }
        for (key, value) in script.to_query().unwrap_or_default() {
            if key != what && key != "header" {
                add(key, &value);
            }
        }
        for header in headers(&script, what, typed, on) {
            add("header", &header);
        }
    }
    match what {
        "accel" | "header" => {}
        "nagle" => add("nagle", if on { "on" } else { "off" }),
        "readers" => add("readers", &readers(&shown, key, on)?),
        "endpoints" => add("endpoints", &endpoints(&shown, state, key, on)),
        // Empty is as if it were not there, where that means something.
        "mss" | "busy_ms" | "at_once" | "seed" | "protocol" if typed.is_empty() => {}
        _ => add(what, typed),
    }
    Ok(query)
}

/// The headers of a script, the one that is asked for on or off, the first other one as typed.
fn headers(script: &Script, what: &str, typed: &str, on: bool) -> Vec<String> {
    let mut accel: Vec<String> = Vec::new();
    let mut others: Vec<String> = Vec::new();
    for header in &script.headers {
        if is_accel(header) { &mut accel } else { &mut others }.push(line(header));
    }
    match what {
        "accel" if on => accel = vec![filled("¤: no", &[ACCEL])],
        "accel" => accel.clear(),
        "header" => {
            if !others.is_empty() {
                others.remove(0);
            }
            if !typed.is_empty() {
                others.insert(0, typed.into());
            }
        }
        _ => {}
    }
    accel.append(&mut others);
    accel
}

fn readers(shown: &Shown<'_>, key: &str, on: bool) -> Result<String, String> {
    let (mut names, mut in_browser) = (String::new(), false);
    for (reader, _) in READERS {
        let wanted =
            if reader.name() == key { on } else { shown.is_checked("readers", reader.name()) };
        if wanted {
            in_browser |= reader.in_browser();
            if !names.is_empty() {
                names.push(',');
            }
            names.push_str(reader.name());
        }
    }
    if in_browser { Ok(names) } else { Err("one of the browser’s own readers must read".into()) }
}

/// The chosen lanes with one of them chosen or left out; nothing for the preset's own.
fn endpoints(shown: &Shown<'_>, state: &State, key: &str, on: bool) -> String {
    let all = state.lanes.as_ref().map(|lanes| lanes.lanes.as_slice()).unwrap_or_default();
    let own = Settings { endpoints: Vec::new(), ..state.settings.clone() };
    let own = Shown::of_settings(&own, state);
    let (mut names, mut is_own) = (String::new(), true);
    for name in all.iter().map(|lane| lane.endpoint.name.as_str()).filter(|name| *name != DIRECT) {
        let wanted = if name == key { on } else { shown.is_checked("endpoints", name) };
        is_own &= wanted == own.is_checked("endpoints", name);
        if wanted {
            if !names.is_empty() {
                names.push(',');
            }
            names.push_str(name);
        }
    }
    match names.as_str() {
        _ if is_own => String::new(),
        // Nobody but the control, which is in every plan.
        "" => DIRECT.into(),
        _ => names,
    }
}
