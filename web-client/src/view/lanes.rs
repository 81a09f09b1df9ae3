//! The lanes under one ruler: the same time scale for all.

use leptos::prelude::*;
use measure::page::Lane;

use crate::geometry;
use crate::model::{Model, Sight};
use crate::view::lane::LaneView;
use crate::words;

/// All lanes, or what is said when there are none.
#[component]
pub(crate) fn Lanes(model: Model) -> impl IntoView {
    let lanes = move || -> Vec<Lane> {
        let wanted = model.settings.with(|settings| settings.endpoints.clone());
        model.lanes.with(|lanes| {
            let all = lanes.as_ref().map(|lanes| lanes.lanes.as_slice()).unwrap_or_default();
            let shown = |lane: &&Lane| {
                let name = &lane.endpoint.name;
                wanted.is_empty() || name == measure::cell::DIRECT || wanted.contains(name)
            };
            all.iter().filter(shown).cloned().collect()
        })
    };
    // The bars of all lanes share a scale: the longest time to a first token.
    let longest = Memo::new(move |_| {
        model.rows.with(|rows| {
            rows.iter().filter_map(|row| Some(row.split?.total())).max().unwrap_or_default()
        })
    });
    view! {
        <section class="lanes" aria-label="Lanes">
            <Scale model />
            <For each=lanes key=|lane| (lane.endpoint.name.clone(), lane.origin.clone()) let:lane>
                <LaneView model lane longest />
            </For>
        </section>
        <Show when=move || lanes().is_empty()>
            <p class="state">"The emitter offers no lane: start it with holdup demo."</p>
        </Show>
    }
}

/// The ruler, and above the outer columns what they show.
#[component]
fn Scale(model: Model) -> impl IntoView {
    let marks = move || {
        geometry::ruler(model.domain.get())
            .into_iter()
            .map(|(at, share)| {
                let text = format!("{:.0}", at.as_millis_f64());
                view! { <span style:left=format!("{:.2}%", share * 100.0)>{text}</span> }
            })
            .collect_view()
    };
    view! {
        <div class="scale">
            <div class="choices">
                <Sights model />
                <Readers model />
            </div>
            <div class="ruler" aria-hidden="true">
                <span class="unit">"ms"</span>
                <div class="marks">{marks}</div>
            </div>
            <ul class="legend" aria-label="Parts of the time to the first token">
                <li class="request">"request"</li>
                <li class="path">"path"</li>
                <li class="browser">"browser or page"</li>
            </ul>
        </div>
    }
}

/// One at a time or all at once, where there are rows of both.
#[component]
fn Sights(model: Model) -> impl IntoView {
    let both = move || {
        model.rows.with(|rows| {
            let at_once = rows.iter().filter(|row| row.result.cell.concurrency > 1).count();
            at_once > 0 && at_once < rows.len()
        })
    };
    let choice = move |sight: Sight, text: &'static str| {
        view! {
            <button
                type="button"
                aria-pressed=move || (model.sight.get() == sight).to_string()
                on:click=move |_| model.sight.set(sight)
            >
                {text}
            </button>
        }
    };
    view! {
        <Show
            when=both
            fallback=move || {
                let text = move || match model.sight.get() {
                    Sight::InTurn => "one stream at a time",
                    Sight::AtOnce => "all lanes at once: shown, not pooled",
                };
                view! { <span class="quiet">{text}</span> }
            }
        >
            <div class="switch" role="group" aria-label="Which runs are shown">
                {choice(Sight::InTurn, "one at a time")}
                {choice(Sight::AtOnce, "all at once")}
            </div>
        </Show>
    }
}

/// Whose figures are shown, where two readers take turns.
#[component]
fn Readers(model: Model) -> impl IntoView {
    view! {
        <Show
            when=move || model.settings.with(|settings| settings.readers.len() > 1)
            fallback=move || {
                let text = move || format!("by {}", words::reader(model.reader.get()));
                view! { <span class="quiet">{text}</span> }
            }
        >
            <div class="switch" role="group" aria-label="Reader">
                {move || {
                    model
                        .settings
                        .with(|settings| settings.readers.clone())
                        .into_iter()
                        .map(|reader| {
                            view! {
                                <button
                                    type="button"
                                    aria-pressed=move || (model.reader.get() == reader).to_string()
                                    on:click=move |_| model.reader.set(reader)
                                >
                                    {words::reader(reader)}
                                </button>
                            }
                        })
                        .collect_view()
                }}
            </div>
        </Show>
    }
}
