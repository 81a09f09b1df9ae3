//! Gemini's `streamGenerateContent` (ai.google.dev, "generateContent": `GenerateContentResponse`,
//! `Candidate`, `Part`, `UsageMetadata`), as SSE with `alt=sse` and else as one JSON array whose
//! elements are the same objects.
//!
//! | field of `candidates[].content.parts[]` | channel |
//! |---|---|
//! | `text` | text |
//! | `text` with `"thought": true` | reasoning |
//! | `functionCall.name`, `executableCode.code` | tool calls |
//!
//! A candidate's `finishReason` marks its last object; there is no event after it. `usageMetadata`
//! comes with every object as a running total: `candidatesTokenCount` does not include
//! `thoughtsTokenCount`. A prompt that was refused gives `promptFeedback.blockReason` and no
//! candidate. `responseId` names the response.

use crate::chat::count::Tokens;
use crate::chat::facts::{Facts, ServiceError, Usage};
use crate::chat::json::Json;

/// A finish reason that is none: the protocol buffer's default, which some gateways write out.
const UNSPECIFIED: &str = "FINISH_REASON_UNSPECIFIED";

pub(super) fn facts(json: &Json) -> Facts {
    let mut facts = Facts::default();
    for candidate in json.list("candidates") {
        if let Some(content) = candidate.get("content") {
            for part in content.list("parts") {
                if part.flag("thought") {
                    facts.add_reasoning(part.text("text"));
                } else {
                    facts.add_text(part.text("text"));
                }
                facts.add_tool(part.get("functionCall").and_then(|call| call.text("name")));
                facts.add_tool(part.get("executableCode").and_then(|code| code.text("code")));
            }
        }
        let reason = candidate.text("finishReason");
        if let Some(reason) = reason.filter(|reason| !reason.is_empty() && *reason != UNSPECIFIED) {
            facts.terminal = true;
            facts.finish = Some(reason.into());
        }
    }
    if let Some(reason) = json.get("promptFeedback").and_then(|it| it.text("blockReason")) {
        facts.error = Some(ServiceError {
            kind: Some(reason.into()),
            message: "the service refused the prompt".into(),
        });
    }
    facts.usage = json.get("usageMetadata").map(usage_of).unwrap_or_default();
    facts
}

fn usage_of(json: &Json) -> Usage {
    let thoughts = json.number("thoughtsTokenCount");
    let spoken = json.number("candidatesTokenCount");
    let output = match (spoken, thoughts) {
        (None, None) => None,
        (spoken, thoughts) => {
            Some(spoken.unwrap_or_default().saturating_add(thoughts.unwrap_or_default()))
        }
    };
    Usage {
        input: json.number("promptTokenCount").map(Tokens),
        output: output.map(Tokens),
        reasoning: thoughts.map(Tokens),
    }
}
