//! The Node origin for real: what it compresses, and when it lets go.

#![allow(clippy::unwrap_used, reason = "a helper of a test may panic as the test itself may")]

mod common;

use std::io::Read;

use common::{SUPERVISOR, ask};
use proxies::node::{Flush, NodeError, NodeOrigin};
use proxies::source::{Cache, NpmError};
use proxies::supervise::Supervisor;

fn start(flush: Flush) -> Option<NodeOrigin> {
    let cache = Cache::of_user().unwrap();
    match NodeOrigin::start(&cache, flush, &Supervisor::program(SUPERVISOR)) {
        Ok(origin) => Some(origin),
        Err(error @ (NodeError::NoNode | NodeError::Npm(_))) => {
            println!("SKIPPED({error})");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_middleware_compresses_unless_it_is_told_not_to() {
    for (flush, compressed) in
        [(Flush::Never, true), (Flush::EachEvent, true), (Flush::NoTransform, false)]
    {
        let Some(origin) = start(flush) else { return };
        let path = "/stream?run=1&frames=3&interval_ms=5&frame_bytes=60";
        let mut answer = Vec::new();
        ask(origin.address(), path, "Accept-Encoding: gzip\r\n").read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).to_lowercase();
        assert!(answer.starts_with("http/1.1 200"), "{answer}");
        assert!(answer.contains("content-type: text/event-stream"), "{answer}");
        assert_eq!(answer.contains("content-encoding: gzip"), compressed, "{flush:?}");
        assert_eq!(answer.contains("data: [done]"), !compressed, "{flush:?}");
    }
}

#[test]
fn a_cache_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    std::fs::write(&blocked, "").unwrap();
    let cache = Cache::at(&blocked);
    let error =
        NodeOrigin::start(&cache, Flush::Never, &Supervisor::program(SUPERVISOR)).unwrap_err();
    if matches!(error, NodeError::NoNode) {
        println!("SKIPPED({error})");
        return;
    }
    assert!(matches!(error, NodeError::Npm(NpmError::Cache(_))), "{error}");
}
