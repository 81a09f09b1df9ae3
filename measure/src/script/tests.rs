//! Scripts: sizes, bounds, round trips.

use super::*;
use crate::units::RunId;

const RUN: RunId = RunId(7);

#[test]
fn a_paced_script_plays_frames_of_exactly_their_size() {
    for size in [60, 61, 400, 1100] {
        for frames in [1, 11, 101] {
            let script = Script::paced(frames, Span::millis(5), size).unwrap();
            let writes: Vec<_> = script.player(RUN).collect();
            assert_eq!(writes.len(), frames as usize);
            for (index, (due, bytes)) in writes.iter().enumerate() {
                assert_eq!(*due, Span::millis(5 * index as i64));
                assert_eq!(bytes.len(), size as usize);
            }
            let last = String::from_utf8(writes.last().unwrap().1.clone()).unwrap();
            assert!(last.contains(&format!("data: {}\n", frames::TERMINAL)), "{last:?}");
        }
    }
}

#[test]
fn query_parameters_round_trip() {
    let query = [
        ("frames", "8"),
        ("interval_ms", "0.5"),
        ("frame_bytes", "1100"),
        ("framing", "close"),
        ("nagle", "on"),
        ("header", "X-Accel-Buffering: no"),
    ];
    let script = Script::from_query(query).unwrap();
    let again = script.to_query().unwrap();
    let pairs = again.iter().map(|(key, value)| (*key, value.as_str()));
    assert_eq!(Script::from_query(pairs), Ok(script.clone()));
    assert_eq!(script.slug(), "8x1100B@0.5ms+close+nagle+x-accel-buffering=no");
}

#[test]
fn out_of_range_names_the_bound() {
    let cases = [
        (("frames", "0"), "frames is 0: it must be from 1 to 99999"),
        (("frame_bytes", "59"), "frame_bytes is 59: it must be from 60 to 1048576"),
        (("interval_ms", "-1"), "interval_ms is -1.0 ms: it must be from 0.0 ms to 60000 ms"),
        (("interval_ms", "nan"), "interval_ms is \"nan\": it must be a number of milliseconds"),
        (("frames", "99999999999"), "frames is \"99999999999\": it must be a whole number"),
        (
            ("script", "nope"),
            "no script is called \"nope\": known are headline, cases, halves, batched, late-first",
        ),
        (
            ("header", "Content-Length: 3"),
            "header \"Content-Length\" may not be set: it belongs to the response's framing, which the script decides itself",
        ),
        (
            ("header", "A: b\r\nC: d"),
            "header \"A\" may not be set: its value must be printable ASCII",
        ),
    ];
    for (pair, message) in cases {
        assert_eq!(Script::from_query([pair]).unwrap_err().to_string(), message);
    }
    let huge = [("frames", "99999"), ("frame_bytes", "1048576"), ("interval_ms", "0")];
    assert!(Script::from_query(huge).unwrap_err().to_string().contains("bytes"));
}

#[test]
fn frames_in_parts_must_join_and_the_last_must_be_whole() {
    let write = |due, pieces| Write { due_us: Span::millis(due), pieces };
    let part = |from, to| Piece::Part { bytes: 80, from, to };
    let script = |writes| Script { body: Body::Writes { writes }, ..Script::headline() };
    let good = script(vec![
        write(0, vec![Piece::Comment, part(0, 20)]),
        write(50, vec![part(20, 80), Piece::Frame { bytes: 60 }]),
    ]);
    assert_eq!(good.check(), Ok(()));
    assert_eq!(good.write_of_frames(), [1, 1]);
    let bytes: Vec<u8> = good.player(RUN).flat_map(|(_, bytes)| bytes).collect();
    assert_eq!(bytes.len() as u64, good.total_bytes());
    assert_eq!(good.frame_ends().last(), Some(&good.total_bytes()));

    for bad in [
        script(vec![write(0, vec![part(0, 20)]), write(5, vec![part(30, 80)])]),
        script(vec![write(0, vec![part(0, 20)]), write(5, vec![Piece::Frame { bytes: 60 }])]),
        script(vec![write(0, vec![part(0, 20)])]),
        script(vec![write(5, vec![Piece::Frame { bytes: 60 }]), write(0, vec![])]),
        script(vec![]),
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

#[test]
fn given_text_goes_out_byte_for_byte() {
    let literal = |text: &str, frame| Piece::Literal { text: text.into(), frame };
    let write = |due, pieces| Write { due_us: Span::millis(due), pieces };
    let script = |writes| Script { body: Body::Writes { writes }, ..Script::headline() };
    let good = script(vec![
        write(0, vec![literal(": ok\n\n", false), literal("data: ü", false)]),
        write(5, vec![literal("\n\n", true), literal("data: [DONE]\n\n", true)]),
    ]);
    assert_eq!(good.check(), Ok(()));
    let bytes: Vec<u8> = good.player(RUN).flat_map(|(_, bytes)| bytes).collect();
    assert_eq!(String::from_utf8(bytes).unwrap(), ": ok\n\ndata: ü\n\ndata: [DONE]\n\n");
    assert_eq!((good.frame_ends(), good.write_of_frames()), (vec![16, 30], vec![1, 1]));
    assert_eq!((good.total_bytes(), good.to_query()), (30, None));
    let json = serde_json::to_value(&good).unwrap();
    assert_eq!(json["body"]["writes"][0]["pieces"][0]["kind"], "literal");
    assert_eq!(serde_json::from_value::<Script>(json).unwrap(), good);

    for bad in [
        script(vec![write(0, vec![literal("data: a\n\n", true), literal(": end\n\n", false)])]),
        script(vec![write(0, vec![literal("", true)])]),
    ] {
        assert!(bad.check().is_err(), "{bad:?}");
    }
}

#[test]
fn named_scripts_round_trip_by_name() {
    for name in NAMES {
        let script = Script::from_query([("script", name), ("nagle", "on")]).unwrap();
        assert_eq!(script.check(), Ok(()));
        let query = script.to_query().unwrap();
        let pairs = query.iter().map(|(key, value)| (*key, value.as_str()));
        assert_eq!(Script::from_query(pairs), Ok(script));
    }
}

#[test]
fn a_player_resumes_where_another_stopped() {
    let script = Script::headline();
    let whole: Vec<_> = script.player(RUN).collect();
    let mut position = (0, 0);
    for expected in whole {
        let mut player = Player::resume(&script, RUN, position);
        assert_eq!(player.next(), Some(expected));
        position = player.position();
    }
    assert_eq!(Player::resume(&script, RUN, position).next(), None);
}
