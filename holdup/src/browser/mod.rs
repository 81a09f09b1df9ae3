//! Real browsers: which engines there are, how they are found, started and driven.

mod display;
mod driver;
mod engine;
mod error;
mod find;
mod picture;
mod service;

pub(crate) use driver::Driver;
pub(crate) use engine::{Engine, Found, Quic, Wanted};
pub(crate) use error::DriverError;
pub(crate) use find::Places;
pub(crate) use service::Service;
