//! How busy others keep the machine.
//!
//! A figure taken while a compiler has both cores says something about the compiler. The share
//! that others took is measured during each run and printed beside it; a run above the limit is
//! not judged, whatever it says, unless the emitters' threads run in real time: then a compiler
//! cannot get before them (their figures with both cores compiling are those of an idle machine).

use std::time::{Duration, Instant};

/// Share of all processors that others may take during a run that is judged. What the system
/// itself does takes 1–4%; one busy program on two cores takes 50%.
pub(crate) const OTHERS_LIMIT: f64 = 0.10;
/// How long a look at the machine takes: twenty ticks of the kernel's clock of CPU time.
const LOOK: Duration = Duration::from_millis(200);
/// Ticks of that clock a second, as `/proc` has them on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// CPU time of the whole machine, busy and at all, in seconds.
#[derive(Clone, Copy)]
pub(crate) struct Processors {
    busy: f64,
    total: f64,
}

impl Processors {
    /// So far; absent where the system does not say.
    pub(crate) fn now() -> Option<Processors> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let fields: Vec<f64> = stat
            .lines()
            .next()?
            .split_whitespace()
            .skip(1)
            .take(8)
            .map(|field| field.parse().ok())
            .collect::<Option<_>>()?;
        let total: f64 = fields.iter().sum();
        // The fourth is idleness, the fifth idleness that waits for a disk.
        let idle = fields.get(3)? + fields.get(4)?;
        Some(Processors {
            busy: (total - idle) / TICKS_PER_SECOND,
            total: total / TICKS_PER_SECOND,
        })
    }

    /// Share of the machine that was busy since then, without `ours` seconds.
    pub(crate) fn others_since(self, then: Processors, ours: f64) -> f64 {
        ((self.busy - then.busy - ours) / (self.total - then.total).max(0.01)).max(0.0)
    }
}

/// CPU time that a process used so far, in seconds.
pub(crate) fn cpu_of(process: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name may hold spaces; the fields are counted from the parenthesis that ends it.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    Some(ticks as f64 / TICKS_PER_SECOND)
}

/// Resident memory of a process, bytes.
pub(crate) fn resident(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Waits until others leave the machine alone, for as long as there is patience left.
pub(crate) fn wait_for_quiet(patience: &mut Duration) {
    let start = Instant::now();
    while start.elapsed() < *patience {
        let Some(before) = Processors::now() else { return };
        std::thread::sleep(LOOK);
        let Some(after) = Processors::now() else { return };
        if after.others_since(before, 0.0) <= OTHERS_LIMIT {
            break;
        }
    }
    *patience = patience.saturating_sub(start.elapsed());
}
