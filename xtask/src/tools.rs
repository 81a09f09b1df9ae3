//! What is needed beside Rust: installed where that may be done, otherwise said in one line.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::{cargo, check};

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

/// Programs that stand for packages.
struct Need {
    /// Any one of each group.
    programs: &'static [&'static [&'static str]],
    packages: &'static [&'static str],
}

const CHROMIUM: Need = Need {
    programs: &[&["chromium", "chromium-browser", "google-chrome"], &["chromedriver"]],
    packages: &["chromium", "chromium-driver"],
};
const FIREFOX: Need = Need { programs: &[&["firefox", "firefox-esr"]], packages: &["firefox-esr"] };
// Xvfb is a screen for it where there is none.
const WEBKIT: Need = Need {
    programs: &[&["WebKitWebDriver"], &["Xvfb"], &["xauth"]],
    packages: &["webkit2gtk-driver", "xvfb", "xauth"],
};
/// Checks our count of reads against the system calls.
const STRACE: Need = Need { programs: &[&["strace"]], packages: &["strace"] };

/// The geckodriver that is built where there is none.
const GECKODRIVER: &str = "0.37.1";

/// Chromium with its driver; whether both are there now.
pub(crate) fn chromium() -> bool {
    packages(&[CHROMIUM])
}

/// What the tests need: three browsers with their drivers, and strace. Whether Chromium is there
/// now; what else is missing is said by the tests that want it.
pub(crate) fn for_tests() -> bool {
    packages(&[CHROMIUM, FIREFOX, WEBKIT, STRACE]);
    if FIREFOX.is_here() {
        geckodriver();
    }
    CHROMIUM.is_here()
}

impl Need {
    fn is_here(&self) -> bool {
        self.programs.iter().all(|any| any.iter().any(|program| find(program).is_some()))
    }
}

/// Installs what is missing and may be installed, all at once; whether everything is there now.
fn packages(needs: &[Need]) -> bool {
    let missing = || -> Vec<&str> {
        let needs = needs.iter().filter(|need| !need.is_here());
        needs.flat_map(|need| need.packages.iter().copied()).collect()
    };
    let wanted = missing();
    if wanted.is_empty() {
        return true;
    }
    let line = format!("apt-get install {}", wanted.join(" "));
    if find("apt-get").is_none() || !is_root() {
        eprintln!("something is missing for the tests; install it with `{line}`");
        return false;
    }
    eprintln!("installing {} with apt-get", wanted.join(", "));
    let apt = |arguments: &[&str]| {
        Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let mut install = vec!["install", "--yes", "--no-install-recommends"];
    install.extend(wanted);
    // The lists of a fresh machine are empty or old.
    let installed = apt(&["update"]) && apt(&install);
    let still = missing();
    if !installed || !still.is_empty() {
        eprintln!("that did not work; try `{line}` by hand");
    }
    still.is_empty()
}

/// Builds a geckodriver into the cache folder, unless there is one where the command looks.
/// Debian has no package of it.
fn geckodriver() {
    let version = format!("drivers/geckodriver-{GECKODRIVER}");
    let Some(root) = cache_folder().map(|folder| folder.join(version)) else {
        eprintln!("no home folder: install Firefox's driver with `cargo install geckodriver`");
        return;
    };
    let cargo_home = env::home_dir().map(|home| home.join(".cargo/bin/geckodriver"));
    let kept = [Some(root.join("bin/geckodriver")), cargo_home];
    if find("geckodriver").is_some() || kept.into_iter().flatten().any(|file| file.is_file()) {
        return;
    }
    eprintln!("building geckodriver {GECKODRIVER}, which takes some minutes; it is kept");
    let root = root.to_string_lossy().into_owned();
    let built = check(&mut cargo(&[
        "install",
        "--quiet",
        "geckodriver",
        "--version",
        GECKODRIVER,
        "--locked",
        "--root",
        &root,
    ]));
    if let Err(error) = built {
        eprintln!("no driver for Firefox: {error:#}");
    }
}

/// Where the project keeps what it fetches, as the command has it.
fn cache_folder() -> Option<PathBuf> {
    match env::var_os("HOLDUP_CACHE_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => std::path::absolute(folder).ok(),
        None => directories::ProjectDirs::from("", "", "holdup")
            .map(|folders| folders.cache_dir().to_owned()),
    }
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
