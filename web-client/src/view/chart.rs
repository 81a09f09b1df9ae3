//! The slope chart of one lane: writes above, the wire between, arrivals below.

use leptos::prelude::*;

use crate::geometry::{self, DOT_SIZES, PAGE_Y, Paths, Picture, SENT_Y, WIDTH, WIRE_Y};
use crate::model::{LaneModel, Model, Row};

/// Widths of the dots' strokes, by size, in CSS pixels.
const DOT_WIDTHS: [&str; DOT_SIZES.len()] = ["4", "6", "9", "12", "15"];

/// The chart; drawn anew when the lane has something new, at most once a frame.
#[component]
pub(crate) fn Chart(model: Model, own: LaneModel, row: Memo<Option<Row>>) -> impl IntoView {
    let picture = move || -> Picture {
        own.tick.track();
        let cell = row.with(|row| row.as_ref().map(|row| row.result.id.clone()));
        own.picture(cell.as_deref().unwrap_or_default())
    };
    let drawn = move || {
        let picture = picture();
        let paths = Paths::of(&picture, model.domain.get());
        (picture.provisional, picture.wire.is_empty(), paths)
    };
    // Words are made once a run is over: a screen reader is not told of every frame.
    let words = move || if picture().provisional { String::new() } else { picture().described() };
    view! {
        <div class="chart">
            <span class="axis sent" aria-hidden="true">"sent"</span>
            <span class="axis wire" aria-hidden="true">"wire"</span>
            <span class="axis page" aria-hidden="true">"page"</span>
            <div class="plot" role="img" aria-label=words>
                {move || {
                    let (provisional, no_wire, paths) = drawn();
                    let labels = paths
                        .labels
                        .iter()
                        .map(|label| {
                            view! {
                                <span class="count" style:left=format!("{:.2}%", label.share * 100.0)>
                                    {label.count}
                                </span>
                            }
                        })
                        .collect_view();
                    view! {
                        <svg
                            viewBox="0 0 1000 100"
                            preserveAspectRatio="none"
                            class:provisional=provisional
                        >
                            <path class="grid" d=grid(model) />
                            <path class="axes" d=axes(!no_wire) />
                            <path class="path-lines" d=paths.path_lines />
                            <path class="page-lines" d=paths.page_lines />
                            <path class="ticks" d=paths.ticks />
                            {dots("wire-dots", paths.wire_dots)}
                            {dots("page-dots", paths.page_dots)}
                        </svg>
                        {labels}
                    }
                }}
            </div>
        </div>
    }
}

fn dots(class: &'static str, sizes: [String; DOT_SIZES.len()]) -> impl IntoView {
    sizes
        .into_iter()
        .zip(DOT_WIDTHS)
        .filter(|(path, _)| !path.is_empty())
        .map(|(path, width)| view! { <path class=class d=path stroke-width=width /> })
        .collect_view()
}

fn grid(model: Model) -> String {
    geometry::ruler(model.domain.get())
        .into_iter()
        .map(|(_, share)| format!("M{:.1} 0V100", share * WIDTH))
        .collect()
}

fn axes(wire: bool) -> String {
    let middle = if wire { format!("M0 {WIRE_Y}H{WIDTH}") } else { String::new() };
    format!("M0 {SENT_Y}H{WIDTH}{middle}M0 {PAGE_Y}H{WIDTH}")
}
