//! Reads and writes that note what they carried and when.

use std::io::{self, IoSliceMut};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;

use crate::moment::Moment;

/// One successful read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Bytes it brought; 0 is the end of the stream.
    pub bytes: usize,
    /// When the call was entered.
    pub entered: Moment,
    /// When it returned.
    pub at: Moment,
    /// When the kernel received the read's last segment; absent where there is no such stamp.
    /// It is converted from the wall clock and may be a few microseconds off either way.
    pub kernel: Option<Moment>,
}

/// One successful write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// Bytes it took, at least one.
    pub bytes: usize,
    /// When the call was entered.
    pub before: Moment,
    /// When it returned.
    pub after: Moment,
}

/// The calls on a connected stream. A scripted fake stands in for it in tests.
pub trait Socket {
    /// One `recv()`.
    ///
    /// # Errors
    /// What the system call says; `WouldBlock` when the read timeout passed.
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<Read>;

    /// One `recv()` that waits for nothing, on a socket whose every read brings one datagram;
    /// `None` when none lies there. A stream's read takes all that lies there by itself.
    ///
    /// # Errors
    /// What the system call says.
    fn recv_now(&mut self, _buffer: &mut [u8]) -> io::Result<Option<Read>> {
        Ok(None)
    }

    /// One `send()`, which may take a part of the bytes.
    ///
    /// # Errors
    /// What the system call says.
    fn send(&mut self, bytes: &[u8]) -> io::Result<Write>;

    /// How long the reads from now on wait for bytes; longer than zero. A scripted stream waits
    /// for nothing.
    ///
    /// # Errors
    /// What the system call says.
    fn wait_at_most(&mut self, _time: Duration) -> io::Result<()> {
        Ok(())
    }

    /// How long the sends from now on wait for room; longer than zero. Datagrams wait for nothing.
    ///
    /// # Errors
    /// What the system call says.
    fn send_waits_at_most(&mut self, _time: Duration) -> io::Result<()> {
        Ok(())
    }

    /// Sends everything; returns the last write.
    ///
    /// # Errors
    /// What the system call says.
    fn send_all(&mut self, bytes: &[u8]) -> io::Result<Write> {
        let mut sent = 0;
        loop {
            let write = self.send(&bytes[sent..])?;
            sent += write.bytes;
            if sent >= bytes.len() {
                return Ok(write);
            }
            if write.bytes == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
    }
}

/// A TCP stream with the kernel's receive stamps switched on.
#[derive(Debug)]
pub struct TcpSocket {
    stream: TcpStream,
    control: Vec<u8>,
    reads: u64,
}

impl TcpSocket {
    /// Wraps a connected stream.
    ///
    /// # Errors
    /// When the receive stamps cannot be switched on.
    pub fn new(stream: TcpStream) -> io::Result<TcpSocket> {
        #[cfg(target_os = "linux")]
        setsockopt(&stream, sockopt::ReceiveTimestampns, &true)?;
        Ok(TcpSocket { stream, control: nix::cmsg_space!(TimeSpec), reads: 0 })
    }

    /// Successful calls of `recv()` so far that brought bytes.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// The segment payload in force, bytes, as the kernel tells it.
    pub fn segment_bytes(&self) -> Option<u32> {
        socket2::SockRef::from(&self.stream).tcp_mss().ok()
    }

    /// Segments with payload that came so far, as the kernel counts them; absent where it cannot
    /// be asked.
    #[cfg(target_os = "linux")]
    pub fn segments_in(&self) -> Option<u64> {
        crate::tcp_info::segments_in(&self.stream)
    }

    /// Other kernels are not asked.
    #[cfg(not(target_os = "linux"))]
    pub fn segments_in(&self) -> Option<u64> {
        None
    }

    /// The stream, for its addresses and switches.
    pub fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// A second handle to the same stream, for the other direction.
    ///
    /// # Errors
    /// When no descriptor is left.
    pub fn try_clone(&self) -> io::Result<TcpSocket> {
        TcpSocket::new(self.stream.try_clone()?)
    }

    /// Says that no more bytes will be written.
    ///
    /// # Errors
    /// When the stream is no longer connected.
    pub fn finish_writing(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }
}

impl Socket for TcpSocket {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        loop {
            let mut slices = [IoSliceMut::new(buffer)];
            let entered = Moment::now();
            let result = recvmsg::<SockaddrStorage>(
                self.stream.as_raw_fd(),
                &mut slices,
                Some(&mut self.control),
                MsgFlags::empty(),
            );
            // The clock first: everything else below is ours, not the wire's.
            match result {
                Ok(message) => {
                    let (at, kernel) = Moment::now_with_wall(stamp(&message));
                    let bytes = message.bytes;
                    self.reads += u64::from(bytes > 0);
                    return Ok(Read { bytes, entered, at, kernel });
                }
                // A signal came in between: not a read.
                Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn wait_at_most(&mut self, time: Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(time))
    }

    fn send_waits_at_most(&mut self, time: Duration) -> io::Result<()> {
        self.stream.set_write_timeout(Some(time))
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<Write> {
        use std::io::Write as _;
        loop {
            let before = Moment::now();
            match self.stream.write(bytes) {
                Ok(bytes) => return Ok(Write { bytes, before, after: Moment::now() }),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// The kernel's receive stamp, wall-clock microseconds.
#[cfg(target_os = "linux")]
pub(crate) fn stamp<S>(message: &nix::sys::socket::RecvMsg<'_, '_, S>) -> Option<i64> {
    use nix::sys::time::TimeValLike;
    message.cmsgs().ok()?.find_map(|control| match control {
        ControlMessageOwned::ScmTimestampns(time) => Some(time.num_microseconds()),
        _ => None,
    })
}

/// Other kernels give no nanosecond stamp on a stream.
#[cfg(not(target_os = "linux"))]
pub(crate) fn stamp<S>(_message: &nix::sys::socket::RecvMsg<'_, '_, S>) -> Option<i64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::TcpListener;

    fn pair() -> (TcpSocket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        (TcpSocket::new(near).unwrap(), far)
    }

    #[test]
    fn each_write_far_apart_is_a_read_with_a_stamp_of_its_own() {
        let (mut near, mut far) = pair();
        let sender = std::thread::spawn(move || {
            let mut sent = Vec::new();
            for _ in 0..5 {
                std::thread::sleep(Duration::from_millis(40));
                let before = Moment::now();
                far.write_all(b"0123456789").unwrap();
                sent.push((before, Moment::now()));
            }
            sent
        });
        let mut buffer = [0; 64];
        let reads: Vec<Read> = std::iter::from_fn(|| {
            Some(near.recv(&mut buffer).unwrap()).filter(|read| read.bytes > 0)
        })
        .collect();
        let sent = sender.join().unwrap();
        assert_eq!(reads.len(), 5);
        assert_eq!(near.reads(), 5);
        assert_eq!(near.segments_in(), Some(5), "as the kernel counts");
        for (read, (before, _)) in reads.iter().zip(&sent) {
            assert_eq!(read.bytes, 10);
            assert!(read.entered <= read.at);
            let kernel = read.kernel.expect("this kernel stamps received segments");
            // The stamp lies between the write's start and the read's return, give or take the
            // conversion from the wall clock.
            assert!(kernel.micros() >= before.micros() - 500, "{kernel:?} {before:?}");
            assert!(kernel.micros() <= read.at.micros() + 500);
        }
    }

    #[test]
    fn a_read_that_waits_too_long_says_so() {
        let (mut near, _far) = pair();
        near.stream().set_read_timeout(Some(Duration::from_millis(30))).unwrap();
        let error = near.recv(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(near.reads(), 0);
    }

    #[test]
    fn the_end_is_no_read() {
        let (mut near, far) = pair();
        drop(far);
        assert_eq!(near.recv(&mut [0; 8]).unwrap().bytes, 0);
        assert_eq!(near.reads(), 0);
    }
}
