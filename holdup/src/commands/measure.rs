//! `holdup measure`: the native matrix.

use std::collections::BTreeMap;
use std::time::SystemTime;

use emitter::{Config, Emitter};
use measure::cell::HeaderSet;
use measure::guards::Guards;
use measure::plan::{
    BROWSER_ENCODINGS, BROWSER_PRESETS, NATIVE_PRESETS, PRESETS, Plan, ReaderProfile,
};
use measure::results::{Document, Endpoint, RunRecord, SCHEMA, derive_cells};
use measure::transport::ClientProtocol;
use measure::verdict::Verdict;

use crate::cli;
use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::out::say;
use crate::rig::Rig;
use crate::runner::{self, Native};
use crate::secured::Secured;
use crate::store::Store;
use crate::{machine, own_config, table, upstream};

pub(crate) fn run(options: &cli::Measure) -> Outcome {
    options.files.check()?;
    if let (Some(url), Some(body)) = (&options.service.upstream, &options.service.body) {
        return upstream::run(options, url, body);
    }
    let preset = options.preset.as_str();
    if !PRESETS.contains(&preset) && !NATIVE_PRESETS.contains(&preset) {
        let unknown = measure::plan::UnknownPreset(preset.into());
        return Err(Problem::usage(format!("{unknown}, {}", NATIVE_PRESETS.join(", "))));
    }
    if BROWSER_PRESETS.contains(&options.preset.as_str()) {
        return Err(Problem::usage(format!(
            "{} is about a browser's own page: use `holdup browse --preset {0}`",
            options.preset
        )));
    }
    let headers = cli::headers(&options.headers)?;
    let proxies = Rig::proxies(&options.rig)?;
    Rig::check(&proxies, &options.rig.endpoints)?;
    let profile = ReaderProfile {
        headers,
        // The cell says what is sent, also where the header set brings it along.
        accept_encoding: options
            .accept_encoding
            .clone()
            .or_else(|| (headers != HeaderSet::Plain).then(|| BROWSER_ENCODINGS.to_string())),
        ..ReaderProfile::recv()
    };
    let seed = cli::seed(options.seed);
    let asked = &own_config::endpoints(&options.rig);
    let mut plan =
        Plan::preset(&options.preset, asked, &[profile], options.rig.mss.0, options.runs, seed)
            .map_err(Problem::usage)?;
    Rig::describe_links(&proxies, &mut plan);
    let interrupt = Interrupt::listen();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let before = machine::describe();
    let mut spoken = plan.cells.iter().filter_map(|cell| cell.request.protocol());
    let tls = spoken.any(ClientProtocol::is_secure);
    let secured = tls.then(Secured::in_memory).transpose()?;
    let port = secured.as_ref().map(|secured| secured.port(None)).transpose()?;
    let config = Config { tls: port, ..Config::loopback() };
    let emitter = Emitter::start(config).map_err(Problem::nothing)?;
    let with = emitter.tls_address().zip(secured.as_ref());
    let rig = Rig::start_secured(&proxies, &plan.endpoints(), emitter.address(), with);
    let mut store =
        options.out.as_deref().map(Store::create).transpose().map_err(Problem::usage)?;
    let guards = Guards::default();
    let describe = |runs: &[RunRecord], complete| Document {
        schema: SCHEMA.into(),
        complete,
        command: std::env::args().collect(),
        seed,
        started_at: started_at.clone(),
        machine: measure::results::Machine { load_after: machine::load(), ..before.clone() },
        cells: derive_cells(&plan.cells, runs, &rig.endpoints, &BTreeMap::new(), &guards),
        guards: guards.clone(),
        endpoints: rig.endpoints.clone(),
    };
    let mut runs: Vec<RunRecord> = Vec::new();
    let mut round = None;
    let mut native = Native { rig: &rig, emitter: &emitter, secured: secured.as_ref() };
    let played = runner::play(&rig.playable(&plan), &mut native, &interrupt, |run| {
        // However this ends, a document with what came before the present round stands.
        let written = match &store {
            Some(store) if round != Some(run.round) => store.replace(&describe(&runs, false)),
            _ => Ok(()),
        };
        round = Some(run.round);
        let kept = store.as_mut().map_or(Ok(()), |store| store.keep(&run));
        runs.push(run);
        written.and(kept)
    });
    // A full disk ends the measuring; what was measured is shown all the same.
    let (complete, mut problem) = match played {
        Ok(complete) => (complete, None),
        Err(error) => (false, Some(Problem::nothing(error))),
    };
    let document = describe(&runs, complete);
    if let Some(Err(error)) = store.as_ref().map(|store| store.replace(&document)) {
        problem.get_or_insert(Problem::nothing(error));
    }
    show(&document, options.json)?;
    options.files.write("measure", &document)?;
    let exit = match exit(&document, options.strict) {
        Exit::Done | Exit::Void if own_config::only_refused(&options.rig, &document) => {
            Exit::Nothing
        }
        exit => exit,
    };
    problem.map_or(Ok(exit), Err)
}

/// The table, or the document and the table apart.
pub(crate) fn show(document: &Document, json: bool) -> Result<(), Problem> {
    if json {
        eprint!("{}", table::render(document));
        let text = serde_json::to_string_pretty(document).map_err(Problem::nothing)?;
        say!("{text}");
    } else {
        crate::out::print(&table::render(document));
    }
    Ok(())
}

/// The exit status that a document comes to.
pub(crate) fn exit(document: &Document, strict: bool) -> Exit {
    let verdicts = || document.cells.iter().map(|cell| cell.summary.verdict.name);
    let failed = verdicts().filter(|name| *name == Verdict::Failed).count();
    let failed_to_start =
        document.endpoints.iter().any(|endpoint: &Endpoint| endpoint.failed.is_some());
    if !document.complete {
        Exit::Interrupted
    } else if failed == document.cells.len() || strict && (failed > 0 || failed_to_start) {
        Exit::Nothing
    } else if verdicts()
        .all(|name| matches!(name, Verdict::Void | Verdict::CannotTell | Verdict::Failed))
    {
        Exit::Void
    } else {
        Exit::Done
    }
}
