//! Wakes tasks at absolute deadlines.
//!
//! tokio's timer rounds up to whole milliseconds (measured: 1.4 ms late in the median), and its
//! interval bursts when it is late, so an emitter on it can fake the coalescing it is meant to
//! expose. Here a heap of deadlines stands behind a kernel timer that the serving thread waits
//! for together with its sockets: no other thread must be woken first, and a stream's frame is
//! written by the very thread that the timer woke.
//!
//! A sleeping thread wakes some 60 µs after its timer. So the timer is set [`LEAD`] early and
//! the rest is spun, as long as the spinning stays under [`SPIN_SHARE`] of a core; a busy
//! emitter, whose next deadline is always near, has spent that at once and sleeps to the
//! deadline itself. It never sleeps for less than [`NAP`].
//!
//! Where there is no such timer, a thread with a condition variable does the same, later. The
//! ledger shows the difference.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use measure::{Span, Stamp};

use crate::now;

/// How early the timer is set. An idle virtual machine's processor comes back 50–70 µs after its
/// timer in the median and 100 µs in the slower tenth; beyond that more lead buys little and
/// costs its whole length at each frame.
const LEAD: Span = Span::micros(100);
/// Part of a core that each serving thread may spin away, one in so many. A stream of 5 ms spins
/// about 40 µs a frame: the whole emitter then takes 2% of a core, where a thread that only
/// sleeps and writes takes 1%. A twentieth lets a thread have five such streams at their best,
/// and is never more than a twentieth whatever the load.
const SPIN_SHARE: i64 = 20;
/// Spinning that may be saved up: a burst of ten frames after a pause is still on time.
const SPIN_SAVED: Span = Span::micros(10 * LEAD.as_micros());

/// Waits as short as this are always spun: to sleep and wake costs the thread as much (setting
/// the timer, waiting, the processor's halt and return), and is late besides.
const NAP: Span = Span::micros(15);

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
    spin: SpinBudget,
    /// Whoever waits for the alarms is awake and will look at them again before it sleeps.
    awake: bool,
    stopped: bool,
}

impl State {
    fn next(&self) -> Option<Stamp> {
        self.alarms.peek().map(|Reverse(alarm)| alarm.at)
    }

    /// Takes out what is due.
    fn due(&mut self, now: Stamp, due: &mut Vec<Waker>) {
        while self.next().is_some_and(|at| at <= now) {
            due.extend(self.alarms.pop().map(|Reverse(alarm)| alarm.waker));
        }
    }
}

/// Spinning that is still allowed: it grows with time and shrinks with use.
struct SpinBudget {
    left: Span,
    since: Stamp,
}

impl Default for SpinBudget {
    fn default() -> SpinBudget {
        SpinBudget { left: SPIN_SAVED, since: now() }
    }
}

impl SpinBudget {
    fn grow(&mut self, now: Stamp) {
        let grown = (now - self.since).as_micros() / SPIN_SHARE;
        // Parts of a microsecond stay in `since` until they are whole ones.
        self.since = self.since + Span(grown * SPIN_SHARE);
        self.left = (self.left + Span(grown)).min(SPIN_SAVED);
    }

    /// How long may be spun now.
    fn affords(&self) -> Span {
        if self.left >= LEAD { LEAD } else { NAP }
    }

    fn spent(&mut self, spun: Span) {
        // Short waits are free: sleeping would have cost as much.
        self.left = (self.left - (spun - NAP).max(Span::ZERO)).max(Span::ZERO);
    }
}

enum Timer {
    #[cfg(target_os = "linux")]
    Kernel(nix::sys::timerfd::TimerFd),
    Thread(Condvar),
}

struct Shared {
    state: Mutex<State>,
    timer: Timer,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock; were it so, the heap would still be whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells who waits that there is an earlier alarm than it knew.
    fn earlier(&self, at: Stamp) {
        match &self.timer {
            #[cfg(target_os = "linux")]
            Timer::Kernel(timer) => kernel::set(timer, at - LEAD),
            Timer::Thread(changed) => changed.notify_one(),
        }
    }
}

/// Keeps time for the streams of one serving thread. Cloned handles share it.
#[derive(Clone)]
pub struct Pacer {
    shared: Arc<Shared>,
    _stop: Arc<StopOnDrop>,
}

struct StopOnDrop(Arc<Shared>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        if let Timer::Thread(changed) = &self.0.timer {
            changed.notify_all();
        }
    }
}

impl Pacer {
    /// A pacer for the runtime that this is called in: its timer is one of the things that the
    /// runtime waits for, and lives as long as that.
    ///
    /// # Errors
    /// When neither a timer nor a thread can be had.
    pub fn start() -> std::io::Result<Pacer> {
        #[cfg(target_os = "linux")]
        if let Ok((timer, fired)) = kernel::timer() {
            let pacer = Pacer::new(Timer::Kernel(timer));
            tokio::spawn(kernel::ring(Arc::downgrade(&pacer.shared), fired));
            return Ok(pacer);
        }
        Pacer::on_a_thread()
    }

    /// A pacer with a thread of its own, that needs nothing of the system but sleep.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn on_a_thread() -> std::io::Result<Pacer> {
        let pacer = Pacer::new(Timer::Thread(Condvar::new()));
        let theirs = Arc::clone(&pacer.shared);
        std::thread::Builder::new().name("pacer".into()).spawn(move || {
            if let Timer::Thread(changed) = &theirs.timer {
                wait_and_ring(&theirs, changed);
            }
        })?;
        Ok(pacer)
    }

    fn new(timer: Timer) -> Pacer {
        let shared = Arc::new(Shared { state: Mutex::default(), timer });
        Pacer { _stop: Arc::new(StopOnDrop(Arc::clone(&shared))), shared }
    }

    /// Wakes `waker` at `at`, or at once when that is past.
    pub fn wake_at(&self, at: Stamp, waker: Waker) {
        let mut state = self.shared.lock();
        let first = state.next().is_none_or(|next| at < next);
        state.alarms.push(Reverse(Alarm { at, waker }));
        if first && !state.awake {
            self.shared.earlier(at);
        }
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    //! The timer of Linux, as a descriptor beside the sockets'.

    use std::os::fd::OwnedFd;
    use std::sync::Weak;
    use std::task::Poll;

    use nix::sys::time::{TimeSpec, TimeValLike};
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use tokio::io::Interest;
    use tokio::io::unix::AsyncFd;

    use super::{LEAD, Shared, Span, Stamp, Timer, Waker, now};

    /// A timer to set and the same one to wait for.
    pub(super) fn timer() -> std::io::Result<(TimerFd, AsyncFd<OwnedFd>)> {
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let fired = std::os::fd::AsFd::as_fd(&timer).try_clone_to_owned()?;
        #[allow(unsafe_code, reason = "tokio leaves it to the caller what a descriptor is")]
        // SAFETY: `fired` is an owned descriptor, open until the value that now owns it is dropped.
        let fired = unsafe { AsyncFd::register_with_interest(fired, Interest::READABLE) };
        Ok((timer, fired.map_err(std::io::Error::from)?))
    }

    pub(super) fn set(timer: &TimerFd, at: Stamp) {
        // Zero would switch it off.
        let at = Expiration::OneShot(TimeSpec::microseconds(at.0.max(1)));
        // It fails for times that no clock shows.
        let _ = timer.set(at, TimerSetTimeFlags::TFD_TIMER_ABSTIME);
    }

    /// Wakes what is due, for as long as anybody may set an alarm.
    pub(super) async fn ring(shared: Weak<Shared>, fired: AsyncFd<OwnedFd>) {
        let mut due = Vec::new();
        loop {
            let Some(held) = shared.upgrade() else { return };
            let sleep = step(&held, &mut due);
            drop(held);
            if !sleep {
                after_the_others().await;
                continue;
            }
            match fired.readable().await {
                // Setting the timer anew takes its count back, so it need not be read.
                Ok(mut ready) => ready.clear_ready(),
                Err(_) => return,
            }
        }
    }

    /// Spins to the next alarm if it is near enough and wakes what is due then; otherwise sets
    /// the timer. Returns whether to wait for it.
    fn step(shared: &Shared, due: &mut Vec<Waker>) -> bool {
        let mut state = shared.lock();
        let mut at = now();
        state.spin.grow(at);
        let affords = state.spin.affords();
        match state.next() {
            Some(next) if next - at <= affords => {
                let start = at;
                while at < next {
                    std::hint::spin_loop();
                    at = now();
                }
                state.spin.spent(at - start);
                state.due(at, due);
                state.awake = true;
                drop(state);
                // Woken without the lock: a woken task may set its next alarm at once.
                due.drain(..).for_each(Waker::wake);
                false
            }
            next => {
                state.awake = false;
                if let (Some(next), Timer::Kernel(timer)) = (next, &shared.timer) {
                    let early = if affords == LEAD { LEAD } else { Span::ZERO };
                    set(timer, next - early);
                }
                true
            }
        }
    }

    /// Lets the tasks that were woken before run first.
    async fn after_the_others() {
        let mut yielded = false;
        std::future::poll_fn(|context| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

fn wait_and_ring(shared: &Shared, changed: &Condvar) {
    // The kernel may delay a sleeper by its timer slack, 50 µs by default: a third of the whole
    // lateness. 1 ns is the least it takes. Where it is refused, the ledger shows the difference.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_timerslack(1);
    let mut due: Vec<Waker> = Vec::new();
    let mut state = shared.lock();
    while !state.stopped {
        let now = now();
        state.due(now, &mut due);
        if !due.is_empty() {
            // Woken without the lock: a woken task may set its next alarm at once.
            drop(state);
            due.drain(..).for_each(Waker::wake);
            state = shared.lock();
            continue;
        }
        state = match state.next() {
            None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(next) => {
                let wait = u64::try_from((next - now).as_micros()).unwrap_or_default();
                changed
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
    use std::sync::mpsc;
    use std::task::Wake;

    struct Note(u32, mpsc::Sender<(u32, Stamp)>);

    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            let _ = self.1.send((self.0, now()));
        }
    }

    /// Runs a test with the pacer of this system and with the thread.
    fn with_each(test: impl Fn(&Pacer)) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let entered = runtime.enter();
        test(&Pacer::start().unwrap());
        drop(entered);
        test(&Pacer::on_a_thread().unwrap());
    }

    #[test]
    fn alarms_ring_in_order_and_never_early() {
        with_each(|pacer| {
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
        });
    }

    #[test]
    fn an_earlier_alarm_overtakes_the_one_being_waited_for() {
        with_each(|pacer| {
            let (sender, receiver) = mpsc::channel();
            let start = now();
            let far = Waker::from(Arc::new(Note(0, sender.clone())));
            pacer.wake_at(start + Span::millis(60_000), far);
            std::thread::sleep(Duration::from_millis(20));
            let near = Waker::from(Arc::new(Note(1, sender)));
            pacer.wake_at(start + Span::millis(30), near);
            let (name, _) = receiver.recv_timeout(Duration::from_secs(5)).unwrap();
            assert_eq!(name, 1);
        });
    }

    #[test]
    fn spinning_keeps_to_its_share() {
        let mut budget = SpinBudget { left: SPIN_SAVED, since: Stamp(0) };
        // A deadline each 150 µs, as 7,000 frames a second on one thread have it.
        let mut spun = Span::ZERO;
        for at in (0..1_000_000).step_by(150) {
            budget.grow(Stamp(at));
            let wait = budget.affords();
            budget.spent(wait);
            spun = spun + (wait - NAP);
        }
        let allowed = SPIN_SAVED + Span::micros(1_000_000 / SPIN_SHARE) + LEAD;
        assert!(spun <= allowed, "{spun} spun in a second");
        assert!(spun >= Span::micros(1_000_000 / SPIN_SHARE), "{spun} spun in a second");
    }
}
