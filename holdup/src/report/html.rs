//! The report as one HTML file: style and pictures inside, no script, nothing fetched.

use std::collections::BTreeSet;
use std::fmt::Write;

use measure::Span;
use measure::results::CellResult;

use super::grid::{Column, Entry, Grid};
use super::picture::Esc;
use super::slope::{self, Picture};
use super::source::Source;
use super::tables::{self, Variation};
use super::words::{self, Mood};
use super::{RAW, protocols, spread};

const STYLE: &str = include_str!("style.css");

/// The whole report.
pub(crate) fn render(source: &Source) -> String {
    let document = &source.document;
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\
         <meta name=\"color-scheme\" content=\"light dark\"/>\
         <title>Holdup: {}</title><style>{STYLE}</style></head><body><header>",
        Esc(&document.started_at)
    );
    let _ = write!(
        out,
        "<p class=\"name\">Holdup</p><h1>{}</h1><p class=\"answer\">{}</p>",
        words::QUESTION,
        Esc(&words::answer(document))
    );
    for note in &source.notes {
        let _ = write!(out, "<p class=\"notice\">{}</p>", Esc(note));
    }
    out.push_str("<dl class=\"facts\">");
    for (name, what) in tables::facts(document) {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", Esc(&what));
    }
    out.push_str("</dl></header><main>");
    section(&mut out, "measured", "What was measured", |out| {
        out.push_str("<p class=\"how\">Medians; small figures are the smallest and the largest. TTFT is counted from the call to the first event with visible text. A dash is a quantity that does not apply.</p>");
        if let Some(map) = protocols::map(document) {
            grid(out, &map);
        }
        for table in tables::presets(document) {
            grid(out, &table);
        }
        let costs = tables::costs(document);
        if !costs.rows.is_empty() {
            grid(out, &costs);
        }
    });
    section(&mut out, "published", "Published beside ours", |out| published(out, source));
    section(&mut out, "slopes", "When frames were sent, and when they came", |out| {
        slopes(out, source);
    });
    section(&mut out, "spreads", "Distributions", |out| spreads(out, source));
    section(&mut out, "guards", "Guards and exclusions", |out| {
        let excluded = tables::exclusions(document);
        out.push_str("<p class=\"how\">Declared before the first run, mechanical, and blind to what a proxy did. An excluded run is counted, never repeated.</p>");
        if excluded.rows.is_empty() {
            out.push_str("<p>No run was excluded.</p>");
        } else {
            grid(out, &excluded);
        }
        grid(out, &tables::guards(document));
    });
    section(&mut out, "verdicts", "Verdicts", |out| grid(out, &tables::verdicts(document)));
    section(&mut out, "ran", "What ran", |out| {
        grid(out, &tables::endpoints(document));
        for endpoint in &document.endpoints {
            if let Some(config) = &endpoint.config {
                let _ = write!(
                    out,
                    "<details><summary>{} <span class=\"small\">{}, its whole configuration</span></summary><pre>{}</pre></details>",
                    Esc(&endpoint.name),
                    Esc(&endpoint.label),
                    Esc(config)
                );
            }
        }
    });
    section(&mut out, "raw", "Raw data", |out| {
        let _ = write!(out, "<p class=\"how\">{}</p>", Esc(RAW));
    });
    out.push_str("</main></body></html>\n");
    out
}

fn section(out: &mut String, id: &str, title: &str, fill: impl FnOnce(&mut String)) {
    let _ = write!(out, "<section id=\"{id}\"><h2>{}</h2>", Esc(title));
    fill(out);
    out.push_str("</section>");
}

fn grid(out: &mut String, grid: &Grid) {
    let narrow = if grid.columns.len() < 3 { " class=\"narrow\"" } else { "" };
    let _ = write!(out, "<div class=\"table\"><table{narrow}>");
    if !grid.title.is_empty() || !grid.note.is_empty() {
        let _ = write!(out, "<caption><strong>{}</strong> ", Esc(&grid.title));
        let _ = write!(out, "<span class=\"small\">{}</span></caption>", Esc(&grid.note));
    }
    out.push_str("<thead>");
    heads(out, &grid.columns);
    out.push_str("</thead><tbody>");
    for row in &grid.rows {
        out.push_str("<tr>");
        for (index, (entry, column)) in row.iter().zip(&grid.columns).enumerate() {
            place(out, index == 0, column, entry);
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

/// One line of heads, or two where several columns share one.
fn heads(out: &mut String, columns: &[Column]) {
    let class = |column: &Column| if column.figure { " class=\"figure\"" } else { "" };
    let grouped = columns.iter().any(|column| column.group.is_some());
    out.push_str("<tr>");
    let mut index = 0;
    while let Some(column) = columns.get(index) {
        match &column.group {
            Some(group) => {
                let width =
                    columns[index..].iter().take_while(|c| c.group.as_ref() == Some(group)).count();
                let _ = write!(
                    out,
                    "<th scope=\"colgroup\" class=\"group\" colspan=\"{width}\">{}</th>",
                    Esc(group)
                );
                index += width;
            }
            None => {
                let rows = if grouped { " rowspan=\"2\"" } else { "" };
                let _ = write!(
                    out,
                    "<th scope=\"col\"{}{rows}>{}</th>",
                    class(column),
                    Esc(&column.head)
                );
                index += 1;
            }
        }
    }
    out.push_str("</tr>");
    if grouped {
        out.push_str("<tr>");
        for column in columns.iter().filter(|column| column.group.is_some()) {
            let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(column), Esc(&column.head));
        }
        out.push_str("</tr>");
    }
}

fn place(out: &mut String, first: bool, column: &Column, entry: &Entry) {
    let tag = if first { "th scope=\"row\"" } else { "td" };
    let class = if column.figure { " class=\"figure\"" } else { "" };
    let _ = write!(out, "<{tag}{class}>");
    let text = Esc(&entry.text);
    match entry.mood {
        Some(mood) => {
            let _ = write!(out, "<span class=\"mood {}\">{text}</span>", mood_class(mood));
        }
        None if entry.code => {
            let _ = write!(out, "<code>{text}</code>");
        }
        None => {
            let _ = write!(out, "{text}");
        }
    }
    if !entry.small.is_empty() {
        let _ = write!(out, " <span class=\"small\">{}</span>", Esc(&entry.small));
    }
    out.push_str(if first { "</th>" } else { "</td>" });
}

fn mood_class(mood: Mood) -> &'static str {
    match mood {
        Mood::Good => "good",
        Mood::Bad => "bad",
        Mood::Open => "open",
    }
}

fn published(out: &mut String, source: &Source) {
    let _ = write!(
        out,
        "<p class=\"how\">Rows agree when they show the same shape: who holds, by what order, what cures it; not the same millisecond. {}</p>",
        Esc(&tables::published_tally(&source.document))
    );
    out.push_str("<dl class=\"sources\">");
    for (name, how) in tables::sources() {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", Esc(name), Esc(how));
    }
    out.push_str("</dl><div class=\"beside\">");
    for table in tables::published(&source.document) {
        grid(out, &table);
    }
    out.push_str("</div>");
    out.push_str(
        "<details class=\"rules\"><summary>When figures have the same shape</summary><dl>",
    );
    for (quantity, rule) in measure::published::rules() {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", Esc(quantity), Esc(rule));
    }
    out.push_str("</dl></details>");
}

/// Slope charts of the headline's cells and of every cell that is not live, by preset; those of
/// one stream share their time axis.
fn slopes(out: &mut String, source: &Source) {
    if source.runs.is_none() {
        out.push_str("<p class=\"how\">The charts need runs.ndjson, which is not there.</p>");
        return;
    }
    out.push_str("<p class=\"how\">One run of each cell, the one with the middle TTFT. Above, a tick when the emitter wrote a frame; below, a dot when the frame arrived; the line between leans as long as it was held. Where a tap stood before a browser there is an axis for the wire: a line that leans above it was held on the path, below it in the browser or the page. Frames that came together share a dot, with their count. Cells that are live have no chart but for the headline's.</p>");
    let mut drawn: BTreeSet<&str> = BTreeSet::new();
    for (preset, rows) in tables::by_preset(&source.document) {
        let wanted: Vec<&CellResult> = rows
            .iter()
            .copied()
            .filter(|row| {
                preset == "headline" || words::mood(row.summary.verdict.name) != Mood::Good
            })
            .filter(|row| drawn.insert(&row.id))
            .collect();
        let variation = Variation::of(&rows);
        // Those of one stream lie under each other.
        let mut streams: Vec<(String, Vec<(&CellResult, Picture)>)> = Vec::new();
        for row in wanted {
            let Some(run) = source.middle(&row.id) else { continue };
            let key = row.cell.script.slug();
            let picture = (row, Picture::of(run));
            match streams.iter_mut().find(|(known, _)| *known == key) {
                Some((_, pictures)) => pictures.push(picture),
                None => streams.push((key, vec![picture])),
            }
        }
        for (_, pictures) in &streams {
            let Some((first, _)) = pictures.first() else { continue };
            let end = pictures.iter().map(|(_, picture)| picture.end()).max().unwrap_or_default();
            // A little room after the last frame.
            let end = Span(end.as_micros() + end.as_micros() / 50);
            let _ = write!(
                out,
                "<div class=\"charts\"><h3>{} <span class=\"small\">{}</span></h3><div class=\"chart\"><div></div>{}</div>",
                Esc(preset),
                Esc(&words::stream(&first.cell.script)),
                slope::ruler(end)
            );
            for (row, picture) in pictures {
                let verdict = row.summary.verdict.name;
                let _ = write!(
                    out,
                    "<div class=\"chart\"><div><b>{}</b><span class=\"mood {}\">{}</span><span class=\"small\">{}</span></div>{}</div>",
                    Esc(&row.cell.endpoint),
                    mood_class(words::mood(verdict)),
                    verdict.name(),
                    Esc(&variation.words(&row.cell)),
                    picture.svg(end)
                );
            }
            out.push_str("</div>");
        }
    }
}

/// TTFT and gaps of every cell, by preset.
fn spreads(out: &mut String, source: &Source) {
    let how = match source.runs {
        Some(_) => {
            "Left, TTFT: a dot each run, a bar at the median. Right, the gaps between frames: how often each length came, the tallest bar of a cell at full height. Times are logarithmic, the same for all of a preset."
        }
        None => {
            "From the smallest to the largest, a bar at the median; single runs need runs.ndjson, which is not there. Times are logarithmic, the same for all of a preset."
        }
    };
    let _ = write!(out, "<p class=\"how\">{how}</p>");
    for (preset, rows) in tables::by_preset(&source.document) {
        let variation = Variation::of(&rows);
        let rows: Vec<&CellResult> =
            rows.into_iter().filter(|row| row.summary.ttft_us.is_some()).collect();
        if rows.is_empty() {
            continue;
        }
        let cells: Vec<spread::Cell> =
            rows.iter().map(|row| spread::Cell::of(source, row)).collect();
        let axis = spread::Cell::axis(&cells);
        let ruler = spread::ruler(&axis);
        let _ = write!(
            out,
            "<div class=\"spreads\"><h3>{}</h3><div class=\"pair\"><div></div><div><span class=\"small\">TTFT</span>{ruler}</div><div><span class=\"small\">gaps</span>{ruler}</div></div>",
            Esc(preset)
        );
        for (row, cell) in rows.iter().zip(&cells) {
            let _ = write!(
                out,
                "<div class=\"pair {}\"><div><b>{}</b> <span class=\"small\">{}</span></div>{}{}</div>",
                mood_class(words::mood(row.summary.verdict.name)),
                Esc(&row.cell.endpoint),
                Esc(&variation.words(&row.cell)),
                cell.ttft_svg(&axis),
                cell.gaps_svg(&axis)
            );
        }
        out.push_str("</div>");
    }
}
