//! Geometry and words: pure, so the same tests run natively too.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

use measure::arrivals::{Arrivals, Delivery, FrameMark, PageState, Reader};
use measure::ledger::{Entry, Ledger};
use measure::results::RunRecord;
use measure::{RunId, Script, Span, Stamp, Verdict};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};
use web_client::geometry::{self, Axis, Clump, Paths, Picture};
use web_client::split::{Measured, Part, Split};
use web_client::words::{self, Holder, Mood};

wasm_bindgen_test_configure!(run_in_browser);

fn delivery(at: i64, seqs: std::ops::Range<u32>) -> Delivery {
    let frames = seqs
        .map(|seq| FrameMark {
            seq: Some(seq),
            event: true,
            text: true,
            terminal: false,
            end: None,
        })
        .collect();
    Delivery { frames, ..Delivery::at(Stamp(at)) }
}

/// Two frames sent 50 ms apart, both through the tap at 51 ms and in the page at 52 ms.
fn record(with_wire: bool) -> RunRecord {
    let entry = |seq: u32, at: i64| Entry {
        seq,
        due: Stamp(at),
        before: Stamp(at),
        after: Stamp(at),
        write: seq + 1,
    };
    let ledger: Ledger = serde_json::from_value(serde_json::json!({
        "run": RunId(1), "instance": "i", "attempts": 1, "script": Script::headline(),
        "upstream_protocol": "HTTP/1.1", "started": 1_000, "writes": 3, "body_bytes": 120,
        "entries": [entry(0, 1_000), entry(1, 51_000)],
    }))
    .unwrap();
    let mut arrivals = Arrivals::begin(RunId(1), Reader::Fetch, Stamp(0));
    arrivals.deliveries = vec![delivery(52_000, 0..2)];
    let mut wire = Arrivals::begin(RunId(1), Reader::Tap, Stamp(0));
    wire.deliveries = vec![Delivery {
        kernel: Some(Stamp(51_200)),
        forwarded: Some(Stamp(51_300)),
        ..delivery(51_250, 0..2)
    }];
    serde_json::from_value(serde_json::json!({
        "cell": "c", "round": 0, "position": 0, "ledger": ledger, "arrivals": arrivals,
        "wire": with_wire.then_some(wire),
    }))
    .unwrap()
}

/// The same, read in a worker at 51.5 ms and taken up by the page at 80 ms and a little later.
fn in_worker() -> RunRecord {
    let mut record = record(true);
    record.arrivals.reader = Reader::FetchWorker;
    record.arrivals.deliveries = vec![delivery(51_400, 0..1), delivery(51_500, 1..2)];
    for (delivery, paged) in record.arrivals.deliveries.iter_mut().zip([80_000, 80_200]) {
        delivery.paged = Some(Stamp(paged));
        delivery.painted = Some(Stamp(paged + 9_000));
    }
    record
}

fn clump(at: i64, seqs: &[u32]) -> Clump {
    Clump { at: Span(at), seqs: seqs.to_vec(), count: seqs.len() as u32 }
}

#[wasm_bindgen_test(unsupported = test)]
fn a_record_becomes_a_picture_counted_from_the_call() {
    let picture = Picture::of_record(&record(true));
    assert_eq!(picture.sent, [Some(Span(1_000)), Some(Span(51_000))]);
    assert_eq!(picture.wire, [clump(51_200, &[0, 1])]);
    assert_eq!(picture.page, [clump(52_000, &[0, 1])]);
    assert_eq!((picture.latest, picture.arrived()), (Span(52_000), 2));
    assert_eq!(
        picture.described(),
        "2 frames sent; 2 at the wire in 1 deliveries, the largest of 2; 2 at the page in 1 \
         deliveries, the largest of 2; all within 52.0 ms."
    );
    assert_eq!(Picture::default().described(), "");
}

#[wasm_bindgen_test(unsupported = test)]
fn a_worker_has_an_axis_of_its_own_and_what_the_page_takes_up_in_one_go_is_one_dot() {
    let picture = Picture::of_record(&in_worker());
    let axes: Vec<Axis> = picture.axes().into_iter().map(|(axis, _)| axis).collect();
    assert_eq!(axes, [Axis::Wire, Axis::Worker, Axis::Page]);
    assert_eq!(picture.worker, [clump(51_400, &[0]), clump(51_500, &[1])]);
    assert_eq!(picture.page, [clump(80_000, &[0, 1])]);
    let paths = Paths::of(&picture, Span::millis(100));
    let parts: Vec<Part> = paths.bands.iter().map(|band| band.part).collect();
    assert_eq!(parts, [Part::Path, Part::Browser, Part::Page]);
    let late: Vec<bool> = paths.bands.iter().map(|band| !band.late.is_empty()).collect();
    assert_eq!(late, [true, false, true], "only who held a frame has a hue");
}

#[wasm_bindgen_test(unsupported = test)]
fn lines_bend_at_the_wire_when_there_is_one() {
    let domain = Span::millis(100);
    let with = Paths::of(&Picture::of_record(&record(true)), domain);
    let path = &with.bands[0];
    assert_eq!((path.part, path.late.as_str()), (Part::Path, "M10.0 8.0L512.0 44.0"));
    assert_eq!(path.prompt, "M510.0 8.0L512.0 44.0");
    let page = &with.bands[1];
    assert_eq!((page.part, page.late.as_str()), (Part::Either, ""));
    assert_eq!(page.prompt, "M512.0 44.0L520.0 80.0", "two lines in one place are one");
    let (axis, y, dots, part) = &with.axes[1];
    assert_eq!((*axis, *y, *part), (Axis::Page, 80.0, Part::Either));
    assert_eq!(dots.prompt[1], "M520.0 80.0L520.0 80.0", "two frames make the second size");
    assert_eq!((with.labels[0].count, with.labels.len()), (2, 1));
    let without = Paths::of(&Picture::of_record(&record(false)), domain);
    assert_eq!(without.bands.len(), 1);
    assert_eq!(without.bands[0].part, Part::Undivided);
    assert_eq!(without.bands[0].late, "M10.0 8.0L520.0 80.0");
}

#[wasm_bindgen_test(unsupported = test)]
fn a_chart_of_many_frames_is_no_larger_than_its_width_allows() {
    let many = 100_000;
    let sent = (0..many).map(|at| Some(Span(at))).collect();
    let page = (0..many as u32).map(|seq| clump(i64::from(seq), &[seq])).collect();
    let picture = Picture { sent, page, ..Picture::default() };
    let paths = Paths::of(&picture, Span(many));
    let lines = |path: &str| path.matches('M').count();
    assert!(lines(&paths.ticks) < 4_000, "{}", lines(&paths.ticks));
    assert!(lines(&paths.bands[0].prompt) < 4_000);
    assert!(lines(&paths.axes[0].2.prompt[0]) < 4_000);
}

#[wasm_bindgen_test(unsupported = test)]
fn the_scale_stands_still_until_something_is_late() {
    let planned = Span::millis(2_000);
    let still = geometry::domain(planned, Span::ZERO);
    assert_eq!(still, Span::millis(2_240));
    assert_eq!(geometry::domain(planned, Span::millis(2_240)), still);
    let grown = geometry::domain(planned, Span::millis(2_241));
    assert_eq!(grown, Span::millis(2_800));
    assert_eq!(geometry::domain(planned, Span::millis(2_799)), grown, "grown in steps");
    assert_eq!(geometry::domain(Span::ZERO, Span::ZERO), Span::millis(60));
}

#[wasm_bindgen_test(unsupported = test)]
fn a_ruler_has_few_round_marks() {
    for (ms, step) in [(60, 10), (2_240, 500), (400, 50), (9_000, 2_000), (600_000, 100_000)] {
        let marks = geometry::ruler(Span::millis(ms));
        assert_eq!(marks[1].0, Span::millis(step), "{ms} ms");
        assert!(marks.len() <= 9, "{ms} ms");
        assert!(marks.iter().all(|(_, share)| (0.0..=1.0).contains(share)));
    }
}

#[wasm_bindgen_test(unsupported = test)]
fn of_two_counts_without_room_the_larger_stays() {
    let clump = |ms, count| Clump { at: Span::millis(ms), seqs: Vec::new(), count };
    let page = vec![clump(0, 2), clump(5, 7), clump(8, 3), clump(500, 4), clump(900, 1)];
    let picture = Picture { page, ..Picture::default() };
    let labels = Paths::of(&picture, Span::millis(1_000)).labels;
    let counts: Vec<u32> = labels.iter().map(|label| label.count).collect();
    assert_eq!(counts, [7, 4]);
    assert!(labels.iter().all(|label| !label.tight));
    let page = vec![clump(0, 5), clump(60, 5), clump(120, 9), clump(180, 2), clump(300, 2)];
    let picture = Picture { page, ..Picture::default() };
    let labels = Paths::of(&picture, Span::millis(1_000)).labels;
    let on_a_phone: Vec<u32> =
        labels.iter().filter(|label| !label.tight).map(|label| label.count).collect();
    assert_eq!((labels.len(), on_a_phone), (5, vec![5, 9, 2]));
}

#[wasm_bindgen_test(unsupported = test)]
fn the_parts_of_a_split_add_up_to_the_time_to_the_first_token() {
    let step = Span(5);
    let split = Split::of(&record(true), step).unwrap();
    let of = |part| split.part(part).map(|measured| measured.span);
    assert_eq!(of(Part::Path), Some(Span(50_200)));
    assert_eq!((of(Part::Tap), of(Part::Either)), (Some(Span(100)), Some(Span(700))));
    assert_eq!((of(Part::Browser), of(Part::Page)), (None, None));
    assert_eq!(split.total(), Span(52_000));
    let split = Split::of(&record(false), step).unwrap();
    assert_eq!(split.part(Part::Undivided).map(|measured| measured.span), Some(Span(51_000)));
    assert_eq!(split.total(), Span(52_000));
}

#[wasm_bindgen_test(unsupported = test)]
fn a_worker_divides_browser_and_page_and_the_picture_comes_last() {
    let mut record = in_worker();
    let split = Split::of(&record, Span(5)).unwrap();
    let parts: Vec<Part> = split.parts.iter().map(|(part, _)| *part).collect();
    let all = [Part::Request, Part::Path, Part::Tap, Part::Browser, Part::Page, Part::Paint];
    assert_eq!(parts, all);
    assert_eq!(split.part(Part::Page).unwrap().span, Span(28_600));
    assert_eq!(split.part(Part::Paint).unwrap(), Measured { span: Span(9_000), off: Span(5) });
    assert_eq!(split.total(), Span(89_000));
    // What a busy page stamped is not claimed.
    record.arrivals.page = Some(PageState { longest_task_us: 300_000, ..PageState::default() });
    let split = Split::of(&record, Span(5)).unwrap();
    assert_eq!(split.parts.last().unwrap().0, Part::Browser);
}

#[wasm_bindgen_test(unsupported = test)]
fn what_the_clocks_leave_open_is_only_bounded() {
    let measured = |span, off| Measured { span: Span(span), off: Span(off) };
    assert_eq!(words::measured(measured(2_300, 500), 5), "2.3 ms");
    assert_eq!(words::measured(measured(400, 500), 5), "≤ 0.9 ms");
    assert_eq!(words::measured(measured(-300, 500), 5), "≤ 0.5 ms");
    assert_eq!(words::measured(measured(10, 20), 5), "≤ 0.1 ms", "never a bound of nothing");
    assert_eq!(words::measured(measured(-2_300, 500), 5), "−2.3 ms", "signed, never clamped");
    assert_eq!((words::off(Span(555)), words::off(Span::ZERO)), ("± 555 µs".into(), String::new()));
}

#[wasm_bindgen_test(unsupported = test)]
fn figures_have_no_more_digits_than_the_clock() {
    for (us, step, text) in [
        (206_400, 5, "206 ms"),
        (2_349, 5, "2.3 ms"),
        (2_349, 1_000, "2 ms"),
        (-16, 5, "0.0 ms"),
        (-1_260, 5, "−1.3 ms"),
        (99_960, 5, "100 ms"),
    ] {
        assert_eq!(words::span(Span(us), step), text);
    }
    assert_eq!((words::fine(5), words::fine(1_200)), ("5 µs".into(), "1.2 ms".into()));
}

#[wasm_bindgen_test(unsupported = test)]
fn names_and_sentences() {
    assert_eq!(words::list(&["a"]), "a");
    assert_eq!(words::list(&["a", "b", "c"]), "a, b and c");
    assert_eq!(words::sentence("held -0.0 ms"), "Held 0.0 ms.");
    assert_eq!(words::engine("chromium"), "Chromium");
    assert_eq!(words::verdict(Verdict::Corked).1, Mood::Bad);
    assert_eq!(words::holder(Verdict::PageBusy), Holder::Page);
    assert_eq!(words::holder(Verdict::ConnectionLimit), Holder::Browser);
    assert_eq!(words::verdict(Verdict::Live).1, Mood::Good);
    assert_eq!(words::verdict(Verdict::Void).1, Mood::Open);
}

#[wasm_bindgen_test(unsupported = test)]
fn browsers_are_known_by_their_engine() {
    use web_client::browser::name_of;
    let chromium = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) \
                    HeadlessChrome/156.0.0.0 Safari/537.36";
    assert_eq!(name_of(chromium), ("chromium", "156".into()));
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0";
    assert_eq!(name_of(firefox), ("firefox", "153".into()));
    let webkit = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                  Version/17.6 Safari/605.1.15";
    assert_eq!(name_of(webkit), ("webkit", "17.6".into()));
    assert_eq!(name_of("curl/8"), ("unknown", String::new()));
}
