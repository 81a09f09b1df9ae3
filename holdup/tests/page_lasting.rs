//! A page that stays open: hundreds of runs in it, an emitter that dies and comes back, a tab that
//! is hidden. In Chromium, through `holdup demo`.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::await_holding_lock, reason = "each test has a thread and a runtime of its own")]

mod common;
mod page;

use std::time::Duration;

use page::{Browser, demo, free_port, with_browser};

/// A short stream, so that many fit into a test.
const SHORT: &str = "frames=4&interval_ms=5&frame_bytes=60";

/// What a page holds on to.
#[derive(Clone, Copy, Debug)]
struct Held {
    listeners: i64,
    nodes: i64,
    workers: i64,
    /// Bytes of page, document and worker after a collection.
    heap: i64,
    /// Bytes of the module's own memory.
    module: i64,
    /// Sockets of the process that serves page and taps.
    sockets: usize,
}

async fn held(browser: &Browser, demo: u32) -> Held {
    // Twice: what a collection finalises, the next one frees.
    for _ in 0..2 {
        browser.devtools("HeapProfiler.collectGarbage").await;
    }
    let counters = browser.devtools("Memory.getDOMCounters").await;
    let targets = browser.devtools("Target.getTargets").await;
    let targets = targets["targetInfos"].as_array().unwrap();
    Held {
        listeners: counters["jsEventListeners"].as_i64().unwrap(),
        nodes: counters["nodes"].as_i64().unwrap(),
        workers: targets.iter().filter(|target| target["type"] == "worker").count() as i64,
        heap: browser.bytes().await,
        module: browser.module_bytes().await,
        sockets: sockets(demo),
    }
}

fn sockets(process: u32) -> usize {
    let folder = std::fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let open = folder.flatten().filter_map(|file| std::fs::read_link(file.path()).ok());
    open.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
}

#[test]
fn two_hundred_runs_leave_a_page_as_it_was() {
    with_browser(stays_as_it_was());
}

async fn stays_as_it_was() {
    let (demo, url) = demo(free_port(), "direct");
    let browser = Browser::start().await;
    // Each key press is 34 rounds of three readers: 102 runs.
    let query = format!(
        "preset=headline&endpoints=direct&readers=eventsource,fetch,fetch-worker&runs=34&{SHORT}"
    );
    browser.open(&format!("{url}/?{query}")).await;
    browser.state(&["ready"], Duration::from_secs(60)).await;
    let idle = held(&browser, demo.id()).await;
    let mut after = Vec::new();
    for _ in 0..2 {
        browser.press("r").await;
        browser.state(&["running"], Duration::from_secs(10)).await;
        let end = browser.state(&["finished", "failed"], Duration::from_secs(240)).await;
        assert_eq!(end, "finished", "{}", browser.text().await);
        after.push(held(&browser, demo.id()).await);
    }
    println!("idle {idle:?}\nafter 102 runs {:?}\nafter 204 runs {:?}", after[0], after[1]);
    browser.close().await;
    let [half, full] = after[..] else { unreachable!("two measurements") };
    // A listener left behind by each run would be a hundred more; a few belong to buttons that the
    // page shows only once there is something to press.
    assert!(full.listeners - half.listeners <= 4, "{half:?} {full:?}");
    assert!(full.listeners - idle.listeners <= 40, "{idle:?} {full:?}");
    // The same for the document's nodes: what is shown is as much as before.
    assert!(full.nodes - half.nodes <= 60, "{half:?} {full:?}");
    assert_eq!(full.workers, 1, "one worker for all runs");
    // Six connections to the page's origin and six to the lane's, kept by browser and taps as
    // they please; a connection left behind by each run would be a hundred more.
    assert!(full.sockets <= half.sockets + 16, "{half:?} {full:?}");
    // The second hundred takes the place of the first, so as much is kept as before. A stream's
    // log or its closures left behind by each run would be 102 times some kilobytes.
    assert!(full.heap - half.heap <= 256 << 10, "{half:?} {full:?}");
    // A record of such a run is some 3 kB in the module's memory, which grows by pages of 64 KiB
    // and never shrinks: a hundred may take a few, the next hundred no more than those that the
    // allocator could not use again.
    assert!(half.module - idle.module <= 1 << 20, "{idle:?} {half:?}");
    assert!(full.module - half.module <= 256 << 10, "{half:?} {full:?}");
}

#[test]
fn an_emitter_killed_mid_run_is_said_and_the_page_goes_on_when_it_is_back() {
    with_browser(dies_and_comes_back());
}

async fn dies_and_comes_back() {
    let port = free_port();
    let (mut first, url) = demo(port, "direct");
    let browser = Browser::start().await;
    let query = "preset=headline&endpoints=direct&readers=fetch-worker&runs=1";
    browser.open(&format!("{url}/?{query}&frames=200&interval_ms=50&go=1")).await;
    browser.state(&["running"], Duration::from_secs(60)).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    first.kill();
    browser.state(&["failed"], Duration::from_secs(60)).await;
    let (said, why) = (browser.text().await, format!("The emitter at {url} does not answer"));
    // Once for the page, and once for the run that broke off.
    assert_eq!(said.matches(&why).count(), 2, "{said}");
    let (second, _) = demo(port, "direct");
    // Another process has other lanes: the page takes them in by itself.
    browser.state(&["ready"], Duration::from_secs(30)).await;
    let said = browser.text().await;
    assert!(!said.contains("does not answer"), "{said}");
    browser.press("r").await;
    let end = browser.state(&["finished", "failed"], Duration::from_secs(60)).await;
    assert_eq!(end, "finished", "{}", browser.text().await);
    browser.close().await;
    drop(second);
}

#[test]
fn hidden_tab() {
    with_browser(looked_away());
}

async fn looked_away() {
    let (demo, url) = demo(free_port(), "direct");
    let browser = Browser::start().await;
    let query = "preset=headline&endpoints=direct&readers=fetch&runs=1&go=1";
    browser.open(&format!("{url}/?{query}")).await;
    browser.state(&["running"], Duration::from_secs(60)).await;
    tokio::time::sleep(Duration::from_millis(700)).await;
    browser.look_away(Duration::from_millis(500)).await;
    browser.state(&["finished"], Duration::from_secs(60)).await;
    let said = browser.text().await;
    assert!(said.contains("the tab was hidden during the run"), "{said}");
    browser.close().await;
    drop(demo);
}
