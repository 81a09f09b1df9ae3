//! `holdup emit --tls`: the authority it makes, and what it says when it cannot.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use common::{holdup, status, stderr};

const TLS: [&str; 5] = ["emit", "--listen", "127.0.0.1:0", "--tls", "127.0.0.1:0"];

/// Starts it and ends it once it has said what it serves; that, and what it said beside.
fn emit(data: &Path) -> (Vec<String>, String) {
    let mut command = holdup(&TLS);
    command.env("HOLDUP_DATA_DIR", data).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let said: Vec<String> = lines.take(3).map(Result::unwrap).collect();
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    (said, stderr(&output))
}

#[test]
fn tls_has_an_authority_of_the_users_own_made_once() {
    let data = tempfile::tempdir().unwrap();
    let (said, beside) = emit(data.path());
    assert!(said[2].starts_with("emitting on https://127.0.0.1:"), "{said:?}");
    assert!(beside.contains("made a local certificate authority"), "{beside}");
    let mode =
        |path: &str| fs::metadata(data.path().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("authority"), mode("authority/authority.pem")), (0o700, 0o600));
    let (_, beside) = emit(data.path());
    assert!(!beside.contains("authority"), "{beside}");

    let key = data.path().join("authority/authority.pem");
    fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let output = holdup(&TLS).env("HOLDUP_DATA_DIR", data.path()).output().unwrap();
    assert_eq!(status(&output), 4);
    let said = stderr(&output);
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("is open to others (mode 640)"), "{said}");
}
