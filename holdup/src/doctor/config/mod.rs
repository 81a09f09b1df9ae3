//! The doctor reads a configuration: which rule answers a path, what is wrong there, what to
//! write instead, and the proof by the real proxy.
//!
//! A [`question`] is asked by the command and by the page, and [`examine`] answers both. [`nginx`],
//! [`haproxy`], [`caddy`], [`traefik`] and [`envoy`] tell what the reader found; [`start`] runs a text in a scratch folder;
//! [`proof`] measures before and after; [`story`] is what is told.

mod caddy;
pub(crate) mod cli;
mod data;
mod envoy;
mod haproxy;
mod nginx;
mod proof;
mod question;
mod start;
mod story;
mod traefik;

use std::path::{Path, PathBuf};

use config_reader::Product;
use config_reader::nginx::Version;

use self::question::About;
pub(crate) use self::question::{Fault, Progress, Proving, Question};
pub(crate) use self::story::Story;
use super::cli::Doctor;
use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::out::{print, put};

/// Reads a configuration, says what is in it, and proves that where it is asked to.
///
/// # Errors
/// Why there is no answer.
pub(crate) fn examine(question: &Question, proving: Option<&Proving<'_>>) -> Result<Story, Fault> {
    if let Some(before) = question.text.find('\0') {
        let line = question.text[..before].matches('\n').count() + 1;
        return Err(Fault::text(format!("line {line} holds a zero byte: is it a configuration?")));
    }
    match question.product {
        Product::Nginx => nginx::examine(question, proving),
        Product::Haproxy => haproxy::examine(question, proving),
        Product::Caddy => caddy::examine(question, proving),
        Product::Traefik => traefik::examine(question, proving),
        Product::Envoy => envoy::examine(question, proving),
    }
}

/// A version that is none.
pub(crate) fn version_fault(why: &str) -> Fault {
    Fault::new(Exit::Usage, About::Version, why)
}

/// A configuration of nginx with a header in each location that names it, masked, and how many
/// values are.
///
/// # Errors
/// Why there is none.
pub(crate) fn marked(text: &str, version: Option<Version>) -> Result<(String, usize), Fault> {
    let marked = nginx::marked(text, version)?;
    let masked = marked.matches(config_reader::secret::MASK).count();
    Ok((marked, masked))
}

/// Reads a file for the command and tells what is in it.
pub(crate) fn run(options: &Doctor) -> Outcome {
    let own = &options.configuration;
    let path = own.nginx_config.as_deref().or(own.haproxy_config.as_deref());
    let path = path.or(own.caddyfile.as_deref()).or(own.envoy_config.as_deref());
    let path = path.or(own.traefik_config.first().map(PathBuf::as_path));
    let Some(path) = path else {
        return Err(Problem::usage("say --nginx-config FILE"));
    };
    if own.path.is_none() && !own.marked {
        return Err(Problem::usage("say which path is streamed: --path /api/chat"));
    }
    let text = match own.traefik_config.len() {
        0 | 1 => crate::own_config::read(path)?,
        _ => traefik::joined(&own.traefik_config)?,
    };
    if own.marked && own.nginx_config.is_none() {
        return Err(Problem::usage(
            "--marked marks the locations of nginx: give --nginx-config FILE",
        ));
    }
    if own.marked {
        let (marked, masked) =
            marked(&text, own.nginx_version).map_err(|fault| at(path, &fault.problem))?;
        if masked > 0 {
            eprintln!("{masked} secret values are masked as ***: put yours back before it is run");
        }
        print(&marked);
        return Ok(Exit::Done);
    }
    let interrupt = Interrupt::listen();
    let proving = Proving { interrupt: &interrupt, tell: &|_| {} };
    let question = Question::of(own, path, text);
    let examined = examine(&question, (!own.no_proof).then_some(&proving));
    let story = examined.map_err(|fault| at(path, &fault.problem))?;
    if let Some(folder) = &options.out {
        keep(folder, &story)?;
    }
    match options.json {
        true => print(&format!("{:#}\n", story.json())),
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
