//! The figures of many answers from one place.

use serde::{Deserialize, Serialize};

use super::answer::{ChatAnswer, ChatMilestones};
use crate::measurement::Outcome;
use crate::stats::{RatioSpread, Spread};
use crate::summary::Outcomes;
use crate::units::Span;

/// Many answers. Times are those of complete answers alone; how many came out otherwise stands
/// beside them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatPool {
    /// How they came out.
    pub outcomes: Outcomes,
    /// Call to the first byte of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_us: Option<Spread>,
    /// Call to the first event of any kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_event_us: Option<Spread>,
    /// Call to the first token of any channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_us: Option<Spread>,
    /// Call to the first reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_reasoning_us: Option<Spread>,
    /// Call to the first text that can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttft_us: Option<Spread>,
    /// Call to the last token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_token_us: Option<Spread>,
    /// Between consecutive events with text, of all answers together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_gap_us: Option<Spread>,
    /// Per generated token, of the answers that reported their usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_token_us: Option<Spread>,
    /// Frames by reads that completed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames_per_read: Option<RatioSpread>,
    /// Answers whose text all came in one read …
    pub in_one_delivery: u32,
    /// … out of so many that had text in more than one event, and could show it.
    pub with_more_events: u32,
}

impl ChatPool {
    /// Pools answers.
    pub fn of(answers: &[ChatAnswer]) -> ChatPool {
        let mut outcomes = Outcomes::default();
        for answer in answers {
            *match answer.outcome {
                Outcome::Complete => &mut outcomes.complete,
                Outcome::Truncated => &mut outcomes.truncated,
                Outcome::NoToken => &mut outcomes.no_token,
                Outcome::Failed { .. } => &mut outcomes.failed,
            } += 1;
        }
        let complete: Vec<&ChatAnswer> =
            answers.iter().filter(|answer| answer.is_complete()).collect();
        let spread = |of: fn(&ChatMilestones) -> Option<Span>| {
            Spread::of(complete.iter().filter_map(|answer| of(&answer.milestones)))
        };
        let deliveries: Vec<bool> =
            complete.iter().filter_map(|answer| answer.in_one_delivery()).collect();
        ChatPool {
            outcomes,
            first_byte_us: spread(|it| it.first_byte),
            first_event_us: spread(|it| it.first_event),
            first_token_us: spread(|it| it.first_token),
            first_reasoning_us: spread(|it| it.first_reasoning),
            ttft_us: spread(|it| it.ttft),
            last_token_us: spread(|it| it.last_token),
            text_gap_us: Spread::of(complete.iter().flat_map(|it| it.text_gaps.iter().copied())),
            per_token_us: Spread::of(complete.iter().filter_map(|answer| answer.per_token())),
            frames_per_read: RatioSpread::of(complete.iter().filter_map(|it| it.frames_per_read())),
            in_one_delivery: deliveries.iter().filter(|one| **one).count() as u32,
            with_more_events: deliveries.len() as u32,
        }
    }

    /// The share of answers whose text all came in one read; absent where none could show it.
    pub fn single_delivery_share(&self) -> Option<f64> {
        (self.with_more_events > 0)
            .then(|| f64::from(self.in_one_delivery) / f64::from(self.with_more_events))
    }
}
