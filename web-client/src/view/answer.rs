//! One sentence for the whole run, made from its figures, with the floor it may not go below.

use leptos::prelude::*;

use crate::model::{Activity, Model, Row, Sight};
use crate::words;

/// The sentence under the lanes; the one place that speaks up to a screen reader.
#[component]
pub(crate) fn Answer(model: Model) -> impl IntoView {
    let sentence = Memo::new(move |_| {
        let (reader, sight) = (model.reader.get(), model.sight.get());
        model.rows.with(|rows| {
            let shown = |row: &&Row| {
                row.result.cell.reader == reader
                    && (row.result.cell.concurrency == 1) == (sight == Sight::InTurn)
            };
            let rows: Vec<_> = rows.iter().filter(shown).map(|row| &row.result).collect();
            words::answer(&rows, &model.engine(), model.clock_step_us())
        })
    });
    let running = move || matches!(model.activity.get(), Activity::Running(_));
    let text = move || match (running(), sentence.get()) {
        (false, Some(sentence)) => sentence,
        (true, _) => "Measuring: the answer comes when the last lane has run.".into(),
        (false, None) => "Run all lanes in turn: the answer stands here, made from the figures.".into(),
    };
    view! {
        <footer class="answer">
            <p aria-live="polite">{text}</p>
        </footer>
    }
}
