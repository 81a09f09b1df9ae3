//! What the reader finds in a haproxy.cfg, told and proved.

use config_reader::haproxy::diagnose::Diagnosis;
use config_reader::haproxy::route::{NotRouted, Request, Route};
use config_reader::haproxy::sandbox::{Path, Place, Sandbox};
use config_reader::haproxy::{ReadError, Tree, secret};
use emitter::{Config, Emitter};
use proxies::Proxies;

use super::proof::{self, CORRECTED, STREAM, YOURS};
use super::question::{self, About, Choice, Fault, Progress, Proving, Question};
use super::start::{self, Kind, Text};
use super::story::{Answer, InForce, Proof, Section, Setting, Story};
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

fn unreadable(text: &str, error: ReadError) -> Fault {
    let place = match &error {
        ReadError::Quote { line, column, .. } | ReadError::NoSection { line, column, .. } => {
            Some((*line, Some(*column)))
        }
        ReadError::NoDefaults { line, .. } => Some((*line, None)),
        _ => None,
    };
    let spot = place.and_then(|(line, column)| question::spot(text, line, column));
    Fault::text(error).at(spot)
}

fn unrouted(text: &str, error: NotRouted) -> Fault {
    match &error {
        NotRouted::ManyFrontends(found) => {
            let choice = |(shown, port): &(String, Option<u16>)| Choice {
                shown: shown.clone(),
                host: None,
                port: *port,
            };
            let choices = found.iter().map(choice).collect();
            Fault::new(Exit::Usage, About::Host, &error).choices(choices)
        }
        NotRouted::NoPort(_) => Fault::new(Exit::Usage, About::Host, &error),
        NotRouted::NoBackend(_) => Fault::new(Exit::Usage, About::Path, &error),
        NotRouted::Unknown { line, .. } => {
            Fault::text(&error).at(question::spot(text, *line, None))
        }
    }
}

/// All that is told of a configuration.
pub(super) fn examine(question: &Question, proving: Option<&Proving<'_>>) -> Result<Story, Fault> {
    let text = question.text.as_str();
    let tree = Tree::read(text).map_err(|error| unreadable(text, error))?;
    let path = question.path.as_str();
    if !path.starts_with('/') {
        let line = format!("{path:?} is no path: a path starts with `/`");
        return Err(Fault::new(Exit::Usage, About::Path, line));
    }
    let request = Request { path, host: question.host.as_deref(), port: question.port };
    let route = tree.route(&request).map_err(|error| unrouted(text, error))?;
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
    let mut story = Story::new(answer, format!("{path} goes by {sides}; {held}."));
    story.way.clone_from(&route.steps);
    story.in_force = in_force(&diagnosis);
    story.sections = sections(&route, &diagnosis);
    if answer == Answer::Clean {
        return Ok(story);
    }
    let (corrected, section) = tree.correct(&route);
    let fixed = Tree::read(corrected).map_err(Fault::text)?;
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
    if let Some(proving) = proving {
        let proved = prove([&tree, &fixed], &route, &request, proving)?;
        story.weigh(proved, true);
    }
    Ok(story)
}

fn in_force(diagnosis: &Diagnosis) -> InForce {
    let held = !diagnosis.causes.is_empty();
    let settings = diagnosis.table.iter().map(|(name, value, by)| Setting {
        name: name.to_string(),
        value: value.clone(),
        by: by.clone(),
        holds: held && name.starts_with("http-no-delay"),
    });
    InForce { by: String::new(), settings: settings.collect() }
}

fn sections(route: &Route, diagnosis: &Diagnosis) -> Vec<Section> {
    let causes = diagnosis.causes.iter().map(|(name, why)| format!("{name}: {why}"));
    Section::all([
        ("What may lead elsewhere".into(), route.open.clone()),
        ("What holds the stream".into(), causes.collect()),
        ("To note".into(), diagnosis.notes.clone()),
    ])
}

/// Runs both and reads them. The second is whether it was interrupted.
fn prove(
    trees: [&Tree; 2],
    route: &Route,
    request: &Request<'_>,
    proving: &Proving<'_>,
) -> Result<(Proof, bool), Problem> {
    (proving.tell)(Progress::Starting);
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
    let asked = (request.path, request.host);
    let rows = proof::measure(&proxies, &emitter, &ways, asked, proof::SMALL, proving)?;
    let Some(rows) = rows else { return Ok((Proof::Not("it was interrupted".into()), true)) };
    let by = format!("HAProxy {}", program.version);
    Ok((Proof::Measured { by, rows, changed }, false))
}
