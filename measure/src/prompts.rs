//! Prompts that a plan puts to the emitter's own chat route, and the pace their answers are asked
//! to have. The route is `POST /v1/chat/completions`.

use serde::{Deserialize, Serialize};

use crate::script::Script;
use crate::units::Span;

/// How many times as fast the replay's answers are as the published ones: two hundred prompts on
/// five ways then take some nine minutes instead of three hours.
pub const REPLAY_SPEED: u32 = 20;
/// What the seed of a set of prompts is; each round has a prompt of its own, the same on every way.
const SEED: u64 = 0x0070_726f_6d70_7473;
/// Events beside those with words: the role, the reason of the end, the end itself.
const BESIDE: u32 = 3;
/// Bytes of one event with a word, about: what a nominal script has for each.
const EVENT_BYTES: u32 = 250;

/// A set of prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prompts {
    /// Answers as the real model of P6 gave: about 175 events 8.6 ms apart, after a time that
    /// varies.
    Model,
    /// P9's replay: answers of many lengths, after times and at paces that vary as published, all
    /// [`REPLAY_SPEED`] times as fast.
    Replay,
    /// Answers that end well-formed, but without their terminal event.
    Unended,
}

/// One answer that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Events with a word.
    pub words: u32,
    /// Between two events.
    pub interval: Span,
    /// When the first word is due.
    pub first: Span,
    /// Whether the terminal event comes.
    pub ended: bool,
}

impl Prompts {
    /// The name in results and ids.
    pub fn name(self) -> &'static str {
        match self {
            Prompts::Model => "model",
            Prompts::Replay => "replay",
            Prompts::Unended => "unended",
        }
    }

    /// The answer to the prompt of a round.
    pub fn answer(self, round: u32) -> Answer {
        let mut random = fastrand::Rng::with_seed(SEED.wrapping_add(u64::from(round)));
        let usual = self.usual();
        match self {
            Prompts::Unended => usual,
            Prompts::Model => {
                // Some tenths of a second, as a model's own time varies.
                Answer { first: Span::millis(random.i64(200..500)), ..usual }
            }
            Prompts::Replay => {
                // Published, direct: 0.71 s in the median, 1.32 s at p95.
                let first = spread(usual.first, 0.377, &mut random);
                // Published, held: 9.6 s at p95, of which the pace of a first buffer is the most.
                let interval = spread(usual.interval, 0.69, &mut random);
                // 58 of 200 fitted into one buffer, the others came in four or five.
                let words =
                    if random.f64() < 0.29 { random.u32(3..=9) } else { random.u32(48..=66) };
                // What the emitter can pace on a busy machine, and an end to the slowest.
                let interval = interval.max(Span::millis(4)).min(Span::millis(40));
                Answer { words, interval, first, ended: true }
            }
        }
    }

    /// The answer that the others vary about.
    fn usual(self) -> Answer {
        match self {
            Prompts::Model => Answer {
                words: 173,
                interval: Span::micros(8_600),
                first: Span::millis(300),
                ended: true,
            },
            Prompts::Replay => Answer {
                words: 57,
                interval: Span::millis(9),
                first: Span::micros(710_000 / i64::from(REPLAY_SPEED)),
                ended: true,
            },
            Prompts::Unended => {
                Answer { words: 8, interval: Span::millis(100), first: Span::ZERO, ended: false }
            }
        }
    }

    /// The usual answer as a script, for what a plan says before it is played: as many events at
    /// that interval. What was really played stands in the run's ledger.
    pub fn script(self) -> Script {
        let Answer { words, interval, .. } = self.usual();
        Script {
            body: crate::script::Body::Paced {
                frames: words + BESIDE,
                interval_us: interval,
                frame_bytes: EVENT_BYTES,
            },
            ..Script::headline()
        }
    }
}

/// A time about a median, its logarithm normally distributed.
fn spread(median: Span, sigma: f64, random: &mut fastrand::Rng) -> Span {
    // Twelve numbers from 0 to 1 add up to nearly a normal one about 6.
    let normal: f64 = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
    Span((median.as_micros() as f64 * (sigma * normal).exp()) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::nearest_rank;

    fn sorted(mut times: Vec<Span>) -> Vec<Span> {
        crate::stats::sort(&mut times);
        times
    }

    #[test]
    fn the_replay_varies_as_published() {
        let answers: Vec<Answer> = (0..200).map(|round| Prompts::Replay.answer(round)).collect();
        assert_eq!(answers[7], Prompts::Replay.answer(7), "a prompt is the same on every way");
        let near = |ours: Span, published_ms: i64| {
            let there = published_ms as f64 / f64::from(REPLAY_SPEED);
            (ours.as_millis_f64() / there - 1.0).abs() < 0.15
        };
        let first = sorted(answers.iter().map(|answer| answer.first).collect());
        let (middle, high) = (nearest_rank(&first, 0.5).unwrap(), nearest_rank(&first, 0.95));
        assert!(near(middle, 710) && near(high.unwrap(), 1_320), "{middle} {high:?}");
        let short = answers.iter().filter(|answer| answer.words < 10).count();
        assert!((46..=70).contains(&short), "{short} short ones, published: 58");
        let slowest = answers.iter().map(|answer| answer.interval).max().unwrap();
        assert!(slowest <= Span::millis(40));
    }

    #[test]
    fn a_models_answers_are_alike_but_for_their_beginning() {
        let answers: Vec<Answer> = (0..20).map(|round| Prompts::Model.answer(round)).collect();
        assert!(answers.iter().all(|answer| answer.words == 173 && answer.ended));
        assert!(answers.windows(2).any(|pair| pair[0].first != pair[1].first));
        assert_eq!(Prompts::Model.script().frame_count(), 176);
        assert!(!Prompts::Unended.answer(3).ended);
    }
}
