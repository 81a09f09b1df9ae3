//! Packages of Debian: a stand-in for apt gives packages made here, so that what goes
//! wrong can be made to; the real one is held to the hash where there is an archive.

#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{executable, left_in};
use proxies::source::{Apt, AptError, Cache, PinnedError, SourceError};
use proxies::{Platform, Program, Proxies, Registry, Sha256Hash, Source, Sources};

const REGISTRY: &str = include_str!("../registry.toml");
const ENDPOINTS: &str = include_str!("../endpoints.toml");

/// The pins of nginx as they stand in the registry, newest first.
const NEWER: &str = "1.22.1-9+deb12u11";
const OLDER: &str = "1.22.1-9+deb12u9";

/// A stand-in for apt-get. What it is to do is its last argument, or what it is to
/// download; each is noted. It says what apt says of what is not there.
const APT: &str = r#"#!/bin/sh
here=$(dirname "$0")
for last in "$@"; do :; done
echo "$last" >> "$here/calls"
if [ "$last" = update ]; then
    mkdir -p "$here/archive"
elif [ ! -d "$here/archive" ]; then
    echo "E: Unable to locate package ${last%=*}" >&2
    exit 100
elif ! cp "$here/archive/$last.deb" . 2>/dev/null; then
    echo "E: Version '${last#*=}' for '${last%=*}' was not found" >&2
    exit 100
fi
"#;

/// A cache, and an archive that holds what the test puts there.
struct Bench {
    folder: tempfile::TempDir,
    registry: String,
}

impl Bench {
    /// None if there is nothing to build packages with, or none is pinned for this machine.
    fn new() -> Option<Self> {
        let there = std::process::Command::new("dpkg-deb").arg("--version").output();
        let platform = Platform::here();
        if there.is_err() || platform.as_str() != "linux-x86_64" {
            println!("SKIPPED(no dpkg-deb, or no packages are pinned for {platform})");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        executable(&folder.path().join("apt-get"), APT);
        fs::create_dir(folder.path().join("archive")).unwrap();
        // Programs that are certainly not on PATH, and no library that is missing here.
        let registry = REGISTRY
            .replace("command = \"", "command = \"absent-")
            .replace("unless = \"/usr/lib/x86_64-linux-gnu/libssl.so.3\"", "unless = \"/\"");
        Some(Self { folder, registry })
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// Puts nginx into the archive: a script that says it is that version, where nginx
    /// would be. Gives the package's hash.
    fn offer(&self, version: &str, binary: &str, says: &str) -> Sha256Hash {
        let tree = self.folder.path().join(format!("tree-{version}"));
        fs::create_dir_all(tree.join("DEBIAN")).unwrap();
        let control = format!(
            "Package: nginx\nVersion: {version}\nArchitecture: amd64\n\
             Maintainer: Nobody <nobody@localhost>\nDescription: a stand-in\n"
        );
        fs::write(tree.join("DEBIAN/control"), control).unwrap();
        let binary = tree.join(binary);
        fs::create_dir_all(binary.parent().unwrap()).unwrap();
        executable(&binary, &format!("#!/bin/sh\necho 'nginx version: nginx/{says}'\n"));
        let file = self.folder.path().join(format!("archive/nginx={version}.deb"));
        let mut build = std::process::Command::new("dpkg-deb");
        let built = build.args(["--build", "--root-owner-group"]).arg(&tree).arg(&file).output();
        assert!(built.unwrap().status.success());
        Sha256Hash::of_file(&file).unwrap()
    }

    /// Has the registry pin this hash for this version.
    fn pin(&mut self, version: &str, hash: Sha256Hash) {
        let entry = format!("version = \"{version}\", sha256 = \"");
        let at = self.registry.find(&entry).unwrap() + entry.len();
        self.registry.replace_range(at..at + 64, &hash.to_string());
    }

    fn proxies(&self, apt: &Path) -> Proxies {
        let apt = Apt::called(apt);
        let sources = Sources { apt, ..Sources::with_cache(Cache::at(self.cache())) };
        Proxies::new(Registry::parse(&self.registry, ENDPOINTS).unwrap(), sources)
    }

    fn fetch(&self) -> Result<Program, SourceError> {
        self.fetch_with(&self.folder.path().join("apt-get"))
    }

    fn fetch_with(&self, apt: &Path) -> Result<Program, SourceError> {
        let mut rows = self.proxies(apt).fetch(&["nginx-1.22"], &mut |_| {}).unwrap();
        rows.remove(0).1
    }

    /// The error, on one line, with nothing left behind.
    fn refusal(&self) -> SourceError {
        let error = self.fetch().unwrap_err();
        assert!(!error.to_string().contains('\n'), "{error}");
        assert!(left_in(&self.cache()).is_empty(), "{:?}", left_in(&self.cache()));
        error
    }

    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.folder.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }
}

const BINARY: &str = "usr/sbin/nginx";

#[test]
fn the_pinned_package_is_taken_and_kept() {
    let Some(mut bench) = Bench::new() else { return };
    let hash = bench.offer(NEWER, BINARY, "1.22.1");
    bench.pin(NEWER, hash);
    let program = bench.fetch().unwrap();
    assert_eq!(program.version.as_str(), "1.22.1");
    assert_eq!(program.source, Source::Debian { requirement: format!("nginx={NEWER}") });
    assert!(program.path.ends_with(BINARY));
    assert!(program.environment["LD_LIBRARY_PATH"].starts_with(bench.cache().to_str().unwrap()));
    assert_eq!(left_in(&bench.cache()), ["debian-nginx-1.22.1"]);

    assert_eq!(bench.fetch().unwrap(), program, "from the cache");
    assert_eq!(bench.calls().len(), 1, "{:?}", bench.calls());

    // A registry that pins another hash does not take what is there for it.
    bench.pin(NEWER, "0".repeat(64).parse().unwrap());
    let error = bench.fetch().unwrap_err();
    assert!(matches!(error, SourceError::Refused(_)), "{error}");

    bench.pin(NEWER, hash);
    let mut binary = fs::OpenOptions::new().append(true).open(&program.path).unwrap();
    std::io::Write::write_all(&mut binary, b"#").unwrap();
    drop(binary);
    let error = bench.fetch().unwrap_err();
    assert!(matches!(error, SourceError::Refused(PinnedError::Changed { .. })), "{error}");
}

#[test]
fn the_releases_own_version_is_taken_when_the_update_is_gone() {
    let Some(mut bench) = Bench::new() else { return };
    let hash = bench.offer(OLDER, BINARY, "1.22.1");
    bench.pin(OLDER, hash);
    let program = bench.fetch().unwrap();
    assert_eq!(program.source.to_string(), format!("debian nginx={OLDER}"));
    assert_eq!(bench.calls(), [format!("nginx={NEWER}"), format!("nginx={OLDER}")]);
}

#[test]
fn another_hash_is_refused_and_leaves_nothing() {
    let Some(bench) = Bench::new() else { return };
    let found = bench.offer(NEWER, BINARY, "1.22.1");
    let error = bench.refusal();
    let SourceError::Refused(PinnedError::Apt(AptError::HashMismatch { .. })) = &error else {
        panic!("{error}");
    };
    assert!(error.to_string().contains(&found.to_string()), "{error}");
}

#[test]
fn another_version_or_place_is_refused_and_leaves_nothing() {
    let Some(mut bench) = Bench::new() else { return };
    let hash = bench.offer(NEWER, BINARY, "1.24.0");
    bench.pin(NEWER, hash);
    let error = bench.refusal();
    assert!(matches!(error, SourceError::Refused(PinnedError::OtherVersion { .. })), "{error}");

    let Some(mut bench) = Bench::new() else { return };
    let hash = bench.offer(NEWER, "usr/bin/nginx", "1.22.1");
    bench.pin(NEWER, hash);
    let error = bench.refusal();
    assert!(matches!(error, SourceError::Refused(PinnedError::Layout { .. })), "{error}");
}

#[test]
fn what_the_archive_does_not_have_is_said_in_one_line() {
    let Some(bench) = Bench::new() else { return };
    let error = bench.refusal();
    let SourceError::Nowhere { why: PinnedError::Apt(AptError::NoVersion { .. }), .. } = &error
    else {
        panic!("{error}");
    };
    assert!(error.to_string().contains(&format!("nginx={NEWER} or nginx={OLDER}")), "{error}");
}

/// In a fresh container apt has no lists. Only root can fetch them, and does so once.
#[test]
fn missing_lists_are_fetched_once_by_root() {
    let Some(bench) = Bench::new() else { return };
    fs::remove_dir(bench.folder.path().join("archive")).unwrap();
    let error = bench.refusal();
    let SourceError::Nowhere { why: PinnedError::Apt(why), .. } = &error else {
        panic!("{error}");
    };
    let updates = bench.calls().iter().filter(|call| *call == "update").count();
    if nix::unistd::Uid::effective().is_root() {
        assert!(matches!(why, AptError::NoVersion { .. }), "{error}");
        assert_eq!(updates, 1, "{:?}", bench.calls());
    } else {
        assert!(matches!(why, AptError::NoLists { .. }), "{error}");
        assert_eq!(updates, 0, "{:?}", bench.calls());
    }
}

#[test]
fn no_apt_is_said_in_one_line() {
    let Some(bench) = Bench::new() else { return };
    let error = bench.fetch_with(Path::new("no-such-apt")).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot fetch nginx={NEWER}: no no-such-apt on PATH; it is a package of Debian 12 \
             and can be had there only; no absent-nginx on PATH either"
        )
    );
    assert!(left_in(&bench.cache()).is_empty());
}

/// An engine that stands for one release does not take another for it.
#[test]
fn an_installed_one_stands_in_only_if_it_is_the_same() {
    let Some(mut bench) = Bench::new() else { return };
    let installed = bench.folder.path().join("installed");
    for (says, taken) in [("1.22.1", true), ("1.26.3", false)] {
        executable(&installed, &format!("#!/bin/sh\necho 'nginx version: nginx/{says}'\n"));
        // An absolute name stays what it is when it is joined to a folder of PATH.
        let command = format!("command = \"{}\"", installed.display());
        bench.registry = bench.registry.replace("command = \"absent-nginx\"", &command);
        match bench.fetch() {
            Ok(program) => assert!(taken && matches!(program.source, Source::System { .. })),
            Err(SourceError::OtherInstalled { said, .. }) => {
                assert!(!taken && said.as_str() == says);
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_missing_compiler_has_its_own_error() {
    let cache = tempfile::tempdir().unwrap();
    let registry = REGISTRY.replace("command = \"gcc\"", "command = \"absent-gcc\"");
    let sources = Sources::with_cache(Cache::at(cache.path()));
    let proxies = Proxies::new(Registry::parse(&registry, ENDPOINTS).unwrap(), sources);
    let error = proxies.fetch(&["varnish"], &mut |_| {}).unwrap().remove(0).1.unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot run varnish: it needs absent-gcc to compile its configuration, and none is on \
         PATH; install it (apt-get install gcc libc6-dev)"
    );
    assert!(left_in(cache.path()).is_empty());
}

/// The smallest program by the real apt: with every library unpacked beside it, it runs;
/// under a wrong hash it is refused.
#[test]
fn the_real_apt_is_held_to_the_hash() {
    let cache = tempfile::tempdir().unwrap();
    // As on a system that lacks them all.
    let registry = REGISTRY
        .replace("command = \"", "command = \"absent-")
        .replace("needs = [{ command = \"absent-", "needs = [{ command = \"")
        .replace("unless = \"/usr", "unless = \"/absent");
    let fetch = |registry: &str, engine: &str| {
        let sources = Sources::with_cache(Cache::at(cache.path()));
        let proxies = Proxies::new(Registry::parse(registry, ENDPOINTS).unwrap(), sources);
        proxies.fetch(&[engine], &mut |_| {}).unwrap().remove(0).1
    };
    let parsed: toml::Table = REGISTRY.parse().unwrap();
    let pin = &parsed["engine"]["varnish"]["source"]["package"][1]["pin"][0];
    let wrong = registry.replace(pin["sha256"].as_str().unwrap(), &"0".repeat(64));
    match fetch(&wrong, "varnish") {
        Err(SourceError::Refused(PinnedError::Apt(AptError::HashMismatch { .. }))) => {}
        Err(why @ (SourceError::Nowhere { .. } | SourceError::Needs { .. })) => {
            println!("SKIPPED(no archive, or no compiler: {why})");
            return;
        }
        other => panic!("{other:?}"),
    }
    assert!(left_in(cache.path()).is_empty(), "{:?}", left_in(cache.path()));
    let program = fetch(&registry, "varnish").unwrap();
    assert_eq!(program.version.as_str(), "7.1.1");
    let folder = program.path.ancestors().nth(3).unwrap();
    assert!(folder.join("usr/lib/x86_64-linux-gnu/libjemalloc.so.2").exists());
}
