//! The settings, closed until wanted. What is set stands in the address, so that a link carries it.

use js_sys::Reflect;
use measure::arrivals::Reader;
use measure::cell::DIRECT;
use measure::page::Settings;
use measure::script::{Body, Header};
use measure::{Script, Span};
use wasm_bindgen::JsValue;
use web_sys::Element;

use crate::browser;
use crate::model::{Model, State, script_of};
use crate::view::markup::escaped;
use crate::view::place::{By, Place, Scene, effect, find, follow, put};

/// The header that asks nginx, and only nginx, not to buffer.
const ACCEL: (&str, &str) = ("X-Accel-Buffering", "no");

const STREAM: &str = "<form id=\"settings\" class=\"settings\">\
    <fieldset><legend>Stream</legend>\
    <label><span>Frames</span><input type=\"text\" inputmode=\"decimal\" autocomplete=\"off\" \
    data-set=\"frames\"></label>\
    <label><span>Interval, ms</span><input type=\"text\" inputmode=\"decimal\" \
    autocomplete=\"off\" data-set=\"interval\"></label>\
    <label><span>Frame size, bytes</span><input type=\"text\" inputmode=\"decimal\" \
    autocomplete=\"off\" data-set=\"bytes\"></label>\
    <label class=\"check\"><input type=\"checkbox\" data-set=\"nagle\">\
    <span>Nagle's algorithm at the emitter</span></label>\
    <label class=\"check\"><input type=\"checkbox\" data-set=\"accel\">\
    <span>Header X-Accel-Buffering: no</span></label></fieldset>\
    <fieldset><legend>Plan</legend><label><span>Reader</span><select data-set=\"readers\">\
    <option value=\"fetch\">fetch</option><option value=\"eventsource\">EventSource</option>\
    <option value=\"eventsource,fetch\">EventSource, then fetch</option></select></label>\
    <label><span>Rounds</span><input type=\"text\" inputmode=\"decimal\" autocomplete=\"off\" \
    data-set=\"rounds\"></label></fieldset><fieldset><legend>Lanes</legend>";

const PLACES: &[Place] = &[
    ("fieldset:nth-of-type(1)", By::Flag("disabled"), running),
    ("fieldset:nth-of-type(2)", By::Flag("disabled"), running),
    ("fieldset:nth-of-type(3)", By::Flag("disabled"), running),
    ("[data-set=frames]", By::Value, |scene| paced(scene, |body| body.0.to_string())),
    ("[data-set=interval]", By::Value, |scene| paced(scene, |body| body.1.millis_text())),
    ("[data-set=bytes]", By::Value, |scene| paced(scene, |body| body.2.to_string())),
    ("[data-set=nagle]", By::Flag("checked"), |scene| flag(scene.state.script().nagle)),
    ("[data-set=accel]", By::Flag("checked"), |scene| {
        flag(scene.state.script().headers.iter().any(is_accel))
    }),
    ("[data-set=readers]", By::Value, |scene| match scene.state.settings.readers.as_slice() {
        [Reader::Eventsource] => "eventsource".into(),
        [Reader::Eventsource, Reader::Fetch] => "eventsource,fetch".into(),
        _ => "fetch".into(),
    }),
    ("[data-set=rounds]", By::Value, |scene| scene.state.settings.runs.to_string()),
];

/// Builds the panel when it is opened and takes it away when it is closed.
pub(crate) fn keep(model: Model) {
    effect(Box::new(move || {
        let open = model.is_panel_open();
        let (Some(panel), Some(button)) = (find(".panel"), find("[data-act=settings]")) else {
            return;
        };
        put(&button, By::Attribute("aria-pressed"), if open { "true" } else { "false" });
        if !open {
            put(&panel, By::Markup, "");
            return;
        }
        model.track_shape();
        put(&panel, By::Controls, &markup(&model.look(names_and_chosen).unwrap_or_default()));
        follow(model, &panel, PLACES);
    }));
}

fn markup(lanes: &[(String, bool)]) -> String {
    let mut form = String::from(STREAM);
    for (name, chosen) in lanes {
        let (name, checked) = (escaped(name), if *chosen { "\" checked>" } else { "\">" });
        for part in [
            "<label class=\"check\"><input type=\"checkbox\" data-set=\"lane\" id=\"choose-",
            &name,
            "\" data-key=\"",
            &name,
            checked,
            "<span>",
            &name,
            "</span></label>",
        ] {
            form.push_str(part);
        }
    }
    form.push_str("</fieldset><p class=\"error\" role=\"alert\"></p></form>");
    form
}

fn flag(on: bool) -> String {
    if on { "yes".into() } else { String::new() }
}

fn running(scene: &Scene<'_>) -> String {
    flag(scene.state.is_running())
}

/// Frames, interval and frame size of a paced script.
type Paced = (u32, Span, u32);

fn paced(scene: &Scene<'_>, say: fn(Paced) -> String) -> String {
    match scene.state.script().body {
        Body::Paced { frames, interval_us, frame_bytes } => say((frames, interval_us, frame_bytes)),
        Body::Writes { .. } => String::new(),
    }
}

/// The lanes that can be chosen, and whether they are.
fn names_and_chosen(state: &State) -> Vec<(String, bool)> {
    let chosen = &state.settings.endpoints;
    let mut names = Vec::new();
    for lane in state.lanes.as_ref().map(|lanes| lanes.lanes.as_slice()).unwrap_or_default() {
        let name = &lane.endpoint.name;
        if name != DIRECT {
            names.push((name.clone(), chosen.is_empty() || chosen.contains(name)));
        }
    }
    names
}

/// A field was left with something else in it, or Enter was pressed there.
pub(crate) fn changed(model: Model, field: &Element) {
    let Some(what) = field.get_attribute("data-set") else { return };
    let property = |name: &str| Reflect::get(field, &JsValue::from_str(name)).unwrap_or_default();
    let typed = property("value").as_string().unwrap_or_default();
    let on = property("checked").is_truthy();
    let lane = field.get_attribute("data-key").unwrap_or_default();
    let said = apply(model, &what, &typed, on, &lane).err().unwrap_or_default();
    if let Some(error) = find("#settings .error") {
        put(&error, By::Text, &said);
    }
}

/// Applies an edit if what comes out could stand in the address; what was measured under other
/// settings goes.
fn apply(model: Model, what: &str, typed: &str, on: bool, lane: &str) -> Result<(), String> {
    let Some(mut settings) = model.look(|state| state.settings.clone()) else { return Ok(()) };
    edit(model, &mut settings, what, typed, on, lane)?;
    let query = settings.to_query();
    let pairs: Vec<(&str, &str)> =
        query.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let checked = Settings::from_query(pairs.clone()).map_err(|error| error.to_string())?;
    // A link should open the page, not start it.
    let written: Vec<(&str, &str)> = pairs.into_iter().filter(|(key, _)| *key != "go").collect();
    browser::write_search(&browser::encode_query(&written));
    model.change(|state| state.settings = Settings { go: false, ..checked });
    model.reset();
    Ok(())
}

fn edit(
    model: Model,
    settings: &mut Settings,
    what: &str,
    typed: &str,
    on: bool,
    lane: &str,
) -> Result<(), String> {
    match what {
        "readers" => settings.readers = typed.split(',').filter_map(Reader::from_name).collect(),
        "rounds" => {
            let rounds = typed.trim().parse();
            settings.runs =
                rounds.map_err(|_| format!("{typed:?} is not a whole number of rounds"))?;
        }
        "lane" => choose(settings, &model.look(names_and_chosen).unwrap_or_default(), lane, on),
        _ => {
            let mut script = script_of(settings);
            edit_script(&mut script, what, typed, on)?;
            script.check().map_err(|error| error.to_string())?;
            settings.script = (script != Script::headline()).then_some(script);
        }
    }
    Ok(())
}

fn edit_script(script: &mut Script, what: &str, typed: &str, on: bool) -> Result<(), String> {
    match what {
        "nagle" => script.nagle = on,
        "accel" => {
            script.headers.retain(|header| !is_accel(header));
            if on {
                script.headers.push(Header { name: ACCEL.0.into(), value: ACCEL.1.into() });
            }
        }
        _ => {
            let value = Span::from_millis_text(typed.trim())
                .ok_or_else(|| format!("{typed:?} is not a number"))?;
            let whole = (value.as_micros() / 1_000).clamp(0, i64::from(u32::MAX)) as u32;
            if let Body::Paced { frames, interval_us, frame_bytes } = &mut script.body {
                match what {
                    "frames" => *frames = whole,
                    "interval" => *interval_us = value,
                    _ => *frame_bytes = whole,
                }
            }
        }
    }
    Ok(())
}

/// Chooses a lane or leaves it out; `direct` always takes part.
fn choose(settings: &mut Settings, all: &[(String, bool)], name: &str, on: bool) {
    let chosen = &mut settings.endpoints;
    if chosen.is_empty() {
        chosen.extend(all.iter().map(|(name, _)| name.clone()));
    }
    chosen.retain(|endpoint| endpoint != name && endpoint != DIRECT);
    if on {
        chosen.push(name.into());
    }
    if chosen.is_empty() {
        // Nobody but the control, which is in every plan.
        chosen.push(DIRECT.into());
    } else if chosen.len() == all.len() {
        chosen.clear();
    }
}

fn is_accel(header: &Header) -> bool {
    header.name.eq_ignore_ascii_case(ACCEL.0)
}
