//! What can be taken away from the page, and what can be brought to it.
//!
//! Out: [`source`] makes a results document of what was measured here, [`document`] writes it,
//! [`markdown`] makes its tables, [`picture`] draws the charts that are seen, and [`files`] hands
//! it all to the browser. In: [`import`] says what a file holds, [`document`] and [`runs`] read it.

pub mod document;
mod fields;
pub mod files;
pub mod import;
pub mod markdown;
pub mod picture;
pub mod prose;
pub mod runs;
pub mod source;
mod svg;
