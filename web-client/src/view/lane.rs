//! One lane: what stands there and what was found, its stream, its figures.

use leptos::prelude::*;
use measure::Span;
use measure::page::Lane;

use crate::model::{LaneModel, LaneState, Model, Row};
use crate::runner;
use crate::view::chart::Chart;
use crate::view::figures::Figures;
use crate::words::{self, Mood};

/// A lane; a way that could not be started is a lane too, and says why.
#[component]
pub(crate) fn LaneView(model: Model, lane: Lane, longest: Memo<Span>) -> impl IntoView {
    let endpoint = lane.endpoint.clone();
    let name = endpoint.name.clone();
    let failed = match (&lane.origin, &endpoint.failed) {
        (_, Some(why)) => Some(why.clone()),
        (None, None) => Some("it did not start".into()),
        (Some(_), None) => None,
    };
    let row = {
        let name = name.clone();
        Memo::new(move |_| model.row(&name, model.reader.get(), model.sight.get()))
    };
    let own = model.lane(&name);
    let software = match (&endpoint.proxy, &endpoint.version) {
        (Some(proxy), Some(version)) => format!("{proxy} {version}"),
        (Some(proxy), None) => proxy.clone(),
        _ => String::new(),
    };
    let streaming = move || {
        own.is_some_and(|own| matches!(own.state.get(), LaneState::Streaming(_)))
    };
    let runs = failed.is_none();
    let run = {
        let name = name.clone();
        move |_| runner::run_lane(model, name.clone())
    };
    let title = format!("lane-{name}");
    view! {
        <article class="lane" class:streaming=streaming aria-labelledby=title.clone()>
            <div class="who">
                <div class="name">
                    <h2 id=title.clone()>{name.clone()}</h2>
                    <span class="label">{endpoint.label.clone()}</span>
                    <Show when=move || runs>
                        <button
                            type="button"
                            class="run"
                            aria-label=format!("Run {name}")
                            title="This lane alone; direct goes first if it has not run yet"
                            disabled=move || !model.may_run()
                            on:click=run.clone()
                        >
                            "Run"
                        </button>
                    </Show>
                </div>
                <p class="software">{software}</p>
                <Finding own failed=failed.clone() row />
            </div>
            <div class="stream">
                {own.map(|own| view! {
                    <Tokens own />
                    <Chart model own row />
                })}
            </div>
            <Figures model row longest />
        </article>
    }
}

/// The verdict in words with its sentence, or what is to be said instead.
#[component]
fn Finding(
    own: Option<LaneModel>,
    failed: Option<String>,
    row: Memo<Option<Row>>,
) -> impl IntoView {
    let found = move || -> (Mood, String, String) {
        if let Some(why) = &failed {
            return (Mood::Bad, "Not running".into(), why.clone());
        }
        if let Some(LaneState::Streaming(reader)) = own.map(|own| own.state.get()) {
            return (Mood::Open, "Streaming".into(), format!("read by {}", words::reader(reader)));
        }
        let Some(row) = row.get() else {
            return (Mood::Open, "Not run yet".into(), String::new());
        };
        let summary = &row.result.summary;
        if summary.runs == 0 && summary.excluded.is_empty() {
            return (Mood::Open, "Not run yet".into(), String::new());
        }
        let (words, mood) = words::verdict(summary.verdict.name);
        (mood, words.into(), words::sentence(&summary.verdict.because))
    };
    let mood = {
        let found = found.clone();
        move || match found().0 {
            Mood::Good => "good",
            Mood::Bad => "bad",
            Mood::Open => "open",
        }
    };
    let (headline, because) = (found.clone(), found);
    let because = Memo::new(move |_| because().2);
    view! {
        <p class="verdict" data-mood=mood>{move || headline().1}</p>
        <p class="because" title=move || because.get()>{move || because.get()}</p>
    }
}

/// The tokens as a chat's reader sees them: the last lines of the text so far.
#[component]
fn Tokens(own: LaneModel) -> impl IntoView {
    let text = move || {
        own.tick.track();
        own.text()
    };
    view! {
        <div class="tokens" aria-hidden="true">
            <p>{text}</p>
        </div>
    }
}
