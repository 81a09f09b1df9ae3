//! What the Node origin needs, by `npm ci`: npm holds every package to the hash in the lock file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cache::{Cache, CacheError};
use super::pinned::last_words;

const MANIFEST: &str = include_str!("../../node/package.json");
const LOCK: &str = include_str!("../../node/package-lock.json");
const SERVER: &str = include_str!("../../node/server.js");

/// The folder's name in the cache.
const NAME: &str = "node-compression-1.8.1";

/// The Node origin's packages cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum NpmError {
    /// No npm.
    #[error("cannot fetch compression@1.8.1: no npm on PATH; install Node.js with npm")]
    NoNpm,
    /// npm failed: no network, another hash.
    #[error(
        "cannot fetch compression@1.8.1: npm ci failed; check npm's configuration and the network (npm says: {said})"
    )]
    Failed {
        /// npm's last words.
        said: String,
    },
    /// The cache.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The folder that holds the origin and its packages; fetched if it is not there.
pub(crate) fn node_origin(cache: &Cache) -> Result<PathBuf, NpmError> {
    let folder = cache.folder(NAME);
    let _lock = cache.lock(NAME, || ())?;
    if !is_whole(&folder) {
        let part = cache.beside(NAME)?;
        write(part.path())?;
        install(part.path())?;
        cache.keep(part, NAME)?;
    }
    Ok(folder)
}

/// Whether the folder is what this program would make: its own files, and npm's note that it
/// came to an end.
fn is_whole(folder: &Path) -> bool {
    let same = |name: &str, text: &str| {
        fs::read_to_string(folder.join(name)).is_ok_and(|there| there == text)
    };
    same("package.json", MANIFEST)
        && same("package-lock.json", LOCK)
        && same("server.js", SERVER)
        && folder.join("node_modules/.package-lock.json").exists()
}

fn write(folder: &Path) -> Result<(), NpmError> {
    for (name, text) in
        [("package.json", MANIFEST), ("package-lock.json", LOCK), ("server.js", SERVER)]
    {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| CacheError::io("write", &path, error))?;
    }
    Ok(())
}

fn install(folder: &Path) -> Result<(), NpmError> {
    let output = Command::new("npm")
        // No package's own scripts run here.
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--omit=dev"])
        // Without a network it is to say so in a minute, not in ten.
        .args(["--fetch-retries=1", "--fetch-timeout=20000"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output();
    match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(NpmError::NoNpm),
        Err(error) => Err(NpmError::Failed { said: error.to_string() }),
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            Err(NpmError::Failed { said: last_words(&String::from_utf8_lossy(&output.stderr)) })
        }
    }
}
