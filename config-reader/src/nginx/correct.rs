//! The corrected block: what a stream needs, and what the block that answered did besides.

use super::diagnose::{Diagnosis, Handler, Intended, Missed, is_stream_setting};
use super::edit::{Edits, end_of_block, indent, moved};
use super::force::InForce;
use super::pattern::Pattern;
use super::serve::Served;
use super::site::{Kind, Location, Site};
use super::token::quote;
use super::tree::{Directive, Tree};
use super::version::Version;

/// A configuration without what held the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Correction {
    /// All of it; it may hold secrets that the original does.
    pub text: String,
    /// What was changed, a sentence each.
    pub changes: Vec<String>,
    /// Directives that were taken over from the block that answered.
    pub kept: Vec<String>,
    /// What must be decided by hand.
    pub by_hand: Vec<String>,
}

/// What streams need, beside the Connection header.
const SETTINGS: &[(&str, &str)] = &[
    ("proxy_http_version", "1.1"),
    ("proxy_buffering", "off"),
    ("proxy_cache", "off"),
    ("gzip", "off"),
];

/// Directives that are about how answers flow, or that belong to the old block alone: not taken
/// over from it.
const OWN_TO_THE_OLD: &[&str] = &[
    "gzip",
    "gzip_min_length",
    "gzip_types",
    "internal",
    "location",
    "proxy_buffer_size",
    "proxy_buffering",
    "proxy_buffers",
    "proxy_busy_buffers_size",
    "proxy_cache",
    "proxy_http_version",
    "proxy_ignore_headers",
    "proxy_pass",
];

/// Lists of which one name each counts: the names are compared, not the whole.
const BY_NAME: &[&str] =
    &["add_header", "add_trailer", "proxy_set_header", "proxy_hide_header", "proxy_pass_header"];

/// The block that is being written, over the one it is made from.
struct Draft<'s, 't> {
    site: &'s Site<'t>,
    version: Version,
    correction: Correction,
}

impl<'t> Site<'t> {
    /// Writes the configuration without what holds the stream; `None` where that cannot be
    /// written here.
    pub fn correct(
        &self,
        served: &Served<'t>,
        diagnosis: &Diagnosis<'t>,
        intended: Option<&Intended>,
        version: Version,
    ) -> Option<Correction> {
        let Handler::Proxy(_) = diagnosis.handler else { return None };
        let winner = served.location()?;
        let correction =
            Correction { text: String::new(), changes: vec![], kept: vec![], by_hand: vec![] };
        let mut draft = Draft { site: self, version, correction };
        let mut edits = Edits::default();
        let same_level =
            |other: usize| self.locations[other].parent == self.locations[winner].parent;
        match intended {
            Some(meant) if meant.why == Missed::Regex && same_level(meant.location) => {
                draft.promote(meant.location, winner, &mut edits);
            }
            _ => match draft.narrow(winner, served) {
                Some(block) => draft.add(winner, served, block, &mut edits),
                None => draft.in_place(winner, &mut edits),
            },
        }
        let mut correction = draft.correction;
        correction.text = edits.apply(&self.tree.source);
        // It must hold what it promises.
        let tree = Tree::read(correction.text.clone()).ok()?;
        let site = Site::of(&tree).ok()?;
        let path = String::from_utf8(served.uri.clone()).ok()?;
        let again = site.serve_by(served.server, &path, version).ok()?;
        site.diagnose(&again, version).causes.is_empty().then_some(correction)
    }
}

impl<'t> Draft<'_, 't> {
    fn force(&self, index: usize) -> InForce<'t> {
        let location = &self.site.locations[index];
        InForce::new(self.site.levels(Some(index), location.server), self.version)
    }

    fn location(&self, index: usize) -> &Location<'t> {
        &self.site.locations[index]
    }

    fn line(&self, directive: &Directive) -> String {
        self.site.tree.source.line(directive.span.start)
    }

    /// Lets the location that was meant answer, by `^~`.
    fn promote(&mut self, meant: usize, winner: usize, edits: &mut Edits) {
        let directive = self.location(meant).directive;
        let head = format!("location ^~ {} {{", quote(&self.location(meant).name));
        let Some(block) = &directive.block else { return };
        edits.replace(directive.span.start..block.inside.start, head.clone());
        let change = format!(
            "`{}` ({}) says `^~`, so that no regular expression is tried after it",
            self.location(meant).written(),
            self.line(directive)
        );
        self.correction.changes.push(change);
        self.settle(meant, Some(winner), edits);
    }

    /// Changes the answering location itself.
    fn in_place(&mut self, winner: usize, edits: &mut Edits) {
        let location = self.location(winner);
        let change = format!(
            "`{}` ({}) gets what a stream needs, for all it serves",
            location.written(),
            self.line(location.directive)
        );
        self.correction.changes.push(change);
        self.settle(winner, None, edits);
    }

    /// Gives a location what a stream needs and what `besides` does besides.
    fn settle(&mut self, index: usize, besides: Option<usize>, edits: &mut Edits) {
        let source = &self.site.tree.source;
        let directive = self.location(index).directive;
        let Some(block) = &directive.block else { return };
        let step = format!("{}    ", indent(source, directive.span.start));
        let own: Vec<&Directive> = block.children.iter().collect();
        let mut lines: Vec<String> = Vec::new();
        let force = self.force(index);
        for (name, value) in SETTINGS {
            let mine: Vec<&&Directive> = own.iter().filter(|own| own.name == *name).collect();
            if mine.is_empty() {
                lines.push(format!("{step}{name} {value};"));
            }
            for own in mine.iter().filter(|own| own.arg(0) != Some(value)) {
                edits.replace(own.span.clone(), format!("{name} {value};"));
            }
        }
        let theirs = besides.map(|besides| self.force(besides));
        for name in BY_NAME {
            let theirs = theirs.as_ref().map(|force| force.all(name)).unwrap_or_default();
            self.list(name, &force, &theirs, &step, &mut lines, edits);
        }
        if let Some(besides) = besides {
            self.take_over(besides, &own, &step, &mut lines);
        }
        if lines.is_empty() {
            return;
        }
        let at = end_of_block(source, &block.inside);
        let new_line = source.text[..at].ends_with('\n');
        let before = if new_line { "" } else { "\n" };
        edits.insert(at, format!("{before}{}\n", lines.join("\n")));
    }

    /// One list directive: a level's own replace all outer ones, so who adds to inherited ones
    /// must repeat them.
    fn list(
        &mut self,
        name: &str,
        force: &InForce<'t>,
        theirs: &[&'t Directive],
        step: &str,
        lines: &mut Vec<String>,
        edits: &mut Edits,
    ) {
        let mine = force.all(name);
        let own: Vec<&Directive> = force.own().iter().filter(|own| own.name == name).collect();
        let key = |own: &Directive| own.arg(0).unwrap_or_default().to_ascii_lowercase();
        let missing: Vec<&&Directive> = theirs
            .iter()
            .filter(|their| !mine.iter().any(|mine| key(mine) == key(their)))
            .filter(|their| !(name == "proxy_set_header" && key(their) == "connection"))
            .collect();
        let mut added: Vec<String> = Vec::new();
        for directive in &missing {
            let line = directive.written();
            self.correction.kept.push(format!(
                "{} ({})",
                crate::secret::written(directive),
                self.line(directive)
            ));
            added.push(format!("{step}{line};"));
        }
        if name == "proxy_set_header" {
            let connection = mine.iter().rev().find(|own| key(own) == "connection");
            match connection {
                // A map's variable serves WebSockets beside; it does not hold streams.
                Some(by) if by.arg(1).is_some_and(|value| value.contains('$')) => {}
                Some(by) if by.arg(1) == Some("") => {}
                Some(by) if own.iter().any(|own| std::ptr::eq(*own, *by)) => {
                    edits.replace(by.span.clone(), "proxy_set_header Connection \"\";".into());
                }
                _ => added.push(format!("{step}proxy_set_header Connection \"\";")),
            }
        }
        if added.is_empty() {
            return;
        }
        if own.is_empty() && !force.merges(name) {
            let clears = |own: &Directive| name == "proxy_set_header" && key(own) == "connection";
            lines.extend(
                mine.iter()
                    .filter(|own| !clears(own))
                    .map(|own| format!("{step}{};", own.written())),
            );
        }
        lines.extend(added);
    }

    /// Whatever else the old block did.
    fn take_over(&mut self, from: usize, own: &[&Directive], step: &str, lines: &mut Vec<String>) {
        let source = &self.site.tree.source;
        let location = self.location(from);
        let groups = match &location.kind {
            Kind::Regex(pattern) => pattern.names(),
            _ => Vec::new(),
        };
        for directive in location.directive.children() {
            let name = directive.name.as_str();
            let repeats = matches!(
                name,
                "if" | "set" | "allow" | "deny" | "limit_req" | "limit_conn" | "rewrite"
            );
            let has = !repeats && own.iter().any(|own| own.name == name);
            if OWN_TO_THE_OLD.contains(&name) || BY_NAME.contains(&name) || has {
                continue;
            }
            let shown = format!("{} ({})", crate::secret::written(directive), self.line(directive));
            if name != "rewrite" && uses_groups(&source.text[directive.span.clone()], &groups) {
                self.correction.by_hand.push(format!(
                    "{shown} uses what the regular expression captured: carry it over by hand"
                ));
                continue;
            }
            lines.push(moved(source, directive, step));
            self.correction.kept.push(shown);
        }
    }

    /// A block for the path alone, when the answering one serves more than streams: `/`, or a
    /// regular expression. `None` where that one itself must change.
    fn narrow(&self, winner: usize, served: &Served<'_>) -> Option<Vec<String>> {
        let location = self.location(winner);
        let source = &self.site.tree.source;
        let path = std::str::from_utf8(&served.uri).ok()?;
        let wide = match &location.kind {
            Kind::Regex(_) => true,
            Kind::Prefix { .. } => location.name == "/",
            Kind::Exact | Kind::Named => false,
        };
        let taken = self.site.servers[served.server].locations.iter().any(|index| {
            matches!(self.location(*index).kind, Kind::Prefix { .. })
                && self.location(*index).name == path
        });
        if !wide
            || taken
            || location.parent.is_some()
            || !location.children.is_empty()
            || served.hops.len() != 1
        {
            return None;
        }
        let step = format!("{}    ", indent(source, location.directive.span.start));
        let groups = match &location.kind {
            Kind::Regex(pattern) => pattern.names(),
            _ => Vec::new(),
        };
        let mut lines = Vec::new();
        for own in location.directive.children() {
            let text = &source.text[own.span.clone()];
            if own.name != "rewrite"
                && matches!(location.kind, Kind::Regex(_))
                && uses_groups(text, &groups)
            {
                return None;
            }
            let flows = SETTINGS.iter().any(|(name, _)| *name == own.name);
            let clears = own.name == "proxy_set_header"
                && own.arg(0).is_some_and(|name| name.eq_ignore_ascii_case("connection"))
                && !own.arg(1).is_some_and(|value| value.contains('$'));
            if flows || clears || is_stream_setting(own) || own.name == "gzip_types" {
                continue;
            }
            if own.name == "proxy_pass" {
                lines.push(format!("{step}{};", passed_on(own, &location.name, path)?));
                continue;
            }
            lines.push(moved(source, own, &step));
        }
        Some(lines)
    }

    /// Adds the block before the one that answered.
    fn add(
        &mut self,
        winner: usize,
        served: &Served<'_>,
        mut lines: Vec<String>,
        edits: &mut Edits,
    ) {
        let source = &self.site.tree.source;
        let directive = self.location(winner).directive;
        let outer = indent(source, directive.span.start);
        let step = format!("{outer}    ");
        let force = self.force(winner);
        let own_headers = force.own().iter().any(|own| own.name == "proxy_set_header");
        let connection = force.request_header("Connection").map(|said| said.value);
        if !connection.is_some_and(|value| value.contains('$')) {
            if !own_headers {
                // To add one is to replace the inherited ones: they are repeated.
                let inherited = force.all("proxy_set_header");
                let other = |own: &&&Directive| {
                    !own.arg(0).is_some_and(|n| n.eq_ignore_ascii_case("connection"))
                };
                lines.extend(
                    inherited.iter().filter(other).map(|own| format!("{step}{};", own.written())),
                );
            }
            lines.push(format!("{step}proxy_set_header Connection \"\";"));
        }
        lines.extend(SETTINGS.iter().map(|(name, value)| format!("{step}{name} {value};")));
        let path = String::from_utf8_lossy(&served.uri).into_owned();
        let head = format!("location ^~ {}", quote(&path));
        edits.insert(
            directive.span.start,
            format!("{head} {{\n{}\n{outer}}}\n\n{outer}", lines.join("\n")),
        );
        let change = format!(
            "a block for this path alone stands before `{}` ({}), which goes on to serve the rest",
            self.location(winner).written(),
            self.line(directive)
        );
        self.correction.changes.push(change);
        for own in directive.children().iter().filter(|own| BY_NAME.contains(&own.name.as_str())) {
            self.correction.kept.push(format!(
                "{} ({})",
                crate::secret::written(own),
                self.line(own)
            ));
        }
    }
}

/// Whether a text uses what a location's regular expression captured.
fn uses_groups(text: &str, groups: &[String]) -> bool {
    let digits = Pattern::new(r"\$\{?[1-9]", false);
    digits.matches(text.replace('\n', " ").as_bytes()).unwrap_or(true)
        || groups.iter().any(|name| {
            text.contains(&format!("${name}")) || text.contains(&format!("${{{name}}}"))
        })
}

/// A `proxy_pass` that sends the same path to the origin from a location of another name: what
/// follows the host replaces the location's name, so it grows by what the new name has more.
fn passed_on(directive: &Directive, from: &str, to: &str) -> Option<String> {
    let url = directive.arg(0)?;
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let has_path = rest.contains('/') && !url.contains('$');
    if !has_path {
        return Some(directive.written());
    }
    let more = to.strip_prefix(from)?;
    Some(format!("proxy_pass {}", quote(&format!("{url}{more}"))))
}
