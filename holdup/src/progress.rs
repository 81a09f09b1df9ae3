//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How far a long piece of work is.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    length: usize,
    done: usize,
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
        Progress { bar, length, done: 0 }
    }

    /// The next step begins.
    pub(crate) fn step(&mut self, what: &str) {
        self.done += 1;
        match &self.bar {
            Some(bar) => {
                bar.set_message(what.to_string());
                bar.set_position(self.done as u64 - 1);
            }
            None => eprintln!("{}/{} {what}", self.done, self.length),
        }
    }

    /// All is done.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
