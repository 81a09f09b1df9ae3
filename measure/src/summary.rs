//! Pools the runs of a cell.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::arrivals::{PageState, Reader};
use crate::guards::Exclusion;
use crate::measurement::{Hold, Measurement, Outcome};
use crate::stats::{RatioSpread, Spread};
use crate::units::Span;
use crate::verdict::{self, Finding, PageEvidence, Thresholds, Verdict};

/// How the accepted runs of a cell came out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// With the terminal event and a token.
    pub complete: u32,
    /// Ended before the terminal event.
    pub truncated: u32,
    /// Errors.
    pub failed: u32,
    /// Ended well without a token.
    pub no_token: u32,
}

/// The figures of one cell. What does not apply is absent, never 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Accepted runs.
    pub runs: u32,
    /// Runs that a guard excluded, by guard.
    pub excluded: Excluded,
    /// The first reason of each guard.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded_because: Vec<String>,
    /// How the accepted runs came out.
    pub outcomes: Outcomes,
    /// Why no figure of this cell counts.
    pub void: Option<String>,
    /// Call to the first event with visible text.
    pub ttft_us: Option<Spread>,
    /// Call to established connection.
    pub connect_us: Option<Spread>,
    /// Call to the response's head.
    pub head_us: Option<Spread>,
    /// Call to the first byte of the body.
    pub first_byte_us: Option<Spread>,
    /// Call to the first event.
    pub first_event_us: Option<Spread>,
    /// Call to half of the bytes.
    pub half_bytes_us: Option<Spread>,
    /// Call to the emitter's last write.
    pub upstream_done_us: Option<Spread>,
    /// Call to the end.
    pub total_us: Option<Spread>,
    /// Between consecutive frames, pooled over the runs.
    pub gap_us: Option<Spread>,
    /// Reads of a run that completed frames, median over runs.
    pub reads: Option<u32>,
    /// Frames received by reads that completed at least one.
    pub frames_per_read: Option<RatioSpread>,
    /// The tap's own frames per read of the same streams, for a browser's cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_frames_per_read: Option<RatioSpread>,
    /// The protocol that was negotiated, in a browser's cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negotiated: Option<String>,
    /// Why the tap's side of the streams is missing, by the first that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire_unknown: Option<String>,
    /// Bytes of the response's head, median over runs (native readers).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_bytes: Option<u64>,
    /// How long the first frame was held (`k − e`, nothing taken off).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_hold_us: Option<Spread>,
    /// TCP segments with payload that came, median over runs (native readers on Linux).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segments_in: Option<u64>,
    /// Bytes that came, framing included, median over runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_in: Option<u64>,
    /// Processor time of the proxy's processes in a run, median over runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<Span>,
    /// Share of runs whose frames all came at once.
    pub single_delivery_share: Option<f64>,
    /// `k − e` less the direct path's median.
    pub path_hold_us: Option<Spread>,
    /// The direct path's median of `k − e` that was taken off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_floor_us: Option<Span>,
    /// Width of the interval `[k − e, k − e0]`, median: the path hold is uncertain by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path_uncertainty_us: Option<Span>,
    /// Tap's write to the reader's handler.
    pub browser_hold_us: Option<Spread>,
    /// Frames per delivery as a page saw them that was busy: the evidence for `page-busy`, never
    /// a figure of the path or of the browser.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_frames_per_delivery: Option<RatioSpread>,
    /// Call to the request's arrival at the tap (browser readers).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_us: Option<Spread>,
    /// Worker's handler to the page's (`m − b`).
    pub page_us: Option<Spread>,
    /// Handler to paint (`p − m`, or `p − b` where the page's own thread reads).
    pub paint_us: Option<Spread>,
    /// Tap's kernel stamp to its own write: shown so that it is never billed to the proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tap_cost_us: Option<Spread>,
    /// The tap's own part of it: from its read's return to its write's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tap_own_us: Option<Spread>,
    /// Largest temporary file that the proxy held open in any run, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temp_file_bytes: Option<u64>,
    /// How far the reader's clock may be off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_uncertainty_us: Option<Span>,
    /// How far a difference between a worker's clock and its page's may be off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_uncertainty_us: Option<Span>,
    /// What was found.
    pub verdict: Finding,
}

/// Excluded runs by guard, in the order of their names. There are four guards: a map's code would
/// be the largest piece of this module that the page has to download.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, u32>", into = "BTreeMap<String, u32>")]
pub struct Excluded(Vec<(String, u32)>);

impl Excluded {
    /// Whether no run was excluded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The guards that excluded any, each with how many.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &u32)> {
        self.0.iter().map(|(guard, count)| (guard, count))
    }

    /// How many runs each guard excluded.
    pub fn values(&self) -> impl Iterator<Item = &u32> {
        self.iter().map(|(_, count)| count)
    }

    /// How many runs a guard excluded; `None` for none.
    pub fn get(&self, guard: &str) -> Option<&u32> {
        self.iter().find(|(own, _)| *own == guard).map(|(_, count)| count)
    }

    /// Counts runs that a guard excluded; says how many there are now.
    pub fn add(&mut self, guard: &str, runs: u32) -> u32 {
        let place = match self.0.iter().position(|(own, _)| own.as_str() >= guard) {
            Some(place) if self.0[place].0 == guard => place,
            place => {
                let place = place.unwrap_or(self.0.len());
                self.0.insert(place, (guard.into(), 0));
                place
            }
        };
        self.0[place].1 = self.0[place].1.saturating_add(runs);
        self.0[place].1
    }
}

impl From<BTreeMap<String, u32>> for Excluded {
    fn from(counts: BTreeMap<String, u32>) -> Excluded {
        Excluded(counts.into_iter().collect())
    }
}

impl From<Excluded> for BTreeMap<String, u32> {
    fn from(excluded: Excluded) -> BTreeMap<String, u32> {
        excluded.0.into_iter().collect()
    }
}

/// What a browser's run has beside its stream.
#[derive(Clone, Debug)]
pub struct BrowserSide {
    /// Who read.
    pub reader: Reader,
    /// Whether a stream needs a connection of its own.
    pub one_stream_a_connection: bool,
    /// What the page noted of itself.
    pub page: PageState,
    /// The longest task with which the page's own figures count.
    pub longest_task: Span,
    /// Call to the request's arrival at the tap.
    pub left: Option<Span>,
    /// Frames per delivery of a page that was busy, where the page's own thread reads.
    pub busy_frames_per_delivery: Option<f64>,
    /// How far a difference between worker and page may be off; absent where one clock serves.
    pub page_uncertainty: Option<Span>,
}

/// One run of a cell, judged.
#[derive(Clone, Debug)]
pub struct JudgedRun {
    /// What the reader of the cell measured.
    pub measurement: Measurement,
    /// What the tap saw of the same stream, for a browser's run.
    pub wire: Option<Measurement>,
    /// Why it could not tell.
    pub wire_unknown: Option<String>,
    /// How long each frame took to a reader in a browser whose stream no tap could follow: path
    /// and browser in one, so that it shows what was live, and of nothing else whose it was.
    pub own_holds: Vec<Hold>,
    /// The protocol that the reader says it spoke; absent where it does not tell.
    pub protocol: Option<String>,
    /// Handler less the tap's write for each frame (`b − f`).
    pub browser_holds: Vec<Span>,
    /// The tap's write less the kernel's stamp for each delivery (`f − k`).
    pub tap_costs: Vec<Span>,
    /// The tap's write less its own read's return (`f − w`) for each delivery.
    pub tap_own: Vec<Span>,
    /// How far the reader's clock may be off.
    pub clock_uncertainty: Option<Span>,
    /// Largest temporary file that the proxy held open.
    pub temp_file_bytes: Option<u64>,
    /// Bytes of the response's head.
    pub head_bytes: Option<u64>,
    /// TCP segments with payload that came.
    pub segments_in: Option<u64>,
    /// Bytes that came, framing included.
    pub bytes_in: Option<u64>,
    /// Processor time of the proxy's processes.
    pub cpu_us: Option<Span>,
    /// Page less worker for each frame (`m − b`).
    pub page_holds: Vec<Span>,
    /// Paint less the handler that used the token, for each delivery painted.
    pub paint_costs: Vec<Span>,
    /// The browser's side, for the verdict; absent outside a browser.
    pub browser: Option<BrowserSide>,
    /// Why it does not count.
    pub exclusion: Option<Exclusion>,
}

impl JudgedRun {
    /// Where the path's holds are read: at the tap when there is one, else at the reader.
    pub fn path(&self) -> &Measurement {
        self.wire.as_ref().unwrap_or(&self.measurement)
    }

    /// The median hold of the path in this run.
    fn path_holds(&self) -> impl Iterator<Item = Span> {
        self.path().holds.iter().map(|hold| hold.after)
    }
}

/// The direct path's median `k − e` over accepted runs: what the path hold is counted from.
pub fn path_floor(direct: &[JudgedRun]) -> Option<Span> {
    Spread::of(accepted(direct).flat_map(JudgedRun::path_holds)).map(|spread| spread.median)
}

fn accepted(runs: &[JudgedRun]) -> impl Iterator<Item = &JudgedRun> + Clone {
    runs.iter().filter(|run| run.exclusion.is_none())
}

/// Pools judged runs. Milestones go over complete runs, gaps over all frames of them; truncated
/// and failed runs are counted, never averaged in.
pub fn summarise(runs: &[JudgedRun], floor: Option<Span>, thresholds: &Thresholds) -> Summary {
    let mut excluded = Excluded::default();
    let mut because = Vec::new();
    for exclusion in runs.iter().filter_map(|run| run.exclusion.as_ref()) {
        if excluded.add(exclusion.guard(), 1) == 1 {
            because.push(format!("{}: {}", exclusion.guard(), exclusion.why()));
        }
    }
    let mut outcomes = Outcomes::default();
    for run in accepted(runs) {
        match run.measurement.outcome {
            Outcome::Complete => outcomes.complete += 1,
            Outcome::Truncated => outcomes.truncated += 1,
            Outcome::NoToken => outcomes.no_token += 1,
            Outcome::Failed { .. } => outcomes.failed += 1,
        }
    }
    let complete =
        || accepted(runs).filter(|run| matches!(run.measurement.outcome, Outcome::Complete));
    let over = |of: fn(&Measurement) -> Option<Span>| {
        Spread::of(complete().filter_map(|run| of(&run.measurement)))
    };
    let count = accepted(runs).count() as u32;
    let void = (count == 0 && !runs.is_empty()).then(|| {
        let whose = if runs.len() == 1 { "the one run was" } else { "all runs were" };
        format!("{whose} excluded ({})", because.join("; "))
    });
    let findings: Vec<(Finding, Option<Span>)> =
        accepted(runs).map(|run| (run.finding(thresholds), run.measurement.ttft)).collect();
    let verdict = match &void {
        Some(reason) => Finding::new(Verdict::Void, reason.clone()),
        None => verdict::of_cell(&findings, thresholds),
    };
    let single = complete().filter(|run| run.measurement.single_delivery()).count();
    let complete_count = complete().count();
    Summary {
        runs: count,
        excluded,
        excluded_because: because,
        outcomes,
        void,
        ttft_us: over(|m| m.ttft),
        connect_us: over(|m| m.connect),
        head_us: over(|m| m.head),
        first_byte_us: over(|m| m.first_byte),
        first_event_us: over(|m| m.first_event),
        half_bytes_us: over(|m| m.half_bytes),
        upstream_done_us: over(|m| m.upstream_done),
        total_us: over(|m| Some(m.total)),
        gap_us: Spread::of(complete().flat_map(|run| run.measurement.gaps.iter().copied())),
        reads: middle(complete().map(|run| run.measurement.deliveries.into()))
            .map(|reads| reads as u32),
        frames_per_read: RatioSpread::of(
            complete().filter_map(|run| run.measurement.frames_per_read()),
        ),
        wire_frames_per_read: RatioSpread::of(
            complete().filter_map(|run| run.wire.as_ref()?.frames_per_read()),
        ),
        negotiated: runs
            .iter()
            .filter(|run| run.browser.is_some())
            .find_map(|run| run.protocol.clone()),
        wire_unknown: accepted(runs).find_map(|run| run.wire_unknown.clone()),
        head_bytes: middle(complete().filter_map(|run| run.head_bytes)),
        first_hold_us: Spread::of(
            complete().filter_map(|run| run.path().holds.first()).map(|hold| hold.after),
        ),
        segments_in: middle(complete().filter_map(|run| run.segments_in)),
        bytes_in: middle(complete().filter_map(|run| run.bytes_in)),
        cpu_us: middle(complete().filter_map(|run| Some(run.cpu_us?.as_micros() as u64)))
            .map(|us| Span(us as i64)),
        single_delivery_share: (complete_count > 0).then(|| single as f64 / complete_count as f64),
        path_hold_us: Spread::of(
            complete().flat_map(JudgedRun::path_holds).map(|hold| hold - floor.unwrap_or_default()),
        ),
        path_floor_us: floor,
        path_uncertainty_us: Spread::of(
            complete().flat_map(|run| &run.path().holds).map(|hold| hold.before - hold.after),
        )
        .map(|spread| spread.median),
        browser_hold_us: Spread::of(complete().flat_map(|run| run.browser_holds.iter().copied())),
        busy_frames_per_delivery: RatioSpread::of(
            complete().filter_map(|run| run.browser.as_ref()?.busy_frames_per_delivery),
        ),
        left_us: Spread::of(complete().filter_map(|run| run.browser.as_ref()?.left)),
        page_us: Spread::of(complete().flat_map(|run| run.page_holds.iter().copied())),
        paint_us: Spread::of(complete().flat_map(|run| run.paint_costs.iter().copied())),
        tap_cost_us: Spread::of(complete().flat_map(|run| run.tap_costs.iter().copied())),
        tap_own_us: Spread::of(complete().flat_map(|run| run.tap_own.iter().copied())),
        temp_file_bytes: complete().filter_map(|run| run.temp_file_bytes).max(),
        clock_uncertainty_us: complete().filter_map(|run| run.clock_uncertainty).max(),
        page_uncertainty_us: complete()
            .filter_map(|run| run.browser.as_ref()?.page_uncertainty)
            .max(),
        verdict,
    }
}

/// The middle one of some figures.
fn middle(figures: impl Iterator<Item = u64>) -> Option<u64> {
    let mut sorted: Vec<Span> = figures.map(|figure| Span(figure as i64)).collect();
    crate::stats::sort(&mut sorted);
    crate::stats::nearest_rank(&sorted, 0.5).map(|figure| figure.as_micros() as u64)
}

impl JudgedRun {
    /// What the run shows: the path first, then browser and page.
    pub(crate) fn finding(&self, thresholds: &Thresholds) -> Finding {
        let path = match self.own_holds.as_slice() {
            [] => verdict::of_run(self.path_evidence(), thresholds),
            own => verdict::without_wire(&self.measurement, own, thresholds),
        };
        let Some(side) = &self.browser else { return path };
        let evidence = PageEvidence {
            reader: side.reader,
            one_stream_a_connection: side.one_stream_a_connection,
            page: &side.page,
            longest_task: side.longest_task,
            frames_per_delivery: side
                .busy_frames_per_delivery
                .or_else(|| self.measurement.frames_per_read()),
            left: side.left,
            browser_holds: &self.browser_holds,
            page_holds: &self.page_holds,
            uncertainty: self.clock_uncertainty.unwrap_or_default(),
            page_uncertainty: side.page_uncertainty.unwrap_or_default(),
        };
        verdict::of_page(path, &evidence, thresholds)
    }

    /// The evidence that names who held it. A browser's failed or truncated run is judged by
    /// what the browser saw; a complete one by the wire, since bursts there belong to the path.
    /// So does a content type that was changed there: a browser only says that it failed.
    fn path_evidence(&self) -> &Measurement {
        let changed = self.wire.as_ref().is_some_and(|wire| wire.type_changed.is_some());
        match self.measurement.outcome {
            Outcome::Failed { .. } if changed => self.path(),
            Outcome::Complete => self.path(),
            _ => &self.measurement,
        }
    }
}
