//! Each verdict of the browser's side reached from evidence made for it, and each near miss.

use super::*;

fn page() -> PageState {
    PageState { streams: 1, ..PageState::default() }
}

fn evidence(reader: Reader, page: &PageState) -> PageEvidence<'_> {
    const LIVE: [Span; 4] = [Span(500), Span(600), Span(700), Span(800)];
    PageEvidence {
        reader,
        one_stream_a_connection: true,
        page,
        longest_task: Span::millis(50),
        frames_per_delivery: Some(1.0),
        left: Some(Span(900)),
        browser_holds: &LIVE,
        page_holds: &LIVE,
        uncertainty: Span(300),
        page_uncertainty: Span(600),
    }
}

fn judged(evidence: &PageEvidence<'_>) -> Verdict {
    of_page(Finding::new(Verdict::Live, "live"), evidence, &Thresholds::standard()).name
}

const LATE: [Span; 4] = [Span::millis(2), Span::millis(120), Span::millis(180), Span::millis(240)];

#[test]
fn an_idle_browser_adds_nothing_to_what_the_path_shows() {
    for reader in [Reader::Fetch, Reader::Eventsource, Reader::FetchWorker] {
        assert_eq!(judged(&evidence(reader, &page())), Verdict::Live);
    }
}

#[test]
fn what_the_path_did_goes_first() {
    let busy = PageState { longest_task_us: 250_000, streams: 9, ..page() };
    let path = Finding::new(Verdict::Corked, "held");
    let late = PageEvidence { left: Some(Span::millis(900)), ..evidence(Reader::Fetch, &busy) };
    assert_eq!(of_page(path.clone(), &late, &Thresholds::standard()), path);
}

#[test]
fn a_seventh_stream_waits_for_a_connection() {
    let seventh = PageState { streams: 7, ..page() };
    let late =
        PageEvidence { left: Some(Span::millis(1_900)), ..evidence(Reader::Fetch, &seventh) };
    let found = of_page(Finding::new(Verdict::Live, ""), &late, &Thresholds::standard());
    assert_eq!(found.name, Verdict::ConnectionLimit);
    assert!(found.because.contains("1900 ms after the call: 6 other streams"), "{}", found.because);
    // The sixth has a connection of its own, and over HTTP/2 streams share one: what kept those
    // is not known.
    let sixth = PageState { streams: 6, ..page() };
    let other = PageEvidence { page: &sixth, ..late.clone() };
    assert_eq!(judged(&other), Verdict::CannotTell);
    let shared = PageEvidence { one_stream_a_connection: false, ..late.clone() };
    assert_eq!(judged(&shared), Verdict::CannotTell);
    // Nothing is claimed below the clock's uncertainty.
    let unsure = PageEvidence { uncertainty: Span::millis(1_850), ..late };
    assert_eq!(judged(&unsure), Verdict::Live);
}

#[test]
fn a_long_task_of_the_page_is_the_pages() {
    let busy = PageState { longest_task_us: 250_000, ..page() };
    for reader in [Reader::Fetch, Reader::Eventsource, Reader::FetchWorker] {
        assert_eq!(judged(&evidence(reader, &busy)), Verdict::PageBusy);
    }
}

#[test]
fn a_worker_tells_the_browser_from_the_page() {
    let page = page();
    let batched = PageEvidence {
        frames_per_delivery: Some(5.1),
        browser_holds: &LATE,
        ..evidence(Reader::FetchWorker, &page)
    };
    assert_eq!(judged(&batched), Verdict::BatchedInBrowser);
    let slow_page = PageEvidence { page_holds: &LATE, ..evidence(Reader::FetchWorker, &page) };
    assert_eq!(judged(&slow_page), Verdict::PageBusy);
    // Merged now and then, but not late: nobody waits for it.
    let merged =
        PageEvidence { frames_per_delivery: Some(1.4), ..evidence(Reader::FetchWorker, &page) };
    assert_eq!(judged(&merged), Verdict::Live);
    let busy_worker = PageState { worker_longest_task_us: Some(200_000), ..page.clone() };
    let no_control = PageEvidence { page: &busy_worker, ..batched };
    assert_eq!(judged(&no_control), Verdict::CannotTell);
}

#[test]
fn on_the_pages_own_thread_browser_and_page_stay_one() {
    let page = page();
    for reader in [Reader::Fetch, Reader::Eventsource] {
        let batched = PageEvidence {
            frames_per_delivery: Some(5.1),
            browser_holds: &LATE,
            ..evidence(reader, &page)
        };
        assert_eq!(judged(&batched), Verdict::CannotTell);
    }
}
