//! What is taken away: all figures as one JSON document, or as a table in Markdown. Neither holds
//! a key, ever; prompts and answers only where that was asked for.

use js_sys::{Array, Date, JSON};
use measure::Span;
use measure::stats::Spread;
use wasm_bindgen::JsValue;

use super::answer::Figures;
use super::figures;
use super::model::{Answer, Model, State};
use super::runner::told;
use crate::json::Writing;
use crate::view::markup::{filled, joined};
use crate::words::{self, NONE};

/// The document's own name and version.
const SCHEMA: &str = "holdup-own/1";
/// What stands where a secret would.
const MASK: &str = "***";
/// Shorter than this a prompt is a word like others, which stands in the document by itself, and
/// a key is none.
const SHORTEST: usize = 8;

/// The whole document as a text. A last look takes the key out of it whatever came back with it,
/// and without `texts` the prompts, too: a service may repeat them in its errors.
pub fn document(model: Model, texts: bool) -> String {
    let whole = model.look(|state| written(model, state, texts));
    let text = JSON::stringify(&whole.0).map(String::from).unwrap_or_default();
    let secrets = model.look(|state| secrets(state, texts));
    masked(text, &secrets)
}

/// What may not be in it, as JSON would write it.
fn secrets(state: &State, texts: bool) -> Vec<String> {
    let Some(plan) = &state.plan else { return Vec::new() };
    let key = plan.key.iter();
    let words = plan.prompts.iter().chain(&plan.body).filter(|_| !texts);
    key.chain(words)
        .filter(|secret| secret.len() >= SHORTEST)
        .map(|secret| {
            let quoted = JSON::stringify(&JsValue::from_str(secret)).map(String::from);
            let quoted = quoted.unwrap_or_default();
            quoted.trim_matches('"').to_string()
        })
        .collect()
}

/// A text without these.
pub fn masked(mut text: String, secrets: &[String]) -> String {
    for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
        if text.contains(secret.as_str()) {
            text = text.split(secret.as_str()).collect::<Vec<_>>().join(MASK);
        }
    }
    text
}

fn span(writing: Writing, name: &str, span: Option<Span>) -> Writing {
    match span {
        Some(span) => writing.int(name, span.as_micros()),
        None => writing,
    }
}

fn spread(spread: &Spread) -> Writing {
    let own = Writing::new().int("median", spread.median.as_micros());
    let own = self::span(self::span(own, "p95", spread.p95), "p99", spread.p99);
    own.int("min", spread.min.as_micros())
        .int("max", spread.max.as_micros())
        .put("n", spread.n as f64)
}

fn written(model: Model, state: &State, texts: bool) -> Writing {
    let browser = model.browser();
    let browser = Writing::new()
        .put("name", browser.name)
        .put("version", browser.version)
        .put("isolated", browser.isolated)
        .int("clock_step_us", browser.clock_step_us);
    let plan = state.plan.as_ref();
    let targets: Array =
        (0..state.targets.len()).map(|own| JsValue::from(target(state, own).0)).collect();
    let answers: Array =
        state.answers.iter().map(|own| JsValue::from(answer(own, state, texts).0)).collect();
    let whole = Writing::new()
        .put("schema", SCHEMA)
        .put("complete", state.answers.len() == state.planned())
        .put("written_at", String::from(Date::new_0().to_iso_string()))
        .put("browser", browser.0)
        .put("way", if plan.is_some_and(|plan| plan.direct) { "direct" } else { "gateway" })
        .put("same_service", plan.is_some_and(|plan| plan.same))
        .put("targets", targets)
        .put("answers", answers);
    match plan {
        Some(plan) if texts => {
            let prompts: Array = plan.prompts.iter().map(|own| JsValue::from_str(own)).collect();
            whole.put("prompts", prompts)
        }
        _ => whole,
    }
}

fn target(state: &State, own: usize) -> Writing {
    let writing = Writing::new()
        .put("address", &state.targets[own].shown)
        .put("answers", state.of(own).count() as f64)
        .put("failed", (state.of(own).count() - state.good(own).count()) as f64);
    let page = figures::spread(state, own, |answer| answer.own.firsts.text);
    let wire =
        figures::spread(state, own, |answer| answer.wire.as_ref().and_then(|own| own.firsts.text));
    let mut writing = writing;
    for (name, found) in [("page_ttft_us", page), ("wire_ttft_us", wire)] {
        if let Some(found) = found {
            writing = writing.put(name, spread(&found).0);
        }
    }
    for (name, side) in [("events_per_read", "wire"), ("events_per_delivery", "page")] {
        if let Some(ratio) = figures::per(state, own, side) {
            writing = writing.put(name, (ratio * 100.0).round() / 100.0);
        }
    }
    match figures::verdict(state, own) {
        Some((side, because)) => writing.put("side", side).put("because", because),
        None => writing,
    }
}

fn side(figures: &Figures) -> Writing {
    let firsts = figures.firsts;
    let own = span(Writing::new(), "first_byte_us", firsts.byte);
    let own = span(own, "first_event_us", firsts.event);
    let own = span(own, "first_token_us", firsts.token);
    let own = span(own, "first_text_us", firsts.text);
    let gaps: Array =
        figures.gaps.iter().map(|gap| JsValue::from(gap.as_micros() as f64)).collect();
    own.put("events", figures.events)
        .put("deliveries", figures.deliveries)
        .put("text_events", figures.text.0)
        .put("text_deliveries", figures.text.1)
        .put("text_gaps_us", gaps)
}

fn answer(answer: &Answer, state: &State, texts: bool) -> Writing {
    let (target, question, round) = answer.turn;
    let mut own = Writing::new()
        .put("run", answer.run.to_string())
        .put("target", target as f64)
        .put("question", question as f64)
        .put("round", round)
        .put("side", answer.side.name())
        .put("page", side(&answer.own).0)
        .put("page_arrivals", crate::json::arrivals_written(&answer.arrivals).0);
    if let Some(finding) = &answer.finding {
        own = own.put("verdict", finding.name.name()).put("because", &finding.because);
    }
    if let Some(wire) = &answer.wire {
        own = own.put("wire", side(wire).0);
    }
    if let Some(seen) = &answer.seen {
        // As the gateway told it: it holds no key and no text.
        own = own.put("gateway", &seen.whole);
    }
    if let Some(trouble) = &answer.trouble {
        own = own.put("trouble", told(trouble));
    }
    if texts {
        own = own.put("text", &answer.page.text);
        let prompt = state.plan.as_ref().and_then(|plan| plan.prompts.get(question));
        if let Some(prompt) = prompt {
            own = own.put("prompt", prompt);
        }
    }
    own
}

/// The figures as a table.
pub fn markdown(model: Model, texts: bool) -> String {
    let step = model.step();
    let text = model.look(|state| {
        let browser = model.browser();
        let mut text = joined(&[
            "| endpoint | answers | first text, wire | first text, page | events a read | events a delivery | side |\n",
            "|---|---:|---:|---:|---:|---:|---|\n",
        ]);
        for own in 0..state.targets.len() {
            let ttft = |spread: Option<Spread>| {
                spread.map_or(NONE.into(), |own| words::span(own.median, step))
            };
            let ratio = |side| {
                figures::per(state, own, side)
                    .map_or(NONE.into(), |own| measure::units::decimal(own, 2))
            };
            let page = figures::spread(state, own, |answer| answer.own.firsts.text);
            let wire = figures::spread(state, own, |answer| {
                answer.wire.as_ref().and_then(|own| own.firsts.text)
            });
            let verdict = figures::verdict(state, own);
            let side = verdict.as_ref().map_or(NONE, |(side, _)| side);
            text.push_str(&filled(
                "| ¤ | ¤ | ¤ | ¤ | ¤ | ¤ | ¤ |\n",
                &[
                    &state.targets[own].shown,
                    &state.good(own).count().to_string(),
                    &ttft(wire),
                    &ttft(page),
                    &ratio("wire"),
                    &ratio("page"),
                    side,
                ],
            ));
        }
        text.push_str(&joined(&[
            "\n",
            &figures::sentence(state, step),
            " Read by ",
            &words::engine(&browser.name),
            " ",
            &browser.version,
            ".\n",
        ]));
        if texts {
            for answer in &state.answers {
                text.push_str(&filled("\n> ¤\n", &[&answer.page.text.replace('\n', "\n> ")]));
            }
        }
        text
    });
    let secrets = model.look(|state| secrets(state, texts));
    masked(text, &secrets)
}
