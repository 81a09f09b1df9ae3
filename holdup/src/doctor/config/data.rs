//! What Traefik's and Envoy's files have in common: how they are read, why there is no answer, and
//! how their story begins.

use config_reader::structured::{self, Format};
use config_reader::{Look, Station};
use measure::Span;
use serde_json::Value;

use super::question::{About, Fault};
use super::story::{Answer, Section, Story};
use crate::exit::Exit;

/// Longest limit that is waited for: in the proof a longer one stands at this much, and it is said.
pub(super) const HURRIED: Span = Span::millis(2_000);

/// The text as data.
pub(super) fn read(text: &str) -> Result<(Value, Format), Fault> {
    structured::read(text).map_err(Fault::text)
}

/// Why a request has no way through it.
pub(super) fn unserved(why: String) -> Fault {
    let about = if why.contains("say --") || why.contains("--port") || why.contains("is called") {
        About::Host
    } else if why.contains("is no path") || why.starts_with("no rout") {
        About::Path
    } else {
        About::Text
    };
    Fault::new(Exit::Usage, about, config_reader::secret::text(&why))
}

/// What was found on a way.
pub(super) struct Found<'a> {
    /// What answers, for the headline.
    pub(super) by: String,
    /// Whether something behind it answers.
    pub(super) served: bool,
    pub(super) steps: &'a [String],
    pub(super) open: &'a [String],
    pub(super) unknown: &'a [String],
    pub(super) causes: &'a [(&'static str, String)],
    pub(super) notes: &'a [String],
}

/// Causes that end a stream rather than hold it.
const CUTS: [&str; 3] = ["timeout", "max_stream_duration", "writeTimeout"];

/// The story as far as reading goes.
pub(super) fn story(path: &str, found: &Found<'_>) -> Story {
    let named = |cut: bool| {
        let own = found.causes.iter().filter(|cause| CUTS.contains(&cause.0) == cut);
        own.map(|cause| cause.0).collect::<Vec<_>>().join(" and by ")
    };
    let answer = match (found.causes.is_empty(), found.served, found.unknown.is_empty()) {
        (false, ..) => Answer::Found,
        (true, true, true) => Answer::Clean,
        (true, ..) => Answer::CannotTell,
    };
    let held = match (named(false).as_str(), named(true).as_str()) {
        ("", "") if !found.served => "what answers does not stand in it".into(),
        ("", "") if !found.unknown.is_empty() => {
            "what it does to a stream depends on what is not known here".into()
        }
        ("", "") => "nothing in force there is known to hold a stream".into(),
        ("", cut) => format!("a stream is cut off there by {cut}"),
        (held, "") => format!("a stream is held there by {held}"),
        (held, cut) => format!("a stream is held there by {held}, and cut off by {cut}"),
    };
    let mut story = Story::new(answer, format!("{path}, by {}: {held}.", found.by));
    let last = found.steps.len().saturating_sub(1);
    story.way = found
        .steps
        .iter()
        .enumerate()
        .map(|(index, step)| {
            let look = match index {
                0 => Look::Server,
                _ if index == last => Look::Chosen,
                _ => Look::Detour,
            };
            Station::new(look, config_reader::secret::text(step), "", "")
        })
        .collect();
    let causes = found.causes.iter().map(|(name, why)| format!("{name}: {why}"));
    let masked =
        |lines: &[String]| lines.iter().map(|own| config_reader::secret::text(own)).collect();
    story.sections = Section::all([
        ("What may lead elsewhere".into(), masked(found.open)),
        ("What is not known here".into(), masked(found.unknown)),
        ("What holds the stream".into(), causes.collect()),
        ("To note".into(), masked(found.notes)),
    ]);
    story
}

/// A limit as it stands in a proof, and what is said of one that was shortened.
pub(super) fn hurried(name: &str, ms: u64) -> (Span, Option<String>) {
    let most = i64::MAX / 1000;
    let own = Span::millis(i64::try_from(ms).map_or(most, |ms| ms.min(most)));
    match own.0 > HURRIED.0 {
        true => {
            (HURRIED, Some(format!("{name} is {HURRIED} in the place of {own}: a short proof")))
        }
        false => (own, None),
    }
}
