//! Every test there is, with one sum at the end.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result};

use crate::count::Counts;
use crate::{cargo, check, page, show, suites, tidy, tools};

/// What came of everything.
#[derive(Default)]
struct Sum {
    counts: Counts,
    /// Tests in the runs that measure real streams: the ones that can be void.
    measuring: u32,
    broken: Vec<String>,
}

impl Sum {
    /// A step that only succeeds or fails.
    fn step(&mut self, what: &str, result: Result<()>) {
        if let Err(error) = result {
            eprintln!("{what}: {error:#}");
            self.broken.push(what.to_string());
        }
    }

    /// A test runner: its lines are passed on and counted.
    fn runner(&mut self, measuring: bool, command: &mut Command) -> Result<()> {
        let shown = show(command);
        eprintln!("$ {shown}");
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {shown}"))?;
        let mut counts = Counts::default();
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).split(b'\n') {
                let line = line.context("cannot read a test runner's output")?;
                let line = String::from_utf8_lossy(&line);
                println!("{line}");
                counts.line(&line);
            }
        }
        let status = child.wait().with_context(|| format!("cannot wait for {shown}"))?;
        if !status.success() {
            self.broken.push(shown);
        }
        if measuring {
            self.measuring += counts.passed + counts.failed;
        }
        self.counts.add(&counts);
        Ok(())
    }
}

/// Runs everything, goes on after a failure, and says at the end what failed.
pub(crate) fn run() -> Result<ExitCode> {
    let mut sum = Sum::default();
    let chromium = tools::for_tests();
    sum.step("tidy", tidy::check());
    sum.step("format", check(&mut cargo(&["fmt", "--all", "--check"])));
    sum.step("page", page::build());
    sum.step(
        "lints",
        check(&mut cargo(&["clippy", "--quiet", "--all-targets", "--", "--deny", "warnings"])),
    );
    sum.step(
        "lints of the page",
        check(&mut cargo(&[
            "clippy",
            "--quiet",
            "--package",
            "web-client",
            "--target",
            "wasm32-unknown-unknown",
            "--all-targets",
            "--",
            "--deny",
            "warnings",
        ])),
    );
    match suites::build() {
        Ok(suites) => {
            for suite in suites {
                sum.runner(suite.measures(), &mut suite.command())?;
            }
        }
        Err(error) => sum.step("build of the tests", Err(error)),
    }
    sum.runner(false, &mut cargo(&["test", "--doc", "--no-fail-fast"]))?;
    if chromium {
        sum.runner(false, &mut page::test_command())?;
    } else {
        println!("SKIPPED(no Chromium with its driver: the page's unit tests)");
        sum.counts.skipped += 1;
    }
    Ok(report(&sum))
}

fn report(sum: &Sum) -> ExitCode {
    let counts = &sum.counts;
    let noisy = counts.too_many_void(sum.measuring);
    for broken in &sum.broken {
        println!("failed: {broken}");
    }
    if counts.void > 0 {
        println!("{} of {} measuring tests were void", counts.void, sum.measuring);
    }
    if noisy {
        println!("more than one in five was void: this machine is too noisy to test on");
    }
    println!(
        "{} passed, {} failed, {} skipped",
        counts.ran(),
        counts.failed,
        counts.skipped + counts.void
    );
    if sum.broken.is_empty() && counts.failed == 0 && !noisy {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
