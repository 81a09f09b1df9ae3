//! Which location answers a path: `ngx_http_core_find_location`, step by step.

use super::pattern::Undecidable;
use super::site::{Kind, Site};

/// One thing that nginx looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The longest prefix of a level, to be kept in case no regular expression matches.
    Prefix(usize),
    /// `=`, or a prefix that stops the search by `^~`.
    Decided(usize),
    /// A regular expression that does not match.
    Passed(usize),
    /// The one that does.
    Matched(usize),
}

/// What the search came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The location; none when the server itself answers.
    pub location: Option<usize>,
    /// Whether the answer is a redirect to the same path with a slash.
    pub to_slash: bool,
    /// What was looked at, in order.
    pub steps: Vec<Step>,
    /// The path that was looked for.
    pub uri: Vec<u8>,
}

/// `NGX_OK`, `NGX_DONE`, and the rest of nginx's answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Final,
    ToSlash,
    Open,
}

struct Search<'s, 't> {
    site: &'s Site<'t>,
    uri: &'s [u8],
    choice: Choice,
}

/// Finds the location of a server for a path that has been normalized.
///
/// # Errors
/// When a regular expression that would be tried cannot be read here.
pub fn choose(site: &Site<'_>, server: usize, uri: &[u8]) -> Result<Choice, Undecidable> {
    let choice = Choice { location: None, to_slash: false, steps: Vec::new(), uri: uri.to_vec() };
    let mut search = Search { site, uri, choice };
    search.level(&site.servers[server].locations)?;
    Ok(search.choice)
}

impl Search<'_, '_> {
    fn level(&mut self, level: &[usize]) -> Result<Found, Undecidable> {
        let mut stop = false;
        match self.fixed(level) {
            (Found::Open, Some(prefix)) => {
                let location = &self.site.locations[prefix];
                stop = matches!(location.kind, Kind::Prefix { stop: true });
                let step = if stop { Step::Decided(prefix) } else { Step::Prefix(prefix) };
                self.choice.steps.push(step);
                self.choice.location = Some(prefix);
                // Locations inside are looked at before this level's regular expressions.
                let found = self.level(&location.children)?;
                if found != Found::Open {
                    return Ok(found);
                }
            }
            (Found::Open, None) => {}
            (found, location) => {
                self.choice.location = location;
                self.choice.to_slash = found == Found::ToSlash;
                self.choice.steps.extend(location.map(Step::Decided));
                return Ok(found);
            }
        }
        if stop {
            return Ok(Found::Open);
        }
        for index in level {
            let location = &self.site.locations[*index];
            let Kind::Regex(pattern) = &location.kind else { continue };
            if !pattern.matches(self.uri)? {
                self.choice.steps.push(Step::Passed(*index));
                continue;
            }
            self.choice.steps.push(Step::Matched(*index));
            self.choice.location = Some(*index);
            self.level(&location.children)?;
            return Ok(Found::Final);
        }
        Ok(Found::Open)
    }

    /// Exact paths and prefixes.
    fn fixed(&self, level: &[usize]) -> (Found, Option<usize>) {
        let mut longest: Option<(usize, usize)> = None;
        // Of `= /a/` and `/a/` either may ask for the redirect, and the first is then in force.
        let mut slash: Option<(bool, usize)> = None;
        let mut redirects = false;
        for index in level {
            let location = &self.site.locations[*index];
            let name = location.name.as_bytes();
            let exact = matches!(location.kind, Kind::Exact);
            if !exact && !matches!(location.kind, Kind::Prefix { .. }) {
                continue;
            }
            if exact && name == self.uri {
                return (Found::Final, Some(*index));
            }
            if !exact
                && self.uri.starts_with(name)
                && longest.is_none_or(|(length, _)| name.len() > length)
            {
                longest = Some((name.len(), *index));
            }
            let bare = name.strip_suffix(b"/") == Some(self.uri);
            if bare {
                redirects |= location.redirects_bare();
                slash = slash.filter(|(was, _)| *was).or(Some((exact, *index)));
            }
        }
        match (longest, slash) {
            (Some((length, index)), _) if length == self.uri.len() => (Found::Open, Some(index)),
            (_, Some((_, index))) if redirects => (Found::ToSlash, Some(index)),
            (longest, _) => (Found::Open, longest.map(|(_, index)| index)),
        }
    }
}
