//! The requests in their order, before any is made.

use std::fmt;
use std::time::Duration;

use measure::Span;
use serde::{Deserialize, Serialize};

/// Which of two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Way {
    /// The URL's.
    Url,
    /// That of `--against`.
    Against,
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Where.
    pub(crate) way: Way,
    /// Which prompt, counted from 0.
    pub(crate) prompt: usize,
    /// Which pair of requests, or which request where there is one way, counted from 0.
    pub(crate) pair: u32,
    /// Whether it is there to warm things up and does not count.
    pub(crate) warm_up: bool,
}

/// The requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Those that may be made.
    pub(crate) steps: Vec<Step>,
    /// How many were asked for.
    pub(crate) planned: usize,
}

impl Plan {
    /// Each prompt so often on each way, at most so many in all. Two ways take turns as A B B A:
    /// what drifts at a steady pace, such as a service that gets slower, then weighs on both alike.
    pub(crate) fn new(prompts: usize, repeat: u32, warm_up: u32, two: bool, most: u32) -> Plan {
        let ways: &[Way] = if two { &[Way::Url, Way::Against] } else { &[Way::Url] };
        let warming = (0..warm_up).map(|pair| (pair, pair as usize % prompts, true));
        let counting = (0..repeat).flat_map(|_| 0..prompts).zip(0..);
        let counting = counting.map(|(prompt, pair)| (pair, prompt, false));
        let mut steps = Vec::new();
        for (pair, prompt, warm_up) in warming.chain(counting) {
            let step = |way: &Way| Step { way: *way, prompt, pair, warm_up };
            if pair % 2 == 0 {
                steps.extend(ways.iter().map(step));
            } else {
                steps.extend(ways.iter().rev().map(step));
            }
        }
        let planned = steps.len();
        // Half a pair says nothing.
        let most = most as usize / ways.len() * ways.len();
        steps.truncate(most);
        Plan { steps, planned }
    }
}

/// What is told before the first request.
pub(crate) struct Told<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) method: &'a str,
    pub(crate) url: String,
    pub(crate) against: Option<String>,
    pub(crate) shape: Option<measure::chat::Shape>,
    pub(crate) prompts: usize,
    pub(crate) who: &'a str,
    pub(crate) pause: Duration,
    pub(crate) limit: Duration,
    pub(crate) key: Option<&'a str>,
    pub(crate) notes: &'a [String],
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { steps, planned } = self.plan;
        let span = |time: Duration| Span(i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
        write!(f, "{} {}", self.method, self.url)?;
        if let Some(against) = &self.against {
            write!(f, "\nagainst {against}, in turn: A B B A")?;
        }
        let shape = self.shape.map_or("its shape told by the answer".into(), |it| it.to_string());
        write!(f, "\n{shape}, asked as a {} asks", self.who)?;
        if let Some(key) = self.key {
            write!(f, ", the key in {key}")?;
        }
        let (count, prompts) = (steps.len(), self.prompts);
        write!(f, "\n{count} request{}", if count == 1 { "" } else { "s" })?;
        if *planned > count {
            write!(f, " of the {planned} that were asked for (--max-requests)")?;
        }
        if prompts > 1 {
            write!(f, ", {prompts} prompts")?;
        }
        let warm_up = steps.iter().filter(|step| step.warm_up).count();
        if warm_up > 0 {
            write!(f, ", the first {warm_up} to warm up")?;
        }
        write!(f, "; one at a time, {} apart", span(self.pause))?;
        write!(
            f,
            ", each read for {} s at most; nothing is asked twice",
            self.limit.as_secs_f64()
        )?;
        for note in self.notes {
            write!(f, "\nnote: {note}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(plan: &Plan) -> String {
        let letter = |step: &Step| match (step.way, step.warm_up) {
            (Way::Url, false) => 'A',
            (Way::Against, false) => 'B',
            (Way::Url, true) => 'a',
            (Way::Against, true) => 'b',
        };
        plan.steps.iter().map(letter).collect()
    }

    #[test]
    fn two_ways_take_turns() {
        assert_eq!(order(&Plan::new(1, 4, 0, true, 20)), "ABBAABBA");
        assert_eq!(order(&Plan::new(2, 2, 1, true, 20)), "abABBAABBA");
        assert_eq!(order(&Plan::new(1, 3, 2, false, 20)), "aaAAA");
        let prompts: Vec<usize> =
            Plan::new(2, 2, 0, true, 20).steps.iter().map(|step| step.prompt).collect();
        assert_eq!(prompts, [0, 0, 1, 1, 0, 0, 1, 1], "both ways are asked the same");
    }

    #[test]
    fn no_more_are_made_than_may_be_and_no_half_pair() {
        let plan = Plan::new(1, 10, 0, true, 7);
        assert_eq!((order(&plan).as_str(), plan.planned), ("ABBAAB", 20));
        assert_eq!(Plan::new(1, 10, 0, false, 7).steps.len(), 7);
        assert!(Plan::new(1, 10, 0, true, 1).steps.is_empty());
    }
}
