//! The report as Markdown: the same sentences and tables, without pictures.

use std::fmt::Write;

use super::grid::{Column, Entry, Grid};
use super::source::Source;
use super::{RAW, protocols, tables, words};

/// The whole report.
pub(crate) fn render(source: &Source) -> String {
    let document = &source.document;
    let mut out = format!("# {}\n\n{}\n\n", words::QUESTION, text(&words::answer(document)));
    for note in &source.notes {
        let _ = writeln!(out, "> {}\n", text(note));
    }
    for (name, what) in tables::facts(document) {
        let _ = writeln!(out, "- {name}: {}", text(&what));
    }
    out.push_str("\n## What was measured\n\n");
    if let Some(map) = protocols::map(document) {
        grid(&mut out, &map);
    }
    for table in tables::presets(document) {
        grid(&mut out, &table);
    }
    let costs = tables::costs(document);
    if !costs.rows.is_empty() {
        grid(&mut out, &costs);
    }
    out.push_str("## Published beside ours\n\n");
    let _ = writeln!(out, "{}\n", tables::published_tally(document));
    for (name, how) in tables::sources() {
        let _ = writeln!(out, "- {}: {}", text(name), text(how));
    }
    out.push('\n');
    for table in tables::published(document) {
        grid(&mut out, &table);
    }
    out.push_str("Two rows agree when each published figure has the shape of ours:\n\n");
    for (quantity, rule) in measure::published::rules() {
        let _ = writeln!(out, "- {quantity}: {}", text(rule));
    }
    out.push_str("\n## Guards and exclusions\n\n");
    grid(&mut out, &tables::guards(document));
    let excluded = tables::exclusions(document);
    if excluded.rows.is_empty() {
        out.push_str("No run was excluded.\n\n");
    } else {
        grid(&mut out, &excluded);
    }
    out.push_str("## Verdicts\n\n");
    grid(&mut out, &tables::verdicts(document));
    out.push_str("## What ran\n\n");
    grid(&mut out, &tables::endpoints(document));
    out.push_str("## Configurations\n\n");
    for endpoint in &document.endpoints {
        if let Some(config) = &endpoint.config {
            let fence = fence(config);
            let _ = writeln!(
                out,
                "### {}\n\n{fence}\n{}\n{fence}\n",
                text(&endpoint.name),
                config.trim_end()
            );
        }
    }
    let _ = writeln!(out, "## Raw data\n\n{RAW}");
    out
}

/// What a CI shows of a run: the answer, the tables and the verdicts.
pub(crate) fn summary(document: &measure::results::Document) -> String {
    let mut out = format!("## {}\n\n{}\n\n", words::QUESTION, text(&words::answer(document)));
    for table in tables::presets(document) {
        grid(&mut out, &table);
    }
    grid(&mut out, &tables::verdicts(document));
    let excluded = tables::exclusions(document);
    if !excluded.rows.is_empty() {
        grid(&mut out, &excluded);
    }
    out
}

/// The published tables beside ours, for a document that tells only of them.
pub(crate) fn published(document: &measure::results::Document) -> String {
    let mut out = format!("{}\n\n", tables::published_tally(document));
    for table in tables::published(document) {
        grid(&mut out, &table);
    }
    out
}

/// One table by itself.
pub(crate) fn table(table: &Grid) -> String {
    let mut out = String::new();
    grid(&mut out, table);
    out
}

fn grid(out: &mut String, grid: &Grid) {
    if !grid.title.is_empty() {
        let _ = writeln!(out, "### {}\n", text(&grid.title));
    }
    if !grid.note.is_empty() {
        let _ = writeln!(out, "{}\n", text(&grid.note));
    }
    let head = |column: &Column| match &column.group {
        Some(group) => text(&format!("{group}, {}", column.head)),
        None => text(&column.head),
    };
    let heads: Vec<String> = grid.columns.iter().map(head).collect();
    let _ = writeln!(out, "| {} |", heads.join(" | "));
    let rules: Vec<&str> =
        grid.columns.iter().map(|column| if column.figure { "--:" } else { "---" }).collect();
    let _ = writeln!(out, "| {} |", rules.join(" | "));
    for row in &grid.rows {
        let entries: Vec<String> = row.iter().map(entry).collect();
        let _ = writeln!(out, "| {} |", entries.join(" | "));
    }
    out.push('\n');
}

fn entry(entry: &Entry) -> String {
    let main = if entry.code && entry.text != "–" {
        // Hexadecimal digits need no escape; anything else is no code.
        match entry.text.chars().all(|c| c.is_ascii_alphanumeric()) {
            true => format!("`{}`", entry.text),
            false => text(&entry.text),
        }
    } else {
        text(&entry.text)
    };
    match entry.small.as_str() {
        "" => main,
        small => format!("{main} ({})", text(small)),
    }
}

/// Plain text: nothing in it is taken for markup, and it stays on its line.
pub(crate) fn text(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A fence longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_for_markup() {
        assert_eq!(text("a|b\n*c* <d>"), r"a\|b \*c\* \<d\>");
        assert_eq!(fence("plain"), "```");
        assert_eq!(fence("````x"), "`````");
    }
}
