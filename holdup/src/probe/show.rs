//! What a probe found, for people: the verdict first, then the figures, then what was counted.

use comfy_table::CellAlignment;
use measure::Span;
use measure::stats::{Difference, RatioSpread, Spread};
use measure::units::decimal;
use measure::verdict::{Sure, Verdict};

use super::against::likely;
use super::document::Document;
use super::kind::Kind;
use super::plan::Way;
use super::row::Row;
use super::ways::{Told, WayResult};
use crate::table;

/// The figures' names, and where they are in a pool.
type Figure = (&'static str, fn(&WayResult) -> Option<&Spread>);

const FIGURES: [Figure; 10] = [
    ("connection", |way| way.connect_us.as_ref()),
    ("TLS", |way| way.tls_us.as_ref()),
    ("head", |way| way.head_us.as_ref()),
    ("first byte", |way| way.shown().0.first_byte_us.as_ref()),
    ("first event", |way| way.shown().0.first_event_us.as_ref()),
    ("first token", |way| way.shown().0.first_token_us.as_ref()),
    ("first text (TTFT)", |way| way.shown().0.ttft_us.as_ref()),
    ("gap between texts", |way| way.shown().0.text_gap_us.as_ref()),
    ("last token", |way| way.shown().0.last_token_us.as_ref()),
    ("path hold", |way| way.path_hold_us.as_ref()),
];

/// The whole text.
pub(crate) fn text(document: &Document) -> String {
    let mut text = format!("\n{}\n", headline(&document.verdict));
    let measured: Vec<&WayResult> = document.ways.iter().filter(|way| way.count() > 0).collect();
    if !measured.is_empty() {
        text.push('\n');
        text.push_str(&figures(&measured, document));
    }
    text.push('\n');
    for way in &document.ways {
        text.push_str(&format!("{}.\n", counted(way, document.ways.len() > 1)));
    }
    for line in lines(document) {
        text.push_str(&format!("  {line}\n"));
    }
    if let Some(comparison) = &document.comparison {
        text.push('\n');
        for sentence in &comparison.sentences {
            text.push_str(&format!("{sentence}.\n"));
        }
        if let Some(against) = document.ways.get(1) {
            text.push_str(&format!("By itself the other way is {}.\n", phrase(&against.verdict)));
        }
    }
    text.push_str(&hint(document));
    if let Some(stopped) = &document.stopped {
        text.push_str(&format!("\nIncomplete: {stopped}.\n"));
    }
    text
}

/// A verdict as a sentence.
fn headline(told: &Told) -> String {
    let mut phrase = phrase(told);
    if let Some(first) = phrase.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    phrase + "."
}

fn phrase(told: &Told) -> String {
    let name = match told.name {
        Verdict::CannotTell => "it cannot be told".to_string(),
        name => format!("{}{}", likely(told.sure), name.name()),
    };
    let may: Vec<&str> = told.candidates.iter().map(|it| it.name()).collect();
    let may = if may.is_empty() { String::new() } else { format!(" ({}?)", may.join(" or ")) };
    format!("{name}{may}: {}", told.because)
}

fn figures(ways: &[&WayResult], document: &Document) -> String {
    let mut table = table::new();
    let two = ways.len() > 1;
    let mut header = vec![String::new()];
    if two {
        for way in ways {
            let name = if way.way == Way::Url { "the URL" } else { "the other way" };
            header.extend([name.to_string(), "min – max".into()]);
        }
        header.push("difference (95%)".into());
    } else {
        header.extend(["median", "p95", "min – max"].map(String::from));
    }
    let columns = header.len();
    table.set_header(header);
    let comparison = document.comparison.as_ref();
    for (name, of) in FIGURES {
        let spreads: Vec<Option<&Spread>> = ways.iter().map(|way| of(way)).collect();
        // Without reasoning the first token is the first text.
        let same = name == "first token"
            && ways.iter().all(|way| way.shown().0.first_token_us == way.shown().0.ttft_us);
        if same || spreads.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![name.to_string()];
        for spread in spreads {
            row.push(span(spread.map(|it| it.median)));
            if !two {
                row.push(span(spread.and_then(|it| it.p95)));
            }
            row.push(spread.map_or("–".into(), |it| format!("{} – {}", it.min, it.max)));
        }
        if two {
            let found = comparison.and_then(|comparison| match name {
                "first byte" => comparison.first_byte_us,
                "first text (TTFT)" => comparison.ttft_us,
                "gap between texts" => comparison.gap_us,
                _ => None,
            });
            row.push(found.map_or(String::new(), difference));
        }
        table.add_row(row);
    }
    table.add_row(ratios("frames per read", ways, two, columns, |way| {
        told_ratio(way.shown().0.frames_per_read.as_ref())
    }));
    for (name, of) in UNITS {
        if ways.iter().any(|way| of(way).is_some()) {
            table.add_row(ratios(name, ways, two, columns, of));
        }
    }
    if ways.iter().any(|way| way.tokens_per_second.is_some()) {
        table.add_row(ratios("tokens per second", ways, two, columns, |way| {
            let it = way.tokens_per_second.as_ref()?;
            let range = format!("{} – {}", decimal(it.min, 0), decimal(it.max, 0));
            Some((decimal(it.median, 0), range))
        }));
    }
    table.add_row(share(ways, document, columns));
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table::lines(&table)
}

/// Units of what carries the frames.
const UNITS: [(&str, Ratio); 3] = [
    ("TLS records per read", |way| told_ratio(way.records_per_read.as_ref())),
    ("DATA frames per read", |way| told_ratio(way.data_frames_per_read.as_ref())),
    ("datagrams per read", |way| told_ratio(way.datagrams_per_read.as_ref())),
];

fn told_ratio(found: Option<&RatioSpread>) -> Option<(String, String)> {
    let found = found?;
    let range = format!("{} – {}", decimal(found.min, 2), decimal(found.max, 2));
    Some((decimal(found.median, 2), range))
}

type Ratio = fn(&WayResult) -> Option<(String, String)>;

fn ratios(name: &str, ways: &[&WayResult], two: bool, columns: usize, of: Ratio) -> Vec<String> {
    let mut row = vec![name.to_string()];
    for way in ways {
        let (median, range) = of(way).unwrap_or_else(|| ("–".into(), "–".into()));
        row.push(median);
        if !two {
            row.push("–".into());
        }
        row.push(range);
    }
    row.resize(columns, String::new());
    row
}

/// The share of answers that came in one delivery.
fn share(ways: &[&WayResult], document: &Document, columns: usize) -> Vec<String> {
    let mut row = vec!["in one delivery".to_string()];
    for way in ways {
        let pool = way.shown().0;
        row.push(match pool.with_more_events {
            0 => "–".into(),
            all => format!("{} of {all}", pool.in_one_delivery),
        });
        row.push(String::new());
    }
    row.resize(columns, String::new());
    let found = document.comparison.as_ref().and_then(|comparison| comparison.one_delivery);
    if let (Some(found), Some(last)) = (found.filter(|_| ways.len() > 1), row.last_mut()) {
        let percent = |share: f64| format!("{:+.0}%", share * 100.0);
        *last = match found.interval {
            Some((low, high)) => {
                format!("{} ({} to {})", percent(found.estimate), percent(low), percent(high))
            }
            None => percent(found.estimate),
        };
    }
    row
}

fn difference(found: Difference) -> String {
    let span = |us: f64| {
        let span = Span(us.round() as i64);
        if span > Span::ZERO { format!("+{span}") } else { span.to_string() }
    };
    match found.interval {
        Some((low, high)) => format!("{} ({} to {})", span(found.estimate), span(low), span(high)),
        None => span(found.estimate),
    }
}

fn span(span: Option<Span>) -> String {
    span.map_or("–".into(), |span| span.to_string())
}

/// How many requests came to what.
fn counted(way: &WayResult, two: bool) -> String {
    let all: u32 = way.kinds.values().sum();
    let who = match (two, way.way) {
        (false, _) => String::new(),
        (true, Way::Url) => "The URL: ".into(),
        (true, Way::Against) => "The other way: ".into(),
    };
    let spoken = match (way.http, &way.tls) {
        (Some(http), Some(tls)) => format!(" over {} and {tls}", http.name()),
        (Some(http), None) => format!(" over {}", http.name()),
        (None, _) => String::new(),
    };
    let complete = way.kinds.get(&Kind::Complete).copied().unwrap_or_default();
    let mut text = format!("{who}{complete} of {all} answers complete{spoken}");
    for (kind, count) in way.kinds.iter().filter(|(kind, _)| **kind != Kind::Complete) {
        text.push_str(&format!(", {count} {}", kind.words()));
    }
    let (_, partial) = way.shown();
    if partial {
        text.push_str("; the figures are of those left at the limit, as far as they went");
    }
    if let Some(events) = way.text_events.filter(|_| way.count() > 0) {
        text.push_str(&format!("; {} with text in the median", events));
    }
    match way.clock_uncertainty_us {
        Some(Span::ZERO) => text.push_str("; Holdup's emitter stands behind, on this clock"),
        Some(clock) => text
            .push_str(&format!("; Holdup's emitter stands behind, its clock known to ± {clock}")),
        None => {}
    }
    text
}

/// One line for each kind of thing that came instead of an answer: the first of it, and how often.
fn lines(document: &Document) -> Vec<String> {
    let mut lines: Vec<(&Row, &str, u32, bool)> = Vec::new();
    for row in document.rows.iter().filter(|row| row.counts()) {
        let Some(line) = &row.line else { continue };
        let same = |it: &&mut (&Row, &str, u32, bool)| {
            (it.0.way, it.0.kind, it.0.status) == (row.way, row.kind, row.status)
        };
        match lines.iter_mut().find(same) {
            Some((_, first, count, differ)) => {
                *count += 1;
                *differ |= first != line;
            }
            None => lines.push((row, line, 1, false)),
        }
    }
    let told = |(row, line, count, differ): &(&Row, &str, u32, bool)| {
        let who = if row.way == Way::Against { "the other way: " } else { "" };
        let such = if *differ { "such as: " } else { "" };
        format!("{count} × {who}{such}{line}")
    };
    lines.iter().map(told).collect()
}

/// What would tell more.
fn hint(document: &Document) -> String {
    let told = &document.verdict;
    let alone = document.comparison.is_none() && !told.timed;
    let held = matches!(
        told.name,
        Verdict::Held | Verdict::Corked | Verdict::BufferBursts | Verdict::OneBehind
    );
    let text = match (told.name, told.sure) {
        (Verdict::Held | Verdict::Corked | Verdict::BufferBursts, Some(Sure::Likely)) if alone => {
            "Whether the path or the service itself does that, shows another way to it: --against URL"
        }
        (Verdict::CannotTell, _) if alone => {
            "More would tell: longer answers, more of them (--repeat), or another way to it (--against URL)"
        }
        (Verdict::CannotTell, _) => "More would tell: longer answers, or more of them (--repeat)",
        // The doctor reads event streams; where the emitter stands behind, it has a plain one.
        _ if held && told.timed => {
            "What does that, and the cure: holdup doctor on the emitter's /stream by the same way"
        }
        _ if held => {
            "What does that, and the cure: holdup doctor, with the same URL, --method POST and --body FILE"
        }
        _ => return String::new(),
    };
    format!("\n{text}.\n")
}

/// A summary for a CI's page.
pub(crate) fn markdown(document: &Document) -> String {
    let mut text = format!("## Probe\n\n{}\n\n", headline(&document.verdict));
    text.push_str("| way | answers | TTFT | gap | frames per read | in one delivery | verdict |\n");
    text.push_str("|---|---|---|---|---|---|---|\n");
    for way in &document.ways {
        let pool = way.shown().0;
        let all: u32 = way.kinds.values().sum();
        let median = |spread: &Option<Spread>| span(spread.as_ref().map(|it| it.median));
        let ratio = pool.frames_per_read.as_ref().map_or("–".into(), |it| decimal(it.median, 2));
        text.push_str(&format!(
            "| {} | {} of {all} | {} | {} | {ratio} | {} of {} | {} |\n",
            way.url.replace('|', "%7C"),
            way.count(),
            median(&pool.ttft_us),
            median(&pool.text_gap_us),
            pool.in_one_delivery,
            pool.with_more_events,
            way.verdict.name.name()
        ));
    }
    if let Some(comparison) = &document.comparison {
        text.push('\n');
        for sentence in &comparison.sentences {
            text.push_str(&format!("- {sentence}.\n"));
        }
    }
    text
}
