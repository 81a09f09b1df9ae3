//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How far a long piece of work is.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    length: usize,
    done: usize,
    started: Instant,
}

impl Progress {
    /// For so many steps.
    pub(crate) fn new(length: usize) -> Progress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(
                Some(length as u64),
                ProgressDrawTarget::stderr_with_hz(5),
            );
            let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} ({eta} left)");
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar
        });
        Progress { bar, length, done: 0, started: Instant::now() }
    }

    /// The next step begins.
    pub(crate) fn step(&mut self, what: &str) {
        self.done += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_message(what.to_string());
                bar.set_position(self.done as u64 - 1);
            }
            None => {
                let left = left(self.started.elapsed(), self.done - 1, self.length);
                eprintln!("{}/{} {what}{left}", self.done, self.length);
            }
        }
    }

    /// All is done.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What is left of a long piece of work, from the steps that are done.
fn left(elapsed: Duration, done: usize, length: usize) -> String {
    // A few steps are needed for a guess, and under a minute nobody asks.
    const FEW: usize = 3;
    let steps = length.saturating_sub(done);
    if done < FEW {
        return String::new();
    }
    let left = elapsed.as_secs_f64() / done as f64 * steps as f64;
    if left < 60.0 { String::new() } else { format!(", about {:.0} min left", left / 60.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_says_what_is_left() {
        let minute = Duration::from_secs(60);
        assert_eq!(left(minute, 2, 100), "");
        assert_eq!(left(minute, 10, 100), ", about 9 min left");
        assert_eq!(left(minute, 90, 100), "");
    }
}
