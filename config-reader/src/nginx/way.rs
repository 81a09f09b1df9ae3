//! The way of a request in steps that a person can follow: the server and why, each location
//! that was looked at and what became of it, and what may lead elsewhere.

use super::choose::{Choice, Step};
use super::diagnose::Intended;
use super::pattern::Undecidable;
use super::serve::{Request, Served};
use super::server::How;
use super::site::{Kind, Site};
use crate::station::{Look, Station};

/// Locations of one level that are passed over and shown one by one; more are counted.
const MOST_SHOWN: usize = 12;

struct Walk<'s, 't> {
    site: &'s Site<'t>,
    meant: Option<&'s Intended>,
    /// Of the first search, whose path the meant location is about.
    first: bool,
    stations: Vec<Station>,
}

impl<'t> Site<'t> {
    /// The steps of a request's way. `meant` is the location that should have answered.
    ///
    /// # Errors
    /// When a pattern cannot be read, which [`Site::serve`] has said before.
    pub fn way(
        &self,
        request: &Request<'_>,
        served: &Served<'t>,
        meant: Option<&Intended>,
    ) -> Result<Vec<Station>, Undecidable> {
        let mut walk = Walk { site: self, meant, first: true, stations: Vec::new() };
        walk.server(request, served)?;
        for choice in &served.hops {
            walk.search(choice);
            walk.first = false;
        }
        if let Some(meant) = meant {
            walk.turn(meant);
        }
        for detour in &served.detours {
            let directive = detour.directive;
            // What answers every such request is where its way ends.
            let look = if detour.always { Look::Chosen } else { Look::Detour };
            walk.add(
                look,
                directive.name.clone(),
                self.tree.source.line(directive.span.start),
                crate::secret::text(&detour.what),
                0,
            );
        }
        Ok(walk.stations)
    }
}

impl Walk<'_, '_> {
    fn add(&mut self, look: Look, what: String, place: String, why: String, depth: usize) {
        self.stations.push(Station { look, what, place, why, depth, meant: false });
    }

    fn server(&mut self, request: &Request<'_>, served: &Served<'_>) -> Result<(), Undecidable> {
        let server = &self.site.servers[served.server];
        let host = request.host.unwrap_or_default();
        let by_name = match (request.host, self.site.how(request, served.server)?) {
            (None, _) | (_, None) => None,
            (_, Some(How::Exact)) => Some(format!("{host} is one of its names")),
            (_, Some(How::Wildcard)) => Some(format!("one of its names with a star fits {host}")),
            (_, Some(How::Regex)) => Some(format!("a regular expression of its names fits {host}")),
            (_, Some(How::Default)) => {
                Some(format!("no server is called {host}, and this one is the default there"))
            }
            (_, Some(How::First)) => {
                Some(format!("no server is called {host}, and this one stands first there"))
            }
        };
        let candidates = self.site.candidates(request).map_or(1, |found| found.len());
        let by_rest = match candidates {
            0 | 1 if by_name.is_some() => None,
            0 | 1 if request.port.is_some() => Some("the only one at this port".to_string()),
            0 | 1 => Some("there is no other".into()),
            many => {
                Some(format!("of {many} that could answer, the only one that passes this path on"))
            }
        };
        let why: Vec<String> = by_name.into_iter().chain(by_rest).collect();
        let place = self.site.tree.source.line(server.directive.span.start);
        self.add(Look::Server, server.shown(), place, why.join("; "), 0);
        Ok(())
    }

    /// A location's station.
    fn location(&mut self, look: Look, index: usize, why: &str) {
        let location = &self.site.locations[index];
        let mut depth = 0;
        let mut around = location.parent;
        while let Some(index) = around {
            depth += 1;
            around = self.site.locations[index].parent;
        }
        let place = self.site.tree.source.line(location.directive.span.start);
        self.add(look, location.written(), place, why.into(), depth);
        let meant = self.first && self.meant.is_some_and(|meant| meant.location == index);
        if let Some(last) = self.stations.last_mut() {
            last.meant = meant;
        }
    }

    fn siblings(&self, index: usize) -> Vec<usize> {
        let location = &self.site.locations[index];
        match location.parent {
            Some(parent) => self.site.locations[parent].children.clone(),
            None => self.site.servers[location.server].locations.clone(),
        }
    }

    /// One search through the locations.
    fn search(&mut self, choice: &Choice) {
        if choice.steps.is_empty() {
            if let Some(index) = choice.location {
                // A named one, or one that asks for its last slash.
                let why = if choice.to_slash {
                    "the path lacks its last slash: the answer is a redirect to it"
                } else {
                    "the request is sent on to it"
                };
                self.location(Look::Chosen, index, why);
            }
            return;
        }
        let mut level: Option<Option<usize>> = None;
        for (place, step) in choice.steps.iter().enumerate() {
            let (Step::Prefix(index)
            | Step::Decided(index)
            | Step::Passed(index)
            | Step::Matched(index)) = *step;
            let parent = self.site.locations[index].parent;
            if level != Some(parent) {
                level = Some(parent);
                self.shorter(index, &choice.uri);
            }
            let answers = choice.location == Some(index);
            match step {
                Step::Passed(_) => {
                    self.location(Look::Passed, index, "this regular expression does not match");
                }
                Step::Prefix(_) => {
                    // Whether something after it takes its place.
                    let why = match (answers, self.has_regex(index)) {
                        (true, true) => "the longest prefix, and no regular expression matches",
                        (true, false) => "the longest prefix",
                        (false, _) => "the longest prefix: kept in case nothing else matches",
                    };
                    let look = if answers { Look::Chosen } else { Look::Remembered };
                    self.location(look, index, why);
                }
                Step::Decided(_) => {
                    let why = match self.site.locations[index].kind {
                        Kind::Exact if choice.to_slash => {
                            "the path with its last slash: the answer is a redirect to it"
                        }
                        Kind::Exact => "this is exactly the path: the search ends",
                        _ if choice.to_slash => {
                            "the path lacks its last slash: the answer is a redirect to it"
                        }
                        _ => "the longest prefix, and `^~` ends the search",
                    };
                    self.location(Look::Chosen, index, why);
                    self.untried(index, None, "the search had ended before");
                }
                Step::Matched(_) => {
                    let over =
                        choice.steps[..place].iter().any(|own| matches!(own, Step::Prefix(_)));
                    let why = if over {
                        "this regular expression matches, and takes the place of the prefix that \
                         was kept"
                    } else {
                        "this regular expression matches"
                    };
                    self.location(Look::Chosen, index, why);
                    self.untried(index, Some(index), "one before it has matched");
                }
            }
        }
    }

    fn has_regex(&self, index: usize) -> bool {
        let is = |own: &usize| matches!(self.site.locations[*own].kind, Kind::Regex(_));
        self.siblings(index).iter().any(is)
    }

    /// Prefixes of a level before the one that is looked at first there.
    fn shorter(&mut self, first: usize, uri: &[u8]) {
        let mut fits: Vec<usize> = Vec::new();
        let mut other = 0;
        for own in self.siblings(first) {
            let location = &self.site.locations[own];
            let fixed = matches!(location.kind, Kind::Prefix { .. } | Kind::Exact);
            if own == first || !fixed {
                continue;
            }
            if matches!(location.kind, Kind::Prefix { .. })
                && uri.starts_with(location.name.as_bytes())
            {
                fits.push(own);
            } else {
                other += 1;
            }
        }
        if other > 0 {
            let what = format!("{other} other location{}", if other == 1 { "" } else { "s" });
            let why = "not how this path begins".into();
            self.add(Look::Passed, what, String::new(), why, 0);
        }
        fits.sort_by_key(|own| self.site.locations[*own].name.len());
        for own in fits.into_iter().take(MOST_SHOWN) {
            self.location(
                Look::Passed,
                own,
                "it matches, but another one matches more of the path",
            );
        }
    }

    /// Regular expressions that came too late.
    fn untried(&mut self, level: usize, after: Option<usize>, why: &str) {
        let siblings = self.siblings(level);
        let from = after.and_then(|after| siblings.iter().position(|own| *own == after));
        let late = siblings.into_iter().skip(from.map_or(0, |at| at + 1));
        let late: Vec<usize> =
            late.filter(|own| matches!(self.site.locations[*own].kind, Kind::Regex(_))).collect();
        for own in late.iter().take(MOST_SHOWN) {
            self.location(Look::Untried, *own, why);
        }
        if let Some(more @ 1..) = late.len().checked_sub(MOST_SHOWN) {
            let what = format!("{more} more regular expressions");
            self.add(Look::Untried, what, String::new(), why.into(), 0);
        }
    }

    /// The wrong turn at the location that was meant.
    fn turn(&mut self, meant: &Intended) {
        let why = format!("it was meant, and never answers here: {}", meant.why.why());
        if !self.stations.iter().any(|station| station.meant) {
            // It differs too much from the path to have been looked at, or there were too many.
            self.first = true;
            let before = self.meant;
            self.meant = None;
            self.location(Look::Passed, meant.location, "");
            self.meant = before;
            if let Some(last) = self.stations.last_mut() {
                last.meant = true;
            }
        }
        if let Some(station) = self.stations.iter_mut().find(|station| station.meant) {
            station.why = why;
        }
    }
}
