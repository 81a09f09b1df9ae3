//! The figures of one lane: the time to the first token, its split, and what else one asks for.

use leptos::prelude::*;
use measure::stats::Spread;
use measure::summary::Summary;

use crate::model::{Model, Row};
use crate::split::Split;
use crate::view::parts::text;
use crate::words;

/// Which of a row's spreads.
type Pick = fn(&Summary) -> Option<&Spread>;

/// The right-hand column.
pub(crate) fn figures(model: Model, name: String) -> AnyView {
    let step = model.clock_step_us();
    let name = StoredValue::new(name);
    // One way to a figure: the lane's row, and what is to be said of it.
    let of_row = move |say: Box<dyn Fn(&Row) -> String + Send + Sync>, none: &'static str| {
        text(move || {
            name.with_value(|name| model.see(|state| state.row(name).map_or(none.into(), &say)))
        })
    };
    let median = move |pick: Pick| {
        let say = move |row: &Row| words::spread_median(pick(&row.result.summary), step);
        of_row(Box::new(say), words::NONE)
    };
    let longest = move |row: &Row| words::spread_max(row.result.summary.gap_us.as_ref(), step);
    let ttft = move |row: &Row| {
        let ttft = row.result.summary.ttft_us.as_ref();
        ttft.map_or(words::NONE.into(), |spread| words::millis(spread.median, step))
    };
    let unit =
        |row: &Row| if row.result.summary.ttft_us.is_some() { "ms".into() } else { String::new() };
    let on_wire = |row: &Row| words::ratio(row.result.summary.wire_frames_per_read.as_ref());
    let in_page = |row: &Row| words::ratio(row.result.summary.frames_per_read.as_ref());
    let list = vec![
        figure("gap, median", median(|s| s.gap_us.as_ref())),
        figure("longest", of_row(Box::new(longest), words::NONE)),
        figure("frames / read, wire", of_row(Box::new(on_wire), words::NONE)),
        figure("/ delivery, page", of_row(Box::new(in_page), words::NONE)),
        figure("held by the path", median(|s| s.path_hold_us.as_ref())),
        figure("browser or page", median(|s| s.browser_hold_us.as_ref())),
    ];
    let bar = text(move || {
        name.with_value(|name| {
            model.see(|state| {
                let split = state.row(name).and_then(|row| row.split);
                split.map_or(String::new(), |split| bar(&split, state.longest().as_micros()))
            })
        })
    });
    let bar_in_words = of_row(
        Box::new(move |row| row.split.map_or(String::new(), |split| in_words(&split, step))),
        "",
    );
    view! {
        <div class="figures">
            <div class="first">
                <p class="ttft">
                    <span class="value">{of_row(Box::new(ttft), words::NONE)}</span>
                    <span class="unit">{of_row(Box::new(unit), "")}</span>
                </p>
                <p class="what">"to the first token"</p>
                // Numbers only.
                <div class="split" role="img" aria-label=bar_in_words title=bar_in_words inner_html=bar></div>
                <p class="runs">{of_row(Box::new(words::runs), "")}</p>
            </div>
            <dl>{list}</dl>
        </div>
    }
    .into_any()
}

fn figure(what: &'static str, value: Signal<String>) -> AnyView {
    view! {
        <div>
            <dt>{what}</dt>
            <dd>{value}</dd>
        </div>
    }
    .into_any()
}

/// The split as segments, to the scale of the longest lane.
fn bar(split: &Split, longest_us: i64) -> String {
    let whole = longest_us.max(1) as f64;
    let segment = |(part, span): (&str, measure::Span)| {
        // A bar has no length below nothing; the sign stands in the words.
        let share = (span.as_micros() as f64 / whole * 100.0).max(0.0);
        format!("<span class=\"{part}\" style=\"width:{share:.2}%\"></span>")
    };
    split.parts().into_iter().map(segment).collect()
}

fn in_words(split: &Split, step: i64) -> String {
    let said = split.parts().into_iter().map(|(part, span)| {
        let name = match part {
            "browser" => "browser or page",
            "undivided" => "path, browser or page",
            other => other,
        };
        format!("{name} {}", words::span(span, step))
    });
    said.collect::<Vec<_>>().join(", ")
}
