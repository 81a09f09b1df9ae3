//! Watches a proxy's own processes during a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use measure::Span;
use measure::results::ProxySide;
use proxies::Probe;

/// How often open temporary files are looked at: a file that lives shorter held nothing up.
const STEP: Duration = Duration::from_millis(20);

/// A look at one endpoint's processes from the run's start to its end.
pub(crate) struct Watch {
    probe: Probe,
    cpu_before: Option<Duration>,
    sampler: Option<(Arc<AtomicBool>, JoinHandle<Option<u64>>)>,
}

impl Watch {
    /// Begins; temporary files are sampled only where they can be expected, since the looking
    /// takes time from the proxy.
    pub(crate) fn begin(probe: Probe, temp_files: bool) -> Watch {
        let sampler = temp_files.then(|| {
            let stop = Arc::new(AtomicBool::new(false));
            let (theirs, probe) = (Arc::clone(&stop), probe.clone());
            let sample = move || {
                let mut largest = None;
                while !theirs.load(Ordering::Relaxed) {
                    largest = largest.max(probe.temp_file_bytes());
                    std::thread::sleep(STEP);
                }
                largest
            };
            let thread = std::thread::Builder::new().name("watch".into()).spawn(sample);
            thread.ok().map(|thread| (stop, thread))
        });
        let cpu_before = probe.cpu();
        Watch { probe, cpu_before, sampler: sampler.flatten() }
    }

    /// Ends; what was seen.
    pub(crate) fn end(self) -> ProxySide {
        let used = self
            .cpu_before
            .zip(self.probe.cpu())
            .and_then(|(before, after)| after.checked_sub(before));
        let temp_file_bytes = self.sampler.and_then(|(stop, thread)| {
            stop.store(true, Ordering::Relaxed);
            thread.join().ok().flatten()
        });
        ProxySide {
            temp_file_bytes,
            cpu_us: used.map(|used| Span(i64::try_from(used.as_micros()).unwrap_or(i64::MAX))),
        }
    }
}
