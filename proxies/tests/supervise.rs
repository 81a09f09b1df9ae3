//! The supervisor against real processes: nothing outlives its parent, however it dies.

#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proxies::supervise::{Command, SuperviseError, Supervisor};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_holdup-supervisor");

/// A child that leaves behind: one in a session of its own, one doubly forked into
/// another, one that ignores SIGTERM. Each writes its number into the folder.
const FAMILY: &str = r#"
    setsid sh -c 'echo $$ > one; exec sleep 1000' &
    (setsid sh -c 'echo $$ > two; exec sleep 1000' &)
    sh -c 'trap "" TERM; echo $$ > three; while :; do sleep 1000; done' &
    echo $$ > four
    sleep 1000
"#;

fn shell(script: &str, folder: &Path) -> Command {
    let mut command = Command::new(&Supervisor::program(SUPERVISOR), "/bin/sh");
    command.args(["-c", script]).cwd(folder);
    command
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(15);
    while !holds() {
        assert!(Instant::now() < deadline, "not within 15 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn pids(folder: &Path) -> Vec<Pid> {
    ["one", "two", "three", "four"]
        .iter()
        .filter_map(|name| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok())
        .map(Pid::from_raw)
        .collect()
}

/// A zombie that some init has yet to reap no longer runs.
fn runs(pid: &Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    kill(*pid, None).is_ok() && !stat.contains(") Z ")
}

#[test]
fn stopping_ends_the_whole_family() {
    let folder = tempfile::tempdir().unwrap();
    let child = shell(FAMILY, folder.path()).spawn(&folder.path().join("log")).unwrap();
    until("the family runs", || pids(folder.path()).len() == 4);
    let family = pids(folder.path());
    assert!(family.iter().all(runs));
    assert!(family.contains(&Pid::from_raw(child.pid())));
    child.stop().unwrap();
    assert!(!family.iter().any(runs), "stop returns when nobody is left");
}

/// Names the folder to the parent that is killed below.
const ROLE: &str = "HOLDUP_TEST_PARENT_IN";

/// Not a test by itself: the parent of `a_killed_parent_leaves_nobody`, in a process of
/// its own. Without its variable it does nothing.
#[test]
fn the_parent_that_is_killed() {
    let Some(folder) = std::env::var_os(ROLE).map(std::path::PathBuf::from) else {
        return;
    };
    let mut command = shell(FAMILY, &folder);
    command.remove_after(folder.join("scratch"));
    let _child = command.spawn(&folder.join("log")).unwrap();
    std::thread::sleep(Duration::from_secs(1000));
}

#[test]
fn a_killed_parent_leaves_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let scratch = folder.path().join("scratch");
    std::fs::create_dir(&scratch).unwrap();
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_parent_that_is_killed"])
        .env(ROLE, folder.path())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    until("the family runs", || pids(folder.path()).len() == 4);
    let family = pids(folder.path());
    assert!(family.iter().all(runs));

    // SIGKILL: the parent has no chance to clean up.
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("the family is gone", || !family.iter().any(runs));
    until("the scratch folder is gone", || !scratch.exists());
}

#[test]
fn a_child_that_ends_gives_its_status_and_takes_its_own_along() {
    let folder = tempfile::tempdir().unwrap();
    let script = "setsid sh -c 'echo $$ > one; exec sleep 1000' & \
                  while [ ! -s one ]; do sleep 0.01; done; echo said; echo loud >&2; exit 7";
    let mut child = shell(script, folder.path()).spawn(&folder.path().join("log")).unwrap();
    let mut status = None;
    until("the child has ended", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.and_then(|s| s.code()), Some(7));
    assert_eq!(child.log_tail(5), ["said", "loud"]);
    assert!(!pids(folder.path()).iter().any(runs));
}

#[test]
fn signals_to_the_supervisor_end_the_child_and_are_not_inherited() {
    let folder = tempfile::tempdir().unwrap();
    // What the supervisor catches must be neither blocked nor ignored in the child.
    let script = "grep -E 'SigBlk|SigIgn' /proc/self/status; echo $$ > one; exec sleep 1000";
    let mut child = shell(script, folder.path()).spawn(&folder.path().join("log")).unwrap();
    until("the child runs", || pids(folder.path()).len() == 1);
    let caught =
        [Signal::SIGHUP, Signal::SIGINT, Signal::SIGPIPE, Signal::SIGTERM, Signal::SIGCHLD];
    for line in child.log_tail(2) {
        let mask = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        for signal in caught {
            assert_eq!(mask & (1 << (signal as u32 - 1)), 0, "{signal} in {line}");
        }
    }
    let family = pids(folder.path());
    kill(Pid::from_raw(child.supervisor_pid() as i32), Signal::SIGTERM).unwrap();
    until("the supervisor has ended", || child.try_wait().unwrap().is_some());
    assert!(!family.iter().any(runs));
}

#[test]
fn environment_reaches_the_child_only() {
    let folder = tempfile::tempdir().unwrap();
    let mut command =
        shell("echo $MARK; tr '\\0' '\\n' </proc/$PPID/environ | grep -c MARK=", folder.path());
    let mut child = command.env("MARK", "a=b c").spawn(&folder.path().join("log")).unwrap();
    until("the child has ended", || child.try_wait().unwrap().is_some());
    assert_eq!(child.log_tail(5), ["a=b c", "0"]);
}

#[test]
fn what_cannot_be_started_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let supervisor = Supervisor::program(SUPERVISOR);
    let error = Command::new(&supervisor, "/nonexistent/proxy").spawn(&log).unwrap_err();
    assert!(matches!(error, SuperviseError::Program { .. }));
    assert_eq!(
        error.to_string(),
        "cannot run /nonexistent/proxy: No such file or directory (os error 2); \
         check that it is there and executable"
    );
    let error = Command::new(&Supervisor::program("/bin/echo"), "x").spawn(&log).unwrap_err();
    assert!(matches!(error, SuperviseError::NotASupervisor { .. }), "{error}");
    let error = Command::new(&Supervisor::program("/none"), "x").spawn(&log).unwrap_err();
    assert!(matches!(error, SuperviseError::Supervisor { .. }), "{error}");
}
