//! What is needed beside Rust: installed where that may be done, otherwise said in one line.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::check;

/// The wasm target. Where rustup installs nothing by itself, the toolchain file is not enough.
pub(crate) fn wasm_target() -> Result<()> {
    let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
    let Ok(installed) = installed else {
        // No rustup: the target is the distribution's matter, and the build will say.
        return Ok(());
    };
    let target = "wasm32-unknown-unknown";
    if String::from_utf8_lossy(&installed.stdout).lines().any(|line| line == target) {
        return Ok(());
    }
    check(Command::new("rustup").args(["target", "add", target]))
}

/// Chromium with its driver; whether both are there now.
pub(crate) fn browser() -> bool {
    packages(&["chromium", "chromedriver"], &["chromium", "chromium-driver"])
}

/// strace, which checks our count of reads against the system calls.
pub(crate) fn strace() -> bool {
    packages(&["strace"], &["strace"])
}

/// Installs packages when a program of theirs is missing and it may be done.
fn packages(programs: &[&str], packages: &[&str]) -> bool {
    let missing = || programs.iter().any(|program| find(program).is_none());
    if !missing() {
        return true;
    }
    let line = format!("apt-get install {}", packages.join(" "));
    if find("apt-get").is_none() || !is_root() {
        eprintln!("missing: {}; install with `{line}`", programs.join(", "));
        return false;
    }
    eprintln!("installing {} with apt-get", packages.join(", "));
    let apt = |arguments: &[&str]| {
        Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(packages);
    // The lists of a fresh machine are empty or old.
    let installed = apt(&["update"]) && apt(&install);
    if !installed || missing() {
        eprintln!("that did not work; try `{line}` by hand");
    }
    !missing()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| String::from_utf8_lossy(&id.stdout).trim() == "0")
}

/// A program on PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}
