//! What bursts by themselves look like: a segment's, a buffer's, a timer's.

use super::shape::{Release, Shape, scatter};
use super::{Thresholds, Verdict};
use crate::arrivals::Arrivals;
use crate::stats::median;
use crate::units::Span;

/// Cuts inside events at one size again and again: no origin that writes event by event makes
/// them, a full segment or a full buffer does.
pub(super) fn specific(
    shape: &Shape,
    arrivals: &Arrivals,
    thresholds: &Thresholds,
) -> Option<(Verdict, String)> {
    segments(shape, arrivals, thresholds).or_else(|| buffers(shape, arrivals, thresholds))
}

fn segments(
    shape: &Shape,
    arrivals: &Arrivals,
    thresholds: &Thresholds,
) -> Option<(Verdict, String)> {
    let segment = u64::from(arrivals.segment_bytes.filter(|bytes| *bytes > 0)?);
    let spaced = shape.spaced();
    // Segments of a sender that has more to send come close together; these wait to be filled.
    let full = |(wait, release): &&(Span, &Release)| {
        release.cut && release.bytes == Some(segment) && *wait > thresholds.live_hold
    };
    let filled: Vec<Span> = spaced.iter().filter(full).map(|(wait, _)| *wait).collect();
    if !is_pattern(filled.len(), spaced.len(), thresholds) {
        return None;
    }
    Some((
        Verdict::Corked,
        format!(
            "{} of {} bursts are one full segment of {segment} bytes, cut inside an event, {} apart: likely a sender that waits for full segments (MSG_MORE, TCP_CORK or Nagle), proxy or origin; a link as slow as that would look the same",
            filled.len(),
            spaced.len(),
            median(&filled).unwrap_or_default()
        ),
    ))
}

fn buffers(
    shape: &Shape,
    arrivals: &Arrivals,
    thresholds: &Thresholds,
) -> Option<(Verdict, String)> {
    // A compressed body's own sizes are not the buffer's.
    if arrivals.content_encoding.is_some() {
        return None;
    }
    let steps = shape.body_steps();
    let sizes: Vec<Span> = steps.iter().map(|(bytes, _)| Span(*bytes as i64)).collect();
    let size = median(&sizes)?.as_micros() as u64;
    let full = steps.iter().filter(|(bytes, release)| *bytes == size && release.cut).count();
    is_pattern(full, steps.len(), thresholds).then(|| {
        let because = format!(
            "{full} of {} bursts are exactly {size} bytes of the body, cut inside an event: likely a buffer that is passed on when it is full, a proxy's or the origin's own",
            steps.len()
        );
        (Verdict::BufferBursts, because)
    })
}

/// Whether enough bursts fit, and more than one.
fn is_pattern(fitting: usize, all: usize, thresholds: &Thresholds) -> bool {
    fitting >= 2 && fitting as f64 >= thresholds.pattern_share * all as f64
}

/// Whether most bursts come as far apart as the kernel's timer would have them.
pub(super) fn on_timer(shape: &Shape, thresholds: &Thresholds) -> bool {
    let spaced = shape.spaced();
    spaced.len() >= 2 && timed_share(&spaced, thresholds) >= thresholds.pattern_share
}

/// Share of the bursts that come as far apart as the kernel's timer and, before it starts, the
/// wait for the next event.
fn timed_share(spaced: &[(Span, &Release)], thresholds: &Thresholds) -> f64 {
    let fits = |(wait, release): &&(Span, &Release)| {
        let event = Span(wait.as_micros() / i64::from(release.events.max(1)));
        release.events >= 2 && *wait >= thresholds.cork_min && *wait <= thresholds.cork_max + event
    };
    spaced.iter().filter(fits).count() as f64 / spaced.len().max(1) as f64
}

/// Whole events that leave as soon as they fill a segment: on the direct way they come one by one,
/// so somebody between waits for the segment.
pub(super) fn filling(
    shape: &Shape,
    arrivals: &Arrivals,
    thresholds: &Thresholds,
) -> Option<(Verdict, String)> {
    let segment = u64::from(arrivals.segment_bytes.filter(|bytes| *bytes > 0)?);
    let spaced = shape.spaced();
    let fills = |(wait, release): &&(Span, &Release)| {
        release.events >= 2
            && *wait > thresholds.live_hold
            && release.bytes.is_some_and(|bytes| {
                bytes >= segment && bytes - bytes / u64::from(release.events) < segment
            })
    };
    let full = spaced.iter().filter(fills).count();
    is_pattern(full, spaced.len(), thresholds).then(|| {
        let what = format!(
            "{full} of {} bursts came as soon as a segment of {segment} bytes was full",
            spaced.len()
        );
        (Verdict::Corked, what)
    })
}

/// Whether a timer or a buffer makes the bursts: the one leaves their sizes to the origin's pace,
/// the other their times. Where both fit, neither is named.
pub(super) fn timer_or_buffer(
    shape: &Shape,
    arrivals: &Arrivals,
    thresholds: &Thresholds,
) -> Option<(Verdict, String)> {
    let spaced = shape.spaced();
    let waits: Vec<Span> = spaced.iter().map(|(wait, _)| *wait).collect();
    let sizes: Vec<Span> = spaced.iter().filter_map(|(_, r)| Some(Span(r.bytes? as i64))).collect();
    let (wait, size) = (median(&waits)?, median(&sizes)?.as_micros());
    // About a segment: a sender that waits for full ones, and runs late, looks like that too.
    let segment = i64::from(arrivals.segment_bytes.unwrap_or_default());
    let of_a_segment =
        size >= segment && (size - segment) as f64 <= thresholds.buffer_spread * segment as f64;
    let scatter = scatter(sizes)?;
    let timed = timed_share(&spaced, thresholds);
    if timed >= thresholds.pattern_share && scatter > 2.0 * thresholds.buffer_spread {
        let what =
            format!("bursts of different sizes come {wait} apart, as by the kernel's 200 ms timer");
        return Some((Verdict::Corked, what));
    }
    let untimed = timed <= 1.0 - thresholds.pattern_share;
    (untimed && !of_a_segment && scatter <= thresholds.buffer_spread).then(|| {
        let what =
            format!("bursts of about {size} bytes come at different times, as from a buffer");
        (Verdict::BufferBursts, what)
    })
}
