//! Counts what test runners say, and what they skipped.

/// Sums over all runners.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    /// Tests that said SKIPPED: what they need is not here.
    pub(crate) skipped: u32,
    /// Tests that said SKIPPED(void: …): the machine was too noisy to measure.
    pub(crate) void: u32,
}

impl Counts {
    /// Takes one line of output.
    pub(crate) fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.starts_with("SKIPPED(void") {
            self.void += 1;
        } else if line.starts_with("SKIPPED(") {
            self.skipped += 1;
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            for part in rest.split([';', '.']) {
                let mut words = part.split_whitespace();
                match (words.next().and_then(|word| word.parse::<u32>().ok()), words.next()) {
                    (Some(count), Some("passed")) => self.passed += count,
                    (Some(count), Some("failed")) => self.failed += count,
                    _ => {}
                }
            }
        }
    }

    /// Tests that really ran: one that skipped itself has been counted as passed by its runner.
    pub(crate) fn ran(&self) -> u32 {
        self.passed.saturating_sub(self.skipped + self.void)
    }

    /// Whether more of the measuring tests were void than may be. `measuring` is how many there
    /// are; unit tests, which are never void, would only hide them.
    pub(crate) fn too_many_void(&self, measuring: u32) -> bool {
        self.void * 5 > measuring
    }

    /// Adds another runner's.
    pub(crate) fn add(&mut self, other: &Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.void += other.void;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runners_and_skips_are_counted() {
        let mut counts = Counts::default();
        for line in [
            "test result: ok. 12 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
            "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured",
            "SKIPPED(no package index: no answer)",
            "  SKIPPED(void: the emitter was late)",
            "something else",
        ] {
            counts.line(line);
        }
        assert_eq!(counts, Counts { passed: 15, failed: 1, skipped: 1, void: 1 });
        assert_eq!(counts.ran(), 13);
    }

    #[test]
    fn one_void_in_five_may_be_two_may_not() {
        let void = |void| Counts { void, ..Counts::default() };
        assert!(!void(1).too_many_void(5));
        assert!(void(2).too_many_void(5));
        assert!(!void(0).too_many_void(0));
    }
}
