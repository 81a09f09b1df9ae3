//! What the reader finds in a haproxy.cfg, told and proved.

use config_reader::haproxy::diagnose::Diagnosis;
use config_reader::haproxy::route::{Request, Route};
use config_reader::haproxy::sandbox::{Path, Place, Sandbox};
use config_reader::haproxy::{Tree, secret};
use emitter::{Config, Emitter};
use proxies::Proxies;

use super::cli::Configuration;
use super::proof::{self, CORRECTED, STREAM, YOURS};
use super::start::{self, Kind, Text};
use super::story::{Answer, Proof, Section, Story};
use crate::exit::{Exit, Problem};

/// How HAProxy is run.
const KIND: Kind = Kind {
    file: "haproxy.cfg",
    folders: &[],
    check: |_, file| vec!["-c".into(), "-f".into(), file.to_string_lossy().into_owned()],
    run: |_, file| vec!["-db".into(), "-f".into(), file.to_string_lossy().into_owned()],
    line: |said| {
        // `[ALERT] (1) : config : parsing [/…/haproxy.cfg:12] : unknown keyword …`
        let (_, rest) = said.split_once("haproxy.cfg:")?;
        rest.split(']').next()?.parse().ok()
    },
    needed: |line| {
        let name = line.split(' ').next().unwrap_or_default();
        let sections = ["global", "defaults", "frontend", "backend", "listen"];
        sections.contains(&name) || ["bind", "server", "mode", "default_backend"].contains(&name)
    },
};

/// All that is told of a configuration.
pub(super) fn examine(options: &Configuration, text: &str) -> Result<Story, Problem> {
    let tree = Tree::read(text).map_err(Problem::usage)?;
    let path = options.path.as_deref().unwrap_or("/");
    if !path.starts_with('/') {
        return Err(Problem::usage(format!("{path:?} is no path: a path starts with `/`")));
    }
    let request = Request { path, host: options.host.as_deref(), port: options.port };
    let route = tree.route(&request).map_err(Problem::usage)?;
    let diagnosis = tree.diagnose(&route);
    let answer = if diagnosis.causes.is_empty() { Answer::Clean } else { Answer::Found };
    let sides = match route.frontend == route.backend {
        true => tree.sections[route.frontend].shown(),
        false => {
            let shown = |index: usize| tree.sections[index].shown();
            format!("{}, {}", shown(route.frontend), shown(route.backend))
        }
    };
    let held = match diagnosis.causes.first() {
        Some((name, _)) => format!("a stream is held there: {name}"),
        None => "nothing in force there is known to hold a stream".into(),
    };
    let mut story = Story {
        exit: answer.exit(),
        answer,
        headline: format!("{path} goes by {sides}; {held}."),
        sections: sections(&route, &diagnosis),
        block: None,
        corrected: None,
        proof: None,
    };
    if answer == Answer::Clean {
        return Ok(story);
    }
    let (corrected, section) = tree.correct(&route);
    let fixed = Tree::read(corrected).map_err(Problem::usage)?;
    story.sections.push(Section {
        title: "What to change".into(),
        lines: vec![format!(
            "{section} gets `option http-no-delay`: either side of the way is enough"
        )],
    });
    let masked = secret::config(&fixed);
    story.block = Tree::read(masked.clone())
        .ok()
        .map(|masked| masked.written(&masked.sections[route.backend]));
    story.corrected = Some(masked);
    if !options.no_proof {
        let (proof, stopped) = prove([&tree, &fixed], &route, &request)?;
        story.weigh(proof, true);
        if stopped {
            story.exit = Exit::Interrupted;
        }
    }
    Ok(story)
}

fn sections(route: &Route, diagnosis: &Diagnosis) -> Vec<Section> {
    let table = diagnosis.table.iter().map(|(name, value, by)| format!("{name:24} {value:6} {by}"));
    let causes = diagnosis.causes.iter().map(|(name, why)| format!("{name}: {why}"));
    [
        ("The way of the request", route.steps.clone()),
        ("What may lead elsewhere", route.open.clone()),
        ("In force there", table.collect()),
        ("What holds the stream", causes.collect()),
        ("To note", diagnosis.notes.clone()),
    ]
    .into_iter()
    .filter(|(_, lines)| !lines.is_empty())
    .map(|(title, lines)| Section { title: title.into(), lines })
    .collect()
}

/// Runs both and reads them. The second is whether it was interrupted.
fn prove(
    trees: [&Tree; 2],
    route: &Route,
    request: &Request<'_>,
) -> Result<(Proof, bool), Problem> {
    let proxies = Proxies::of_user(Vec::new()).map_err(Problem::usage)?;
    let program = match start::program(&proxies, "haproxy") {
        Ok(program) => program,
        Err(why) => return Ok((Proof::Not(why), false)),
    };
    let emitter = Emitter::start(Config::loopback()).map_err(Problem::nothing)?;
    let begin = |tree: &Tree| {
        start::start(&KIND, &program, &|listen, refused| {
            let place = Place {
                listen: &listen.to_string(),
                upstream: &emitter.address().to_string(),
                path: Path::Always(STREAM),
            };
            let Sandbox { text, changed, .. } = tree.sandbox(route, place, refused);
            Text { text, changed }
        })
    };
    let started = begin(trees[0]).and_then(|yours| Ok((yours, begin(trees[1])?)));
    let ((yours, mut changed), (corrected, more)) = match started {
        Ok(started) => started,
        Err(why) => {
            return Ok((Proof::Not(format!("the pinned HAProxy refuses it: {why}")), false));
        }
    };
    changed.extend(more);
    let ways = [(YOURS, yours.address), (CORRECTED, corrected.address)];
    let rows =
        proof::measure(&proxies, &emitter, &ways, (request.path, request.host), proof::SMALL)?;
    let Some(rows) = rows else { return Ok((Proof::Not("it was interrupted".into()), true)) };
    let by = format!("HAProxy {}", program.version);
    Ok((Proof::Measured { by, rows, changed }, false))
}
