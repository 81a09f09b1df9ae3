//! The settings, closed until wanted. What is set stands in the address, so that a link carries it.

use leptos::prelude::*;
use measure::arrivals::Reader;
use measure::cell::DIRECT;
use measure::page::Settings;
use measure::script::{Body, Header};
use measure::{Script, Span};

use crate::browser;
use crate::model::{Model, script_of};

/// The header that asks nginx, and only nginx, not to buffer.
const ACCEL: (&str, &str) = ("X-Accel-Buffering", "no");

/// The panel.
#[component]
pub(crate) fn SettingsPanel(model: Model) -> impl IntoView {
    let error = RwSignal::new(None::<String>);
    let busy = move || model.is_running();
    let change = move |edit: &dyn Fn(&mut Settings) -> Result<(), String>| {
        error.set(apply(model, edit).err());
    };
    let paced = move |part: fn(&mut u32, &mut Span, &mut u32, f64)| {
        move |text: String| {
            change(&|settings: &mut Settings| {
                let value: f64 =
                    text.trim().parse().map_err(|_| format!("{text:?} is not a number"))?;
                edit_script(settings, |script| {
                    if let Body::Paced { frames, interval_us, frame_bytes } = &mut script.body {
                        part(frames, interval_us, frame_bytes, value);
                    }
                })
            });
        }
    };
    let body = move |part: fn(u32, Span, u32) -> String| {
        move || match script_of(&model.settings.get()).body {
            Body::Paced { frames, interval_us, frame_bytes } => part(frames, interval_us, frame_bytes),
            Body::Writes { .. } => String::new(),
        }
    };
    let readers = move || model.settings.with(|settings| readers_key(&settings.readers));
    let reader_choice = move |key: &'static str, text: &'static str| {
        view! {
            <option value=key selected=move || readers() == key>
                {text}
            </option>
        }
    };
    view! {
        <form id="settings" class="settings" on:submit=|event| event.prevent_default()>
            <fieldset disabled=busy>
                <legend>"Stream"</legend>
                <Number
                    label="Frames"
                    value=body(|frames, _, _| frames.to_string())
                    set=paced(|frames, _, _, value| *frames = value.max(0.0) as u32)
                />
                <Number
                    label="Interval, ms"
                    value=body(|_, interval, _| format!("{}", interval.as_millis_f64()))
                    set=paced(|_, interval, _, value| *interval = Span((value * 1_000.0).round() as i64))
                />
                <Number
                    label="Frame size, bytes"
                    value=body(|_, _, bytes| bytes.to_string())
                    set=paced(|_, _, bytes, value| *bytes = value.max(0.0) as u32)
                />
                <Check
                    label="Nagle's algorithm at the emitter"
                    value=Signal::derive(move || script_of(&model.settings.get()).nagle)
                    set=move |on| {
                        change(&|settings: &mut Settings| edit_script(settings, |script| script.nagle = on));
                    }
                />
                <Check
                    label="Header X-Accel-Buffering: no"
                    value=Signal::derive(move || script_of(&model.settings.get()).headers.iter().any(is_accel))
                    set=move |on| {
                        change(&|settings: &mut Settings| {
                            edit_script(settings, |script| {
                                script.headers.retain(|header| !is_accel(header));
                                if on {
                                    script.headers.push(Header { name: ACCEL.0.into(), value: ACCEL.1.into() });
                                }
                            })
                        });
                    }
                />
            </fieldset>
            <fieldset disabled=busy>
                <legend>"Plan"</legend>
                <label>
                    <span>"Reader"</span>
                    <select on:change=move |event| {
                        let key = event_target_value(&event);
                        change(&|settings: &mut Settings| {
                            settings.readers = readers_of(&key);
                            Ok(())
                        });
                    }>
                        {reader_choice("fetch", "fetch")}
                        {reader_choice("eventsource", "EventSource")}
                        {reader_choice("eventsource,fetch", "EventSource, then fetch")}
                    </select>
                </label>
                <Number
                    label="Rounds"
                    value=move || model.settings.with(|settings| settings.runs.to_string())
                    set=move |text: String| {
                        change(&|settings: &mut Settings| {
                            settings.runs = text
                                .trim()
                                .parse()
                                .map_err(|_| format!("{text:?} is not a whole number of rounds"))?;
                            Ok(())
                        });
                    }
                />
            </fieldset>
            <fieldset disabled=busy>
                <legend>"Lanes"</legend>
                <div class="endpoints">
                    {move || {
                        endpoint_names(model)
                            .into_iter()
                            .map(|name| view! { <Endpoint model name error /> })
                            .collect_view()
                    }}
                </div>
            </fieldset>
            <p class="error" role="alert">{move || error.get()}</p>
        </form>
    }
}

/// A number that is taken when the field is left or Enter pressed.
#[component]
fn Number(
    label: &'static str,
    value: impl Fn() -> String + Send + Sync + 'static,
    set: impl Fn(String) + 'static,
) -> impl IntoView {
    view! {
        <label>
            <span>{label}</span>
            <input
                type="text"
                inputmode="decimal"
                autocomplete="off"
                prop:value=value
                on:change=move |event| set(event_target_value(&event))
            />
        </label>
    }
}

/// A setting that is on or off.
#[component]
fn Check(
    #[prop(into)] label: String,
    value: Signal<bool>,
    set: impl Fn(bool) + 'static,
) -> impl IntoView {
    view! {
        <label class="check">
            <input
                type="checkbox"
                prop:checked=move || value.get()
                on:change=move |event| set(event_target_checked(&event))
            />
            <span>{label}</span>
        </label>
    }
}

/// Whether a lane takes part; `direct` always does.
#[component]
fn Endpoint(
    model: Model,
    name: String,
    error: RwSignal<Option<String>>,
) -> impl IntoView {
    let own = name.clone();
    let chosen = Signal::derive(move || {
        model.settings.with(|settings| settings.endpoints.is_empty() || settings.endpoints.contains(&own))
    });
    let label = name.clone();
    view! {
        <Check
            label
            value=chosen
            set=move |on| {
                let edited = apply(model, &|settings: &mut Settings| {
                    let all = endpoint_names(model);
                    if settings.endpoints.is_empty() {
                        settings.endpoints.clone_from(&all);
                    }
                    settings.endpoints.retain(|endpoint| *endpoint != name && endpoint != DIRECT);
                    if on {
                        settings.endpoints.push(name.clone());
                    }
                    if settings.endpoints.is_empty() {
                        // Nobody but the control, which is in every plan.
                        settings.endpoints.push(DIRECT.into());
                    } else if settings.endpoints.len() == all.len() {
                        settings.endpoints.clear();
                    }
                    Ok(())
                });
                error.set(edited.err());
            }
        />
    }
}

fn endpoint_names(model: Model) -> Vec<String> {
    model.lanes.with(|lanes| {
        let all = lanes.as_ref().map(|lanes| lanes.lanes.as_slice()).unwrap_or_default();
        all.iter().map(|lane| lane.endpoint.name.clone()).filter(|name| name != DIRECT).collect()
    })
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

fn edit_script(settings: &mut Settings, edit: impl FnOnce(&mut Script)) -> Result<(), String> {
    let mut script = script_of(settings);
    edit(&mut script);
    script.check().map_err(|error| error.to_string())?;
    settings.script = (script != Script::headline()).then_some(script);
    Ok(())
}

/// Applies an edit if what comes out could stand in the address; what was measured under other
/// settings goes.
fn apply(model: Model, edit: &dyn Fn(&mut Settings) -> Result<(), String>) -> Result<(), String> {
    let mut settings = model.settings.get_untracked();
    edit(&mut settings)?;
    let query = settings.to_query();
    let pairs = || query.iter().map(|(key, value)| (*key, value.as_str()));
    let checked = Settings::from_query(pairs()).map_err(|error| error.to_string())?;
    // A link should open the page, not start it.
    let written = pairs().filter(|(key, _)| *key != "go");
    browser::write_search(&browser::encode_query(written));
    model.settings.set(Settings { go: false, ..checked });
    model.reset();
    Ok(())
}
