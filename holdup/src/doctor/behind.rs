//! Holdup's own emitter behind a hop: whether it is there, its ledgers, its clock.

use std::time::Duration;

use measure::clock::{ClockSync, RoundTrip};
use measure::{Ledger, RunId, Span, Stamp};
use recv_client::{FetchError, Form, Limit, Page, ProtocolError};
use serde_json::Value;

use super::budget::Budget;
use super::judge::shifted;
use super::stop::Stop;
use crate::target::Target;

/// How long a short answer may take: a slow link's connection and some round trips.
const PATIENCE: Duration = Duration::from_secs(5);
/// Largest short answer: the ledger of the longest stream played here has 20 KB.
const MOST_BYTES: u64 = 4 << 20;
/// Round trips that show whether the clock is our own.
const FIRST_TRIPS: u32 = 2;
/// Round trips that synchronise another machine's: of several the shortest is near the link's own.
const SYNC_TRIPS: u32 = 4;
/// How fast two machines' clocks may drift apart, parts in a million: crystals are within 100.
const DRIFT_PPM: i64 = 200;
/// A clock known worse than this tells a held frame from a live one no more: half of what live
/// allows.
const BLURRED: Span = Span::millis(10);

/// Whose clock the ledgers are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// This machine's.
    Ours,
    /// Another one's, synchronised.
    Other {
        sync: ClockSync,
        /// When, on our clock.
        at: Stamp,
    },
    /// Not known.
    Unknown,
}

impl Clock {
    /// How far a converted stamp may be off.
    pub(crate) fn uncertainty(&self) -> Option<Span> {
        match self {
            Clock::Ours => Some(Span::ZERO),
            Clock::Other { sync, .. } => Some(sync.uncertainty()),
            Clock::Unknown => None,
        }
    }
}

/// An emitter that answers at a URL's own routes.
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    /// Its identity.
    pub(crate) instance: String,
    /// Its clock.
    pub(crate) clock: Clock,
    /// Whether its ledgers can be had on this way.
    pub(crate) ledgers: bool,
}

impl Behind {
    /// How far its stamps may be off; absent where its clock is not known.
    pub(crate) fn uncertainty(&self) -> Option<Span> {
        self.clock.uncertainty()
    }
}

/// A ledger that cannot be had, or not be used.
#[derive(Debug)]
pub(crate) enum NoLedger {
    /// This route does not lead to it.
    Elsewhere,
    /// The run is not known to it.
    Unknown,
    /// It is another process than before.
    Restarted,
}

/// Asks short questions.
pub(crate) struct Asker<'a> {
    pub(crate) target: &'a Target,
    pub(crate) form: &'a Form,
    pub(crate) budget: &'a mut Budget,
}

impl Asker<'_> {
    fn ask(&mut self, path: String) -> Option<Result<Page, FetchError>> {
        if !self.budget.take() {
            return None;
        }
        let mut ask = self.target.ask(path);
        let fields = self.target.form(self.form).fields;
        ask.form = Form { fields, ..Form::default() };
        ask.options.read_timeout = Some(PATIENCE);
        Some(recv_client::fetch(&ask, Limit { time: PATIENCE, bytes: MOST_BYTES }))
    }

    fn json(&mut self, path: String) -> Option<(Value, Page)> {
        let page = self.ask(path)?.ok().filter(|page| page.head.status == 200)?;
        let value = serde_json::from_slice(&page.body).ok()?;
        Some((value, page))
    }

    /// Looks for the emitter.
    ///
    /// # Errors
    /// When nobody answers at all.
    pub(crate) fn find(&mut self) -> Result<Option<Behind>, Stop> {
        if !self.target.may_be_emitter() {
            return Ok(None);
        }
        self.look()
    }

    /// Looks for the emitter, whatever the path is.
    ///
    /// # Errors
    /// When nobody answers at all.
    pub(crate) fn look(&mut self) -> Result<Option<Behind>, Stop> {
        let page = match self.ask(self.target.sibling("instance")) {
            Some(Ok(page)) if page.head.status == 200 => page,
            Some(Err(FetchError::Connect(error))) => {
                return Err(Stop::Unreachable { what: error.to_string() });
            }
            Some(Err(FetchError::Protocol(ProtocolError::Tls(error)))) => {
                return Err(Stop::NoTls { what: error.to_string() });
            }
            _ => return Ok(None),
        };
        let said: Value = serde_json::from_slice(&page.body).unwrap_or_default();
        let Some(instance) = said["instance"].as_str().map(String::from) else { return Ok(None) };
        let clock = self.synchronise();
        Ok(Some(Behind { instance, clock, ledgers: true }))
    }

    fn trip(&mut self) -> Option<RoundTrip> {
        let (value, page) = self.json(self.target.sibling("clock"))?;
        let server = Stamp(value["now_us"].as_i64()?);
        Some(RoundTrip { sent: page.sent.0, server, received: page.received.0 })
    }

    fn synchronise(&mut self) -> Clock {
        let mut trips: Vec<RoundTrip> = (0..FIRST_TRIPS).filter_map(|_| self.trip()).collect();
        if trips.is_empty() {
            return Clock::Unknown;
        }
        // Machines start at different times: only our own clock reads between the two.
        if trips.iter().all(ours) {
            return Clock::Ours;
        }
        trips.extend((0..SYNC_TRIPS).filter_map(|_| self.trip()));
        match ClockSync::from_round_trips(&trips) {
            Some(sync) => {
                let at = trips.last().map_or(Stamp(0), |trip| Stamp(trip.received));
                Clock::Other { sync, at }
            }
            None => Clock::Unknown,
        }
    }

    /// Whether the clock is still the one it was; what changed, if it is not.
    pub(crate) fn check_clock(&mut self, behind: &Behind) -> Result<(), Stop> {
        if behind.clock == Clock::Unknown {
            return Ok(());
        }
        match self.trip() {
            Some(trip) => still(&behind.clock, &trip),
            None => Ok(()),
        }
    }

    /// A run's ledger, on our clock.
    pub(crate) fn ledger(&mut self, behind: &Behind, run: RunId) -> Result<Ledger, NoLedger> {
        let path = self.target.sibling(&format!("runs/{run}"));
        let page = match self.ask(path) {
            Some(Ok(page)) => page,
            Some(Err(_)) | None => return Err(NoLedger::Elsewhere),
        };
        let ledger: Ledger = match serde_json::from_slice(&page.body) {
            Ok(ledger) if page.head.status == 200 => ledger,
            _ if page.body.starts_with(b"no stream was asked for") => {
                return Err(NoLedger::Unknown);
            }
            _ => return Err(NoLedger::Elsewhere),
        };
        if ledger.instance != behind.instance {
            return Err(NoLedger::Restarted);
        }
        match behind.clock {
            Clock::Ours => Ok(ledger),
            Clock::Other { sync, .. } if sync.uncertainty() <= BLURRED => {
                Ok(shifted(ledger, Span(-sync.offset_us)))
            }
            // Its times say nothing on our clock; the script still does.
            Clock::Other { .. } | Clock::Unknown => Err(NoLedger::Elsewhere),
        }
    }
}

/// Whether a round trip reads our own clock.
fn ours(trip: &RoundTrip) -> bool {
    (trip.sent..=trip.received).contains(&trip.server.0)
}

fn still(clock: &Clock, trip: &RoundTrip) -> Result<(), Stop> {
    let shifted = |by: Span| {
        let what = format!("the emitter's clock moved by {by} against ours");
        Err(Stop::Shifted { what })
    };
    match clock {
        Clock::Ours if ours(trip) => Ok(()),
        Clock::Ours => shifted(trip.server - Stamp(trip.received)),
        Clock::Other { sync, at } => {
            let Some(now) = ClockSync::from_round_trips(&[*trip]) else { return Ok(()) };
            let moved = Span(now.offset_us - sync.offset_us);
            let passed = trip.received - at.0;
            let drift = Span(passed * DRIFT_PPM / 1_000_000);
            let allowed = now.uncertainty() + sync.uncertainty() + drift;
            if moved.abs() <= allowed { Ok(()) } else { shifted(moved) }
        }
        Clock::Unknown => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(sent: i64, server: i64, received: i64) -> RoundTrip {
        RoundTrip { sent, server: Stamp(server), received }
    }

    #[test]
    fn our_own_clock_reads_within_the_round_trip() {
        assert!(ours(&trip(1_000, 1_200, 1_400)));
        assert!(!ours(&trip(1_000, 9_200, 1_400)));
        assert!(still(&Clock::Ours, &trip(1_000, 1_200, 1_400)).is_ok());
        let moved = still(&Clock::Ours, &trip(1_000, 501_400, 1_400)).unwrap_err();
        let said = moved.to_string();
        assert!(said.starts_with("the emitter's clock moved by 500 ms"), "{said}");
    }

    #[test]
    fn another_machines_clock_may_drift_and_not_jump() {
        let sync = ClockSync::from_round_trips(&[trip(0, 7_000_000, 200)]).unwrap();
        let clock = Clock::Other { sync, at: Stamp(200) };
        let later = 60_000_000;
        // 3 ms in a minute are 50 parts in a million.
        assert!(still(&clock, &trip(later, later + 7_003_000, later + 200)).is_ok());
        assert!(still(&clock, &trip(later, later + 7_100_000, later + 200)).is_err());
    }
}
