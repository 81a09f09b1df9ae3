//! The doctor reads a configuration: which rule answers a path, what is wrong there, what to
//! write instead, and the proof by the real proxy.
//!
//! [`nginx`], [`haproxy`] and [`caddy`] tell what the reader found; [`start`] runs a text in a scratch
//! folder; [`proof`] measures before and after; [`story`] is what is told.

mod caddy;
pub(crate) mod cli;
mod haproxy;
mod nginx;
mod proof;
mod start;
mod story;

use std::path::Path;

use self::story::Story;
use super::cli::Doctor;
use crate::exit::{Exit, Outcome, Problem};
use crate::out::{print, put};

/// Reads a configuration and tells what is in it.
pub(crate) fn run(options: &Doctor) -> Outcome {
    let own = &options.configuration;
    let path = own.nginx_config.as_deref().or(own.haproxy_config.as_deref());
    let path = path.or(own.caddyfile.as_deref());
    let Some(path) = path else {
        return Err(Problem::usage("say --nginx-config FILE"));
    };
    if own.path.is_none() && !own.marked {
        return Err(Problem::usage("say which path is streamed: --path /api/chat"));
    }
    let text = crate::own_config::read(path)?;
    if own.marked {
        let marked = nginx::marked(own, &text).map_err(|problem| at(path, &problem))?;
        let masked = marked.matches(config_reader::secret::MASK).count();
        if masked > 0 {
            eprintln!("{masked} secret values are masked as ***: put yours back before it is run");
        }
        print(&marked);
        return Ok(Exit::Done);
    }
    let examined = match own.nginx_config {
        Some(_) => nginx::examine(own, &text),
        None if own.caddyfile.is_some() => caddy::examine(own, path),
        None => haproxy::examine(own, &text),
    };
    let story = examined.map_err(|problem| at(path, &problem))?;
    if let Some(folder) = &options.out {
        keep(folder, &story)?;
    }
    match options.json {
        true => print(&format!("{}\n", story.json())),
        false => print(&story.text(options.out.as_deref())),
    }
    Ok(story.exit)
}

/// A problem of a file, with the file's name.
fn at(path: &Path, problem: &Problem) -> Problem {
    let mut named = Problem::usage(format!("{}: {problem}", path.display()));
    named.exit = problem.exit;
    named
}

/// The corrected configuration and what was said, in a folder.
fn keep(folder: &Path, story: &Story) -> Result<(), Problem> {
    let report = folder.join("configuration.txt");
    if report.exists() {
        let line = format!("{} already holds a diagnosis: choose another folder", folder.display());
        return Err(Problem::usage(line));
    }
    std::fs::create_dir_all(folder)
        .map_err(|error| Problem::usage(format!("{}: {error}", folder.display())))?;
    if let Some(corrected) = &story.corrected {
        put(&folder.join("corrected.conf"), corrected)?;
    }
    put(&report, &story.text(Some(folder)))
}
