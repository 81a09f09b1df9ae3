//! Guards: which runs may be looked at. Declared beforehand, mechanical, and blind to what the
//! proxy did.

use serde::{Deserialize, Serialize};

use crate::arrivals::{Arrivals, End};
use crate::cell::Cell;
use crate::ledger::Ledger;
use crate::measurement::{Measurement, Outcome};
use crate::script::Script;
use crate::transport::Protocol;
use crate::units::{Span, decimal};

/// The tolerances, as they stand in the results.
///
/// A document that does not name one (an older one) was judged with the default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Guards {
    /// Greatest lateness of a frame, write included and without what the path refused,
    /// microseconds.
    pub lateness_us: Span,
    /// The same as a share of the script's shortest interval; the smaller of the two holds.
    pub lateness_share: f64,
    /// The tolerance never goes under this, microseconds.
    pub lateness_floor_us: Span,
    /// Frames that the emitter merged into one write against the script.
    pub merged_writes: u32,
    /// Requests under one run id.
    pub attempts: u32,
    /// Greatest lag of the reader behind the kernel, and greatest time between its reads,
    /// as a share of the lateness tolerance.
    pub client_lag_share: f64,
    /// Frames per read of the direct path above what the script asks for.
    pub direct_frames_per_read: f64,
    /// Greatest path hold (90th percentile, and of the first frame) of the direct path,
    /// microseconds.
    pub direct_hold_us: Span,
    /// Longest task of a page whose own figures count, microseconds; the wire's count anyhow.
    pub page_longest_task_us: Span,
    /// Greatest uncertainty of a browser's clock, its step included, with which browser and page
    /// figures count, microseconds; the wire's count anyhow.
    pub page_clock_us: Span,
}

impl Default for Guards {
    fn default() -> Guards {
        Guards {
            // A twentieth of the 200 ms effect that must be told from noise, and a fifth of the
            // published 50 ms pace: no frame within it can be mistaken for its neighbour.
            lateness_us: Span::millis(10),
            // At faster paces half an interval keeps the order of frames and reads one to one.
            lateness_share: 0.5,
            // What a well-kept timer reaches at its 99th percentile on a busy two-core machine
            // (0.75 ms) with room; a finer tolerance would exclude for the machine's sake.
            lateness_floor_us: Span::millis(2),
            merged_writes: 0,
            attempts: 1,
            // The reader may be as late as the emitter: both blur the same difference.
            client_lag_share: 1.0,
            // The published noise floor is one merged read in 41 (1.02); four in 41 is 1.11.
            direct_frames_per_read: 1.1,
            // The tolerance for calling a proxied path live; the control may not be worse.
            direct_hold_us: Span::millis(20),
            // What browsers themselves call a long task.
            page_longest_task_us: Span::millis(50),
            // A quarter of the 20 ms from which a hold is one: beyond it the clock alone could
            // make a live page look held, or hide a hold.
            page_clock_us: Span::millis(5),
        }
    }
}

/// Why a run is not looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "guard", content = "why", rename_all = "kebab-case")]
pub enum Exclusion {
    /// The emitter did not keep to the script, or was asked twice.
    Ledger(String),
    /// The reader itself was late.
    Client(String),
    /// The direct path of that round was not clean.
    Direct(String),
    /// The page was hidden.
    Page(String),
}

impl Exclusion {
    /// The guard's name, as counted in the results.
    pub fn guard(&self) -> &'static str {
        match self {
            Exclusion::Ledger(_) => "ledger",
            Exclusion::Client(_) => "client",
            Exclusion::Direct(_) => "direct",
            Exclusion::Page(_) => "page",
        }
    }

    /// The reason, with its figures.
    pub fn why(&self) -> &str {
        match self {
            Exclusion::Ledger(why)
            | Exclusion::Client(why)
            | Exclusion::Direct(why)
            | Exclusion::Page(why) => why,
        }
    }
}

/// The protocol that a reader says it spoke; absent where it cannot know.
pub(crate) fn spoken(arrivals: &Arrivals) -> Option<&str> {
    let native = arrivals.transport.as_ref().and_then(|transport| transport.protocol);
    let page = arrivals.page.as_ref().and_then(|page| page.protocol.as_deref());
    native.map(Protocol::name).or(page).filter(|name| !name.is_empty())
}

impl Guards {
    /// The lateness tolerance for a script's pace.
    pub fn lateness_for(&self, script: &Script) -> Span {
        let share = script.shortest_interval().map_or(self.lateness_us, |interval| {
            Span((interval.as_micros() as f64 * self.lateness_share) as i64)
        });
        share.max(self.lateness_floor_us).min(self.lateness_us)
    }

    /// Whether a run may be looked at, by itself. A run that never reached the emitter has no
    /// ledger: that is an outcome (it failed), not an exclusion.
    ///
    /// A reader that is slow on purpose pushes back on the emitter, and frames that are all due
    /// at once cannot be on time: lateness and lag say nothing there and are not held against
    /// the run; a second request still is. What the path did not take, as the ledger saw it
    /// refuse, is not the emitter's lateness: verdicts look at it.
    pub fn check(
        &self,
        cell: &Cell,
        ledger: Option<&Ledger>,
        arrivals: &Arrivals,
    ) -> Option<Exclusion> {
        if let Some(page) = &arrivals.page
            && page.hidden
        {
            return Some(Exclusion::Page("the tab was hidden during the run".into()));
        }
        if let Some(page) = &arrivals.page
            && page.reconnects > 0
        {
            return Some(Exclusion::Page(format!(
                "EventSource reconnected {} times",
                page.reconnects
            )));
        }
        if let (Some(planned), Some(spoken)) = (cell.request.protocol(), spoken(arrivals))
            && !planned.is_spoken(spoken)
        {
            return Some(Exclusion::Client(format!(
                "{spoken} was negotiated where {} was planned",
                planned.name()
            )));
        }
        let Some(ledger) = ledger else {
            // A stream that broke off because its emitter is gone has none either, and says so.
            let failed = matches!(arrivals.end, End::Failed { .. });
            let ours = arrivals.frames().any(|(_, frame)| frame.seq.is_some());
            return (ours && !failed).then(|| {
                Exclusion::Ledger("frames came that this emitter has no record of".into())
            });
        };
        if ledger.attempts > self.attempts {
            return Some(Exclusion::Ledger(format!(
                "requested {} times: something on the way tried again",
                ledger.attempts
            )));
        }
        let unpaced = ledger.script.shortest_interval() == Some(Span::ZERO);
        if cell.request.slow.is_some() || unpaced {
            return None;
        }
        let tolerance = self.lateness_for(&ledger.script);
        if let Some(late) = ledger.own_lateness().filter(|late| *late > tolerance) {
            return Some(Exclusion::Ledger(format!(
                "the emitter was {late} late, tolerance {tolerance}"
            )));
        }
        let merged = ledger.merged_writes();
        if merged > self.merged_writes {
            return Some(Exclusion::Ledger(format!(
                "the emitter wrote {merged} frames together with the frame before them"
            )));
        }
        // A reader that stops on purpose is away from its socket, or lets it wait.
        if cell.request.pause.is_some() {
            return None;
        }
        self.client_lag(arrivals, tolerance)
    }

    /// Whether the reader itself was late, by so much at most.
    pub(crate) fn client_lag(&self, arrivals: &Arrivals, tolerance: Span) -> Option<Exclusion> {
        // What it lost came again when the sender had noticed: that time is nobody's but its own.
        if let Some(lost) = arrivals.datagrams_lost.filter(|lost| *lost > 0) {
            return Some(Exclusion::Client(format!(
                "{lost} datagrams found no room in the reader's socket and had to be sent again"
            )));
        }
        let tolerance = Span((tolerance.as_micros() as f64 * self.client_lag_share) as i64);
        let stamped = arrivals.deliveries.iter().filter_map(|d| Some(d.at - d.kernel?)).max();
        if let Some(lag) = stamped.filter(|lag| *lag > tolerance) {
            return Some(Exclusion::Client(format!(
                "the reader was {lag} behind the kernel, tolerance {tolerance}"
            )));
        }
        // The stamp is that of a read's last segment: an earlier one may have waited unseen
        // while the reader was away from its socket.
        let away = arrivals
            .deliveries
            .windows(2)
            .filter_map(|pair| Some(pair[1].entered? - pair[0].at))
            .max();
        away.filter(|away| *away > tolerance).map(|away| {
            Exclusion::Client(format!(
                "the reader was away from its socket for {away}, tolerance {tolerance}"
            ))
        })
    }

    /// Whether a run of the direct path is clean enough for its round to count.
    ///
    /// # Errors
    /// Why it is not, with the figures.
    pub fn direct_is_clean(&self, measurement: &Measurement) -> Result<(), String> {
        match &measurement.outcome {
            Outcome::Complete => {}
            // An answer that has no terminal event, all of which came: its end is the origin's.
            Outcome::Truncated if measurement.all_came() => {}
            other => return Err(format!("the direct path did not complete: {other:?}")),
        }
        if measurement.pace.is_none() {
            return match measurement.first_byte_hold {
                Some(hold) if hold > self.direct_hold_us => Err(format!(
                    "the direct path's first byte took {hold}, tolerance {}",
                    self.direct_hold_us
                )),
                _ => Ok(()),
            };
        }
        // Where the script writes frames together, the direct path may deliver them together.
        let mut writes = measurement.written.clone();
        writes.dedup();
        let per_write = measurement.written.len() as f64 / writes.len().max(1) as f64;
        let per_read = measurement.frames_per_read().unwrap_or_default();
        if per_read > self.direct_frames_per_read * per_write.max(1.0) {
            return Err(format!(
                "the direct path gave {} frames per read, tolerance {}",
                decimal(per_read, 2),
                decimal(self.direct_frames_per_read, 2)
            ));
        }
        let first = measurement.holds.first().map(|hold| hold.after);
        if let Some(hold) = first.filter(|hold| *hold > self.direct_hold_us) {
            return Err(format!(
                "the direct path held the first frame for {hold}, tolerance {}",
                self.direct_hold_us
            ));
        }
        let mut holds: Vec<Span> = measurement.holds.iter().map(|hold| hold.after).collect();
        crate::stats::sort(&mut holds);
        match crate::stats::nearest_rank(&holds, 0.9) {
            Some(hold) if hold > self.direct_hold_us => Err(format!(
                "the direct path held frames for {hold}, tolerance {}",
                self.direct_hold_us
            )),
            _ => Ok(()),
        }
    }
}
