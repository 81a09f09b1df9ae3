//! What is asked of the operating system besides sockets and timers. All of it is a wish: where
//! it is refused, the ledger shows the difference.

/// Raises the soft limit of open descriptors to the hard one. Many systems start programs with
/// 1,024, a tenth of the streams that are served here.
///
/// # Errors
/// When the system refuses.
pub fn raise_descriptor_limit() -> std::io::Result<()> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft < hard {
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    }
    Ok(())
}

/// The shortest slice that Linux gives, nanoseconds: a frame takes 20 µs, and a thread that asks
/// for little at a time may interrupt one that was given more (2.8 ms by default), be it the
/// reading client or somebody's compiler.
#[cfg(target_os = "linux")]
const SLICE_NS: u64 = 100_000;

/// Asks that this thread runs soon after it is woken, on a machine where others compute. It gets
/// no larger share of the processor by that, and needs no privilege (Linux 6.12 and later; older
/// ones ignore it).
#[cfg(target_os = "linux")]
pub(crate) fn ask_for_prompt_wakeups() {
    // The kernel may also delay a sleeper by its timer slack, 50 µs by default.
    let _ = nix::sys::prctl::set_timerslack(1);
    let size = size_of::<libc::sched_attr>() as u32;
    let mut attributes = libc::sched_attr {
        size,
        sched_policy: 0,
        sched_flags: 0,
        sched_nice: 0,
        sched_priority: 0,
        sched_runtime: 0,
        sched_deadline: 0,
        sched_period: 0,
    };
    #[allow(unsafe_code, reason = "no library wraps these two system calls")]
    // SAFETY: the kernel writes and reads at most `size` bytes at a pointer to as many.
    unsafe {
        if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) == 0
            && attributes.sched_policy == libc::SCHED_OTHER as u32
        {
            attributes.sched_runtime = SLICE_NS;
            libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
        }
    }
}

/// Other systems have no such wish.
#[cfg(not(target_os = "linux"))]
pub(crate) fn ask_for_prompt_wakeups() {}
