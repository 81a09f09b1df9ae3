//! The model of a corked path: what leaves when every chunk but the last is sent with `MSG_MORE`.
//!
//! Linux keeps a `MSG_MORE` tail until a full segment is there or about 200 ms have passed; then
//! all that waits goes (seen with a bare socket: 706-byte writes each 50 ms come three at a time,
//! 2,118 bytes, not 1,448). The model plays a script against both rules and predicts what a reader sees; the preset
//! `haproxy-trigger` holds the prediction against what came.

use crate::script::{Body, Script};
use crate::units::Span;

/// How long the kernel keeps a part-filled segment back: `TCP_CORK`'s documented ceiling.
pub const CORK: Span = Span::millis(200);
/// Timer wheel and wake-ups put the measured flush some milliseconds later (200–213 ms).
const TIMER_SLACK: Span = Span::millis(5);
/// A prediction holds when TTFT is within this, or within a tenth of it, of the measured one.
const TTFT_TOLERANCE: Span = Span::millis(25);
/// A prediction holds when frames per read are within this share: one burst more or less at the
/// ends of a short stream makes that much.
const PER_READ_TOLERANCE: f64 = 0.25;

/// What the model says a reader will see.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Hold of the first frame.
    pub first_hold: Span,
    /// Frames by deliveries that complete at least one.
    pub frames_per_read: f64,
    /// Deliveries that a full segment released.
    pub by_segment: u32,
    /// Deliveries that the timer released.
    pub by_timer: u32,
}

impl Prediction {
    /// Whether what was measured agrees with it.
    pub fn holds(&self, first_hold: Span, frames_per_read: f64) -> bool {
        let span = (first_hold - self.first_hold).abs();
        let span_limit = TTFT_TOLERANCE.max(Span(self.first_hold.as_micros() / 10));
        let ratio = (frames_per_read / self.frames_per_read - 1.0).abs();
        span <= span_limit && ratio <= PER_READ_TOLERANCE
    }
}

/// Bytes that chunked framing puts round a chunk: its size in hexadecimal and two line ends.
pub fn chunk_bytes(frame: u32) -> u64 {
    let digits = format!("{frame:x}").len() as u64;
    u64::from(frame) + digits + 4
}

/// Plays a paced script through a cork with segments of `segment` payload bytes. The response's
/// head waits with the first frame. `None` for a script that is not paced.
pub fn predict(script: &Script, segment: u64, head_bytes: u64) -> Option<Prediction> {
    let Body::Paced { frames, interval_us, frame_bytes } = script.body else {
        return None;
    };
    let chunk = chunk_bytes(frame_bytes);
    let last = frames - 1;
    let (mut waiting, mut sent, mut total) = (head_bytes, 0_u64, head_bytes);
    let mut timer: Option<Span> = None;
    let mut complete = 0;
    let mut prediction =
        Prediction { first_hold: Span::ZERO, frames_per_read: 0.0, by_segment: 0, by_timer: 0 };
    let mut deliveries = 0;
    let mut deliver = |at: Span, sent: u64, prediction: &mut Prediction| {
        // A frame is complete when its data is there; the chunk's own line end may come later.
        let now = (sent + 2).saturating_sub(head_bytes) / chunk;
        if now > complete {
            if complete == 0 {
                prediction.first_hold = at;
            }
            complete = now;
            deliveries += 1;
            return true;
        }
        false
    };
    for index in 0..frames {
        let now = Span(interval_us.as_micros() * i64::from(index));
        if let Some(rings) = timer.filter(|rings| *rings <= now) {
            sent += waiting;
            waiting = 0;
            timer = None;
            prediction.by_timer += u32::from(deliver(rings, sent, &mut prediction));
        }
        waiting += chunk;
        total += chunk;
        if index == last {
            break;
        }
        if waiting >= segment {
            // The full segment takes what is behind it along.
            sent += waiting;
            waiting = 0;
            timer = None;
            prediction.by_segment += u32::from(deliver(now, sent, &mut prediction));
        }
        if waiting > 0 && timer.is_none() {
            timer = Some(now + CORK + TIMER_SLACK);
        }
    }
    let end = Span(interval_us.as_micros() * i64::from(last));
    deliver(end, total, &mut prediction);
    prediction.frames_per_read = f64::from(frames) / f64::from(deliveries.max(1));
    Some(prediction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(frames: u32, interval_ms: i64, bytes: u32) -> Prediction {
        let script = Script::paced(frames, Span::millis(interval_ms), bytes).unwrap();
        predict(&script, 1448, 220).unwrap()
    }

    /// Published and measured through a real HAProxy: size, interval, TTFT, frames per read.
    #[test]
    fn the_model_gives_what_was_measured_through_a_real_cork() {
        for (bytes, interval, ttft, per_read) in [
            (60, 5, 101, 20.5),
            (60, 50, 205, 4.56),
            (60, 200, 203, 1.95),
            (400, 50, 152, 3.57),
            (700, 50, 53, 2.93),
            (1_100, 50, 51, 1.95),
            (1_500, 50, 1, 1.0),
        ] {
            let predicted = of(41, interval, bytes);
            assert!(
                predicted.holds(Span::millis(ttft), per_read),
                "{bytes} B each {interval} ms: {predicted:?}, measured {ttft} ms and {per_read}"
            );
        }
    }

    #[test]
    fn a_large_segment_leaves_only_the_timer() {
        let script = Script::paced(41, Span::millis(50), 1_100).unwrap();
        let predicted = predict(&script, 65_483, 220).unwrap();
        assert_eq!(predicted.by_segment, 0);
        assert!(predicted.holds(Span::millis(206), 4.56), "{predicted:?}");
    }

    #[test]
    fn a_live_path_does_not_fit() {
        assert!(!of(41, 50, 60).holds(Span::millis(1), 1.0));
        assert_eq!(predict(&Script::named("halves").unwrap(), 1448, 0), None);
    }
}
