//! `holdup browse --target`: an endpoint of one's own, its answers seen from the wire and from
//! each browser, by the page that a person would use.

use std::time::{Duration, Instant};

use emitter::{Config, Emitter};
use serde_json::{Value, json};
use url::Url;

use super::stage::Way;
use super::{reachable, ways};
use crate::browser::{Driver, Engine};
use crate::commands::demo::host;
use crate::exit::{Exit, Outcome, Problem};
use crate::gateway::{Gateway, Opening, Results};
use crate::interrupt::Interrupt;
use crate::probe::cli::Version;
use crate::probe::secret::{self, Secrets};
use crate::rig::any_port;
use crate::table;
use crate::target::Target;
use crate::{cli, out};

/// What a browser takes beside the answers: start, load, clock, on a busy machine.
const EXTRA: Duration = Duration::from_secs(60);
/// How long one answer may take: what the gateway allows, and the clock before it.
const ANSWER: Duration = Duration::from_secs(310);
/// How often a browser that posts nothing is asked whether it lives.
const CHECK: Duration = Duration::from_secs(2);
/// Largest body that is taken from a file: what the gateway takes of a page, less its own words.
const MAX_BODY: u64 = 512 << 10;

/// What became of one engine's part.
type Came = Result<Results, Problem>;

pub(super) fn run(options: &cli::Browse, target: &Url) -> Outcome {
    reachable(options)?;
    let own = &options.own;
    let http = Version::http(own.http);
    if own.http.is_some() && own.way == cli::OwnWay::Direct {
        return Err(Problem::usage(
            "--http is what the gateway speaks: with --way direct the browsers choose by themselves",
        ));
    }
    secret::check_url(&Target::resolve(target.as_str())?.spoken(http, None)?)?;
    let mut secrets =
        Secrets::read(own.key_env.as_deref(), own.key_file.as_deref(), &own.key_header)?;
    let plan = plan(options, target, &secrets)?;
    if let Some(prompt) = &own.prompt {
        secrets.hide_prompt(prompt);
    }
    let assets = crate::page::assets::find(options.page.as_deref())?;
    let interrupt = Interrupt::listen();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Problem::nothing)?;
    if let Some(service) = &options.webdriver {
        runtime.block_on(service.check()).map_err(Problem::nothing)?;
    }
    let ways = ways(options)?;
    let gateway = Gateway::default();
    let listen = options.listen.unwrap_or_else(any_port);
    let emitter =
        Emitter::start(Config { listen, assets, more: gateway.router(), ..Config::loopback() })
            .map_err(Problem::nothing)?;
    let address = emitter.address();
    let named = [target.clone()];
    let page = gateway
        .open(&Opening {
            address,
            host: &host(options.public_host.as_deref(), address.ip()),
            named: &named,
            own: &[],
            // A browser on another machine was asked for by name.
            to_others: options.webdriver.as_ref().is_some_and(|service| !service.is_here()),
            cacert: own.cacert.as_deref(),
            http,
        })
        .map_err(Problem::nothing)?;
    let stage = Stage { gateway: &gateway, page: &page, plan: &plan, interrupt: &interrupt };
    let mut rows: Vec<(Engine, Came)> = Vec::new();
    for (engine, way) in ways {
        let over = own.http.map_or("", |version| match version {
            Version::One => ", over HTTP/1.1",
            Version::Two => ", over HTTP/2",
            Version::Three => ", over HTTP/3",
        });
        eprintln!("{}: {} of {}{over}", engine.name(), answers(options.runs), shown(target));
        let came = way.and_then(|way| runtime.block_on(stage.play(engine, &way, options.runs)));
        if interrupt.came() {
            return Ok(Exit::Interrupted);
        }
        rows.push((engine, came));
    }
    show(&rows, options, &secrets)?;
    let early = rows.iter().filter(|(_, came)| ended_early(came)).count();
    match rows.as_slice() {
        [(_, only)] if early == 1 => Err(Problem::nothing(secrets.clean(&why(only)))),
        _ if early > 0 => Err(Problem::nothing("not every browser came to the end of its plan")),
        _ if rows.iter().all(|(_, came)| no_answer(came)) => {
            Err(Problem::nothing("none of the answers was one that could be measured"))
        }
        _ => Ok(Exit::Done),
    }
}

fn answers(count: u32) -> String {
    if count == 1 { "1 answer".into() } else { format!("{count} answers") }
}

/// Without the query, which may be secret.
fn shown(target: &Url) -> String {
    format!("{}{}", target.origin().ascii_serialization(), target.path())
}

/// What the page is to ask, as its form's fields.
fn plan(options: &cli::Browse, target: &Url, secrets: &Secrets) -> Result<Value, Problem> {
    let own = &options.own;
    let mut plan = json!({
        "url": target.as_str(),
        "runs": options.runs,
        "direct": own.way == cli::OwnWay::Direct,
        "model": own.model.as_deref().unwrap_or_default(),
        "shape": own.shape.map(|shape| shape.name()).unwrap_or_default(),
        "key_header": own.key_header,
    });
    match (&own.prompt, &own.body_file) {
        // The page takes a prompt a line.
        (Some(prompt), _) => {
            plan["prompt"] = prompt.split_whitespace().collect::<Vec<_>>().join(" ").into();
        }
        (None, Some(file)) => {
            let named =
                |why: String| Problem::usage(format!("--body-file {}: {why}", file.display()));
            let size = std::fs::metadata(file).map_err(|error| named(error.to_string()))?.len();
            if size > MAX_BODY {
                return Err(named(format!("{size} bytes are more than a page takes (512 KB)")));
            }
            let body = std::fs::read_to_string(file).map_err(|error| named(error.to_string()))?;
            plan["body"] = body.into();
        }
        (None, None) => {
            return Err(Problem::usage(
                "--target without a question: give --prompt or --body-file",
            ));
        }
    }
    let fields = own.header.iter().map(|text| secret::field(text));
    let fields: Vec<(String, String)> = fields.collect::<Result<_, _>>()?;
    let lines: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    plan["headers"] = lines.join("\n").into();
    if let Some((_, value)) = &secrets.field {
        let scheme = own.key_header.split_once(':').map_or("", |(_, scheme)| scheme.trim());
        let key = value.strip_prefix(scheme).unwrap_or(value).trim_start();
        plan["key"] = key.into();
    }
    Ok(plan)
}

struct Stage<'a> {
    gateway: &'a Gateway,
    /// The page's address.
    page: &'a str,
    plan: &'a Value,
    interrupt: &'a Interrupt,
}

impl Stage<'_> {
    /// Opens the page in an engine and waits for what it posts.
    async fn play(&self, engine: Engine, way: &Way<'_>, runs: u32) -> Came {
        let driver = match way {
            Way::Own(found) => Driver::start(engine, found, false, None).await,
            Way::Service(service) => Driver::connect(engine, service).await,
        };
        let driver = driver.map_err(Problem::nothing)?;
        let came = self.attend(engine, &driver, runs).await;
        driver.close().await;
        came
    }

    async fn attend(&self, engine: Engine, driver: &Driver, runs: u32) -> Came {
        let name = self.gateway.offer(self.plan.clone()).map_err(Problem::nothing)?;
        driver.open(&format!("{}?go={name}", self.page)).await.map_err(Problem::nothing)?;
        let limit = EXTRA + ANSWER * runs;
        let (begun, mut checked) = (Instant::now(), Instant::now());
        loop {
            if let Some(mut came) = self.gateway.came() {
                if let Some(version) = driver.version() {
                    // The browser's full version, as its driver tells it.
                    came.document["browser"]["version"] = version.into();
                }
                return Ok(came);
            }
            if self.interrupt.came() {
                return Err(Problem::nothing("interrupted"));
            }
            if begun.elapsed() > EXTRA && !self.gateway.is_taken() {
                return Err(Problem::nothing(format!(
                    "the page did not open in {}: build it with `cargo xtask page`, or see what --page names",
                    engine.name()
                )));
            }
            if begun.elapsed() > limit {
                let name = engine.name();
                return Err(Problem::nothing(format!("the page in {name} posted nothing")));
            }
            if checked.elapsed() > CHECK {
                driver.check().await.map_err(Problem::nothing)?;
                checked = Instant::now();
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn ended_early(came: &Came) -> bool {
    came.as_ref().map_or(true, |results| results.failed.is_some())
}

/// Whether none of the answers has figures.
fn no_answer(came: &Came) -> bool {
    let target = came.as_ref().map_or(&Value::Null, |came| &came.document["targets"][0]);
    count(target, "answers") == count(target, "failed")
}

/// Why a part ended early, in one line.
fn why(came: &Came) -> String {
    match came {
        Ok(results) => {
            let why = results.failed.as_deref().unwrap_or_default();
            why.lines().collect::<Vec<_>>().join(" ")
        }
        Err(problem) => problem.to_string(),
    }
}

fn show(rows: &[(Engine, Came)], options: &cli::Browse, secrets: &Secrets) -> Result<(), Problem> {
    let engines: Vec<Value> = rows
        .iter()
        .map(|(engine, came)| {
            let failed = ended_early(came).then(|| why(came));
            let document = came.as_ref().map_or(&Value::Null, |results| &results.document);
            json!({ "engine": engine.name(), "failed": failed, "document": document })
        })
        .collect();
    let document = json!({ "schema": "holdup-own-browse/1", "engines": engines });
    let text = secrets.clean(&format!("{document:#}\n"));
    if let Some(folder) = &options.out {
        std::fs::create_dir_all(folder)
            .map_err(|error| Problem::nothing(format!("{}: {error}", folder.display())))?;
        out::put(&folder.join("own.json"), &text)?;
    }
    let table = secrets.clean(&table_of(rows));
    if options.json {
        out::print(&text);
        eprint!("{table}");
    } else {
        out::print(&table);
    }
    Ok(())
}

/// Engine by engine: both sides, and whose side it is.
fn table_of(rows: &[(Engine, Came)]) -> String {
    let mut table = table::new();
    table.set_header([
        "engine",
        "answers",
        "first text, wire",
        "page",
        "events per read",
        "per delivery",
        "held by",
    ]);
    let mut sentences = String::new();
    for (engine, came) in rows {
        let name = engine.name().to_string();
        let target = came.as_ref().ok().map(|results| &results.document["targets"][0]);
        let Some(target) = target.filter(|target| target.is_object()) else {
            table.add_row([name.as_str(), "–", "–", "–", "–", "–", "failed"]);
            sentences.push_str(&format!("{name}: {}\n", why(came)));
            continue;
        };
        let ms = |side: &str| {
            let median = target[side]["median"].as_i64();
            median.map_or("–".into(), |us| measure::Span(us).to_string())
        };
        let ratio = |name: &str| {
            let ratio = target[name].as_f64();
            ratio.map_or("–".into(), |ratio| measure::units::decimal(ratio, 2))
        };
        let (all, failed) = (count(target, "answers"), count(target, "failed"));
        table.add_row([
            name.clone(),
            if failed == 0 { all.to_string() } else { format!("{all}, {failed} failed") },
            ms("wire_ttft_us"),
            ms("page_ttft_us"),
            ratio("events_per_read"),
            ratio("events_per_delivery"),
            target["side"].as_str().unwrap_or("–").to_string(),
        ]);
        for said in [&target["because"], &results_trouble(came)] {
            if let Some(said) = said.as_str() {
                sentences.push_str(&format!("{name}: {said}\n"));
            }
        }
        if ended_early(came) {
            sentences.push_str(&format!("{name}: {}\n", why(came)));
        }
    }
    format!("{}\n{sentences}", table::lines(&table))
}

fn count(target: &Value, name: &str) -> u64 {
    target[name].as_u64().unwrap_or_default()
}

/// What is wrong with the last answer that was none.
fn results_trouble(came: &Came) -> Value {
    let answers = came.as_ref().ok().and_then(|results| results.document["answers"].as_array());
    let mut troubles = answers.into_iter().flatten().rev().map(|answer| &answer["trouble"]);
    troubles.find(|trouble| trouble.is_string()).cloned().unwrap_or_default()
}
