//! `docs/findings.md`: what a real run found, written from its figures. Every conclusion is
//! computed; where a run does not show what an earlier one did, it says so.

mod cost;
mod nginx;
mod protocols;
mod trigger;

use std::path::{Path, PathBuf};

use measure::Span;
use measure::results::{CellResult, Document};
use measure::verdict::Verdict;

use crate::report;

/// Findings that cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FindingsError {
    #[error("{path}: {source}; make it with `cargo xtask findings`")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}")]
    Document { path: PathBuf, source: measure::results::ReadError },
}

/// The text, from a folder with one results folder a preset.
pub(crate) fn render(folder: &Path) -> Result<String, FindingsError> {
    let read = |preset: &str| {
        let path = folder.join(preset).join(crate::store::RESULTS);
        let text = std::fs::read_to_string(&path)
            .map_err(|source| FindingsError::Read { path: path.clone(), source })?;
        Document::from_json(&text).map_err(|source| FindingsError::Document { path, source })
    };
    let published = read("published")?;
    let trigger = read("haproxy-trigger")?;
    let grid = read("nginx-grid")?;
    let cost = read("no-delay-cost")?;
    let native = read("protocols")?;
    let browsers = read("protocols-browsers")?;
    let mut text = String::new();
    text.push_str(HEAD);
    text.push_str(&origin(&[&published, &trigger, &grid, &cost, &native, &browsers]));
    text.push_str("\n## The published tables, run again\n\n");
    text.push_str(&report::published_markdown(&published));
    text.push_str("\n## Three articles that seem to disagree do not\n\n");
    text.push_str(&nginx::reconcile(&published));
    text.push_str("\n### The whole grid\n\n");
    text.push_str(&nginx::grid(&grid));
    text.push_str("\n## What triggers HAProxy's flush: bytes, a timer, or both?\n\n");
    text.push_str(&trigger::section(&trigger));
    text.push_str("\n## What does `option http-no-delay` cost?\n\n");
    text.push_str(&cost::section(&cost));
    text.push_str("\n## On the protocol of your users\n\n");
    text.push_str(&protocols::section(&native, &browsers));
    text.push_str("\n## A header, pooling, Nagle\n\n");
    text.push_str(&small(&published));
    Ok(text)
}

const HEAD: &str = "# Findings

Written by `cargo xtask findings` from a real run; nothing in it is typed by hand. `--keep` makes it
again from the last run's results without measuring, and the name of a part measures that part anew.

";

fn origin(documents: &[&Document]) -> String {
    let mut text = String::from(
        "| preset | made by | begun | runs excluded | rows undecided |\n|---|---|---|---:|---:|\n",
    );
    for document in documents {
        let (excluded, undecided) = document.noise();
        let command: Vec<&str> = document.command.iter().skip(1).map(String::as_str).collect();
        // The folder it was written to is nobody's business.
        let shown: Vec<&str> =
            command.iter().take_while(|word| **word != "--out").copied().collect();
        let preset = document.cells.first().map_or("", |cell| cell.cell.preset.as_str());
        let preset = shown.iter().skip_while(|word| **word != "--preset").nth(1).unwrap_or(&preset);
        text.push_str(&format!(
            "| {preset} | `holdup {}` | {} | {:.1}% | {:.1}% |\n",
            shown.join(" "),
            document.started_at,
            excluded * 100.0,
            undecided * 100.0
        ));
    }
    if let Some(document) = documents.first() {
        let machine = &document.machine;
        text.push_str(&format!("\n{}, {} processors. ", machine.kernel, machine.cpus));
        let versions = document
            .endpoints
            .iter()
            .filter_map(|e| Some(format!("{} {}", e.proxy.as_ref()?, e.version.as_ref()?)));
        text.push_str(&format!("{}.\n", each_once(versions).join(", ")));
    }
    text
}

/// In the order of their first appearance.
fn each_once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut once = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// The row of a preset and endpoint that fits.
fn find<'a>(
    document: &'a Document,
    preset: &str,
    endpoint: &str,
    fits: impl Fn(&CellResult) -> bool,
) -> Option<&'a CellResult> {
    document
        .cells
        .iter()
        .find(|c| c.cell.preset == preset && c.cell.endpoint == endpoint && fits(c))
}

fn verdict(row: Option<&CellResult>) -> Verdict {
    row.map_or(Verdict::CannotTell, |row| row.summary.verdict.name)
}

fn ttft(row: Option<&CellResult>) -> Option<Span> {
    Some(row?.summary.ttft_us.as_ref()?.median)
}

fn per_read(row: Option<&CellResult>) -> Option<f64> {
    Some(row?.summary.frames_per_read.as_ref()?.median)
}

fn shown<T: std::fmt::Display>(figure: Option<T>) -> String {
    figure.map_or("–".into(), |figure| figure.to_string())
}

fn shown_ratio(figure: Option<f64>) -> String {
    figure.map_or("–".into(), |figure| format!("{figure:.2}"))
}

/// P4 and P7 in sentences.
fn small(published: &Document) -> String {
    let plain = find(published, "header", "haproxy", |c| c.cell.script.headers.is_empty());
    let with = find(published, "header", "haproxy", |c| !c.cell.script.headers.is_empty());
    let mut text = if verdict(plain) == verdict(with) && verdict(with) == Verdict::Corked {
        format!(
            "`X-Accel-Buffering: no` does nothing for HAProxy: {} and {:.2} frames per read without it, {} and {:.2} with it.\n",
            shown(ttft(plain)),
            per_read(plain).unwrap_or_default(),
            shown(ttft(with)),
            per_read(with).unwrap_or_default()
        )
    } else {
        format!(
            "This run does not show what `X-Accel-Buffering: no` does for HAProxy: {} without it, {} with it.\n",
            verdict(plain).name(),
            verdict(with).name()
        )
    };
    let rows: Vec<&CellResult> = published
        .cells
        .iter()
        .filter(|c| c.cell.preset == "connections" && !c.cell.is_direct())
        .collect();
    let live = rows.iter().filter(|row| row.summary.verdict.name == Verdict::Live).count();
    let excluded = |nagle: bool| -> u32 {
        rows.iter()
            .filter(|row| row.cell.script.nagle == nagle)
            .flat_map(|row| row.summary.excluded.values())
            .sum()
    };
    text.push_str(&format!(
        "\nPooled or fresh upstream connections, Nagle on or off: {live} of {} rows are live; {} runs were excluded with Nagle off and {} with it on.\n",
        rows.len(),
        excluded(false),
        excluded(true)
    ));
    text
}
