//! What a running proxy does to its machine: its processes, their time, their temporary
//! files. Known on Linux only.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::container;
use crate::supervise::descendants;

/// For how long the members of the family are remembered. Looking through all processes
/// of the machine takes milliseconds; a proxy replaces its workers hardly ever.
const FAMILY_AGE: Duration = Duration::from_secs(1);

/// Looks at a running proxy from outside. It can be cloned and sent to a thread that
/// samples: a look reads a few files below /proc and is cheap enough for every 20 ms.
/// When the proxy has ended there is nothing to see any more.
#[derive(Debug, Clone)]
pub struct Probe {
    root: Root,
    scratch: PathBuf,
    family: Arc<Mutex<Option<Family>>>,
}

/// Where its processes begin.
#[derive(Debug, Clone, Copy)]
enum Root {
    /// Below its supervisor, which is not the proxy.
    Below(Pid),
    /// At its first one, the child of a container engine; none where that is not known.
    First(Option<Pid>),
}

#[derive(Debug, Clone)]
struct Family {
    seen: Instant,
    members: Vec<Pid>,
}

impl Probe {
    /// Of a proxy below its supervisor.
    pub(super) fn below(supervisor: Pid, scratch: &Path) -> Self {
        Self::at(Root::Below(supervisor), scratch)
    }

    /// Of a proxy in a container, by its first process.
    pub(super) fn from(first: Option<Pid>, scratch: &Path) -> Self {
        Self::at(Root::First(first), scratch)
    }

    fn at(root: Root, scratch: &Path) -> Self {
        // The kernel names files by where they really are.
        let scratch = scratch.canonicalize().unwrap_or_else(|_| scratch.to_owned());
        Self { root, scratch, family: Arc::default() }
    }

    /// The proxy's processes, the first one and all that descend from it; those of at most
    /// a second ago. Empty where the kernel does not say.
    pub fn processes(&self) -> Vec<i32> {
        self.members().into_iter().map(Pid::as_raw).collect()
    }

    fn members(&self) -> Vec<Pid> {
        let mut family = self.family.lock().unwrap_or_else(PoisonError::into_inner);
        match &*family {
            Some(known) if known.seen.elapsed() < FAMILY_AGE => known.members.clone(),
            _ => {
                let members = match self.root {
                    Root::Below(supervisor) => descendants(supervisor),
                    Root::First(Some(first)) => container::family(first),
                    Root::First(None) => Vec::new(),
                };
                *family = Some(Family { seen: Instant::now(), members: members.clone() });
                members
            }
        }
    }

    /// The size of the largest file below the scratch folder that one of the processes
    /// holds open although it has no name any more: where a proxy puts an answer that its
    /// client does not take. 0 if there is none; none if it cannot be known.
    pub fn temp_file_bytes(&self) -> Option<u64> {
        let open = self.members().into_iter().filter_map(|pid| self.largest_unlinked(pid));
        open.max()
    }

    /// The processor time that all of them have taken so far, those that have ended
    /// included. Live processes are counted by the scheduler in nanoseconds where it tells, else
    /// in the kernel's ticks, usually of 10 ms, as ended ones are.
    pub fn cpu(&self) -> Option<Duration> {
        let supervisor = match self.root {
            Root::Below(supervisor) => Some(supervisor),
            Root::First(_) => None,
        };
        linux::cpu(supervisor, &self.members())
    }

    fn largest_unlinked(&self, pid: Pid) -> Option<u64> {
        linux::largest_unlinked(pid, &self.scratch)
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    use nix::unistd::{SysconfVar, sysconf};

    /// What the kernel writes behind the name of a file that has none any more.
    const UNLINKED: &[u8] = b" (deleted)";

    /// None if the process has ended or may not be looked into.
    pub(super) fn largest_unlinked(pid: Pid, below: &Path) -> Option<u64> {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
        let size = |descriptor: PathBuf| {
            let name = fs::read_link(&descriptor).ok()?;
            let unlinked =
                name.starts_with(below) && name.as_os_str().as_bytes().ends_with(UNLINKED);
            // Of the file itself, which is still there under its descriptor.
            let metadata = unlinked.then(|| fs::metadata(&descriptor).ok()).flatten()?;
            if metadata.is_file() { Some(metadata.len()) } else { None }
        };
        Some(open.flatten().filter_map(|entry| size(entry.path())).max().unwrap_or(0))
    }

    /// The time of the members, of whom they have outlived, and of whom the supervisor has
    /// reaped for them; its own time is not the proxy's.
    pub(super) fn cpu(supervisor: Option<Pid>, members: &[Pid]) -> Option<Duration> {
        let per_second = u64::try_from(sysconf(SysconfVar::CLK_TCK).ok()??).ok()?;
        // Parents before their children: whoever ends in between is missed this once
        // rather than counted twice.
        let tick = 1_000_000_000 / per_second.max(1);
        let all: Vec<u64> = members
            .iter()
            .filter_map(|pid| {
                let ticks = ticks(*pid)?;
                let own = scheduled(*pid).unwrap_or(ticks.own * tick);
                Some(own + ticks.reaped * tick)
            })
            .collect();
        if all.is_empty() {
            return None;
        }
        let reaped = match supervisor {
            Some(supervisor) => ticks(supervisor)?.reaped * tick,
            None => 0,
        };
        Some(Duration::from_nanos(all.iter().sum::<u64>() + reaped))
    }

    /// Time on a processor of all threads that live, nanoseconds: the first field of each one's
    /// `schedstat`. A thread that has ended is missed; proxies keep theirs.
    fn scheduled(pid: Pid) -> Option<u64> {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let one = |thread: fs::DirEntry| -> Option<u64> {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok()
        };
        threads.flatten().map(one).sum()
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(super) struct Ticks {
        pub(super) own: u64,
        pub(super) reaped: u64,
    }

    fn ticks(pid: Pid) -> Option<Ticks> {
        parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Fields 14 to 17 (utime, stime, cutime, cstime); the name, which is the second, may
    /// hold spaces and parentheses, so the count begins behind it.
    pub(super) fn parse(stat: &str) -> Option<Ticks> {
        let (_, behind) = stat.rsplit_once(')')?;
        let fields = behind.split_whitespace().skip(11).take(4);
        let fields: Vec<u64> = fields.map(|field| field.parse().ok()).collect::<Option<_>>()?;
        let [user, system, reaped_user, reaped_system] = fields.try_into().ok()?;
        Some(Ticks { own: user + system, reaped: reaped_user + reaped_system })
    }
}

#[cfg(not(target_os = "linux"))]
mod linux {
    use super::*;

    pub(super) fn largest_unlinked(_pid: Pid, _below: &Path) -> Option<u64> {
        None
    }

    pub(super) fn cpu(_supervisor: Option<Pid>, _members: &[Pid]) -> Option<Duration> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn reads_the_time_of_a_process_of_any_name() {
        let stat = "7 (a) b (c) S 3 7 7 0 -1 4194560 100 200 0 0 11 22 33 44 20 0 1 0 900 1 2";
        assert_eq!(linux::parse(stat), Some(linux::Ticks { own: 33, reaped: 77 }));
        assert_eq!(linux::parse("7 (short) S 3 7 7"), None);
    }

    #[test]
    fn finds_the_largest_file_that_has_no_name_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let here = nix::unistd::getpid();
        assert_eq!(linux::largest_unlinked(here, folder.path()), Some(0));
        let mut named = tempfile::NamedTempFile::new_in(&folder).unwrap();
        named.write_all(&[0; 300]).unwrap();
        assert_eq!(linux::largest_unlinked(here, folder.path()), Some(0), "it has a name");
        let file = named.into_file();
        assert_eq!(linux::largest_unlinked(here, folder.path()), Some(300));
        assert_eq!(linux::largest_unlinked(here, Path::new("/elsewhere")), Some(0));
        drop(file);
        assert_eq!(linux::largest_unlinked(Pid::from_raw(i32::MAX), folder.path()), None);
    }
}
