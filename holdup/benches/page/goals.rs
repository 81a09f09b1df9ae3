//! Goals: a figure, its bound, and whether it keeps to it.

use measure::Span;

/// Whether every goal so far was met.
#[derive(Default)]
pub(crate) struct Goals {
    missed: bool,
}

impl Goals {
    /// A time that may be at most so long.
    pub(crate) fn at_most(&mut self, name: &str, value: Option<Span>, most: Span) {
        let Some(value) = value else { return self.line(name, "-", &format!("<= {most}"), None) };
        self.line(name, &value.to_string(), &format!("<= {most}"), Some(value <= most));
    }

    /// What must not happen at all.
    pub(crate) fn none(&mut self, name: &str, count: usize) {
        self.line(name, &count.to_string(), "= 0", Some(count == 0));
    }

    fn line(&mut self, name: &str, value: &str, bound: &str, met: Option<bool>) {
        let word = match met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "not measured",
        };
        self.missed |= met != Some(true);
        println!("{name:<64} {value:>10} {bound:<10} {word}");
    }

    /// Whether one was missed, or not measured.
    pub(crate) fn missed(&self) -> bool {
        self.missed
    }
}
