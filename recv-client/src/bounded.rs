//! A socket that gives no more after a time or so many bytes.

use std::io;
use std::time::Duration;

use measure::Stamp;
use wire::{Moment, Read, Socket, TcpSocket, Write};

use crate::ask::Limit;

/// Stops a reader whose stream may never end.
pub(crate) struct Bounded<'a> {
    socket: &'a mut TcpSocket,
    until: Moment,
    bytes_left: u64,
    silence: Duration,
    stopped: bool,
}

impl<'a> Bounded<'a> {
    /// Counts the limit's time from the call.
    pub(crate) fn new(
        socket: &'a mut TcpSocket,
        limit: Limit,
        call: Stamp,
        silence: Duration,
    ) -> Bounded<'a> {
        let until = Moment::from_micros(call.0 + limit.time.as_micros() as i64);
        Bounded { socket, until, bytes_left: limit.bytes, silence, stopped: false }
    }

    /// Whether the limit was reached.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    fn some_left(&mut self) -> io::Result<Duration> {
        let left = self.left();
        if left.is_zero() || self.bytes_left == 0 {
            self.stopped = true;
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(left)
    }

    fn left(&self) -> Duration {
        let left = self.until.micros() - Moment::now().micros();
        Duration::from_micros(left.try_into().unwrap_or_default())
    }
}

impl Socket for Bounded<'_> {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        let left = self.some_left()?;
        self.socket.stream().set_read_timeout(Some(left.min(self.silence)))?;
        let read = self.socket.recv(buffer);
        match &read {
            Ok(read) => self.bytes_left = self.bytes_left.saturating_sub(read.bytes as u64),
            // The kernel's timer and ours may differ by a tick.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.stopped = left <= self.silence;
            }
            Err(_) => {}
        }
        read
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<Write> {
        let left = self.some_left()?;
        self.socket.stream().set_write_timeout(Some(left.min(self.silence)))?;
        let write = self.socket.send(bytes);
        if write.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.stopped = left <= self.silence;
        }
        write
    }
}
