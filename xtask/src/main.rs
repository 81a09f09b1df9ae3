//! The task runner. Light, so that it starts at once: heavy tools are crates of their own that
//! it builds and calls.

mod causes;
mod count;
mod findings;
mod page;
mod readme;
mod screenshots;
mod suites;
mod test;
mod tidy;
mod tools;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
cargo xtask demo [ARGS]     builds the page and the command, then runs `holdup demo`
cargo xtask test            every test: format, lints, units, real proxies, the page in three browsers
cargo xtask page            builds the page into pkg/
cargo xtask screenshots     pictures of every view of the page, by real runs in Chromium, into
                            target/pictures/, and some of them into docs/pictures/
cargo xtask findings [PART] measures the presets (about an hour and a half), or a part of them anew, and
                            writes docs/findings.md
cargo xtask causes          plays the matrix (about five minutes) and writes docs/causes.md
cargo xtask readme          runs the commands whose output stands in the README, and puts it there
cargo xtask tidy            house rules that no other tool checks";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    env::set_current_dir(root()).context("cannot enter the workspace")?;
    let rest = arguments.get(1..).unwrap_or_default();
    match arguments.first().map(String::as_str) {
        Some("demo") => {
            page::build()?;
            let mut demo = cargo(&["run", "--quiet", "--package", "holdup", "--", "demo"]);
            let status = demo.args(rest).status().context("cannot start cargo")?;
            Ok(ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
        }
        Some("test") => test::run(),
        Some("page") => page::build().map(|()| ExitCode::SUCCESS),
        Some("screenshots") => screenshots::take().map(|()| ExitCode::SUCCESS),
        Some("findings") => findings::make(rest).map(|()| ExitCode::SUCCESS),
        Some("causes") => {
            causes::make(rest.iter().any(|word| word == "--keep")).map(|()| ExitCode::SUCCESS)
        }
        Some("readme") => readme::regenerate().map(|()| ExitCode::SUCCESS),
        Some("tidy") => tidy::check().map(|()| ExitCode::SUCCESS),
        _ => {
            eprintln!("{USAGE}");
            Ok(ExitCode::from(2))
        }
    }
}

/// The workspace's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

/// The cargo that runs this.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// Runs a command to its end; an error names it.
fn check(command: &mut Command) -> Result<()> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{shown}: {status}");
    }
    Ok(())
}

fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    std::iter::once(program)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
