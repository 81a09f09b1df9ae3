//! What arrivals alone may and may not name.

use super::*;
use crate::arrivals::{Delivery, Reader};
use crate::fixtures::{RUN, START};
use crate::frames::FrameReader;
use crate::script::{Header, Script};
use crate::units::Stamp;

/// A stream whose bytes come in pieces: when, µs after the call, and up to which body offset.
fn cut(script: &Script, pieces: &[(i64, u64)]) -> Arrivals {
    let bytes: Vec<u8> = script.player(RUN).flat_map(|(_, bytes)| bytes).collect();
    let mut reader = FrameReader::new(RUN);
    let mut arrivals = Arrivals::begin(RUN, Reader::Recv, Stamp(START));
    arrivals.head = Some(Stamp(START + 900));
    arrivals.status = Some(200);
    arrivals.content_type = Some(EVENT_STREAM.into());
    arrivals.segment_bytes = Some(1448);
    let mut from = 0;
    for (at, to) in pieces {
        let to = (*to).min(bytes.len() as u64);
        let part = &bytes[from as usize..to as usize];
        arrivals.deliveries.push(Delivery {
            bytes: Some(part.len() as u64),
            body_bytes: Some(part.len() as u64),
            frames: reader.feed(part),
            ..Delivery::at(Stamp(START + at))
        });
        from = to;
    }
    arrivals.tail_bytes = reader.finish();
    arrivals.end = End::Closed;
    arrivals.ended = arrivals.deliveries.last().map_or(arrivals.call, |delivery| delivery.at);
    arrivals
}

/// Whole frames, `group` at a time, each released when its last one is written.
fn grouped(script: &Script, group: u32) -> Arrivals {
    let ends = script.frame_ends();
    let last = ends.len() as u32 - 1;
    let pieces: Vec<(i64, u64)> = (0..=last)
        .filter(|seq| seq % group == group - 1 || *seq == last)
        .map(|seq| (script.due(seq as usize).unwrap().0 + 1_000, ends[seq as usize]))
        .collect();
    cut(script, &pieces)
}

/// A timer of 204 ms that takes along what was written by then.
fn on_a_timer(script: &Script, dues: &[i64]) -> Arrivals {
    let ends = script.frame_ends();
    let mut pieces = Vec::new();
    let mut index = 0;
    while index < dues.len() {
        let leaves = dues[index] + 204_000;
        while index < dues.len() && dues[index] <= leaves {
            index += 1;
        }
        let at = if index == dues.len() { dues[index - 1] } else { leaves };
        pieces.push((at + 1_000, ends[index - 1]));
    }
    cut(script, &pieces)
}

fn dues(script: &Script) -> Vec<i64> {
    (0..script.frame_count()).map(|seq| script.due(seq as usize).unwrap().0).collect()
}

fn seen(arrivals: &Arrivals, origin: Origin<'_>) -> Sighting {
    of_arrivals(arrivals, origin, &Thresholds::standard())
}

fn named(arrivals: &Arrivals, origin: Origin<'_>) -> (Verdict, Option<Sure>) {
    let found = seen(arrivals, origin).finding;
    println!("{}: {}", found.name.name(), found.because);
    (found.name, found.sure)
}

const LIKELY: Option<Sure> = Some(Sure::Likely);
const CERTAIN: Option<Sure> = Some(Sure::Certain);

#[test]
fn one_by_one_is_likely_live() {
    let script = Script::headline();
    let stream = grouped(&script, 1);
    assert_eq!(named(&stream, Origin::Unknown), (Verdict::Live, LIKELY));
    assert_eq!(
        seen(&stream, Origin::Unknown).finding.because,
        "40 events came 1.00 at a time over 2000 ms, the first 1.0 ms after the call: likely live; a delay that all events share, or by one event, does not show here"
    );
    assert_eq!(named(&stream, Origin::Script(&script)), (Verdict::Live, LIKELY));
    assert_eq!(named(&stream, Origin::Direct(&stream)), (Verdict::Live, LIKELY));
}

#[test]
fn a_last_token_and_its_terminal_event_in_one_write_are_still_live() {
    let script = Script::named("cases").unwrap();
    let ends = script.frame_ends();
    let pieces: Vec<(i64, u64)> = (0..7)
        .map(|seq| (100_000 * seq + 1_000, ends[if seq == 6 { 7 } else { seq as usize }]))
        .collect();
    assert_eq!(named(&cut(&script, &pieces), Origin::Unknown), (Verdict::Live, LIKELY));
}

#[test]
fn bursts_alone_are_never_blamed() {
    let script = Script::headline();
    let cases = [
        (grouped(&script, 41), Verdict::Held),
        (grouped(&script, 5), Verdict::Corked),
        (grouped(&script, 10), Verdict::BufferBursts),
        (grouped(&script, 2), Verdict::BufferBursts),
        (on_a_timer(&script, &dues(&script)), Verdict::Corked),
    ];
    for (stream, candidate) in cases {
        let found = seen(&stream, Origin::Unknown);
        assert_eq!(found.finding.name, Verdict::CannotTell, "{}", found.finding.because);
        assert_eq!(found.candidates, [candidate, Verdict::BatchedAtOrigin]);
        assert!(found.finding.because.contains(PATH_OR_ORIGIN), "{}", found.finding.because);
    }
}

#[test]
fn the_scripts_pace_gives_every_name() {
    let script = Script::headline();
    for (group, name) in [(41, Verdict::Held), (10, Verdict::BufferBursts)] {
        let stream = grouped(&script, group);
        assert_eq!(named(&stream, Origin::Script(&script)), (name, LIKELY));
    }
    // At 90 ms the timer fires far from any write; at 50 ms shortly after the last event that it
    // takes along, and at 70 ms shortly before the next one: a buffer on a busy machine may look
    // like that.
    let paces = [(90, Verdict::Corked), (50, Verdict::CannotTell), (70, Verdict::CannotTell)];
    for (interval, name) in paces {
        let script = Script::paced(41, Span::millis(interval), 60).unwrap();
        let stream = on_a_timer(&script, &dues(&script));
        assert_eq!(named(&stream, Origin::Script(&script)).0, name, "{interval} ms");
    }
    let ends = script.frame_ends();
    let behind: Vec<(i64, u64)> = (0..41)
        .map(|seq: u32| (script.due((seq + 1).min(40) as usize).unwrap().0 + 1_000, seq))
        .map(|(at, seq)| (at + i64::from(seq == 40) * 300, ends[seq as usize]))
        .collect();
    let behind = cut(&script, &behind);
    assert_eq!(named(&behind, Origin::Script(&script)), (Verdict::OneBehind, LIKELY));
    let direct = grouped(&script, 1);
    assert_eq!(named(&behind, Origin::Direct(&direct)), (Verdict::OneBehind, LIKELY));
    // Without either, a frame that waits for the next one looks like one that does not.
    assert_eq!(named(&behind, Origin::Unknown), (Verdict::Live, LIKELY));
    // A path that only is that far away is not one behind.
    let far: Vec<(i64, u64)> = (0..41_u32)
        .map(|seq| (script.due(seq as usize).unwrap().0 + 51_000, ends[seq as usize]))
        .collect();
    assert_eq!(named(&cut(&script, &far), Origin::Direct(&direct)), (Verdict::Live, LIKELY));
}

#[test]
fn a_buffer_as_slow_as_the_timer_is_left_open_without_the_origins_times() {
    // Five frames 50 ms apart, on a machine that is late by some milliseconds.
    let script = Script::headline();
    let mut stream = grouped(&script, 5);
    for (index, delivery) in stream.deliveries.iter_mut().enumerate() {
        delivery.at = delivery.at + Span::millis([3, 9, 0, 6][index % 4]);
    }
    let found = seen(&stream, Origin::Script(&script));
    assert_eq!(found.finding.name, Verdict::CannotTell, "{}", found.finding.because);
}

#[test]
fn at_the_origin_itself_no_hop_is_blamed() {
    let script = Script::headline();
    let origin = Origin::Own(&script);
    for group in [10, 41] {
        let found = seen(&grouped(&script, group), origin).finding;
        assert_eq!((found.name, found.sure), (Verdict::BatchedAtOrigin, LIKELY));
        assert!(found.because.starts_with("read at the origin itself"), "{}", found.because);
    }
    let plain = Arrivals { content_type: Some("text/plain".into()), ..grouped(&script, 1) };
    assert_eq!(named(&plain, origin), (Verdict::Live, LIKELY));
}

#[test]
fn an_event_whose_end_comes_with_the_next_one_is_one_behind() {
    let script = Script::headline();
    let ends = script.frame_ends();
    let pieces: Vec<(i64, u64)> = (0..41_u32)
        .map(|seq| {
            let keeps = if seq < 40 { 1 } else { 0 };
            (script.due(seq as usize).unwrap().0 + 1_000, ends[seq as usize] - keeps)
        })
        .collect();
    let stream = cut(&script, &pieces);
    assert_eq!(named(&stream, Origin::Unknown), (Verdict::OneBehind, LIKELY));
    assert!(seen(&stream, Origin::Unknown).finding.because.contains("50.0 ms after their own"));
}

#[test]
fn a_buffers_size_shows_in_where_it_cuts() {
    let script = Script::paced(400, Span::millis(5), 66).unwrap();
    let total = script.total_bytes();
    let sizes =
        |first: u64| (0..).map(move |n| first + 4_096 * n).take_while(move |at| *at < total);
    let pieces: Vec<(i64, u64)> = sizes(3_900)
        .map(|end| (5_000 * (end as i64 / 66) + 1_000, end))
        .chain([(1_996_000, total)])
        .collect();
    let stream = cut(&script, &pieces);
    assert_eq!(named(&stream, Origin::Unknown), (Verdict::BufferBursts, LIKELY));
    assert!(seen(&stream, Origin::Unknown).finding.because.contains("exactly 4096 bytes"));
    // The same sizes out of a compressor say nothing of a buffer.
    let packed = Arrivals { content_encoding: Some("gzip".into()), ..stream };
    assert_eq!(named(&packed, Origin::Unknown).0, Verdict::CannotTell);
}

#[test]
fn full_segments_that_wait_are_corked() {
    let script = Script::paced(200, Span::millis(5), 66).unwrap();
    let total = script.total_bytes();
    let pieces: Vec<(i64, u64)> = (1..)
        .map(|n| 1_448 * n)
        .take_while(|end| *end < total)
        .map(|end| (5_000 * (end as i64 / 66) + 1_000, end))
        .chain([(996_000, total)])
        .collect();
    let stream = cut(&script, &pieces);
    assert_eq!(named(&stream, Origin::Unknown), (Verdict::Corked, LIKELY));
    // The same bytes as fast as a socket gives them are a large answer.
    let fast: Vec<(i64, u64)> =
        pieces.iter().enumerate().map(|(n, (_, end))| (2_000_000 + 40 * n as i64, *end)).collect();
    assert_eq!(named(&cut(&script, &fast), Origin::Unknown).0, Verdict::CannotTell);
}

#[test]
fn a_direct_way_beside_it_tells_path_from_origin() {
    let script = Script::headline();
    let direct = grouped(&script, 1);
    let origin = Origin::Direct(&direct);
    assert_eq!(named(&grouped(&script, 41), origin), (Verdict::Held, LIKELY));
    // At an even pace a timer and a buffer make the same bursts.
    let even = seen(&grouped(&script, 5), origin);
    assert_eq!(even.finding.name, Verdict::CannotTell, "{}", even.finding.because);
    assert_eq!(even.candidates, [Verdict::Corked, Verdict::BufferBursts]);
    for group in [4, 41] {
        let batched = grouped(&script, group);
        let agree = Origin::Direct(&batched);
        assert_eq!(named(&batched, agree), (Verdict::BatchedAtOrigin, LIKELY));
    }
    // A stall of the machine now and then is nobody's timer and nobody's buffer.
    let ends = script.frame_ends();
    let stalls: Vec<(i64, u64)> = (0..41_u32)
        .filter(|seq| seq % 7 != 3)
        .map(|seq| (script.due(seq as usize).unwrap().0 + 1_000, ends[seq as usize]))
        .collect();
    let stalled = seen(&cut(&script, &stalls), origin);
    assert_eq!(stalled.candidates, [Verdict::Live], "{}", stalled.finding.because);
    // Whole events up to a segment: 22 of 66 bytes.
    let fast = Script::paced(200, Span::millis(5), 66).unwrap();
    let beside = grouped(&fast, 1);
    assert_eq!(named(&grouped(&fast, 22), Origin::Direct(&beside)), (Verdict::Corked, LIKELY));
    let late = seen(&grouped(&fast, 25), Origin::Direct(&beside));
    assert_eq!(late.finding.name, Verdict::CannotTell, "{}", late.finding.because);
    let more = seen(&grouped(&script, 8), Origin::Direct(&grouped(&script, 4)));
    assert_eq!(more.finding.name, Verdict::CannotTell, "{}", more.finding.because);
}

/// Tokens as a model gives them: twenty fast ones, then six slow ones.
fn uneven() -> (Script, Vec<i64>) {
    use crate::script::{Body, Piece, Write};
    let mut due = 0;
    let writes: Vec<Write> = (0..130_u32)
        .map(|index| {
            due += if index % 26 < 20 { 15_000 } else { 90_000 };
            Write { due_us: Span(due), pieces: vec![Piece::Frame { bytes: 60 + index * 7 % 50 }] }
        })
        .collect();
    let dues = writes.iter().map(|write| write.due_us.0).collect();
    (Script { body: Body::Writes { writes }, ..Script::headline() }, dues)
}

#[test]
fn at_an_uneven_pace_a_timer_is_steady_in_time_and_a_buffer_in_size() {
    let (script, dues) = uneven();
    let ends = script.frame_ends();
    let direct = cut(&script, &dues.iter().copied().zip(ends.clone()).collect::<Vec<_>>());
    let origin = Origin::Direct(&direct);
    let timed = on_a_timer(&script, &dues);
    assert_eq!(named(&timed, origin), (Verdict::Corked, LIKELY));
    let mut pieces = Vec::new();
    let mut left = 0;
    for (due, end) in dues.iter().zip(&ends) {
        if end - left >= 600 || *end == script.total_bytes() {
            pieces.push((due + 1_000, *end));
            left = *end;
        }
    }
    assert_eq!(named(&cut(&script, &pieces), origin), (Verdict::BufferBursts, LIKELY));
}

#[test]
fn ends_that_the_bytes_show_are_certain() {
    let script = Script::headline();
    let whole = grouped(&script, 1);
    let mut short = whole.clone();
    short.deliveries.truncate(12);
    assert_eq!(named(&short, Origin::Unknown), (Verdict::Truncated, LIKELY));
    assert_eq!(named(&short, Origin::Script(&script)), (Verdict::Truncated, CERTAIN));
    assert_eq!(named(&short, Origin::Direct(&whole)), (Verdict::Truncated, CERTAIN));
    // A service without a terminal event is not cut short each time.
    assert_eq!(named(&short, Origin::Direct(&short)), (Verdict::Live, LIKELY));
    let reset = Arrivals { end: End::Cut, ..short.clone() };
    assert_eq!(named(&reset, Origin::Unknown), (Verdict::Truncated, CERTAIN));
    let torn = Arrivals { tail_bytes: 17, ..short };
    assert_eq!(named(&torn, Origin::Unknown), (Verdict::Truncated, CERTAIN));
    let refused = Arrivals { status: Some(503), ..whole.clone() };
    assert_eq!(named(&refused, Origin::Unknown), (Verdict::Failed, CERTAIN));
    let mut login = whole.clone();
    login.content_type = Some("text/html; charset=utf-8".into());
    login.deliveries.iter_mut().for_each(|delivery| delivery.frames.clear());
    assert_eq!(named(&login, Origin::Unknown), (Verdict::Failed, CERTAIN));
    let nothing = Script::paced(1, Span::ZERO, 60).unwrap();
    assert_eq!(named(&grouped(&nothing, 1), Origin::Unknown), (Verdict::NoToken, CERTAIN));
}

#[test]
fn a_changed_type_is_named_where_what_was_sent_is_known() {
    let script = Script::headline();
    let whole = grouped(&script, 1);
    let plain = Arrivals { content_type: Some("text/plain".into()), ..whole.clone() };
    assert_eq!(named(&plain, Origin::Script(&script)), (Verdict::TypeChanged, LIKELY));
    assert_eq!(named(&plain, Origin::Direct(&whole)), (Verdict::TypeChanged, CERTAIN));
    assert_eq!(named(&plain, Origin::Direct(&plain)), (Verdict::Live, LIKELY));
    let found = seen(&plain, Origin::Unknown);
    assert_eq!(found.candidates, [Verdict::TypeChanged, Verdict::Live]);
    let because = seen(&plain, Origin::Script(&script)).finding.because;
    assert!(because.contains("from text/event-stream to text/plain"), "{because}");
    let parameter =
        Arrivals { content_type: Some("Text/Event-Stream;charset=UTF-8".into()), ..whole.clone() };
    assert_eq!(named(&parameter, Origin::Script(&script)).0, Verdict::Live);
    // What the origin itself sends nobody changed.
    let header = Header { name: "content-type".into(), value: "text/plain".into() };
    let sends_plain = Script { headers: vec![header], ..script };
    assert_eq!(named(&plain, Origin::Script(&sends_plain)).0, Verdict::Live);
}

#[test]
fn few_events_and_a_late_reader_decide_nothing() {
    let script = Script::paced(5, Span::millis(100), 60).unwrap();
    assert_eq!(named(&grouped(&script, 5), Origin::Unknown), (Verdict::CannotTell, None));
    let mut late = grouped(&Script::headline(), 5);
    for delivery in &mut late.deliveries {
        delivery.kernel = Some(delivery.at - Span::millis(30));
    }
    assert_eq!(named(&late, Origin::Unknown), (Verdict::Void, None));
}
