//! A reader's stop on purpose.

use std::time::Duration;

use measure::Stamp;
use wire::Moment;

use crate::ask::Pause;

/// The least that a socket's timer can be set to wait; zero would mean for ever.
const LEAST: Duration = Duration::from_micros(1);

/// Where a reader is with its stop.
#[derive(Clone, Copy, Debug)]
enum State {
    /// None is planned, or it is over.
    None,
    /// It begins after so many bytes.
    Ahead(Pause),
    /// It is on, on a reader that goes on reading its socket.
    On { since: Stamp, until: Stamp },
}

/// A reader's stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    state: State,
    was: Option<(Stamp, Stamp)>,
}

fn now() -> Stamp {
    Stamp(Moment::now().micros())
}

impl Stop {
    pub(crate) fn new(pause: Option<Pause>) -> Stop {
        Stop { state: pause.map_or(State::None, State::Ahead), was: None }
    }

    /// Whether it begins now, with so many bytes read. A reader that does not mind its socket
    /// meanwhile sleeps here, and it is over; for another it is on from now.
    pub(crate) fn begins(&mut self, bytes: u64, reads_on: bool) -> bool {
        let State::Ahead(pause) = self.state else { return false };
        if bytes < pause.after_bytes {
            return false;
        }
        let since = now();
        if reads_on {
            let until = Stamp(since.0 + pause.time.as_micros() as i64);
            self.state = State::On { since, until };
        } else {
            std::thread::sleep(pause.time);
            self.was = Some((since, now()));
            self.state = State::None;
        }
        reads_on
    }

    /// How long a read may wait for bytes at most while it is on.
    pub(crate) fn left(&self) -> Option<Duration> {
        let State::On { until, .. } = self.state else { return None };
        let left = u64::try_from((until - now()).as_micros()).unwrap_or_default();
        Some(Duration::from_micros(left).max(LEAST))
    }

    /// Whether it was on and is over.
    pub(crate) fn ends(&mut self) -> bool {
        let State::On { since, until } = self.state else { return false };
        let at = now();
        if at < until {
            return false;
        }
        self.state = State::None;
        self.was = Some((since, at));
        true
    }

    /// When it was.
    pub(crate) fn was(&self) -> Option<(Stamp, Stamp)> {
        self.was
    }
}
