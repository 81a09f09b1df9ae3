//! A Chromium of the tests' own, with a page of `holdup demo` in it: for what a page shows and
//! holds on to, which posted results do not tell.

#![allow(dead_code, reason = "each test file uses its part")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod browser;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::common::{alone, holdup};

#[allow(unused_imports, reason = "each test file uses its part")]
pub(crate) use browser::{Browser, Group, free_port, no_browser};

/// `holdup demo` with these endpoints on this port, and the page's origin.
pub(crate) fn demo(port: u16, endpoints: &str) -> (Group, String) {
    let listen = format!("127.0.0.1:{port}");
    let mut command = holdup(&["demo", "--no-open", "--listen", &listen, "--endpoints", endpoints]);
    command.env("HOLDUP_DATA_DIR", concat!(env!("CARGO_TARGET_TMPDIR"), "/data"));
    let mut group = Group::spawn(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut lines = BufReader::new(group.stdout().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    // The address that it tells starts a run; these tests ask for their own.
    let url = first.rsplit(' ').next().unwrap().split("/?").next().unwrap().to_string();
    // Its other lines are nobody's; unread they would fill the pipe.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    (group, url)
}

/// Runs a test by itself, where there is a browser for it.
pub(crate) fn with_browser(test: impl Future<Output = ()>) {
    let _alone = alone();
    if !no_browser() {
        tokio::runtime::Runtime::new().unwrap().block_on(test);
    }
}
