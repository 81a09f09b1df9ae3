//! `holdup report`: results to HTML and Markdown.

use crate::cli;
use crate::exit::{Exit, Outcome, Problem};
use crate::out::say;
use crate::report;

pub(crate) fn run(options: &cli::Report) -> Outcome {
    let out = options.out.as_ref().unwrap_or(&options.folder);
    let written = report::make(&options.folder, out).map_err(Problem::usage)?;
    for note in &written.notes {
        eprintln!("holdup: {note}");
    }
    for file in &written.files {
        say!("{}", file.display());
    }
    Ok(Exit::Done)
}
