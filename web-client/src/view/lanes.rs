//! The lanes under one ruler: the same time scale for all.

use leptos::prelude::*;
use measure::cell::DIRECT;
use measure::page::Lane;

use crate::geometry;
use crate::model::{Model, Row, Sight, State};
use crate::view::lane::lane_view;
use crate::view::parts::{choice, part, switch, text};
use crate::words;

/// All lanes, or what is said when there are none.
#[component]
pub(crate) fn Lanes(model: Model) -> impl IntoView {
    // Lanes are made anew only when others are wanted, not at every change of the state.
    let wanted = Memo::new(move |_| model.see(wanted));
    view! {
        <section class="lanes" aria-label="Lanes">
            <Scale model />
            {part(move || {
                let lanes = wanted.get();
                if lanes.is_empty() {
                    return view! {
                        <p class="state">"The emitter offers no lane: start it with holdup demo."</p>
                    }
                    .into_any();
                }
                lanes.into_iter().map(|lane| lane_view(model, &lane)).collect::<Vec<_>>().into_any()
            })}
        </section>
    }
}

fn wanted(state: &State) -> Vec<Lane> {
    let names = &state.settings.endpoints;
    let all = state.lanes.as_ref().map(|lanes| lanes.lanes.as_slice()).unwrap_or_default();
    all.iter()
        .filter(|lane| {
            let name = &lane.endpoint.name;
            names.is_empty() || name == DIRECT || names.contains(name)
        })
        .cloned()
        .collect()
}

/// The ruler, and above the outer columns what they show.
#[component]
fn Scale(model: Model) -> impl IntoView {
    let marks = text(move || {
        let marks = geometry::ruler(model.see(|state| state.domain)).into_iter();
        marks
            .map(|(at, share)| {
                let (left, ms) = (share * 100.0, at.as_micros() / 1_000);
                format!("<span style=\"left:{left:.2}%\">{ms}</span>")
            })
            .collect()
    });
    view! {
        <div class="scale">
            <div class="choices">
                {part(move || sights(model))}
                {part(move || readers(model))}
            </div>
            <div class="ruler" aria-hidden="true">
                <span class="unit">"ms"</span>
                // Numbers only.
                <div class="marks" inner_html=marks></div>
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
fn sights(model: Model) -> AnyView {
    let (both, sight) = model.see(|state| {
        let has = |sight| state.rows.iter().any(|row: &Row| row.sight() == sight && row.has_run());
        (has(Sight::InTurn) && has(Sight::AtOnce), state.sight)
    });
    if !both {
        let text = match sight {
            Sight::InTurn => "one stream at a time",
            Sight::AtOnce => "all lanes at once: shown, not pooled",
        };
        return quiet(text.into());
    }
    let one = move |own: Sight, text: &'static str| {
        let down = move || model.see(|state| state.sight == own);
        choice(text, down, move || model.change(|state| state.sight = own))
    };
    let choices = vec![one(Sight::InTurn, "one at a time"), one(Sight::AtOnce, "all at once")];
    switch("Which runs are shown", choices)
}

/// Whose figures are shown, where two readers take turns.
fn readers(model: Model) -> AnyView {
    let (readers, now) = model.see(|state| (state.settings.readers.clone(), state.reader));
    if readers.len() < 2 {
        return quiet(format!("by {}", words::reader(now)));
    }
    let choices = readers
        .into_iter()
        .map(|own| {
            let down = move || model.see(|state| state.reader == own);
            choice(words::reader(own), down, move || model.change(|state| state.reader = own))
        })
        .collect();
    switch("Reader", choices)
}

fn quiet(text: String) -> AnyView {
    view! { <span class="quiet">{text}</span> }.into_any()
}
