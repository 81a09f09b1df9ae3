//! What the reader finds in Traefik's files, told and proved.

mod run;

use std::path::PathBuf;

use config_reader::structured::{self, Format};
use config_reader::traefik::{self, Request, Way};
use emitter::{Config, Emitter};
use measure::Span;
use proxies::Proxies;
use serde_json::Value;

use super::data::{self, Found};
use super::proof::{self, CORRECTED, STREAM, YOURS};
use super::question::{Fault, Progress, Proving, Question};
use super::start;
use super::story::{Answer, Proof, Section, Story};
use crate::exit::Problem;

/// Several files in one text.
///
/// # Errors
/// When one cannot be read: it is named.
pub(super) fn joined(files: &[PathBuf]) -> Result<String, Problem> {
    let mut values = Vec::new();
    for file in files {
        let named = |why: String| Problem::usage(format!("{}: {why}", file.display()));
        let (value, _) = structured::read(&crate::own_config::read(file)?).map_err(named)?;
        values.push(value);
    }
    let whole = traefik::join(values).map_err(Problem::usage)?;
    Ok(structured::write(&whole, Format::Yaml))
}

/// All that is told of a configuration.
pub(super) fn examine(question: &Question, proving: Option<&Proving<'_>>) -> Result<Story, Fault> {
    let (value, format) = data::read(&question.text)?;
    let whole = traefik::join([value]).map_err(Fault::text)?;
    let path = question.path.as_str();
    let request = Request { path, host: question.host.as_deref(), port: question.port };
    let way = traefik::way(&whole, &request).map_err(data::unserved)?;
    let by = match &way.router {
        Some(router) => format!("router {router}"),
        None => "Traefik's static half".into(),
    };
    let mut story = data::story(
        path,
        &Found {
            by,
            served: way.router.is_some(),
            steps: &way.steps,
            open: &way.open,
            unknown: &way.unknown,
            causes: &way.causes,
            notes: &way.notes,
        },
    );
    if story.answer != Answer::Found {
        return Ok(story);
    }
    let corrected = traefik::correct(&whole, &way, path);
    story.sections.push(Section { title: "What to change".into(), lines: corrected.lines.clone() });
    story.block = Some(structured::write(&structured::masked(&corrected.block), format));
    story.corrected = Some(structured::write(&structured::masked(&corrected.whole), format));
    let again = traefik::way(&corrected.whole, &request).map_err(data::unserved)?;
    let Some(proving) = proving else { return Ok(story) };
    let ways = [(&whole, &way), (&corrected.whole, &again)];
    let proved = prove(ways, (path, way.host.as_deref()), proving)?;
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
    let program = match start::program(&proxies, "traefik") {
        Ok(program) => program,
        Err(why) => return Ok((Proof::Not(why), false)),
    };
    let emitter = Emitter::start(Config::loopback()).map_err(Problem::nothing)?;
    let upstream = format!("http://{}", emitter.address());
    // What holds shows in a second; only where nothing does is a limit waited for.
    let cut = way.cut.as_ref().filter(|_| way.holding.is_empty());
    let cut = cut.map(|(_, ms)| data::hurried("writeTimeout", *ms));
    let begin = |whole: &Value, way: &Way, limit: Option<Span>| {
        let Some((text, changed)) = traefik::sandbox(whole, way, &upstream, STREAM) else {
            return Err("without routers there is nothing to run: give the dynamic file too".into());
        };
        Ok((run::start(&program, &text.to_string(), limit)?, changed))
    };
    let started = begin(yours, way, cut.as_ref().map(|own| own.0))
        .and_then(|yours| Ok((yours, begin(corrected, again, None)?)));
    let ((yours, mut changed), (fixed, _)) = match started {
        Ok(started) => started,
        Err(why) => return Ok((Proof::Not(why), false)),
    };
    changed.extend(cut.as_ref().and_then(|own| own.1.clone()));
    let ways = [(YOURS, yours.address), (CORRECTED, fixed.address)];
    let rows = match cut {
        Some((limit, _)) => proof::outlast(&proxies, &emitter, &ways, asked, limit, proving)?,
        None => proof::measure(&proxies, &emitter, &ways, asked, proof::SMALL, proving)?,
    };
    let Some(rows) = rows else { return Ok((Proof::Not("it was interrupted".into()), true)) };
    Ok((Proof::Measured { by: format!("Traefik {}", program.version), rows, changed }, false))
}
