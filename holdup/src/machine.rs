//! The machine a measurement is from.

use measure::results::Machine;

/// Describes this machine before anything runs.
pub(crate) fn describe() -> Machine {
    Machine {
        kernel: kernel(),
        cpus: std::thread::available_parallelism().map_or(0, |count| count.get() as u32),
        load_before: load(),
        load_after: None,
        recv_buffer: wire::RECV_BUFFER as u32,
        // Asked of a thread that ends at once: this one starts proxies, which would inherit it.
        priority: std::thread::spawn(wire::priority::raise).join().ok().map(|got| got.to_string()),
    }
}

/// Kernel name and release.
pub(crate) fn kernel() -> String {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} {}", std::env::consts::OS, release.trim()).trim().to_string()
}

/// One-minute load average; absent where it cannot be read.
pub(crate) fn load() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
