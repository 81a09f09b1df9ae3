//! The results document from raw runs: guards, voids, absent figures, schema.

use super::*;
use crate::arrivals::{PageState, Reader};
use crate::clock::ClockSync;
use crate::fixtures::{corked, held, ledger, live};
use crate::plan::{Plan, ReaderProfile};
use crate::script::Script;
use crate::units::Stamp;

fn plan() -> Plan {
    Plan::preset("headline", &["haproxy".into()], &[ReaderProfile::recv()], Some(1448), 3, 1)
        .unwrap()
}

fn record(cell: &Cell, round: u32, arrivals: Arrivals, ledger: Ledger) -> RunRecord {
    RunRecord {
        cell: cell.id(),
        round,
        position: 0,
        ledger: Some(ledger),
        arrivals,
        wire: None,
        wire_unknown: None,
        proxy: None,
    }
}

fn derive(plan: &Plan, runs: &[RunRecord]) -> Vec<CellResult> {
    derive_cells(&plan.cells, runs, &[Endpoint::direct()], &BTreeMap::new(), &Guards::default())
}

fn clean_runs(plan: &Plan) -> Vec<RunRecord> {
    let ledger = ledger(&Script::headline());
    (0..3)
        .flat_map(|round| {
            [
                record(&plan.cells[0], round, live(&ledger), ledger.clone()),
                record(&plan.cells[1], round, corked(&ledger, Span::millis(206)), ledger.clone()),
            ]
        })
        .collect()
}

#[test]
fn a_corked_proxy_beside_a_clean_direct_path() {
    let plan = plan();
    let cells = derive(&plan, &clean_runs(&plan));
    assert_eq!(cells[0].summary.verdict.name, Verdict::Live);
    assert_eq!(cells[1].summary.verdict.name, Verdict::Corked);
    assert_eq!(cells[1].summary.runs, 3);
    let ttft = cells[1].summary.ttft_us.as_ref().unwrap();
    assert_eq!(ttft.median, Span(206_000 + 1_000 + 20));
    assert_eq!(ttft.p95, None, "three runs carry no 95th percentile");
    assert_eq!(cells[1].summary.gap_us.as_ref().unwrap().median, Span(0));
    assert_eq!(cells[1].summary.path_floor_us, Some(Span(150)));
}

#[test]
fn an_unclean_direct_path_voids_its_round_and_no_other() {
    let plan = plan();
    let mut runs = clean_runs(&plan);
    let truth = ledger(&Script::headline());
    runs[2] = record(&plan.cells[0], 1, held(&truth), truth);
    let cells = derive(&plan, &runs);
    for cell in &cells {
        assert_eq!(cell.summary.excluded.get("direct"), Some(&1), "{}", cell.id);
        assert_eq!(cell.summary.runs, 2);
    }
    assert_eq!(cells[1].summary.verdict.name, Verdict::Corked);
}

#[test]
fn all_rounds_void_leaves_no_figure() {
    let plan = plan();
    let truth = ledger(&Script::headline());
    let mut runs = clean_runs(&plan);
    for run in runs.iter_mut().step_by(2) {
        run.arrivals = held(&truth);
    }
    let cells = derive(&plan, &runs);
    assert_eq!(cells[1].summary.verdict.name, Verdict::Void);
    assert!(cells[1].summary.void.is_some());
    assert_eq!(cells[1].summary.ttft_us, None, "absent, never 0");
}

#[test]
fn a_late_emitter_merged_writes_and_second_requests_exclude_the_run() {
    let plan = plan();
    type Fault = fn(&mut Ledger);
    let faults: [(Fault, &str); 3] = [
        (
            |ledger| ledger.entries[7].after = ledger.entries[7].due + Span::millis(11),
            "ledger: the emitter was 11.0 ms late, tolerance 10.0 ms",
        ),
        (
            |ledger| ledger.entries[7].write = ledger.entries[6].write,
            "ledger: the emitter wrote 1 frames together with the frame before them",
        ),
        (
            |ledger| ledger.attempts = 2,
            "ledger: requested 2 times: something on the way tried again",
        ),
    ];
    for (fault, why) in faults {
        let mut runs = clean_runs(&plan);
        fault(runs[1].ledger.as_mut().unwrap());
        let cells = derive(&plan, &runs);
        assert_eq!(cells[1].summary.excluded_because, [why]);
        assert_eq!(cells[1].summary.runs, 2);
        assert_eq!(cells[0].summary.runs, 3);
    }
}

#[test]
fn a_reader_that_lagged_is_excluded() {
    let plan = plan();
    let mut runs = clean_runs(&plan);
    let delivery = &mut runs[1].arrivals.deliveries[3];
    delivery.kernel = Some(delivery.at - Span::millis(15));
    runs[3].arrivals.deliveries[3].entered =
        Some(runs[3].arrivals.deliveries[2].at + Span::millis(30));
    let cells = derive(&plan, &runs);
    assert_eq!(cells[1].summary.excluded.get("client"), Some(&2));
    assert_eq!(cells[1].summary.runs, 1);
}

#[test]
fn the_tolerance_follows_the_pace() {
    let guards = Guards::default();
    let pace = |ms| Script::paced(41, Span::millis(ms), 60).unwrap();
    assert_eq!(guards.lateness_for(&pace(200)), Span::millis(10));
    assert_eq!(guards.lateness_for(&pace(5)), Span::micros(2_500));
    assert_eq!(guards.lateness_for(&pace(1)), Span::millis(2));
}

#[test]
fn a_failed_endpoint_is_a_row() {
    let plan = plan();
    let mut endpoint = Endpoint::direct();
    endpoint.name = "haproxy".into();
    endpoint.failed = Some("haproxy did not start: no such file".into());
    let runs: Vec<RunRecord> = clean_runs(&plan).into_iter().step_by(2).collect();
    let cells = derive_cells(&plan.cells, &runs, &[endpoint], &BTreeMap::new(), &Guards::default());
    assert_eq!(cells[1].summary.verdict.name, Verdict::Failed);
    assert_eq!(cells[1].summary.runs, 0);
}

#[test]
fn a_document_round_trips_and_an_unknown_schema_is_refused() {
    let plan = plan();
    let document = Document {
        schema: SCHEMA.into(),
        complete: true,
        command: vec!["holdup".into()],
        seed: 1,
        started_at: "2026-01-01T00:00:00Z".into(),
        machine: Machine { recv_buffer: 65_536, ..Machine::default() },
        guards: Guards::default(),
        endpoints: vec![Endpoint::direct()],
        cells: derive(&plan, &clean_runs(&plan)),
    };
    let text = serde_json::to_string(&document).unwrap();
    assert_eq!(Document::from_json(&text).unwrap(), document);
    let with_more = text.replacen('{', "{\"a_later_field\": 1,", 1);
    assert_eq!(Document::from_json(&with_more).unwrap(), document);

    let other = text.replacen("results/1", "results/2", 1);
    let error = Document::from_json(&other).unwrap_err().to_string();
    assert!(error.starts_with("its schema is \"holdup.results/2\""), "{error}");
    assert!(Document::from_json("{").is_err());
}

#[test]
fn stamps_of_browser_and_tap_are_joined_by_sequence() {
    let plan = plan();
    let truth = ledger(&Script::headline());
    let mut wire = live(&truth);
    for delivery in &mut wire.deliveries {
        delivery.forwarded = Some(delivery.at + Span(30));
    }
    let mut page = live(&truth);
    for delivery in &mut page.deliveries {
        delivery.at = Stamp(delivery.at.0 + 530);
        delivery.kernel = None;
    }
    let cell = Cell { reader: Reader::Fetch, ..plan.cells[0].clone() };
    let mut run = record(&cell, 0, page, truth);
    run.wire = Some(wire);
    let judged = judge(&cell, &run, None, &Guards::default());
    assert_eq!(judged.browser_holds, vec![Span(500); 41]);
    assert_eq!(judged.tap_costs, vec![Span(30); 41]);
}

/// A worker's run: read 500 µs after the wire, taken up by the page 200 µs later, painted 4 ms
/// after that.
fn in_worker(cell: &Cell, change: impl Fn(&mut RunRecord)) -> JudgedRun {
    let truth = ledger(&Script::headline());
    let mut wire = live(&truth);
    for delivery in &mut wire.deliveries {
        delivery.forwarded = Some(delivery.at + Span(30));
    }
    let mut page = live(&truth);
    for delivery in &mut page.deliveries {
        delivery.at = Stamp(delivery.at.0 + 530);
        delivery.paged = Some(delivery.at + Span(200));
        delivery.painted = Some(delivery.at + Span(4_200));
        delivery.kernel = None;
    }
    let sync = ClockSync { offset_us: 0, uncertainty_us: 300, round_trips: 12 };
    (page.clock, page.page_clock) = (Some(sync), Some(sync));
    page.page = Some(PageState::default());
    let mut run = record(cell, 0, page, truth);
    run.wire = Some(wire);
    change(&mut run);
    judge(cell, &run, None, &Guards::default())
}

#[test]
fn a_worker_splits_browser_page_and_paint() {
    let cell = Cell { reader: Reader::FetchWorker, ..plan().cells[0].clone() };
    let judged = in_worker(&cell, |_| ());
    assert_eq!(judged.browser_holds, vec![Span(500); 41]);
    assert_eq!(judged.page_holds, vec![Span(200); 41]);
    assert_eq!(judged.paint_costs, vec![Span(4_000); 41]);
    let side = judged.browser.unwrap();
    assert_eq!(side.page_uncertainty, Some(Span(600)), "both clocks' together");
}

#[test]
fn a_busy_page_voids_what_its_thread_stamped_and_nothing_else() {
    let busy = |run: &mut RunRecord| run.arrivals.page.as_mut().unwrap().longest_task_us = 250_000;
    let cell = Cell { reader: Reader::FetchWorker, ..plan().cells[0].clone() };
    let judged = in_worker(&cell, busy);
    assert_eq!(judged.browser_holds.len(), 41, "the worker's own stamps stand");
    assert_eq!((judged.page_holds.len(), judged.paint_costs.len()), (0, 0));
    assert!(judged.measurement.ttft.is_some());

    let webkit = Cell { engine: Some("webkit".into()), ..cell.clone() };
    let judged = in_worker(&webkit, busy);
    assert_eq!((judged.browser_holds.len(), judged.measurement.ttft), (0, None));
    assert_eq!(judged.finding(&Thresholds::standard()).name, Verdict::PageBusy);

    let cell = Cell { reader: Reader::Fetch, ..cell };
    let judged = in_worker(&cell, busy);
    assert_eq!((judged.browser_holds.len(), judged.paint_costs.len()), (0, 0));
    assert_eq!(judged.measurement.ttft, None, "absent, never a busy page's figure");
    assert!(judged.exclusion.is_none(), "the wire's figures stand");
    let finding = judged.finding(&Thresholds::standard());
    assert_eq!(finding.name, Verdict::PageBusy);
    assert_eq!(
        finding.because,
        "live on the wire, but the page was busy for 250 ms at a time; it took 1.00 frames at a time"
    );
}

#[test]
fn without_the_wires_side_a_page_shows_what_is_live_and_blames_nobody() {
    let mut cell = Cell { reader: Reader::FetchWorker, ..plan().cells[0].clone() };
    let found = |cell: &Cell, held: bool| {
        let judged = in_worker(cell, |run| {
            run.wire = None;
            run.wire_unknown = Some("merged".into());
            let end = run.arrivals.deliveries.last().map(|last| last.at).unwrap();
            for delivery in run.arrivals.deliveries.iter_mut().filter(|_| held) {
                (delivery.at, delivery.paged, delivery.painted) = (end, None, None);
            }
        });
        assert_eq!(judged.wire_unknown.as_deref(), Some("merged"));
        judged.finding(&Thresholds::standard())
    };
    // On a plain path the tap reads the stream: its side is missing for another reason.
    assert_eq!(found(&cell, false).name, Verdict::CannotTell);
    cell.request.client_protocol = "h2".into();
    let live = found(&cell, false);
    assert_eq!(live.name, Verdict::Live, "{}", live.because);
    let held = found(&cell, true);
    assert_eq!(held.name, Verdict::CannotTell);
    assert!(held.because.contains("path or browser"), "{}", held.because);
}

#[test]
fn a_clock_too_coarse_claims_nothing_of_browser_and_page() {
    let cell = Cell { reader: Reader::FetchWorker, ..plan().cells[0].clone() };
    let judged = in_worker(&cell, |run| {
        run.arrivals.clock.as_mut().unwrap().uncertainty_us = 6_000;
    });
    assert!(judged.browser_holds.is_empty() && judged.page_holds.is_empty());
    assert_eq!(judged.measurement.ttft, None);
    assert_eq!(judged.finding(&Thresholds::standard()).name, Verdict::Live, "the wire stands");
}

#[test]
fn an_event_source_that_refuses_a_changed_type_is_not_a_path_that_failed() {
    let plan = plan();
    let truth = ledger(&Script::headline());
    // EventSource cannot read headers; it only fails.
    let mut page = Arrivals::begin(truth.run, crate::Reader::Eventsource, Stamp(0));
    page.end = crate::End::Failed { what: "EventSource refused the stream".into() };
    let wire = |kind: &str| Arrivals { content_type: Some(kind.into()), ..live(&truth) };
    for (kind, name) in
        [("text/plain", Verdict::TypeChanged), (crate::script::EVENT_STREAM, Verdict::Failed)]
    {
        let mut run = record(&plan.cells[1], 0, page.clone(), truth.clone());
        run.wire = Some(wire(kind));
        let judged = judge(&plan.cells[1], &run, None, &Guards::default());
        assert_eq!(judged.finding(&Thresholds::standard()).name, name, "{kind}");
    }
}
