//! `docs/causes.md`: each cause with its signature, its evidence, its cures and their price, and
//! what a run of the matrix saw of it. What was not seen says so.

use std::path::{Path, PathBuf};

use measure::cause::{Basis, CAUSES, Cause, Cure, Hop};
use measure::units::decimal;

use super::show;
use super::tally::{Kind, Matrix, Row, SCHEMA};
use crate::doctor::show::capital;
use crate::report::{Column, Entry, Grid, markdown_table, markdown_text as text};

/// A document that cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CausesError {
    #[error("{path}: {source}; make it with `holdup matrix --out DIR`")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}: not a matrix: {source}")]
    NotAMatrix { path: PathBuf, source: serde_json::Error },
    #[error(
        "{path}: its schema is {found:?}, this program reads {SCHEMA:?}: use the version that wrote it"
    )]
    OtherSchema { path: PathBuf, found: String },
}

const HEAD: &str = "# Causes

What can hold a token stream up, how one knows it, what to change, and at what price. Written by
`cargo xtask causes` from a run of `holdup matrix`, which plays streams whose cause is known by
construction; `--keep` makes it again from the last run without measuring. Texts and cures are those
of `measure::cause`, which `holdup doctor` and the page use as well.

";

/// The text, from a folder that `holdup matrix --out` left.
pub(crate) fn render(folder: &Path) -> Result<String, CausesError> {
    let matrix = read(folder)?;
    let mut out = String::from(HEAD);
    out.push_str(&summary(&matrix));
    out.push_str(&markdown_table(&show::confusion(&matrix)));
    out.push_str(&markdown_table(&show::alone(&matrix)));
    for cause in CAUSES {
        out.push_str(&section(cause, &matrix));
    }
    out.push_str(&clean(&matrix));
    Ok(out)
}

/// The matrix that `holdup matrix --out` left in a folder.
pub(super) fn read(folder: &Path) -> Result<Matrix, CausesError> {
    let path = folder.join(super::MATRIX);
    let text = std::fs::read_to_string(&path)
        .map_err(|source| CausesError::Read { path: path.clone(), source })?;
    let value: serde_json::Value = serde_json::from_str(&text)
        .map_err(|source| CausesError::NotAMatrix { path: path.clone(), source })?;
    match value.get("schema").and_then(|schema| schema.as_str()) {
        Some(SCHEMA) | None => {}
        Some(other) => {
            let found = other.chars().take(60).collect();
            return Err(CausesError::OtherSchema { path, found });
        }
    }
    serde_json::from_value(value).map_err(|source| CausesError::NotAMatrix { path, source })
}

fn summary(matrix: &Matrix) -> String {
    let machine = &matrix.machine;
    let (clean, all) = (matrix.sum(Kind::Clean), matrix.total());
    let mut software: Vec<&str> =
        matrix.rows.iter().filter_map(|row| row.software.as_deref()).collect();
    software.sort_unstable();
    software.dedup();
    format!(
        "{} runs, begun {}, {}, {} processors: {} called something that they are not, {} of {} runs of clean paths blamed, {}% excluded or undecided. {}.\n\n",
        all.runs,
        matrix.started_at,
        text(&machine.kernel),
        machine.cpus,
        all.wrong,
        clean.wrong,
        clean.runs,
        decimal(all.lost() * 100.0, 1),
        text(&software.join(", "))
    )
}

fn section(cause: &Cause, matrix: &Matrix) -> String {
    let mut out = format!(
        "## {}\n\n`{}`, held by {}.\n\n- signature: {}\n- evidence: {}\n\n",
        capital(&text(cause.name)),
        cause.slug,
        text(cause.hop.name()),
        text(cause.signature),
        text(cause.evidence)
    );
    let seen: Vec<&Row> =
        matrix.rows.iter().filter(|row| row.cause == Some(cause.id) && row.runs > 0).collect();
    if seen.is_empty() {
        out.push_str(match cause.hop {
            Hop::Browser | Hop::Page => "Needs a browser: `holdup browse` plays it.\n\n",
            _ => "Not played by the matrix.\n\n",
        });
    } else {
        out.push_str(&markdown_table(&table("", &seen)));
    }
    for cure in cause.cures {
        out.push_str(&one_cure(cure, matrix));
    }
    out
}

fn one_cure(cure: &Cure, matrix: &Matrix) -> String {
    let basis = match cure.basis {
        Basis::Measured => "measured on",
        Basis::Documented => "documented, not measured here, for",
    };
    let fence = if cure.lines.contains("```") { "````" } else { "```" };
    let mut out = format!(
        "**Cure, {}** ({basis} {}). In {}:\n\n{fence}\n{}\n{fence}\n\nPrice: {}.\n\n",
        text(cure.software.name()),
        text(cure.versions),
        text(cure.place),
        cure.lines,
        text(cure.price)
    );
    if !cure.without_effect.is_empty() {
        out.push_str(&format!("If it changes nothing: {}.\n\n", text(cure.without_effect)));
    }
    let pairs: Vec<&Row> = cure
        .shown_by
        .iter()
        .flat_map(|(held, cured)| before_and_after(matrix, held, cured))
        .collect();
    if !pairs.is_empty() {
        out.push_str(&markdown_table(&table("", &pairs)));
    }
    out
}

/// The row of an endpoint that holds and the one of its cure: of the same stream where both were
/// played, else each endpoint's first.
fn before_and_after<'a>(matrix: &'a Matrix, held: &str, cured: &str) -> Vec<&'a Row> {
    let of = |endpoint: &'a str| -> Vec<&'a Row> {
        matrix.rows.iter().filter(|row| row.endpoint == endpoint && row.runs > 0).collect()
    };
    let find = |endpoint: &str| -> Vec<&'a Row> {
        matrix
            .rows
            .iter()
            .map(|row| row.endpoint.as_str())
            .find(|own| *own == endpoint)
            .map_or(Vec::new(), of)
    };
    let before: Vec<&Row> = find(held).into_iter().filter(|row| row.cause.is_some()).collect();
    let after: Vec<&Row> = find(cured).into_iter().filter(|row| row.cause.is_none()).collect();
    let same = before.iter().find_map(|one| {
        let other = after.iter().find(|o| o.stream == one.stream && o.offers == one.offers)?;
        Some(vec![*one, *other])
    });
    match (same, before.first(), after.first()) {
        (Some(pair), ..) => pair,
        (None, Some(one), Some(other)) => vec![one, other],
        _ => Vec::new(),
    }
}

fn clean(matrix: &Matrix) -> String {
    let rows: Vec<&Row> = matrix
        .rows
        .iter()
        .filter(|row| Kind::of(row.truth) == Kind::Clean && row.runs > 0)
        .collect();
    let mut out = String::from(
        "## What holds nobody up\n\nThe same proxies where nothing is wrong, and why that is known.\n\n",
    );
    let mut grid = table("", &rows);
    grid.columns.push(Column::words("known because"));
    for (entries, row) in grid.rows.iter_mut().zip(&rows) {
        entries.push(Entry::of(row.known_because.clone()));
    }
    out.push_str(&markdown_table(&grid));
    out
}

fn table(title: &str, rows: &[&Row]) -> Grid {
    let columns = vec![
        Column::words("path"),
        Column::words("software"),
        Column::words("verdict"),
        Column::figure("so called in"),
        Column::figure("TTFT"),
        Column::figure("frames per read"),
    ];
    let row = |row: &&Row| {
        vec![
            Entry::of(row.path.clone()),
            row.software.clone().map_or(Entry::absent(), Entry::of),
            Entry::of(row.truth.name()),
            Entry::of(format!("{} of {} runs", row.right, row.runs)),
            row.ttft_us.as_ref().map_or(Entry::absent(), |ttft| Entry::of(ttft.median.to_string())),
            row.frames_per_read
                .as_ref()
                .map_or(Entry::absent(), |ratio| Entry::of(decimal(ratio.median, 2))),
        ]
    };
    Grid { title: title.into(), note: String::new(), columns, rows: rows.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::truths;

    fn matrix() -> Matrix {
        let rows = truths::all()
            .iter()
            .map(|truth| Row {
                runs: 3,
                right: 3,
                ..Row::new(truth, Some("somewhat 1.2".into()), None)
            })
            .collect();
        Matrix {
            schema: SCHEMA.into(),
            complete: true,
            command: Vec::new(),
            seed: 1,
            started_at: "2026-01-02T03:04:05Z".into(),
            busy: false,
            machine: measure::results::Machine::default(),
            rows,
        }
    }

    #[test]
    fn every_cause_has_its_section_and_every_shown_cure_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let matrix = matrix();
        let text = serde_json::to_string(&matrix).unwrap();
        std::fs::write(folder.path().join(crate::matrix::MATRIX), text).unwrap();
        let made = render(folder.path()).unwrap();
        for cause in CAUSES {
            assert!(made.contains(&format!("`{}`, held by ", cause.slug)), "{}", cause.slug);
        }
        assert!(made.contains("option http-no-delay"));
        assert!(!made.contains("So called in"));
        let pair = before_and_after(&matrix, "haproxy", "haproxy-no-delay");
        let paths: Vec<&str> = pair.iter().map(|row| row.path.as_str()).collect();
        assert_eq!(paths, ["haproxy", "haproxy-no-delay"]);
    }

    #[test]
    fn a_cure_names_no_endpoint_that_is_not_there() {
        let registry = proxies::Registry::embedded().unwrap();
        let node: Vec<String> = truths::all().iter().map(|truth| truth.way.endpoint()).collect();
        for (held, cured) in
            CAUSES.iter().flat_map(|cause| cause.cures).flat_map(|cure| cure.shown_by)
        {
            for name in [held, cured] {
                let there = registry.endpoint(name).is_ok() || node.iter().any(|own| own == name);
                assert!(there, "{name}");
            }
        }
    }

    #[test]
    fn what_is_no_matrix_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |text: &str| {
            std::fs::write(folder.path().join(crate::matrix::MATRIX), text).unwrap();
            render(folder.path()).unwrap_err().to_string()
        };
        assert!(refused("{").contains("not a matrix"));
        assert!(
            refused("{\"schema\": \"holdup.matrix/2\"}").contains("use the version that wrote it")
        );
        std::fs::remove_file(folder.path().join(crate::matrix::MATRIX)).unwrap();
        assert!(render(folder.path()).unwrap_err().to_string().contains("holdup matrix --out DIR"));
    }
}
