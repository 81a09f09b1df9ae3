//! The page as a whole: its frame, its keys, and its states before there are lanes.

use leptos::prelude::*;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{HtmlElement, KeyboardEvent};

use crate::browser;
use crate::guard::Listener;
use crate::model::{Activity, Boot, Ending, Model, State};
use crate::runner;
use crate::view::{
    self,
    parts::{part, text},
};

/// Mounts the page in place of the shell's loading text.
pub fn open() {
    let document = web_sys::window().and_then(|window| window.document());
    if let Some(shell) = document.and_then(|document| document.get_element_by_id("shell")) {
        shell.remove();
    }
    leptos::mount::mount_to_body(App);
}

/// The page.
#[component]
fn App() -> impl IntoView {
    let model = Model::new(&browser::search());
    spawn_local(runner::boot(model));
    Effect::new(move |_| browser::set_state(model.see(state)));
    let keys = StoredValue::new_local(listen_to_keys(model));
    on_cleanup(move || {
        // The listener goes with the page that it works for.
        let _ = keys.try_update_value(|keys| *keys = None);
    });
    // The views below are made anew only when this changes, not at every change of the state.
    let boot = Memo::new(move |_| model.see(|state| state.boot.clone()));
    view! {
        <view::top::Top model />
        <main>
            {part(move || match boot.get() {
                Boot::Loading => loading(model),
                Boot::BadSettings(why) => bad_settings(why),
                Boot::Ready => view! { <view::lanes::Lanes model /> }.into_any(),
            })}
        </main>
        <view::answer::Answer model />
    }
}

/// What a driver may wait for.
fn state(state: &State) -> &'static str {
    match (&state.boot, &state.activity, &state.ending) {
        (Boot::BadSettings(_), ..) => "failed",
        (Boot::Loading, ..) if state.silent.is_some() => "failed",
        (Boot::Loading, ..) | (_, Activity::WarmingUp, _) => "loading",
        (_, Activity::Running(_), _) => "running",
        (_, _, Some(Ending::Failed(_))) => "failed",
        (_, _, Some(_)) => "finished",
        _ => "ready",
    }
}

fn loading(model: Model) -> AnyView {
    let words = text(move || {
        model.see(|state| match &state.silent {
            None => "Asking the emitter which lanes there are …".into(),
            Some(_) => "Start it with holdup demo; this page goes on by itself.".into(),
        })
    });
    view! { <p class="state" role="status">{words}</p> }.into_any()
}

fn bad_settings(why: String) -> AnyView {
    view! {
        <div class="state" role="alert">
            <p>"The address asks for what cannot be done: " {why} "."</p>
            <p><a href="/">"Open the page with its standard settings"</a></p>
        </div>
    }
    .into_any()
}

/// `r` runs all in turn, `a` all at once, `s` or Escape stops; not while something is typed.
fn listen_to_keys(model: Model) -> Option<Listener> {
    let document = web_sys::window()?.document()?;
    Some(Listener::new(&document, "keydown", move |event| {
        let event: KeyboardEvent = event.unchecked_into();
        let typing =
            event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok()).is_some_and(
                |element| matches!(element.tag_name().as_str(), "INPUT" | "SELECT" | "TEXTAREA"),
            );
        if typing || event.ctrl_key() || event.meta_key() || event.alt_key() {
            return;
        }
        match event.key().as_str() {
            "r" => runner::run_in_turn(model),
            "a" => runner::run_at_once(model),
            "s" | "Escape" => runner::stop(model),
            _ => {}
        }
    }))
}

/// Leaves a mark once the browser has drawn what was just set.
pub fn mark_when_drawn(name: &'static str) {
    request_animation_frame(move || browser::mark(name));
}
