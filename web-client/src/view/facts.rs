//! The line that says what is measuring; each fact can be asked for its meaning.

use leptos::prelude::*;

use crate::model::{Activity, Model};
use crate::words;

/// The facts, each a short text that opens into a sentence.
#[component]
pub(crate) fn Facts(model: Model) -> impl IntoView {
    let browser = model.browser.get_value();
    let name = format!("{} {}", words::engine(&browser.name), browser.version);
    let isolated = if browser.isolated { "isolated" } else { "not isolated" };
    let step = format!("clock step {}", words::fine(browser.clock_step_us));
    let clock = move || match model.clock.get() {
        Some(clock) => format!("clock ± {}", words::fine(clock.uncertainty_us)),
        None => format!("clock ± {}", words::NONE),
    };
    let lanes = move |with: fn(&measure::page::Lanes) -> String| {
        model.lanes.with(|lanes| lanes.as_ref().map_or(words::NONE.into(), with))
    };
    let segment = move || {
        lanes(|lanes| match lanes.mss {
            Some(bytes) => format!("segment {bytes} B"),
            None => "segment of loopback".into(),
        })
    };
    let emitter = move || lanes(|lanes| format!("emitter {}", lanes.version));
    let machine = move || {
        lanes(|lanes| {
            let load = lanes.load.map_or(String::new(), |load| format!(", load {load:.1}"));
            format!("{}, {} CPUs{load}", lanes.kernel, lanes.cpus)
        })
    };
    let warm = move || match model.activity.get() {
        Activity::WarmingUp => "warming up",
        _ => "warmed up",
    };
    view! {
        <ul class="facts" aria-label="What is measuring">
            <Fact
                text=move || name.clone()
                meaning="The browser that reads the streams, as its user agent tells it."
            />
            <Fact
                text=move || isolated.to_string()
                meaning="A cross-origin isolated page gets the browser's fine clock; any other page a coarse one."
            />
            <Fact
                text=move || step.clone()
                meaning="The smallest step of this page's clock that was seen when it was opened. No figure has more digits than that."
            />
            <Fact
                text=clock
                meaning="Page and emitter have clocks of their own. Before every run they are compared by a dozen round trips; half of the shortest one is how far the comparison may be off."
            />
            <Fact
                text=segment
                meaning="The payload of a TCP segment on the way to the proxies. 1448 bytes is Ethernet's; loopback's own is about 65 KB, and hides what a real network shows."
            />
            <Fact
                text=emitter
                meaning="The program that plays the streams and notes when each frame was written."
            />
            <Fact
                text=machine
                meaning="Where emitter and proxies run. A busy machine is late by itself: guards exclude such runs and say so."
            />
            <Fact
                text=move || warm().to_string()
                meaning="The first stream after a page has loaded may be late for reasons of the browser's own. One short stream on the direct lane is played and thrown away before the first run."
            />
        </ul>
    }
}

#[component]
fn Fact(
    text: impl Fn() -> String + Send + Sync + 'static,
    meaning: &'static str,
) -> impl IntoView {
    view! {
        <li>
            <details name="fact">
                <summary>{text}</summary>
                <p>{meaning}</p>
            </details>
        </li>
    }
}
