//! A diagnosis for people: the evidence as a table, then what it came to.

use std::path::Path;

use comfy_table::CellAlignment;
use measure::Span;
use measure::cause::Hop;
use measure::verdict::{Sure, Verdict};

use super::diagnosis::{Advice, Answer, Diagnosis};
use super::record::{Line, Record};
use super::verify::Verified;
use crate::ci::Files;
use crate::exit::Problem;
use crate::junit::{Case, State};
use crate::table;

const HEAD: [&str; 6] = ["experiment", "answer", "first event", "events", "per read", "shows"];

/// Everything, for a terminal.
pub(crate) fn text(record: &Record) -> String {
    let mut text = evidence(&record.evidence);
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&taken_away(&record.evidence));
    text.push_str(&story(&record.diagnosis));
    text.push_str(&footer(record));
    printable(&text)
}

/// What to do after the change.
pub(crate) fn next_step(record: &Record, out: Option<&Path>) -> String {
    let again = match out {
        Some(folder) => {
            format!("the same command with --verify {} in place of --out", folder.display())
        }
        None => "the same command with --verify DIR, if this one is given --out DIR now".into(),
    };
    match record.diagnosis.answer {
        Answer::Cause => format!("After the change: {again}; it says cured or not.\n"),
        _ => String::new(),
    }
}

/// Without control characters: headers are somebody else's words, and a terminal obeys some.
fn printable(text: &str) -> String {
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

fn evidence(lines: &[Line]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut table = table::new();
    table.set_header(HEAD);
    for line in lines {
        table.add_row(row(line));
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        if (2..5).contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table::lines(&table)
}

/// Why a line shows nothing, each reason once.
fn taken_away(lines: &[Line]) -> String {
    let shown = |line: &&Line| matches!(line.shows, Verdict::Void | Verdict::Failed);
    let mut said: Vec<String> = Vec::new();
    for line in lines.iter().filter(shown) {
        let text = format!("{}: {}: {}", line.name, line.shows.name(), sentence(&line.because));
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said.iter().map(|text| format!("{text}\n")).collect::<String>()
        + if said.is_empty() { "" } else { "\n" }
}

fn row(line: &Line) -> [String; 6] {
    let span = |span: Option<Span>| span.map_or("–".into(), |span| span.to_string());
    [
        line.name.clone(),
        line.answer.clone(),
        span(line.first_event_us),
        line.events.to_string(),
        line.events_per_read.map_or("–".into(), |ratio| format!("{ratio:.2}")),
        shows(line),
    ]
}

fn shows(line: &Line) -> String {
    match line.sure {
        Some(Sure::Likely) => format!("{}, likely", line.shows.name()),
        Some(Sure::Certain) | None => line.shows.name().into(),
    }
}

/// What it came to, in lines.
fn story(diagnosis: &Diagnosis) -> String {
    let mut text = match diagnosis.answer {
        Answer::Cause => {
            let slug = diagnosis.cause.map_or("", |cause| cause.slug());
            format!("Cause: {} ({slug}).\n", diagnosis.name)
        }
        Answer::Clean => format!("Clean: {}.\n", diagnosis.name),
        Answer::CannotTell | Answer::Nothing => {
            format!("{}.\n", capital(&diagnosis.name))
        }
    };
    if let Some(hop) = &diagnosis.hop {
        // Whoever passes on what the origin does is no suspect.
        let cleared = hop == Hop::Origin.name();
        let who = match diagnosis.suspects.as_slice() {
            _ if cleared => String::new(),
            [] => String::new(),
            some => format!("; headers speak of {}, which is a hint and no proof", some.join(", ")),
        };
        text.push_str(&format!("Where: {hop}{who}.\n"));
    }
    if diagnosis.hop.is_none()
        && diagnosis.answer == Answer::CannotTell
        && !diagnosis.suspects.is_empty()
    {
        let some = diagnosis.suspects.join(", ");
        text.push_str(&format!("Headers speak of {some}, which is a hint and no proof.\n"));
    }
    if let Some(sure) = diagnosis.sure {
        let words = match sure {
            Sure::Certain => "certain",
            Sure::Likely => "likely: it fits, and another explanation is not ruled out",
        };
        text.push_str(&format!("How sure: {words}.\n"));
    }
    for line in &diagnosis.because {
        text.push_str(&format!("  {}\n", sentence(line)));
    }
    let told = diagnosis.hit.iter().map(|hit| format!("Who sees it: {hit}"));
    text.extend(told.map(|line| line + "\n"));
    for line in diagnosis.header.iter().chain(&diagnosis.extent) {
        text.push_str(&format!("{line}\n"));
    }
    if let Some(stopped) =
        diagnosis.stopped.as_ref().filter(|_| diagnosis.answer != Answer::Nothing)
    {
        text.push_str(&format!("Ended early: {stopped}. What had been seen is kept.\n"));
    }
    let mut said: Vec<&str> = Vec::new();
    for cure in &diagnosis.cures {
        text.push_str(&format!("\n{}", advice(cure, &mut said)));
    }
    text
}

/// A cure; what to look at when it changes nothing is said once.
fn advice<'a>(cure: &'a Advice, said: &mut Vec<&'a str>) -> String {
    let mut text = format!("Cure in {}, {}:\n\n", cure.software, cure.place);
    for line in cure.lines.lines() {
        text.push_str(&format!("    {}\n", line.replace('\t', "    ")));
    }
    let basis = if cure.measured { "Measured" } else { "Documented, not measured" };
    text.push_str(&format!("\n  {basis}: {}.\n", cure.versions));
    text.push_str(&format!("  It also changes: {}.\n", cure.price));
    if !cure.without_effect.is_empty() && !said.contains(&cure.without_effect.as_str()) {
        text.push_str(&format!("  If it changes nothing: {}.\n", cure.without_effect));
        said.push(&cure.without_effect);
    }
    text
}

fn footer(record: &Record) -> String {
    let mut text = String::from("\n");
    for note in &record.diagnosis.notes {
        text.push_str(&format!("{note}\n"));
    }
    let timed = match (&record.emitter, record.clock_uncertainty_us) {
        (Some(_), Some(Span(0))) => "; the emitter's own times were known, on this machine's clock",
        (Some(_), _) => "; the emitter stands behind",
        (None, _) if record.evidence.is_empty() => "",
        (None, _) => "; judged by arrivals alone: the origin's own times are not known",
    };
    let clock = match record.clock_uncertainty_us {
        Some(Span(0)) | None => String::new(),
        Some(off) => format!(", its clock known to ± {} µs", off.as_micros()),
    };
    let Record { requests, url, .. } = record;
    text.push_str(&format!(
        "{} of at most {} requests to {url}{timed}{clock}.\n",
        requests.made, requests.most
    ));
    text
}

/// What a verification came to, in lines.
pub(crate) fn verified(verified: &Verified) -> String {
    let mut text = evidence(&verified.evidence);
    text.push('\n');
    text.push_str(&taken_away(&verified.evidence));
    text.push_str(&format!("{}.\n", capital(&verified.name)));
    for line in &verified.because {
        text.push_str(&format!("  {}\n", sentence(line)));
    }
    printable(&text)
}

fn sentence(line: &str) -> String {
    if line.ends_with('.') { line.into() } else { format!("{line}.") }
}

/// The text with a capital letter at its start.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters
        .next()
        .map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// The same in Markdown, for a CI's summary.
pub(crate) fn markdown(title: &str, lines: &[Line], story: &str) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let mut text = format!("## {title}\n\n");
    if !lines.is_empty() {
        text.push_str(&format!("| {} |\n|---|---|--:|--:|--:|---|\n", HEAD.join(" | ")));
        for line in lines {
            let row: Vec<String> = row(line).iter().map(|text| cell(text)).collect();
            text.push_str(&format!("| {} |\n", row.join(" | ")));
        }
        text.push('\n');
    }
    // What is indented by four stays as it is; single lines become paragraphs' lines.
    for line in story.lines() {
        let end = if line.is_empty() || line.starts_with("    ") { "" } else { "  " };
        text.push_str(&format!("{line}{end}\n"));
    }
    printable(&text)
}

/// Writes the files for CI.
pub(crate) fn files(files: &Files, record: &Record) -> Result<(), Problem> {
    let diagnosis = &record.diagnosis;
    let away = taken_away(&record.evidence);
    let story = format!("{away}{}{}", story(diagnosis), footer(record));
    let markdown = markdown(&format!("Doctor: {}", record.url), &record.evidence, &story);
    files.put("doctor", &markdown, &[case(record, diagnosis.answer, &diagnosis.name, &story)])
}

/// Writes the files for CI after a verification.
pub(crate) fn verified_files(files: &Files, url: &str, verified: &Verified) -> Result<(), Problem> {
    let story = self::verified(verified);
    let said: String =
        story.lines().skip(verified.evidence.len() + 2).map(|l| format!("{l}\n")).collect();
    let markdown = markdown(&format!("Verified: {url}"), &verified.evidence, &said);
    let case = Case {
        group: "verify".into(),
        name: url.into(),
        time: None,
        state: verified.state(),
        details: story,
    };
    files.put("doctor", &markdown, &[case])
}

fn case(record: &Record, answer: Answer, name: &str, story: &str) -> Case {
    Case {
        group: "diagnosis".into(),
        name: record.url.clone(),
        time: None,
        state: match answer {
            Answer::Clean => State::Passed,
            Answer::Cause => State::Failed(name.into()),
            Answer::CannotTell => State::Skipped(name.into()),
            Answer::Nothing => State::Error(name.into()),
        },
        details: story.into(),
    }
}
