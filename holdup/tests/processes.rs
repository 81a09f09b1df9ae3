//! However the command ends, nothing of it is left: no proxy, no worker of one.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::process::Stdio;
use std::time::Duration;

use common::{alone, family, holdup, left, wait_for, wait_gone};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn after_a_kill_no_child_is_left_grandchildren_included() {
    let _alone = alone();
    for signal in [Signal::SIGKILL, Signal::SIGTERM] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("results");
        let mut child = holdup(&["measure", "--runs", "100", "--out", out.to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("the first run", Duration::from_secs(120), || {
            std::fs::metadata(out.join("runs.ndjson")).is_ok_and(|file| file.len() > 0)
        });
        let everybody = family(child.id());
        let names: Vec<String> = left(&everybody).into_iter().map(|(_, name)| name).collect();
        println!("running: {}", names.join(" "));
        if !names.iter().any(|name| name == "nginx") {
            println!("SKIPPED(no nginx here: {names:?})");
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        let nginx = names.iter().filter(|name| *name == "nginx").count();
        assert!(nginx >= 2, "an nginx has workers, which are grandchildren: {names:?}");
        kill(Pid::from_raw(child.id() as i32), signal).unwrap();
        child.wait().unwrap();
        let left = wait_gone(&everybody, Duration::from_secs(10));
        assert!(left.is_empty(), "after {signal}: {left:?}");
    }
}
