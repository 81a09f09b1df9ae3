//! `holdup`: who is holding up my token stream?

mod authority;
mod browser;
mod ci;
mod cli;
mod commands;
mod doctor;
mod exit;
mod findings;
mod gateway;
mod interrupt;
mod junit;
mod machine;
mod matrix;
mod out;
mod own_config;
mod page;
mod probe;
mod progress;
mod prompt;
mod report;
mod rig;
mod runner;
mod secured;
mod store;
mod table;
mod target;
mod upstream;
mod watch;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    // Before the command line is parsed: what follows belongs to the child.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().as_deref() == Some(proxies::supervise::SUBCOMMAND.as_ref()) {
        return proxies::supervise::supervisor_main(arguments);
    }
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        // clap exits with 2 for usage and 0 for help, which is what the documentation says.
        Err(error) => error.exit(),
    };
    match commands::run(cli) {
        Ok(exit) => out::came_out(exit).code(),
        Err(problem) => {
            eprintln!("holdup: {problem}");
            problem.exit.code()
        }
    }
}
