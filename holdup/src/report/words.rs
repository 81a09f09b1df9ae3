//! Sentences and figures, the same in HTML and in Markdown.

use std::collections::BTreeMap;

use measure::cell::HeaderSet;
use measure::plan::BROWSER_ENCODINGS;
use measure::results::{CellResult, Document};
use measure::script::{Body, Framing};
use measure::transport::ClientProtocol;
use measure::verdict::Verdict;
use measure::{Cell, Reader, Script, Span};

/// The question every report answers.
pub(crate) const QUESTION: &str = "Who is holding up your tokens?";

/// A sentence that names more endpoints than this is no answer but a list.
const MOST_NAMES: usize = 6;

/// How good a row's news is; said in words as well, wherever it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Good,
    Bad,
    Open,
}

/// Whether the stream was passed on, held, or neither can be said.
pub(crate) fn mood(verdict: Verdict) -> Mood {
    match verdict {
        Verdict::Live => Mood::Good,
        Verdict::Failed
        | Verdict::Void
        | Verdict::CannotTell
        | Verdict::Truncated
        | Verdict::NoToken => Mood::Open,
        _ => Mood::Bad,
    }
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: impl ToString) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time without needless decimals, such as `50 ms` or `2.5 ms`.
fn plain(span: Span) -> String {
    format!("{} ms", span.as_millis_f64())
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// What is played, such as `41 frames, 60 B each, one each 50 ms`.
pub(crate) fn stream(script: &Script) -> String {
    let parts = [frames(script), size(script), pace(script), nagle(script), headers(script)];
    let said: Vec<String> =
        parts.into_iter().filter(|part| part.told).map(|part| part.text).collect();
    said.join(", ")
}

/// One property of a cell, in words; `told` when it goes without saying only where rows of a
/// table differ in it.
pub(crate) struct Part {
    pub(crate) text: String,
    pub(crate) told: bool,
}

fn part(text: impl Into<String>, told: bool) -> Part {
    Part { text: text.into(), told }
}

pub(crate) fn frames(script: &Script) -> Part {
    part(format!("{} frames", grouped(script.frame_count())), true)
}

pub(crate) fn size(script: &Script) -> Part {
    match &script.body {
        Body::Paced { frame_bytes, .. } => part(format!("{} B each", grouped(frame_bytes)), true),
        Body::Writes { writes } => part(format!("in {} writes", writes.len()), true),
    }
}

pub(crate) fn pace(script: &Script) -> Part {
    let close = if script.framing == Framing::Close { ", ended by the close" } else { "" };
    let pace = match &script.body {
        Body::Paced { interval_us: Span::ZERO, .. } => "all due at once".into(),
        Body::Paced { interval_us, .. } => format!("one each {}", plain(*interval_us)),
        Body::Writes { .. } => format!("{} in all", script.duration()),
    };
    part(pace + close, true)
}

pub(crate) fn nagle(script: &Script) -> Part {
    part(if script.nagle { "Nagle on" } else { "Nagle off" }, script.nagle)
}

pub(crate) fn headers(script: &Script) -> Part {
    let said: Vec<String> =
        script.headers.iter().map(|header| format!("{}: {}", header.name, header.value)).collect();
    match said.is_empty() {
        true => part("no header added", false),
        false => part(said.join(", "), true),
    }
}

/// Protocol, header set and concurrency. Where the protocol is what differs, that behind the
/// endpoint stands beside it: `h2 ← http/1.0`.
pub(crate) fn request(cell: &Cell) -> Part {
    let mut said = Vec::new();
    if cell.request.client_protocol != "http/1.1" {
        said.push(match cell.request.upstream_protocol.as_deref() {
            None | Some("http/1.1") => cell.request.client_protocol.clone(),
            Some(upstream) => format!("{} ← {upstream}", cell.request.client_protocol),
        });
    }
    if cell.request.headers != HeaderSet::Plain {
        said.push("a browser's headers".into());
    }
    if cell.concurrency > 1 {
        said.push(format!("{} lanes at once", cell.concurrency));
    }
    match said.is_empty() {
        true => part("plain HTTP/1.1", false),
        false => part(said.join(", "), true),
    }
}

pub(crate) fn encoding(cell: &Cell) -> Part {
    match cell.request.accept_encoding.as_deref() {
        Some(BROWSER_ENCODINGS) => part("accepts what browsers accept", true),
        Some(codings) => part(format!("accepts {codings}"), true),
        // It sends its own, whatever the cell says.
        None if cell.reader.in_browser() => part("accepts what browsers accept", true),
        None => part("accepts no coding", false),
    }
}

pub(crate) fn slowness(cell: &Cell) -> Part {
    match (&cell.request.slow, &cell.request.pause) {
        (Some(slow), _) => {
            let (bytes, pause) = (grouped(slow.read_bytes), plain(slow.pause_us));
            part(format!("reads {bytes} B each {pause}"), true)
        }
        (None, Some(pause)) => {
            let (bytes, time) = (grouped(pause.after_bytes), plain(pause.pause_us));
            part(format!("stops for {time} after {bytes} B"), true)
        }
        (None, None) => part("reads at once", false),
    }
}

/// The segment size; HTTP/3 has none.
pub(crate) fn segments(cell: &Cell) -> Option<Part> {
    if cell.request.protocol() == Some(ClientProtocol::Http3) {
        return None;
    }
    Some(match cell.link.mss {
        Some(mss) => part(format!("segments of {} B", grouped(mss)), true),
        None => part("loopback's own segments (65 KB)", true),
    })
}

/// Who read it.
pub(crate) fn reader(cell: &Cell) -> Part {
    match (cell.reader, &cell.engine) {
        (Reader::Recv, _) => part("read natively", true),
        (reader, Some(engine)) => part(format!("{} in {engine}", reader.name()), true),
        (reader, None) => part(reader.name(), true),
    }
}

/// Proxy and version; empty for the direct path.
pub(crate) fn version(document: &Document, endpoint: &str) -> String {
    document
        .endpoints
        .iter()
        .find(|known| known.name == endpoint)
        .and_then(|known| Some(format!("{} {}", known.proxy.as_ref()?, known.version.as_ref()?)))
        // The build behind the dash stands in the table of versions.
        .map(|text| text.split('-').next().unwrap_or_default().to_string())
        .unwrap_or_default()
}

/// The direct row that a row is held against.
fn control<'a>(document: &'a Document, row: &CellResult) -> Option<&'a CellResult> {
    let key = row.cell.control_key();
    document.cells.iter().find(|other| other.cell.is_direct() && other.cell.control_key() == key)
}

fn ttft(row: &CellResult) -> Option<Span> {
    row.summary.ttft_us.as_ref().map(|spread| spread.median)
}

/// Names in a sentence.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// The one sentence that answers the question, from the figures.
pub(crate) fn answer(document: &Document) -> String {
    let rows = unique(document);
    let direct: Vec<&&CellResult> = rows.iter().filter(|row| row.cell.is_direct()).collect();
    let of_mood = |rows: &[&CellResult], wanted| {
        rows.iter().filter(|row| mood(row.summary.verdict.name) == wanted).count()
    };
    if rows.iter().all(|row| mood(row.summary.verdict.name) == Mood::Open) {
        let why = rows.first().map_or("no row was measured", |row| &row.summary.verdict.because);
        return format!("Nothing can be said: {why}.");
    }
    if let Some(row) = direct.iter().find(|row| mood(row.summary.verdict.name) == Mood::Bad) {
        return format!(
            "The origin, or this machine: already the direct path is {} ({}).",
            row.summary.verdict.name.name(),
            row.summary.verdict.because
        );
    }
    let mut by_endpoint: BTreeMap<&str, Vec<&CellResult>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| !row.cell.is_direct()) {
        let name = row.cell.endpoint.as_str();
        if !order.contains(&name) {
            order.push(name);
        }
        by_endpoint.entry(name).or_default().push(row);
    }
    let (mut holders, mut live, mut open) = (Vec::new(), Vec::new(), Vec::new());
    for name in order {
        let rows = &by_endpoint[name];
        if of_mood(rows, Mood::Bad) > 0 {
            holders.push((name, rows));
        } else if of_mood(rows, Mood::Good) == rows.len() {
            live.push(name.to_string());
        } else {
            open.push(name.to_string());
        }
    }
    if holders.is_empty() && live.is_empty() && open.is_empty() {
        return "Only the direct path was measured, and it is clean.".into();
    }
    let proxied = holders.len() + live.len() + open.len();
    let mut text = match holders.as_slice() {
        [] => "Nobody here: no endpoint was seen to hold a frame.".to_string(),
        [(name, rows)] => format!("{name} holds them up: {}.", held(document, rows)),
        many => {
            format!(
                "{} of {proxied} endpoints hold them up; the first token comes as late as {}.",
                many.len(),
                worst_of(many)
            )
        }
    };
    if !live.is_empty() {
        let who = match live.as_slice() {
            few if few.len() <= MOST_NAMES => listed(few),
            many => format!("The other {}", many.len()),
        };
        let verb = if live.len() == 1 { "passes" } else { "pass" };
        text.push_str(&format!(" {who} {verb} every frame on as it comes."));
    }
    if !open.is_empty() {
        let who = match open.as_slice() {
            few if few.len() <= MOST_NAMES => listed(few),
            many => format!("{} more", many.len()),
        };
        text.push_str(&format!(" Of {who} too little could be measured to say."));
    }
    text
}

/// Several holders, each by its worst row, the slowest first.
fn worst_of(holders: &[(&str, &Vec<&CellResult>)]) -> String {
    let mut worst: Vec<(Option<Span>, &str, &str)> = holders
        .iter()
        .filter_map(|(name, rows)| {
            let row = worst(rows)?;
            Some((ttft(row), *name, row.summary.verdict.name.name()))
        })
        .collect();
    worst.sort_by_key(|(ttft, ..)| std::cmp::Reverse(*ttft));
    let said: Vec<String> = worst
        .into_iter()
        .map(|(ttft, name, verdict)| match ttft {
            Some(ttft) => format!("{ttft} ({name}, {verdict})"),
            None => format!("never ({name}, {verdict})"),
        })
        .collect();
    listed(&said)
}

/// The held row with the latest first token.
fn worst<'a>(rows: &[&'a CellResult]) -> Option<&'a CellResult> {
    rows.iter()
        .copied()
        .filter(|row| mood(row.summary.verdict.name) == Mood::Bad)
        .max_by_key(|row| ttft(row))
}

/// How the only holder holds.
fn held(document: &Document, rows: &[&CellResult]) -> String {
    let Some(row) = worst(rows) else { return String::new() };
    let bad = rows.iter().filter(|row| mood(row.summary.verdict.name) == Mood::Bad).count();
    let mut text = row.summary.verdict.name.name().to_string();
    if rows.len() > 1 {
        text.push_str(&format!(" in {bad} of {} rows", rows.len()));
    }
    if let Some(late) = ttft(row) {
        let up_to = if bad > 1 { "up to " } else { "" };
        text.push_str(&format!(", first token after {up_to}{late}"));
        if let Some(direct) = control(document, row).and_then(ttft) {
            text.push_str(&format!(" where the direct path takes {direct}"));
        }
    }
    if let (1, Some(ratio)) = (bad, &row.summary.frames_per_read) {
        text.push_str(&format!(", {:.2} frames to a read", ratio.median));
    }
    text
}

/// Each measured cell once: a cell that two presets name stands in two rows.
pub(crate) fn unique(document: &Document) -> Vec<&CellResult> {
    let mut seen = std::collections::BTreeSet::new();
    document.cells.iter().filter(|row| seen.insert(row.id.as_str())).collect()
}

/// The command as one would type it.
pub(crate) fn command(document: &Document) -> String {
    let quoted = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:@%+".contains(c);
        match !word.is_empty() && word.chars().all(plain) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    document.command.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
