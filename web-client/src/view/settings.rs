//! The settings, closed until wanted. What is set stands in the address, so that a link carries it.

use leptos::prelude::*;
use measure::arrivals::Reader;
use measure::cell::DIRECT;
use measure::page::Settings;
use measure::script::{Body, Header};
use measure::{Script, Span};
use web_sys::Event;

use crate::browser;
use crate::model::{Model, State, script_of};
use crate::view::parts::{flag, text};

/// The header that asks nginx, and only nginx, not to buffer.
const ACCEL: (&str, &str) = ("X-Accel-Buffering", "no");

/// An edit of the settings, or why it cannot be made.
type Edit<'a> = &'a dyn Fn(&mut Settings) -> Result<(), String>;

/// The panel.
#[component]
pub(crate) fn SettingsPanel(model: Model) -> impl IntoView {
    let error = RwSignal::new(String::new());
    let busy = flag(move || model.see(State::is_running));
    let change = move |edit: Edit| error.set(apply(model, edit).err().unwrap_or_default());
    let stream = vec![
        number(
            "Frames",
            text(move || paced(model, |frames, _, _| frames.to_string())),
            Box::new(move |typed| {
                change(&|settings| {
                    set_paced(settings, &typed, |body, value| body.0 = value as u32)
                });
            }),
        ),
        number(
            "Interval, ms",
            text(move || paced(model, |_, interval, _| interval.as_millis_f64().to_string())),
            Box::new(move |typed| {
                change(&|settings| {
                    set_paced(settings, &typed, |body, ms| {
                        body.1 = Span((ms * 1_000.0).round() as i64)
                    })
                });
            }),
        ),
        number(
            "Frame size, bytes",
            text(move || paced(model, |_, _, bytes| bytes.to_string())),
            Box::new(move |typed| {
                change(&|settings| {
                    set_paced(settings, &typed, |body, value| body.2 = value as u32)
                });
            }),
        ),
        check(
            "Nagle's algorithm at the emitter".into(),
            flag(move || model.see(|state| state.script().nagle)),
            Box::new(move |on| {
                change(&|settings| edit_script(settings, &|script| script.nagle = on));
            }),
        ),
        check(
            "Header X-Accel-Buffering: no".into(),
            flag(move || model.see(|state| state.script().headers.iter().any(is_accel))),
            Box::new(move |on| {
                change(&|settings| edit_script(settings, &|script| set_accel(script, on)));
            }),
        ),
    ];
    let plan = vec![
        reader_choice(
            model,
            Box::new(move |key| {
                change(&|settings| {
                    settings.readers = readers_of(&key);
                    Ok(())
                });
            }),
        ),
        number(
            "Rounds",
            text(move || model.see(|state| state.settings.runs.to_string())),
            Box::new(move |typed| {
                change(&|settings| {
                    let rounds = typed.trim().parse();
                    settings.runs =
                        rounds.map_err(|_| format!("{typed:?} is not a whole number of rounds"))?;
                    Ok(())
                });
            }),
        ),
    ];
    let lanes = model.look(endpoint_names).unwrap_or_default().into_iter().map(|name| {
        let (own, label) = (name.clone(), name.clone());
        let chosen = flag(move || {
            model.see(|state| {
                let chosen = &state.settings.endpoints;
                chosen.is_empty() || chosen.contains(&own)
            })
        });
        check(
            label,
            chosen,
            Box::new(move |on| {
                let all = model.look(endpoint_names).unwrap_or_default();
                change(&|settings| {
                    choose(settings, &all, &name, on);
                    Ok(())
                });
            }),
        )
    });
    view! {
        <form id="settings" class="settings" on:submit=|event| event.prevent_default()>
            {group("Stream", busy, stream)}
            {group("Plan", busy, plan)}
            {group("Lanes", busy, lanes.collect())}
            <p class="error" role="alert">{error}</p>
        </form>
    }
}

fn group(legend: &'static str, busy: Signal<bool>, fields: Vec<AnyView>) -> AnyView {
    view! {
        <fieldset disabled=busy>
            <legend>{legend}</legend>
            {fields}
        </fieldset>
    }
    .into_any()
}

/// A number that is taken when the field is left or Enter pressed.
fn number(label: &'static str, value: Signal<String>, set: Box<dyn Fn(String)>) -> AnyView {
    let changed: Box<dyn FnMut(Event)> = Box::new(move |event| set(event_target_value(&event)));
    view! {
        <label>
            <span>{label}</span>
            <input type="text" inputmode="decimal" autocomplete="off" prop:value=value on:change=changed />
        </label>
    }
    .into_any()
}

/// A setting that is on or off.
fn check(label: String, value: Signal<bool>, set: Box<dyn Fn(bool)>) -> AnyView {
    let changed: Box<dyn FnMut(Event)> = Box::new(move |event| set(event_target_checked(&event)));
    view! {
        <label class="check">
            <input type="checkbox" prop:checked=value on:change=changed />
            <span>{label}</span>
        </label>
    }
    .into_any()
}

fn reader_choice(model: Model, set: Box<dyn Fn(String)>) -> AnyView {
    let changed: Box<dyn FnMut(Event)> = Box::new(move |event| set(event_target_value(&event)));
    let options = [
        ("fetch", "fetch"),
        ("eventsource", "EventSource"),
        ("eventsource,fetch", "EventSource, then fetch"),
    ];
    let options = options.map(|(key, name)| {
        let chosen = flag(move || model.see(|state| readers_key(&state.settings.readers) == key));
        view! { <option value=key prop:selected=chosen>{name}</option> }.into_any()
    });
    view! {
        <label>
            <span>"Reader"</span>
            <select on:change=changed>{Vec::from(options)}</select>
        </label>
    }
    .into_any()
}

/// Chooses a lane or leaves it out; `direct` always takes part.
fn choose(settings: &mut Settings, all: &[String], name: &str, on: bool) {
    let chosen = &mut settings.endpoints;
    if chosen.is_empty() {
        *chosen = all.to_vec();
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

fn set_accel(script: &mut Script, on: bool) {
    script.headers.retain(|header| !is_accel(header));
    if on {
        script.headers.push(Header { name: ACCEL.0.into(), value: ACCEL.1.into() });
    }
}

/// Frames, interval and frame size of a paced script.
type Paced = (u32, Span, u32);

fn paced(model: Model, say: fn(u32, Span, u32) -> String) -> String {
    match model.see(State::script).body {
        Body::Paced { frames, interval_us, frame_bytes } => say(frames, interval_us, frame_bytes),
        Body::Writes { .. } => String::new(),
    }
}

fn set_paced(settings: &mut Settings, typed: &str, set: fn(&mut Paced, f64)) -> Result<(), String> {
    let value: f64 = typed.trim().parse().map_err(|_| format!("{typed:?} is not a number"))?;
    edit_script(settings, &|script| {
        if let Body::Paced { frames, interval_us, frame_bytes } = &mut script.body {
            let mut body = (*frames, *interval_us, *frame_bytes);
            set(&mut body, value);
            (*frames, *interval_us, *frame_bytes) = body;
        }
    })
}

fn endpoint_names(state: &State) -> Vec<String> {
    let all = state.lanes.as_ref().map(|lanes| lanes.lanes.as_slice()).unwrap_or_default();
    all.iter().map(|lane| lane.endpoint.name.clone()).filter(|name| name != DIRECT).collect()
}

fn is_accel(header: &Header) -> bool {
    header.name.eq_ignore_ascii_case(ACCEL.0)
}

fn readers_key(readers: &[Reader]) -> String {
    readers.iter().map(|reader| reader.name()).collect::<Vec<_>>().join(",")
}

fn readers_of(key: &str) -> Vec<Reader> {
    key.split(',').filter_map(Reader::from_name).collect()
}

fn edit_script(settings: &mut Settings, edit: &dyn Fn(&mut Script)) -> Result<(), String> {
    let mut script = script_of(settings);
    edit(&mut script);
    script.check().map_err(|error| error.to_string())?;
    settings.script = (script != Script::headline()).then_some(script);
    Ok(())
}

/// Applies an edit if what comes out could stand in the address; what was measured under other
/// settings goes.
fn apply(model: Model, edit: Edit) -> Result<(), String> {
    let mut settings = model.look(|state| state.settings.clone()).unwrap_or_default();
    edit(&mut settings)?;
    let query = settings.to_query();
    let pairs: Vec<(&str, &str)> =
        query.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let checked = Settings::from_query(pairs.clone()).map_err(|error| error.to_string())?;
    // A link should open the page, not start it.
    let written = pairs.into_iter().filter(|(key, _)| *key != "go");
    browser::write_search(&browser::encode_query(&written.collect::<Vec<_>>()));
    model.change(|state| state.settings = Settings { go: false, ..checked });
    model.reset();
    Ok(())
}
