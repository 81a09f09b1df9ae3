//! Rules of Traefik's routers: `Host(…) && (PathPrefix(…) || !Method(…))`.

use regex::Regex;

/// What a rule is asked about.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) path: &'a str,
    pub(super) host: Option<&'a str>,
    pub(super) method: &'a str,
}

/// Brackets in each other at most.
const MOST_DEPTH: usize = 50;

/// Whether a rule matches; none where more than path and host decides. The error says where it
/// cannot be read.
pub(super) fn holds(rule: &str, asked: &Asked<'_>) -> Result<Option<bool>, String> {
    let mut parse = Parse { rule, at: 0, asked, depth: 0 };
    let value = parse.any()?;
    parse.space();
    match parse.rest().is_empty() {
        true => Ok(value),
        false => Err(parse.wrong("`&&`, `||` or its end")),
    }
}

/// The hosts that a rule names.
pub(super) fn hosts(rule: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (start, _) in rule.match_indices("Host(") {
        let whole = !rule[..start].ends_with(|c: char| c.is_alphanumeric());
        let inside = rule[start + 5..].split(')').next().unwrap_or_default();
        let names = inside.split(',').map(|name| name.trim().trim_matches(['`', '"', '\'']));
        found.extend(names.filter(|name| whole && !name.is_empty()).map(str::to_ascii_lowercase));
    }
    found
}

struct Parse<'a> {
    rule: &'a str,
    at: usize,
    asked: &'a Asked<'a>,
    depth: usize,
}

impl Parse<'_> {
    fn rest(&self) -> &str {
        &self.rule[self.at..]
    }

    fn space(&mut self) {
        self.at = self.rule.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, word: &str) -> bool {
        self.space();
        let there = self.rest().starts_with(word);
        if there {
            self.at += word.len();
        }
        there
    }

    fn wrong(&self, expected: &str) -> String {
        let at = self.rule[..self.at].chars().count() + 1;
        let shown: String = self.rule.chars().take(120).collect();
        let more = if shown.len() < self.rule.len() { "…" } else { "" };
        format!("rule `{shown}{more}`: expected {expected} at character {at}")
    }

    fn any(&mut self) -> Result<Option<bool>, String> {
        let mut value = self.all()?;
        while self.take("||") {
            let more = self.all()?;
            value = match (value, more) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (None, _) | (_, None) => None,
                _ => Some(false),
            };
        }
        Ok(value)
    }

    fn all(&mut self) -> Result<Option<bool>, String> {
        let mut value = self.one()?;
        while self.take("&&") {
            let more = self.one()?;
            value = match (value, more) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (None, _) | (_, None) => None,
                _ => Some(true),
            };
        }
        Ok(value)
    }

    fn one(&mut self) -> Result<Option<bool>, String> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return Err(self.wrong("fewer brackets"));
        }
        let value = if self.take("!") {
            self.one()?.map(|value| !value)
        } else if self.take("(") {
            let value = self.any()?;
            if !self.take(")") {
                return Err(self.wrong("`)`"));
            }
            value
        } else {
            self.matcher()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn matcher(&mut self) -> Result<Option<bool>, String> {
        self.space();
        let end = self.rest().find(|c: char| !c.is_ascii_alphanumeric());
        let name = self.rest()[..end.unwrap_or(self.rest().len())].to_owned();
        if name.is_empty() {
            return Err(self.wrong("a matcher such as Host(`…`)"));
        }
        self.at += name.len();
        if !self.take("(") {
            return Err(self.wrong("`(`"));
        }
        let mut values = Vec::new();
        while !self.take(")") {
            self.space();
            let quote = self.rest().chars().next().filter(|c| matches!(c, '`' | '"' | '\''));
            let Some(quote) = quote else { return Err(self.wrong("a quoted value")) };
            self.at += 1;
            let Some(end) = self.rest().find(quote) else {
                return Err(self.wrong("the end of a quoted value"));
            };
            values.push(self.rest()[..end].to_owned());
            self.at += end + 1;
            self.take(",");
        }
        Ok(self.judge(&name, &values))
    }

    /// Any of the values will do, as in version 2; version 3 takes one.
    fn judge(&self, name: &str, values: &[String]) -> Option<bool> {
        let Asked { path, host, .. } = self.asked;
        let any = |holds: &dyn Fn(&str) -> Option<bool>| {
            let all: Vec<_> = values.iter().map(|value| holds(value)).collect();
            match all.contains(&Some(true)) {
                true => Some(true),
                false if all.contains(&None) => None,
                false => Some(false),
            }
        };
        let pattern = |pattern: &str, text: &str| Some(Regex::new(pattern).ok()?.is_match(text));
        // Version 2 has expressions in braces here.
        let plain = |value: &str| !value.contains('{');
        match name {
            "Path" => any(&|value| plain(value).then(|| value == *path)),
            "PathPrefix" => any(&|value| plain(value).then(|| path.starts_with(value))),
            "PathRegexp" => any(&|value| pattern(value, path)),
            "Host" => any(&|value| host.map(|host| value.eq_ignore_ascii_case(host))),
            "HostRegexp" => any(&|value| match plain(value) || value.contains('\\') {
                true => host.and_then(|host| pattern(value, host)),
                false => None,
            }),
            "Method" => any(&|value| Some(value.eq_ignore_ascii_case(self.asked.method))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_as_far_as_path_and_host_tell() {
        let asked = Asked { path: "/api/chat", host: Some("chat.example.com"), method: "POST" };
        for (rule, value) in [
            ("PathPrefix(`/`)", Some(true)),
            ("Host(`chat.example.com`) && PathPrefix(`/api`)", Some(true)),
            ("Host(`Chat.Example.com`)", Some(true)),
            ("Host(\"a.example\", \"chat.example.com\")", Some(true)),
            ("Path(`/api`) || PathRegexp(`^/api/[a-z]+$`)", Some(true)),
            ("!(PathPrefix(`/api`) || Path(`/x`))", Some(false)),
            ("PathPrefix(`/api`) && Header(`X`, `y`)", None),
            ("PathPrefix(`/other`) && Header(`X`, `y`)", Some(false)),
            ("Method(`POST`) && HostRegexp(`^.+\\.example\\.com$`)", Some(true)),
            ("Method(`DELETE`)", Some(false)),
            ("Path(`/api/chat`) && Method(`GET`)", Some(false)),
            ("PathPrefix(`/{id:[a-z]+}`)", None),
        ] {
            assert_eq!(holds(rule, &asked), Ok(value), "{rule}");
        }
        assert_eq!(
            hosts("Host(`a.b`) || Host(`C.d`, `e`) && ServerHost(`x`)"),
            ["a.b", "c.d", "e"]
        );
    }

    #[test]
    fn what_is_no_rule_says_where() {
        let asked = Asked { path: "/", host: None, method: "POST" };
        for (rule, place) in [
            ("Host(`a`", "expected a quoted value at character 9"),
            ("Host(`a) ", "expected the end of a quoted value at character 7"),
            ("Host", "expected `(` at character 5"),
            ("Path(`/`) &&", "expected a matcher such as Host(`…`) at character 13"),
            ("Path(`/`) Path(`/`)", "expected `&&`, `||` or its end at character 11"),
        ] {
            let error = holds(rule, &asked).unwrap_err();
            assert!(error.ends_with(place), "{error}");
        }
        assert!(holds(&"(".repeat(100_000), &asked).is_err());
        assert!(holds(&"!".repeat(100_000), &asked).is_err());
    }
}
