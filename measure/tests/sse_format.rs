//! The event-stream format, WHATWG HTML section 9.2: one test for each corner of it, and
//! byte-exact fixtures.

mod sse;

use std::time::Duration;

use measure::sse::{FrameTooLarge, MAX_EVENT_BYTES, Parser, Tail};
use sse::*;

#[test]
fn crlf_split() {
    let slices: [&[u8]; 4] = [b"data: A\r\n", b"data: B\r", b"\n", b"data: C\r\n\r\n"];
    let bytes = slices.concat();
    let outcome = parse_slices(Parser::new(), slices);
    assert_eq!(outcome.data(), ["A\nB\nC"]);
    // The `\r` of the last `\r\n` is enough.
    assert_eq!(outcome.ends(), [bytes.len() as u64 - 1]);
    assert_eq!(outcome.tail, Tail::default());
    assert_eq!(outcome, parse(&bytes));
}

#[test]
fn utf8_split() {
    let outcome = parse("data: 1 € 2\nid: €\n\n".as_bytes());
    assert_eq!(outcome.data(), ["1 € 2"]);
    assert_eq!(outcome.last_event_id, "€");
}

#[test]
fn line_separator_in_json() {
    let outcome = parse("data: {\"t\":\"a\u{2028}b\u{85}c\u{c}d\"}\n\n".as_bytes());
    assert_eq!(outcome.data(), ["{\"t\":\"a\u{2028}b\u{85}c\u{c}d\"}"]);
}

#[test]
fn comment_then_blank() {
    let outcome = parse(b"id: 1\ndata: x\n\n: ping\n\n");
    assert_eq!(outcome.data(), ["x"]);
    // A frame all the same: it came over the wire.
    assert_eq!(outcome.frames.len(), 2);
    assert_eq!(outcome.frames[1].content, GotContent::NoEvent);
    assert_eq!(outcome.frames[1].own_id, None);
    assert_eq!((outcome.frames[1].start, outcome.frames[1].end), (15, 23));
    assert_eq!(outcome.last_event_id, "1");
}

#[test]
fn no_space() {
    assert_eq!(parse(b"data:x\n\ndata:  y\n\n").data(), ["x", " y"]);
}

#[test]
fn field_without_colon() {
    assert_eq!(parse(b"data\n\n").data(), [""]);
    assert_eq!(parse(b"data\ndata\n\n").data(), ["\n"]);
    // An `id` alone empties the last event id.
    let outcome = parse(b"id: 1\ndata: a\n\nid\ndata: b\n\n");
    assert_eq!(outcome.last_event_id, "");
    assert_eq!(outcome.frames[1].own_id.as_deref(), Some(""));
}

#[test]
fn cr_only() {
    let bytes = b"data: a\r\rdata: b\r\r";
    let outcome = parse(bytes);
    assert_eq!(outcome.data(), ["a", "b"]);
    assert_eq!(outcome.ends(), [9, 18]);
    assert_eq!(outcome.tail, Tail::default());

    // The second at its last `\r`, not a byte later.
    let mut parser = Parser::new();
    let mut frames = Vec::new();
    feed(&mut parser, &bytes[..17], &mut frames);
    assert_eq!(frames.len(), 1);
    feed(&mut parser, b"\r", &mut frames);
    assert_eq!(frames.len(), 2);
}

#[test]
fn unterminated_tail() {
    let cut = |bytes: &[u8]| {
        let outcome = parse(bytes);
        assert_eq!(outcome.data(), ["a"], "the tail is discarded");
        (outcome.tail.bytes, outcome.tail.event_cut)
    };
    assert_eq!(cut(b"data: a\n\n"), (0, false));
    assert_eq!(cut(b"data: a\r\n\r\n"), (0, false));
    assert_eq!(cut(b"data: a\n\n\n\r\n"), (0, false));
    assert_eq!(cut(b"data: a\n\ndata: b\n"), (8, true));
    assert_eq!(cut(b"data: a\n\ndata: b"), (7, true));
    assert_eq!(cut(b"data: a\n\ndat"), (3, true));
    assert_eq!(cut(b"data: a\n\n: data"), (6, false));
    assert_eq!(cut(b"data: a\n\ndatabase: x"), (11, false));
    // An id counts only with its blank line.
    let outcome = parse(b"id: 1\ndata: a\n\nid: 2\ndata: b\n");
    assert_eq!(outcome.last_event_id, "1");
}

#[test]
fn id_with_nul() {
    let outcome = parse(b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n");
    assert_eq!(outcome.last_event_id, "1");
    assert_eq!(outcome.events()[1].id, "1");
    assert_eq!(outcome.frames[1].own_id, None);
}

#[test]
fn huge_line() {
    let value = vec![b'x'; 600_000];
    let bytes = [b"data: ", value.as_slice(), b"\n\n"].concat();
    let outcome = parse_slices(Parser::new(), bytes.chunks(65_536));
    assert_eq!(outcome.events()[0].bytes, value);

    let mut parser = Parser::new();
    let mut frames = Vec::new();
    let slice = vec![b'x'; 1 << 20];
    feed(&mut parser, b"id: 7\ndata: ", &mut frames);
    for _ in 0..100 {
        feed(&mut parser, &slice, &mut frames);
        assert!(parser.buffered() <= MAX_EVENT_BYTES + 1024);
    }
    feed(&mut parser, b"\nid: 8\n\ndata: next\n\n", &mut frames);
    assert!(parser.buffered() <= 1024, "what was kept of it is let go");
    let error = FrameTooLarge { bytes: 5 + 6 + (100 << 20) + 5, limit: 16 << 20 };
    assert_eq!(frames[0].content, GotContent::TooLarge(error));
    assert_eq!(frames[0].own_id.as_deref(), Some("8"));
    assert!(error.to_string().contains("over the limit of 16777216"));
    let GotContent::Event(next) = &frames[1].content else {
        panic!("parsing goes on after the frame");
    };
    assert_eq!((next.data.as_str(), next.id.as_str()), ("next", "8"));
}

/// Whatever a stream repeats for 64 MB without a blank line, memory stays bounded.
#[test]
fn endless_frames_are_bounded() {
    let limit = 64 << 10;
    let lines: [&[u8]; 7] = [
        b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
        b"data\n",
        b": comment\n",
        b"event: e\n",
        b"id: 1\n",
        b"unknown",
        b":",
    ];
    for line in lines {
        let slice = line.repeat((1 << 20) / line.len());
        let mut parser = Parser::with_limit(limit);
        for _ in 0..64 {
            parser.feed(&slice, |_| panic!("no blank line was fed"));
            assert!(parser.buffered() <= 5 * (limit + 8), "{line:?}");
        }
    }
}

#[test]
fn comments_never_count_against_the_limit() {
    let bytes = [b": keepalive\n".repeat(1000).as_slice(), b"data: x\n\n"].concat();
    let outcome = parse_slices(Parser::with_limit(64), bytes.chunks(7));
    assert_eq!(outcome.data(), ["x"]);
}

#[test]
fn one_leading_bom() {
    assert_eq!(parse(b"\xEF\xBB\xBFdata: a\n\n").data(), ["a"]);
    assert_eq!(parse(b"\xEF\xBB\xBF").tail, Tail::default());
    // Only one, only whole, and only in front.
    assert!(parse(b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n").data().is_empty());
    assert!(parse(b"\xEF\xBBdata: a\n\n").data().is_empty());
    assert_eq!(parse(b"\xEF\xBB").tail.bytes, 2);
    assert_eq!(parse(b"data: a\n\n\xEF\xBB\xBFdata: b\n\n").data(), ["a"]);
}

#[test]
fn last_event_id_persists() {
    let outcome = parse(b"id: 1\n\ndata: a\n\nid: 2\ndata: b\n\ndata: c\n\n");
    let ids: Vec<_> = outcome.events().iter().map(|event| &event.id).collect();
    assert_eq!(ids, ["1", "2", "2"]);
    assert_eq!(outcome.frames[0].content, GotContent::NoEvent);
    assert_eq!(outcome.frames[0].own_id.as_deref(), Some("1"));
}

#[test]
fn event_names() {
    let outcome =
        parse(b"event: a\nevent: b\ndata\n\ndata\n\nevent:\ndata\n\nevent: c\n\ndata\n\n");
    let names: Vec<_> = outcome.events().iter().map(|event| &event.name).collect();
    assert_eq!(names, ["b", "message", "message", "message"]);
}

#[test]
fn retry_is_digits_only() {
    let time = |bytes: &[u8]| parse(bytes).reconnection_time;
    assert_eq!(time(b"retry: 1500\n\n"), Some(Duration::from_millis(1500)));
    assert_eq!(time(b"retry: 15\nretry: 1e3\n"), Some(Duration::from_millis(15)));
    assert_eq!(time(b"retry: -1\n\n"), None);
    assert_eq!(time(b"retry\n\n"), None);
    let many = "9".repeat(30);
    let largest = Some(Duration::from_millis(u64::MAX));
    assert_eq!(time(format!("retry: {many}\n\n").as_bytes()), largest);
}

#[test]
fn names_are_exact() {
    let bytes = b"Data: a\ndata : b\n data: c\ndatum: d\ndata2: e\n\n";
    assert_eq!(parse(bytes).frames[0].content, GotContent::NoEvent);
}

#[test]
fn stray_blank_lines_make_no_frame() {
    let outcome = parse(b"\n\r\n\r\rdata: a\n\n\n\n\n");
    assert_eq!((outcome.frames[0].start, outcome.ends()), (5, vec![14]));
}

#[test]
fn an_event_in_one_slice_is_not_copied() {
    let bytes = b": c\nid: 1\nevent: e\ndata: a\n\nid: 2\ndata: b\r\n\r\n";
    let mut events = 0;
    Parser::new().feed(bytes, |frame| {
        let event = frame.event().expect("both frames hold an event");
        assert!(bytes.as_ptr_range().contains(&event.data_bytes().as_ptr()));
        events += 1;
    });
    assert_eq!(events, 2);

    let mut parser = Parser::new();
    parser.feed(b"data: a\n\ndata: b\n\n", |_| events += 1);
    assert_eq!((events, parser.buffered()), (4, 0));
}

#[test]
fn fixture_line_ends() {
    let lf = parse(include_bytes!("fixtures/lf.sse"));
    assert_eq!(lf.data(), ["A\nB", "C"]);
    assert_eq!(lf.events()[0].name, "token");
    assert_eq!(lf.ends(), [38, 46, 55]);
    let others: [&[u8]; 3] = [
        include_bytes!("fixtures/cr.sse"),
        include_bytes!("fixtures/crlf.sse"),
        include_bytes!("fixtures/mixed-line-ends.sse"),
    ];
    for bytes in others {
        let outcome = parse(bytes);
        assert_eq!(outcome.events(), lf.events());
        assert_eq!(outcome.frames.len(), 3);
        assert_eq!(outcome.tail, Tail::default());
    }
}

#[test]
fn fixture_bom() {
    let outcome = parse(include_bytes!("fixtures/bom.sse"));
    assert_eq!(outcome.data(), ["first"]);
    assert_eq!(outcome.frames[0].start, 3);
    assert_eq!(outcome.frames[1].content, GotContent::NoEvent);
}

#[test]
fn fixture_invalid_utf8() {
    let outcome = parse(include_bytes!("fixtures/invalid-utf8.sse"));
    assert_eq!(outcome.data(), ["a\u{FFFD}b\u{FFFD}\n😀"]);
    assert_eq!(outcome.last_event_id, "\u{FFFD}");
    assert_eq!(outcome.events()[0].bytes, b"a\xFFb\xE2\x82\n\xF0\x9F\x98\x80");
}

#[test]
fn fixture_chat_streams() {
    let outcome = parse(include_bytes!("fixtures/openai.sse"));
    assert_eq!(outcome.data().len(), 4);
    assert!(outcome.data()[1].contains("\"Grüß\""));
    assert!(outcome.data()[2].contains(" \u{2028}dich 😀"));
    assert_eq!(outcome.data()[3], "[DONE]");

    let outcome = parse(include_bytes!("fixtures/anthropic-cut.sse"));
    let names: Vec<_> = outcome.events().iter().map(|event| &event.name).collect();
    assert_eq!(names, ["message_start", "ping"]);
    assert_eq!(outcome.frames.len(), 3);
    assert!(outcome.tail.event_cut);
}
