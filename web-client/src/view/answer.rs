//! One sentence for the whole run, made from its figures, with the floor it may not go below.

use leptos::prelude::*;

use crate::model::{Model, State};
use crate::view::parts::text;
use crate::words;

/// The sentence under the lanes; the one place that speaks up to a screen reader.
#[component]
pub(crate) fn Answer(model: Model) -> impl IntoView {
    let (engine, step) = (model.engine(), model.clock_step_us());
    let answer = text(move || {
        model.see(|state: &State| {
            if state.is_running() {
                return "Measuring: the answer comes when the last lane has run.".into();
            }
            let rows: Vec<_> = state.shown().map(|row| &row.result).collect();
            words::answer(&rows, &engine, step).unwrap_or_else(|| {
                "Run all lanes in turn: the answer stands here, made from the figures.".into()
            })
        })
    });
    view! {
        <footer class="answer">
            <p aria-live="polite">{answer}</p>
        </footer>
    }
}
