//! Tables without a format: HTML and Markdown draw the same ones.

use super::words::Mood;

/// A column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Its head.
    pub(crate) head: String,
    /// A head over several columns beside each other.
    pub(crate) group: Option<String>,
    /// Whether it holds figures, which stand to the right.
    pub(crate) figure: bool,
}

impl Column {
    pub(crate) fn words(head: &str) -> Column {
        Column { head: head.into(), group: None, figure: false }
    }

    pub(crate) fn figure(head: &str) -> Column {
        Column { head: head.into(), group: None, figure: true }
    }
}

/// What stands in a place of a table.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// The figure or the word.
    pub(crate) text: String,
    /// What qualifies it.
    pub(crate) small: String,
    /// Good, bad or open news, where it is news.
    pub(crate) mood: Option<Mood>,
    /// A hash or the like, to be set in a fixed width.
    pub(crate) code: bool,
}

impl Entry {
    pub(crate) fn of(text: impl Into<String>) -> Entry {
        Entry { text: text.into(), ..Entry::default() }
    }

    pub(crate) fn small(self, small: impl Into<String>) -> Entry {
        Entry { small: small.into(), ..self }
    }

    pub(crate) fn mood(self, mood: Mood) -> Entry {
        Entry { mood: Some(mood), ..self }
    }

    pub(crate) fn code(self) -> Entry {
        Entry { code: true, ..self }
    }

    /// What does not apply.
    pub(crate) fn absent() -> Entry {
        Entry::of("–")
    }
}

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    /// What it shows.
    pub(crate) title: String,
    /// What holds for all of its rows.
    pub(crate) note: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Entry>>,
}

impl Grid {
    /// Leaves out figure columns in which nothing stands.
    pub(crate) fn without_empty_columns(mut self) -> Grid {
        let empty: Vec<bool> = (0..self.columns.len())
            .map(|index| {
                self.columns[index].figure
                    && self
                        .rows
                        .iter()
                        .all(|row| row.get(index).is_none_or(|entry| entry.text == "–"))
            })
            .collect();
        let keep = |index: usize| !empty.get(index).copied().unwrap_or(false);
        let mut index = 0;
        self.columns.retain(|_| {
            index += 1;
            keep(index - 1)
        });
        for row in &mut self.rows {
            let mut index = 0;
            row.retain(|_| {
                index += 1;
                keep(index - 1)
            });
        }
        self
    }
}
