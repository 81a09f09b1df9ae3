//! What the reader finds in Envoy's bootstrap file, told and proved.

use config_reader::envoy::{self, Place, Request, Way};
use config_reader::structured;
use emitter::{Config, Emitter};
use proxies::Proxies;
use serde_json::Value;

use super::data::{self, Found};
use super::proof::{self, CORRECTED, STREAM, YOURS};
use super::question::{Fault, Progress, Proving, Question};
use super::start::{self, Kind, Text};
use super::story::{Answer, Proof, Section, Setting, Story};
use crate::exit::Problem;

/// How Envoy is run.
const KIND: Kind = Kind {
    file: "envoy.json",
    folders: &[],
    check: |_, file| {
        let file = file.to_string_lossy().into_owned();
        vec!["--mode".into(), "validate".into(), "-c".into(), file, "--disable-hot-restart".into()]
    },
    run: |_, file| {
        let file = file.to_string_lossy().into_owned();
        let more = ["--concurrency", "1", "--disable-hot-restart", "--log-level", "warning"];
        ["-c".into(), file].into_iter().chain(more.map(String::from)).collect()
    },
    line: |_| None,
    needed: |_| true,
};

/// All that is told of a configuration.
pub(super) fn examine(question: &Question, proving: Option<&Proving<'_>>) -> Result<Story, Fault> {
    let (whole, format) = data::read(&question.text)?;
    let path = question.path.as_str();
    let request = Request { path, host: question.host.as_deref(), port: question.port };
    let way = envoy::way(&whole, &request).map_err(data::unserved)?;
    let mut story = data::story(
        path,
        &Found {
            by: way.listener_shown.clone(),
            served: !way.clusters.is_empty(),
            steps: &way.steps,
            open: &way.open,
            unknown: &way.unknown,
            causes: &way.causes,
            notes: &way.notes,
        },
    );
    let setting = |(name, value, by): &(String, String, String)| Setting {
        name: name.clone(),
        value: value.clone(),
        by: by.clone(),
        holds: way.cuts.iter().any(|cut| cut.0 == name),
    };
    story.in_force.settings = way.table.iter().map(setting).collect();
    if story.answer != Answer::Found {
        return Ok(story);
    }
    let (corrected, route, lines) = envoy::correct(&whole, &way, path);
    story.sections.push(Section { title: "What to change".into(), lines });
    story.block = Some(structured::write(&structured::masked(&route), format));
    story.corrected = Some(structured::write(&structured::masked(&corrected), format));
    let again = envoy::way(&corrected, &request).map_err(data::unserved)?;
    let Some(proving) = proving else { return Ok(story) };
    let proved =
        prove([(&whole, &way), (&corrected, &again)], (path, way.host.as_deref()), proving)?;
    story.weigh(proved, true);
    Ok(story)
}

/// Runs both and reads them. The second is whether it was interrupted.
fn prove(
    [(yours, way), (corrected, again)]: [(&Value, &Way); 2],
    asked: (&str, Option<&str>),
    proving: &Proving<'_>,
) -> Result<(Proof, bool), Problem> {
    (proving.tell)(Progress::Starting);
    let proxies = Proxies::of_user(Vec::new()).map_err(Problem::usage)?;
    let program = match start::program(&proxies, "envoy") {
        Ok(program) => program,
        Err(why) => return Ok((Proof::Not(why), false)),
    };
    let emitter = Emitter::start(Config::loopback()).map_err(Problem::nothing)?;
    // What holds shows in a second; only where nothing does is a limit waited for.
    let cut = way.cuts.iter().filter(|_| way.holding.is_empty()).min_by_key(|cut| cut.1);
    let cut = cut.map(|(name, ms)| data::hurried(name, *ms));
    let hurry = cut.as_ref().and_then(|(_, said)| said.clone());
    let yours = match hurry {
        Some(_) => envoy::hurried(yours, way, data::HURRIED.0.unsigned_abs() / 1000),
        None => yours.clone(),
    };
    let begin = |whole: &Value, way: &Way| {
        start::start(&KIND, &program, &|listen, _| {
            let (listen, upstream) = (listen, emitter.address());
            let hosts = (listen.ip().to_string(), upstream.ip().to_string());
            let place = Place {
                listen: (&hosts.0, listen.port()),
                upstream: (&hosts.1, upstream.port()),
                path: STREAM,
            };
            let (text, mut changed) = envoy::sandbox(whole, way, place);
            changed.extend(hurry.clone());
            Text { text: text.to_string(), changed }
        })
    };
    let started = begin(&yours, way).and_then(|yours| Ok((yours, begin(corrected, again)?)));
    let ((yours, changed), (fixed, _)) = match started {
        Ok(started) => started,
        Err(why) => {
            let why: String = why.chars().take(400).collect();
            return Ok((Proof::Not(format!("the pinned Envoy refuses it: {why}")), false));
        }
    };
    let ways = [(YOURS, yours.address), (CORRECTED, fixed.address)];
    let rows = match cut {
        Some((limit, _)) => proof::outlast(&proxies, &emitter, &ways, asked, limit, proving)?,
        None => proof::measure(&proxies, &emitter, &ways, asked, proof::SMALL, proving)?,
    };
    let Some(rows) = rows else { return Ok((Proof::Not("it was interrupted".into()), true)) };
    Ok((Proof::Measured { by: format!("Envoy {}", program.version), rows, changed }, false))
}
