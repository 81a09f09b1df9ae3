//! `holdup proxies`: what is pinned, where it is, what it runs.

use proxies::{Proxies, State};

use crate::cli;
use crate::exit::{Exit, Outcome, Problem};
use crate::out::say;

pub(crate) fn run(command: &cli::Proxies) -> Outcome {
    let proxies = Proxies::of_user(Vec::new()).map_err(Problem::usage)?;
    match command {
        cli::Proxies::List => list(&proxies),
        cli::Proxies::Fetch { engines } => fetch(&proxies, engines),
        cli::Proxies::Config { endpoint } => {
            crate::out::print(&proxies.config(endpoint).map_err(Problem::usage)?);
            Ok(Exit::Done)
        }
    }
}

fn list(proxies: &Proxies) -> Outcome {
    let mut table = crate::table::new();
    table.set_header(["engine", "pinned", "source", "endpoints", "where"]);
    for row in proxies.list() {
        let endpoints: Vec<String> =
            row.endpoints.iter().map(|(name, label)| format!("{name}: {label}")).collect();
        let place = match &row.state {
            State::Own(path) => format!("own: {}", path.display()),
            State::Cached(path) => path.display().to_string(),
            State::NotCached { installed: Some(path) } => {
                format!("not fetched; {} is installed", path.display())
            }
            State::NotCached { installed: None } => "not fetched".into(),
        };
        table.add_row([
            row.engine.to_string(),
            row.pinned.to_string(),
            row.requirement.clone(),
            endpoints.join("\n"),
            place,
        ]);
    }
    crate::out::print(&crate::table::lines(&table));
    Ok(Exit::Done)
}

fn fetch(proxies: &Proxies, engines: &[String]) -> Outcome {
    let names: Vec<&str> = engines.iter().map(String::as_str).collect();
    let fetched =
        proxies.fetch(&names, &mut |progress| eprintln!("{progress}")).map_err(Problem::usage)?;
    let mut failed = 0;
    for (engine, result) in &fetched {
        match result {
            Ok(program) => say!(
                "{engine} {} {} sha256 {} {}",
                program.version,
                program.source,
                program.sha256,
                program.path.display()
            ),
            Err(error) => {
                failed += 1;
                eprintln!("{engine}: {error}");
            }
        }
    }
    Ok(if failed == fetched.len() { Exit::Nothing } else { Exit::Done })
}
