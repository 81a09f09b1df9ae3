//! Changes to the text of a configuration that leave the rest of it as it is.

use std::ops::Range;

use super::source::Source;
use super::tree::Directive;

/// Replacements that do not overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    /// Puts a text in a span's place. The same change asked for twice, by a file that is
    /// included twice, is made once.
    pub(super) fn replace(&mut self, span: Range<usize>, with: String) {
        if !self.0.contains(&(span.clone(), with.clone())) {
            self.0.push((span, with));
        }
    }

    pub(super) fn insert(&mut self, at: usize, text: String) {
        self.replace(at..at, text);
    }

    /// The changed text.
    pub(super) fn apply(mut self, source: &Source) -> String {
        // Stable: of several at one place, the first asked for comes first.
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        let mut out = String::with_capacity(source.text.len());
        let mut at = 0;
        for (span, with) in self.0 {
            out.push_str(&source.text[at..span.start.max(at)]);
            out.push_str(&with);
            at = span.end.max(at);
        }
        out.push_str(&source.text[at..]);
        out
    }
}

/// The white space that a line begins with.
pub(super) fn indent(source: &Source, offset: usize) -> String {
    let line = source.text[..offset].rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|char| matches!(char, ' ' | '\t')).collect()
}

/// The text of a directive with its lines moved to another indentation.
pub(super) fn moved(source: &Source, directive: &Directive, to: &str) -> String {
    let from = indent(source, directive.span.start);
    let text = &source.text[directive.span.clone()];
    let mut lines = text.lines();
    let mut out = format!("{to}{}", lines.next().unwrap_or_default());
    for line in lines {
        out.push('\n');
        out.push_str(to);
        out.push_str(line.strip_prefix(from.as_str()).unwrap_or(line.trim_start()));
    }
    out
}

/// Where a block's own lines end: before its `}` and the white space of that line.
pub(super) fn end_of_block(source: &Source, inside: &Range<usize>) -> usize {
    let text = &source.text[inside.clone()];
    let last = text.rfind('\n').filter(|at| text[*at..].trim().is_empty());
    inside.start + last.map_or(text.len(), |at| at + 1)
}
