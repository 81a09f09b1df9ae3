//! What the gateway saw of an answer, as `GET /gateway/runs/{run}` tells it.

use measure::{Arrivals, Span};
use wasm_bindgen::JsValue;

use crate::json::{Json, arrivals_of};

/// The wire's side.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The reads.
    pub arrivals: Arrivals,
    /// How it came out, by the gateway's own reader of chat answers.
    pub outcome: Outcome,
    /// The answer's shape; absent where nobody knows it.
    pub shape: Option<String>,
    /// What carried it, by its name in results.
    pub carrier: Option<String>,
    /// When the first token came, seen or not.
    pub token: Option<Span>,
    /// What the head says of the hops.
    pub head: Vec<(String, String)>,
    /// Where a redirect leads to.
    pub leads_to: Option<String>,
    /// All of it as it came, for the results: it holds no key and no text.
    pub whole: JsValue,
}

/// How an answer came out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Whole, with a token.
    Complete,
    /// Its last event did not come.
    Truncated,
    /// It ended without a token.
    NoToken,
    /// An error, in one line.
    Failed(String),
}

/// Reads the gateway's answer.
///
/// # Errors
/// What of it cannot be read.
pub fn seen(json: &Json) -> Result<Seen, String> {
    json.whole(|json| {
        let answer = json.field("answer");
        let outcome = answer.field("outcome");
        let outcome = match outcome.text("outcome").as_str() {
            "complete" => Outcome::Complete,
            "truncated" => Outcome::Truncated,
            "no-token" => Outcome::NoToken,
            "failed" => Outcome::Failed(outcome.text("what")),
            other => {
                json.unknown("outcome ", other);
                Outcome::Truncated
            }
        };
        let text = |json: &Json, name: &str| json.get(name)?.value.as_string();
        let milestones = answer.field("milestones");
        Seen {
            arrivals: arrivals_of(&json.field("arrivals")),
            outcome,
            shape: text(&answer, "shape"),
            carrier: text(&answer, "carrier"),
            token: milestones.get("first_token_us").map(|_| Span(milestones.int("first_token_us"))),
            head: json.list("head", |pair| {
                let at = |index: u32| {
                    js_sys::Reflect::get_u32(&pair.value, index)
                        .ok()
                        .and_then(|value| value.as_string())
                        .unwrap_or_default()
                };
                (at(0), at(1))
            }),
            leads_to: text(json, "leads_to"),
            whole: json.value.clone(),
        }
    })
}

impl Seen {
    /// A field of the head.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}
