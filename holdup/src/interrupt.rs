//! Ctrl-C and SIGTERM: the run in progress is finished, what was measured is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether somebody wants this to end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Listens for SIGINT, SIGTERM and SIGHUP.
    pub(crate) fn listen() -> Interrupt {
        let interrupt = Interrupt::default();
        let theirs = interrupt.clone();
        // Without a handler the signal ends the process, and the supervisors end the children.
        let _ = ctrlc::set_handler(move || theirs.0.store(true, Ordering::Relaxed));
        interrupt
    }

    /// Whether it came.
    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// For a reader that is to leave when it comes.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// As if a signal had come.
    pub(crate) fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Waits until it comes.
    pub(crate) fn wait(&self) {
        while !self.came() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }
}
