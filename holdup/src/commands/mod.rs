//! One module a command.

mod browse;
mod causes;
mod demo;
mod doctor;
mod emit;
mod findings;
pub(crate) mod judge;
pub(crate) mod measure;
mod probe;
mod proxies;
mod report;
mod selftest;

use crate::cli::{Cli, Command};
use crate::exit::Outcome;

/// Runs what was asked for.
pub(crate) fn run(cli: Cli) -> Outcome {
    match cli.command {
        Command::Measure(options) => measure::run(&options),
        Command::Demo(options) => demo::run(&options),
        Command::Probe(options) => probe::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Browse(options) => browse::run(&options),
        Command::Emit(options) => emit::run(&options),
        Command::Selftest(options) => selftest::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Causes(options) => causes::run(&options),
        Command::Judge(options) => judge::run(&options),
        Command::Findings(options) => findings::run(&options),
        Command::Matrix(options) => crate::matrix::run(&options),
        Command::Spin => crate::matrix::busy::spin(),
        Command::Proxies(options) => proxies::run(&options),
    }
}
