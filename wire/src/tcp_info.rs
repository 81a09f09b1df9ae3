//! The kernel's own counters of a connection: Linux's `TCP_INFO`, as far as it is needed here.

use std::net::TcpStream;
use std::os::fd::AsRawFd;

use nix::libc;

/// The beginning of the kernel's `struct tcp_info` (include/uapi/linux/tcp.h). Fields are only
/// ever added at its end, and the kernel gives as much of it as is asked for.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct TcpInfo {
    state_and_options: [u8; 8],
    timers_and_windows: [u32; 24],
    pacing_and_bytes: [u64; 4],
    segments_and_round_trip: [u32; 4],
    data_segments_in: u32,
    data_segments_out: u32,
}

/// Segments with payload that came; `None` when the kernel does not say.
#[allow(unsafe_code, reason = "the wrapper library has no TCP_INFO")]
pub(crate) fn segments_in(stream: &TcpStream) -> Option<u64> {
    let mut info = TcpInfo::default();
    let wanted = size_of::<TcpInfo>() as libc::socklen_t;
    let mut length = wanted;
    // SAFETY: the pointer is to a plain struct of `length` bytes that outlives the call, and any
    // bytes are a valid value of it; the descriptor is open while `stream` is borrowed.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    // An old kernel gives less than was asked for: then the field was not written.
    (result == 0 && length == wanted).then_some(u64::from(info.data_segments_in))
}
