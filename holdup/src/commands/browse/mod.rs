//! `holdup browse`: the same cells by the page in real browsers, with the tap.
//!
//! Each engine plays the whole plan by itself, one engine after the other: [`stage`] is one
//! engine's part. What all of them posted becomes one [`document`]. An endpoint of one's own
//! instead of lanes is [`own`]'s.

mod document;
mod own;
mod stage;
mod story;

use std::net::SocketAddr;
use std::time::SystemTime;

use emitter::{Config, Emitter};
use measure::Reader;
use measure::page::{Settings, SettingsError};
use measure::plan::{NATIVE_PRESETS, PRESETS, Plan, ReaderProfile, UnknownPreset};
use measure::transport::ClientProtocol;

use crate::browser::{Engine, Places, Quic};
use crate::commands::demo::{host, near};
use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::page::routes::Page;
use crate::progress::Progress;
use crate::rig::{Rig, any_port};
use crate::secured::Secured;
use crate::store::Store;
use crate::{cli, commands, machine, own_config};

use document::Joined;
use stage::{Came, Stage, Way};

pub(crate) fn run(options: &cli::Browse) -> Outcome {
    if let Some(target) = &options.own.target {
        return own::run(options, target);
    }
    let settings = match &options.story {
        Some(name) => story::settings(name, options)?,
        None => settings(options)?,
    };
    for_browsers(&settings, options.rig.mss.0)?;
    reachable(options)?;
    let proxies = Rig::proxies(&options.rig)?;
    Rig::check(&proxies, &settings.endpoints)?;
    let names = settings.names().map_err(Problem::usage)?;
    Rig::check(&proxies, &names)?;
    let assets = crate::page::assets::find(options.page.as_deref())?;
    let interrupt = Interrupt::listen();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let before = machine::describe();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Problem::nothing)?;
    // The browsers first: without one there is no need to start proxies.
    if let Some(service) = &options.webdriver {
        runtime.block_on(service.check()).map_err(Problem::nothing)?;
    }
    let ways = ways(options)?;
    let page = Page::default();
    let listen = options.listen.unwrap_or_else(any_port);
    let over_https = options.page_over == cli::Scheme::Https;
    let secured = (over_https || speaks_tls(&settings)?).then(Secured::in_memory).transpose()?;
    let tls = secured.as_ref().map(|secured| secured.port(Some(listen))).transpose()?;
    let pins = secured.as_ref().zip(tls.as_ref()).map(|(secured, tls)| secured.pins(tls));
    let emitter =
        Emitter::start(Config { listen, tls, assets, more: page.router(), ..Config::loopback() })
            .map_err(Problem::nothing)?;
    let address = emitter.address();
    let here = |address: SocketAddr| SocketAddr::new(near(address.ip()), address.port());
    let with = emitter.tls_address().map(here).zip(secured.as_ref());
    let mut rig = Rig::start_secured(&proxies, &names, here(address), with);
    rig.tap(address.ip(), options.rig.mss.0).map_err(Problem::nothing)?;
    // Where the browsers' flags are ours to set.
    let over_quic = if options.webdriver.is_none() { over_quic(&settings)? } else { Vec::new() };
    rig.tap_datagrams(&over_quic).map_err(Problem::nothing)?;
    let quic = pins.filter(|_| !over_quic.is_empty());
    let quic = quic.map(|pins| Quic { origins: rig.over_quic(), pins });
    let host = host(options.public_host.as_deref(), address.ip());
    let lanes = rig.lanes(&emitter, &host, options.rig.mss.0);
    page.tell(lanes.clone(), &rig, &emitter, here(address), secured.as_ref());
    let store = options.out.as_deref().map(Store::create).transpose().map_err(Problem::usage)?;

    let mut joined = Joined::new(store);
    let stage = Stage {
        emitter: &emitter,
        page: &page,
        lanes: &lanes,
        proxies: &proxies,
        interrupt: &interrupt,
        runtime: &runtime,
        origin: match emitter.tls_address().filter(|_| over_https) {
            Some(secure) => format!("https://{host}:{}", secure.port()),
            None => format!("http://{host}:{}", address.port()),
        },
        settings: &settings,
        screenshots: options.screenshots.as_deref(),
        rig: &rig,
        quic,
    };
    let mut all = 0;
    for (engine, way) in &ways {
        if way.is_ok() {
            all += stage.plan(*engine)?.page_run_count();
            tell_skipped(&stage, *engine, &settings)?;
        }
    }
    let mut progress = Progress::new(all);
    let alone = ways.len() == 1;
    let around = |interrupted| document::Around {
        seed: settings.seed,
        started_at: started_at.clone(),
        machine: measure::results::Machine { load_after: machine::load(), ..before.clone() },
        names: &names,
        rig: &rig,
        interrupted,
    };
    for (engine, way) in ways {
        let plan = stage.plan(engine)?;
        let came = match way {
            Ok(way) => stage.play(engine, &way, &plan, &mut progress, &mut joined),
            Err(why) => Came::Never(why),
        };
        if let (Came::Never(problem) | Came::Early(problem), false) = (&came, alone) {
            eprintln!("{problem}");
        }
        joined.take(&plan, came);
        if interrupt.came() {
            break;
        }
        // However this ends, a document with what came so far stands.
        joined.write(&joined.document(around(true)));
    }
    progress.finish();
    if interrupt.came() && joined.runs.is_empty() {
        return Ok(Exit::Interrupted);
    }
    if joined.runs.is_empty() {
        let only = alone.then(|| joined.only_problem()).flatten();
        return Err(only.unwrap_or_else(|| Problem::nothing("none of these browsers could be run")));
    }
    let document = joined.document(around(interrupt.came()));
    joined.write(&document);
    commands::measure::show(&document, options.json)?;
    match joined.problem {
        // Whatever else went wrong went wrong because of it.
        _ if interrupt.came() => Ok(Exit::Interrupted),
        Some(problem) if alone => Err(problem),
        Some(_) => Err(Problem::nothing("not every browser came to the end of its plan")),
        None => {
            let exit = match commands::measure::exit(&document, options.strict) {
                Exit::Done | Exit::Void if own_config::only_refused(&options.rig, &document) => {
                    Exit::Nothing
                }
                exit => exit,
            };
            Ok(story::tell(&settings, &document, options.json, exit))
        }
    }
}

/// Each engine with how it is to be had, or why it is not.
type Ways<'a> = Vec<(Engine, Result<Way<'a>, Problem>)>;

/// How each engine is to be had, or why it is not. When none is, there is nothing to do.
fn ways(options: &cli::Browse) -> Result<Ways<'_>, Problem> {
    let engines = Engine::chosen(&options.browser);
    let places = Places::of_user();
    let way = |engine| match &options.webdriver {
        Some(service) => Ok(Way::Service(service)),
        None => places.find(engine).map(Way::Own).map_err(Problem::nothing),
    };
    let mut ways: Ways<'_> = engines.into_iter().map(|engine| (engine, way(engine))).collect();
    if ways.iter().any(|(_, way)| way.is_ok()) {
        return Ok(ways);
    }
    // The last one's line is the command's own.
    let last = ways.pop();
    for (_, way) in &ways {
        if let Err(problem) = way {
            eprintln!("{problem}");
        }
    }
    match last {
        Some((_, Err(problem))) => Err(problem),
        _ => Err(Problem::usage("--browser names none")),
    }
}

/// Refuses a service on another machine that could not reach the page.
fn reachable(options: &cli::Browse) -> Result<(), Problem> {
    match &options.webdriver {
        Some(service) if !service.is_here() && options.listen.is_none() => {
            Err(Problem::usage(format!(
                "{} is another machine, and the page would be served on this one's loopback only: add --listen 0.0.0.0:0 --public-host NAME, with the name or address by which it reaches this machine",
                service.shown()
            )))
        }
        _ => Ok(()),
    }
}

/// The cells of a browser, before it is known what runs: the endpoints by the protocols that they
/// are asked over.
fn asked(settings: &Settings) -> Result<Vec<(String, Option<ClientProtocol>)>, Problem> {
    if let Some(protocol) = settings.protocol {
        let names = settings.names().map_err(Problem::usage)?;
        return Ok(names.into_iter().map(|name| (name, Some(protocol))).collect());
    }
    let profiles = [ReaderProfile::browser(Reader::Fetch, None)];
    let plan = Plan::preset(&settings.preset, &settings.endpoints, &profiles, None, 1, 0)
        .map_err(Problem::usage)?;
    let cells = plan.cells.into_iter();
    Ok(cells.map(|cell| (cell.endpoint.clone(), cell.request.protocol())).collect())
}

/// Whether any cell of a browser asks whoever has to show a certificate.
fn speaks_tls(settings: &Settings) -> Result<bool, Problem> {
    let secure = |own: Option<ClientProtocol>| own.is_some_and(ClientProtocol::is_secure);
    Ok(asked(settings)?.iter().any(|(_, protocol)| secure(*protocol)))
}

/// The endpoints that are asked over HTTP/3.
fn over_quic(settings: &Settings) -> Result<Vec<String>, Problem> {
    let mut names: Vec<String> = Vec::new();
    for (name, protocol) in asked(settings)? {
        if protocol == Some(ClientProtocol::Http3) && !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Says of an engine that the part of the plan over HTTP/3 is none of its.
fn tell_skipped(stage: &Stage<'_>, engine: Engine, settings: &Settings) -> Result<(), Problem> {
    let lanes = over_quic(settings)?.len();
    let why = match &stage.quic {
        _ if !engine.speaks_quic() => "it has none",
        None => "only a browser that is started here can be told to speak it",
        Some(_) => return Ok(()),
    };
    if lanes > 0 {
        let lanes = if lanes == 1 { "1 lane".into() } else { format!("{lanes} lanes") };
        eprintln!("SKIPPED({}: HTTP/3, {lanes}: {why})", engine.name());
    }
    Ok(())
}

/// Refuses presets that only the native reader can play: a browser reads at its own pace.
fn for_browsers(settings: &Settings, mss: Option<u32>) -> Result<(), Problem> {
    let profiles = [ReaderProfile::recv()];
    let plan = Plan::preset(&settings.preset, &settings.endpoints, &profiles, mss, 1, 0)
        .map_err(Problem::usage)?;
    if plan.cells.iter().any(|cell| cell.request.slow.is_some()) {
        return Err(Problem::usage(format!(
            "{} reads slowly, which no browser can be told to do: use `holdup measure --preset {0}`",
            settings.preset
        )));
    }
    Ok(())
}

/// What every engine's page is told; its name and session are added for each.
fn settings(options: &cli::Browse) -> Result<Settings, Problem> {
    if NATIVE_PRESETS.contains(&options.preset.as_str()) {
        return Err(Problem::usage(format!(
            "{} puts prompts to a chat route, and a page reads streams: use `holdup measure --preset {0}`",
            options.preset
        )));
    }
    if !PRESETS.contains(&options.preset.as_str()) {
        return Err(Problem::usage(UnknownPreset(options.preset.clone())));
    }
    let readers = options
        .readers
        .iter()
        .map(|name| Reader::from_name(name).ok_or_else(|| SettingsError::Reader(name.clone())))
        .collect::<Result<Vec<Reader>, _>>()
        .map_err(Problem::usage)?;
    if readers.iter().all(|reader| !reader.in_browser()) {
        return Err(Problem::usage(
            "recv reads without a browser: name another reader beside it, or use `holdup measure`",
        ));
    }
    let settings = Settings {
        preset: options.preset.clone(),
        script: options.script.clone(),
        endpoints: own_config::endpoints(&options.rig),
        readers,
        protocol: options.protocol,
        runs: options.runs,
        seed: cli::seed(options.seed),
        go: true,
        ..Settings::default()
    };
    // The page reads them by the same rules, and would only say so on its own screen.
    let query = settings.to_query();
    Settings::from_query(query.iter().map(|(key, value)| (*key, value.as_str())))
        .map_err(Problem::usage)
}
