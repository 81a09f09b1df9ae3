//! `holdup browse`: the same cells by the page in a real browser, with the tap.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use emitter::{Config, Emitter};
use measure::cell::HeaderSet;
use measure::guards::Guards;
use measure::page::{Finished, Lanes, RunPost, Settings, SettingsError};
use measure::plan::{self, BROWSER_ENCODINGS, PRESETS, Plan, ReaderProfile, UnknownPreset};
use measure::results::{Browser, Document, RunRecord, SCHEMA, derive_cells};
use measure::{Reader, Span};

use crate::browser::{Driver, DriverError};
use crate::cli;
use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::page::Inbox;
use crate::page::routes::Page;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::runner::{self, Native, ledger_of};
use crate::store::Store;
use crate::{commands, machine};

/// What a run takes beside its script: clock, ledger, drawing, on a busy machine.
const RUN_EXTRA: Span = Span::millis(5_000);
/// What the page takes before its first run: loading, clock, warm-up.
const PAGE_EXTRA: Duration = Duration::from_secs(60);
/// The sizes of screenshots: a projector, a laptop, a phone.
const SIZES: [(u32, u32); 3] = [(1920, 1080), (1366, 768), (390, 844)];

pub(crate) fn run(options: &cli::Browse) -> Outcome {
    let settings = settings(options)?;
    for_browsers(options)?;
    let proxies = Rig::proxies(&options.rig)?;
    Rig::check(&proxies, &options.rig.endpoints)?;
    let names =
        plan::endpoints_of(&options.preset, &options.rig.endpoints).map_err(Problem::usage)?;
    let assets = crate::page::assets::find(options.page.as_deref())?;
    let interrupt = Interrupt::listen();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let before = machine::describe();
    let page = Page::default();
    let emitter = Emitter::start(Config { assets, more: page.router(), ..Config::loopback() })
        .map_err(Problem::nothing)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Problem::nothing)?;
    // The browser first: without one there is no need to start proxies.
    let driver = runtime.block_on(Driver::start(options.browser)).map_err(Problem::nothing)?;
    let mut rig = Rig::start(&proxies, &names, emitter.address());
    rig.tap(emitter.address().ip(), options.rig.mss.0).map_err(Problem::nothing)?;
    let lanes = rig.lanes(&emitter, &emitter.address().ip().to_string(), options.rig.mss.0);
    page.tell(lanes.clone(), &rig, emitter.address());
    let mut store =
        options.out.as_deref().map(Store::create).transpose().map_err(Problem::usage)?;
    let mut plan = settings.plan(&lanes).map_err(Problem::usage)?;
    Rig::describe_links(&proxies, &mut plan);
    let session = settings.session.clone().unwrap_or_default();
    page.inbox.open(&session);
    let query = serde_urlencoded::to_string(settings.to_query()).map_err(Problem::usage)?;
    let address = format!("http://{}/?{query}", emitter.address());

    let mut runs = Vec::new();
    let mut browsers = BTreeMap::new();
    let mut progress = Progress::new(plan.run_count());
    let watch = Watch { inbox: &page.inbox, session: &session, plan: &plan, interrupt: &interrupt };
    let keep = |post: RunPost| -> Result<(), Problem> {
        progress.step(&format!("round {} {}", post.round + 1, post.cell));
        browsers.insert(options.browser.name().to_string(), post.browser);
        let run = post.arrivals.run;
        let record = RunRecord {
            cell: post.cell,
            round: post.round,
            position: post.position,
            ledger: ledger_of(&emitter, run),
            wire: page.wire(run),
            arrivals: post.arrivals,
            proxy: None,
        };
        let kept = store.as_mut().map_or(Ok(()), |store| store.keep(&record));
        runs.push(record);
        kept.map_err(Problem::nothing)
    };
    let end = runtime.block_on(async {
        let end = match driver.open(&address).await {
            Ok(()) => watch.until_finished(&driver, keep).await,
            Err(error) => Err(Problem::nothing(error)),
        };
        if let (Ok(_), Some(folder)) = (&end, &options.screenshots) {
            pictures(&driver, folder).await?;
        }
        driver.close().await;
        end
    });
    // What was measured before a browser died is kept and shown all the same.
    let all = plan.run_count();
    let (mut complete, mut problem) = match end {
        Ok(Finished { stopped: None, .. }) if runs.len() == all => (true, None),
        Ok(Finished { stopped: None, .. }) => {
            let came = runs.len();
            (false, Some(Problem::nothing(format!("{came} of {all} runs came from the page"))))
        }
        Ok(Finished { stopped: Some(why), .. }) => {
            (false, Some(Problem::nothing(format!("the page stopped early: {why}"))))
        }
        Err(problem) => (false, Some(problem)),
    };
    progress.finish();
    let mut native = native_plan(&settings, &lanes, options.native_runs)?;
    Rig::describe_links(&proxies, &mut native);
    if complete && options.native_runs > 0 {
        let mut reader = Native { rig: &rig, emitter: &emitter };
        let played = runner::play(&native, &mut reader, &interrupt, |run| {
            let kept = store.as_mut().map_or(Ok(()), |store| store.keep(&run));
            runs.push(run);
            kept
        });
        match played {
            Ok(whole) => complete = whole,
            Err(error) => {
                complete = false;
                problem = Some(Problem::nothing(error));
            }
        }
    }
    if interrupt.came() {
        // Whatever else went wrong went wrong because of it.
        problem = None;
        complete = false;
    }
    if runs.is_empty() {
        return problem.map_or(Ok(Exit::Interrupted), Err);
    }
    let document = document(Parts {
        plan: &plan,
        native: &native,
        settings: &settings,
        names: &names,
        runs: &runs,
        rig: &rig,
        browsers: &browsers,
        complete,
        started_at,
        machine: measure::results::Machine { load_after: machine::load(), ..before },
    })?;
    if let Some(Err(error)) = store.as_ref().map(|store| store.replace(&document)) {
        problem.get_or_insert(Problem::nothing(error));
    }
    commands::measure::show(&document, options.json)?;
    problem.map_or_else(|| Ok(commands::measure::exit(&document, options.strict)), Err)
}

/// Refuses presets that only the native reader can play: a browser reads at its own pace, and its
/// taps have one segment size.
fn for_browsers(options: &cli::Browse) -> Result<(), Problem> {
    let profiles = [ReaderProfile::recv()];
    let mss = options.rig.mss.0;
    let plan = Plan::preset(&options.preset, &options.rig.endpoints, &profiles, mss, 1, 0)
        .map_err(Problem::usage)?;
    let native_only = |cell: &measure::Cell| cell.request.slow.is_some() || cell.link.mss != mss;
    if plan.cells.iter().any(native_only) {
        return Err(Problem::usage(format!(
            "{} reads slowly or in several segment sizes, which no browser can be told to do: use `holdup measure --preset {0}`",
            options.preset
        )));
    }
    Ok(())
}

fn settings(options: &cli::Browse) -> Result<Settings, Problem> {
    if !PRESETS.contains(&options.preset.as_str()) {
        return Err(Problem::usage(UnknownPreset(options.preset.clone())));
    }
    let readers = options
        .readers
        .iter()
        .map(|name| Reader::from_name(name).ok_or_else(|| SettingsError::Reader(name.clone())))
        .collect::<Result<_, _>>()
        .map_err(Problem::usage)?;
    let settings = Settings {
        preset: options.preset.clone(),
        script: None,
        endpoints: options.rig.endpoints.clone(),
        readers,
        runs: options.runs,
        seed: options.seed.unwrap_or_else(|| fastrand::u64(..=u64::from(u32::MAX))),
        go: true,
        session: Some(format!("{:016x}", fastrand::u64(..))),
        engine: Some(options.browser.name().into()),
        ..Settings::default()
    };
    // The page reads them by the same rules, and would only say so on its own screen.
    let query = settings.to_query();
    Settings::from_query(query.iter().map(|(key, value)| (*key, value.as_str())))
        .map_err(Problem::usage)
}

/// The same endpoints and script for the native reader, which confirms the path without a browser.
fn native_plan(settings: &Settings, lanes: &Lanes, rounds: u32) -> Result<Plan, Problem> {
    let mut plan = settings.plan(lanes).map_err(Problem::usage)?;
    let first = plan.cells.first().map(|cell| cell.reader);
    plan.cells.retain(|cell| Some(cell.reader) == first);
    for cell in &mut plan.cells {
        cell.reader = Reader::Recv;
        cell.engine = None;
        // What the browser sent: a proxy may treat a plain client otherwise.
        cell.request.headers = HeaderSet::ChromiumFetch;
        cell.request.accept_encoding = Some(BROWSER_ENCODINGS.into());
    }
    Ok(Plan { rounds, ..plan })
}

struct Watch<'a> {
    inbox: &'a Inbox,
    session: &'a str,
    plan: &'a Plan,
    interrupt: &'a Interrupt,
}

impl Watch<'_> {
    /// Waits for the page's runs and its last word, while the browser lives.
    async fn until_finished(
        &self,
        driver: &Driver,
        mut keep: impl FnMut(RunPost) -> Result<(), Problem>,
    ) -> Result<Finished, Problem> {
        let longest = self.plan.cells.iter().map(|cell| cell.script.duration()).max();
        let patience = longest.unwrap_or_default() + RUN_EXTRA;
        let patience = Duration::from_micros(patience.as_micros() as u64) + PAGE_EXTRA;
        let mut heard = Instant::now();
        let mut checked = Instant::now();
        loop {
            let (posts, finished) = self.inbox.take(self.session);
            if !posts.is_empty() {
                heard = Instant::now();
            }
            for post in posts {
                keep(post)?;
            }
            if let Some(finished) = finished {
                return Ok(finished);
            }
            if self.interrupt.came() {
                return Ok(Finished { runs: 0, stopped: Some("interrupted".into()) });
            }
            if heard.elapsed() > patience {
                return Err(Problem::nothing(format!(
                    "the page posted no run for {patience:?}: its state is unknown"
                )));
            }
            if checked.elapsed() > Duration::from_secs(2) {
                driver.check().await.map_err(|error: DriverError| Problem::nothing(error))?;
                checked = Instant::now();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

async fn pictures(driver: &Driver, folder: &Path) -> Result<(), Problem> {
    let failed = |error: std::io::Error| Problem::nothing(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (width, height) in SIZES {
        for scheme in ["light", "dark"] {
            let png = driver.picture(width, height, scheme).await.map_err(Problem::nothing)?;
            std::fs::write(folder.join(format!("page-{width}x{height}-{scheme}.png")), png)
                .map_err(failed)?;
        }
    }
    Ok(())
}

struct Parts<'a> {
    plan: &'a Plan,
    native: &'a Plan,
    settings: &'a Settings,
    names: &'a [String],
    runs: &'a [RunRecord],
    rig: &'a Rig,
    browsers: &'a BTreeMap<String, Browser>,
    complete: bool,
    started_at: String,
    machine: measure::results::Machine,
}

fn document(parts: Parts<'_>) -> Result<Document, Problem> {
    let guards = Guards::default();
    let mut cells = parts.plan.cells.clone();
    if parts.native.rounds > 0 {
        cells.extend(parts.native.cells.iter().cloned());
    }
    // What reads the same endpoint stands together.
    let place = |cell: &measure::Cell| parts.names.iter().position(|name| *name == cell.endpoint);
    cells.sort_by_key(place);
    // Endpoints that did not start have their rows all the same.
    for name in parts.names.iter().filter(|name| parts.rig.address(name).is_none()) {
        for control in parts.plan.cells.iter().filter(|cell| cell.is_direct()) {
            cells.push(measure::Cell { endpoint: name.clone(), ..control.clone() });
        }
    }
    Ok(Document {
        schema: SCHEMA.into(),
        complete: parts.complete,
        command: std::env::args().collect(),
        seed: parts.settings.seed,
        started_at: parts.started_at,
        machine: parts.machine,
        cells: derive_cells(&cells, parts.runs, &parts.rig.endpoints, parts.browsers, &guards),
        guards,
        endpoints: parts.rig.endpoints.clone(),
    })
}
