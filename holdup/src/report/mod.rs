//! `holdup report`: results as one self-contained HTML file and as Markdown.
//!
//! [`source`] reads and checks; [`words`] and [`tables`] make sentences and tables without a
//! format; [`html`] and [`markdown`] draw them; [`slope`] and [`spread`] are the pictures.

mod grid;
mod html;
mod markdown;
mod picture;
mod protocols;
mod slope;
mod source;
mod spread;
mod tables;
mod words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use grid::{Column, Entry, Grid};
pub(crate) use markdown::{
    published as published_markdown, summary, table as markdown_table, text as markdown_text,
};
pub(crate) use protocols::way;
pub(crate) use source::{Source, read_runs};
pub(crate) use tables::{Variation, by_preset};
pub(crate) use words::unique;

/// What is to be known of the raw data.
const RAW: &str = "runs.ndjson beside this report holds every run, one a line: the emitter's \
ledger and what the reader saw, without payload; results.json holds the rows, derived from it \
(schema holdup.results/1). Every figure and every verdict here can be made again from them.";

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReportError {
    #[error(transparent)]
    Source(#[from] source::SourceError),
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
}

/// What was written.
pub(crate) struct Written {
    pub(crate) files: [PathBuf; 2],
    /// What is missing or odd about the results.
    pub(crate) notes: Vec<String>,
}

/// Reads the results in a folder and writes the report into another.
pub(crate) fn make(folder: &Path, out: &Path) -> Result<Written, ReportError> {
    let source = Source::read(folder)?;
    fs::create_dir_all(out).map_err(|source| ReportError::Write { path: out.into(), source })?;
    let files = [
        put(out, "report.html", &html::render(&source))?,
        put(out, "report.md", &markdown::render(&source))?,
    ];
    Ok(Written { files, notes: source.notes })
}

/// Puts a file in place whole or not at all.
fn put(folder: &Path, name: &str, text: &str) -> Result<PathBuf, ReportError> {
    let path = folder.join(name);
    let next = folder.join(format!(".{name}.next"));
    fs::write(&next, text).and_then(|()| fs::rename(&next, &path)).map_err(|source| {
        let _ = fs::remove_file(&next);
        ReportError::Write { path: path.clone(), source }
    })?;
    Ok(path)
}
