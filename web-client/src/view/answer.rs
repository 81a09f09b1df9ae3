//! One sentence for the whole run, made from its figures, with the floor it may not go below.

use crate::model::Ending;
use crate::view::markup::joined;
use crate::view::place::{By, Place, Scene};
use crate::words;

pub(crate) const PLACES: &[Place] = &[(".answer p", By::Text, answer)];

/// The sentence under the lanes; the one place that speaks up to a screen reader.
pub(crate) const MARKUP: &str = "<footer class=\"answer\"><p aria-live=\"polite\"></p></footer>";

pub(crate) fn answer(scene: &Scene<'_>) -> String {
    let state = scene.state;
    if state.is_running() {
        return "Measuring: the answer comes when the last lane has run.".into();
    }
    let said = words::answer(&state.named(), &scene.model.engine(), scene.step);
    match (said, &state.ending) {
        (Some(said), Some(Ending::Stopped)) => joined(&["Stopped before the end. ", &said]),
        (Some(said), _) => said,
        (None, Some(Ending::Stopped)) => {
            "Stopped before a lane had run: there is no answer.".into()
        }
        (None, Some(Ending::Failed(_))) => {
            "Nothing was measured: what stopped it stands at the top.".into()
        }
        (None, _) => "Run the lanes: the answer stands here, made from the figures.".into(),
    }
}
