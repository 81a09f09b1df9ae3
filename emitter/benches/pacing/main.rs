//! Pacing and capacity, as ratios: our emitter, an axum emitter on `tokio::time::interval`, and
//! a bare thread that sleeps to absolute deadlines, in turn on the same machine in one run.
//!
//! Emitter and reading client are processes of their own (this program started again under a
//! role), so that each has its own descriptors, memory and CPU time, and the two compete for the
//! same cores as they do in earnest. Lateness is `write returned − due`, over all frames that
//! were due while every stream was open. The sets are repeated in alternation, ratios are taken
//! within a repetition, and the figure is the median over the repetitions that others did not
//! disturb; where they disturbed all, the verdict is "cannot tell".
//!
//! `cargo bench -p emitter` prints every goal with its figures; `-- --strict` fails when one is
//! missed (1) or cannot be told (3); `-- --runs N` repeats more often; `-- --only NAME` takes the
//! sets whose name holds NAME.

mod client;
mod emitters;
mod goals;
mod machine;
mod process;
mod report;
mod sets;

use std::process::ExitCode;

use goals::Outcome;

/// Repetitions of each set: the least that has a median which one disturbed run cannot move.
const RUNS: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let result = match after("--role") {
        Some("client") => client::run(&arguments).map(|()| Outcome::Met),
        Some(role) => emitters::run(role).map(|()| Outcome::Met),
        // `cargo test --benches` starts this without `--bench`: there is nothing to measure.
        None if !arguments.iter().any(|argument| argument == "--bench") => {
            println!("started without --bench: use cargo bench -p emitter");
            Ok(Outcome::Met)
        }
        None => {
            let runs = after("--runs").and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
            sets::run(runs, after("--only").unwrap_or_default())
        }
    };
    let strict = arguments.iter().any(|argument| argument == "--strict");
    // The command's own exit status: 1 an expectation failed, 3 cannot tell, 4 not measured.
    match result {
        Ok(Outcome::Missed) if strict => ExitCode::from(1),
        Ok(Outcome::CannotTell) if strict => ExitCode::from(3),
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pacing: {error}");
            ExitCode::from(4)
        }
    }
}
