//! `holdup probe`: how a deployed endpoint's answers come.

use std::time::{Duration, SystemTime};

use measure::Span;
use recv_client::{Form, Trust};

use crate::cli::seed;
use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::out::print;
use crate::probe::against::Comparison;
use crate::probe::asking::{Native, Place};
use crate::probe::body::{self, Sent};
use crate::probe::cli::{Probe, Version};
use crate::probe::document::{self, Document, Requests};
use crate::probe::engine::{Played, play};
use crate::probe::ledger::Origin;
use crate::probe::plan::{Plan, Told, Way};
use crate::probe::secret::{self, Secrets};
use crate::probe::ways::WayResult;
use crate::probe::{expect, show};
use crate::progress::Progress;
use crate::store::Store;
use crate::target::Target;

/// How often each prompt is asked where there is one: the fewest answers of which a shape is
/// named, and none too many for somebody else's service.
const REPEAT: u32 = 3;

pub(crate) fn run(options: &Probe) -> Outcome {
    options.files.check()?;
    let mut secrets = Secrets::read(
        options.key_env.as_deref(),
        options.key_file.as_deref(),
        &options.key_header,
    )?;
    let (url, against) = targets(options)?;
    let shape = options.shape.or_else(|| body::shape_of_path(url.bare_path()));
    let sent = body::sent(options, shape)?;
    let form = form(options, &sent, &secrets)?;
    if !options.keep_text {
        sent.prompts.iter().for_each(|prompt| secrets.hide_prompt(prompt));
    }
    let prompts = sent.bodies.len();
    let one_each = options.prompts.is_some();
    let repeat = options.repeat.unwrap_or(if one_each { 1 } else { REPEAT });
    let plan = Plan::new(prompts, repeat, options.warm_up, against.is_some(), options.max_requests);
    if plan.steps.iter().all(|step| step.warm_up) {
        return Err(Problem::usage(format!(
            "--max-requests {} leaves no request that counts: allow more, or ask for less warm-up",
            options.max_requests
        )));
    }
    let mut store = match &options.out {
        Some(folder) => {
            let store = Store::create_for(folder, document::RUNS, document::FILE);
            Some(store.map_err(Problem::usage)?)
        }
        None => None,
    };
    let key = secrets.field.as_ref().map(|(name, _)| name.clone());
    let told = Told {
        plan: &plan,
        method: &form.method,
        url: url.shown(),
        against: against.as_ref().map(Target::shown),
        shape,
        prompts,
        who: options.who.name(),
        pause: options.pause,
        limit: options.time_limit,
        key: key.as_deref(),
        notes: &sent.notes,
    };
    eprintln!("{told}");
    let place = |target| Place { target, origin: Origin::Unknown };
    let mut native = Native {
        url: place(url),
        against: against.map(place),
        form,
        sent,
        headers: options.who.headers(),
        accept_encoding: options.accept_encoding.clone(),
        shape,
        time: options.time_limit,
        bytes: options.max_bytes,
        mss: None,
        secrets,
        keep_text: options.keep_text,
        interrupt: Interrupt::listen(),
    };
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let played = played(options, &plan, &mut native, &mut store);
    let document = tell(options, shape, &plan, &native, played, started_at);
    finish(options, &document, store.as_ref())
}

/// Both ways, with whom to trust on them.
fn targets(options: &Probe) -> Result<(Target, Option<Target>), Problem> {
    let resolve = |text: &str| -> Result<Target, Problem> {
        let target = Target::resolve(text)?;
        secret::check_url(&target)?;
        Ok(target)
    };
    let url = resolve(&options.url)?;
    let against = options.against.as_deref().map(resolve).transpose()?;
    let secure = url.is_secure() || against.as_ref().is_some_and(Target::is_secure);
    if options.cacert.is_some() && !secure {
        return Err(Problem::usage("--cacert is for https: no URL here is one"));
    }
    let trust = secure.then(|| Trust::of(options.cacert.as_deref())).transpose();
    let trust = trust.map_err(Problem::usage)?;
    let spoken = |target: Target| target.spoken(Version::http(options.http), trust.as_ref());
    Ok((spoken(url)?, against.map(spoken).transpose()?))
}

fn played(options: &Probe, plan: &Plan, native: &mut Native, store: &mut Option<Store>) -> Played {
    let mut progress = Progress::new(plan.steps.len());
    let mut told = |step: &crate::probe::plan::Step| {
        let way = match (step.way, options.against.is_some()) {
            (_, false) => "asking",
            (Way::Url, true) => "asking the URL",
            (Way::Against, true) => "asking the other way",
        };
        progress.step(&format!("{way}{}", if step.warm_up { " to warm up" } else { "" }));
    };
    let mut keep = |run: &crate::probe::row::Run| {
        if let Some(Err(error)) = store.as_mut().map(|store| store.keep(run)) {
            // What cannot be kept is still shown.
            eprintln!("the raw runs can be kept no further: {error}");
            *store = None;
        }
    };
    let interrupt = native.interrupt.clone();
    let mut played = play(&plan.steps, native, options.pause, &interrupt, &mut told, &mut keep);
    progress.finish();
    if let Err(shifted) = native.check_clocks() {
        played.stopped = Some(format!("{shifted}: the holds are void"));
        for row in &mut played.rows {
            row.forget_times();
        }
    }
    played
}

fn tell(
    options: &Probe,
    shape: Option<measure::chat::Shape>,
    plan: &Plan,
    native: &Native,
    played: Played,
    started_at: String,
) -> Document {
    let Played { rows, pairs, stopped, .. } = played;
    let url = WayResult::of(Way::Url, native.url.target.shown(), &rows);
    let against = native
        .against
        .as_ref()
        .map(|place| WayResult::of(Way::Against, place.target.shown(), &rows));
    let comparison = against
        .as_ref()
        .map(|against| Comparison::of((&url, against), &rows, &pairs, seed(options.seed)));
    let verdict = document::verdict(&url, comparison.as_ref());
    let span = |time: Duration| Span(i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
    let cut = (plan.steps.len() < plan.planned)
        .then(|| format!("{} of {} requests (--max-requests)", plan.steps.len(), plan.planned));
    let stopped = stopped.or(cut).map(|why| native.secrets.clean(&why));
    Document {
        schema: document::SCHEMA.into(),
        complete: stopped.is_none(),
        stopped,
        started_at,
        method: native.form.method.clone(),
        header_names: native.form.fields.iter().map(|(name, _)| name.clone()).collect(),
        who: options.who.name().into(),
        accept_encoding: options.accept_encoding.clone(),
        shape,
        prompts: native.sent.bodies.len(),
        pause_us: span(options.pause),
        time_limit_us: span(options.time_limit),
        max_bytes: options.max_bytes,
        requests: Requests {
            planned: plan.planned,
            made: rows.len(),
            warm_up: rows.iter().filter(|row| row.warm_up).count(),
            most: options.max_requests,
        },
        ways: std::iter::once(url).chain(against).collect(),
        comparison,
        verdict,
        rows,
    }
}

fn finish(options: &Probe, document: &Document, store: Option<&Store>) -> Outcome {
    if options.json {
        print(&document.text()?);
    } else {
        print(&show::text(document));
    }
    if let Some(store) = store {
        store.replace(document).map_err(Problem::nothing)?;
    }
    let (exit, line) = expect::check(document, options.expect);
    options.files.put("probe", &show::markdown(document), &expect::cases(document))?;
    if document.stopped.as_deref() == Some("interrupted") {
        return Ok(Exit::Interrupted);
    }
    if let Some(line) = line {
        eprintln!("holdup: {line}");
    }
    Ok(exit)
}

fn form(options: &Probe, sent: &Sent, secrets: &Secrets) -> Result<Form, Problem> {
    let with_body = sent.bodies.iter().any(|body| !body.is_empty());
    let method = options.method.as_deref().unwrap_or(if with_body { "POST" } else { "GET" });
    let method = http::Method::from_bytes(method.as_bytes())
        .map_err(|_| Problem::usage(format!("{method:?} is no method")))?;
    if let Some(codings) = &options.accept_encoding {
        http::HeaderValue::from_str(codings)
            .map_err(|_| Problem::usage("--accept-encoding: it must be printable"))?;
    }
    let asked = options.header.iter().map(|text| secret::field(text));
    let mut fields: Vec<(String, String)> = asked.collect::<Result<_, _>>()?;
    let key = secrets.field.iter();
    for (name, value) in key.chain(&sent.fields) {
        if !fields.iter().any(|(asked, _)| asked.eq_ignore_ascii_case(name)) {
            fields.push((name.clone(), value.clone()));
        }
    }
    Ok(Form { method: method.to_string(), fields, ..Form::default() })
}
