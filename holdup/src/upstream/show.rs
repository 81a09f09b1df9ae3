//! What a service's answers were like behind each proxy, for people.

use comfy_table::CellAlignment;
use measure::Span;
use measure::stats::Spread;
use measure::units::decimal;

use super::document::{Document, Through};
use crate::probe::kind::Kind;
use crate::table;

/// The table and what is to be known of it.
pub(super) fn text(document: &Document) -> String {
    let mut table = table::new();
    table.set_header([
        "endpoint",
        "version",
        "answers",
        "TTFT",
        "min – max",
        "gap",
        "frames per read",
        "frames",
        "in one delivery",
    ]);
    for way in &document.ways {
        table.add_row(row(way));
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let mut text = table::lines(&table);
    text.push('\n');
    for way in &document.ways {
        text.push_str(&format!("{}: {}.\n", way.endpoint.name, said(way)));
    }
    let mut lines: Vec<String> = Vec::new();
    for row in &document.requests {
        if let Some(line) = &row.row.line {
            let line = format!("{}: {line}", row.endpoint);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    text.push_str(&format!("\n{}\n", own(document)));
    let (machine, asked) = (&document.asked.machine, &document.asked);
    text.push_str(&format!(
        "{} requests to {}, segments of {}; {}, {} processors; seed {}.\n",
        document.requests.len(),
        asked.upstream,
        asked.mss.map_or("loopback's own size".into(), |mss| format!("{mss} bytes")),
        machine.kernel,
        machine.cpus,
        asked.seed
    ));
    if let Some(stopped) = &asked.stopped {
        text.push_str(&format!("Incomplete: {stopped}.\n"));
    }
    text
}

fn row(way: &Through) -> Vec<String> {
    let (pool, _) = way.result.shown();
    let median = |spread: &Option<Spread>| span(spread.as_ref().map(|it| it.median));
    let all: u32 = way.result.kinds.values().sum();
    let version = way.endpoint.proxy.as_ref().zip(way.endpoint.version.as_ref());
    vec![
        way.endpoint.name.clone(),
        version.map_or(String::new(), |(proxy, version)| format!("{proxy} {version}")),
        format!("{} of {all}", way.result.count()),
        median(&pool.ttft_us),
        pool.ttft_us.as_ref().map_or("–".into(), |it| format!("{} – {}", it.min, it.max)),
        median(&pool.text_gap_us),
        pool.frames_per_read.as_ref().map_or("–".into(), |it| decimal(it.median, 2)),
        way.frames.map_or("–".into(), |frames| frames.to_string()),
        match pool.with_more_events {
            0 => "–".into(),
            all => format!("{} of {all}", pool.in_one_delivery),
        },
    ]
}

/// What the answers of a way show, or why there are none.
fn said(way: &Through) -> String {
    let told = &way.result.verdict;
    if let Some(why) = &way.endpoint.failed {
        return format!("not asked: {why}");
    }
    let mut said = format!("{}: {}", told.name.name(), told.because);
    let all: u32 = way.result.kinds.values().sum();
    // A path that cuts is not live because its whole answers are.
    for (kind, count) in way.result.kinds.iter().filter(|(kind, _)| **kind != Kind::Complete) {
        said.push_str(&format!("; but {count} of {all} {}", kind.words()));
    }
    said
}

/// What of all this is the service's own.
fn own(document: &Document) -> String {
    match (document.direct_ttft(), document.variation()) {
        (Some(ttft), Some(variation)) => format!(
            "The service's own time to the first token varied from {} to {} in {} answers: that is its doing, and a difference under {variation} between the proxies' says nothing. How the frames come together does.",
            ttft.min, ttft.max, ttft.n
        ),
        _ => "How far the service's own time to the first token varies is not known from fewer than two direct answers: compare how the frames come together, not the TTFT.".into(),
    }
}

fn span(span: Option<Span>) -> String {
    span.map_or("–".into(), |span| span.to_string())
}
