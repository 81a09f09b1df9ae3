//! What the page itself costs, in Chromium, as ratios and differences against what a plain reader
//! gets in the same document in the same run.
//!
//! `cargo bench -p holdup --bench page` prints every goal with its figures; `-- --strict` fails
//! when one is missed (1) or could not be measured (4); `-- --runs N` repeats more often;
//! `-- --page DIR` takes another page than the workspace's. Page and browser share the machine
//! with everything else that runs on it: the figures of a machine that is busy otherwise are that
//! machine's.

#![allow(
    clippy::unwrap_used,
    reason = "shares the tests' driver, and a failed unwrap ends a benchmark as well"
)]

#[path = "../../tests/page/browser.rs"]
mod browser;
mod goals;
mod sets;
mod stage;

use std::process::ExitCode;

use goals::Goals;
use stage::Stage;

/// Repetitions: the least that has a median which one disturbed run cannot move.
const RUNS: u32 = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --benches` starts this without `--bench`: there is nothing to measure.
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("started without --bench: use cargo bench -p holdup --bench page");
        return ExitCode::SUCCESS;
    }
    if browser::no_browser() {
        return ExitCode::SUCCESS;
    }
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1)
    };
    let runs = after("--runs").and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let mut goals = Goals::default();
    let page = after("--page").map_or(concat!(env!("CARGO_MANIFEST_DIR"), "/.."), String::as_str);
    match measure(page, runs, &mut goals) {
        Ok(()) if goals.missed() && arguments.iter().any(|argument| argument == "--strict") => {
            ExitCode::from(1)
        }
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("page: {error}");
            ExitCode::from(4)
        }
    }
}

fn measure(page: &str, runs: u32, goals: &mut Goals) -> Result<(), String> {
    // The emitter has runtimes of its own, and does not start within another.
    let stage = Stage::start(page)?;
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    runtime.block_on(sets::run(&stage, runs, goals))
}
