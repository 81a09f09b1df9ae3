//! A socket that gives no more after a time or so many bytes.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use measure::Stamp;
use wire::{Moment, Read, Socket, Write};

use crate::ask::Limit;

/// How often a reader that may be told to leave looks whether it is: what a person calls at once.
const LOOK: Duration = Duration::from_millis(100);

/// Stops a reader whose stream may never end.
pub(crate) struct Bounded<'a, S> {
    socket: &'a mut S,
    until: Moment,
    bytes_left: u64,
    silence: Duration,
    leave: Option<Arc<AtomicBool>>,
    stopped: bool,
}

impl<'a, S: Socket> Bounded<'a, S> {
    /// Counts the limit's time from the call.
    pub(crate) fn new(
        socket: &'a mut S,
        limit: Limit,
        call: Stamp,
        silence: Duration,
        leave: Option<Arc<AtomicBool>>,
    ) -> Bounded<'a, S> {
        let until = Moment::from_micros(call.0 + limit.time.as_micros() as i64);
        Bounded { socket, until, bytes_left: limit.bytes, silence, leave, stopped: false }
    }

    /// Whether the limit was reached.
    pub(crate) fn stopped(&self) -> bool {
        self.stopped
    }

    fn some_left(&mut self) -> io::Result<Duration> {
        let left = self.left();
        let leave = self.leave.as_ref().is_some_and(|leave| leave.load(Ordering::Relaxed));
        if left.is_zero() || self.bytes_left == 0 || leave {
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

impl<S: Socket> Socket for Bounded<'_, S> {
    fn recv(&mut self, buffer: &mut [u8]) -> io::Result<Read> {
        let began = Instant::now();
        // One wait in several looks: it began with the first of them, and the reader was away
        // from its socket only between two.
        let (mut entered, mut returned) = (None, None);
        loop {
            let left = self.some_left()?;
            let silent = self.silence.saturating_sub(began.elapsed());
            let mut wait = left.min(silent).max(Duration::from_millis(1));
            if self.leave.is_some() {
                wait = wait.min(LOOK);
            }
            self.socket.wait_at_most(wait)?;
            let now = Moment::now().micros();
            let away = returned.map_or(0, |returned| now - returned);
            let waits_since = entered.map_or(now, |entered| entered + away);
            let mut read = self.socket.recv(buffer);
            match &mut read {
                Ok(read) => {
                    self.bytes_left = self.bytes_left.saturating_sub(read.bytes as u64);
                    if returned.is_some() {
                        read.entered = Moment::from_micros(waits_since);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if wait < left.min(silent) {
                        (entered, returned) = (Some(waits_since), Some(Moment::now().micros()));
                        continue;
                    }
                    // The kernel's timer and ours may differ by a tick.
                    self.stopped = left <= silent;
                }
                Err(_) => {}
            }
            return read;
        }
    }

    fn recv_now(&mut self, buffer: &mut [u8]) -> io::Result<Option<Read>> {
        if self.bytes_left == 0 {
            // The next read that may wait says so.
            return Ok(None);
        }
        let read = self.socket.recv_now(buffer)?;
        let bytes = read.map_or(0, |read| read.bytes as u64);
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        Ok(read)
    }

    fn wait_at_most(&mut self, time: Duration) -> io::Result<()> {
        self.silence = time;
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<Write> {
        let left = self.some_left()?;
        self.socket.send_waits_at_most(left.min(self.silence))?;
        let write = self.socket.send(bytes);
        if write.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            self.stopped = left <= self.silence;
        }
        write
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::net::TcpListener;

    #[test]
    fn a_wait_in_several_looks_is_one_wait() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let silent = 3 * LOOK;
        let server = std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            std::thread::sleep(silent);
            peer.write_all(b"late").unwrap();
        });
        let (mut socket, _) = wire::connect(address, &wire::Options::default()).unwrap();
        let limit = Limit { time: Duration::from_secs(60), bytes: 100 };
        let call = Stamp(Moment::now().micros());
        let leave = Some(Arc::new(AtomicBool::new(false)));
        let mut bounded = Bounded::new(&mut socket, limit, call, limit.time, leave);
        let read = bounded.recv(&mut [0; 16]).unwrap();
        server.join().unwrap();
        // Were it the last look's, the reader would seem to have been away for the others.
        let waited = read.at.micros() - read.entered.micros();
        assert!(waited > (2 * LOOK).as_micros() as i64, "{waited} us");
    }
}
