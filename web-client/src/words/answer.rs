//! The whole run in a sentence or two, made from its figures.

use measure::results::CellResult;
use measure::units::decimal;
use measure::{Reader, Span, Verdict};

use super::{bound, by, count, engine, excluded, joined, list, span};

/// Names that a sentence lists; more are counted.
const LISTED: usize = 3;

/// The figure below which these rows claim nothing: the clocks' uncertainty, their step, and how
/// far apart the two ends of a write stand; `None` when no row claims anything.
pub fn floor(rows: &[&CellResult], clock_step_us: i64) -> Option<Span> {
    let limits = rows
        .iter()
        .flat_map(|row| {
            let summary = &row.summary;
            [summary.clock_uncertainty_us, summary.path_uncertainty_us, summary.page_uncertainty_us]
        })
        .flatten();
    Some(limits.max()?.max(Span(clock_step_us)))
}

/// The whole run, from the rows of one reader, each with its lane's name; `None` before a run.
pub fn answer(
    rows: &[(String, &CellResult)],
    engine_name: &str,
    clock_step_us: i64,
) -> Option<String> {
    let ran: Vec<&(String, &CellResult)> =
        rows.iter().filter(|(_, row)| row.summary.runs + excluded(row) > 0).collect();
    let (_, first) = ran.first()?;
    let named = |wanted: &[Verdict]| -> Vec<&str> {
        ran.iter()
            .filter(|(_, row)| wanted.contains(&row.summary.verdict.name))
            .map(|(name, _)| name.as_str())
            .collect()
    };
    let mut said: Vec<String> =
        ran.iter().filter_map(|(name, row)| holding(name, row, clock_step_us)).collect();
    let live = named(&[Verdict::Live]);
    said.extend(match live.len() {
        0 => None,
        n if n == ran.len() && n > 1 => Some(format!("nobody holds them: all {n} lanes are live")),
        1 => Some(format!("{} passes every token on as it comes", live[0])),
        2..=LISTED => Some(format!("{} pass every token on as it comes", list(&live))),
        n => Some(format!("the other {n} lanes pass every token on as it comes")),
    });
    let busy: Vec<&str> = ran
        .iter()
        .filter(|(name, row)| {
            row.summary.verdict.name == Verdict::PageBusy
                && holding(name, row, clock_step_us).is_none()
        })
        .map(|(name, _)| name.as_str())
        .collect();
    match busy.len() {
        0 => {}
        1..=LISTED => said.push(format!("with {} this page was busy", list(&busy))),
        n => said.push(format!("with {n} lanes this page was busy")),
    }
    for (verdicts, what) in [
        (&[Verdict::TypeChanged][..], "changed the content type, which EventSource refuses"),
        (&[Verdict::Truncated][..], "cut the stream short"),
        (&[Verdict::Failed, Verdict::NoToken][..], "gave no stream"),
        (&[Verdict::Void, Verdict::CannotTell][..], "cannot be judged"),
    ] {
        let names = named(verdicts);
        if names.len() > LISTED {
            said.push(format!("{} {what}", count(names.len() as u32, "lane")));
        } else if !names.is_empty() {
            said.push(format!("{} {what}", list(&names)));
        }
    }
    let at_once = match (first.cell.concurrency, first.cell.stream) {
        (1, _) => String::new(),
        (streams, Some(_)) => format!(", {streams} streams at once"),
        (lanes, None) => format!(", {lanes} lanes at once"),
    };
    let all: Vec<&CellResult> = ran.iter().map(|(_, row)| *row).collect();
    let floor = floor(&all, clock_step_us).map_or(String::new(), |floor| {
        format!(" Nothing below {} is claimed.", bound(floor, clock_step_us))
    });
    let read = match first.cell.reader {
        Reader::Recv => "By the native reader".into(),
        own => format!("In {}, by {}", engine(engine_name), by(own)),
    };
    Some(format!("{read}{at_once}: {}.{floor}", joined(&said, "; ")))
}

/// What happens to a lane's tokens and who does it; `None` where nobody holds them.
fn holding(name: &str, row: &CellResult, clock_step_us: i64) -> Option<String> {
    let summary = &row.summary;
    let ttft = summary.ttft_us.as_ref().map(|spread| span(spread.median, clock_step_us));
    let first = ttft.map_or(String::new(), |ttft| format!(", the first after {ttft}"));
    let several = |ratio: Option<&measure::stats::RatioSpread>| {
        ratio.map_or(String::new(), |ratio| format!(", {} at a time", decimal(ratio.median, 1)))
    };
    let on_wire =
        several(summary.wire_frames_per_read.as_ref().or(summary.frames_per_read.as_ref()));
    let in_page = several(summary.busy_frames_per_delivery.as_ref());
    let in_worker = several(summary.frames_per_read.as_ref());
    Some(match summary.verdict.name {
        Verdict::Held => format!("{name} holds the tokens to the end{first}"),
        Verdict::Corked => format!("{name} holds the tokens back{first}{on_wire}"),
        Verdict::BufferBursts => {
            format!("{name} lets the tokens go a buffer at a time{first}{on_wire}")
        }
        Verdict::OneBehind => format!("{name} holds each token until the next one comes{first}"),
        Verdict::BatchedAtOrigin => {
            format!("through {name} the tokens come as the origin wrote them{on_wire}")
        }
        Verdict::BatchedInBrowser => {
            format!("{name} is live on the wire, and this browser holds the tokens{in_worker}")
        }
        // A page that was busy now and then is told below, with the others of its kind.
        Verdict::PageBusy if in_page.is_empty() => return None,
        Verdict::PageBusy => {
            format!("{name} is live on the wire, and this page, busy, took the tokens up{in_page}")
        }
        Verdict::ConnectionLimit => {
            format!("{name} waits in the browser for a connection{first}")
        }
        _ => return None,
    })
}
