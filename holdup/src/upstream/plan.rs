//! The requests before any is made: how many, in which order.

use measure::chat::Shape;

use super::cli::Service;
use crate::exit::Problem;

/// Rounds of one request on each way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// The ways, `direct` first.
    pub(super) names: Vec<String>,
    /// Rounds that may be asked.
    pub(super) rounds: u32,
    /// Rounds that were wanted.
    runs: u32,
    seed: u64,
}

impl Plan {
    /// As many whole rounds of those wanted as there may be requests: half a round compares
    /// nothing.
    pub(super) fn new(
        names: Vec<String>,
        runs: u32,
        most: u32,
        seed: u64,
    ) -> Result<Plan, Problem> {
        let each = names.len() as u32;
        let rounds = runs.min(most / each.max(1));
        if rounds == 0 {
            return Err(Problem::usage(format!(
                "--max-requests {most} is less than one round of {each} requests ({}): allow more, or name fewer --endpoints",
                names.join(", ")
            )));
        }
        Ok(Plan { names, rounds, runs, seed })
    }

    /// How many requests were wanted.
    pub(super) fn wanted(&self) -> u32 {
        self.runs * self.names.len() as u32
    }

    /// Why fewer are made; nothing when they are not.
    pub(super) fn cut(&self, most: u32) -> Option<String> {
        let made = self.rounds * self.names.len() as u32;
        (self.rounds < self.runs).then(|| {
            format!(
                "{made} of {} requests, in {} of {} rounds (--max-requests {most})",
                self.wanted(),
                self.rounds,
                self.runs
            )
        })
    }

    /// The order of a round's ways, of so many that run: another one in each round, so that
    /// nobody always comes after the same.
    pub(super) fn order(&self, round: u32, ways: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..ways).collect();
        fastrand::Rng::with_seed(self.seed.wrapping_add(u64::from(round))).shuffle(&mut order);
        order
    }

    /// What is told before the first request.
    pub(super) fn told(
        &self,
        url: &str,
        shape: Option<Shape>,
        service: &Service,
        key: Option<&(String, String)>,
    ) -> String {
        let made = self.rounds * self.names.len() as u32;
        let shape = shape.map_or("of a shape to be recognised".into(), |shape| shape.to_string());
        let mut told = format!(
            "POST {url} ({shape}): {made} requests, one at a time, {} apart: {} rounds on each of {}",
            humantime::format_duration(service.pause),
            self.rounds,
            self.names.join(", ")
        );
        if let Some((name, _)) = key {
            told.push_str(&format!("; the key goes with each in {name}"));
        }
        if let Some(cut) = self.cut(service.max_requests) {
            told.push_str(&format!("; {cut}"));
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(runs: u32, most: u32) -> Result<Plan, Problem> {
        Plan::new(["direct", "haproxy", "nginx"].map(String::from).into(), runs, most, 7)
    }

    #[test]
    fn only_whole_rounds_within_the_limit_are_asked() {
        let within = plan(3, 20).unwrap();
        assert_eq!((within.rounds, within.wanted(), within.cut(20)), (3, 9, None));
        let cut = plan(15, 20).unwrap();
        assert_eq!(cut.rounds, 6);
        assert_eq!(
            cut.cut(20).unwrap(),
            "18 of 45 requests, in 6 of 15 rounds (--max-requests 20)"
        );
        let none = plan(3, 2).unwrap_err().to_string();
        assert!(
            none.starts_with("--max-requests 2 is less than one round of 3 requests"),
            "{none}"
        );
    }

    #[test]
    fn every_way_is_in_every_round_and_the_order_changes() {
        let plan = plan(9, 100).unwrap();
        let orders: Vec<Vec<usize>> = (0..9).map(|round| plan.order(round, 3)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(orders.windows(2).any(|pair| pair[0] != pair[1]));
        assert_eq!(orders[4], plan.order(4, 3));
    }
}
