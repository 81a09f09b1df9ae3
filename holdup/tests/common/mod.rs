//! Runs the command as a person would and reads what it left.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod shown;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use measure::results::{CellResult, Document, RunRecord};
use measure::verdict::Verdict;

/// Streams are measured one test at a time: two cores are few.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command.
pub(crate) fn holdup(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_holdup"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs it to its end.
pub(crate) fn run(arguments: &[&str]) -> Output {
    let output = holdup(arguments).output().unwrap();
    if !output.status.success() {
        // Before any assertion's own long text: a log that is cut short still holds the reason.
        let text = stderr(&output);
        let last = text.lines().next_back().unwrap_or_default();
        println!("{}: its last line: {last}", output.status);
    }
    output
}

pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The document that `--json` printed.
pub(crate) fn document(output: &Output) -> Document {
    let text = String::from_utf8_lossy(&output.stdout);
    Document::from_json(&text).unwrap_or_else(|error| {
        panic!("{error}\nstandard output: {text}\nstandard error: {}", stderr(output))
    })
}

/// The rows of an endpoint.
pub(crate) fn rows<'a>(document: &'a Document, endpoint: &str) -> Vec<&'a CellResult> {
    document.cells.iter().filter(|cell| cell.cell.endpoint == endpoint).collect()
}

/// Whether a run of the command decides nothing here: says so, and the caller returns. An
/// endpoint that could not be had and a machine too noisy to measure are told apart.
pub(crate) fn skipped(document: &Document) -> bool {
    skipped_but(document, &[])
}

/// The same where these verdicts are what is wanted.
pub(crate) fn skipped_but(document: &Document, wanted: &[Verdict]) -> bool {
    for endpoint in &document.endpoints {
        if let Some(why) = &endpoint.failed {
            println!("SKIPPED({}: {why})", endpoint.name);
            return true;
        }
    }
    void_but(document, wanted)
}

/// Whether the machine was too noisy for a row of the document: says so, and the caller returns.
pub(crate) fn void(document: &Document) -> bool {
    void_but(document, &[])
}

fn void_but(document: &Document, wanted: &[Verdict]) -> bool {
    for cell in &document.cells {
        let verdict = cell.summary.verdict.name;
        if matches!(verdict, Verdict::Void | Verdict::PageBusy) && !wanted.contains(&verdict) {
            println!("SKIPPED(void: {}: {})", cell.id, cell.summary.verdict.because);
            return true;
        }
    }
    false
}

/// Whether the only browser, or each of them, is not to be had here: says so, and the caller
/// returns.
pub(crate) fn not_found(output: &Output) -> bool {
    let said = stderr(output);
    let missing = said.lines().rev().find(|line| line.contains(" not found: there is no "));
    match (status(output), missing) {
        (4, Some(line)) => {
            println!("SKIPPED({})", line.trim_start_matches("holdup: "));
            true
        }
        _ => false,
    }
}

/// The line that counts a test as skipped when a browser of its document is not to be had. One
/// line a test: the test looks at the other browsers first.
pub(crate) fn skip_missing(document: &Document) -> Option<String> {
    let missing = document.cells.iter().find(|row| {
        row.summary.verdict.name == Verdict::Failed
            && row.summary.verdict.because.contains(" not found: there is no ")
    });
    missing.map(|row| format!("SKIPPED({})", row.summary.verdict.because))
}

/// The raw runs in a results folder.
pub(crate) fn runs(folder: &Path) -> Vec<RunRecord> {
    let text = std::fs::read_to_string(folder.join("runs.ndjson")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every process: its parent and its start time, which tells it from a later one of its number.
fn processes() -> BTreeMap<u32, (u32, u64)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // The name in parentheses may hold anything; fields are counted behind it.
        let fields: Vec<&str> =
            stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let zombie = fields.first() == Some(&"Z");
        let field = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
        if let (Some(parent), Some(start), false) = (field(1), field(19), zombie) {
            found.insert(pid, (parent as u32, start));
        }
    }
    found
}

/// A process and all below it.
pub(crate) fn family(root: u32) -> BTreeMap<u32, u64> {
    let all = processes();
    let mut family = BTreeMap::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        if let Some((_, start)) = all.get(&pid) {
            family.insert(pid, *start);
        }
        next.extend(all.iter().filter(|(_, (parent, _))| *parent == pid).map(|(child, _)| *child));
    }
    family
}

/// Those of a family that still live.
pub(crate) fn left(family: &BTreeMap<u32, u64>) -> Vec<(u32, String)> {
    let all = processes();
    family
        .iter()
        .filter(|(pid, start)| all.get(pid).is_some_and(|(_, now)| now == *start))
        .map(|(pid, _)| {
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            (*pid, name.trim().to_string())
        })
        .collect()
}

/// Waits until nothing of a family lives; what is left after the limit.
pub(crate) fn wait_gone(
    family: &BTreeMap<u32, u64>,
    limit: std::time::Duration,
) -> Vec<(u32, String)> {
    let end = std::time::Instant::now() + limit;
    loop {
        let left = left(family);
        if left.is_empty() || std::time::Instant::now() > end {
            return left;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Waits until a condition holds.
pub(crate) fn wait_for(what: &str, limit: std::time::Duration, mut holds: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + limit;
    while !holds() {
        assert!(std::time::Instant::now() < end, "waited {limit:?} for {what}");
        std::thread::sleep(std::time::Duration::from_millis(30));
    }
}
