//! A program found on PATH.

use std::env;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Debian keeps servers in the `sbin` folders, which are not on an ordinary user's PATH.
const ALSO: [&str; 2] = ["/usr/local/sbin", "/usr/sbin"];

/// The first executable of that name on PATH.
pub(crate) fn find(command: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(ALSO.iter().map(PathBuf::from))
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(command))
        .find(|file| is_executable(file))
}

/// Whether this is a file somebody may execute.
pub(super) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_there() {
        assert!(find("sh").is_some_and(|path| path.is_absolute()));
        assert_eq!(find("no-such-proxy-anywhere"), None);
        assert!(!is_executable(Path::new("/")));
    }
}
