//! One lane: what stands there and what was found, its stream, its figures.

use leptos::prelude::*;
use measure::page::Lane;
use measure::results::Endpoint;

use crate::model::{LaneModel, Model, State};
use crate::runner;
use crate::view::chart::chart;
use crate::view::figures::figures;
use crate::view::parts::{Button, flag, text};
use crate::words::{self, Mood};

/// A lane; a way that could not be started is a lane too, and says why.
pub(crate) fn lane_view(model: Model, lane: &Lane) -> AnyView {
    let endpoint = &lane.endpoint;
    let name = endpoint.name.clone();
    let failed = match (&lane.origin, &endpoint.failed) {
        (_, Some(why)) => Some(why.clone()),
        (None, None) => Some("it did not start".into()),
        (Some(_), None) => None,
    };
    let run = failed.is_none().then(|| run_button(model, &name));
    let own = model.lane(&name);
    let stream = own.filter(|_| failed.is_none()).map(|own| stream(model, own, name.clone()));
    let title = format!("lane-{name}");
    view! {
        <article class="lane" aria-labelledby=title.clone()>
            <div class="who">
                <div class="name">
                    <h2 id=title.clone()>{name.clone()}</h2>
                    <span class="label">{label(endpoint)}</span>
                    {run}
                </div>
                {finding(model, own, name.clone(), failed)}
            </div>
            <div class="stream">{stream}</div>
            {figures(model, name)}
        </article>
    }
    .into_any()
}

fn run_button(model: Model, name: &str) -> AnyView {
    let own = name.to_string();
    let title = format!("Run {name} alone; direct goes first if it has not run yet");
    let enabled = flag(move || model.see(State::may_run));
    Button { class: "run", ..Button::new("Run", &title, enabled) }
        .does(move || runner::run_lane(model, own.clone()))
}

/// What runs there and the one setting that makes it special.
fn label(endpoint: &Endpoint) -> String {
    // Configuration words come in backticks, for tables in Markdown.
    let setting = endpoint.label.replace('`', "");
    match (&endpoint.proxy, &endpoint.version) {
        (Some(proxy), Some(version)) => format!("{proxy} {version}, {setting}"),
        _ => setting,
    }
}

/// The verdict in words with its sentence, or what is to be said instead.
fn finding(model: Model, own: Option<LaneModel>, name: String, failed: Option<String>) -> AnyView {
    let found = move || -> (Mood, String, String) {
        if let Some(why) = &failed {
            return (Mood::Bad, "Not running".into(), words::sentence(why));
        }
        if let Some(own) = own {
            own.track();
            if let Some(reader) = own.streaming() {
                return (
                    Mood::Open,
                    "Streaming".into(),
                    format!("Read by {}.", words::reader(reader)),
                );
            }
        }
        model.see(|state| match state.row(&name).filter(|row| row.has_run()) {
            Some(row) => {
                let (words, mood) = words::verdict(row.result.summary.verdict.name);
                (mood, words.into(), words::because(row))
            }
            None => (Mood::Open, "Not run yet".into(), String::new()),
        })
    };
    let found = StoredValue::new(found);
    let mood = text(move || {
        let mood = match found.with_value(|found| found()).0 {
            Mood::Good => "good",
            Mood::Bad => "bad",
            Mood::Open => "open",
        };
        mood.into()
    });
    let because = text(move || found.with_value(|found| found()).2);
    view! {
        <p class="verdict" data-mood=mood>{text(move || found.with_value(|found| found()).1)}</p>
        <p class="because" title=because>{because}</p>
    }
    .into_any()
}

/// The tokens as a chat's reader sees them, the last lines of the text so far, over the chart.
fn stream(model: Model, own: LaneModel, name: String) -> AnyView {
    let tokens = text(move || {
        own.track();
        own.text()
    });
    view! {
        <div class="tokens" aria-hidden="true">
            <p>{tokens}</p>
        </div>
        {chart(model, own, name)}
    }
    .into_any()
}
