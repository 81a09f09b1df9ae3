//! Priority of the instrument's own threads.
//!
//! Where the system allows it (root, or a nice limit), threads that take times run before other
//! work, so that a busy machine makes the proxy late and not the clock that judges it. What was
//! really had is declared in the results.

use nix::libc;

/// The nice value asked for: before ordinary work, after what an administrator set above it.
const WANTED: libc::c_int = -10;

/// Asks for it for the calling thread; returns the nice value in force. Children started by a
/// thread inherit its value: proxies must be started by a thread that did not ask.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the wrapper library has no setpriority")]
pub fn raise() -> i32 {
    // SAFETY: both calls take plain numbers; on Linux "process 0" is the calling thread.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, WANTED);
        libc::getpriority(libc::PRIO_PROCESS, 0)
    }
}

/// Elsewhere the call would change the whole process, proxies to come included: nothing is asked.
#[cfg(not(target_os = "linux"))]
pub fn raise() -> i32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_raises_this_thread_alone_or_says_that_it_could_not() {
        let raised = std::thread::spawn(raise).join().unwrap();
        assert!(raised == WANTED || (0..20).contains(&raised), "{raised}");
        let other = std::thread::spawn(|| {
            // SAFETY: plain numbers.
            #[allow(unsafe_code, reason = "reads the value back")]
            unsafe {
                libc::getpriority(libc::PRIO_PROCESS, 0)
            }
        });
        assert!(other.join().unwrap() >= 0, "another thread keeps its own");
    }
}
