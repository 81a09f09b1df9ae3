//! What keeps a configuration from being read: one line each, with the place and what to do.

use super::source::Source;

/// A fault at a place of the source that is not named yet.
#[derive(Debug)]
pub(super) struct Fault {
    at: usize,
    found: String,
    expected: Expected,
}

#[derive(Debug)]
enum Expected {
    Text(String),
    /// A `;` at the end of the line.
    LineEnd,
}

impl Fault {
    pub(super) fn new(at: usize, found: impl Into<String>, expected: impl Into<String>) -> Fault {
        Fault { at, found: found.into(), expected: Expected::Text(expected.into()) }
    }

    /// A directive that has swallowed the next one.
    pub(super) fn missing_end(at: usize, found: String) -> Fault {
        Fault { at, found, expected: Expected::LineEnd }
    }

    pub(super) fn at(self, source: &Source) -> ReadError {
        let place = source.place(self.at);
        let expected = match self.expected {
            Expected::Text(text) => text,
            Expected::LineEnd => format!("a `;` at the end of line {}", place.line),
        };
        ReadError::Syntax { place, found: self.found, expected }
    }
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The file as the dump names it; empty where there is only one.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.file.is_empty() {
            write!(f, "line {}, column {}", self.line, self.column)
        } else {
            write!(f, "{}, line {}, column {}", self.file, self.line, self.column)
        }
    }
}

/// Why a configuration cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// It is not nginx's grammar.
    #[error("{place}: {found}; {expected} is expected here")]
    Syntax {
        /// Where.
        place: Place,
        /// What stands there.
        found: String,
        /// What should.
        expected: String,
    },
    /// An included file is not in the dump.
    #[error("{place}: the included file {name} is missing: give the whole output of `nginx -T`")]
    Include {
        /// Where it is included.
        place: Place,
        /// Its name.
        name: String,
    },
    /// Blocks or includes in each other without end.
    #[error(
        "{place}: more than {limit} blocks or included files in each other: no configuration of use has that"
    )]
    TooDeep {
        /// Where.
        place: Place,
        /// The bound.
        limit: usize,
    },
    /// Included files that include each other make it too long.
    #[error(
        "more than {limit} directives, included files counted each time: look for files that include each other"
    )]
    TooMany {
        /// The bound.
        limit: usize,
    },
    /// A huge file.
    #[error("it has {bytes} bytes, and {limit} is the most that is read: is it a configuration?")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// It looks like another program's.
    #[error("it looks like {product}, not like a configuration of nginx: {hint}")]
    OtherProduct {
        /// Whose it is.
        product: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// Nothing in it answers requests.
    #[error("there is no server block in it: give the whole output of `nginx -T`")]
    NoServer,
}
