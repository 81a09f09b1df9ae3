//! Who descends from a process, as the kernel sees it now.

use nix::unistd::Pid;

/// All living descendants of `root`, itself left out. Since a supervisor is a subreaper,
/// what its child left behind is below it too, sessions and groups of their own or not.
#[cfg(target_os = "linux")]
pub(crate) fn descendants(root: Pid) -> Vec<Pid> {
    let processes: Vec<(Pid, Pid)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((Pid::from_raw(pid), parent_of(pid)?)))
        .collect();
    let mut found = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for (pid, _) in processes.iter().filter(|(_, of)| *of == parent) {
            found.push(*pid);
            parents.push(*pid);
        }
    }
    found
}

/// Without /proc and subreapers only the process group is known.
#[cfg(not(target_os = "linux"))]
pub(crate) fn descendants(_root: Pid) -> Vec<Pid> {
    Vec::new()
}

/// The parent of a process that is not a zombie.
#[cfg(target_os = "linux")]
fn parent_of(pid: i32) -> Option<Pid> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&stat)
}

/// `PID (NAME) STATE PARENT …`, where NAME may hold spaces and parentheses.
#[cfg(target_os = "linux")]
fn parse_stat(stat: &str) -> Option<Pid> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut fields = behind.split_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.next()?.parse().ok().map(Pid::from_raw),
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn reads_a_process_of_any_name() {
        assert_eq!(parse_stat("7 (a) b (c) S 3 7 7"), Some(Pid::from_raw(3)));
        assert_eq!(parse_stat("7 (gone) Z 3 7 7"), None);
        assert_eq!(parse_stat("nonsense"), None);
    }
}
