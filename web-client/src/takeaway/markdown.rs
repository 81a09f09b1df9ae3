//! The figures as Markdown, for a ticket or a chat: the tables that the command prints.

use measure::results::{CellResult, Document};
use measure::summary::Summary;
use measure::verdict::Verdict;

use super::prose::{self, Block};
use crate::view::markup::filled;
use crate::words;

/// A document with these rows, and the address that runs it again, if there is one.
pub fn of(document: &Document, rows: &[&CellResult], address: Option<&str>) -> String {
    let mut out = String::from("### Who is holding up your tokens?\n\n");
    let blocks = prose::blocks(rows);
    for block in &blocks {
        if let Some(answer) = block.answer() {
            line(&mut out, &[&text(&answer), "\n"]);
        }
        line(&mut out, &[&text(&block.title), "; medians.\n"]);
        table(&mut out, document, block);
    }
    for (name, why) in prose::not_run(document, rows) {
        line(&mut out, &["- ", &text(name), " did not run: ", &text(&words::sentence(why))]);
    }
    for (name, what) in prose::origin(document, rows) {
        // Of a page the address says it better.
        if address.is_some() && name == "Made by" {
            continue;
        }
        line(&mut out, &["- ", name, ": ", &text(&what)]);
    }
    if let Some(address) = address {
        line(&mut out, &["- Run it again: <", address, ">"]);
    }
    out
}

fn line(out: &mut String, parts: &[&str]) {
    for part in parts {
        out.push_str(part);
    }
    out.push('\n');
}

fn table(out: &mut String, document: &Document, block: &Block<'_>) {
    let browser = block.rows.iter().any(|row| row.cell.reader.in_browser());
    out.push_str("| endpoint | what runs there | runs | TTFT | gap | longest gap | ");
    out.push_str(if browser {
        "frames per read on the wire | frames per delivery | verdict |\n\
         | --- | --- | --: | --: | --: | --: | --: | --: | --- |\n"
    } else {
        "frames per read | verdict |\n| --- | --- | --: | --: | --: | --: | --: | --- |\n"
    });
    let step = block.clock_step_us();
    for row in &block.rows {
        let summary = &row.summary;
        let mut entries = vec![
            text(&prose::name(row)),
            text(&prose::label(document, row)),
            runs(row),
            words::spread_median(summary.ttft_us.as_ref(), step),
            words::spread_median(summary.gap_us.as_ref(), step),
            words::spread_max(summary.gap_us.as_ref(), step),
        ];
        if browser {
            entries.push(words::ratio(summary.wire_frames_per_read.as_ref()));
        }
        entries.push(words::ratio(summary.frames_per_read.as_ref()));
        entries.push(summary.verdict.name.name().into());
        for entry in &entries {
            out.push_str("| ");
            out.push_str(entry);
            out.push(' ');
        }
        out.push_str("|\n");
    }
    out.push('\n');
    let mut any = false;
    for row in &block.rows {
        any |= reasons(out, row);
    }
    if any {
        out.push('\n');
    }
}

fn runs(row: &CellResult) -> String {
    let (runs, excluded) = (row.summary.runs.to_string(), words::excluded(row));
    if excluded == 0 { runs } else { filled("¤ (¤ excluded)", &[&runs, &excluded.to_string()]) }
}

/// Why, for every row that is not simply live; whether there was anything to say.
fn reasons(out: &mut String, row: &CellResult) -> bool {
    let Summary { verdict, excluded_because, .. } = &row.summary;
    let name = text(&prose::name(row));
    let mut any = false;
    if verdict.name != Verdict::Live {
        let because = text(&words::sentence(&verdict.because));
        line(out, &["- ", &name, ": ", verdict.name.name(), ": ", &because]);
        any = true;
    }
    // A void row's sentence has its reasons already.
    for why in excluded_because.iter().filter(|_| verdict.name != Verdict::Void) {
        line(out, &["- ", &name, ": excluded by ", &text(&words::sentence(why))]);
        any = true;
    }
    any
}

/// Plain text: nothing in it is taken for markup, and it stays on its line.
fn text(plain: &str) -> String {
    let mut out = String::new();
    for letter in plain.chars() {
        if matches!(letter, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&')
        {
            out.push('\\');
        }
        out.push(if letter.is_control() { ' ' } else { letter });
    }
    out
}
