//! The supervisor as a program of its own, for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    proxies::supervise::supervisor_main(std::env::args_os().skip(2))
}
