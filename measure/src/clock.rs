//! Synchronising a foreign clock (a page's, a worker's) with the emitter's by round trips.
//!
//! Cristian's method: the server's time is taken to be that of the middle of the round trip.
//! On a clock without steps the error cannot exceed half the round trip, so the shortest round trip is kept and half of
//! it is the stated uncertainty. Nothing is claimed below it.

use serde::{Deserialize, Serialize};

use crate::units::{Span, Stamp};

/// One round trip to the clock route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Local clock before the request, microseconds since the local clock's own origin.
    pub sent: i64,
    /// The server's clock as the answer named it.
    pub server: Stamp,
    /// Local clock when the answer was there.
    pub received: i64,
}

/// How a local clock is converted to the shared one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockSync {
    /// Added to a local time to give a [`Stamp`], microseconds.
    pub offset_us: i64,
    /// Half of the shortest round trip: the conversion may be wrong by this much either way.
    pub uncertainty_us: i64,
    /// How many round trips were made.
    pub round_trips: u32,
}

impl ClockSync {
    /// Keeps the shortest of the round trips; `None` without a usable one. A round trip that
    /// ends before it began (the local clock was stepped) is not usable.
    pub fn from_round_trips(trips: &[RoundTrip]) -> Option<ClockSync> {
        let best = trips
            .iter()
            .filter(|trip| trip.received >= trip.sent)
            .min_by_key(|trip| trip.received - trip.sent)?;
        let half = (best.received - best.sent) / 2;
        Some(ClockSync {
            offset_us: best.server.0 - (best.sent + half),
            // Rounded up: integer halving may not make the claim smaller than the truth.
            uncertainty_us: (best.received - best.sent + 1) / 2,
            round_trips: trips.len() as u32,
        })
    }

    /// The same with the step of the local clock taken into account: a round trip on a coarse
    /// clock can look shorter than it was by a whole step.
    #[must_use]
    pub fn with_step(self, step_us: i64) -> ClockSync {
        ClockSync { uncertainty_us: self.uncertainty_us + step_us.max(0), ..self }
    }

    /// The shared time of a local one.
    pub fn to_shared(&self, local_us: i64) -> Stamp {
        Stamp(local_us + self.offset_us)
    }

    /// The uncertainty as a span.
    pub fn uncertainty(&self) -> Span {
        Span(self.uncertainty_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_round_trip_wins_and_its_half_is_the_uncertainty() {
        let trips = [
            RoundTrip { sent: 0, server: Stamp(1_000_500), received: 2_000 },
            RoundTrip { sent: 5_000, server: Stamp(1_005_100), received: 5_201 },
        ];
        let sync = ClockSync::from_round_trips(&trips).unwrap();
        assert_eq!(sync.uncertainty_us, 101);
        assert_eq!(sync.to_shared(5_100), Stamp(1_005_100));
        assert_eq!(sync.round_trips, 2);
    }

    #[test]
    fn the_truth_lies_within_the_uncertainty_whatever_the_asymmetry() {
        let offset = 77_777;
        for there in [0, 10, 400] {
            for back in [0, 30, 900] {
                let trip = RoundTrip {
                    sent: 100,
                    server: Stamp(100 + there + offset),
                    received: 100 + there + back,
                };
                let sync = ClockSync::from_round_trips(&[trip]).unwrap();
                assert!((sync.offset_us - offset).abs() <= sync.uncertainty_us);
            }
        }
    }

    #[test]
    fn a_coarse_clock_adds_its_step_to_the_uncertainty() {
        let trip = RoundTrip { sent: 1_000, server: Stamp(5_000), received: 1_000 };
        let sync = ClockSync::from_round_trips(&[trip]).unwrap();
        assert_eq!(sync.uncertainty_us, 0);
        assert_eq!(sync.with_step(1_000).uncertainty_us, 1_000);
    }

    #[test]
    fn a_clock_that_ran_backwards_gives_nothing() {
        let trip = RoundTrip { sent: 100, server: Stamp(5), received: 50 };
        assert_eq!(ClockSync::from_round_trips(&[trip]), None);
    }
}
