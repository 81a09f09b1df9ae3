//! One engine's part: start it, open the page, take the runs that it posts.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use emitter::Emitter;
use measure::page::{Finished, Lanes, RunPost, Settings};
use measure::plan::Plan;
use measure::results::{Browser, RunRecord};
use measure::{Arrivals, Cell, Span, Stamp};
use proxies::Proxies;
use tokio::runtime::Runtime;

use crate::browser::{Driver, DriverError, Engine, Found, Quic, Service};
use crate::commands::browse::document::Joined;
use crate::exit::Problem;
use crate::interrupt::Interrupt;
use crate::page::routes::Page;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::runner::ledger_of;

/// What a run takes beside its script: clock, ledger, drawing, on a busy machine.
const RUN_EXTRA: Span = Span::millis(5_000);
/// What the page takes before its first run: loading, clock, warm-up.
const PAGE_EXTRA: Duration = Duration::from_secs(60);
/// How often a browser that posts nothing is asked whether it lives.
const CHECK: Duration = Duration::from_secs(2);
/// The sizes of screenshots: a projector, a laptop, a phone.
const SIZES: [(u32, u32); 3] = [(1920, 1080), (1366, 768), (390, 844)];

/// How an engine is to be had.
pub(super) enum Way<'a> {
    /// A driver of our own.
    Own(Found),
    /// Somebody's service.
    Service(&'a Service),
}

/// What became of an engine's part.
pub(super) enum Came {
    /// The whole plan was played.
    Whole,
    /// It began and did not come to its end. What was measured counts.
    Early(Problem),
    /// The browser could not be had: its row says why.
    Never(Problem),
    /// Somebody wants this to end.
    Interrupted,
}

/// What engines before this one played. Rounds are counted on, since the native reader's cells
/// are the same under every engine and stand close to their control in one round only.
#[derive(Clone, Copy)]
struct Earlier {
    runs: u32,
    rounds: u32,
}

/// What every engine plays on.
pub(super) struct Stage<'a> {
    pub(super) emitter: &'a Emitter,
    pub(super) page: &'a Page,
    pub(super) lanes: &'a Lanes,
    pub(super) proxies: &'a Proxies,
    pub(super) interrupt: &'a Interrupt,
    pub(super) runtime: &'a Runtime,
    /// The page's, as browsers reach it.
    pub(super) origin: String,
    pub(super) settings: &'a Settings,
    pub(super) screenshots: Option<&'a Path>,
    pub(super) rig: &'a Rig,
    /// Where browsers that can are told to speak HTTP/3; absent where no cell asks for it.
    pub(super) quic: Option<Quic>,
}

impl Stage<'_> {
    /// The plan of an engine: the same cells for each, under its name.
    pub(super) fn plan(&self, engine: Engine) -> Result<Plan, Problem> {
        let mut plan = self.settings_of(engine).plan(self.lanes).map_err(Problem::usage)?;
        Rig::describe_links(self.proxies, &mut plan);
        Ok(plan)
    }

    /// What an engine's page is told, its session apart.
    fn settings_of(&self, engine: Engine) -> Settings {
        Settings {
            engine: Some(engine.name().into()),
            quic: self.quic.is_some() && engine.speaks_quic(),
            ..self.settings.clone()
        }
    }

    /// Plays an engine's plan; runs go to `joined` as they come.
    pub(super) fn play(
        &self,
        engine: Engine,
        way: &Way<'_>,
        plan: &Plan,
        progress: &mut Progress,
        joined: &mut Joined,
    ) -> Came {
        self.runtime.block_on(async {
            let start = async {
                match way {
                    Way::Own(found) => {
                        let own_windows = self.screenshots.is_some();
                        Driver::start(engine, found, own_windows, self.quic.as_ref()).await
                    }
                    Way::Service(service) => Driver::connect(engine, service).await,
                }
            };
            let driver = tokio::select! {
                driver = start => driver,
                () = self.interrupted() => return Came::Interrupted,
            };
            let driver = match driver {
                Ok(driver) => driver,
                Err(error) => return Came::Never(Problem::nothing(error)),
            };
            let came = self.attend(engine, &driver, plan, progress, joined).await;
            driver.close().await;
            came.unwrap_or_else(Came::Early)
        })
    }

    async fn interrupted(&self) {
        while !self.interrupt.came() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn attend(
        &self,
        engine: Engine,
        driver: &Driver,
        plan: &Plan,
        progress: &mut Progress,
        joined: &mut Joined,
    ) -> Result<Came, Problem> {
        let session = format!("{:016x}", fastrand::u64(..));
        let settings = Settings { session: Some(session.clone()), ..self.settings_of(engine) };
        let query = serde_urlencoded::to_string(settings.to_query()).map_err(Problem::usage)?;
        self.page.inbox.open(&session);
        let address = format!("{}/?{query}", self.origin);
        if let Err(error) = driver.open(&address).await {
            return Ok(Came::Never(Problem::nothing(error)));
        }
        let before = joined.runs.len();
        let earlier = Earlier { runs: before as u32, rounds: joined.parts * plan.rounds };
        let version = driver.version();
        let cell_of = |id: &str| plan.cells.iter().find(|cell| cell.id() == id);
        let keep = |post: RunPost| {
            progress.step(&format!("round {} {}", post.round + 1, post.cell));
            let own = post.browser.version.clone();
            let version = version.clone().unwrap_or(own);
            let browser = Browser { version, ..post.browser.clone() };
            joined.browsers.insert(engine.name().to_string(), browser);
            let cell = cell_of(&post.cell);
            joined.keep(self.record(post, earlier, cell))
        };
        let Some(finished) = self.until_finished(driver, &session, plan, keep).await? else {
            return Ok(Came::Interrupted);
        };
        if let Some(why) = finished.stopped {
            return Err(Problem::nothing(format!(
                "the page in {} stopped early: {why}",
                engine.name()
            )));
        }
        let (came, all) = (joined.runs.len() - before, plan.page_run_count());
        if came != all {
            let name = engine.name();
            return Err(Problem::nothing(format!("{came} of {all} runs came from {name}")));
        }
        if let Some(folder) = self.screenshots {
            pictures(engine, driver, folder).await?;
        }
        Ok(Came::Whole)
    }

    /// Where a cell's tap listens.
    fn origin_of(&self, cell: &Cell) -> Option<&str> {
        let lane = self.lanes.lanes.iter().find(|lane| lane.endpoint.name == cell.endpoint)?;
        lane.origin(cell)
    }

    /// Why a tap cannot tell of HTTP/3, with what passed it meanwhile.
    fn sealed_by_quic(&self, post: &RunPost, cell: &Cell) -> String {
        let Arrivals { call, ended, .. } = post.arrivals;
        let passed = self.rig.passed(&cell.endpoint);
        let passed = passed.map_or(Vec::new(), |passed| passed.between(call, ended));
        let answers = passed.iter().filter(|datagram| datagram.answer).count();
        format!("QUIC seals all but sizes and times: {answers} datagrams passed to the browser")
    }

    /// A posted run with the other sides of its stream.
    fn record(&self, post: RunPost, earlier: Earlier, cell: Option<&Cell>) -> RunRecord {
        let run = post.arrivals.run;
        let cell = cell.filter(|cell| cell.reader.in_browser());
        let shared = |cell: &&Cell| cell.stream.is_some() && cell.request.is_tls();
        let wire = match cell {
            Some(cell) if cell.request.is_quic() => Err(Some(self.sealed_by_quic(&post, cell))),
            Some(cell) if shared(&cell) => Err(Some(format!("{} {TOGETHER}", cell.concurrency))),
            _ => self.page.wire(run, cell.and_then(|cell| self.origin_of(cell))),
        };
        let (wire, wire_unknown) = match wire {
            Ok(wire) if comes_too_late(&wire, &post.arrivals) => (None, Some(TOO_LATE.into())),
            Ok(wire) => (Some(wire), None),
            Err(why) => (None, why),
        };
        RunRecord {
            cell: post.cell,
            round: post.round + earlier.rounds,
            position: post.position + earlier.runs,
            ledger: ledger_of(self.emitter, run),
            wire,
            arrivals: post.arrivals,
            wire_unknown,
            proxy: None,
        }
    }

    /// Waits for the page's runs and its last word, while the browser lives; `None` when
    /// somebody wants this to end.
    async fn until_finished(
        &self,
        driver: &Driver,
        session: &str,
        plan: &Plan,
        mut keep: impl FnMut(RunPost) -> Result<(), Problem>,
    ) -> Result<Option<Finished>, Problem> {
        let longest = plan.cells.iter().map(|cell| cell.script.duration()).max();
        let patience = longest.unwrap_or_default() + RUN_EXTRA;
        let patience = Duration::from_micros(patience.as_micros() as u64) + PAGE_EXTRA;
        let mut heard = Instant::now();
        let mut checked = Instant::now();
        loop {
            let (posts, finished) = self.page.inbox.take(session);
            if !posts.is_empty() {
                heard = Instant::now();
            }
            for post in posts {
                keep(post)?;
            }
            if finished.is_some() {
                return Ok(finished);
            }
            if self.interrupt.came() {
                return Ok(None);
            }
            if heard.elapsed() > patience {
                return Err(Problem::nothing(format!(
                    "the page posted no run for {patience:?}: its state is unknown"
                )));
            }
            if checked.elapsed() > CHECK {
                driver.check().await.map_err(|error: DriverError| Problem::nothing(error))?;
                checked = Instant::now();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Why a tap cannot tell when streams share a connection.
const TOGETHER: &str =
    "streams at once shared the connection: under TLS nothing tells whose record is whose";

/// Why a tap's side does not stand beside a page's.
const TOO_LATE: &str = "by the sizes of the TLS records a frame passed the tap after the page had it: they were joined wrongly";

/// Whether a tap's side has frames pass after the page had them. A tap that reads the stream itself
/// never does; sizes may fit a wrong order.
fn comes_too_late(wire: &Arrivals, page: &Arrivals) -> bool {
    let uncertainty = page.clock_uncertainty();
    let mut came = page.frames().filter_map(|(delivery, own)| Some((own.seq?, delivery.at)));
    let passed: BTreeMap<u32, Stamp> =
        wire.frames().filter_map(|(delivery, own)| Some((own.seq?, delivery.at))).collect();
    came.any(|(seq, at)| passed.get(&seq).is_some_and(|passed| *passed > at + uncertainty))
}

async fn pictures(engine: Engine, driver: &Driver, folder: &Path) -> Result<(), Problem> {
    let failed = |error: std::io::Error| Problem::nothing(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (width, height) in SIZES {
        for scheme in ["light", "dark"] {
            let picture = driver.picture(width, height, scheme).await.map_err(Problem::nothing)?;
            let name = picture_name(engine, picture.width, picture.height, scheme);
            std::fs::write(folder.join(name), picture.png).map_err(failed)?;
        }
    }
    Ok(())
}

/// Chromium's are the ones that documents show, so their names are the short ones.
fn picture_name(engine: Engine, width: u64, height: u64, scheme: &str) -> String {
    match engine {
        Engine::Chromium => format!("page-{width}x{height}-{scheme}.png"),
        engine => format!("page-{}-{width}x{height}-{scheme}.png", engine.name()),
    }
}
