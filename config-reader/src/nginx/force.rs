//! What is in force in a location: nginx's inheritance, level by level.

use super::known::{self, Inheritance};
use super::tree::Directive;
use super::version::Version;

/// A location's levels, innermost first, and the version whose defaults hold.
#[derive(Clone, Debug)]
pub struct InForce<'t> {
    levels: Vec<&'t [Directive]>,
    version: Version,
}

/// A value and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said<'t> {
    /// The value, arguments joined by spaces.
    pub value: String,
    /// The directive; none for nginx's default.
    pub by: Option<&'t Directive>,
    /// Where the default is written; empty when a directive says it.
    pub source: &'static str,
}

impl<'t> InForce<'t> {
    /// Levels as [`Site::levels`](super::site::Site::levels) gives them.
    pub fn new(levels: Vec<&'t [Directive]>, version: Version) -> InForce<'t> {
        InForce { levels, version }
    }

    /// The version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The innermost level's own directives.
    pub fn own(&self) -> &'t [Directive] {
        self.levels.first().copied().unwrap_or_default()
    }

    /// All directives of a name that are in force: those of the innermost level that has one.
    pub fn all(&self, name: &str) -> Vec<&'t Directive> {
        let own = |level: &&'t [Directive]| -> Vec<&'t Directive> {
            level.iter().filter(|directive| directive.name == name).collect()
        };
        match name {
            "add_header" | "add_trailer" => self.headers(name),
            _ if known::inheritance(name) == Inheritance::None => {
                self.levels.first().map(own).unwrap_or_default()
            }
            _ => self.levels.iter().map(own).find(|own| !own.is_empty()).unwrap_or_default(),
        }
    }

    /// `add_header`, whose inheritance a directive of its own can change since 1.29.3.
    fn headers(&self, name: &str) -> Vec<&'t Directive> {
        let rule = format!("{name}_inherit");
        let mut found: Vec<&'t Directive> = Vec::new();
        for depth in 0..self.levels.len() {
            let outwards = self.levels[depth..].iter();
            let says = outwards.flat_map(|level| level.iter()).find(|own| own.name == rule);
            let says = says.and_then(|own| own.arg(0)).unwrap_or("on");
            let before = found.len();
            found.extend(self.levels[depth].iter().filter(|own| own.name == name));
            let replaces = found.len() > before && says != "merge";
            if says == "off" || replaces {
                break;
            }
        }
        found
    }

    /// Whether the innermost level's own `add_header` (or `add_trailer`) would be added to what
    /// is inherited, instead of replacing it.
    pub fn merges(&self, name: &str) -> bool {
        let rule = format!("{name}_inherit");
        let says = self.levels.iter().flat_map(|level| level.iter()).find(|own| own.name == rule);
        says.and_then(|own| own.arg(0)) == Some("merge")
    }

    /// A directive of one value.
    pub fn value(&self, name: &str) -> Option<Said<'t>> {
        if let Some(by) = self.all(name).last() {
            let value = by.values().collect::<Vec<_>>().join(" ");
            return Some(Said { value, by: Some(by), source: "" });
        }
        let default = known::default(name, self.version)?;
        Some(Said { value: default.value.into(), by: None, source: default.source })
    }

    /// Whether a directive's value is this one.
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.value(name).is_some_and(|said| said.value == value)
    }

    /// A header towards the upstream; its default where nobody sets headers or this one.
    pub fn request_header(&self, name: &str) -> Option<Said<'t>> {
        let all = self.all("proxy_set_header");
        let by =
            all.iter().rev().find(|own| own.arg(0).is_some_and(|n| n.eq_ignore_ascii_case(name)));
        match by {
            Some(by) => {
                let value = by.arg(1).unwrap_or_default().into();
                Some(Said { value, by: Some(by), source: "" })
            }
            None if name.eq_ignore_ascii_case("connection") => self.value("connection"),
            None => None,
        }
    }

    /// Whether a list directive of types covers event streams.
    pub fn covers_events(&self, types: &str) -> Option<Said<'t>> {
        let said = self.value(types)?;
        let covers = |value: &str| value == "*" || value.eq_ignore_ascii_case("text/event-stream");
        said.value.split(' ').any(covers).then_some(said)
    }
}
