//! The presenter's view: one or two lanes, very large, with the story that they tell.

use measure::story::STORIES;

use crate::model::{Model, State};
use crate::view::place::{By, Place, Scene};
use crate::view::{answer, stories};

/// Lanes that a room can read at the same time.
const LANES: usize = 2;

/// Above the lanes the story, below them what it told; seen in the presenter's view alone.
pub(crate) const MARKUP: &str = "<section class=\"presenter\" aria-label=\"Presenter’s view\">\
    <h2></h2><p class=\"mark\"></p><p class=\"text\"></p>\
    <p class=\"keys\">space runs · ← → another story · p or Esc ends</p></section>";

pub(crate) const PLACES: &[Place] = &[
    ("", By::Attribute("data-view"), |scene| {
        if scene.state.open.presenter { "presenter" } else { "page" }.into()
    }),
    (".presenter h2", By::Text, |scene| {
        let story = scene.state.story();
        story.map_or("Who is holding up your tokens?", |story| story.title).into()
    }),
    (".presenter .mark", By::Text, |scene| stories::told(scene).0.into()),
    (".presenter .mark", By::Attribute("data-told"), |scene| stories::told(scene).0.into()),
    (".presenter .text", By::Text, |scene| match scene.state.story() {
        Some(_) => stories::told(scene).1,
        None => answer::answer(scene),
    }),
];

/// Whether a lane is one of those that are shown: the empty text for one that is not.
pub(crate) fn presented(scene: &Scene<'_>) -> String {
    let key = scene.own.map(|own| own.key.as_str()).unwrap_or_default();
    let shown = chosen(scene.state).contains(&key);
    if shown { "yes".into() } else { String::new() }
}

/// The lanes to show: the first of a story's that are no control; without a story the control and the lane that waits longest for its first
/// token.
fn chosen(state: &State) -> Vec<&str> {
    let planned = &state.planned;
    let all: Vec<&str> = planned.iter().map(|lane| lane.key.as_str()).collect();
    let others = || planned.iter().filter(|lane| lane.endpoint.name != measure::cell::DIRECT);
    if state.settings.story.is_none() {
        let waits = |key: &str| {
            let summary = state.row(key).map(|row| &row.result.summary);
            summary.and_then(|summary| Some(summary.ttft_us.as_ref()?.median))
        };
        let longest = others().map(|lane| lane.key.as_str()).max_by_key(|key| waits(key));
        return all.first().copied().into_iter().chain(longest).collect();
    }
    let mut keys: Vec<&str> = others().map(|lane| lane.key.as_str()).collect();
    if keys.is_empty() {
        // Streams at once through the control itself: the last is the one that waits.
        keys = all.first().into_iter().chain(all.last()).copied().collect();
    }
    keys.truncate(LANES);
    keys
}

/// Tells the next story, or the one before: after the last comes the first.
pub(crate) fn another(model: Model, onward: bool) {
    let Some(told) = model.look(State::story) else { return };
    let now = STORIES.iter().position(|story| told.is_some_and(|told| told.id == story.id));
    let next = match (now, onward) {
        (None, true) => 0,
        (None, false) => STORIES.len() - 1,
        (Some(now), true) => (now + 1) % STORIES.len(),
        (Some(now), false) => (now + STORIES.len() - 1) % STORIES.len(),
    };
    stories::choose(model, &STORIES[next]);
}
