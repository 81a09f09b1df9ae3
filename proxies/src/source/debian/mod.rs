//! Pinned packages of Debian, fetched by apt and unpacked side by side. They are never
//! installed: that would start services on port 80.

mod apt;

use std::collections::BTreeMap;
use std::path::Path;

use super::Source;
use super::cache::{CacheError, Stamp};
use super::pinned::{PinnedError, Recipe};
use crate::names::{Platform, Sha256Hash};
use crate::registry::{Debian, DebianFile, Engine};

pub use apt::{Apt, AptError};

/// The packages of one engine.
pub(super) struct DebianRecipe<'a> {
    engine: &'a Engine,
    debian: &'a Debian,
    apt: &'a Apt,
}

impl<'a> DebianRecipe<'a> {
    /// None if the packages are another platform's.
    pub(super) fn new(engine: &'a Engine, debian: &'a Debian, apt: &'a Apt) -> Option<Self> {
        (debian.platform == Platform::here()).then_some(Self { engine, debian, apt })
    }

    /// Takes the first of a package's pins that the archive still has.
    fn take(&self, package: &DebianFile, into: &Path) -> Result<(String, Sha256Hash), PinnedError> {
        let downloads = tempfile::tempdir()
            .map_err(|error| CacheError::io("create a folder in", &std::env::temp_dir(), error))?;
        let mut said = String::new();
        for pin in &package.pins {
            let requirement = package.requirement(pin);
            let file = match self.apt.download(&requirement, downloads.path())? {
                apt::Download::File(file) => file,
                apt::Download::NotThere(words) => {
                    said = words;
                    continue;
                }
            };
            let found =
                Sha256Hash::of_file(&file).map_err(|error| CacheError::io("hash", &file, error))?;
            if found != pin.sha256 {
                return Err(AptError::HashMismatch { requirement, found }.into());
            }
            self.apt.unpack(&requirement, &file, into)?;
            return Ok((requirement, found));
        }
        let pins: Vec<_> = package.pins.iter().map(|pin| package.requirement(pin)).collect();
        Err(AptError::NoVersion { requirement: pins.join(" or "), said }.into())
    }
}

impl Recipe for DebianRecipe<'_> {
    fn folder(&self) -> String {
        format!("debian-{}-{}", self.debian.package.name, self.engine.version)
    }

    fn binary(&self) -> &Path {
        &self.debian.binary
    }

    fn environment(&self) -> &BTreeMap<String, String> {
        &self.debian.environment
    }

    fn accepts(&self, stamp: &Stamp) -> bool {
        let pinned: Vec<(&DebianFile, (String, Sha256Hash))> = self
            .debian
            .packages()
            .flat_map(|file| file.pins.iter().map(move |pin| (file, pin)))
            .map(|(file, pin)| (file, (file.requirement(pin), pin.sha256)))
            .collect();
        let is_there = |file: &DebianFile| {
            pinned.iter().any(|(of, pin)| of.name == file.name && stamp.files.contains(pin))
        };
        stamp.files.iter().all(|file| pinned.iter().any(|(_, pin)| pin == file))
            && self.debian.packages().all(|file| is_there(file) || is_needless(file))
    }

    fn unpack(&self, into: &Path) -> Result<Vec<(String, Sha256Hash)>, PinnedError> {
        let wanted = self.debian.packages().filter(|package| !is_needless(package));
        wanted.map(|package| self.take(package, into)).collect()
    }

    fn source(&self, stamp: &Stamp) -> Source {
        // The package with the binary is the first that is taken.
        let taken = stamp.files.first().map(|(requirement, _)| requirement.clone());
        Source::Debian { requirement: taken.unwrap_or_else(|| self.engine.pinned()) }
    }
}

/// Whether the system has what the package would bring.
fn is_needless(package: &DebianFile) -> bool {
    package.unless.as_ref().is_some_and(|file| file.exists())
}
