//! nginx's words: what `ngx_conf_read_token` makes of the text, byte by byte.

use std::ops::Range;

use super::error::Fault;

/// One word of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// What it says, without its quotes and escapes.
    pub text: String,
    /// Where it stands in the source, quotes and all.
    pub span: Range<usize>,
    /// Whether it stands in quotes: a `~` in quotes is still an operator to nginx, so this is
    /// for writing it again only.
    pub quoted: bool,
}

/// How a statement ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Semicolon,
    Open,
    Close,
    File,
}

/// Words up to a `;`, a `{`, a `}` or the end.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) words: Vec<Word>,
    pub(super) end: End,
    /// From the first word to behind the ending character.
    pub(super) span: Range<usize>,
}

/// Reads statements from one file's part of the source.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) stop: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<u8> {
        (self.at < self.stop).then(|| self.text.as_bytes()[self.at])
    }

    /// The next statement.
    pub(super) fn statement(&mut self) -> Result<Statement, Fault> {
        let mut words: Vec<Word> = Vec::new();
        let mut start = self.at;
        loop {
            self.skip_space();
            if words.is_empty() {
                start = self.at;
            }
            let Some(byte) = self.peek() else {
                if words.is_empty() {
                    return Ok(Statement { words, end: End::File, span: start..self.at });
                }
                return Err(Fault::new(self.at, "the file ends", "`;` or `{` after the directive"));
            };
            let end = match byte {
                b';' => Some(End::Semicolon),
                b'{' => Some(End::Open),
                b'}' => Some(End::Close),
                _ => None,
            };
            let Some(end) = end else {
                let word = self.word()?;
                words.push(word);
                continue;
            };
            if end == End::Close && !words.is_empty() {
                return Err(Fault::new(self.at, "`}`", "`;` before it"));
            }
            if end != End::Close && words.is_empty() {
                let found = if end == End::Open { "`{`" } else { "`;`" };
                return Err(Fault::new(self.at, found, "a directive's name"));
            }
            self.at += 1;
            return Ok(Statement { words, end, span: start..self.at });
        }
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'#' => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    fn word(&mut self) -> Result<Word, Fault> {
        let start = self.at;
        match self.peek() {
            Some(quote @ (b'"' | b'\'')) => self.quoted(start, quote),
            _ => Ok(self.bare(start)),
        }
    }

    fn quoted(&mut self, start: usize, quote: u8) -> Result<Word, Fault> {
        self.at += 1;
        let inside = self.at;
        loop {
            match self.peek() {
                None => {
                    let what = if quote == b'"' { "a closing `\"`" } else { "a closing `'`" };
                    return Err(Fault::new(start, "a quote that is never closed", what));
                }
                Some(b'\\') => self.at = (self.at + 2).min(self.stop),
                Some(byte) if byte == quote => break,
                Some(_) => self.at += 1,
            }
        }
        let text = unescape(&self.text[inside..self.at]);
        self.at += 1;
        // What stands right behind a quote must end the word.
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' | b')') => {}
            Some(_) => {
                let found = self.text[self.at..self.stop].chars().next().unwrap_or(' ');
                let found = format!("`{found}` right behind a quoted word");
                return Err(Fault::new(self.at, found, "a space, `;` or `{`"));
            }
        }
        Ok(Word { text, span: start..self.at, quoted: true })
    }

    fn bare(&mut self, start: usize) -> Word {
        let mut variable = false;
        while let Some(byte) = self.peek() {
            match byte {
                // `${name}` belongs to the word.
                b'{' if variable => {
                    variable = false;
                    self.at += 1;
                }
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' => break,
                b'\\' => {
                    variable = false;
                    self.at = (self.at + 2).min(self.stop);
                }
                b'$' => {
                    variable = true;
                    self.at += 1;
                }
                _ => {
                    variable = false;
                    self.at += 1;
                }
            }
        }
        // An escaped character of several bytes is stepped over whole.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        let text = unescape(&self.text[start..self.at]);
        Word { text, span: start..self.at, quoted: false }
    }
}

/// nginx's escapes: these six, and a backslash before anything else stays.
fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        let mapped = match (char, chars.peek()) {
            ('\\', Some(next @ ('"' | '\'' | '\\'))) => Some(*next),
            ('\\', Some('t')) => Some('\t'),
            ('\\', Some('r')) => Some('\r'),
            ('\\', Some('n')) => Some('\n'),
            _ => None,
        };
        match mapped {
            Some(mapped) => {
                chars.next();
                out.push(mapped);
            }
            None => out.push(char),
        }
    }
    out
}

/// Writes a word so that nginx reads it as it is.
pub fn quote(text: &str) -> String {
    // A bare word keeps a backslash, but before these.
    let mut after = text.split('\\').skip(1);
    let escapes = after
        .any(|rest| rest.is_empty() || rest.starts_with(['"', '\'', 't', 'r', 'n', ' ', ';', '{']));
    let plain = !text.is_empty()
        && !escapes
        && !text.starts_with(['"', '\'', '#', '}'])
        && !text.contains(|c: char| c.is_ascii_whitespace() || matches!(c, ';' | '{' | '"' | '\''));
    if plain {
        return text.into();
    }
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => {
                out.push('\\');
                out.push(char);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => out.push(char),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut lexer = Lexer { text, at: 0, stop: text.len() };
        lexer.statement().unwrap().words.into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_nginxs() {
        assert_eq!(words("a b;"), ["a", "b"]);
        assert_eq!(
            words("log_format x '$a' # no\n \"b\\\"c\";"),
            ["log_format", "x", "$a", "b\"c"]
        );
        assert_eq!(words("set $x ${y}z;"), ["set", "$x", "${y}z"]);
        assert_eq!(words("location ~ \\.php$ {"), ["location", "~", "\\.php$"]);
        assert_eq!(words("location ~ \"^/a{2}\" {"), ["location", "~", "^/a{2}"]);
        assert_eq!(words("a b#c d\"e;"), ["a", "b#c", "d\"e"]);
        assert_eq!(words("a \"\";"), ["a", ""]);
        assert_eq!(words("a x\\;y;"), ["a", "x\\;y"]);
    }

    #[test]
    fn what_is_written_again_reads_the_same() {
        for text in [
            "a",
            "",
            "a b",
            "\\.php$",
            "\\\\",
            "a\\",
            "\\n\\w",
            "\\ b",
            "^/a{2}",
            "say \"hi\"",
            "${y}",
            "'",
            "a\nb",
            "}",
        ] {
            assert_eq!(words(&format!("x {};", quote(text))), ["x", text]);
        }
    }
}
