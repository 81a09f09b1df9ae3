//! What an answer says, and when: steps that every shape has its own events for.

use measure::Span;
use measure::script::{MAX_DURATION, MAX_INTERVAL};

/// Most words, and with them most events, of an answer: well above any model's, and some 3 MB.
const MAX_WORDS: u32 = 10_000;

/// Names of the steps, as they are written in `steps=`.
const STEPS: [(&str, Step); 11] = [
    ("role", Step::Role),
    ("empty", Step::Empty),
    ("text", Step::Text(1)),
    ("reasoning", Step::Reasoning(1)),
    ("tool", Step::Tool),
    ("comment", Step::Comment),
    ("keepalive", Step::Keepalive),
    ("usage", Step::Usage),
    ("error", Step::Error),
    ("finish", Step::Finish),
    ("end", Step::End),
];

/// One thing that an answer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Begins: an event with the role and nothing else, or whatever the shape begins with.
    Role,
    /// An event with an empty text.
    Empty,
    /// So many words of text in one event.
    Text(u32),
    /// So many words of reasoning in one event.
    Reasoning(u32),
    /// A tool call.
    Tool,
    /// A keep-alive that is no event: a comment, or white space where the carrier has none.
    Comment,
    /// A keep-alive that is one: the shape's own, else data that is no JSON.
    Keepalive,
    /// The usage by itself, where the shape can say it.
    Usage,
    /// An error.
    Error,
    /// The reason why it ends.
    Finish,
    /// The shape's last event.
    End,
}

/// Steps of one write, and when it is due after the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) due: Span,
    pub(super) steps: Vec<Step>,
}

/// An answer at one pace: events a write each, as many as the shape's speaker makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// Words of the text.
    pub(super) words: u32,
    /// Words in one event.
    pub(super) per_event: u32,
    /// Events with a word of reasoning before the text.
    pub(super) reasoning: u32,
    /// Between due times.
    pub(super) interval: Span,
    /// When the first event with a token is due at the earliest.
    pub(super) first: Span,
    /// An error takes the place of what follows so many events with text.
    pub(super) error_after: Option<u32>,
    /// Whether the shape's last events come.
    pub(super) end: bool,
}

impl Default for Pace {
    /// A short answer: a sentence of twelve words, in a third of a second.
    fn default() -> Pace {
        Pace {
            words: 12,
            per_event: 1,
            reasoning: 0,
            interval: Span::millis(25),
            first: Span::ZERO,
            error_after: None,
            end: true,
        }
    }
}

impl Pace {
    /// Its steps. `role` and `usage` say whether the shape begins with the former and was asked
    /// for the latter.
    pub(super) fn steps(&self, role: bool, usage: bool) -> Vec<Step> {
        let mut steps = Vec::new();
        steps.extend(role.then_some(Step::Role));
        steps.extend((0..self.reasoning).map(|_| Step::Reasoning(1)));
        let mut left = self.words;
        let mut texts = 0;
        while left > 0 && self.error_after.is_none_or(|after| texts < after) {
            let words = left.min(self.per_event);
            steps.push(Step::Text(words));
            left -= words;
            texts += 1;
        }
        if self.error_after.is_some() {
            steps.push(Step::Error);
        } else if self.end {
            steps.push(Step::Finish);
            steps.extend(usage.then_some(Step::Usage));
            steps.push(Step::End);
        }
        steps
    }

    /// Sets one number by its name; `None` when there is no such name.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Option<Result<(), String>> {
        let number = |most: u32| match value.parse::<u32>() {
            Ok(number) if number <= most => Ok(number),
            _ => Err(format!("{name} is {value:?}: it must be from 0 to {most}")),
        };
        let time = || match Span::from_millis_text(value) {
            Some(time) if (Span::ZERO..=MAX_INTERVAL).contains(&time) => Ok(time),
            _ => Err(format!("{name} is {value:?}: it must be from 0 to 60000 milliseconds")),
        };
        Some(match name {
            "tokens" => number(MAX_WORDS).map(|words| self.words = words),
            "per_event" => number(MAX_WORDS).map(|words| self.per_event = words.max(1)),
            "reasoning" => number(MAX_WORDS).map(|events| self.reasoning = events),
            "error_after" => number(MAX_WORDS).map(|events| self.error_after = Some(events)),
            "interval_ms" => time().map(|time| self.interval = time),
            "first_ms" => time().map(|time| self.first = time),
            "end" => match value {
                "terminal" => Ok(true),
                "none" => Ok(false),
                _ => Err(format!("end is {value:?}: it must be terminal or none")),
            }
            .map(|end| self.end = end),
            _ => return None,
        })
    }
}

/// Reads steps: writes with commas between them, each its steps with `+` between them and
/// `@` and its milliseconds at the end, such as `role@0,text+text*5@100,end@200`.
///
/// # Errors
/// Which part is wrong, and what would be right.
pub(super) fn parse_steps(text: &str) -> Result<Vec<Group>, String> {
    let mut groups: Vec<Group> = Vec::new();
    let mut words = 0;
    for part in text.split(',') {
        let shown = || part.chars().take(60).collect::<String>();
        let (steps, due) = part
            .rsplit_once('@')
            .ok_or_else(|| format!("steps: {:?} has no time: write text@100", shown()))?;
        let due = Span::from_millis_text(due)
            .filter(|due| (Span::ZERO..=MAX_DURATION).contains(due))
            .ok_or_else(|| {
                format!("steps: {:?}: the time is milliseconds up to 600000", shown())
            })?;
        if groups.last().is_some_and(|before| due < before.due) {
            return Err(format!("steps: {:?} is due before the write in front of it", shown()));
        }
        let steps = steps.split('+').map(parse_step).collect::<Result<Vec<Step>, String>>()?;
        for step in &steps {
            words += match step {
                Step::Text(words) | Step::Reasoning(words) => *words,
                _ => 1,
            };
        }
        if words > MAX_WORDS {
            return Err(format!("steps: more than {MAX_WORDS} words and steps"));
        }
        groups.push(Group { due, steps });
    }
    Ok(groups)
}

fn parse_step(text: &str) -> Result<Step, String> {
    let (name, words) = text.split_once('*').unwrap_or((text, "1"));
    let known = || STEPS.map(|(name, _)| name).join(", ");
    let step = STEPS.into_iter().find(|(known, _)| *known == name);
    let Some((_, step)) = step else {
        return Err(format!(
            "steps: no step is called {:?}: known are {}",
            name.chars().take(40).collect::<String>(),
            known()
        ));
    };
    let count = words.parse().ok().filter(|words| (1..=MAX_WORDS).contains(words));
    match (step, count) {
        (Step::Text(_), Some(words)) => Ok(Step::Text(words)),
        (Step::Reasoning(_), Some(words)) => Ok(Step::Reasoning(words)),
        (step, Some(1)) => Ok(step),
        _ => Err(format!("steps: {text:?}: after * comes a number of words, of text or reasoning")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_written_in_groups() {
        let groups = parse_steps("role@0,text+text*5@100,end@100.5").unwrap();
        let expected = [
            (Span::ZERO, vec![Step::Role]),
            (Span::millis(100), vec![Step::Text(1), Step::Text(5)]),
            (Span(100_500), vec![Step::End]),
        ];
        assert_eq!(groups, expected.map(|(due, steps)| Group { due, steps }));
    }

    #[test]
    fn wrong_steps_are_named() {
        for (steps, why) in [
            ("text", "steps: \"text\" has no time: write text@100"),
            ("text@x", "steps: \"text@x\": the time is milliseconds up to 600000"),
            ("text@9,end@3", "steps: \"end@3\" is due before the write in front of it"),
            ("end*2@0", "steps: \"end*2\": after * comes a number of words, of text or reasoning"),
            ("text*10000+text@0", "steps: more than 10000 words and steps"),
        ] {
            assert_eq!(parse_steps(steps).unwrap_err(), why);
        }
        assert!(parse_steps("sing@0").unwrap_err().contains("known are role, empty, text"));
    }

    #[test]
    fn a_pace_is_steps() {
        let mut pace = Pace { words: 5, per_event: 2, reasoning: 1, ..Pace::default() };
        let text = [Step::Text(2), Step::Text(2), Step::Text(1)];
        let steps = pace.steps(true, true);
        assert_eq!(steps[..2], [Step::Role, Step::Reasoning(1)]);
        assert_eq!(steps[2..5], text);
        assert_eq!(steps[5..], [Step::Finish, Step::Usage, Step::End]);
        pace.set("error_after", "2").unwrap().unwrap();
        assert_eq!(pace.steps(false, true)[1..], [Step::Text(2), Step::Text(2), Step::Error]);
        assert!(pace.set("tokens", "10001").unwrap().is_err());
        assert_eq!(pace.set("colour", "red"), None);
    }
}
