//! The look of the page: its main views at a projector's, a laptop's and a phone's size, in
//! Chromium. A view fails when texts overlap, are cut off or leave the window, computed from their
//! boxes. With `HOLDUP_PICTURES` set, pictures of all views go into that folder, in both schemes.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::await_holding_lock, reason = "each test has a thread and a runtime of its own")]

mod common;
mod page;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use common::alone;
use page::{Browser, demo, free_port, no_browser};
use serde_json::{Value, json};

const CHECK: &str = include_str!("visual/check.js");

const SIZES: [(u32, u32); 3] = [(1920, 1080), (1366, 768), (390, 844)];

/// What a page needs to lay out and paint in a new size: a few frames, on a busy machine.
const SETTLE: Duration = Duration::from_millis(300);

/// The lanes of the headline stream, which is the fullest view that there is.
const LANES: &str = "nginx,nginx-buffering-off,caddy,traefik,haproxy,haproxy-no-delay,envoy";

/// Eight lanes by two readers, in turn, on a machine that is busy with tests.
const WHOLE_RUN: Duration = Duration::from_secs(180);

struct Eye {
    browser: Browser,
    url: String,
    /// Where pictures go; nowhere unless asked for.
    pictures: Option<PathBuf>,
    faults: Vec<String>,
}

impl Eye {
    async fn at(&self, query: &str, state: &str) {
        self.browser.open(&format!("{}/?{query}", self.url)).await;
        self.browser.state(&[state], Duration::from_secs(60)).await;
    }

    /// Clicks the first element that a selector finds.
    async fn click(&self, selector: &str) {
        let script = "document.querySelector(arguments[0]).click()";
        self.browser.run(script, vec![selector.into()]).await;
    }

    /// Waits until the page says that nobody answers.
    async fn silence(&self) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let said = self.browser.ask("document.querySelector('.silent').textContent").await;
            if said.as_str().is_some_and(|said| said.contains("does not answer")) {
                return;
            }
            assert!(Instant::now() < end, "the page does not say that its emitter is gone");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn emulate(&self, (width, height): (u32, u32), scheme: &str) {
        let size = json!({ "width": width, "height": height,
            "deviceScaleFactor": 1, "mobile": false });
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.browser.devtools_with("Emulation.setDeviceMetricsOverride", size).await;
        self.browser.devtools_with("Emulation.setEmulatedMedia", media).await;
        tokio::time::sleep(SETTLE).await;
    }

    async fn faults(&self) -> Vec<String> {
        let found = self.browser.ask(&format!("(() => {{ {CHECK} }})()")).await;
        serde_json::from_value(found).unwrap()
    }

    /// Looks at the view at every size.
    async fn look(&mut self, view: &str) {
        for size in SIZES {
            self.emulate(size, "light").await;
            // What is open is what the view is about.
            let there = "document.querySelector('.lane[data-open=yes], .proof:has(.lane)')?.scrollIntoView()";
            self.browser.ask(there).await;
            let (width, height) = size;
            for fault in self.faults().await {
                self.faults.push(format!("{view} at {width}x{height}: {fault}"));
            }
            for scheme in ["light", "dark"] {
                let Some(folder) = &self.pictures else { continue };
                self.emulate(size, scheme).await;
                let taken = self.browser.devtools("Page.captureScreenshot").await;
                let png = bytes_of(taken["data"].as_str().unwrap());
                let name = format!("{view}-{width}x{height}-{scheme}.png");
                std::fs::write(folder.join(name), png).unwrap();
            }
        }
    }
}

/// Base64, which is how a driver hands over pictures.
fn bytes_of(text: &str) -> Vec<u8> {
    let digit = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0_u32, |bits, letter| bits << 6 | u32::from(digit(*letter)));
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

#[tokio::test]
async fn no_text_overlaps_or_is_cut_in_any_view_at_any_size() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let pictures = std::env::var_os("HOLDUP_PICTURES").map(PathBuf::from);
    // Pictures are of the headline stream; the layout of a shorter one is the same.
    let stream = if pictures.is_some() { "frames=41" } else { "frames=12" };
    let (mut demo, url) = demo(free_port(), LANES);
    let browser = Browser::start().await;
    let mut eye = Eye { browser, url, pictures, faults: Vec::new() };
    let finished = ["finished", "failed"];

    eye.at("runs=0", "failed").await;
    eye.look("refused").await;

    eye.at(stream, "ready").await;
    eye.look("empty").await;

    eye.at("frames=120", "ready").await;
    eye.click("[data-act=all]").await;
    eye.browser.state(&["running"], Duration::from_secs(10)).await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    eye.look("running").await;
    eye.browser.press("s").await;
    eye.browser.state(&finished, WHOLE_RUN).await;
    eye.look("stopped").await;

    eye.at(stream, "ready").await;
    eye.click("[data-act=run]").await;
    eye.browser.state(&finished, WHOLE_RUN).await;
    eye.look("page").await;
    eye.click(".lane:nth-of-type(6) .open").await;
    eye.look("detail").await;
    eye.browser.press("Escape").await;
    eye.click("[data-act=settings]").await;
    eye.look("settings").await;
    eye.click("[data-act=settings]").await;
    eye.browser.press("?").await;
    eye.look("keys").await;
    eye.browser.press("?").await;

    eye.at(&format!("{stream}&readers=eventsource&endpoints=haproxy&go=1"), "finished").await;
    eye.look("eventsource").await;

    eye.at("story=cork&go=1", "finished").await;
    eye.look("story").await;
    eye.browser.press("p").await;
    eye.look("presenter").await;
    eye.browser.press("ArrowRight").await;
    eye.look("presenter-before").await;
    eye.browser.press("Escape").await;

    demo.kill();
    eye.silence().await;
    eye.look("silent").await;
    eye.browser.close().await;
    assert!(eye.faults.is_empty(), "{}", eye.faults.join("\n"));
}

#[tokio::test]
async fn no_text_of_a_configurations_way_overlaps_or_is_cut() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let pictures = std::env::var_os("HOLDUP_PICTURES").map(PathBuf::from);
    let (_demo, url) = demo(free_port(), "direct");
    let browser = Browser::start().await;
    let mut eye = Eye { browser, url, pictures, faults: Vec::new() };
    eye.browser.open(&format!("{}/configuration", eye.url)).await;
    eye.browser.state(&["ready"], Duration::from_secs(60)).await;
    eye.look("configuration-empty").await;
    let put = "document.querySelector(`#conf-${arguments[0]}`).value = arguments[1]";
    let broken = "http {\n    server {\n        server_name \"chat.example.com;\n        listen 80;\n    }\n}\n";
    eye.browser.run(put, vec!["text".into(), broken.into()]).await;
    eye.browser.run(put, vec!["path".into(), "/api/chat".into()]).await;
    eye.click("[data-act=read]").await;
    eye.browser.state(&["failed"], Duration::from_secs(20)).await;
    eye.look("configuration-fault").await;
    eye.click("[data-act=example]").await;
    eye.browser.state(&["read"], Duration::from_secs(20)).await;
    eye.look("configuration").await;
    eye.click("#measure-it").await;
    eye.browser.state(&["running"], Duration::from_secs(10)).await;
    eye.browser.state(&["finished", "failed"], WHOLE_RUN).await;
    eye.look("configuration-proof").await;
    eye.browser.close().await;
    assert!(eye.faults.is_empty(), "{}", eye.faults.join("\n"));
}

#[tokio::test]
async fn a_broken_layout_is_seen() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let (_demo, url) = demo(free_port(), "direct");
    let browser = Browser::start().await;
    let eye = Eye { browser, url, pictures: None, faults: Vec::new() };
    eye.at("frames=4", "ready").await;
    eye.emulate(SIZES[1], "light").await;
    assert_eq!(eye.faults().await, Vec::<String>::new());
    for (broken, seen) in [
        (".verdict { margin-top: -16px }", "overlap by"),
        (".facts { height: 6px; overflow: hidden }", "is cut off by ul.facts"),
        (".figures dt { width: 10px }", "runs out of"),
        (".answer p { width: 1500px }", "the page is"),
        (".answer p { margin-left: -40px }", "leaves the window"),
    ] {
        let style = "const style = document.createElement('style');
            style.id = 'broken'; style.textContent = arguments[0]; document.head.append(style)";
        eye.browser.run(style, vec![broken.into()]).await;
        let faults = eye.faults().await;
        assert!(faults.iter().any(|fault| fault.contains(seen)), "{broken}: {faults:?}");
        let gone = "document.getElementById('broken').remove()";
        eye.browser.run(gone, Vec::<Value>::new()).await;
    }
    assert_eq!(eye.faults().await, Vec::<String>::new());
    eye.browser.close().await;
}

#[test]
fn pictures_come_whole_out_of_their_text() {
    assert_eq!(bytes_of("SG9sZHVw"), b"Holdup");
    assert_eq!(bytes_of("SG9sZHU="), b"Holdu");
    assert_eq!(bytes_of("SG9sZA=="), b"Hold");
    assert_eq!(bytes_of("/+8="), [0xff, 0xef]);
}
