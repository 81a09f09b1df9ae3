//! Verdicts of streams whose cause is known by construction.

use super::*;
use crate::fixtures::{arrivals, corked, held, ledger, live};
use crate::script::Script;

fn finding(arrivals: &crate::Arrivals, ledger: &crate::Ledger) -> Finding {
    of_run(&Measurement::join(Some(ledger), arrivals), &Thresholds::standard())
}

#[test]
fn each_frame_at_once_is_live() {
    let ledger = ledger(&Script::headline());
    let finding = finding(&live(&ledger), &ledger);
    assert_eq!(finding.name, Verdict::Live, "{}", finding.because);
    assert_eq!(
        finding.because,
        "1.00 frames per read, held 0.1 ms on the path (90% within 0.1 ms)"
    );
}

#[test]
fn the_noise_floor_of_a_clean_path_is_live() {
    let ledger = ledger(&Script::headline());
    // Four reads that took two frames each: 1.11 frames a read would be the fifth.
    let noisy = arrivals(&ledger, |seq| if seq % 12 == 5 { 50_150 } else { 150 });
    let finding = finding(&noisy, &ledger);
    assert_eq!(finding.name, Verdict::Live, "{}", finding.because);
}

#[test]
fn everything_at_the_end_is_held() {
    let ledger = ledger(&Script::headline());
    let finding = finding(&held(&ledger), &ledger);
    assert_eq!(finding.name, Verdict::Held, "{}", finding.because);
    assert!(finding.because.starts_with("41 of 41 frames"), "{}", finding.because);
}

#[test]
fn nothing_before_the_streams_end_is_held_even_in_several_reads() {
    let ledger = ledger(&Script::paced(400, Span::millis(5), 1100).unwrap());
    let end = ledger.done.unwrap();
    let slow = arrivals(&ledger, |seq| {
        (end - ledger.entries[seq as usize].after).as_micros() + i64::from(seq / 50) * 100
    });
    assert_eq!(finding(&slow, &ledger).name, Verdict::Held);
}

#[test]
fn the_kernels_timer_is_corked_at_every_published_pace() {
    for (frames, interval, timer) in [(400, 5, 206), (41, 50, 204), (41, 50, 212), (41, 200, 203)] {
        let ledger = ledger(&Script::paced(frames, Span::millis(interval), 60).unwrap());
        let finding = finding(&corked(&ledger, Span::millis(timer)), &ledger);
        assert_eq!(finding.name, Verdict::Corked, "{interval} ms: {}", finding.because);
    }
}

#[test]
fn whole_segments_are_corked() {
    let ledger = ledger(&Script::paced(41, Span::millis(50), 700).unwrap());
    // Three frames fill two segments: the first waits 100 ms, the third goes at once.
    let mut stream = arrivals(&ledger, |seq| i64::from(2 - seq.min(39) % 3) * 50_000 + 150);
    for delivery in &mut stream.deliveries {
        delivery.bytes = Some(2 * 1448);
    }
    let finding = finding(&stream, &ledger);
    assert_eq!(finding.name, Verdict::Corked, "{}", finding.because);
    assert!(finding.because.contains("whole segments of 1448 bytes"), "{}", finding.because);
}

#[test]
fn bursts_of_another_kind_are_not_called_corked() {
    let ledger = ledger(&Script::headline());
    // Five frames collected and released by the fifth frame's own write: 200 ms, but no timer.
    let collected = arrivals(&ledger, |seq| i64::from(4 - seq.min(39) % 5) * 50_000 + 150);
    assert_eq!(finding(&collected, &ledger).name, Verdict::CannotTell);
    // Half-second bursts.
    let ten = arrivals(&ledger, |seq| i64::from(9 - seq.min(39) % 10) * 50_000 + 150);
    assert_eq!(finding(&ten, &ledger).name, Verdict::CannotTell);
}

#[test]
fn a_cut_stream_is_truncated_whatever_the_framing_said() {
    let ledger = ledger(&Script::headline());
    for end in [crate::End::Closed, crate::End::Cut] {
        let mut stream = live(&ledger);
        stream.deliveries.truncate(12);
        stream.end = end;
        let finding = finding(&stream, &ledger);
        assert_eq!(finding.name, Verdict::Truncated);
        assert!(finding.because.contains("12 frames of 41"), "{}", finding.because);
    }
}

#[test]
fn no_token_is_not_a_ttft_of_zero() {
    let ledger = ledger(&Script::headline());
    let mut stream = live(&ledger);
    stream.deliveries.drain(..40);
    let measured = Measurement::join(Some(&ledger), &stream);
    assert_eq!(measured.ttft, None);
    assert_eq!(of_run(&measured, &Thresholds::standard()).name, Verdict::NoToken);
}

#[test]
fn an_error_status_failed() {
    let ledger = ledger(&Script::headline());
    let mut stream = live(&ledger);
    stream.status = Some(502);
    let finding = finding(&stream, &ledger);
    assert_eq!(finding.name, Verdict::Failed);
    assert_eq!(finding.because, "the endpoint answered 502");
}

#[test]
fn without_a_ledger_nothing_is_claimed() {
    let ledger = ledger(&Script::headline());
    let measured = Measurement::join(None, &held(&ledger));
    assert_eq!(of_run(&measured, &Thresholds::standard()).name, Verdict::CannotTell);
}

#[test]
fn runs_that_disagree_decide_nothing() {
    let run = |name| (Finding::new(name, "so"), Some(Span(1)));
    let thresholds = Thresholds::standard();
    let split = [run(Verdict::Live), run(Verdict::Corked)];
    let finding = of_cell(&split, &thresholds);
    assert_eq!(finding.name, Verdict::CannotTell);
    assert_eq!(finding.because, "the 2 runs disagree: 1 live, 1 corked");
    let most = [run(Verdict::Live), run(Verdict::Live), run(Verdict::CannotTell)];
    assert_eq!(of_cell(&most, &thresholds).name, Verdict::Live);
    assert_eq!(of_cell(&[], &thresholds).name, Verdict::CannotTell);
}
