//! `holdup doctor`: what holds a stream up, and what to change.

use std::time::SystemTime;

use measure::Script;
use measure::cause::naming::Answer as Naming;
use recv_client::{Form, Http, Trust};

use crate::doctor::behind::Behind;
use crate::doctor::budget::Budget;
use crate::doctor::cli::Doctor;
use crate::doctor::diagnosis::Diagnosis;
use crate::doctor::engine::examine;
use crate::doctor::evidence::Evidence;
use crate::doctor::experiment::Experiment;
use crate::doctor::native::Native;
use crate::doctor::record::{self, Line, Record, Requests};
use crate::doctor::stop::Stop;
use crate::doctor::verify::{self, Earlier, Verified};
use crate::doctor::{config, plan, show};
use crate::exit::{Exit, Outcome, Problem};
use crate::interrupt::Interrupt;
use crate::out::{print, say};
use crate::probe::secret::Secrets;
use crate::target::Target;

pub(crate) fn run(options: &Doctor) -> Outcome {
    if options.configuration.is_asked() {
        return config::run(options);
    }
    options.files.check()?;
    let form = form(options)?;
    let url = options.url.as_deref().unwrap_or_default();
    let earlier = options.verify.as_deref().map(record::read).transpose()?;
    let (through, beside) = targets(options, url)?;
    let verifies = earlier.as_ref().map(Earlier::of).transpose()?;
    if verifies.as_ref().is_some_and(|earlier| earlier.needs_tls() && !through.is_secure()) {
        let why = "the earlier diagnosis is of HTTP/1.1 or HTTP/2 over TLS: verify it by https://";
        return Err(Problem::usage(why));
    }
    let keep = options.out.as_deref().map(record::create).transpose()?;
    let mut native = Native {
        base: base(&through, earlier.as_ref())?,
        through,
        beside,
        behind: None,
        form,
        limit: options.limit(),
        mss: options.mss.0,
        budget: Budget::new(options.max_requests),
        interrupt: Interrupt::listen(),
        keep,
    };
    eprintln!("{}", plan::first(&native));
    native.look_behind().map_err(Problem::nothing)?;
    if let Some(behind) = &native.behind {
        eprintln!("{}", plan::behind(behind));
    }
    match &verifies {
        Some(earlier) => verified(options, &mut native, earlier),
        None => diagnosed(options, &mut native),
    }
}

/// The URL and the one that `--against` names, with those whom TLS trusts.
fn targets(options: &Doctor, url: &str) -> Result<(Target, Option<Target>), Problem> {
    let through = Target::resolve(url)?;
    let beside = options.against.as_deref().map(Target::resolve).transpose()?;
    let secure = through.is_secure() || beside.as_ref().is_some_and(Target::is_secure);
    if options.cacert.is_some() && !secure {
        return Err(Problem::usage("--cacert is for https: no URL here is one"));
    }
    let trust = secure.then(|| Trust::of(options.cacert.as_deref())).transpose();
    let trust = trust.map_err(Problem::usage)?;
    let spoken = |target: Target| target.spoken(Http::Negotiated, trust.as_ref());
    Ok((spoken(through)?, beside.map(spoken).transpose()?))
}

fn tell(experiment: &Experiment) {
    eprintln!("asking {}", experiment.name());
}

fn diagnosed(options: &Doctor, native: &mut Native) -> Outcome {
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let mut examined = examine(native, &mut tell);
    if let Err(shifted) = native.check_clock() {
        examined.answer = Naming::CannotTell("a clock was stepped while it was examined");
        examined.deciding.clear();
        examined.stopped = Some(shifted);
    }
    let interrupted = examined.stopped == Some(Stop::Interrupted);
    let mut diagnosis = Diagnosis::of(&examined);
    if native.behind.is_some() && native.beside.is_some() {
        let note = "--against was not needed: the origin's own times are known.";
        diagnosis.notes.push(note.into());
    }
    let answer = diagnosis.answer;
    let record = document(native, started_at, &examined.evidence, diagnosis);
    if options.json {
        print(&record::text(&record)?);
    } else {
        print(&(show::text(&record) + &show::next_step(&record, options.out.as_deref())));
    }
    if let Some(folder) = &options.out {
        record::write(folder, &record)?;
    }
    show::files(&options.files, &record)?;
    Ok(if interrupted { Exit::Interrupted } else { answer.exit() })
}

fn verified(options: &Doctor, native: &mut Native, earlier: &Earlier) -> Outcome {
    let mut verified = verify::verify(earlier, native, &mut tell);
    if let Err(shifted) = native.check_clock() {
        verified.cured = verify::Cured::CannotTell;
        verified.name = format!("cannot tell whether it is cured: {shifted}");
    }
    if options.json {
        say!("{}", serde_json::to_string_pretty(&verified).map_err(Problem::nothing)?);
    } else {
        print(&show::verified(&verified));
    }
    if let Some(folder) = &options.verify {
        keep_verified(folder, &verified)?;
    }
    show::verified_files(&options.files, &native.through.shown(), &verified)?;
    Ok(verified.cured.exit())
}

/// Beside the diagnosis that it verifies, and in place of an earlier one.
fn keep_verified(folder: &std::path::Path, verified: &Verified) -> Result<(), Problem> {
    let mut text = serde_json::to_string_pretty(verified).map_err(Problem::nothing)?;
    text.push('\n');
    crate::out::put(&folder.join(record::VERIFIED), &text)
}

fn document(
    native: &Native,
    started_at: String,
    evidence: &Evidence,
    diagnosis: Diagnosis,
) -> Record {
    let behind = native.behind.as_ref();
    Record {
        schema: record::SCHEMA.into(),
        started_at,
        url: native.through.shown(),
        against: native.beside.as_ref().map(Target::shown),
        method: native.form.method.clone(),
        header_names: native.form.fields.iter().map(|(name, _)| name.clone()).collect(),
        emitter: behind.map(|behind| behind.instance.clone()),
        clock_uncertainty_us: behind.and_then(Behind::uncertainty),
        script: behind.map(|_| native.base.clone()),
        requests: Requests { made: native.budget.sent(), most: native.budget.most() },
        evidence: evidence.runs.iter().map(|run| Line::of(run, evidence)).collect(),
        diagnosis,
    }
}

/// What our own emitter plays as it is: what the URL says, else what was played before, else the
/// headline stream.
fn base(target: &Target, earlier: Option<&Record>) -> Result<Script, Problem> {
    let query = target.query();
    let asked: Vec<(&str, &str)> = query
        .iter()
        .filter(|(key, _)| key != "run")
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    if !target.may_be_emitter() || asked.is_empty() {
        let before = earlier.and_then(|record| record.script.clone());
        return Ok(before.unwrap_or_else(Script::headline));
    }
    // A query that is no script's is not our emitter's: it is asked as it stands.
    Ok(Script::from_query(asked).unwrap_or_else(|_| Script::headline()))
}

fn form(options: &Doctor) -> Result<Form, Problem> {
    let method = http::Method::from_bytes(options.method.as_bytes())
        .map_err(|_| Problem::usage(format!("{:?} is no method", options.method)))?;
    let asked = options.header.iter().map(|text| field(text));
    let mut fields: Vec<(String, String)> = asked.collect::<Result<_, _>>()?;
    let secrets = Secrets::read(
        options.key_env.as_deref(),
        options.key_file.as_deref(),
        &options.key_header,
    )?;
    if let Some((name, value)) = secrets.field
        && !fields.iter().any(|(asked, _)| asked.eq_ignore_ascii_case(&name))
    {
        fields.push((name, value));
    }
    let body = match &options.body {
        Some(path) => std::fs::read(path)
            .map_err(|error| Problem::usage(format!("--body {}: {error}", path.display())))?,
        None => Vec::new(),
    };
    Ok(Form { method: method.to_string(), fields, body, ..Form::default() })
}

fn field(text: &str) -> Result<(String, String), Problem> {
    // The value may be secret and is not repeated.
    let bad = |why: &str| {
        let name: String = text.split(':').next().unwrap_or_default().chars().take(40).collect();
        Problem::usage(format!("--header {name:?}: {why}"))
    };
    let (name, value) = text.split_once(':').ok_or_else(|| bad("it is written 'Name: value'"))?;
    let (name, value) = (name.trim(), value.trim());
    http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad("that is no header's name"))?;
    http::HeaderValue::from_str(value).map_err(|_| bad("its value must be printable"))?;
    const OURS: [&str; 5] =
        ["connection", "content-length", "transfer-encoding", "accept-encoding", "te"];
    if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
        return Err(bad("that one belongs to the experiments"));
    }
    Ok((name.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_checked_and_their_values_are_not_repeated() {
        assert_eq!(field("X-Key:  a b ").unwrap(), ("X-Key".into(), "a b".into()));
        for (text, why) in [
            ("Authorization", "it is written 'Name: value'"),
            ("Auth orization: s3cret", "that is no header's name"),
            ("X-Key: s3cret\r\nEvil: 1", "its value must be printable"),
            ("Content-Length: 5", "that one belongs to the experiments"),
        ] {
            let said = field(text).unwrap_err().to_string();
            assert!(said.ends_with(why) && !said.contains("s3cret"), "{said}");
        }
    }

    #[test]
    fn the_urls_own_script_is_played() {
        let target =
            |query: &str| Target::resolve(&format!("http://127.0.0.1:1/stream{query}")).unwrap();
        let base = |query: &str| base(&target(query), None).unwrap().slug();
        assert_eq!(base("?frames=8&frame_bytes=600&run=x"), "8x600B@50ms");
        assert_eq!(base(""), Script::headline().slug());
        assert_eq!(base("?model=x"), Script::headline().slug());
    }
}
