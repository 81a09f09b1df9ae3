//! The `docker` command: calls with an end, a pull that is watched, and what its answers mean.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::unistd::{getegid, geteuid};

use crate::names::Sha256Hash;
use crate::source::pinned::last_words;
use crate::source::system;

/// A call answers within a second or two; the first container of an image on a cold disk takes
/// some more. What has not ended by now waits for an engine that hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// How often a call's end is looked for.
const POLL: Duration = Duration::from_millis(5);

/// What a call says is read up to here.
const ENOUGH: u64 = 256 * 1024;

/// Asks for the engine's version and for what stands between its users and this machine's.
pub(super) const INFO: [&str; 3] =
    ["info", "--format", "{{.ServerVersion}} {{json .SecurityOptions}}"];

/// The image's id, then the digests under which registries know it.
pub(super) const IDENTITY: &str = "{{.Id}} {{json .RepoDigests}}";

/// What runs containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Docker(PathBuf);

impl Default for Docker {
    /// The first `docker` on PATH.
    fn default() -> Self {
        Self(system::find("docker").unwrap_or_else(|| "docker".into()))
    }
}

impl fmt::Display for Docker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

/// What a call said, and whether it ended well.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) success: bool,
    pub(super) out: String,
    pub(super) err: String,
}

impl Said {
    /// Its last words on one line: of its errors, else of its output.
    pub(super) fn words(&self) -> String {
        let words = last_words(if self.err.trim().is_empty() { &self.out } else { &self.err });
        if words.is_empty() { "it says nothing".into() } else { words }
    }
}

impl Docker {
    /// Another command than the `docker` on PATH.
    pub fn called(command: impl Into<OsString>) -> Self {
        Self(PathBuf::from(command.into()))
    }

    /// What is called.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// One call, ended when it takes too long.
    pub(super) fn call(&self, args: &[&str]) -> io::Result<Said> {
        // Files rather than pipes: nothing that can fill up.
        let (mut out, mut err) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut child = self.spawn(args, out.try_clone()?, err.try_clone()?)?;
        let deadline = Instant::now() + LIMIT;
        let status = loop {
            match child.try_wait()? {
                Some(status) => break status,
                None if Instant::now() >= deadline => {
                    child.kill()?;
                    child.wait()?;
                    let verb = args.first().copied().unwrap_or_default();
                    let text = format!("no answer to `{verb}` within {} s", LIMIT.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, text));
                }
                None => std::thread::sleep(POLL),
            }
        };
        let text = |file: &mut std::fs::File| -> io::Result<String> {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.take(ENOUGH).read_to_end(&mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Said { success: status.success(), out: text(&mut out)?, err: text(&mut err)? })
    }

    /// One call that may take minutes, each line of its output as it comes.
    pub(super) fn watch(&self, args: &[&str], line: &mut dyn FnMut(&str)) -> io::Result<Said> {
        let mut err = tempfile::tempfile()?;
        let mut child = self.spawn(args, Stdio::piped(), err.try_clone()?)?;
        let out = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        for text in BufReader::new(out).lines() {
            let text = text?;
            let shown: String = text.chars().filter(|c| !c.is_control()).collect();
            if !shown.trim().is_empty() {
                line(shown.trim());
            }
        }
        let status = child.wait()?;
        let mut said = Vec::new();
        err.rewind()?;
        err.take(ENOUGH).read_to_end(&mut said)?;
        let err = String::from_utf8_lossy(&said).into_owned();
        Ok(Said { success: status.success(), out: String::new(), err })
    }

    fn spawn(
        &self,
        args: &[&str],
        out: impl Into<Stdio>,
        err: impl Into<Stdio>,
    ) -> io::Result<Child> {
        Command::new(&self.0).args(args).stdin(Stdio::null()).stdout(out).stderr(err).spawn()
    }

    /// The first process of a container as this machine numbers it; none where the engine does
    /// not say.
    pub(crate) fn pid_of(&self, container: &str) -> Option<i32> {
        let said = self.call(&["inspect", "--format", "{{.State.Pid}}", container]).ok()?;
        let pid = said.success.then(|| said.out.trim().parse().ok()).flatten()?;
        if pid > 0 { Some(pid) } else { None }
    }
}

/// A name of its own for a container, by which it is found and removed.
pub(super) fn container_name(what: &str) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let stamp = now.map_or(0, |since| since.as_nanos());
    format!("holdup-{what}-{}-{stamp:x}", std::process::id())
}

/// How an engine's users stand to this machine's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Security {
    /// The engine runs as whoever calls it: root in a container is the caller outside.
    rootless: bool,
    /// Users of containers are other users outside, unless a container asks not to.
    remapped: bool,
}

impl Security {
    /// From the answer to [`INFO`]; none without an engine's version.
    pub(super) fn parse(said: &str) -> Option<Self> {
        let (version, options) = said.trim().split_once(' ')?;
        let names = |name: &str| options.contains(&format!("name={name}"));
        let known = version.starts_with(|c: char| c.is_ascii_digit());
        known.then(|| Self { rootless: names("rootless"), remapped: names("userns") })
    }

    /// A container reads and writes the scratch folder as the caller, never as root for him:
    /// what it leaves behind is his to remove. It gets no rights by its files' marks, and labels
    /// (SELinux) do not keep it from the folder.
    pub(super) fn options(self) -> Vec<String> {
        let user = match self.rootless {
            true => "0:0".into(),
            false => format!("{}:{}", geteuid(), getegid()),
        };
        let mut options = vec!["--user".into(), user];
        for option in ["no-new-privileges", "label=disable"] {
            options.extend(["--security-opt".into(), option.into()]);
        }
        if self.remapped {
            options.extend(["--userns".into(), "host".into()]);
        }
        options
    }
}

/// `sha256:…` in a type.
pub(super) fn digest(text: &str) -> Option<Sha256Hash> {
    text.trim().strip_prefix("sha256:")?.parse().ok()
}

/// The image's id and its digest in that repository, from the answer to [`IDENTITY`].
pub(super) fn identity(said: &str, repository: &str) -> Option<(String, Sha256Hash)> {
    let (id, digests) = said.trim().split_once(' ')?;
    digest(id)?;
    let list = digests.trim().strip_prefix('[')?.strip_suffix(']')?;
    // Neither names nor digests can hold a quote or a comma.
    let named = list.split(',').map(|entry| entry.trim().trim_matches('"'));
    let mut of_it = named.filter_map(|entry| {
        let (name, hash) = entry.split_once('@')?;
        // Some engines write the registry before it: docker.io/library/nginx.
        let rest = name.strip_suffix(repository)?;
        let whole = rest.is_empty() || rest.ends_with('/');
        whole.then(|| digest(hash)).flatten()
    });
    Some((id.to_owned(), of_it.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_says_how_its_users_stand_to_ours() {
        let plain = Security::parse("27.3.1 [\"name=seccomp,profile=builtin\"]\n").unwrap();
        assert_eq!(plain, Security { rootless: false, remapped: false });
        assert_eq!(plain.options()[1], format!("{}:{}", geteuid(), getegid()));
        let rootless = Security::parse("27.3.1 [\"name=seccomp\",\"name=rootless\"]").unwrap();
        assert_eq!(rootless.options()[1], "0:0");
        let remapped = Security::parse("27.3.1 [\"name=userns\"]").unwrap();
        assert!(remapped.options().ends_with(&["--userns".into(), "host".into()]));
        for none in ["", " null", "Cannot connect", "27.3.1"] {
            assert_eq!(Security::parse(none), None, "{none:?}");
        }
    }

    #[test]
    fn an_image_is_named_by_its_digest_in_its_own_repository() {
        let (a, b) = ("a".repeat(64), "b".repeat(64));
        let said = |list: &str| format!("sha256:{a} {list}\n");
        for list in [
            format!("[\"nginx@sha256:{b}\"]"),
            format!("[\"mirror/other@sha256:{a}\",\"docker.io/library/nginx@sha256:{b}\"]"),
        ] {
            let (id, hash) = identity(&said(&list), "nginx").unwrap();
            assert_eq!((id, hash.to_string()), (format!("sha256:{a}"), b.clone()));
        }
        for list in ["[]", "null", "[\"my-nginx@sha256:ab\"]", "[\"nginx@sha256:ab\"]"] {
            assert_eq!(identity(&said(list), "nginx"), None, "{list}");
        }
        assert_eq!(identity(&format!("<none> [\"nginx@sha256:{b}\"]"), "nginx"), None);
        let foreign = format!("[\"my-nginx@sha256:{b}\"]");
        assert_eq!(identity(&said(&foreign), "nginx"), None);
    }
}
