//! `holdup measure --upstream`: the pinned proxies before somebody's own chat service.
//!
//! The emitter shows the cause; a real service shows that the effect is real. The same request goes
//! through each proxy and round them all, one at a time, round by round. It is the probe's own
//! reader that asks; here are only the ways. What the service does by itself varies, and is said to
//! be its own.

pub(crate) mod cli;

mod document;
mod pipe;
mod plan;
mod show;

use std::path::Path;
use std::time::SystemTime;

use measure::plan::endpoints_of;
use recv_client::{Form, Trust};
use serde_json::{Map, Value};

use crate::cli as commands;
use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::machine;
use crate::out::{print, put, say};
use crate::probe::asking::{Native, Place};
use crate::probe::body::{self, Sent};
use crate::probe::engine::{Asker as _, wait};
use crate::probe::kind::Kind;
use crate::probe::ledger::Origin;
use crate::probe::plan::{Step, Way};
use crate::probe::secret::{self, Secrets};
use crate::progress::Progress;
use crate::rig::Rig;
use crate::target::Target;
use document::{Document, Row};
use pipe::Pipe;
use plan::Plan;

/// Whose endpoints are asked where none are named.
const ENDPOINTS_OF: &str = "headline";
/// Bytes of one answer at most, as for the probe.
const MAX_BYTES: u64 = 16 << 20;

/// Puts the proxies before the service and asks.
pub(crate) fn run(options: &commands::Measure, url: &str, body: &Path) -> Outcome {
    let service = &options.service;
    check(options)?;
    let mut secrets = Secrets::read(
        service.key_env.as_deref(),
        service.key_file.as_deref(),
        &service.key_header,
    )?;
    let target = Target::resolve(url)?;
    secret::check_url(&target)?;
    let shape = body::shape_of_path(target.bare_path());
    let (sent, notes) = read(body, shape)?;
    sent.prompts.iter().for_each(|prompt| secrets.hide_prompt(prompt));
    let proxies = Rig::proxies(&options.rig)?;
    Rig::check(&proxies, &options.rig.endpoints)?;
    let names = endpoints_of(ENDPOINTS_OF, &crate::own_config::endpoints(&options.rig))
        .map_err(Problem::usage)?;
    let seed = commands::seed(options.seed);
    let plan = Plan::new(names, options.runs, service.max_requests, seed)?;
    let mut form = Form { method: "POST".into(), ..Form::default() };
    form.fields.extend(secrets.field.clone());
    form.fields.extend(sent.fields.clone());
    if target.is_secure() {
        eprintln!(
            "a pipe of our own ends TLS before the service; every way, the direct one too, goes through it over HTTP/1.1"
        );
    }
    eprintln!("{}", plan.told(&target.shown(), shape, service, secrets.field.as_ref()));
    notes.iter().for_each(|note| eprintln!("{note}"));

    let interrupt = Interrupt::listen();
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let before = machine::describe();
    let pipe = piped(&target, service.cacert.as_deref())?;
    let origin = pipe.as_ref().map_or(target.address, Pipe::address);
    let rig = Rig::start(&proxies, &plan.names, origin);
    let mut native = Native {
        url: Place { target: target.clone(), origin: Origin::Unknown },
        against: None,
        form,
        sent,
        headers: commands::headers(&options.headers)?,
        accept_encoding: options.accept_encoding.clone(),
        shape,
        time: service.time_limit,
        bytes: MAX_BYTES,
        mss: options.rig.mss.0,
        secrets,
        keep_text: false,
        interrupt: interrupt.clone(),
    };
    let (rows, stopped) = asked(&plan, &rig, &mut native, service.pause, &interrupt);
    let document = Document::of(
        document::Asked {
            upstream: target.shown(),
            shape,
            seed,
            started_at,
            machine: measure::results::Machine { load_after: machine::load(), ..before },
            planned: plan.wanted(),
            stopped: stopped
                .or_else(|| plan.cut(service.max_requests))
                .map(|why| native.secrets.clean(&why)),
            mss: options.rig.mss.0,
        },
        &rig.endpoints,
        rows,
    );
    tell(options, &document)?;
    Ok(document.exit(interrupt.came()))
}

/// What cannot be meant, before anything is read.
fn check(options: &commands::Measure) -> Result<(), Problem> {
    if options.files.markdown.is_some() || options.files.junit.is_some() {
        return Err(Problem::usage(
            "--markdown and --junit are for the presets: a service of your own is checked by `holdup probe --expect live`",
        ));
    }
    Ok(())
}

/// What ends TLS before the service, where it speaks that.
fn piped(target: &Target, cacert: Option<&Path>) -> Result<Option<Pipe>, Problem> {
    if !target.is_secure() {
        return Ok(None);
    }
    let trust = Trust::of(cacert).map_err(Problem::usage)?;
    Pipe::start(target.address, &target.secure(&trust)?).map(Some)
}

/// The body as it is, what of it is not to be told, and what should be known before it is sent.
fn read(path: &Path, shape: Option<measure::chat::Shape>) -> Result<(Sent, Vec<String>), Problem> {
    let name = format!("--body {}", path.display());
    let bytes = body::read(path, &name)?;
    let object: Map<String, Value> = serde_json::from_slice(&bytes)
        .map_err(|error| Problem::usage(format!("{name} is no JSON object: {error}")))?;
    let notes = body::whole(shape, &object).into_iter().collect();
    let sent = Sent {
        prompts: body::prompt_of(&object).into_iter().collect(),
        fields: vec![("Content-Type".into(), "application/json".into())],
        bodies: vec![bytes],
        ..Sent::default()
    };
    Ok((sent, notes))
}

/// Asks round by round. Where the service says that the next answer would be the same, or to ask
/// less, no more is asked.
fn asked(
    plan: &Plan,
    rig: &Rig,
    native: &mut Native,
    pause: std::time::Duration,
    interrupt: &Interrupt,
) -> (Vec<Row>, Option<String>) {
    let mut places: Vec<(&String, Place)> = Vec::new();
    for name in &plan.names {
        let Some(address) = rig.address(name) else { continue };
        let mut target = native.url.target.clone();
        target.address = address;
        places.push((name, Place { target, origin: Origin::Unknown }));
    }
    let mut progress = Progress::new(places.len() * plan.rounds as usize);
    let (mut rows, mut stopped) = (Vec::new(), None);
    'rounds: for round in 0..plan.rounds {
        for index in plan.order(round, places.len()) {
            if !rows.is_empty() {
                wait(pause, interrupt);
            }
            if interrupt.came() {
                stopped = Some("interrupted".into());
                break 'rounds;
            }
            let (name, place) = &mut places[index];
            progress.step(&format!("round {} {name}", round + 1));
            let step = Step { way: Way::Url, prompt: 0, pair: round, warm_up: false };
            std::mem::swap(&mut native.url, place);
            let asked = native.ask(&step);
            std::mem::swap(&mut native.url, place);
            let row = asked.run.row.of_step(&step);
            let over = row.kind == Kind::RateLimited || row.kind.stays(true) && rows.is_empty();
            if over {
                let line = row.line.clone().unwrap_or_default();
                stopped = Some(format!("{line} ({name}); no more was asked"));
            }
            rows.push(Row { endpoint: (*name).clone(), round, row });
            if over {
                break 'rounds;
            }
        }
    }
    progress.finish();
    (rows, stopped)
}

fn tell(options: &commands::Measure, document: &Document) -> Result<(), Problem> {
    let text = serde_json::to_string_pretty(document).map_err(Problem::nothing)?;
    if let Some(folder) = &options.out {
        let path = folder.join(document::FILE);
        if path.exists() {
            return Err(Problem::usage(format!(
                "{} already holds results: choose another folder for --out, or move it away",
                folder.display()
            )));
        }
        std::fs::create_dir_all(folder).map_err(|error| {
            Problem::nothing(format!("cannot make the folder {}: {error}", folder.display()))
        })?;
        put(&path, &format!("{text}\n"))?;
    }
    if options.json {
        eprint!("{}", show::text(document));
        say!("{text}");
    } else {
        print(&show::text(document));
    }
    Ok(())
}

impl Document {
    /// The exit status that it comes to.
    fn exit(&self, interrupted: bool) -> Exit {
        let counted: u32 = self.ways.iter().map(|way| way.result.count()).sum();
        match (interrupted, counted) {
            (true, _) => Exit::Interrupted,
            (false, 0) => Exit::Nothing,
            _ => Exit::Done,
        }
    }
}
