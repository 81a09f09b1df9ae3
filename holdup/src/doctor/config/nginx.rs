//! What the reader finds in a configuration of nginx, told and proved.

use config_reader::nginx::correct::Correction;
use config_reader::nginx::diagnose::{Diagnosis, Handler, Intended};
use config_reader::nginx::sandbox::{Place, Sandbox};
use config_reader::nginx::serve::{Candidate, NotServed, Request, Served};
use config_reader::nginx::source::Source;
use config_reader::nginx::{ReadError, Site, Tree, Version};
use config_reader::secret;
use emitter::{Config, Emitter};
use proxies::Proxies;

use super::proof::{self, CORRECTED, STREAM, YOURS};
use super::question::{self, About, Choice, Fault, Progress, Proving, Question, Spot};
use super::start::{self, Kind, Started, Text};
use super::story::{Answer, InForce, Proof, Section, Setting, Story};
use crate::exit::{Exit, Problem};

/// The last release whose default towards the upstream is HTTP/1.0, and whose kind most servers
/// still run.
const OLDER: Version = Version([1, 28, 0]);

/// How nginx is run.
const KIND: Kind = Kind {
    file: "nginx.conf",
    folders: &[],
    check: |folder, file| {
        let mut arguments = arguments(folder, file);
        arguments.push("-t".into());
        arguments
    },
    run: arguments,
    line: |said| {
        // `nginx: [emerg] unknown directive "x" in /…/nginx.conf:12`
        let (_, line) = said.rsplit_once("nginx.conf:")?;
        line.trim().parse().ok()
    },
    needed: |line| {
        let name = line.split([' ', ';']).next().unwrap_or_default();
        matches!(name, "proxy_pass" | "location" | "server" | "listen" | "http" | "}" | "upstream")
    },
};

fn arguments(folder: &std::path::Path, file: &std::path::Path) -> Vec<String> {
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    vec!["-p".into(), text(folder), "-e".into(), "stderr".into(), "-c".into(), text(file)]
}

fn unreadable(text: &str, error: ReadError) -> Fault {
    let place = match &error {
        ReadError::Syntax { place, .. }
        | ReadError::Include { place, .. }
        | ReadError::TooDeep { place, .. } => Some(place.clone()),
        _ => None,
    };
    let spot = place.and_then(|place| {
        let source = Source::new(text.to_string()).ok()?;
        let (line, own) = source.find(&place)?;
        let text = question::shortened(&secret::line(own));
        Some(Spot { line, column: Some(place.column), text })
    });
    Fault::text(error).at(spot)
}

fn unserved(error: NotServed) -> Fault {
    let about = match &error {
        NotServed::Undecidable(_) => return Fault::new(Exit::Void, About::Text, error),
        NotServed::Path { .. } => About::Path,
        NotServed::NoPort { .. } | NotServed::ManyServers { .. } => About::Host,
    };
    let choices = match &error {
        NotServed::ManyServers { servers } => servers.iter().map(choice).collect(),
        _ => Vec::new(),
    };
    Fault::new(Exit::Usage, about, error).choices(choices)
}

fn choice(own: &Candidate) -> Choice {
    Choice { shown: own.shown.clone(), host: own.host.clone(), port: own.port }
}

/// The configuration with a header in each location that names it.
pub(super) fn marked(text: &str, version: Option<Version>) -> Result<String, Fault> {
    let bad = |error| unreadable(text, error);
    let tree = Tree::read(text).map_err(bad)?;
    let site = Site::of(&tree).map_err(bad)?;
    let marked = site.marked(version.unwrap_or(OLDER));
    Ok(secret::config(&Tree::read(marked).map_err(bad)?))
}

/// What is found for one path, in one version.
struct Found<'t> {
    version: Version,
    served: Served<'t>,
    diagnosis: Diagnosis<'t>,
    intended: Option<Intended>,
}

fn look<'t>(site: &Site<'t>, request: &Request<'_>, version: Version) -> Result<Found<'t>, Fault> {
    let served = site.serve(request, version).map_err(unserved)?;
    let diagnosis = site.diagnose(&served, version);
    let intended = site.intended(&served);
    Ok(Found { version, served, diagnosis, intended })
}

/// All that is told of a configuration.
pub(super) fn examine(question: &Question, proving: Option<&Proving<'_>>) -> Result<Story, Fault> {
    let bad = |error| unreadable(&question.text, error);
    let tree = Tree::read(question.text.as_str()).map_err(bad)?;
    let site = Site::of(&tree).map_err(bad)?;
    let path = question.path.as_str();
    let request = Request { path, host: question.host.as_deref(), port: question.port };
    let found = look(&site, &request, question.version.unwrap_or(OLDER))?;
    if found.served.location().is_none() && found.served.ends_before().is_none() {
        let server = site.servers[found.served.server].shown();
        let line =
            format!("no location serves {path} in the server {server}: check --path and --host");
        return Err(Fault::new(Exit::Usage, About::Path, line));
    }
    // Without a version, an older and the present one must agree.
    let newer = look(&site, &request, Version::PINNED)?;
    let depends = question.version.is_none()
        && found.diagnosis.causes.is_empty() != newer.diagnosis.causes.is_empty();
    let correction =
        site.correct(&found.served, &found.diagnosis, found.intended.as_ref(), found.version);
    let wrong = !found.diagnosis.causes.is_empty() || found.intended.is_some();
    let passes = matches!(found.diagnosis.handler, Handler::Proxy(_));
    let answer = match (depends || !passes, wrong) {
        (true, _) => Answer::CannotTell,
        (false, true) => Answer::Found,
        (false, false) => Answer::Clean,
    };
    let correction = correction.filter(|_| wrong || depends);
    let corrected = correction.as_ref().and_then(masked);
    let block = corrected.as_deref().and_then(|text| block(text, &found, path));
    let mut story = Story::new(answer, headline(&site, &found, depends));
    story.way = site
        .way(&request, &found.served, found.intended.as_ref())
        .map_err(|error| unserved(error.into()))?;
    story.in_force = in_force(&found);
    story.sections = sections(&found, correction.as_ref());
    story.block = block;
    story.corrected = corrected;
    if let (Some(correction), Some(proving)) = (&correction, proving) {
        let proved = prove(&site, &found, correction, &request, proving)?;
        story.weigh(proved, !found.diagnosis.causes.is_empty());
    }
    Ok(story)
}

fn masked(correction: &Correction) -> Option<String> {
    Tree::read(correction.text.clone()).ok().map(|tree| secret::config(&tree))
}

/// The block that answers the path in the corrected text.
fn block(text: &str, found: &Found<'_>, path: &str) -> Option<String> {
    let tree = Tree::read(text).ok()?;
    let site = Site::of(&tree).ok()?;
    let served = site.serve_by(found.served.server, path, found.version).ok()?;
    let span = site.locations[served.location()?].directive.span.clone();
    let first = text[..span.start].rsplit('\n').next().unwrap_or_default();
    let indent: String = first.chars().take_while(|char| char.is_whitespace()).collect();
    let lines = text[span].lines().map(|line| line.strip_prefix(&indent).unwrap_or(line));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

fn headline(site: &Site<'_>, found: &Found<'_>, depends: bool) -> String {
    let location = |index: usize| site.locations[index].written();
    let answers = found.served.location().map_or("no location".into(), location);
    let causes: Vec<&str> = found.diagnosis.causes.iter().map(|cause| cause.name).collect();
    let held = match (causes.is_empty(), &found.diagnosis.handler) {
        (_, Handler::Itself(what)) => return format!("`{answers}` {what}."),
        (_, Handler::Other(by)) => {
            return format!("`{answers}` answers by {}, which is not looked at here.", by.name);
        }
        (true, _) => "nothing in force there holds a stream".into(),
        (false, _) => format!("a stream is held there by {}", causes.join(" and by ")),
    };
    let meant = found.intended.as_ref().map_or(String::new(), |meant| {
        format!(", not `{}`, which was meant", location(meant.location))
    });
    let depends = if depends {
        ", if nginx is older than 1.29.7; later ones are live: say --nginx-version"
    } else {
        ""
    };
    format!("`{answers}` answers{meant}; {held}{depends}.")
}

fn in_force(found: &Found<'_>) -> InForce {
    let rests = |name: &str| found.diagnosis.causes.iter().any(|own| own.rests_on.contains(&name));
    let settings = found.diagnosis.table.iter().map(|(name, value, by)| Setting {
        name: name.to_string(),
        value: secret::text(value),
        by: by.clone(),
        holds: rests(name),
    });
    InForce { by: format!("by nginx {}", found.version), settings: settings.collect() }
}

fn sections(found: &Found<'_>, correction: Option<&Correction>) -> Vec<Section> {
    let causes =
        found.diagnosis.causes.iter().map(|cause| format!("{}: {}", cause.name, cause.why));
    let changes = correction.map_or_else(Vec::new, |correction| {
        let mut lines = correction.changes.clone();
        lines.extend(correction.kept.iter().map(|kept| format!("kept: {kept}")));
        lines.extend(correction.by_hand.iter().map(|by_hand| format!("by hand: {by_hand}")));
        lines
    });
    Section::all([
        ("What holds the stream".into(), causes.collect()),
        ("To note".into(), found.diagnosis.notes.clone()),
        ("What to change".into(), changes),
    ])
}

/// Runs both and reads them. The second is whether it was interrupted.
fn prove(
    site: &Site<'_>,
    found: &Found<'_>,
    correction: &Correction,
    request: &Request<'_>,
    proving: &Proving<'_>,
) -> Result<(Proof, bool), Problem> {
    (proving.tell)(Progress::Starting);
    let proxies = Proxies::of_user(Vec::new()).map_err(Problem::usage)?;
    let program = match start::program(&proxies, "nginx") {
        Ok(program) => program,
        Err(why) => return Ok((Proof::Not(why), false)),
    };
    let emitter = Emitter::start(Config::loopback()).map_err(Problem::nothing)?;
    let begin = |site: &Site<'_>| -> Result<_, String> {
        start::start(&KIND, &program, &|listen, refused| {
            let place = Place {
                listen: &listen.to_string(),
                upstream: &emitter.address().to_string(),
                uri: &format!("{STREAM}$is_args$args"),
                chosen_by: None,
                version: found.version,
            };
            let Sandbox { text, changed, .. } = site.sandbox(found.served.server, place, refused);
            Text { text, changed }
        })
    };
    let started = begin(site).and_then(|yours| {
        let tree = Tree::read(correction.text.clone()).map_err(|error| error.to_string())?;
        let corrected = begin(&Site::of(&tree).map_err(|error| error.to_string())?)?;
        Ok::<_, String>((yours, corrected))
    });
    let ((yours, mut changed), (corrected, more)): ((Started, _), (Started, _)) = match started {
        Ok(started) => started,
        Err(why) => return Ok((Proof::Not(format!("the pinned nginx refuses it: {why}")), false)),
    };
    changed.extend(more);
    let ways = [(YOURS, yours.address), (CORRECTED, corrected.address)];
    let asked = (request.path, request.host);
    let rows = proof::measure(&proxies, &emitter, &ways, asked, proof::SMALL, proving)?;
    let Some(rows) = rows else { return Ok((Proof::Not("it was interrupted".into()), true)) };
    let by = format!(
        "nginx {} with the defaults of {} for the upstream's protocol",
        program.version, found.version
    );
    Ok((Proof::Measured { by, rows, changed }, false))
}
