//! The matrix for people and for CI.

use measure::verdict::Verdict;

use super::alone::Known;
use super::tally::{Kind, Matrix, Row, Sum};
use crate::exit::Exit;
use crate::junit::{Case, State};
use crate::report::{Column, Entry, Grid, markdown_table};

/// On a busy machine at least so many of the known holds are to be named.
const LEAST_NAMED_BUSY: f64 = 0.8;
/// On an idle one at most so many runs may be excluded or left undecided.
const MOST_LOST_IDLE: f64 = 0.05;
/// In so many runs of clean paths on a busy machine none may be blamed.
const CLEAN_RUNS_BUSY: u32 = 1_000;

/// What is not played on a busy machine.
const NOT_BUSY: &str = "The Node origin is left out while the processors are busy: it is late then, and what it does is not known by construction.";

/// What this command cannot play.
const IN_A_BROWSER: &str = "A busy page, a browser that batches and its connection limit need a browser: `holdup browse --preset busy-page` and `--preset connection-limit` play them.";

/// Rows are what the streams are, columns what was said of them.
pub(crate) fn confusion(matrix: &Matrix) -> Grid {
    let confusion = matrix.confusion();
    let mut said: Vec<Verdict> = confusion.values().flat_map(|row| row.keys().copied()).collect();
    said.sort_unstable();
    said.dedup();
    let mut columns = vec![Column::words("truth")];
    columns.extend(said.iter().map(|verdict| Column::figure(verdict.name())));
    let rows = confusion.iter().map(|(truth, row)| {
        let entry = |verdict: &Verdict| match row.get(verdict) {
            Some(count) if *count > 0 => Entry::of(count.to_string()),
            _ => Entry::absent(),
        };
        std::iter::once(Entry::of(truth.name())).chain(said.iter().map(entry)).collect()
    });
    Grid {
        title: "What was said of streams whose cause is known".into(),
        note: String::new(),
        columns,
        rows: rows.collect(),
    }
}

/// What would be said of the same runs without the emitter's ledger.
pub(crate) fn alone(matrix: &Matrix) -> Grid {
    let columns = vec![
        Column::words("known of the origin"),
        Column::words("streams"),
        Column::figure("right"),
        Column::figure("left open"),
        Column::figure("called live"),
        Column::figure("wrong"),
    ];
    let kinds = [
        (Kind::Clean, "clean paths"),
        (Kind::Hold, "known holds"),
        (Kind::Other, "origins, ends, types"),
    ];
    let rows = Known::ALL.iter().flat_map(|known| kinds.map(|kind| (*known, kind)));
    let rows = rows.map(|(known, (kind, name))| {
        let sum = matrix.alone(known, kind);
        let figures = [sum.right, sum.open, sum.missed, sum.wrong];
        let mut entries = vec![Entry::of(known.name()), Entry::of(name)];
        entries.extend(figures.map(|figure| Entry::of(figure.to_string())));
        entries
    });
    Grid {
        title: "The same runs by their arrivals alone".into(),
        note: String::new(),
        columns,
        rows: rows.collect(),
    }
}

/// One row a stream.
pub(crate) fn paths(matrix: &Matrix) -> Grid {
    let columns = vec![
        Column::words("path"),
        Column::words("truth"),
        Column::figure("runs"),
        Column::figure("right"),
        Column::figure("undecided"),
        Column::figure("excluded"),
        Column::figure("wrong"),
        Column::words("said instead"),
    ];
    let row = |row: &Row| {
        let figures = [row.runs, row.right, row.undecided, row.excluded, row.wrong];
        let mut entries = vec![Entry::of(row.path.clone()), Entry::of(row.truth.name())];
        entries.extend(figures.map(|figure| Entry::of(figure.to_string())));
        entries.push(Entry::of(match &row.skipped {
            Some(_) => "SKIPPED".into(),
            None => instead(row),
        }));
        entries
    };
    Grid {
        title: "Path by path".into(),
        note: String::new(),
        columns,
        rows: matrix.rows.iter().map(row).collect(),
    }
}

fn instead(row: &Row) -> String {
    let mut names: Vec<&str> = row
        .others
        .iter()
        .filter(|other| other.verdict != Verdict::Void)
        .map(|other| other.verdict.name())
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// A table for the terminal.
pub(crate) fn terminal(grid: &Grid) -> String {
    let mut table = crate::table::new();
    table.set_header(grid.columns.iter().map(|column| column.head.clone()));
    for row in &grid.rows {
        table.add_row(row.iter().map(|entry| entry.text.clone()));
    }
    for (column, spec) in table.column_iter_mut().zip(&grid.columns) {
        if spec.figure {
            column.set_cell_alignment(comfy_table::CellAlignment::Right);
        }
    }
    crate::table::lines(&table)
}

/// The wrong ones, each with its run and its sentence; what was left open; what was skipped.
pub(crate) fn sentences(matrix: &Matrix) -> Vec<String> {
    let mut lines = Vec::new();
    for row in &matrix.rows {
        for other in row.others.iter().filter(|other| other.is_wrong()) {
            lines.push(format!(
                "WRONG {}: it is {}, run {} was called {}: {}",
                row.path,
                row.truth.name(),
                other.run,
                other.verdict.name(),
                other.because
            ));
        }
    }
    for (row, alone) in
        matrix.rows.iter().flat_map(|row| row.alone.iter().map(move |alone| (row, alone)))
    {
        lines.extend(alone.wrong.iter().map(|other| {
            format!(
                "WRONG {} by its arrivals alone, known of the origin {}: it is {}, run {} was called {}: {}",
                row.path,
                alone.known.name(),
                row.truth.name(),
                other.run,
                other.verdict.name(),
                other.because
            )
        }));
    }
    for row in &matrix.rows {
        let open: Vec<_> = row.others.iter().filter(|other| !other.is_wrong()).collect();
        if let Some(other) = open.first() {
            lines.push(format!(
                "{}: {} of {} runs left open, such as {}: {}",
                row.path,
                open.len(),
                row.runs,
                other.run,
                other.because
            ));
        }
    }
    lines.extend(
        matrix
            .rows
            .iter()
            .filter_map(|row| Some(format!("SKIPPED({}: {})", row.path, row.skipped.as_ref()?))),
    );
    lines
}

/// The sums and what they come to.
pub(crate) fn conclude(matrix: &Matrix) -> (Vec<String>, Exit) {
    let (clean, held, other) =
        (matrix.sum(Kind::Clean), matrix.sum(Kind::Hold), matrix.sum(Kind::Other));
    let all = matrix.total();
    let tail = |sum: &Sum| format!("{} undecided, {} excluded", sum.undecided, sum.excluded);
    let load = |load: Option<f64>| load.map_or("?".into(), |load| format!("{load:.2}"));
    let machine = &matrix.machine;
    let skipped = matrix.rows.iter().filter(|row| row.skipped.is_some()).count();
    let mut lines = vec![
        format!(
            "{}, {} processors kept {}, load {} before and {} after; seed {}.",
            machine.kernel,
            machine.cpus,
            if matrix.busy { "busy" } else { "idle" },
            load(machine.load_before),
            load(machine.load_after),
            matrix.seed
        ),
        format!("Clean paths: {} runs, {} blamed, {}.", clean.runs, clean.wrong, tail(&clean)),
        format!(
            "Known holds: {} runs, {:.1}% named, {} called something else, {}.",
            held.runs,
            held.share(held.right) * 100.0,
            held.wrong,
            tail(&held)
        ),
        format!(
            "Origins, ends and types: {} runs, {} right, {} wrong, {}.",
            other.runs,
            other.right,
            other.wrong,
            tail(&other)
        ),
        format!(
            "{:.1}% of {} runs excluded or undecided; {skipped} paths skipped.",
            all.lost() * 100.0,
            all.runs
        ),
        IN_A_BROWSER.into(),
    ];
    if matrix.busy {
        lines.push(NOT_BUSY.into());
    }
    let goals = goals(matrix);
    lines.extend(
        goals
            .iter()
            .map(|(goal, met)| format!("Goal, {goal}: {}.", if *met { "met" } else { "MISSED" })),
    );
    let exit = if !matrix.complete {
        lines.push("Incomplete: it was interrupted before the whole plan was played.".into());
        Exit::Interrupted
    } else if all.runs == 0 {
        lines.push("Nothing could be played.".into());
        Exit::Nothing
    } else if all.wrong > 0 || matrix.alone_wrong() > 0 {
        let alone = matrix.alone_wrong();
        lines.push(format!(
            "{} runs were called something that they are not, {alone} times by arrivals alone.",
            all.wrong
        ));
        Exit::Found
    } else if goals.iter().any(|(_, met)| !met) {
        lines.push(
            "Nothing was called something that it is not, but too much was left open.".into(),
        );
        Exit::Void
    } else {
        lines.push("Nothing was called something that it is not.".into());
        Exit::Done
    };
    (lines, exit)
}

/// What the method's chapter on noise asks for, with its figures, and whether it was reached.
fn goals(matrix: &Matrix) -> Vec<(String, bool)> {
    let (clean, held, all) = (matrix.sum(Kind::Clean), matrix.sum(Kind::Hold), matrix.total());
    let wrong = all.wrong as usize + matrix.alone_wrong();
    let mut goals = vec![(format!("every cause right: {wrong} wrong answers"), wrong == 0)];
    if matrix.busy {
        let enough = match clean.runs {
            runs if runs >= CLEAN_RUNS_BUSY => String::new(),
            runs => format!(" (these are {runs} of {CLEAN_RUNS_BUSY} runs)"),
        };
        let blamed = format!("no clean path blamed: {} of {}{enough}", clean.wrong, clean.runs);
        goals.push((blamed, clean.wrong == 0));
        let named = held.share(held.right);
        goals.push((
            format!(
                "at least {:.0}% of the known holds named: {:.1}%",
                LEAST_NAMED_BUSY * 100.0,
                named * 100.0
            ),
            held.runs == 0 || named >= LEAST_NAMED_BUSY,
        ));
    } else {
        goals.push((
            format!(
                "at most {:.0}% excluded or undecided on an idle machine: {:.1}%",
                MOST_LOST_IDLE * 100.0,
                all.lost() * 100.0
            ),
            all.lost() <= MOST_LOST_IDLE,
        ));
    }
    goals
}

/// All of it for a CI's summary.
pub(crate) fn markdown(matrix: &Matrix) -> String {
    let mut out = String::from("## Causes known by construction, and what was said of them\n\n");
    out.push_str(&markdown_table(&confusion(matrix)));
    out.push_str(&markdown_table(&alone(matrix)));
    out.push_str(&markdown_table(&paths(matrix)));
    let (lines, _) = conclude(matrix);
    for line in sentences(matrix).into_iter().chain(lines) {
        out.push_str(&format!("- {}\n", crate::report::markdown_text(&line)));
    }
    out
}

/// One case a stream.
pub(crate) fn cases(matrix: &Matrix) -> Vec<Case> {
    let case = |row: &Row| {
        let counts = format!(
            "it is {}: {} of {} runs right, {} undecided, {} excluded, {} wrong",
            row.truth.name(),
            row.right,
            row.runs,
            row.undecided,
            row.excluded,
            row.wrong
        );
        let wrong = row.others.iter().find(|other| other.is_wrong());
        let state = match (&row.skipped, wrong) {
            (Some(why), _) => State::Skipped(why.clone()),
            (None, Some(other)) => {
                State::Failed(format!("called {}: {}", other.verdict.name(), other.because))
            }
            (None, None) if row.right == 0 => State::Skipped(counts.clone()),
            (None, None) => State::Passed,
        };
        let said = row.said.clone().unwrap_or_default();
        Case {
            group: row.endpoint.clone(),
            name: row.path.clone(),
            time: None,
            state,
            details: format!("{counts}\n{said}"),
        }
    };
    matrix.rows.iter().map(case).collect()
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
