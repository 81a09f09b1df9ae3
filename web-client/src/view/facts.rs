//! The line that says what is measuring; each fact can be asked for its meaning.

use leptos::prelude::*;

use crate::model::{Activity, Model};
use crate::view::parts::text;
use crate::words;

/// The facts, each a short text that opens into a sentence.
#[component]
pub(crate) fn Facts(model: Model) -> impl IntoView {
    let browser = model.browser();
    let isolated = if browser.isolated { "isolated" } else { "not isolated" };
    let name = format!("{} {}", words::engine(&browser.name), browser.version);
    let step = format!("clock step {}", words::fine(browser.clock_step_us));
    let of_lanes = move |with: fn(&measure::page::Lanes) -> String| {
        text(move || model.see(|state| state.lanes.as_ref().map_or(words::NONE.into(), with)))
    };
    let facts = vec![
        fact(
            text(move || name.clone()),
            "The browser that reads the streams, as its user agent tells it.",
        ),
        fact(
            text(move || isolated.into()),
            "A cross-origin isolated page gets the browser's fine clock; any other page a coarse one.",
        ),
        fact(
            text(move || step.clone()),
            "The smallest step of this page's clock that was seen when it was opened. No figure \
             has more digits than that.",
        ),
        fact(
            text(move || {
                let clock = model.see(|state| state.clock);
                let off =
                    clock.map_or(words::NONE.into(), |clock| words::fine(clock.uncertainty_us));
                format!("clock ± {off}")
            }),
            "Page and emitter have clocks of their own. Before every run they are compared by a \
             dozen round trips; half of the shortest one is how far the comparison may be off.",
        ),
        fact(
            of_lanes(|lanes| match lanes.mss {
                Some(bytes) => format!("segment {bytes} B"),
                None => "segment of loopback".into(),
            }),
            "The payload of a TCP segment on the way to the proxies. 1448 bytes is Ethernet's; \
             loopback's own is about 65 KB, and hides what a real network shows.",
        ),
        fact(
            of_lanes(|lanes| format!("emitter {}", lanes.version)),
            "The program that plays the streams and notes when each frame was written.",
        ),
        fact(
            of_lanes(|lanes| {
                let load = lanes.load.map_or(String::new(), |load| format!(", load {load:.1}"));
                format!("{}, {}{load}", lanes.kernel, words::count(lanes.cpus, "CPU"))
            }),
            "Where emitter and proxies run. A busy machine is late by itself: guards exclude such \
             runs and say so.",
        ),
        fact(
            text(move || {
                model.see(|state| match state.activity {
                    Activity::WarmingUp => "warming up".into(),
                    _ => "warmed up".into(),
                })
            }),
            "The first stream after a page has loaded may be late for reasons of the browser's \
             own. One short stream on the direct lane is played and thrown away before the first run.",
        ),
    ];
    view! { <ul class="facts" aria-label="What is measuring">{facts}</ul> }
}

fn fact(text: Signal<String>, meaning: &'static str) -> AnyView {
    view! {
        <li>
            <details name="fact">
                <summary>{text}</summary>
                <p>{meaning}</p>
            </details>
        </li>
    }
    .into_any()
}
