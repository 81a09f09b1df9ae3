//! Results as a table for people.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use measure::results::{CellResult, Document};
use measure::summary::Summary;
use measure::verdict::Verdict;

use crate::report::{Variation, by_preset};
use measure::Span;

/// An empty table in the program's manner: few lines, much air.
pub(crate) fn new() -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')));
    table
}

/// A table's text without blanks at the ends of lines.
pub(crate) fn lines(table: &Table) -> String {
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The tables, one a preset, and the sentences under them.
pub(crate) fn render(document: &Document) -> String {
    let mut text = String::new();
    let presets = by_preset(document);
    for (preset, rows) in &presets {
        let variation = Variation::of(rows);
        if presets.len() > 1 {
            text.push_str(&format!("{preset}: {}\n\n", variation.shared));
        }
        text.push_str(&table(document, rows, &variation));
        text.push('\n');
        for cell in rows {
            text.push_str(&sentence(cell, &variation));
        }
        text.push('\n');
    }
    if let [(_, rows)] = presets.as_slice() {
        text.push_str(&format!("{}; medians.\n", Variation::of(rows).shared));
    }
    text.push_str(&footer(document));
    text
}

fn table(document: &Document, rows: &[&CellResult], variation: &Variation) -> String {
    let mut table = new();
    let browser = rows.iter().any(|row| row.cell.reader.in_browser());
    let differ = rows.iter().any(|row| !variation.words(&row.cell).is_empty());
    let mut header = vec!["endpoint", "version"];
    header.extend(differ.then_some("differs in"));
    let negotiated = browser && rows.iter().any(|row| row.cell.request.is_secure());
    header.extend(negotiated.then_some("negotiated"));
    header.extend(["runs", "TTFT", "gap", "max gap"]);
    header.extend(if browser {
        vec!["per delivery", "per read on the wire"]
    } else {
        vec!["frames per read"]
    });
    header.push("verdict");
    table.set_header(header.clone());
    for cell in rows {
        let differs = differ.then(|| variation.words(&cell.cell));
        let spoken = negotiated.then(|| spoken(cell));
        table.add_row(row(document, cell, [differs, spoken], browser));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        let figure = !["endpoint", "version", "differs in", "negotiated", "verdict"]
            .contains(&header[index]);
        if figure {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    lines(&table)
}

fn row(
    document: &Document,
    cell: &CellResult,
    words: [Option<String>; 2],
    browser: bool,
) -> Vec<String> {
    let summary = &cell.summary;
    let endpoint = document.endpoints.iter().find(|e| e.name == cell.cell.endpoint);
    let version = endpoint
        .and_then(|endpoint| {
            Some(format!("{} {}", endpoint.proxy.as_ref()?, endpoint.version.as_ref()?))
        })
        .unwrap_or_default();
    let mut row = vec![cell.cell.endpoint.clone(), version];
    row.extend(words.into_iter().flatten());
    let excluded: u32 = summary.excluded.values().sum();
    row.push(if excluded > 0 {
        format!("{} (−{excluded})", summary.runs)
    } else {
        summary.runs.to_string()
    });
    let ratio = |ratio: &Option<measure::stats::RatioSpread>| {
        ratio.as_ref().map_or("–".into(), |ratio| format!("{:.2}", ratio.median))
    };
    row.push(span(summary.ttft_us.as_ref().map(|spread| spread.median)));
    row.push(span(summary.gap_us.as_ref().map(|spread| spread.median)));
    row.push(span(summary.gap_us.as_ref().map(|spread| spread.max)));
    row.push(ratio(&summary.frames_per_read));
    if browser {
        row.push(ratio(&summary.wire_frames_per_read));
    }
    row.push(summary.verdict.name.name().to_string());
    row
}

/// The protocol that was negotiated; a native reader's is the one it asked for, or its run does not
/// count.
fn spoken(cell: &CellResult) -> String {
    let planned = || cell.cell.engine.is_none().then(|| cell.cell.request.client_protocol.clone());
    cell.summary.negotiated.clone().or_else(planned).unwrap_or_else(|| "–".into())
}

fn span(span: Option<Span>) -> String {
    span.map_or("–".into(), |span| span.to_string())
}

/// Why, for every row that is not simply live.
fn sentence(cell: &CellResult, variation: &Variation) -> String {
    let Summary { verdict, excluded_because, .. } = &cell.summary;
    let mut text = String::new();
    let differs = variation.words(&cell.cell);
    let who = match differs.as_str() {
        "" => cell.cell.endpoint.clone(),
        differs => format!("{} ({differs})", cell.cell.endpoint),
    };
    if verdict.name != Verdict::Live {
        text.push_str(&format!("{who}: {}: {}.\n", verdict.name.name(), verdict.because));
    }
    if let Some(why) = &cell.summary.wire_unknown {
        text.push_str(&format!("{who}: without the wire's side: {why}.\n"));
    }
    // A void row's sentence has its reasons already.
    let reasons = excluded_because.iter().filter(|_| verdict.name != Verdict::Void);
    for why in reasons {
        text.push_str(&format!("{who}: excluded by {why}.\n"));
    }
    text
}

/// What the taps themselves cost, and how far the browser's clock may be off.
fn taps(document: &Document) -> String {
    let cells = || document.cells.iter().map(|cell| &cell.summary);
    let worst = |of: fn(&Summary) -> Option<Span>| cells().filter_map(of).max();
    let own = cells().filter_map(|s| s.tap_own_us.as_ref());
    // A 99th percentile where the samples carry one; else the worst there was.
    let own = match own.clone().filter_map(|spread| spread.p99).max() {
        Some(p99) => Some(("99% within", p99)),
        None => own.map(|spread| spread.max).max().map(|max| ("at most", max)),
    };
    let all = worst(|s| s.tap_cost_us.as_ref().map(|spread| spread.median));
    let clock = worst(|s| s.clock_uncertainty_us);
    let (Some((bound, own)), Some(all), Some(clock)) = (own, all, clock) else {
        return String::new();
    };
    format!(
        "Taps: {} µs in the median with the kernel's own wake-up, {bound} {} µs beyond it, in the worst cell; browser clock ± {} µs, nothing under it is claimed.\n",
        all.as_micros(),
        own.as_micros(),
        clock.as_micros()
    )
}

fn footer(document: &Document) -> String {
    let (excluded, undecided) = document.noise();
    let mut text = String::new();
    let floor = document
        .cells
        .iter()
        .filter(|cell| cell.cell.is_direct() && cell.cell.request.slow.is_none())
        .filter_map(|cell| Some(cell.summary.frames_per_read.as_ref()?.max))
        .max_by(f64::total_cmp);
    if let Some(floor) = floor {
        text.push_str(&format!(
            "Floor of the direct path: {floor:.2} frames per read; nothing under it is a finding.\n"
        ));
    }
    text.push_str(&taps(document));
    let machine = &document.machine;
    let load = |load: Option<f64>| load.map_or("?".into(), |load| format!("{load:.2}"));
    text.push_str(&format!(
        "{}, {} processors, load {} before and {} after; {:.1}% of runs excluded, {:.1}% of rows undecided; seed {}.\n",
        machine.kernel,
        machine.cpus,
        load(machine.load_before),
        load(machine.load_after),
        excluded * 100.0,
        undecided * 100.0,
        document.seed,
    ));
    if !document.complete {
        text.push_str("Incomplete: it was interrupted before the whole plan was played.\n");
    }
    text
}
