//! Files that are brought to the page: what they are, or one sentence that says why they cannot
//! be shown.

use measure::results::{Document, SCHEMA};

use super::document::{self, NoDocument};
use super::runs;
use crate::view::markup::filled;

/// Largest file that is read, bytes. A results file of the largest preset has half a megabyte,
/// its raw runs some ten; past this the page would stand still while it reads.
pub const MAX_BYTES: f64 = 32.0 * 1_048_576.0;

/// A file's content.
#[derive(Debug)]
pub enum Content {
    /// A results document with rows.
    Document(Box<Document>),
    /// Raw runs, still as text.
    Runs,
}

/// What a file holds.
///
/// # Errors
/// A sentence for people.
pub fn content(name: &str, text: &str) -> Result<Content, String> {
    let name = shortened(name);
    if text.trim_ascii().is_empty() {
        return Err(filled("¤ is empty.", &[&name]));
    }
    let (why, what) = match document::read(text) {
        Ok(document) if document.cells.is_empty() => ("¤ has no rows: nothing was measured.", None),
        Ok(document) => return Ok(Content::Document(Box::new(document))),
        Err(NoDocument::NoJson | NoDocument::NoSchema) if runs::is_runs(text) => {
            return Ok(Content::Runs);
        }
        Err(NoDocument::NoJson) => (
            "¤ is no JSON, or not all of it: what holdup measure and holdup browse write as \
             results.json can be shown here.",
            None,
        ),
        Err(NoDocument::NoSchema) => (
            "¤ is JSON but no results file: it names no schema. What holdup measure and holdup \
             browse write as results.json can be shown here.",
            None,
        ),
        Err(NoDocument::OtherSchema(schema)) => (
            "¤ has the schema “¤”, and this page reads ¤: open it with the version that wrote it.",
            Some(schema),
        ),
        Err(NoDocument::Broken(why)) => (
            "¤ cannot be read as results: ¤. It is damaged, or of another program.",
            Some(shortened(&why)),
        ),
    };
    Err(filled(why, &[&name, what.as_deref().unwrap_or_default(), SCHEMA]))
}

/// Whether a file may be read at all.
///
/// # Errors
/// A sentence for people.
pub fn check_size(name: &str, bytes: f64) -> Result<(), String> {
    if bytes <= MAX_BYTES {
        return Ok(());
    }
    let megabytes = |bytes: f64| ((bytes / 1_048_576.0).ceil() as u64).to_string();
    Err(filled(
        "¤ has ¤ MB, and this page reads up to ¤ MB: holdup report makes a page of larger ones.",
        &[&shortened(name), &megabytes(bytes), &megabytes(MAX_BYTES)],
    ))
}

/// A text of unknown length as it may stand in a sentence.
pub fn shortened(text: &str) -> String {
    const MOST: usize = 80;
    let mut short: String = text.chars().take(MOST).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
