//! Wakes tasks at absolute deadlines.
//!
//! tokio's timer rounds up to whole milliseconds (measured: 1.4 ms late in the median), and its
//! interval bursts when it is late, so an emitter on it can fake the coalescing it is meant to
//! expose. One thread with a heap of deadlines wakes about 0.1 ms late instead.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use measure::Stamp;

use crate::now;

struct Alarm {
    at: Stamp,
    waker: Waker,
}

impl PartialEq for Alarm {
    fn eq(&self, other: &Alarm) -> bool {
        self.at == other.at
    }
}
impl Eq for Alarm {}
impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Alarm) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Alarm {
    fn cmp(&self, other: &Alarm) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

#[derive(Default)]
struct State {
    alarms: BinaryHeap<Reverse<Alarm>>,
    stopped: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock; were it so, the heap would still be whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The one thread that keeps time for every stream. Cloned handles share it; it ends with the
/// last of them.
#[derive(Clone)]
pub struct Pacer {
    shared: Arc<Shared>,
    _stop: Arc<StopOnDrop>,
}

struct StopOnDrop(Arc<Shared>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        self.0.changed.notify_all();
    }
}

impl Pacer {
    /// Starts the thread.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start() -> std::io::Result<Pacer> {
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new().name("pacer".into()).spawn(move || run(&theirs))?;
        Ok(Pacer { _stop: Arc::new(StopOnDrop(Arc::clone(&shared))), shared })
    }

    /// Wakes `waker` at `at`, or at once when that is past.
    pub fn wake_at(&self, at: Stamp, waker: Waker) {
        let mut state = self.shared.lock();
        let first = state.alarms.peek().is_none_or(|Reverse(alarm)| at < alarm.at);
        state.alarms.push(Reverse(Alarm { at, waker }));
        drop(state);
        if first {
            self.shared.changed.notify_one();
        }
    }
}

fn run(shared: &Shared) {
    // The kernel may delay a sleeper by its timer slack, 50 µs by default: a third of the whole
    // lateness. 1 ns is the least it takes. Where it is refused, the ledger shows the difference.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut due: Vec<Waker> = Vec::new();
    let mut state = shared.lock();
    while !state.stopped {
        let now = now();
        while state.alarms.peek().is_some_and(|Reverse(alarm)| alarm.at <= now) {
            due.extend(state.alarms.pop().map(|Reverse(alarm)| alarm.waker));
        }
        if !due.is_empty() {
            // Woken without the lock: a woken task may set its next alarm at once.
            drop(state);
            due.drain(..).for_each(Waker::wake);
            state = shared.lock();
            continue;
        }
        state = match state.alarms.peek() {
            None => shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(Reverse(next)) => {
                let wait = u64::try_from((next.at - now).as_micros()).unwrap_or_default();
                shared
                    .changed
                    .wait_timeout(state, Duration::from_micros(wait))
                    .unwrap_or_else(PoisonError::into_inner)
                    .0
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Span;
    use std::sync::mpsc;
    use std::task::Wake;

    struct Note(u32, mpsc::Sender<(u32, Stamp)>);

    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            let _ = self.1.send((self.0, now()));
        }
    }

    #[test]
    fn alarms_ring_in_order_and_never_early() {
        let pacer = Pacer::start().unwrap();
        let (sender, receiver) = mpsc::channel();
        let start = now();
        let after = [30, 10, 20, 0];
        for (name, ms) in (0..).zip(after) {
            let waker = Waker::from(Arc::new(Note(name, sender.clone())));
            pacer.wake_at(start + Span::millis(ms), waker);
        }
        let rung: Vec<(u32, Stamp)> = receiver.iter().take(4).collect();
        assert_eq!(rung.iter().map(|(name, _)| *name).collect::<Vec<_>>(), [3, 1, 2, 0]);
        for (name, at) in rung {
            assert!(at >= start + Span::millis(after[name as usize]));
        }
    }

    #[test]
    fn an_earlier_alarm_overtakes_the_one_being_waited_for() {
        let pacer = Pacer::start().unwrap();
        let (sender, receiver) = mpsc::channel();
        let start = now();
        pacer.wake_at(start + Span::millis(60_000), Waker::from(Arc::new(Note(0, sender.clone()))));
        std::thread::sleep(Duration::from_millis(20));
        pacer.wake_at(start + Span::millis(30), Waker::from(Arc::new(Note(1, sender))));
        let (name, _) = receiver.recv_timeout(Duration::from_secs(5)).unwrap();
        assert_eq!(name, 1);
    }
}
