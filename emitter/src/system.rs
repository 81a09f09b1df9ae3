//! What is asked of the operating system besides sockets and timers.

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
