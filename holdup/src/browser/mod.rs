//! Real browsers: which engines there are, how they are started and driven.

mod driver;
mod engine;

pub(crate) use driver::{Driver, DriverError};
pub(crate) use engine::Engine;
