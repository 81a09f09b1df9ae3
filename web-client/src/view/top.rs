//! The head of the page: the question, run and stop, progress, and what is measuring.

use leptos::prelude::*;

use crate::model::{Activity, Ending, Model, State};
use crate::runner;
use crate::view::facts::Facts;
use crate::view::parts::{Button, flag, line, part, text};
use crate::view::settings::SettingsPanel;
use crate::words;

/// The head; run, stop and progress stay in reach while the lanes are scrolled.
#[component]
pub(crate) fn Top(model: Model) -> impl IntoView {
    let open = RwSignal::new(false);
    let may_run = flag(move || model.see(State::may_run));
    let running = flag(move || model.see(State::is_running));
    let run = Button {
        class: "primary",
        ..Button::new(
            "Run all in turn",
            "Every lane, one stream at a time: measured (key r)",
            may_run,
        )
    };
    let at_once = Button::new(
        "All at once",
        "Every lane at the same time: shown, never pooled with the others (key a)",
        may_run,
    );
    let stop =
        Button::new("Stop", "End what runs; what was measured until then stands (key s)", running);
    let settings = Button {
        pressed: Some(text(move || open.get().to_string())),
        ..Button::new(
            "Settings",
            "Stream, readers, lanes: all of it stands in the address",
            flag(|| true),
        )
    };
    view! {
        <header class="top">
            <div class="bar">
                <h1>"Who is holding up your tokens?"</h1>
                <Progress model />
                <div class="controls">
                    {run.does(move || runner::run_in_turn(model))}
                    {at_once.does(move || runner::run_at_once(model))}
                    {stop.does(move || runner::stop(model))}
                    {settings.does(move || open.set(!open.get_untracked()))}
                </div>
            </div>
            <Facts model />
            {part(move || match open.get() {
                true => view! { <SettingsPanel model /> }.into_any(),
                false => ().into_any(),
            })}
            {line("notice bad", "alert", move || model.see(silent))}
            {line("notice bad", "alert", move || model.see(failed))}
            {line("notice", "note", move || coarse(model))}
        </header>
    }
}

/// How far a plan has come, in words and as a bar; the place is kept when there is nothing.
#[component]
fn Progress(model: Model) -> impl IntoView {
    let share =
        move |end: &'static str| text(move || format!("{:.0}{end}", model.see(done_percent)));
    view! {
        <div class="progress">
            <span class="words">{text(move || model.see(progress))}</span>
            <span
                class="track"
                role="progressbar"
                aria-label="Runs done"
                aria-valuemin="0"
                aria-valuemax="100"
                aria-valuenow=share("")
            >
                <span class="done" style:width=share("%")></span>
            </span>
        </div>
    }
}

fn progress(state: &State) -> String {
    match &state.activity {
        Activity::WarmingUp => "Warming up".into(),
        Activity::Running(progress) if progress.what.is_empty() => {
            format!("{} of {}", progress.done, progress.total)
        }
        Activity::Running(progress) => {
            format!("{} of {}: {}", progress.done + 1, progress.total, progress.what)
        }
        Activity::Idle => match state.ending {
            Some(Ending::Finished) => "Finished".into(),
            Some(Ending::Stopped) => "Stopped: what was measured until then stands".into(),
            Some(Ending::Failed(_)) => "Stopped by an error".into(),
            None => String::new(),
        },
    }
}

fn done_percent(state: &State) -> u32 {
    match &state.activity {
        Activity::Running(progress) => progress.done * 100 / progress.total.max(1),
        _ => 0,
    }
}

fn silent(state: &State) -> Option<String> {
    let why = state.silent.as_ref()?;
    Some(format!("{why} What was measured stands; this page goes on when it is back."))
}

fn failed(state: &State) -> Option<String> {
    match &state.ending {
        // A silent emitter has its own notice.
        Some(Ending::Failed(why)) if state.silent.is_none() => {
            Some(format!("The plan stopped: {why}"))
        }
        _ => None,
    }
}

fn coarse(model: Model) -> Option<String> {
    let browser = model.browser();
    (!browser.isolated).then(|| {
        format!(
            "This page is not cross-origin isolated, which takes https or this machine's own address: \
             its clock steps by {}, and nothing finer is claimed. All else works.",
            words::fine(browser.clock_step_us)
        )
    })
}
