//! The marker: each location says in a header that it was the one to answer.

use super::edit::{Edits, indent};
use super::force::InForce;
use super::site::Site;
use super::version::Version;

/// The marker's header.
pub const MARKER: &str = "X-Holdup-Location";

impl Site<'_> {
    /// The same configuration with one marker header in each location: its file and line. What
    /// a location inherits of `add_header` is repeated, since its own would replace it.
    pub fn marked(&self, version: Version) -> String {
        let source = &self.tree.source;
        let mut edits = Edits::default();
        for (index, location) in self.locations.iter().enumerate() {
            let Some(block) = &location.directive.block else { continue };
            let step = format!("{}    ", indent(source, location.directive.span.start));
            let place = source.line(location.directive.span.start);
            // A `$` would be a variable.
            let place = place.replace(['$', '"', '\\', '{', '}', ';'], "_");
            let mut text = format!("\n{step}add_header {MARKER} \"{place}\" always;");
            let force = InForce::new(self.levels(Some(index), location.server), version);
            let has = force.own().iter().any(|own| own.name == "add_header");
            if !has && !force.merges("add_header") {
                for inherited in force.all("add_header") {
                    text.push_str(&format!("\n{step}{};", inherited.written()));
                }
            }
            edits.insert(block.inside.start, text);
        }
        edits.apply(source)
    }
}
