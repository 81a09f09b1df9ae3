//! Places: where something of the state is said, and the effects that keep it said.

use leptos::prelude::*;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Document, Element, HtmlElement};

use crate::model::{Drawn, LaneModel, LanePlan, Model, Row, State};

/// By what something is said.
#[derive(Clone, Copy)]
pub(crate) enum By {
    /// The text in the element.
    Text,
    /// The markup in the element; none of it can have the focus.
    Markup,
    /// The markup in the element, where what had the focus has it again afterwards.
    Controls,
    /// The value of a field.
    Value,
    /// A property that is on for any text but the empty one.
    Flag(&'static str),
    /// An attribute.
    Attribute(&'static str),
}

/// A place: a selector (empty for the root itself), by what is said, and what.
pub(crate) type Place = (&'static str, By, fn(&Scene<'_>) -> String);

/// A lane as its places see it.
#[derive(Clone)]
pub(crate) struct Own {
    /// The lane's key.
    pub(crate) key: String,
    /// The lane as it is planned.
    pub(crate) plan: LanePlan,
    /// Its streams; absent where there is none.
    pub(crate) lane: Option<LaneModel>,
}

/// What can be said of: the state, and for a lane's places the lane.
pub(crate) struct Scene<'a> {
    /// The page.
    pub(crate) model: Model,
    /// Its state.
    pub(crate) state: &'a State,
    /// The step of the clock, microseconds.
    pub(crate) step: i64,
    /// The lane's row that is looked at.
    pub(crate) row: Option<&'a Row>,
    /// The lane.
    pub(crate) own: Option<&'a Own>,
    /// The row's last picture.
    pub(crate) drawn: Option<Drawn>,
}

/// What a place showed last.
struct Shown {
    element: Element,
    by: By,
    say: fn(&Scene<'_>) -> String,
    last: Option<String>,
}

/// The document.
pub(crate) fn document() -> Option<Document> {
    web_sys::window().and_then(|window| window.document())
}

/// The first element that a selector finds in the document.
pub(crate) fn find(selector: &str) -> Option<Element> {
    document()?.query_selector(selector).ok().flatten()
}

/// Runs now and whenever what it has read changes.
pub(crate) fn effect(run: Box<dyn FnMut()>) {
    // One type of closure, so that the framework's code for it is there once.
    let mut run = run;
    Effect::new(move |_: Option<()>| run());
}

/// Keeps the places of the page filled.
pub(crate) fn follow(model: Model, root: &Element, places: &[Place]) {
    keep(model, root, None, places);
}

/// Keeps the places of a lane filled, which also follow the beginning and the end of its streams.
pub(crate) fn follow_lane(model: Model, root: &Element, own: &Own, places: &[Place]) {
    keep(model, root, Some(own.clone()), places);
}

fn keep(model: Model, root: &Element, own: Option<Own>, places: &[Place]) {
    let step = model.clock_step_us();
    let mut shown: Vec<Shown> = Vec::new();
    for &(selector, by, say) in places {
        let element = match selector {
            "" => Some(root.clone()),
            selector => root.query_selector(selector).ok().flatten(),
        };
        if let Some(element) = element {
            shown.push(Shown { element, by, say, last: None });
        }
    }
    effect(Box::new(move || {
        let lane = own.as_ref().and_then(|own| own.lane.as_ref());
        if let Some(lane) = lane {
            lane.track();
        }
        model.see(|state| {
            let row = own.as_ref().and_then(|own| state.row(&own.key));
            let drawn = row.and_then(|row| lane?.drawn(&row.result.id));
            let scene = Scene { model, state, step, row, own: own.as_ref(), drawn };
            for place in &mut shown {
                place.say(&scene);
            }
        });
    }));
}

impl Shown {
    fn say(&mut self, scene: &Scene<'_>) {
        let text = (self.say)(scene);
        if self.last.as_ref() == Some(&text) {
            return;
        }
        put(&self.element, self.by, &text);
        self.last = Some(text);
    }
}

/// Says a text at an element.
pub(crate) fn put(element: &Element, by: By, text: &str) {
    let value = JsValue::from_str(text);
    let (name, value) = match by {
        By::Text => ("textContent", value),
        By::Markup => ("innerHTML", value),
        By::Value => ("value", value),
        By::Flag(name) => (name, JsValue::from_bool(!text.is_empty())),
        By::Controls => return put_controls(element, text),
        By::Attribute(name) => {
            // Fails only for a name that is none.
            let _ = element.set_attribute(name, text);
            return;
        }
    };
    // Setting a property of an element of one's own cannot fail.
    let _ = js_sys::Reflect::set(element, &JsValue::from_str(name), &value);
}

fn put_controls(element: &Element, markup: &str) {
    let focused = document().and_then(|document| document.active_element());
    let id = focused.map(|focused| focused.id()).unwrap_or_default();
    put(element, By::Markup, markup);
    if id.is_empty() {
        return;
    }
    let again = element.query_selector(&["#", &id].concat()).ok().flatten();
    if let Some(again) = again {
        // What cannot be focused is left alone.
        let _ = again.unchecked_into::<HtmlElement>().focus();
    }
}
