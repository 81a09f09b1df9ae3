//! haproxy.cfg: one line a statement, sections by their first word, defaults by name or by place.

use std::ops::Range;

/// Bytes at most.
pub const MOST_BYTES: usize = 8 << 20;

/// What begins a section.
const SECTIONS: &[&str] = &[
    "backend",
    "cache",
    "crt-store",
    "defaults",
    "fcgi-app",
    "frontend",
    "global",
    "http-errors",
    "listen",
    "log-forward",
    "log-profile",
    "mailers",
    "peers",
    "program",
    "resolvers",
    "ring",
    "traces",
    "userlist",
];

/// Why a configuration cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// A quote that is not closed.
    #[error(
        "line {line}, column {column}: a quote that is never closed; a closing `{quote}` is expected in this line"
    )]
    Quote {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// Which.
        quote: char,
    },
    /// A word before any section.
    #[error(
        "line {line}, column {column}: `{found}`; a section is expected here, such as global, defaults or frontend"
    )]
    NoSection {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What stands there.
        found: String,
    },
    /// `from` a section that is not there.
    #[error("line {line}: there is no defaults section called {name} before it")]
    NoDefaults {
        /// From 1.
        line: usize,
        /// Its name.
        name: String,
    },
    /// A huge file.
    #[error("it has {bytes} bytes, and {limit} is the most that is read: is it a configuration?")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// Another program's.
    #[error("it looks like a configuration of nginx, not like a haproxy.cfg: use --nginx-config")]
    Nginx,
    /// Nothing accepts requests.
    #[error("there is no frontend and no listen section in it")]
    NoFrontend,
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its words, without quotes and escapes; a `no` before it is one of them.
    pub words: Vec<String>,
    /// From 1.
    pub number: usize,
    /// The whole line in the text, without its end.
    pub span: Range<usize>,
}

impl Line {
    /// Whether it begins with these words.
    pub fn begins(&self, words: &[&str]) -> bool {
        self.words.len() >= words.len()
            && self.words.iter().zip(words).all(|(own, word)| own == word)
    }
}

/// A section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// `frontend` and so on.
    pub kind: String,
    /// Its name; empty where it has none.
    pub name: String,
    /// Its first line.
    pub head: Line,
    /// The others.
    pub lines: Vec<Line>,
    /// The defaults section it inherits from.
    pub defaults: Option<usize>,
}

impl Section {
    /// As people call it.
    pub fn shown(&self) -> String {
        format!("{} {}", self.kind, self.name).trim_end().into()
    }

    /// The ports that it listens at, as far as they are plain numbers.
    pub fn ports(&self) -> Vec<u16> {
        let binds = self.lines.iter().filter(|line| line.words[0] == "bind");
        binds.filter_map(|line| line.words.get(1)?.rsplit(':').next()?.parse().ok()).collect()
    }
}

/// A configuration that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The text.
    pub text: String,
    /// In their order.
    pub sections: Vec<Section>,
}

impl Tree {
    /// Reads a configuration.
    ///
    /// # Errors
    /// When it cannot be read; one line each.
    pub fn read(text: impl Into<String>) -> Result<Tree, ReadError> {
        let text: String = text.into();
        if text.len() > MOST_BYTES {
            return Err(ReadError::TooLarge { bytes: text.len(), limit: MOST_BYTES });
        }
        let mut sections: Vec<Section> = Vec::new();
        let mut at = 0;
        for (index, raw) in text.split_inclusive('\n').enumerate() {
            let span = at..at + raw.trim_end_matches(['\n', '\r']).len();
            at += raw.len();
            let number = index + 1;
            let words = words(&text[span.clone()], number)?;
            let Some(first) = words.first().cloned() else { continue };
            let line = Line { words, number, span };
            if SECTIONS.contains(&first.as_str()) {
                let section = begin(&sections, line)?;
                sections.push(section);
                continue;
            }
            match sections.last_mut() {
                Some(section) => section.lines.push(line),
                None if text.contains("server {") || text.contains("# configuration file ") => {
                    return Err(ReadError::Nginx);
                }
                None => {
                    let raw = &text[line.span.clone()];
                    let column = raw.len() - raw.trim_start().len() + 1;
                    let found = first.chars().take(40).collect();
                    return Err(ReadError::NoSection { line: number, column, found });
                }
            }
        }
        if !sections.iter().any(|own| matches!(own.kind.as_str(), "frontend" | "listen")) {
            return Err(ReadError::NoFrontend);
        }
        Ok(Tree { text, sections })
    }

    /// A section's own lines and those of its defaults, innermost first.
    pub fn levels(&self, section: usize) -> Vec<&Section> {
        let mut levels = Vec::new();
        let mut next = Some(section);
        // A defaults section can only name one before it: this ends.
        while let Some(index) = next {
            levels.push(&self.sections[index]);
            next = self.sections[index].defaults;
        }
        levels
    }

    /// What decides an `option`: the innermost `option X` or `no option X`, the last of its level.
    pub fn option(&self, section: usize, name: &str) -> Option<(bool, &Line)> {
        self.levels(section).into_iter().find_map(|level| {
            level.lines.iter().rev().find_map(|line| {
                if line.begins(&["option", name]) {
                    Some((true, line))
                } else if line.begins(&["no", "option", name]) {
                    Some((false, line))
                } else {
                    None
                }
            })
        })
    }

    /// The lines of a keyword in the innermost level that has one.
    pub fn all(&self, section: usize, words: &[&str]) -> Vec<&Line> {
        let own = |level: &Section| -> Vec<usize> {
            (0..level.lines.len()).filter(|index| level.lines[*index].begins(words)).collect()
        };
        for level in self.levels(section) {
            let found = own(level);
            if !found.is_empty() {
                return found.into_iter().map(|index| &level.lines[index]).collect();
            }
        }
        Vec::new()
    }
}

fn begin(before: &[Section], head: Line) -> Result<Section, ReadError> {
    let kind = head.words[0].clone();
    let from = head.words.iter().position(|word| word == "from");
    let name = match head.words.get(1) {
        Some(name) if name != "from" => name.clone(),
        _ => String::new(),
    };
    let is_defaults = |own: &Section| own.kind == "defaults";
    let named = from.and_then(|at| head.words.get(at + 1));
    let defaults = match named {
        Some(wanted) => {
            let found = before.iter().rposition(|own| is_defaults(own) && own.name == *wanted);
            Some(found.ok_or(ReadError::NoDefaults { line: head.number, name: wanted.clone() })?)
        }
        // A proxy takes the last before it; a defaults section starts afresh.
        None if matches!(kind.as_str(), "frontend" | "backend" | "listen") => {
            before.iter().rposition(is_defaults)
        }
        None => None,
    };
    Ok(Section { kind, name, head, lines: Vec::new(), defaults })
}

/// The words of a line: quotes, escapes, and a comment that ends it.
fn words(line: &str, number: usize) -> Result<Vec<String>, ReadError> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<(char, usize)> = None;
    let mut chars = line.chars().enumerate();
    while let Some((index, char)) = chars.next() {
        match (quote, char) {
            (Some((open, _)), char) if char == open => quote = None,
            (Some(('\'', _)), char) => word.get_or_insert_default().push(char),
            (_, '\\') => {
                if let Some((_, next)) = chars.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            (Some(_), char) => word.get_or_insert_default().push(char),
            (None, '"' | '\'') => {
                quote = Some((char, index + 1));
                word.get_or_insert_default();
            }
            (None, '#') => break,
            (None, char) if char.is_whitespace() => words.extend(word.take()),
            (None, char) => word.get_or_insert_default().push(char),
        }
    }
    if let Some((quote, column)) = quote {
        return Err(ReadError::Quote { line: number, column, quote });
    }
    words.extend(word);
    Ok(words)
}
