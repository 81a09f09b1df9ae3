//! What is behind a lane's verdict and what cures it; the cure is applied by running the lane
//! beside one whose configuration has it.

use measure::Verdict;
use measure::cause::naming::{self, Answer, Facts, Side};
use measure::cause::{CAUSES, Cause, Cure, Hop, Software};
use measure::page::Settings;
use measure::results::Endpoint;
use measure::verdict::Sure;

use crate::model::{Model, State};
use crate::runner;
use crate::view::markup::{escaped, joined};
use crate::view::place::Scene;
use crate::words;

/// A cause, and on what ground it is named.
struct Found {
    cause: &'static Cause,
    /// The program it is in, where that is known.
    software: Option<Software>,
    ground: &'static str,
}

/// The section; empty where nothing was measured.
pub(crate) fn markup(scene: &Scene<'_>) -> String {
    let (Some(own), Some(row)) = (scene.own, scene.row.filter(|row| row.has_run())) else {
        return String::new();
    };
    let verdict = row.result.summary.verdict.name;
    let mut markup = String::from("<h3>Cause and cure</h3>");
    if verdict == Verdict::Live {
        markup.push_str("<p>Nobody holds this stream: there is nothing to cure.</p>");
        return markup;
    }
    let Some(found) = find(&own.plan.endpoint, verdict) else {
        markup.push_str("<p>The figures name no cause. holdup doctor asks further.</p>");
        return markup;
    };
    markup.push_str(&joined(&[
        "<p><b>",
        &escaped(&words::sentence(found.cause.name)),
        "</b> ",
        &escaped(&words::sentence(found.ground)),
        "</p><p class=\"small\">Seen by: ",
        &escaped(found.cause.signature),
        ".</p>",
    ]));
    let fitting = |cure: &&Cure| found.software.is_none_or(|software| cure.software == software);
    for cure in found.cause.cures.iter().filter(fitting) {
        markup.push_str(&one(scene.state, &own.plan.endpoint.name, cure));
    }
    markup
}

fn one(state: &State, held: &str, cure: &Cure) -> String {
    let pair = cure.shown_by.iter().find(|(holding, _)| *holding == held);
    let apply = match pair {
        Some((_, cured)) if runs(state, cured) => {
            let key = joined(&[held, " ", cured]);
            let off = if state.may_run() { "" } else { " disabled" };
            joined(&[
                "<p><button type=\"button\" data-act=\"cure\" data-key=\"",
                &escaped(&key),
                "\"",
                off,
                ">Apply the cure: run it beside ",
                cured,
                "</button></p>",
            ])
        }
        Some((_, cured)) => joined(&[
            "<p class=\"small\">To see it here: holdup demo --endpoints ",
            held,
            ",",
            cured,
            "</p>",
        ]),
        None => String::new(),
    };
    joined(&[
        "<div class=\"remedy\"><p>",
        cure.software.name(),
        " ",
        &escaped(cure.versions),
        ", ",
        &escaped(cure.place),
        ":</p><pre tabindex=\"0\"><code>",
        &escaped(cure.lines),
        "</code></pre><p class=\"small\">Its price: ",
        &escaped(&words::sentence(cure.price)),
        "</p>",
        &apply,
        "</div>",
    ])
}

fn runs(state: &State, endpoint: &str) -> bool {
    let lanes = state.lanes.as_ref().map(|lanes| lanes.lanes.as_slice()).unwrap_or_default();
    lanes.iter().any(|lane| lane.endpoint.name == endpoint && !lane.ways.is_empty())
}

/// The cause of a verdict at an endpoint. Where the configuration is one of the program's own
/// that is known to hold, it says so; else what fits verdict and program.
fn find(endpoint: &Endpoint, verdict: Verdict) -> Option<Found> {
    let software = endpoint.proxy.as_deref().and_then(software);
    let by_path = matches!(
        verdict,
        Verdict::Held | Verdict::Corked | Verdict::BufferBursts | Verdict::TypeChanged
    );
    let known = CAUSES
        .iter()
        .filter(|cause| by_path && cause.hop == Hop::Path)
        .find(|cause| cause.cured_endpoint(&endpoint.name).is_some());
    if let Some(cause) = known {
        let ground = "the configuration that runs here is known to do it, and the bytes agree";
        return Some(Found { cause, software, ground });
    }
    let facts =
        Facts { suspect: software, origin: Side::Timed { whole: true }, ..Facts::of(verdict) };
    let Answer::Named(named) = naming::name(&facts, &|_| false) else { return None };
    let cause = named.cause.cause();
    let ground = match named.sure {
        Sure::Certain => "the figures of emitter, wire and page say so",
        Sure::Likely => "it fits the figures best; holdup doctor can make sure",
    };
    let in_path = cause.hop == Hop::Path;
    Some(Found { cause, software: software.filter(|_| in_path), ground })
}

/// The program of that name in the registry.
fn software(name: &str) -> Option<Software> {
    const NAMES: [(&str, Software); 7] = [
        ("nginx", Software::Nginx),
        ("haproxy", Software::Haproxy),
        ("caddy", Software::Caddy),
        ("traefik", Software::Traefik),
        ("envoy", Software::Envoy),
        ("apache", Software::Apache),
        ("varnish", Software::Varnish),
    ];
    NAMES.iter().find(|(own, _)| name.starts_with(own)).map(|(_, software)| *software)
}

/// Runs a lane beside the one that has the cure: the same stream, the same readers.
pub(crate) fn apply(model: Model, key: &str) {
    let Some((held, cured)) = key.split_once(' ') else { return };
    let settings = model.look(|state| {
        let row = state.rows.iter().find(|row| row.result.cell.endpoint == held)?;
        let cell = &row.result.cell;
        Some(Settings {
            script: Some(cell.script.clone()),
            endpoints: vec![held.into(), cured.into()],
            readers: state.settings.readers.clone(),
            runs: state.settings.runs,
            mss: Some(cell.link.mss),
            ..Settings::default()
        })
    });
    if let Some(settings) = settings.flatten()
        && model.look(State::may_run) == Some(true)
    {
        model.set_settings(settings);
        runner::run_all(model);
    }
}
