//! Changes line by line that leave every other line where it is.

use config_reader::{Moved, secret};

use super::Prepared;

/// What becomes of a line.
pub(super) enum Becomes {
    /// It stays.
    Same,
    /// Another text stands there, of as many lines as it has.
    Text(String),
    /// A comment stands there, so that those behind it stay where they are.
    Out,
}

/// Goes over the lines of a text; `change` is given each without white space around it, and what
/// it gives back is indented as the line was.
pub(super) fn over(text: &str, mut change: impl FnMut(&str) -> Becomes) -> Prepared {
    over_indented(text, |line, _| change(line))
}

/// The same; `change` is given the width of the white space before the line, too.
pub(super) fn over_indented(
    text: &str,
    mut change: impl FnMut(&str, usize) -> Becomes,
) -> Prepared {
    let mut prepared = Prepared::default();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        let place = format!("line {}", index + 1);
        let indent = &line[..line.len() - line.trim_start().len()];
        let new = match change(trimmed, indent.len()) {
            Becomes::Same => None,
            Becomes::Text(new) => Some(new),
            Becomes::Out => Some(String::new()),
        };
        let Some(new) = new else {
            prepared.push(&place, line);
            continue;
        };
        let shown = new.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        prepared.moved.push(Moved { place: place.clone(), old: secret::text(trimmed), new: shown });
        if new.is_empty() {
            prepared.push(&place, &format!("{indent}# left out"));
        }
        for line in new.lines() {
            prepared.push(&place, &format!("{indent}{line}"));
        }
    }
    prepared
}

impl Prepared {
    /// Adds a line.
    pub(super) fn push(&mut self, place: &str, line: &str) {
        self.template.push_str(line);
        self.template.push('\n');
        self.places.push(place.into());
    }
}
