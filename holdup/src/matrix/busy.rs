//! Other work that keeps every processor busy.

use std::hint::black_box;

use proxies::supervise::{Command, Supervised, Supervisor};

use crate::exit::{Outcome, Problem};

/// One spinning process for each processor, ended with this one.
pub(crate) fn keep_busy() -> Result<Vec<Supervised>, Problem> {
    let supervisor = Supervisor::this_program().map_err(Problem::nothing)?;
    let program = std::env::current_exe().map_err(Problem::nothing)?;
    let log = std::env::temp_dir().join(format!("holdup-spin-{}.log", std::process::id()));
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let spin = || Command::new(&supervisor, &program).arg("spin").spawn(&log);
    let children = (0..cpus).map(|_| spin()).collect::<Result<_, _>>().map_err(Problem::nothing);
    // The supervisors hold it open; nothing is ever written to it.
    let _ = std::fs::remove_file(&log);
    children
}

/// Works for nothing, until it is ended.
pub(crate) fn spin() -> Outcome {
    let mut number = 0_u64;
    loop {
        number = black_box(number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
