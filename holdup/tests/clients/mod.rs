//! The official Python clients: their wheels, pinned by hash, fetched by pip as it is set up here.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod thinking;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

pub(crate) use thinking::thinking;

const REQUIREMENTS: &str = include_str!("requirements.txt");
const STREAM: &str = include_str!("stream.py");

/// A Python that has the clients.
pub(crate) struct Clients {
    packages: PathBuf,
}

impl Clients {
    /// Fetches what is not there yet.
    ///
    /// # Errors
    /// Why it cannot be had here. A wheel that is not the pinned one is no such reason: that
    /// fails the test.
    pub(crate) fn get() -> Result<Clients, String> {
        // The requirements name no package that older ones need besides.
        let version = "import sys; sys.exit(sys.version_info < (3, 11))";
        match python().args(["-c", version]).output().map(|output| output.status.success()) {
            Ok(true) => {}
            Ok(false) => return Err("the official clients need Python 3.11".into()),
            Err(error) => return Err(format!("no python3: {error}")),
        }
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chat-clients");
        // Wheels of one Python are not another's.
        let tag = ask("import sys; print(sys.implementation.cache_tag)");
        let packages = root.join(tag.trim());
        let stamp = packages.join("requirements.txt");
        if fs::read_to_string(&stamp).is_ok_and(|have| have == REQUIREMENTS) {
            return Ok(Clients { packages });
        }
        let _ = fs::remove_dir_all(&packages);
        fs::create_dir_all(&root).unwrap();
        // What is half there is not there.
        let scratch = tempfile::tempdir_in(&root).unwrap();
        let (wanted, target) = (scratch.path().join("wanted.txt"), scratch.path().join("packages"));
        fs::write(&wanted, REQUIREMENTS).unwrap();
        let output = python()
            .args(["-m", "pip", "install", "--require-hashes", "--no-deps", "--quiet"])
            .args(["--only-binary=:all:", "--no-compile", "--retries", "1", "--target"])
            .arg(&target)
            .arg("-r")
            .arg(&wanted)
            .envs([("PIP_USER", "0"), ("PIP_REQUIRE_VIRTUALENV", "0"), ("PIP_NO_INPUT", "1")])
            .env("PIP_ROOT_USER_ACTION", "ignore")
            .env("LC_ALL", "C")
            .output()
            .unwrap();
        if !output.status.success() {
            return Err(not_here(&output));
        }
        fs::write(target.join("requirements.txt"), REQUIREMENTS).unwrap();
        fs::rename(&target, &packages).unwrap();
        Ok(Clients { packages })
    }

    /// What the clients make of the answers at that address.
    pub(crate) fn stream(&self, address: &str) -> Value {
        let output = python()
            .args(["-c", STREAM, address])
            .env("PYTHONPATH", &self.packages)
            // The address is this machine's, whatever proxy leads out of it.
            .env("NO_PROXY", "*")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "a client failed on {address}:\n{said}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn python() -> Command {
    let mut python = Command::new("python3");
    python.stdin(Stdio::null());
    python
}

fn ask(program: &str) -> String {
    String::from_utf8(python().args(["-c", program]).output().unwrap().stdout).unwrap()
}

/// Why pip has nothing for us; panics when it has the wrong thing.
fn not_here(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("DO NOT MATCH THE HASHES"), "a client is not the pinned one: {said}");
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    if said.contains("No module named pip") {
        return "the official clients need pip".into();
    }
    for reason in
        ["No matching distribution", "Could not find a version", "Max retries", "Connection"]
    {
        if said.contains(reason) {
            return format!("the official clients cannot be fetched: {}", last.trim());
        }
    }
    panic!("pip failed: {said}");
}
