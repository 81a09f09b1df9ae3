//! What can be taken away from the page, and what can be brought to it.

pub mod document;
mod fields;
