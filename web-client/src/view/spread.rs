//! The distribution over runs: a dot for each run's first token, a tick for each gap, by reader.
//! What a guard excluded is a ring among the dots, and not among the gaps.

use measure::guards::Guards;
use measure::measurement::Measurement;
use measure::results::{self, RunRecord};
use measure::{Cell, Reader, Span};

use crate::geometry::{self, HEIGHT};
use crate::view::chart;
use crate::view::lane::rows;
use crate::view::markup::joined;
use crate::view::place::Scene;
use crate::words;

/// One reader's samples.
struct Samples {
    reader: Reader,
    first: Vec<Span>,
    excluded: Vec<Span>,
    gaps: Vec<Span>,
}

/// Both distributions; nothing without runs.
pub(crate) fn markup(scene: &Scene<'_>) -> String {
    let cells: Vec<Cell> = scene.state.rows.iter().map(|row| row.result.cell.clone()).collect();
    let own: Vec<(String, Reader)> =
        rows(scene).map(|row| (row.id.clone(), row.cell.reader)).collect();
    let all = scene.model.with_records(|records| {
        let judged = results::judge_runs(&cells, records, &Guards::default());
        let judged: Vec<(&RunRecord, bool)> =
            records.iter().zip(judged.iter().map(Result::is_ok)).collect();
        own.iter().map(|(id, reader)| of_runs(id, *reader, &judged)).collect::<Vec<Samples>>()
    });
    let mut all = all.unwrap_or_default();
    all.retain(|samples| samples.first.len() + samples.excluded.len() > 0);
    if all.is_empty() {
        return String::new();
    }
    let mut markup = strips(scene, "First token, each run", &all, |samples| &samples.first, true);
    markup.push_str(&strips(scene, "Gaps between tokens", &all, |samples| &samples.gaps, false));
    markup
}

fn of_runs(cell: &str, reader: Reader, judged: &[(&RunRecord, bool)]) -> Samples {
    let mut samples = Samples { reader, first: Vec::new(), excluded: Vec::new(), gaps: Vec::new() };
    for (record, accepted) in judged.iter().filter(|(record, _)| record.cell == cell) {
        let measurement = Measurement::join(record.ledger.as_ref(), &record.arrivals);
        if *accepted {
            samples.first.extend(measurement.ttft);
            samples.gaps.extend(measurement.gaps);
        } else {
            samples.excluded.extend(measurement.ttft);
        }
    }
    samples
}

/// One scale, and a line of marks for each reader.
fn strips(
    scene: &Scene<'_>,
    title: &str,
    all: &[Samples],
    pick: fn(&Samples) -> &Vec<Span>,
    dots: bool,
) -> String {
    let excluded = |samples: &Samples| if dots { samples.excluded.clone() } else { Vec::new() };
    let times =
        all.iter().flat_map(|samples| pick(samples).iter().copied().chain(excluded(samples)));
    let most = times.max().unwrap_or_default();
    // A little room, so that the last mark is seen whole.
    let domain = Span(most.as_micros() + most.as_micros() / 20 + 1_000);
    let mut markup = joined(&["<h3>", title, "</h3><div class=\"strips\">"]);
    for samples in all {
        let times = pick(samples);
        let half = if dots { 0.0 } else { HEIGHT * 0.3 };
        let marks = |times: &[Span]| {
            let mut marks = String::new();
            for at in times {
                let x = geometry::x(*at, domain);
                geometry::line(&mut marks, (x, HEIGHT / 2.0 - half), (x, HEIGHT / 2.0 + half));
            }
            marks
        };
        let mut svg = String::from(chart::OPEN);
        svg.push_str("\" aria-hidden=\"true\">");
        chart::path(&mut svg, "grid", &chart::grid(domain), "");
        let (class, width) = if dots { ("dot", "7") } else { ("ticks", "") };
        chart::path(&mut svg, class, &marks(times), width);
        // A ring is a dot with a smaller one of the ground's colour in it.
        let excluded = marks(&excluded(samples));
        chart::path(&mut svg, "dot", &excluded, "7");
        chart::path(&mut svg, "dot hole", &excluded, "4");
        svg.push_str("</svg>");
        let median = measure::stats::median(times)
            .map_or(words::NONE.into(), |median| words::span(median, scene.step));
        markup.push_str(&joined(&[
            "<div><span>",
            words::reader(samples.reader),
            "</span>",
            &svg,
            "<span>",
            &median,
            "</span></div>",
        ]));
    }
    let end = words::span(domain, scene.step);
    markup.push_str(&joined(&[
        "<p class=\"ends\"><span>0</span><span>",
        &end,
        "</span></p></div>",
    ]));
    markup
}
