//! Priority of the threads that take times.
//!
//! Where the system allows it, they run before other work, so that a busy machine makes the proxy
//! late and not the clock that judges it. What was really had is declared in the results.

use std::fmt;

use nix::libc;

/// The nice value asked for where real time is refused: before ordinary work, after what an
/// administrator set above it.
const NICE: libc::c_int = -10;

/// How the system lets a thread run that keeps time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Before all ordinary work.
    RealTime,
    /// With this nice value; 0 is everybody's.
    Nice(i32),
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Priority::RealTime => f.write_str("real time"),
            Priority::Nice(nice) => write!(f, "nice {nice}"),
        }
    }
}

/// Asks that the calling thread runs as soon as it is woken, and tells what it got.
///
/// A nice value is not enough: Linux weighs it within a session only (`autogroup`), so that a
/// program of another terminal that runs for 4 ms (a tick) makes every frame of these 4 ms late.
/// The lowest real-time priority goes before all that. It may not starve the machine: frames
/// take 10 µs each, spinning is bounded, and the kernel keeps a twentieth of each second for
/// others even from a thread that never sleeps. Threads and programs started by such a thread
/// are ordinary ones again, so that no proxy gets what the clock has.
///
/// It takes root or a limit (`ulimit -r`); without them a nice value is asked for, which what
/// the thread starts does inherit, and the ledger shows the difference.
pub fn raise() -> Priority {
    if real_time() { Priority::RealTime } else { Priority::Nice(nice()) }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the wrapper library has no sched_setscheduler")]
fn real_time() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the call reads one `sched_param`; on Linux "process 0" is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &raw const lowest) == 0 }
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the wrapper library has no setpriority")]
fn nice() -> i32 {
    // SAFETY: both calls take plain numbers; on Linux "process 0" is the calling thread.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
        libc::getpriority(libc::PRIO_PROCESS, 0)
    }
}

/// Elsewhere the calls would change the whole process, proxies to come included: nothing is
/// asked.
#[cfg(not(target_os = "linux"))]
fn real_time() -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
fn nice() -> i32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_before_others_or_says_that_it_may_not() {
        let got = std::thread::spawn(raise).join().unwrap();
        match got {
            Priority::RealTime => {}
            Priority::Nice(nice) => assert!((-20..20).contains(&nice), "{nice}"),
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_a_real_time_thread_starts_is_ordinary() {
        let policy = std::thread::spawn(|| {
            raise();
            let output = std::process::Command::new("cat").arg("/proc/self/stat").output().unwrap();
            let stat = String::from_utf8(output.stdout).unwrap();
            // Policy is field 41; fields are counted on from the name, which is the second.
            stat.rsplit_once(')').unwrap().1.split_whitespace().nth(38).map(str::to_string)
        });
        assert_eq!(policy.join().unwrap().as_deref(), Some("0"));
    }
}
