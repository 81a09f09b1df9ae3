//! One sentence for the whole run, made from its figures, with the floor it may not go below.

use leptos::prelude::*;

use crate::view::place::{By, Place, Scene};
use crate::words;

pub(crate) const PLACES: &[Place] = &[(".answer p", By::Text, answer)];

/// The sentence under the lanes; the one place that speaks up to a screen reader.
#[component]
pub(crate) fn Answer() -> impl IntoView {
    view! { <footer class="answer" inner_html="<p aria-live=\"polite\"></p>"></footer> }
}

fn answer(scene: &Scene<'_>) -> String {
    if scene.state.is_running() {
        return "Measuring: the answer comes when the last lane has run.".into();
    }
    let rows: Vec<_> = scene.state.shown().map(|row| &row.result).collect();
    words::answer(&rows, &scene.model.engine(), scene.step).unwrap_or_else(|| {
        "Run all lanes in turn: the answer stands here, made from the figures.".into()
    })
}
