//! The keys, when asked for.

use crate::view::place::{By, Place, Scene};

/// Each key and what it does.
const KEYS: &[(&str, &str)] = &[
    ("r", "run every lane, one stream at a time"),
    ("a", "run all lanes at once"),
    ("s", "stop"),
    ("1 – 7", "tell that story"),
    ("p", "presenter’s view, and back"),
    ("space, ← →", "in it: run, another story"),
    ("↑ ↓, Enter", "go from lane to lane, open its evidence"),
    ("Esc", "close what is open, else stop"),
    ("?", "this list"),
];

pub(crate) const PLACES: &[Place] = &[
    (".help", By::Markup, list),
    ("[data-act=help]", By::Attribute("aria-expanded"), |scene| {
        if scene.state.open.help { "true" } else { "false" }.into()
    }),
];

fn list(scene: &Scene<'_>) -> String {
    if !scene.state.open.help {
        return String::new();
    }
    let mut list = String::from("<dl class=\"keys\">");
    for (key, what) in KEYS {
        for part in ["<div><dt>", key, "</dt><dd>", what, "</dd></div>"] {
            list.push_str(part);
        }
    }
    list.push_str("</dl>");
    list
}
