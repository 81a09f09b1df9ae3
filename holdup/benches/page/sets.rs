//! What is played and what comes of it.

use std::time::{Duration, Instant};

use measure::arrivals::Reader;
use measure::clock::ClockSync;
use measure::frames::FrameReader;
use measure::guards::Guards;
use measure::plan::Plan;
use measure::results::{RunRecord, judge_runs};
use measure::stats::{median, nearest_rank};
use measure::verdict::Verdict;
use measure::{Arrivals, RunId, Span, Stamp};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::goals::Goals;
use crate::stage::{SESSION, Stage};

const PLAIN: &str = include_str!("plain.js");
/// A chat's pace. Not 50 ms, which is three animation frames to a hundredth of a millisecond: all
/// frames of a run would come at one and the same phase of the page's drawing.
const CHAT: &str = "frames=81&interval_ms=51";
/// The plain reader's own streams: short, so that they begin at many phases of the page's.
const PLAIN_SCRIPT: &str = "frames=20&interval_ms=51&frame_bytes=60";
/// From navigation to lanes, on localhost.
const READY: Span = Span::millis(500);
/// How far the page's own delay may be from the plain reader's.
const NEAR: Span = Span::micros(200);
/// What browsers call a long task.
const LONG_TASK: Span = Span::millis(50);
/// What a plan may take beside its streams.
const PATIENCE: Duration = Duration::from_secs(120);

/// Plays every set and holds it against its goals.
pub(crate) async fn run(stage: &Stage, runs: u32, goals: &mut Goals) -> Result<(), String> {
    let browser = Browser::start().await;
    ready(stage, &browser, runs, goals).await;
    for reader in [Reader::Fetch, Reader::FetchWorker, Reader::Eventsource] {
        delay(stage, &browser, reader, runs, goals).await?;
    }
    for reader in [Reader::Fetch, Reader::FetchWorker, Reader::Eventsource] {
        fast(stage, &browser, reader, runs, goals).await?;
    }
    browser.close().await;
    Ok(())
}

/// From navigation to lanes: the first time, with nothing kept, and again.
async fn ready(stage: &Stage, browser: &Browser, runs: u32, goals: &mut Goals) {
    for (name, loads) in [("first load: lanes ready", 1), ("later loads: lanes ready", runs)] {
        let mut times = Vec::new();
        for _ in 0..loads {
            browser.open(&stage.url()).await;
            browser.state(&["ready"], PATIENCE).await;
            let marks = browser.ask("performance.getEntriesByName('lanes-ready')[0].startTime");
            if let Some(ms) = marks.await.as_f64() {
                times.push(Span((ms * 1_000.0) as i64));
            }
        }
        goals.at_most(name, median(&times), READY);
    }
}

/// Eight lanes at a chat's pace, and a plain reader beside the page's own.
async fn delay(
    stage: &Stage,
    browser: &Browser,
    reader: Reader,
    runs: u32,
    goals: &mut Goals,
) -> Result<(), String> {
    let played = play(stage, browser, reader, runs, CHAT, true).await?;
    let mut pages: Vec<Span> = Vec::new();
    let mut in_worker: Vec<Span> = Vec::new();
    for run in &played.runs {
        let Some(wire) = &run.wire else { continue };
        pages.extend(delays(&run.arrivals, wire, |one| one.paged.unwrap_or(one.at)));
        in_worker.extend(delays(&run.arrivals, wire, |one| one.at));
    }
    let mut plain: Vec<Span> = Vec::new();
    for stream in &played.plain {
        // The page's clock as it stood when this stream ran.
        let clock = played.runs.iter().find_map(|run| {
            let clock = run.arrivals.page_clock.or(run.arrivals.clock)?;
            let at = clock.to_shared(stream.began_us()?);
            (run.arrivals.call..run.arrivals.ended).contains(&at).then_some(clock)
        });
        let (Some(clock), Some(wire)) = (clock, stage.wire(stream.run)) else { continue };
        plain.extend(delays(&stream.arrivals(clock), &wire, |one| one.at));
    }
    let [page, worker, plain] = [pages, in_worker, plain].map(Sorted::of);
    let name = reader.name();
    println!("8 lanes x 20/s by {name}, handler - tap's write: page {page}; plain reader {plain}");
    if reader == Reader::FetchWorker {
        println!("    in the worker {worker}");
    }
    if let (Some(page), Some(plain)) = (page.at(0.5), plain.at(0.5)) {
        let ratio = page.as_millis_f64() / plain.as_millis_f64();
        println!("    the page's median is {ratio:.2} times the plain reader's");
    }
    let apart = page.at(0.5).zip(plain.at(0.5)).map(|(page, plain)| page - plain);
    goals.at_most(&format!("8 x 20/s by {name}: page's median - plain's"), apart, NEAR);
    let longest = longest_task(&played.runs);
    goals.at_most(&format!("8 x 20/s by {name}: longest task of the page"), longest, LONG_TASK);
    voids(&format!("8 x 20/s by {name}"), &played, goals);
    Ok(())
}

/// Eight lanes at ten times that pace.
async fn fast(
    stage: &Stage,
    browser: &Browser,
    reader: Reader,
    runs: u32,
    goals: &mut Goals,
) -> Result<(), String> {
    let played = play(stage, browser, reader, runs, "frames=400&interval_ms=5", false).await?;
    let name = reader.name();
    let late = played.runs.iter().filter_map(|run| run.ledger.as_ref()?.max_lateness()).max();
    let longest = longest_task(&played.runs);
    println!(
        "8 lanes x 200/s by {name}: emitter at most {} late, longest task of the page {}",
        late.unwrap_or_default(),
        longest.unwrap_or_default()
    );
    goals.at_most(&format!("8 x 200/s by {name}: longest task of the page"), longest, LONG_TASK);
    voids(&format!("8 x 200/s by {name}"), &played, goals);
    Ok(())
}

/// Runs that the guards took, and those in which the page was called busy.
fn voids(name: &str, played: &Played, goals: &mut Goals) {
    let judged = judge_runs(&played.plan.cells, &played.runs, &Guards::default());
    let mut void = 0;
    for (run, judgement) in played.runs.iter().zip(&judged) {
        let why = match judgement {
            Err(exclusion) => format!("{}: {}", exclusion.guard(), exclusion.why()),
            Ok(finding) if finding.name == Verdict::Live => continue,
            Ok(finding) => format!("{}: {}", finding.name.name(), finding.because),
        };
        void += 1;
        println!("    round {} {}: {why}", run.round + 1, run.cell);
    }
    let all = played.runs.len();
    goals.none(&format!("{name}: void or undecided of {all} runs"), void);
}

fn longest_task(runs: &[RunRecord]) -> Option<Span> {
    let tasks =
        runs.iter().filter_map(|run| Some(Span(run.arrivals.page.as_ref()?.longest_task_us)));
    tasks.max()
}

/// A plan that was played to its end.
struct Played {
    plan: Plan,
    runs: Vec<RunRecord>,
    plain: Vec<PlainStream>,
}

async fn play(
    stage: &Stage,
    browser: &Browser,
    reader: Reader,
    runs: u32,
    script: &str,
    with_plain: bool,
) -> Result<Played, String> {
    let (name, lanes) = (reader.name(), stage.names());
    let query =
        format!("readers={name}&endpoints={lanes}&runs={runs}&{script}&frame_bytes=60&at_once=1");
    let plan = stage.plan(&query)?;
    browser.open(&format!("{}?{query}&session={SESSION}", stage.url())).await;
    browser.state(&["ready"], PATIENCE).await;
    if with_plain {
        let kind = if reader == Reader::Eventsource { "eventsource" } else { "fetch" };
        let arguments = vec![json!(stage.origins()), json!(PLAIN_SCRIPT), json!(kind)];
        browser.run(PLAIN, arguments).await;
    }
    let before = thread_times(browser).await;
    browser.press("a").await;
    let end = Instant::now()
        + PATIENCE
        + Duration::from_micros(plan.duration().as_micros().unsigned_abs());
    // Nothing is asked of the browser meanwhile.
    let finished = loop {
        if let Some(finished) = stage.finished() {
            break finished;
        }
        if Instant::now() > end {
            return Err(format!("the page did not finish:\n{}", browser.text().await));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    if let Some(why) = finished.stopped {
        return Err(format!("the page stopped early: {why}"));
    }
    let after = thread_times(browser).await;
    let streams = plan.cells.first().map(|cell| cell.script.duration()).unwrap_or_default();
    let streams = streams.as_millis_f64() * f64::from(runs);
    let spent: Vec<String> = after
        .iter()
        .zip(&before)
        .map(|((what, after), (_, before))| {
            format!("{what} {:.0}%", (after - before) * 1_000.0 / streams * 100.0)
        })
        .collect();
    println!("{name}, {script}: the page's thread, of the streams' time: {}", spent.join(", "));
    let plain = if with_plain { plain_streams(browser).await } else { Vec::new() };
    Ok(Played { plan, runs: stage.take(), plain })
}

/// Processor time that the page's thread has spent, by what for, seconds.
async fn thread_times(browser: &Browser) -> Vec<(&'static str, f64)> {
    let on = json!({ "timeDomain": "threadTicks" });
    browser.devtools_with("Performance.enable", on).await;
    let told = browser.devtools("Performance.getMetrics").await;
    let of = |name: &'static str| {
        let all = told["metrics"].as_array()?;
        let one = all.iter().find(|metric| metric["name"] == name)?;
        Some((name, one["value"].as_f64()?))
    };
    let names = ["TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration"];
    names.into_iter().filter_map(of).collect()
}

/// A stream of the plain reader: its reads by the page's own clock, microseconds.
struct PlainStream {
    run: RunId,
    /// What came, as a byte stream has it.
    reads: Vec<(i64, Vec<u8>)>,
}

impl PlainStream {
    fn began_us(&self) -> Option<i64> {
        self.reads.first().map(|(at, _)| *at)
    }

    fn arrivals(&self, clock: ClockSync) -> Arrivals {
        let mut frames = FrameReader::new(self.run);
        let mut arrivals = Arrivals::begin(self.run, Reader::Fetch, Stamp(0));
        arrivals.deliveries = self
            .reads
            .iter()
            .map(|(at, bytes)| measure::Delivery {
                frames: frames.feed(bytes),
                ..measure::Delivery::at(clock.to_shared(*at))
            })
            .collect();
        arrivals
    }
}

async fn plain_streams(browser: &Browser) -> Vec<PlainStream> {
    // The streams that run when the page has finished end by themselves.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let told = browser
        .ask("plainStreams.map(({ run, reads }) => [run, reads.map(([at, got]) => [at, text(got)])])")
        .await;
    let stream = |stream: &Value| {
        let reads = stream[1].as_array()?.iter().filter_map(|read| {
            let at = (read[0].as_f64()? * 1_000.0).round() as i64;
            Some((at, read[1].as_str()?.as_bytes().to_vec()))
        });
        Some(PlainStream { run: stream[0].as_str()?.parse().ok()?, reads: reads.collect() })
    };
    told.as_array().map(|all| all.iter().filter_map(stream).collect()).unwrap_or_default()
}

/// Handler less the wire's write, for each frame that both saw.
fn delays(
    arrivals: &Arrivals,
    wire: &Arrivals,
    handler: fn(&measure::Delivery) -> Stamp,
) -> Vec<Span> {
    let forwarded: Vec<(u32, Stamp)> = wire
        .frames()
        .filter_map(|(delivery, frame)| Some((frame.seq?, delivery.forwarded?)))
        .collect();
    let of = |seq: u32| forwarded.iter().find(|(own, _)| *own == seq).map(|(_, at)| *at);
    arrivals
        .frames()
        .filter_map(|(delivery, frame)| Some(handler(delivery) - of(frame.seq?)?))
        .collect()
}

/// Samples in order.
struct Sorted(Vec<Span>);

impl Sorted {
    fn of(mut samples: Vec<Span>) -> Sorted {
        samples.sort_unstable();
        Sorted(samples)
    }

    fn at(&self, share: f64) -> Option<Span> {
        nearest_rank(&self.0, share)
    }
}

impl std::fmt::Display for Sorted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = |share| self.at(share).unwrap_or_default().as_millis_f64();
        write!(f, "{:.2} ms, 90% {:.2}, 99% {:.2} (n {})", at(0.5), at(0.9), at(0.99), self.0.len())
    }
}
