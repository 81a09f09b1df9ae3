//! nginx's regular expressions. nginx uses PCRE; here two crates stand in for it. Where they
//! would read a pattern otherwise than PCRE does, or not at all, the answer is "undecidable".

use std::ops::Range;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    compiled: Compiled,
}

#[derive(Clone, Debug)]
enum Compiled {
    Plain(regex::bytes::Regex),
    /// With look-around, back references or possessive counts; for ASCII subjects only.
    Fancy(Box<fancy_regex::Regex>),
    /// What cannot be said here, and why.
    Unknown(String),
}

/// Why a pattern does not decide.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("whether `{pattern}` matches cannot be said here: {why}")]
pub struct Undecidable {
    /// The pattern.
    pub pattern: String,
    /// Why.
    pub why: String,
}

impl Pattern {
    /// Compiles; a pattern that cannot be is kept and says so when it is asked.
    pub fn new(text: &str, caseless: bool) -> Pattern {
        Pattern { text: text.into(), compiled: compile(text, caseless) }
    }

    /// The pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches anywhere in the subject.
    ///
    /// # Errors
    /// When that cannot be said.
    pub fn matches(&self, subject: &[u8]) -> Result<bool, Undecidable> {
        Ok(self.captures(subject)?.is_some())
    }

    /// Where it and its groups match; group 0 is the whole.
    ///
    /// # Errors
    /// When that cannot be said.
    pub fn captures(
        &self,
        subject: &[u8],
    ) -> Result<Option<Vec<Option<Range<usize>>>>, Undecidable> {
        let unknown = |why: &str| Undecidable { pattern: self.text.clone(), why: why.into() };
        if subject.contains(&b'\n') && !matches!(self.compiled, Compiled::Unknown(_)) {
            // `$` of PCRE also matches before a last line break.
            return Err(unknown("the path holds a line break"));
        }
        match &self.compiled {
            Compiled::Plain(regex) => Ok(regex.captures(subject).map(|captures| {
                captures.iter().map(|group| group.map(|group| group.range())).collect()
            })),
            Compiled::Fancy(regex) => {
                let text = std::str::from_utf8(subject).ok().filter(|text| text.is_ascii());
                let text = text.ok_or_else(|| unknown("the path is not plain ASCII"))?;
                let captures = regex.captures(text).map_err(|_| unknown("it takes too long"))?;
                Ok(captures.map(|captures| {
                    captures.iter().map(|group| group.map(|group| group.range())).collect()
                }))
            }
            Compiled::Unknown(why) => Err(unknown(why)),
        }
    }

    /// The names of its groups: they become variables.
    pub fn names(&self) -> Vec<String> {
        let names = |names: &mut dyn Iterator<Item = Option<&str>>| {
            names.flatten().map(String::from).collect()
        };
        match &self.compiled {
            Compiled::Plain(regex) => names(&mut regex.capture_names()),
            Compiled::Fancy(regex) => names(&mut regex.capture_names()),
            Compiled::Unknown(_) => Vec::new(),
        }
    }
}

fn compile(text: &str, caseless: bool) -> Compiled {
    let fancy = match survey(text) {
        Err(why) => return Compiled::Unknown(why),
        Ok(fancy) => fancy,
    };
    if !fancy {
        let mut builder = regex::bytes::RegexBuilder::new(text);
        if let Ok(regex) = builder.unicode(false).case_insensitive(caseless).build() {
            return Compiled::Plain(regex);
        }
    }
    let mut builder = fancy_regex::RegexBuilder::new(text);
    match builder.case_insensitive(caseless).build() {
        Ok(regex) => Compiled::Fancy(Box::new(regex)),
        Err(_) => Compiled::Unknown("only PCRE itself can read it".into()),
    }
}

/// Whether a pattern needs more than a plain engine; an error for what the engines here and PCRE
/// read differently.
fn survey(text: &str) -> Result<bool, String> {
    let bytes = text.as_bytes();
    let mut fancy = !text.is_ascii();
    let mut class = false;
    let mut at = 0;
    let starts = |at: usize, what: &str| text.as_bytes()[at..].starts_with(what.as_bytes());
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => {
                match bytes.get(at + 1) {
                    Some(b'1'..=b'9') if !class => fancy = true,
                    Some(b'b') if starts(at + 2, "{") => return Err("of `\\b{`".into()),
                    Some(b'x') if starts(at + 2, "{") => return Err("of `\\x{`".into()),
                    Some(
                        b'b' | b'B' | b'd' | b'D' | b'w' | b'W' | b's' | b'S' | b'A' | b'z' | b'n'
                        | b'r' | b't' | b'f' | b'x',
                    ) => {}
                    Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'<' | b'>') => {
                        return Err(format!("of `\\{}`", char::from(*byte)));
                    }
                    Some(_) => {}
                    None => return Err("it ends in a backslash".into()),
                }
                at += 2;
                continue;
            }
            b'[' if !class => {
                class = true;
                at += 1;
                if starts(at, "^") {
                    at += 1;
                }
                // A `]` in the first place is one of the set.
                if starts(at, "]") {
                    at += 1;
                }
                continue;
            }
            b'[' if starts(at, "[:") => {
                let end = text[at..].find(":]").ok_or("of an open `[:`")?;
                at += end + 2;
                continue;
            }
            b'[' => return Err("of a `[` in a set".into()),
            b']' => class = false,
            _ if class && ["&&", "--", "~~"].iter().any(|operator| starts(at, operator)) => {
                return Err("of an operator in a set".into());
            }
            _ if class => {}
            b'(' if starts(at, "(?") => {
                let rest = &text[at + 2..];
                let known = ["=", "!", "<=", "<!", ">", ":", "P<", "<", "i)", "i:", "s)", "-i)"];
                if !known.iter().any(|known| rest.starts_with(known)) {
                    return Err("of a group that only PCRE has".into());
                }
                fancy |= ["=", "!", "<=", "<!", ">"].iter().any(|look| rest.starts_with(look));
            }
            b'(' if starts(at, "(*") => return Err("of a verb of PCRE".into()),
            b'*' | b'+' | b'?' | b'}' if starts(at + 1, "+") => fancy = true,
            b'{' if starts(at, "{,") => return Err("of `{,`".into()),
            _ => {}
        }
        at += 1;
    }
    Ok(fancy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_as_pcre_does() {
        for (pattern, caseless, subject, expected) in [
            (r"^/api/", false, "/api/chat", true),
            (r"\.PHP$", true, "/a.php", true),
            (r"^/(?!api/)", false, "/api/x", false),
            (r"^/(?!api/)", false, "/web/x", true),
            (r"^/(stream|v1)\b", false, "/v1-x", true),
            (r"^/a++b", false, "/aab", true),
            (r"^/a++a", false, "/aaa", false),
            (r"^/(.)\1$", false, "/xx", true),
            (r"^/[]x]$", false, "/]", true),
        ] {
            let seen = Pattern::new(pattern, caseless).matches(subject.as_bytes());
            assert_eq!(seen, Ok(expected), "{pattern} {subject}");
        }
        let latin = Pattern::new(r"^/\w+$", false);
        assert_eq!(latin.matches("/é".as_bytes()), Ok(false), "bytes, not letters");
    }

    #[test]
    fn what_is_read_differently_is_not_guessed() {
        for pattern in
            [r"\h", r"[a&&b]", r"(?R)", r"\Qa\E", r"a{,3}", r"(*UCP)a", r"\p{L}", r"[[a]"]
        {
            let said = Pattern::new(pattern, false).matches(b"/a").unwrap_err().to_string();
            assert!(said.starts_with("whether `") && said.contains("cannot be said"), "{said}");
        }
        assert!(Pattern::new("a", false).matches(b"/a\n").is_err());
    }
}
