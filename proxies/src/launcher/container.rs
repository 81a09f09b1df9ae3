//! A program of an image, started by the docker command as if it stood on this machine: the
//! host's network, the scratch folder at its own path, the configuration read-only in it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::Pid;

use crate::source::Contained;
use crate::supervise::descendants;

/// A container of an endpoint, by its name.
#[derive(Debug, Clone)]
pub(super) struct Container {
    contained: Contained,
    name: String,
}

impl Container {
    /// It is named as its scratch folder is, which nobody else has.
    pub(super) fn new(contained: &Contained, scratch: &Path) -> Self {
        let name = scratch.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { contained: contained.clone(), name }
    }

    /// What docker is called with; the program's own arguments follow.
    pub(super) fn run(
        &self,
        scratch: &Path,
        read_only: &[PathBuf],
        environment: &[(String, String)],
    ) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        add(&["run", "--rm", "--name", &self.name, "--pull", "never"]);
        add(&["--network", "host", "--log-driver", "none"]);
        for option in &self.contained.security {
            add(&[option]);
        }
        let folder = scratch.to_string_lossy();
        add(&["--mount", &format!("type=bind,src={folder},dst={folder}")]);
        for path in read_only {
            let path = path.to_string_lossy();
            add(&["--mount", &format!("type=bind,src={path},dst={path},readonly")]);
        }
        add(&["--workdir", &folder]);
        for (name, value) in environment {
            add(&["--env", &format!("{name}={value}")]);
        }
        add(&["--entrypoint", &self.contained.command, &self.contained.id]);
        args
    }

    /// What removes it, however it ended.
    pub(super) fn removal(&self) -> Vec<OsString> {
        let docker = self.contained.docker.path().as_os_str().to_owned();
        let words = ["rm", "-f", &self.name].map(OsString::from);
        std::iter::once(docker).chain(words).collect()
    }

    /// Its first process on this machine. None where the engine does not say, or where the number
    /// is one of another machine: engines that keep a virtual one for their containers.
    pub(super) fn first(&self) -> Option<Pid> {
        let pid = self.contained.docker.pid_of(&self.name)?;
        // The path of its configuration is among its arguments, and holds a name nobody else has.
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let own = String::from_utf8_lossy(&arguments).contains(&self.name);
        own.then(|| Pid::from_raw(pid))
    }
}

/// That process and all below it.
pub(super) fn family(first: Pid) -> Vec<Pid> {
    std::iter::once(first).chain(descendants(first)).collect()
}
