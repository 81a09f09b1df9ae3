//! What was measured in this page, as a results document.

use measure::guards::Guards;
use measure::results::{Document, Machine, RunRecord, SCHEMA};
use measure::{Cell, Span, Stamp};

use crate::browser;
use crate::model::{Ending, Model};
use crate::view::markup::joined;

/// The receive buffer that the taps offer at each read, bytes: the emitter's own build has it
/// fixed (`wire::RECV_BUFFER`), and this page is served by that build.
const TAP_RECV_BUFFER: u32 = 65_536;

/// The document of all runs so far; `None` before the first one.
pub fn of_page(model: Model) -> Option<Document> {
    let runs = model.with_records(|records| {
        let begun = records.iter().map(|run| run.arrivals.call).min()?;
        Some((begun, is_whole(model, records)))
    });
    let (begun, whole) = runs.flatten()?;
    model
        .look(|state| {
            let lanes = state.lanes.as_ref()?;
            let finished = state.ending == Some(Ending::Finished);
            Some(Document {
                schema: SCHEMA.into(),
                complete: finished && whole,
                command: vec!["holdup".into(), "demo".into(), address(model)],
                seed: state.settings.seed,
                started_at: wall_clock(begun, state.clock.map_or(0, |clock| clock.offset_us)),
                machine: Machine {
                    kernel: lanes.kernel.clone(),
                    cpus: lanes.cpus,
                    load_before: lanes.load,
                    load_after: None,
                    recv_buffer: TAP_RECV_BUFFER,
                    priority: None,
                },
                guards: Guards::default(),
                endpoints: lanes.lanes.iter().map(|lane| lane.endpoint.clone()).collect(),
                cells: state.rows.iter().map(|row| row.result.clone()).collect(),
            })
        })
        .flatten()
}

/// Whether every run of the plan is there.
fn is_whole(model: Model, records: &[RunRecord]) -> bool {
    let Ok(plan) = model.plan() else { return false };
    let made = |cell: &Cell| {
        let id = cell.id();
        records.iter().filter(|run| run.cell == id).count()
    };
    plan.cells.iter().all(|cell| made(cell) >= plan.rounds as usize)
}

/// A time of the shared clock as RFC 3339, by this machine's wall clock.
fn wall_clock(at: Stamp, offset_us: i64) -> String {
    let ago: Span = Stamp(browser::now_us() + offset_us) - at;
    let then = js_sys::Date::now() - ago.as_millis_f64();
    let date = js_sys::Date::new(&then.into());
    // What is no date, a time far outside of the calendar, would throw.
    if then.abs() < 8.64e15 { String::from(date.to_iso_string()) } else { String::new() }
}

/// The address that opens this page with its present settings, and does not start it.
pub fn address(model: Model) -> String {
    joined(&[&browser::origin(), "/?", &query(model)])
}

/// The settings as a query: all but what belongs to one visit.
pub fn query(model: Model) -> String {
    let pairs = model.look(|state| state.settings.to_query()).unwrap_or_default();
    let pairs: Vec<(&str, &str)> = pairs
        .iter()
        .map(|(key, value)| (*key, value.as_str()))
        .filter(|(key, _)| !["go", "session", "engine"].contains(key))
        .collect();
    browser::encode_query(&pairs)
}
