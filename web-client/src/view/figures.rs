//! The figures of one lane: the time to the first token, its split, and what else one asks for.

use leptos::prelude::*;
use measure::Span;
use measure::stats::Spread;

use crate::model::{Model, Row};
use crate::split::Split;
use crate::words;

/// The right-hand column.
#[component]
pub(crate) fn Figures(model: Model, row: Memo<Option<Row>>, longest: Memo<Span>) -> impl IntoView {
    let step = model.clock_step_us();
    let summary = move |with: fn(&measure::summary::Summary) -> Option<&Spread>| {
        row.with(|row| {
            row.as_ref().and_then(|row| with(&row.result.summary).cloned())
        })
    };
    let median = move |with| {
        summary(with).map_or(words::NONE.into(), |spread| words::span(spread.median, step))
    };
    let max = move |with| {
        summary(with).map_or(words::NONE.into(), |spread| words::span(spread.max, step))
    };
    let ttft = move || {
        summary(|s| s.ttft_us.as_ref())
            .map_or(words::NONE.into(), |spread| words::millis(spread.median, step))
    };
    let ratio = move |wire: bool| {
        row.with(|row| {
            let summary = row.as_ref().map(|row| &row.result.summary);
            words::ratio(summary.and_then(|summary| {
                if wire {
                    summary.wire_frames_per_read.as_ref()
                } else {
                    summary.frames_per_read.as_ref()
                }
            }))
        })
    };
    view! {
        <div class="figures">
            <div class="first">
                <p class="ttft">
                    <span class="value">{ttft}</span>
                    <span class="unit">"ms"</span>
                </p>
                <p class="what">"to the first token"</p>
                <Bar split=Signal::derive(move || row.with(|row| row.as_ref()?.split)) longest step />
            </div>
            <dl>
                <Figure what="gap, median" value=move || median(|s| s.gap_us.as_ref()) />
                <Figure what="gap, longest" value=move || max(|s| s.gap_us.as_ref()) />
                <Figure what="frames per read, wire" value=move || ratio(true) />
                <Figure what="per delivery, page" value=move || ratio(false) />
                <Figure what="path hold" value=move || median(|s| s.path_hold_us.as_ref()) />
                <Figure what="browser or page" value=move || median(|s| s.browser_hold_us.as_ref()) />
            </dl>
            <p class="runs">{move || runs(row.get().as_ref())}</p>
        </div>
    }
}

#[component]
fn Figure(
    what: &'static str,
    value: impl Fn() -> String + Send + Sync + 'static,
) -> impl IntoView {
    view! {
        <div>
            <dt>{what}</dt>
            <dd>{value}</dd>
        </div>
    }
}

/// The split of the time to the first token, all lanes to one scale.
#[component]
fn Bar(split: Signal<Option<Split>>, longest: Memo<Span>, step: i64) -> impl IntoView {
    let parts = move || {
        let Some(split) = split.get() else { return Vec::new() };
        [
            ("request", Some(split.request)),
            ("path", split.path),
            ("tap", split.tap),
            ("browser", split.browser),
            ("undivided", split.undivided),
        ]
        .into_iter()
        .filter_map(|(class, part)| Some((class, part?)))
        .collect()
    };
    let segments = move || {
        let whole = longest.get().as_micros().max(1) as f64;
        parts()
            .into_iter()
            .map(|(class, part)| {
                // A bar has no length below nothing; the sign stands in the figures.
                let share = (part.as_micros() as f64 / whole * 100.0).max(0.0);
                view! { <span class=class style:width=format!("{share:.2}%")></span> }
            })
            .collect_view()
    };
    let in_words = move || {
        let name = |class| match class {
            "browser" => "browser or page",
            "undivided" => "path, browser or page",
            other => other,
        };
        let said: Vec<String> = parts()
            .into_iter()
            .map(|(class, part)| format!("{} {}", name(class), words::span(part, step)))
            .collect();
        said.join(", ")
    };
    view! {
        <div class="split" role="img" aria-label=in_words title=in_words>
            {segments}
        </div>
    }
}

fn runs(row: Option<&Row>) -> String {
    let Some(row) = row else { return String::new() };
    let excluded = words::excluded(&row.result);
    let summary = &row.result.summary;
    if summary.runs + excluded == 0 {
        return String::new();
    }
    let mut text = words::count(summary.runs, "run");
    if excluded > 0 {
        text.push_str(&format!(", {excluded} excluded: {}", summary.excluded_because.join("; ")));
    }
    text
}
