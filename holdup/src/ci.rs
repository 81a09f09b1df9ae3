//! Files for CI: a Markdown summary and a JUnit file.

use std::path::{Path, PathBuf};

use clap::Args;
use measure::results::{CellResult, Document};
use measure::verdict::Verdict;

use crate::exit::Problem;
use crate::junit::{self, Case, State};
use crate::out::put;
use crate::report;

/// Where the files go.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Files {
    /// A file for a summary in Markdown, such as a CI's job summary
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// A file for the verdicts as JUnit; what is void or undecided is skipped
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
}

impl Files {
    /// Whether what was asked for can be written: before anything is asked of anybody.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        for path in [&self.markdown, &self.junit].into_iter().flatten() {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            tempfile::tempfile_in(folder.unwrap_or(Path::new("."))).map_err(|error| {
                Problem::usage(format!("cannot write {}: {error}", path.display()))
            })?;
        }
        Ok(())
    }

    /// Writes what a results document says.
    pub(crate) fn write(&self, suite: &str, document: &Document) -> Result<(), Problem> {
        let rows = report::unique(document);
        let cases: Vec<Case> = rows.into_iter().map(case).collect();
        self.put(suite, &report::summary(document), &cases)
    }

    /// Writes what was asked for of a summary and its cases.
    pub(crate) fn put(&self, suite: &str, markdown: &str, cases: &[Case]) -> Result<(), Problem> {
        if let Some(path) = &self.markdown {
            put(path, markdown)?;
        }
        if let Some(path) = &self.junit {
            junit::write(path, suite, cases)?;
        }
        Ok(())
    }
}

fn case(row: &CellResult) -> Case {
    let verdict = &row.summary.verdict;
    let said = format!("{}: {}", verdict.name.name(), verdict.because);
    Case {
        group: row.cell.endpoint.clone(),
        name: row.id.clone(),
        time: None,
        state: match verdict.name {
            Verdict::Live => State::Passed,
            Verdict::Void | Verdict::CannotTell => State::Skipped(said.clone()),
            Verdict::Failed => State::Error(said.clone()),
            _ => State::Failed(said.clone()),
        },
        details: said,
    }
}
