//! The head of the page: the question, run and stop, progress, and what is measuring.

use leptos::prelude::*;

use crate::model::{Activity, Ending, Model};
use crate::runner;
use crate::view::facts::Facts;
use crate::view::settings::SettingsPanel;

/// The head; run, stop and progress stay in reach while the lanes are scrolled.
#[component]
pub(crate) fn Top(model: Model) -> impl IntoView {
    let open = RwSignal::new(false);
    view! {
        <header class="top">
            <div class="bar">
                <h1>"Who is holding up your tokens?"</h1>
                <Progress model />
                <div class="controls">
                    <button
                        type="button"
                        class="primary"
                        title="Every lane, one stream at a time: measured (key r)"
                        disabled=move || !model.may_run()
                        on:click=move |_| runner::run_in_turn(model)
                    >
                        "Run all in turn"
                    </button>
                    <button
                        type="button"
                        title="Every lane at the same time: shown, never pooled with the others (key a)"
                        disabled=move || !model.may_run()
                        on:click=move |_| runner::run_at_once(model)
                    >
                        "All at once"
                    </button>
                    <button
                        type="button"
                        title="Stop (key s)"
                        disabled=move || !model.is_running()
                        on:click=move |_| runner::stop(model)
                    >
                        "Stop"
                    </button>
                    <button
                        type="button"
                        aria-expanded=move || open.get().to_string()
                        aria-controls="settings"
                        on:click=move |_| open.update(|open| *open = !*open)
                    >
                        "Settings"
                    </button>
                </div>
            </div>
            <Facts model />
            <Show when=move || open.get()>
                <SettingsPanel model />
            </Show>
            <Notices model />
        </header>
    }
}

/// How far a plan has come, in words and as a bar; the place is kept when there is nothing.
#[component]
fn Progress(model: Model) -> impl IntoView {
    let words = move || match model.activity.get() {
        Activity::WarmingUp => "Warming up".to_string(),
        Activity::Running(progress) if progress.what.is_empty() => {
            format!("{} of {}", progress.done, progress.total)
        }
        Activity::Running(progress) => {
            format!("{} of {}: {}", progress.done + 1, progress.total, progress.what)
        }
        Activity::Idle => match model.ending.get() {
            Some(Ending::Finished) => "Finished".into(),
            Some(Ending::Stopped) => "Stopped: what was measured until then stands".into(),
            Some(Ending::Failed(_)) => "Stopped by an error".into(),
            None => String::new(),
        },
    };
    let share = move || match model.activity.get() {
        Activity::Running(progress) => {
            f64::from(progress.done) / f64::from(progress.total.max(1)) * 100.0
        }
        _ => 0.0,
    };
    view! {
        <div class="progress">
            <span class="words">{words}</span>
            <span
                class="track"
                role="progressbar"
                aria-label="Runs done"
                aria-valuemin="0"
                aria-valuemax="100"
                aria-valuenow=move || format!("{:.0}", share())
            >
                <span class="done" style:width=move || format!("{:.1}%", share())></span>
            </span>
        </div>
    }
}

/// What stands in the way, one sentence each.
#[component]
fn Notices(model: Model) -> impl IntoView {
    let coarse = move || {
        model.browser.with_value(|browser| (!browser.isolated).then(|| {
            format!(
                "This page is not cross-origin isolated, which takes https or this machine's own \
                 address: its clock steps by {}, and nothing finer is claimed. All else works.",
                crate::words::fine(browser.clock_step_us)
            )
        }))
    };
    let silent = move || {
        model.silent.get().map(|why| {
            format!("{why} What was measured stands; this page goes on when it is back.")
        })
    };
    let failed = move || match model.ending.get() {
        // A silent emitter has its own notice.
        Some(Ending::Failed(why)) if model.silent.with(Option::is_none) => {
            Some(format!("The plan stopped: {why}"))
        }
        _ => None,
    };
    view! {
        {move || silent().map(|text| view! { <p class="notice bad" role="alert">{text}</p> })}
        {move || failed().map(|text| view! { <p class="notice bad" role="alert">{text}</p> })}
        {move || coarse().map(|text| view! { <p class="notice">{text}</p> })}
    }
}
