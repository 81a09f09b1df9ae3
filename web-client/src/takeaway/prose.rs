//! A document in words: its rows in blocks that may be compared, and where it came from.

use measure::Reader;
use measure::cell::{Cell, HeaderSet};
use measure::results::{CellResult, Document};
use measure::script::{Body, Framing, Script};
use measure::units::decimal;
use measure::verdict::Verdict;

use crate::view::markup::joined;
use crate::words;

/// Rows that share their control: one script, one reader, asked and linked in one way.
pub struct Block<'a> {
    /// What they share.
    pub title: String,
    /// The rows, in the document's order.
    pub rows: Vec<&'a CellResult>,
}

impl Block<'_> {
    /// The finest step of the clock that its figures were taken by, microseconds.
    pub fn clock_step_us(&self) -> i64 {
        let browser = self.rows.iter().find_map(|row| row.browser.as_ref());
        browser.map_or(1, |browser| browser.clock_step_us)
    }

    /// The sentence that its figures make; `None` before a run.
    pub fn answer(&self) -> Option<String> {
        let browser = self.rows.iter().find_map(|row| row.browser.as_ref());
        let engine = browser.map_or("unknown", |browser| browser.name.as_str());
        let named: Vec<(String, &CellResult)> =
            self.rows.iter().map(|row| (name(row), *row)).collect();
        words::answer(&named, engine, self.clock_step_us())
    }
}

/// A row's name in its block: its endpoint, and which stream through it.
pub fn name(row: &CellResult) -> String {
    let special = special(row);
    let between = if special.is_empty() { "" } else { ", " };
    joined(&[&row.cell.endpoint, between, &special])
}

/// Whether there is anything to say of a row: a run, excluded or not, or why there was none.
fn is_told(row: &CellResult) -> bool {
    row.summary.runs > 0
        || !row.summary.excluded.is_empty()
        || row.summary.verdict.name == Verdict::Failed
}

/// The rows that were measured, in blocks.
pub fn blocks<'a>(rows: &[&'a CellResult]) -> Vec<Block<'a>> {
    let mut keys: Vec<String> = Vec::new();
    let mut blocks: Vec<Block<'a>> = Vec::new();
    for row in rows.iter().copied().filter(|row| is_told(row)) {
        let mut key = row.cell.control_key();
        key.push_str(&row.cell.preset);
        let place = keys.iter().position(|own| *own == key).unwrap_or_else(|| {
            blocks.push(Block { title: title(row), rows: Vec::new() });
            keys.push(key);
            blocks.len() - 1
        });
        blocks[place].rows.push(row);
    }
    blocks
}

fn title(row: &CellResult) -> String {
    let Cell { reader, request, link, concurrency, page_work_us, script, .. } = &row.cell;
    let mut title = stream(script);
    if *reader == Reader::Recv {
        title.push_str(", read natively");
    } else {
        title.push_str(&joined(&[", read by ", words::by(*reader)]));
    }
    if let Some(browser) = &row.browser {
        let engine = words::engine(&browser.name);
        title.push_str(&joined(&[" in ", &engine, " ", &browser.version]));
    }
    if *reader == Reader::Recv && request.headers != HeaderSet::Plain {
        title.push_str(" with a browser’s headers");
    }
    if let Some(encoding) = &request.accept_encoding {
        title.push_str(", offering ");
        title.push_str(encoding);
    }
    if let Some(slow) = &request.slow {
        let (bytes, pause) = (slow.read_bytes.to_string(), slow.pause_us.millis_text());
        title.push_str(&joined(&[", ", &bytes, " B each ", &pause, " ms"]));
    }
    if *concurrency > 1 {
        title.push_str(&joined(&[", ", &concurrency.to_string(), " at once"]));
    }
    if let Some(work) = page_work_us {
        title.push_str(&joined(&[", the page busy for ", &work.millis_text(), " ms each time"]));
    }
    title.push_str(&match link.mss {
        Some(mss) => joined(&[", segments of ", &mss.to_string(), " B"]),
        None => ", segments of loopback".into(),
    });
    title
}

/// What is played, in words.
pub fn stream(script: &Script) -> String {
    let mut text = match &script.body {
        Body::Paced { frames, interval_us, frame_bytes } => {
            let (frames, bytes) = (frames.to_string(), frame_bytes.to_string());
            joined(&[
                &frames,
                " frames of ",
                &bytes,
                " B, ",
                &interval_us.millis_text(),
                " ms apart",
            ])
        }
        Body::Writes { writes } => joined(&[&writes.len().to_string(), " writes"]),
    };
    if script.nagle {
        text.push_str(", Nagle on");
    }
    if script.framing == Framing::Close {
        text.push_str(", ended by closing");
    }
    for header in &script.headers {
        text.push_str(&joined(&[", ", &header.name, ": ", &header.value]));
    }
    text
}

/// What tells a row from the others of its endpoint in a block.
fn special(row: &CellResult) -> String {
    row.cell.stream.map_or(String::new(), |stream| {
        joined(&["stream ", &stream.to_string(), " of ", &row.cell.concurrency.to_string()])
    })
}

/// What ran at a row's endpoint, and its one setting.
pub fn label(document: &Document, row: &CellResult) -> String {
    let endpoint = document.endpoints.iter().find(|own| own.name == row.cell.endpoint);
    endpoint.map_or(String::new(), words::setting)
}

/// Endpoints that could not be started and so have no row, each with its reason.
pub fn not_run<'a>(document: &'a Document, rows: &[&CellResult]) -> Vec<(&'a str, &'a str)> {
    let has_row = |name: &str| rows.iter().any(|row| row.cell.endpoint == name);
    document
        .endpoints
        .iter()
        .filter_map(|own| Some((own.name.as_str(), own.failed.as_deref()?)))
        .filter(|(name, _)| !has_row(name))
        .collect()
}

/// Where a document came from, each fact with its name.
pub fn origin(document: &Document, rows: &[&CellResult]) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    let mut browsers: Vec<String> = Vec::new();
    for browser in rows.iter().filter_map(|row| row.browser.as_ref()) {
        let isolated = if browser.isolated { "isolated" } else { "not isolated" };
        let said = joined(&[
            &words::engine(&browser.name),
            " ",
            &browser.version,
            ", ",
            isolated,
            ", clock step ",
            &words::fine(browser.clock_step_us),
        ]);
        if !browsers.contains(&said) {
            browsers.push(said);
        }
    }
    for browser in browsers {
        facts.push(("Browser", browser));
    }
    let uncertain = rows.iter().filter_map(|row| row.summary.clock_uncertainty_us).max();
    if let Some(uncertain) = uncertain {
        facts.push(("Clock", joined(&["± ", &words::fine(uncertain.as_micros())])));
    }
    let machine = &document.machine;
    let mut text = joined(&[&machine.kernel, ", ", &words::count(machine.cpus, "CPU")]);
    for (what, load) in [(", load ", machine.load_before), (", then ", machine.load_after)] {
        if let Some(load) = load {
            text.push_str(what);
            text.push_str(&decimal(load, 1));
        }
    }
    if let Some(priority) = &machine.priority {
        text.push_str(", threads at ");
        text.push_str(priority);
    }
    facts.push(("Machine", text));
    facts.push(("Begun", document.started_at.clone()));
    facts.push(("Seed", document.seed.to_string()));
    let mut command = String::new();
    for part in &document.command {
        if !command.is_empty() {
            command.push(' ');
        }
        command.push_str(part);
    }
    facts.push(("Made by", command));
    if !document.complete {
        facts.push(("Incomplete", "not every planned run was made".into()));
    }
    facts
}
