//! The page: reads the lanes' streams in this browser, and says who is holding them up.
//!
//! The flow: [`runner`] plays a plan step by step: it synchronises the clocks; [`run`] opens a
//! stream by one of the [`readers`] and watches the page meanwhile ([`watch`], [`paint`]); then
//! the emitter's and the tap's side of the same stream are fetched ([`api`]). [`model`] holds what is drawn and
//! derives the rows with `measure`, the same code that makes the command's table. [`geometry`],
//! [`split`] and [`words`] turn them into charts, bars and sentences; [`view`] shows them.
//!
//! There are two pages in this crate, and a module of the browser's for each: the lanes ([`app`],
//! the feature `lanes`, on by default), and one's own endpoint ([`own`], the feature `own`). All
//! of it is compiled for both; what a page does not reach is not in its module.

pub mod api;
pub mod app;
pub mod browser;
pub mod geometry;
pub mod guard;
pub mod json;
pub mod model;
pub mod once;
pub mod own;
pub mod paint;
pub mod readers;
pub mod run;
pub mod runner;
pub mod split;
pub mod takeaway;
mod view;
pub mod watch;
pub mod words;

use wasm_bindgen::prelude::wasm_bindgen;

#[cfg(not(any(feature = "lanes", feature = "own")))]
compile_error!("which page is it to be? There are the features `lanes` and `own`");

/// Opens the page in the document: what its HTML calls once the module is loaded.
#[wasm_bindgen]
pub fn open() {
    std::panic::set_hook(Box::new(|panic| {
        browser::set_state("failed");
        web_sys::console::error_1(&panic.to_string().into());
    }));
    #[cfg(feature = "lanes")]
    app::open();
    #[cfg(not(feature = "lanes"))]
    own::open();
}
