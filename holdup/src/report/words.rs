//! Sentences and figures, the same in HTML and in Markdown.

use std::collections::BTreeMap;

use measure::results::{CellResult, Document};
use measure::script::{Body, Framing};
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

/// What is played, such as `41 frames of 60 B, one each 50 ms`.
pub(crate) fn stream(script: &Script) -> String {
    let mut text = match &script.body {
        Body::Paced { frames, interval_us, frame_bytes } => {
            let pace = match *interval_us {
                Span::ZERO => "all due at once".into(),
                interval => format!("one each {}", plain(interval)),
            };
            format!("{} frames of {} B, {pace}", grouped(frames), grouped(frame_bytes))
        }
        Body::Writes { writes } => format!(
            "{} frames in {} writes, {} in all",
            script.frame_count(),
            writes.len(),
            script.duration()
        ),
    };
    if script.framing == Framing::Close {
        text.push_str(", ended by the close");
    }
    if script.nagle {
        text.push_str(", Nagle on");
    }
    for header in &script.headers {
        text.push_str(&format!(", {}: {}", header.name, header.value));
    }
    text
}

/// How it is asked for, as far as that is not plain; empty when it is.
pub(crate) fn request(cell: &Cell) -> String {
    let mut parts = Vec::new();
    if cell.request.client_protocol != "http/1.1" {
        parts.push(cell.request.client_protocol.clone());
    }
    if let Some(codings) = &cell.request.accept_encoding {
        parts.push(format!("accepts {codings}"));
    }
    if !cell.reader.in_browser() && cell.request.headers.name() != "plain" {
        parts.push(format!("headers of {}", cell.request.headers.name()));
    }
    if let Some(slow) = &cell.request.slow {
        parts.push(format!("reads {} B each {}", grouped(slow.read_bytes), plain(slow.pause_us)));
    }
    if cell.concurrency > 1 {
        parts.push(format!("{} lanes at once", cell.concurrency));
    }
    parts.join(", ")
}

/// The segment size.
pub(crate) fn segments(cell: &Cell) -> String {
    match cell.link.mss {
        Some(mss) => format!("segments of {} B", grouped(mss)),
        None => "loopback's own segments (65 KB)".into(),
    }
}

/// Who read it.
pub(crate) fn reader(cell: &Cell) -> String {
    match (cell.reader, &cell.engine) {
        (Reader::Recv, _) => "native".into(),
        (reader, Some(engine)) => format!("{} in {engine}", reader.name()),
        (reader, None) => reader.name().into(),
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
        [(name, rows)] => format!("{name} holds them up: {}.", held(document, rows, true)),
        many => {
            let shown: Vec<String> = many
                .iter()
                .map(|(name, rows)| format!("{name} ({})", held(document, rows, false)))
                .collect();
            format!("{} of {proxied} endpoints hold them up: {}.", many.len(), listed(&shown))
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

/// How one endpoint holds, by the row in which it holds longest.
fn held(document: &Document, rows: &[&CellResult], alone: bool) -> String {
    let bad: Vec<&&CellResult> =
        rows.iter().filter(|row| mood(row.summary.verdict.name) == Mood::Bad).collect();
    let Some(worst) = bad.iter().max_by_key(|row| ttft(row)) else {
        return String::new();
    };
    let mut text = worst.summary.verdict.name.name().to_string();
    if rows.len() > 1 {
        text.push_str(&format!(" in {} of {} rows", bad.len(), rows.len()));
    }
    if let Some(late) = ttft(worst) {
        let up_to = if bad.len() > 1 { "up to " } else { "" };
        text.push_str(&format!(", first token after {up_to}{late}"));
        if let Some(direct) = control(document, worst).and_then(ttft).filter(|_| alone) {
            text.push_str(&format!(" where the direct path takes {direct}"));
        }
    }
    if let (1, true, Some(ratio)) = (bad.len(), alone, &worst.summary.frames_per_read) {
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
