//! `holdup causes`: the causes and their cures as Markdown, with what a run of the matrix saw.

use crate::exit::{Exit, Outcome, Problem};
use crate::matrix::{causes, cli};
use crate::out::put;

pub(crate) fn run(options: &cli::Causes) -> Outcome {
    let text = causes::render(&options.folder).map_err(Problem::usage)?;
    match &options.out {
        Some(path) => put(path, &text)?,
        None => crate::out::print(&text),
    }
    Ok(Exit::Done)
}
