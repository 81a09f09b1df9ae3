//! apt, as the system has it set up: no archive is named here.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use nix::unistd::Uid;

use crate::names::Sha256Hash;
use crate::source::pinned::last_words;

/// A package that apt does not give.
#[derive(Debug, thiserror::Error)]
pub enum AptError {
    /// There is no apt.
    #[error(
        "cannot fetch {requirement}: no {command} on PATH; it is a package of Debian 12 and can be had there only"
    )]
    NoApt {
        /// As apt writes it.
        requirement: String,
        /// What was called.
        command: String,
    },
    /// apt knows of no packages at all.
    #[error(
        "cannot fetch {requirement}: apt has no list that names it; run `apt-get update` as root (apt says: {said})"
    )]
    NoLists {
        /// As apt writes it.
        requirement: String,
        /// apt's last words.
        said: String,
    },
    /// apt knows the package, in other versions only.
    #[error(
        "cannot fetch {requirement}: apt finds no such version; it is Debian 12's: on Debian 12 run `apt-get update`, or pin in registry.toml what is there now (apt says: {said})"
    )]
    NoVersion {
        /// As apt writes it, all that would have been taken.
        requirement: String,
        /// apt's last words.
        said: String,
    },
    /// The package is not the pinned one.
    #[error(
        "refused {requirement}: its sha256 is {found} and not the pinned one, so nothing was kept; check the archive apt uses, or registry.toml"
    )]
    HashMismatch {
        /// As apt writes it.
        requirement: String,
        /// The hash it has.
        found: Sha256Hash,
    },
    /// apt failed otherwise.
    #[error(
        "cannot fetch {requirement}: apt failed; try `apt-get download {requirement}` (apt says: {said})"
    )]
    Failed {
        /// As apt writes it.
        requirement: String,
        /// apt's last words.
        said: String,
    },
    /// The package cannot be unpacked.
    #[error(
        "cannot unpack {requirement}: dpkg-deb failed; check the cache folder's room (dpkg-deb says: {said})"
    )]
    Unpack {
        /// As apt writes it.
        requirement: String,
        /// dpkg-deb's last words.
        said: String,
    },
}

impl AptError {
    pub(in crate::source) fn is_refusal(&self) -> bool {
        matches!(self, Self::HashMismatch { .. })
    }
}

/// What a download came to.
#[derive(Debug)]
pub(super) enum Download {
    /// The package's file.
    File(PathBuf),
    /// There is no such version (any more); apt's words.
    NotThere(String),
}

/// What fetches and unpacks Debian's packages.
#[derive(Debug, Clone)]
pub struct Apt {
    apt_get: OsString,
    dpkg_deb: OsString,
    /// Whether missing lists have been fetched, which is done once only.
    updated: Arc<Mutex<bool>>,
}

impl Default for Apt {
    fn default() -> Self {
        Self::called("apt-get")
    }
}

impl Apt {
    /// Another command than `apt-get`.
    pub fn called(command: impl Into<OsString>) -> Self {
        Self { apt_get: command.into(), dpkg_deb: "dpkg-deb".into(), updated: Arc::default() }
    }

    /// Downloads one version of one package into a folder.
    pub(super) fn download(&self, requirement: &str, into: &Path) -> Result<Download, AptError> {
        let first = self.try_download(requirement, into)?;
        let again = matches!(&first, Err(AptError::NoLists { .. })) && self.may_update();
        if again { self.try_download(requirement, into)? } else { first }
    }

    /// The outer error is that apt cannot be called at all.
    fn try_download(
        &self,
        requirement: &str,
        into: &Path,
    ) -> Result<Result<Download, AptError>, AptError> {
        let mut command = self.command();
        command.arg("download").arg(requirement).current_dir(into);
        let output = command.output().map_err(|error| self.uncalled(requirement, &error))?;
        let file = output.status.success().then(|| deb_in(into)).flatten();
        Ok(file.map(Download::File).map_or_else(|| explain(requirement, &output), Ok))
    }

    /// Fetches the lists of packages if they have never been fetched, which only root can.
    /// A system without them is a fresh container; lists that are there are left alone.
    fn may_update(&self) -> bool {
        let mut updated = self.updated.lock().unwrap_or_else(PoisonError::into_inner);
        if !Uid::effective().is_root() {
            return false;
        }
        if !*updated {
            *updated = true;
            // Whether it helped shows at the next download.
            let _ = self.command().arg("update").output();
        }
        true
    }

    /// Unpacks a package's files into a folder.
    pub(super) fn unpack(
        &self,
        requirement: &str,
        file: &Path,
        into: &Path,
    ) -> Result<(), AptError> {
        let mut command = Command::new(&self.dpkg_deb);
        command.arg("-x").arg(file).arg(into).env("LC_ALL", "C").stdin(Stdio::null());
        let failed = |said: String| AptError::Unpack { requirement: requirement.to_owned(), said };
        match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(failed(last_words(&String::from_utf8_lossy(&output.stderr)))),
            Err(error) => Err(failed(error.to_string())),
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.apt_get);
        command.args(["-q", "-y", "-o", "Acquire::Retries=1"]);
        if Uid::effective().is_root() {
            // apt's own account cannot write into a folder of root's.
            command.args(["-o", "APT::Sandbox::User=root"]);
        }
        command.env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    fn uncalled(&self, requirement: &str, error: &io::Error) -> AptError {
        let requirement = requirement.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => {
                let command = self.apt_get.to_string_lossy().into_owned();
                AptError::NoApt { requirement, command }
            }
            _ => AptError::Failed { requirement, said: error.to_string() },
        }
    }
}

/// The package in a folder that held none before. (Its name has the version in it, with
/// some characters written otherwise.)
fn deb_in(folder: &Path) -> Option<PathBuf> {
    let mut files = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.find(|file| file.extension().is_some_and(|extension| extension == "deb"))
}

/// What apt's words mean. They are the same over many releases of apt.
fn explain(requirement: &str, output: &Output) -> Result<Download, AptError> {
    let text = String::from_utf8_lossy(&output.stderr);
    let has = |words: &str| text.contains(words);
    let (requirement, said) = (requirement.to_owned(), last_words(&text));
    if has("Unable to locate package") || has("No packages found") {
        Err(AptError::NoLists { requirement, said })
    } else if (has("Version '") && has("was not found")) || has("404  Not Found") {
        Ok(Download::NotThere(said))
    } else {
        Err(AptError::Failed { requirement, said })
    }
}
