//! One's own endpoint: what the page finds in an answer, how it joins it with the wire, on whose
//! side it says it was held, and what it takes away.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

use measure::arrivals::{Arrivals, Delivery, End, FrameMark, PageState, Reader};
use measure::clock::ClockSync;
use measure::{RunId, Span, Stamp};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_client::own::answer::{Came, Figures, Page, holds};
use web_client::own::ask::{Fields, KEY_HEADERS, Plan, body_of, shape_of_path};
use web_client::own::carrier::{Carrier, Piece, Splitter};
use web_client::own::judge::{Evidence, Side, judge};
use web_client::own::seen::Outcome;
use web_client::own::{takeaway, words};

wasm_bindgen_test_configure!(run_in_browser);

/// Real answers of the services, which `measure`'s own readers are held against, too.
macro_rules! answer {
    ($name:literal) => {
        include_str!(concat!("../../measure/tests/chat/", $name))
    };
}

/// What a body's pieces are, fed in cuts of so many bytes.
fn pieces(body: &str, cut: usize) -> (Vec<Piece>, Option<Carrier>, u64) {
    let (mut pieces, mut splitter) = (Vec::new(), Splitter::default());
    for bytes in body.as_bytes().chunks(cut) {
        splitter.feed(bytes, &mut |piece| pieces.push(piece));
    }
    let carrier = splitter.carrier();
    let left = splitter.finish(&mut |piece| pieces.push(piece));
    (pieces, carrier, left)
}

fn text(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.facts.text.as_str()).collect()
}

#[wasm_bindgen_test]
fn every_shape_says_its_text_in_any_cut() {
    for (name, body, carrier, wanted) in [
        (
            "openai chat",
            answer!("openai-chat.sse"),
            Carrier::Sse,
            "Tulips open towards the sun — “täglich”.",
        ),
        ("openai responses", answer!("openai-responses.sse"), Carrier::Sse, "Plant them deep."),
        ("anthropic", answer!("anthropic.sse"), Carrier::Sse, "Water sparingly."),
        ("gemini", answer!("gemini.sse"), Carrier::Sse, "Loam drains ]}, well."),
        ("gemini array", answer!("gemini-array.json"), Carrier::Values, "Loam drains ]}, well."),
        ("ollama chat", answer!("ollama-chat.ndjson"), Carrier::Lines, "Dig them up\nin \"June\"."),
        ("ollama generate", answer!("ollama-generate.ndjson"), Carrier::Lines, "Sand helps."),
        ("plain", answer!("plain.sse"), Carrier::Sse, "Mulch in autumn."),
        ("plain lines", answer!("plain.ndjson"), Carrier::Lines, "Cut the stalks."),
        ("not streamed", answer!("openai-chat-whole.json"), Carrier::Values, "Yes, in pots."),
    ] {
        let (whole, found, _) = pieces(body, usize::MAX);
        assert_eq!(found, Some(carrier), "{name}");
        assert_eq!(text(&whole), wanted, "{name}");
        let ends: Vec<u64> = whole.iter().map(|piece| piece.end).collect();
        assert!(ends.is_sorted(), "{name}: {ends:?}");
        assert!(ends.last().is_some_and(|end| *end <= body.len() as u64), "{name}: {ends:?}");
        for cut in [1, 7, 64] {
            assert_eq!(pieces(body, cut).0, whole, "{name} in cuts of {cut}");
        }
    }
}

#[wasm_bindgen_test]
fn text_reasoning_end_and_error_are_told_apart() {
    let event = |data: &str| {
        let (pieces, ..) = pieces(&format!("data: {data}\n\n"), 5);
        pieces.into_iter().next().unwrap().facts
    };
    let thought = event(r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#);
    assert!(thought.unseen && thought.text.is_empty());
    let role = event(r#"{"choices":[{"delta":{"role":"assistant"}}]}"#);
    assert!(!role.has_token());
    let tool =
        event(r#"{"type":"content_block_start","content_block":{"type":"tool_use","name":"f"}}"#);
    assert!(tool.unseen && tool.text.is_empty());
    assert!(event("[DONE]").terminal);
    assert!(event(r#"{"type":"message_stop"}"#).terminal);
    let failed = event(r#"{"error":{"message":"no such model"}}"#);
    assert_eq!(failed.error.as_deref(), Some("no such model"));
    assert!(failed.text.is_empty());
    assert_eq!(event("plain words").text, "plain words");
    let (comment, ..) = pieces(": ping\n\n", 100);
    assert!(!comment[0].event && comment[0].end == 8);
    let (none, carrier, _) = pieces("<!doctype html><p>sign in", 6);
    assert_eq!((none.len(), carrier), (0, Some(Carrier::Html)));
    assert_eq!(pieces("data: {\"te", 4).2, 10, "a cut event is counted");
}

const CLOCK: ClockSync = ClockSync { offset_us: 1_000_000, uncertainty_us: 100, round_trips: 12 };

fn mark(end: u64) -> FrameMark {
    FrameMark { seq: None, event: true, text: true, terminal: false, end: Some(end) }
}

/// Twenty events of 10 bytes each on the wire, so many a read, 50 ms an event; the gateway hands
/// each read on at once.
fn wire(per_read: u64) -> Arrivals {
    let mut arrivals = Arrivals::begin(RunId(1), Reader::Tap, Stamp(1_000_000));
    for read in 0..20 / per_read {
        let at = Stamp(1_000_000 + ((read + 1) * per_read * 50_000) as i64);
        let first = read * per_read;
        arrivals.deliveries.push(Delivery {
            kernel: Some(at),
            forwarded: Some(Stamp(at.0 + 100)),
            bytes: Some(per_read * 10),
            body_bytes: Some(per_read * 10),
            frames: (1..=per_read).map(|own| mark((first + own) * 10)).collect(),
            ..Delivery::at(at)
        });
    }
    arrivals.end = End::Closed;
    arrivals.ended = Stamp(2_100_000);
    arrivals.status = Some(200);
    arrivals
}

/// The same bytes in the page, some time after the wire, so many events a delivery.
fn page(per_delivery: u64, late_us: i64) -> Page {
    let mut page = Page::begin(-2_000);
    for delivery in 0..20 / per_delivery {
        let events = (delivery + 1) * per_delivery;
        page.came.push(Came { at_us: (events * 50_000) as i64 + 100 + late_us, end: events * 10 });
    }
    page.end = Some(End::Closed);
    page.ended_us = 1_100_000;
    page
}

fn joined(wire: &Arrivals, page: &Page) -> Arrivals {
    let marks: Vec<FrameMark> = wire.frames().map(|(_, mark)| *mark).collect();
    page.arrivals(RunId(1), CLOCK, &marks)
}

static SEEN: PageState = PageState {
    hidden: false,
    longest_task_us: 0,
    reconnects: 0,
    worker_longest_task_us: None,
    streams: 0,
    protocol: None,
};

fn evidence<'a>(
    wire: Option<&'a Arrivals>,
    page: &'a Arrivals,
    control: Option<&'a Arrivals>,
) -> Evidence<'a> {
    Evidence { wire, page, outcome: &Outcome::Complete, sse: false, control, state: &SEEN }
}

fn side(wire: Option<&Arrivals>, page: &Arrivals, control: Option<&Arrivals>) -> Side {
    judge(&evidence(wire, page, control)).0
}

#[wasm_bindgen_test]
fn frames_are_joined_by_where_they_end() {
    let (wire, page) = (wire(1), page(2, 400));
    let own = joined(&wire, &page);
    let counts: Vec<usize> = own.deliveries.iter().map(|delivery| delivery.frames.len()).collect();
    assert_eq!(counts, [2; 10]);
    // The first of each pair waited one event for the other.
    let holds = holds(&wire, &own);
    assert_eq!(holds.len(), 20);
    assert_eq!((holds[0], holds[1]), (Span(50_400), Span(400)));
    let figures = Figures::of(&own, None);
    assert_eq!(figures.per_delivery(), Some(2.0));
    // From the page's own call, by the page's own clock.
    assert_eq!(figures.firsts.text, Some(Span(102_500)));
    assert_eq!(figures.at_once(), Some(false));
    // What the page never got is in no delivery of it.
    let mut cut = page.clone();
    cut.came.truncate(3);
    assert_eq!(joined(&wire, &cut).frames().count(), 6);
    assert_eq!(Figures::of(&joined(&wire, &Page::begin(0)), None).per_delivery(), None);
}

#[wasm_bindgen_test]
fn the_wire_says_first_whose_side_it_is() {
    let (live, held) = (wire(1), wire(4));
    let of = |wire: &Arrivals, page: &Page| joined(wire, page);
    assert_eq!(side(Some(&live), &of(&live, &page(1, 300)), None), Side::Nobody);
    assert_eq!(side(Some(&held), &of(&held, &page(4, 300)), None), Side::Path);
    // Live on the wire, in fours in the page: not the path's.
    assert_eq!(side(Some(&live), &of(&live, &page(4, 300)), None), Side::Page);
    // What nobody looked at is nobody's fault.
    let state = PageState { hidden: true, ..PageState::default() };
    let own = of(&live, &page(4, 300));
    let evidence = Evidence { state: &state, ..evidence(Some(&live), &own, None) };
    assert_eq!(judge(&evidence).0, Side::Unknown);
    // Without a wire nobody is blamed for it.
    assert_eq!(side(None, &of(&held, &page(4, 300)), None), Side::Undivided);
    assert_eq!(side(None, &of(&live, &page(1, 300)), None), Side::Nobody);
    // Two of twenty together: the scheduler's.
    let mut merged = page(1, 300);
    for place in [3, 9] {
        merged.came.remove(place);
    }
    assert_eq!(side(None, &of(&live, &merged), None), Side::Nobody);
    // Both ways alike: the origin's own.
    assert_eq!(side(Some(&held), &of(&held, &page(4, 300)), Some(&held)), Side::Origin);
    assert_eq!(side(Some(&held), &of(&held, &page(4, 300)), Some(&live)), Side::Path);
}

fn fields() -> Fields {
    Fields {
        addresses: ["http://127.0.0.1:1/v1/chat/completions?key=s3cret#x".into(), String::new()],
        model: "m".into(),
        prompts: "one \"quoted\"\n\n two".into(),
        key: " sk-0123456789 ".into(),
        key_header: KEY_HEADERS[0].into(),
        repeats: 2,
        ..Fields::default()
    }
}

#[wasm_bindgen_test]
fn a_form_becomes_a_plan() {
    let plan = Plan::of(&fields()).unwrap();
    assert_eq!(plan.prompts, ["one \"quoted\"", "two"]);
    assert_eq!(plan.turns.len(), 4);
    assert_eq!(plan.targets[0].shown, "http://127.0.0.1:1/v1/chat/completions");
    let headers = plan.headers(0);
    assert!(headers.contains(&("Authorization".into(), "Bearer sk-0123456789".into())));
    assert!(headers.contains(&("content-type".into(), "application/json".into())));
    assert_eq!(
        plan.body_for(0, 0),
        r#"{"model":"m","stream":true,"messages":[{"role":"user","content":"one \"quoted\""}]}"#
    );
    let mut raced = fields();
    raced.addresses[1] = "http://127.0.0.1:2/".into();
    let turns: Vec<usize> = Plan::of(&raced).unwrap().turns.iter().map(|turn| turn.0).collect();
    assert_eq!(turns, [0, 1, 1, 0, 0, 1, 1, 0], "A B B A");
    for (path, shape) in [
        ("http://a/v1/messages", "anthropic"),
        ("http://a/v1/responses", "openai-responses"),
        ("http://a/v1beta/models/x:streamGenerateContent", "gemini"),
        ("http://a/api/chat", "ollama-chat"),
        ("http://a/anything", "openai-chat"),
    ] {
        assert_eq!(shape_of_path(path), shape);
        assert!(body_of(shape, "m", "hello you").contains("hello you"), "{shape}");
    }
}

#[wasm_bindgen_test]
fn what_cannot_be_asked_says_which_field_it_is() {
    let wrong = |change: fn(&mut Fields)| {
        let mut fields = fields();
        change(&mut fields);
        Plan::of(&fields).unwrap_err().0
    };
    assert_eq!(wrong(|own| own.addresses[0] = "chat.example".into()), "address");
    assert_eq!(wrong(|own| own.addresses[0] = "ftp://chat.example/".into()), "address");
    assert_eq!(wrong(|own| own.addresses[0] = "http://me:pass@chat.example/".into()), "address");
    assert_eq!(wrong(|own| own.addresses[1] = "chat".into()), "other");
    assert_eq!(wrong(|own| own.prompts = " \n".into()), "prompts");
    assert_eq!(wrong(|own| own.body = Some(" ".into())), "body");
    assert_eq!(wrong(|own| own.headers = "no colon".into()), "headers");
    assert_eq!(wrong(|own| own.key = "two\nlines".into()), "key");
    assert_eq!(wrong(|own| own.repeats = 1_000), "repeats");
}

#[wasm_bindgen_test]
fn what_went_wrong_is_said_with_what_to_do() {
    let answered = |status: u16| Page { status: Some(status), ..Page::begin(0) };
    for (status, what) in [
        (401, "It refuses the key"),
        (429, "Too many requests"),
        (404, "Not there"),
        (503, "A hop failed"),
        (500, "It failed itself"),
    ] {
        let trouble = words::of_answer(&answered(status), None).unwrap();
        assert_eq!(trouble.what, what);
        assert!(trouble.so.contains(&status.to_string()), "{}", trouble.so);
    }
    let mut page = answered(200);
    page.carrier = Some(Carrier::Html);
    assert_eq!(words::of_answer(&page, None).unwrap().what, "An HTML page");
    let mut page = answered(200);
    page.error = Some("quota".into());
    let trouble = words::of_answer(&page, None).unwrap();
    assert_eq!(
        (trouble.what.as_str(), trouble.so.as_str()),
        ("An error under status 200", "Quota.")
    );
    let mut page = answered(200);
    page.end = Some(End::Cut);
    assert_eq!(words::of_answer(&page, None).unwrap().what, "Cut short");
    page.end = Some(End::Closed);
    assert_eq!(words::of_answer(&page, None).unwrap().what, "No token");
    let said = words::blocked("http://me:1", &[("Authorization".into(), "s3cret".into())]);
    assert!(said.contains("\nAccess-Control-Allow-Origin: http://me:1\n"), "{said}");
    assert!(
        said.contains("\nAccess-Control-Allow-Headers: content-type, authorization\n"),
        "{said}"
    );
    assert!(!said.contains("s3cret"));
    assert!(words::no_timings("http://me:1").ends_with("\nTiming-Allow-Origin: http://me:1"));
    let mut page = answered(200);
    page.carrier = Some(Carrier::Sse);
    page.content_type = Some("text/plain; charset=utf-8".into());
    assert!(words::wrong_type(&page, None).unwrap().contains("came as text/plain"));
}

#[wasm_bindgen_test]
fn secrets_are_taken_out_wherever_they_stand() {
    let masked = takeaway::masked("a sk-1 b sk-1".into(), &["sk-1".into(), String::new()]);
    assert_eq!(masked, "a *** b ***");
}
