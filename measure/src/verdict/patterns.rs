//! The patterns of waiting that the origin's own times give away.

use super::{Finding, Thresholds, Verdict};
use crate::Stamp;
use crate::cell::ETHERNET_MSS;
use crate::measurement::{Burst, Measurement};
use crate::stats::{self, median, nearest_rank};
use crate::units::{Span, decimal};

pub(super) fn batched_at_origin(
    measurement: &Measurement,
    high: Span,
    thresholds: &Thresholds,
) -> Option<Finding> {
    let mut writes = measurement.written.clone();
    writes.dedup();
    let per_write = measurement.written.len() as f64 / writes.len().max(1) as f64;
    if per_write < thresholds.origin_frames_per_write || high > thresholds.live_hold {
        return None;
    }
    Some(Finding::new(
        Verdict::BatchedAtOrigin,
        format!(
            "the origin wrote {} frames at a time, and the path passed them on within {high}",
            decimal(per_write, 1)
        ),
    ))
}

pub(super) fn one_behind(measurement: &Measurement, thresholds: &Thresholds) -> Option<Finding> {
    let mut waiting = 0;
    let mut behind = 0;
    let mut waits = Vec::new();
    for hold in measurement.holds.iter().filter(|hold| hold.after > thresholds.live_hold) {
        let index = hold.seq as usize;
        // The last frame has none after it: the stream's end releases it.
        let Some((own, next)) =
            measurement.written.get(index).zip(measurement.written.get(index + 1))
        else {
            continue;
        };
        waiting += 1;
        let after_next = *own + hold.after - *next;
        let interval = (*next - *own).as_micros() as f64;
        let window =
            Span((interval * thresholds.behind_share) as i64).min(thresholds.released_hold);
        // Its arrival may be stamped a little before the next write returned.
        if after_next.abs() <= window {
            behind += 1;
            waits.push(hold.after);
        }
    }
    // The stream's end releases the last frame together with the one that waits for it.
    let before_end = measurement.bursts.split_last().map_or(&[][..], |(_, bursts)| bursts);
    let frames: u32 = before_end.iter().map(|burst| burst.frames).sum();
    let single = !before_end.is_empty()
        && f64::from(frames) <= thresholds.live_frames_per_read * before_end.len() as f64;
    let most = f64::from(behind) >= thresholds.pattern_share * f64::from(measurement.frames);
    (single && behind == waiting && most).then(|| {
        Finding::new(
            Verdict::OneBehind,
            format!(
                "{behind} of {} frames came when the next one was written, {} after their own write",
                measurement.frames,
                median(&waits).unwrap_or_default()
            ),
        )
    })
}

pub(super) fn buffer_bursts(measurement: &Measurement, thresholds: &Thresholds) -> Option<Finding> {
    // The stream's end releases whatever is there: the last burst's size says nothing.
    let (_, bursts) = measurement.bursts.split_last()?;
    // What came as late as the kernel's timer runs out, and not with a write, is no sign of a
    // buffer: on a busy machine a timer's burst ends beside some write, too.
    let released = |burst: &&Burst| {
        burst.frames >= 2
            && !timed(measurement, burst, thresholds)
            && burst.first_hold.is_some_and(|hold| hold > thresholds.live_hold)
            && (burst.last_hold.is_some_and(|hold| hold <= thresholds.released_hold)
                || comes_with_next(measurement, burst, thresholds))
    };
    let full: Vec<&Burst> = bursts.iter().filter(released).collect();
    if full.len() < 2 || !carry_most(&full, bursts, thresholds) {
        return None;
    }
    let mut sizes: Vec<Span> =
        full.iter().filter_map(|burst| Some(Span(burst.bytes? as i64))).collect();
    stats::sort(&mut sizes);
    let size = nearest_rank(&sizes, 0.5)?.as_micros();
    // A buffer's bursts differ by less than a frame; the first has heads in it besides.
    let frames: u32 = full.iter().map(|burst| burst.frames).sum();
    let bytes: u64 = full.iter().filter_map(|burst| burst.bytes).sum();
    let frame = bytes as f64 / f64::from(frames.max(1));
    let spread = thresholds.buffer_spread * size as f64;
    let first = bursts.first();
    let near = full
        .iter()
        .filter(|burst| {
            let most = if first.is_some_and(|first| first == **burst) { spread } else { frame };
            let apart = burst.bytes.map(|bytes| (bytes as i64 - size).abs() as f64);
            apart.is_some_and(|apart| apart <= most.min(spread))
        })
        .count();
    // A sender that waits for full segments gives bursts of a little more than one, the more so
    // the later it gets to run: they are no sign of a buffer of that size.
    let segment = i64::from(measurement.segment_bytes.unwrap_or_default());
    if size >= segment && (size - segment) as f64 <= thresholds.buffer_spread * segment as f64 {
        return None;
    }
    // The hop that waits may have other segments than the reader: Ethernet's are the usual ones.
    let ethernet = i64::from(ETHERNET_MSS);
    if size >= ethernet && ((size - ethernet) as f64) < frame {
        return None;
    }
    if (near as f64) < thresholds.pattern_share * sizes.len() as f64 {
        return None;
    }
    let per_read = measurement.frames_per_read()?;
    Some(Finding::new(
        Verdict::BufferBursts,
        format!(
            "{} frames per read, {near} of {} bursts of about {size} bytes, each released by the write that filled it: a buffer that is passed on when it is full",
            decimal(per_read, 2),
            bursts.len()
        ),
    ))
}

pub(super) fn held(measurement: &Measurement, thresholds: &Thresholds) -> Option<Finding> {
    let last = measurement.bursts.last()?;
    let first = measurement.bursts.first()?;
    let waited = first.first_hold.filter(|hold| *hold > thresholds.live_hold)?;
    let in_last = f64::from(last.frames) / f64::from(measurement.frames.max(1));
    let nothing_before_the_end =
        measurement.frames > 1 && measurement.last_written.is_some_and(|end| first.at >= end);
    if !nothing_before_the_end && (in_last < thresholds.held_share || measurement.frames < 2) {
        return None;
    }
    Some(Finding::new(
        Verdict::Held,
        format!(
            "{} of {} frames came in the last delivery; the first one waited {waited}",
            last.frames, measurement.frames
        ),
    ))
}

pub(super) fn corked(measurement: &Measurement, thresholds: &Thresholds) -> Option<Finding> {
    let waits = |burst: &Burst| burst.first_hold.is_some_and(|hold| hold > thresholds.live_hold);
    let segment = measurement.segment_bytes.map(u64::from).filter(|bytes| *bytes > 0);
    // A burst that its last frame filled up to a segment, and that left with it: without that
    // frame it was under one.
    let fills = |burst: &Burst| {
        burst.frames >= 2
            && burst.last_hold.is_some_and(|hold| hold <= thresholds.released_hold)
            && burst.bytes.zip(segment).is_some_and(|(bytes, segment)| {
                bytes >= segment && bytes - bytes / u64::from(burst.frames) < segment
            })
    };
    let timed = |burst: &Burst| timed(measurement, burst, thresholds);
    // The stream's end releases whatever is there: the last burst fits no pattern and breaks none.
    let (_, bursts) = measurement.bursts.split_last()?;
    let waiting: Vec<&Burst> = bursts.iter().filter(|burst| waits(burst)).collect();
    let fitting: Vec<&Burst> =
        waiting.iter().copied().filter(|burst| timed(burst) || fills(burst)).collect();
    if fitting.is_empty() || !carry_most(&fitting, bursts, thresholds) {
        return None;
    }
    let by_timer = fitting.iter().filter(|burst| timed(burst)).count();
    let by_segment = fitting.iter().filter(|burst| fills(burst)).count();
    let per_read = measurement.frames_per_read()?;
    let first_holds: Vec<Span> = waiting.iter().filter_map(|burst| burst.first_hold).collect();
    let wait = median(&first_holds)?;
    let cause = if by_segment > by_timer {
        format!(
            "{by_segment} of {} bursts came as soon as a segment of {} bytes was full",
            waiting.len(),
            segment?
        )
    } else {
        format!(
            "{by_timer} of {} bursts came when the kernel's 200 ms timer for a part-filled segment ran out",
            waiting.len()
        )
    };
    Some(Finding::new(
        Verdict::Corked,
        format!(
            "{} frames per read, the first of each burst held {wait}: {cause}",
            decimal(per_read, 2)
        ),
    ))
}

/// Whether the kernel's timer for a part-filled segment released a burst, and no write did.
fn timed(measurement: &Measurement, burst: &Burst, thresholds: &Thresholds) -> bool {
    // It takes along all that had been written by then: a constant latency of the timer's length
    // does not.
    let takes_all = next_write(measurement, burst)
        .is_none_or(|written| burst.at <= written + thresholds.timer_last_hold);
    let in_time = |hold: Span| hold >= thresholds.cork_min && hold <= thresholds.cork_max;
    takes_all
        && burst.first_hold.is_some_and(in_time)
        && burst.last_hold.is_some_and(|hold| hold >= thresholds.timer_last_hold)
        && !comes_with_next(measurement, burst, thresholds)
}

/// Whether bursts of one pattern carry most of the frames: a stall now and then is none.
fn carry_most(fitting: &[&Burst], all: &[Burst], thresholds: &Thresholds) -> bool {
    let carried: u32 = fitting.iter().map(|burst| burst.frames).sum();
    let frames: u32 = all.iter().map(|burst| burst.frames).sum();
    f64::from(carried) >= thresholds.pattern_share * f64::from(frames)
}

/// When the frame after a burst's last one was written.
fn next_write(measurement: &Measurement, burst: &Burst) -> Option<Stamp> {
    measurement.written.get(burst.last_seq? as usize + 1).copied()
}

/// Whether the write of the next frame released the burst: that frame's beginning filled a buffer,
/// its end is still to come.
fn comes_with_next(measurement: &Measurement, burst: &Burst, thresholds: &Thresholds) -> bool {
    next_write(measurement, burst).is_some_and(|written| {
        let after = burst.at - written;
        // Its arrival may be stamped a little before that write returned.
        after > -thresholds.stamp_early && after <= thresholds.timer_last_hold
    })
}
