//! `holdup findings`: what a run of the presets found, as Markdown.

use crate::cli;
use crate::exit::{Exit, Outcome, Problem};
use crate::findings;

pub(crate) fn run(options: &cli::Findings) -> Outcome {
    let text = findings::render(&options.folder).map_err(Problem::usage)?;
    match &options.out {
        Some(path) => std::fs::write(path, text).map_err(|error| {
            Problem::nothing(format!("cannot write {}: {error}", path.display()))
        })?,
        None => crate::out::print(&text),
    }
    Ok(Exit::Done)
}
