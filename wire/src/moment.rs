//! The one monotonic clock of this machine.

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

/// Microseconds on `CLOCK_MONOTONIC`. Every process of one machine reads the same clock, so
/// moments of emitter, tap and reader may be subtracted from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

impl Moment {
    /// Now.
    pub fn now() -> Moment {
        Moment(read(ClockId::CLOCK_MONOTONIC))
    }

    /// A moment of so many microseconds.
    pub const fn from_micros(us: i64) -> Moment {
        Moment(us)
    }

    /// Microseconds since the clock's own origin (the machine's start).
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Now, and a wall-clock time of the kernel converted with the offset between the two clocks
    /// taken at this very moment: the wall clock may be stepped at any other.
    ///
    /// The offset is read between two looks at the monotonic clock; a thread that is interrupted
    /// in between tries again, and gives no stamp rather than a wrong one. A stamp from the
    /// future, by a wall clock stepped back meanwhile, is none either.
    pub(crate) fn now_with_wall(wall_us: Option<i64>) -> (Moment, Option<Moment>) {
        let now = Moment::now();
        let stamp = wall_us.and_then(|stamp| {
            let offset = wall_offset()?;
            Some(Moment(stamp - offset)).filter(|stamp| stamp.0 <= now.0 + CONVERSION.0)
        });
        (now, stamp)
    }
}

/// How far a conversion between the clocks may be off: reading one takes well under a
/// microsecond, and an interrupt within is longer than this.
const CONVERSION: Moment = Moment(50);

/// Wall clock less monotonic clock; `None` when it cannot be read without an interruption.
fn wall_offset() -> Option<i64> {
    (0..4).find_map(|_| {
        let before = Moment::now().0;
        let wall = read(ClockId::CLOCK_REALTIME);
        let after = Moment::now().0;
        (after - before <= CONVERSION.0).then(|| wall - (before + after) / 2)
    })
}

fn read(clock: ClockId) -> i64 {
    // The call fails only for a clock that does not exist, and both asked for are in POSIX.
    clock_gettime(clock).map_or(0, |time| time.num_microseconds())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_runs_backwards() {
        let moments: Vec<Moment> = (0..1_000).map(|_| Moment::now()).collect();
        assert!(moments.is_sorted());
        assert!(moments[0].micros() > 0);
    }

    #[test]
    fn a_wall_time_of_now_converts_to_now() {
        let wall = read(ClockId::CLOCK_REALTIME);
        let (now, stamp) = Moment::now_with_wall(Some(wall));
        let off = now.micros() - stamp.unwrap().micros();
        assert!((-CONVERSION.0..50_000).contains(&off), "{off} µs");
        let (_, future) = Moment::now_with_wall(Some(wall + 5_000_000));
        assert_eq!(future, None, "a stamp from the future");
    }
}
