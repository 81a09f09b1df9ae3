//! Stories: what a preset is run for, told from its rows. The punch line is computed; a run that
//! does not show it is told as that.

use crate::arrivals::Reader;
use crate::cell::DIRECT;
use crate::page::Settings;
use crate::results::CellResult;
use crate::script::Script;
use crate::stats::RatioSpread;
use crate::transport::ClientProtocol;
use crate::units::{Span, decimal};
use crate::verdict::Verdict;

/// How far apart two medians may lie, as a share of the larger, that count as the same: more than
/// a run's scatter (the 200 ms timer's own is a few ms), far less than any cure.
const SAME: f64 = 0.25;

/// A story.
#[derive(Clone, Copy, Debug)]
pub struct Story {
    /// Its name in addresses.
    pub id: &'static str,
    /// Its title, for a button.
    pub title: &'static str,
    /// What it is about, before it has run: one sentence.
    pub about: &'static str,
    preset: &'static str,
    endpoints: &'static [&'static str],
    readers: &'static [Reader],
    headline_only: bool,
    tell: fn(&Rows<'_>) -> Option<Result<String, String>>,
}

/// What a run told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Telling {
    /// The run shows what the story is about: the paragraph.
    Shown(String),
    /// It was measured and does not show it: what it showed instead.
    NotShown(String),
    /// Rows are missing, or the guards left nothing to tell.
    Nothing(String),
}

impl Telling {
    /// The paragraph.
    pub fn text(&self) -> &str {
        match self {
            Telling::Shown(text) | Telling::NotShown(text) | Telling::Nothing(text) => text,
        }
    }
}

const WORKER: &[Reader] = &[Reader::FetchWorker, Reader::Recv];

/// All stories, in the order in which they are told. A static, as a constant would stand in the page
/// once for each use.
pub static STORIES: [Story; 8] = [
    Story {
        id: "cork",
        title: "HAProxy’s 200 ms, and its cure",
        about: "A stock HAProxy keeps the first token for a fifth of a second. One option ends it.",
        preset: "headline",
        endpoints: &["haproxy", "haproxy-no-delay"],
        readers: WORKER,
        headline_only: false,
        tell: cork,
    },
    Story {
        id: "big-frames",
        title: "Big frames hide it",
        about: "The same HAProxy with frames of 60 and of 1,100 bytes: a test with big ones sees little.",
        preset: "frame-size",
        endpoints: &["haproxy"],
        readers: WORKER,
        headline_only: false,
        tell: big_frames,
    },
    Story {
        id: "header",
        title: "The header that does nothing here",
        about: "X-Accel-Buffering: no is the first thing everyone tries. HAProxy does not know it.",
        preset: "header",
        endpoints: &["haproxy"],
        readers: WORKER,
        headline_only: false,
        tell: header,
    },
    Story {
        id: "nginx-upstream",
        title: "nginx, with HTTP/1.0 and 1.1 upstream",
        about: "The same nginx, the same buffering: one line decides, and older releases have it the other way.",
        preset: "nginx-upstream-version",
        endpoints: &["nginx", "nginx-http10", "nginx-http10-buffering-off"],
        readers: WORKER,
        headline_only: true,
        tell: nginx_upstream,
    },
    Story {
        id: "gzip",
        title: "gzip: the command line says live, the browser waits",
        about: "Browsers offer gzip, most command-line clients do not: they are not shown the same stream.",
        preset: "gzip",
        endpoints: &["nginx-gzip", "nginx-gzip-buffering-off"],
        readers: WORKER,
        headline_only: false,
        tell: gzip,
    },
    Story {
        id: "busy-page",
        title: "A busy page looks like a bad proxy",
        about: "This page is made to work for 250 ms after each token. The proxy is innocent.",
        preset: "busy-page",
        endpoints: &["nginx"],
        readers: &[Reader::Fetch, Reader::FetchWorker, Reader::Recv],
        headline_only: false,
        tell: busy_page,
    },
    Story {
        id: "protocols",
        title: "Your test speaks another language than your users",
        about: "The same HAProxy over HTTP/1.1, as most tests ask, and over HTTP/2, as browsers do.",
        preset: "protocols",
        endpoints: &["haproxy", "haproxy-tls"],
        readers: WORKER,
        headline_only: false,
        tell: protocols,
    },
    Story {
        id: "seventh",
        title: "Six streams, and the seventh waits",
        about: "Seven chats at once to one origin over HTTP/1.1, and twenty over HTTP/2.",
        preset: "connection-limit",
        endpoints: &[],
        readers: &[Reader::FetchWorker],
        headline_only: false,
        tell: seventh,
    },
];

/// The story of that name.
pub fn of(id: &str) -> Option<&'static Story> {
    STORIES.iter().find(|story| story.id == id)
}

impl Story {
    /// The endpoints that it needs beside the control.
    pub fn endpoints(&self) -> &'static [&'static str] {
        self.endpoints
    }

    /// The settings that run it once.
    pub fn settings(&self) -> Settings {
        Settings {
            preset: self.preset.into(),
            endpoints: self.endpoints.iter().map(|name| (*name).into()).collect(),
            readers: self.readers.to_vec(),
            script: self.headline_only.then(Script::headline),
            story: Some(self.id.into()),
            ..Settings::default()
        }
    }

    /// Tells the story from the rows of its run.
    pub fn tell(&self, rows: &[CellResult]) -> Telling {
        let rows = Rows(rows);
        let told = (self.tell)(&rows);
        match told {
            Some(Ok(text)) => Telling::Shown(text),
            Some(Err(text)) => Telling::NotShown(text),
            None => Telling::Nothing(rows.why_nothing()),
        }
    }
}

/// The rows of a run, and the figures that stories are made of.
struct Rows<'a>(&'a [CellResult]);

impl<'a> Rows<'a> {
    /// The first measured row that fits.
    fn find(&self, wanted: impl Fn(&CellResult) -> bool) -> Option<&'a CellResult> {
        self.0.iter().find(|row| wanted(row) && row.summary.runs > 0)
    }

    /// A browser's row of an endpoint.
    fn browser(&self, endpoint: &str) -> Option<&'a CellResult> {
        self.find(|row| row.cell.endpoint == endpoint && row.cell.reader.in_browser())
    }

    fn why_nothing(&self) -> String {
        let void = self.0.iter().find_map(|row| row.summary.void.as_ref());
        match void {
            Some(why) => format!("Nothing can be told from this run: {why}. Run it again."),
            None => {
                "Nothing can be told: a lane that the story needs has no figures that count. Run it \
                 again."
                    .into()
            }
        }
    }
}

fn is(row: &CellResult, verdict: Verdict) -> bool {
    row.summary.verdict.name == verdict
}

fn first(row: &CellResult) -> Option<Span> {
    Some(row.summary.ttft_us.as_ref()?.median)
}

/// Frames a read on the wire: the tap's for a browser, the reader's own else.
fn wire(row: &CellResult) -> Option<f64> {
    let summary = &row.summary;
    Some(summary.wire_frames_per_read.as_ref().or(summary.frames_per_read.as_ref())?.median)
}

fn several(ratio: f64) -> String {
    if ratio < 1.05 { "one at a time".into() } else { format!("{} at a time", decimal(ratio, 1)) }
}

fn same(one: Span, other: Span) -> bool {
    let (one, other) = (one.as_micros() as f64, other.as_micros() as f64);
    (one - other).abs() <= SAME * one.max(other)
}

/// What a row showed, in half a sentence.
fn showed(row: &CellResult) -> String {
    let first = first(row).map_or(String::new(), |at| format!(", the first token after {at}"));
    format!("{} was {}{first}", row.cell.endpoint, row.summary.verdict.name.name())
}

fn not_shown(rows: &[&CellResult]) -> String {
    let mut text = String::from("This run does not show it: ");
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            text.push_str("; ");
        }
        text.push_str(&showed(row));
    }
    text.push('.');
    text
}

fn cork(rows: &Rows<'_>) -> Option<Result<String, String>> {
    let (stock, cured) = (rows.browser("haproxy")?, rows.browser("haproxy-no-delay")?);
    let (late, soon) = (first(stock)?, first(cured)?);
    if !is(stock, Verdict::Corked) || !is(cured, Verdict::Live) {
        return Some(Err(not_shown(&[stock, cured])));
    }
    Some(Ok(format!(
        "Through a stock HAProxy the first token came after {late}, and then they came {}, although \
         the emitter wrote one each 50 ms: HAProxy tells the kernel that more will follow, and the \
         kernel waits up to 200 ms to fill a segment. With option http-no-delay the first came \
         after {soon}, {}.",
        several(wire(stock)?),
        several(wire(cured)?),
    )))
}

fn big_frames(rows: &Rows<'_>) -> Option<Result<String, String>> {
    let of = |bytes: u64| {
        rows.find(|row| {
            let script = &row.cell.script;
            row.cell.endpoint == "haproxy"
                && row.cell.reader.in_browser()
                && script.total_bytes() == bytes * u64::from(script.frame_count())
        })
    };
    let (small, big) = (of(60)?, of(1_100)?);
    let (late, soon) = (first(small)?, first(big)?);
    if !is(small, Verdict::Corked) || soon + soon > late {
        return Some(Err(not_shown(&[small, big])));
    }
    let segment =
        small.cell.link.mss.map_or("the segment".into(), |mss| format!("a segment of {mss} bytes"));
    Some(Ok(format!(
        "Frames of 60 bytes came {}, the first after {late}. Frames of 1,100 bytes came {}, the \
         first after {soon}: two of them fill {segment}, and a full segment leaves at once. A test \
         with big frames sees a quarter of the hold, or none.",
        several(wire(small)?),
        several(wire(big)?),
    )))
}

fn header(rows: &Rows<'_>) -> Option<Result<String, String>> {
    let of = |with: bool| {
        rows.find(|row| {
            row.cell.endpoint == "haproxy"
                && row.cell.reader.in_browser()
                && row.cell.script.headers.is_empty() != with
        })
    };
    let (without, with) = (of(false)?, of(true)?);
    let (one, other) = (first(without)?, first(with)?);
    if !is(without, Verdict::Corked) || !is(with, Verdict::Corked) || !same(one, other) {
        return Some(Err(not_shown(&[without, with])));
    }
    Some(Ok(format!(
        "Without the header the first token came after {one}, with X-Accel-Buffering: no after \
         {other}. It is a word to nginx; HAProxy passes it on and holds the tokens all the same."
    )))
}

fn nginx_upstream(rows: &Rows<'_>) -> Option<Result<String, String>> {
    let (new, old) = (rows.browser("nginx")?, rows.browser("nginx-http10")?);
    let cured = rows.browser("nginx-http10-buffering-off")?;
    let (soon, late) = (first(new)?, first(old)?);
    if !is(new, Verdict::Live) || !is(old, Verdict::Held) {
        return Some(Err(not_shown(&[new, old])));
    }
    let cure = match (is(cured, Verdict::Live), first(cured)) {
        (true, Some(at)) => {
            format!(" Buffering switched off cures it without touching the version: {at}.")
        }
        _ => String::new(),
    };
    Some(Ok(format!(
        "With HTTP/1.1 to the upstream nginx passed every token on, the first after {soon}. With \
         proxy_http_version 1.0, the default up to 1.28, the first came after {late}, when all had \
         been written: an answer without chunks is kept until a buffer is full.{cure}"
    )))
}

fn gzip(rows: &Rows<'_>) -> Option<Result<String, String>> {
    let browser = rows.browser("nginx-gzip")?;
    let plain = rows.find(|row| {
        row.cell.endpoint == "nginx-gzip"
            && row.cell.reader == Reader::Recv
            && row.cell.request.accept_encoding.is_none()
    })?;
    let (late, soon) = (first(browser)?, first(plain)?);
    if !is(browser, Verdict::Held) || !is(plain, Verdict::Live) {
        return Some(Err(not_shown(&[browser, plain])));
    }
    let cured = rows.browser("nginx-gzip-buffering-off").filter(|row| is(row, Verdict::Live));
    let cure = cured.and_then(first).map_or(String::new(), |at| {
        format!(" With buffering off the compressed stream is live: {at}.")
    });
    Some(Ok(format!(
        "A command-line client, which does not offer gzip, had its first token after {soon}. This \
         browser, which always does, had its own after {late}: the compressor waits for the end.{cure}"
    )))
}

fn busy_page(rows: &Rows<'_>) -> Option<Result<String, String>> {
    let of =
        |reader: Reader| rows.find(|row| row.cell.endpoint == "nginx" && row.cell.reader == reader);
    let (page, worker) = (of(Reader::Fetch)?, of(Reader::FetchWorker)?);
    let seen: Option<&RatioSpread> = page.summary.busy_frames_per_delivery.as_ref();
    let (Some(seen), Verdict::PageBusy) = (seen, page.summary.verdict.name) else {
        return Some(Err(not_shown(&[page, worker])));
    };
    // In WebKit a busy page takes its worker's figures along: then the wire alone clears the path.
    let in_worker = worker.summary.frames_per_read.as_ref().map_or(String::new(), |ratio| {
        format!(", in a worker beside the page {}", several(ratio.median))
    });
    let native = of(Reader::Recv).and_then(wire).map_or(String::new(), |ratio| {
        format!(", and the native client, without a browser, {}", several(ratio))
    });
    Some(Ok(format!(
        "The page took {} tokens at a time, as it would behind a proxy that holds them. On the \
         wire they came {}{in_worker}{native}: the page is holding them, and only a time taken \
         outside it shows that.",
        decimal(seen.median, 1),
        several(wire(page)?),
    )))
}

fn protocols(rows: &Rows<'_>) -> Option<Result<String, String>> {
    let (test, user) = (rows.browser("haproxy")?, rows.browser("haproxy-tls")?);
    let (late, soon) = (first(test)?, first(user)?);
    if !is(test, Verdict::Corked) || !is(user, Verdict::Live) {
        return Some(Err(not_shown(&[test, user])));
    }
    Some(Ok(format!(
        "Over HTTP/1.1 the first token came after {late}, and then they came {}. Over HTTP/2 the \
         same HAProxy had the first one here after {soon}, {}: it corks the chunks of HTTP/1.1, and \
         HTTP/2 has none. A test over the one says nothing of users on the other.",
        several(wire(test)?),
        several(wire(user)?),
    )))
}

fn seventh(rows: &Rows<'_>) -> Option<Result<String, String>> {
    let of = |protocol: ClientProtocol| {
        let wanted = |row: &&CellResult| {
            row.cell.endpoint == DIRECT
                && row.cell.stream.is_some()
                && row.cell.request.protocol() == Some(protocol)
        };
        rows.0.iter().filter(wanted).collect::<Vec<_>>()
    };
    let mut streams = of(ClientProtocol::Http11);
    streams.retain(|row| row.summary.runs > 0);
    if streams.len() < 7 {
        return None;
    }
    let waiting = streams.iter().copied().find(|row| is(row, Verdict::ConnectionLimit));
    let Some(waiting) = waiting else { return Some(Err(not_shown(&streams))) };
    // A page that was busy drawing them leaves the figures that stand.
    let others = streams.iter().filter(|row| row.cell.stream != waiting.cell.stream);
    let others = others.filter_map(|row| first(row));
    if others.clone().count() < 6 {
        return None;
    }
    let slowest = others.max()?;
    let waited = waiting.summary.left_us.as_ref()?.median;
    // Where nothing speaks TLS there are none.
    let multiplexed = of(ClientProtocol::Http2);
    let firsts = multiplexed.iter().filter_map(|row| first(row));
    let beside = match firsts.clone().max() {
        _ if firsts.count() < multiplexed.len() => {
            "of those over HTTP/2 not all have figures that count".into()
        }
        // One that waited as the seventh did, whatever kept it, is no sign of a missing limit.
        Some(all) if all + all < waited => format!(
            "over HTTP/2 {} streams ran at once, and each had its first token within {all}",
            multiplexed.len()
        ),
        Some(all) => format!("but one of those over HTTP/2 had its first token after {all}, too"),
        None => "HTTP/2 was not asked here".into(),
    };
    Some(Ok(format!(
        "Six streams had their first token within {slowest}. The seventh had it after {}: its \
         request did not leave the browser for {waited}, until another stream had ended. No proxy \
         did that; {beside}.",
        first(waiting)?,
    )))
}

#[cfg(test)]
#[path = "story_tests.rs"]
mod tests;
