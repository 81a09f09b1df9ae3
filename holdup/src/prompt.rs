//! Prompts to the emitter's chat route, and one answer read natively.

use measure::chat::{ChatReader, Shape};
use measure::prompts::Answer;
use measure::{Arrivals, End, RunId};
use recv_client::{Ask, Form, Observed};
use serde_json::json;

use crate::runner;

/// The chat route whose answers plans ask for.
pub(crate) const ROUTE: &str = "/v1/chat/completions";

/// A prompt to the emitter's chat route, which asks for that answer under that run's id.
pub(crate) fn form(answer: &Answer, run: RunId) -> Form {
    let body = json!({
        "model": "holdup-emitter",
        "stream": true,
        "messages": [{ "role": "user", "content": "What is a token?" }],
        "holdup": {
            "run": run.to_string(),
            "tokens": answer.words,
            "interval_ms": answer.interval.millis_text(),
            "first_ms": answer.first.millis_text(),
            "end": if answer.ended { "terminal" } else { "none" },
        },
    });
    Form {
        method: "POST".into(),
        fields: vec![("Content-Type".into(), "application/json".into())],
        body: body.to_string().into_bytes(),
        ..Form::default()
    }
}

/// Asks and reads to the end, on a thread of its own that runs before other work where that may
/// be. The frames say text where the events hold visible text; whatever fails is in the end.
pub(crate) fn observe(ask: &Ask, shape: Shape, run: RunId) -> Arrivals {
    runner::before_others(|| read(ask, shape, run))
}

fn read(ask: &Ask, shape: Shape, run: RunId) -> Arrivals {
    let mut chat = ChatReader::new(Some(shape), Some(run));
    let mut too_long = None;
    let Observed { mut arrivals, .. } = recv_client::observe_with(ask, run, &mut |at, bytes| {
        // What came before stays; the time limit ends the rest.
        if too_long.is_none() {
            too_long = chat.read(at, bytes).err();
        }
    });
    chat.finish().enter(&mut arrivals);
    if let Some(error) = too_long {
        arrivals.end = End::Failed { what: error.to_string() };
    }
    arrivals
}
