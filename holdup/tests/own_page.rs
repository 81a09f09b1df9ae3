//! The page of one's own endpoint, in real browsers: a prompt typed by hand, its answer seen from
//! the wire and from the page, and the same without a hand in every engine.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::await_holding_lock, reason = "each test has a thread and a runtime of its own")]

mod common;
#[path = "gateway/web.rs"]
#[allow(dead_code, reason = "each test file uses its part")]
mod demo;
mod engines;
mod page;

use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use common::{alone, holdup, status, stderr};
use demo::Demo;
use engines::{Driven, ENGINES};
use page::{Browser, no_browser};
use serde_json::{Value, json};

/// What may be found in nothing that leaves the page.
const KEY: &str = "sk-typed-by-hand-0123456789";
const PROMPT: &str = "Which of my hops is it, please?";
/// A paced answer, long enough to tell a hold from a stall.
const QUERY: &str = "tokens=40&interval_ms=50";

struct Hands(Browser);

impl Hands {
    async fn open(demo: &Demo) -> Hands {
        let hands = Hands(Browser::start().await);
        hands.0.open(&format!("{}/own", demo.origin)).await;
        hands.0.state(&["ready"], Duration::from_secs(60)).await;
        // What is handed out as a file is looked at here instead.
        let keep = "window.kept = []; const made = URL.createObjectURL;
            URL.createObjectURL = (file) => {
                file.text().then((text) => window.kept.push(text));
                return made.call(URL, file);
            };";
        hands.0.run(keep, Vec::new()).await;
        hands
    }

    /// Types into a field, over what stands in it.
    async fn type_in(&self, field: &str, text: &str) {
        let script = "const field = document.querySelector(`#ask-${arguments[0]}`);
            field.focus(); field.select();";
        self.0.run(script, vec![json!(field)]).await;
        let typed = json!({ "text": text });
        self.0.devtools_with("Input.insertText", typed).await;
    }

    async fn choose(&self, field: &str, value: &str) {
        let script = "const field = document.querySelector(`#ask-${arguments[0]}`);
            field.value = arguments[1]; field.dispatchEvent(new Event('input', { bubbles: true }));";
        self.0.run(script, vec![json!(field), json!(value)]).await;
    }

    async fn click(&self, selector: &str) {
        self.0.run(&format!("document.querySelector('{selector}').click()"), Vec::new()).await;
    }

    async fn text(&self, selector: &str) -> String {
        let script = format!("document.querySelector('{selector}')?.innerText ?? ''");
        self.0.ask(&script).await.as_str().unwrap_or_default().into()
    }

    async fn who(&self, side: u32) -> String {
        let who = format!("document.querySelector('#side-{side}').dataset.who");
        self.0.ask(&who).await.as_str().unwrap_or_default().into()
    }

    async fn asked(&self, limit: u64) -> String {
        self.click("[data-act=ask]").await;
        self.0.state(&["running", "confirm"], Duration::from_secs(20)).await;
        let ends = ["finished", "failed", "confirm"];
        self.0.state(&ends, Duration::from_secs(limit)).await
    }

    /// A file that the page hands out.
    async fn taken(&self, key: &str) -> String {
        let before = self.0.ask("window.kept.length").await.as_u64().unwrap();
        self.click(&format!("[data-act=take][data-key={key}]")).await;
        let end = Instant::now() + Duration::from_secs(20);
        while self.0.ask("window.kept.length").await.as_u64() == Some(before) {
            assert!(Instant::now() < end, "no file came: {}", self.text(".said").await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.0.ask("window.kept.at(-1)").await.as_str().unwrap().into()
    }
}

#[tokio::test]
async fn a_typed_prompt_is_seen_from_both_sides_and_nothing_secret_leaves() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let demo = Demo::start(&["--endpoints", "haproxy"]);
    let hands = Hands::open(&demo).await;
    // The example is the contrast: HAProxy, and the same route without it.
    hands.type_in("prompts", PROMPT).await;
    hands.type_in("key", KEY).await;
    assert_eq!(hands.asked(60).await, "finished", "{}", hands.0.text().await);
    let shown = hands.0.text().await;
    let (held, live) = (hands.who(0).await, hands.who(1).await);
    if held == "unknown" || live == "unknown" || live == "page" {
        println!("SKIPPED(void: the browser was busy: {held}, {live})");
        return;
    }
    assert_eq!((held.as_str(), live.as_str()), ("path", "nobody"), "{shown}");
    // The answer as a chat shows it, on both sides.
    for side in 0..2 {
        let said = hands.text(&format!("#side-{side} .tokens p")).await;
        assert!(said.split_whitespace().count() >= 30, "{said:?}");
    }
    let rows = hands.text(".tables tbody").await;
    assert!(
        ["A wire", "A page", "B wire", "B page"].iter().all(|row| rows.contains(row)),
        "{rows}"
    );

    // The key stands in the field and nowhere else.
    let address = hands.0.ask("location.href + JSON.stringify({...localStorage})").await;
    assert!(!address.to_string().contains(KEY), "{address}");
    assert!(!hands.0.ask("document.documentElement.outerHTML").await.to_string().contains(KEY));
    let words = hands.text("#side-0 .tokens p").await;
    let word: String = words.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
    for key in ["json", "markdown"] {
        let document = hands.taken(key).await;
        assert!(!document.contains(KEY) && !document.contains(PROMPT), "{key}");
        assert!(!document.contains(&word), "{key}: {word}");
    }
    let document: Value = serde_json::from_str(&hands.taken("json").await).unwrap();
    assert_eq!(document["targets"][0]["side"], "path", "{document:#}");
    assert_eq!(document["answers"].as_array().unwrap().len(), 2);
    let wire = document["targets"][0]["events_per_read"].as_f64().unwrap();
    assert!(wire > 2.0, "{wire}");
    hands.click("#with-texts").await;
    let whole = hands.taken("json").await;
    assert!(whole.contains(PROMPT) && whole.contains(&word) && !whole.contains(KEY));
    hands.0.close().await;
    let output = demo.stop();
    assert!(!output.contains(KEY), "{output}");
}

#[tokio::test]
async fn a_typed_prompt_shows_the_hold_in_every_engine() {
    let _alone = alone();
    let demo = Demo::start(&["--endpoints", "haproxy"]);
    let mut skipped = None;
    for name in ENGINES {
        let engine = match Driven::start(name).await {
            Ok(engine) => engine,
            Err(why) => {
                skipped = Some(format!("SKIPPED({name}: {why} here)"));
                continue;
            }
        };
        engine.open(&format!("{}/own", demo.origin)).await;
        engine.state(&["ready"], Duration::from_secs(60)).await;
        engine.type_in("#ask-prompts", PROMPT).await;
        engine.type_in("#ask-key", KEY).await;
        engine.click("[data-act=ask]").await;
        engine.state(&["finished", "failed"], Duration::from_secs(90)).await;
        let page = engine.text("document.body.innerText").await;
        let sides = engine
            .text("[0, 1].map((n) => document.querySelector(`#side-${n}`).dataset.who).join()")
            .await;
        engine.close().await;
        // Behind HAProxy on the path's side; the same route without it, in the same page, live.
        let (held, live) = sides.split_once(',').unwrap();
        assert!(page.contains("A wire") && page.contains("A page"), "{name}:\n{page}");
        println!("{name}: {sides}");
        if held == "unknown" || live == "unknown" || live == "page" {
            skipped = Some(format!("SKIPPED(void: {name} was busy: {sides})"));
        }
        assert!(["path", "unknown"].contains(&held), "{name}:\n{page}");
        assert!(["nobody", "unknown", "page"].contains(&live), "{name}:\n{page}");
    }
    // Every engine there is was looked at first.
    if let Some(line) = skipped {
        println!("{line}");
    }
}

#[tokio::test]
async fn a_browser_that_asks_by_itself_says_what_stands_in_its_way() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let demo = Demo::start(&["--endpoints", "direct"]);
    let hands = Hands::open(&demo).await;
    hands.choose("way", "direct").await;
    hands.type_in("address", &format!("{}/v1/chat/completions?{QUERY}", demo.lane("direct"))).await;
    hands.type_in("other", "").await;
    assert_eq!(hands.asked(60).await, "finished", "{}", hands.0.text().await);
    let who = hands.who(0).await;
    if who == "unknown" {
        println!("SKIPPED(void: {})", hands.text("#side-0 .because").await);
        return;
    }
    assert_eq!(who, "nobody", "{}", hands.0.text().await);
    // No wire was seen, and none is claimed.
    assert!(!hands.text(".tables tbody").await.contains("wire"));

    // Nobody there, or nobody who lets other origins in: a browser does not say which.
    hands.type_in("address", "http://127.0.0.1:9/v1/chat/completions").await;
    hands.type_in("key", KEY).await;
    assert_eq!(hands.asked(60).await, "failed");
    let said = hands.text(".notice").await;
    let origin = &demo.origin;
    for line in [
        format!("Access-Control-Allow-Origin: {origin}"),
        "Access-Control-Allow-Headers: content-type, authorization".into(),
    ] {
        assert!(said.lines().any(|own| own == line), "{line} in {said}");
    }
    hands.0.close().await;
}

#[tokio::test]
async fn an_address_that_nobody_named_is_asked_about_first() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let other = Demo::start(&["--endpoints", "direct"]);
    let demo = Demo::start(&["--endpoints", "direct"]);
    let hands = Hands::open(&demo).await;
    hands.type_in("address", &format!("{}/v1/chat/completions?tokens=8", other.origin)).await;
    hands.type_in("other", "").await;
    assert_eq!(hands.asked(30).await, "confirm", "{}", hands.0.text().await);
    assert!(hands.text("dialog p").await.contains("on this machine"), "{}", hands.0.text().await);
    hands.click("[data-act=mine]").await;
    hands.0.state(&["finished"], Duration::from_secs(60)).await;
    assert!(hands.text("#side-0 .value").await.parse::<f64>().is_ok());
    // A refusal of the service, in the page's words.
    let refused =
        format!("{}/v1/chat/completions?status=429&header=Retry-After:%202", other.origin);
    hands.type_in("address", &refused).await;
    assert_eq!(hands.asked(30).await, "finished");
    assert_eq!(hands.text("#side-0 .verdict").await, "Too many requests");
    assert!(hands.text("#side-0 .because").await.contains("Retry-After: 2"));
    assert_eq!(hands.text("#side-0 .value").await, "–", "what did not come is no 0");
    hands.0.close().await;
}

const CHECK: &str = include_str!("visual/check.js");

/// Looks at the page at every size; what is wrong with its layout goes to `faults`. With
/// `HOLDUP_PICTURES` set, pictures go into that folder, in both schemes.
async fn look(hands: &Hands, view: &str, faults: &mut Vec<String>) {
    let folder = std::env::var_os("HOLDUP_PICTURES").map(std::path::PathBuf::from);
    for (width, height) in [(1920, 1080), (1366, 768), (390, 844)] {
        for scheme in ["light", "dark"] {
            let size = json!({ "width": width, "height": height,
                "deviceScaleFactor": 1, "mobile": false });
            let media =
                json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
            hands.0.devtools_with("Emulation.setDeviceMetricsOverride", size).await;
            hands.0.devtools_with("Emulation.setEmulatedMedia", media).await;
            // A few frames, on a busy machine.
            tokio::time::sleep(Duration::from_millis(300)).await;
            if scheme == "light" {
                let found = hands.0.ask(&format!("(() => {{ {CHECK} }})()")).await;
                let found: Vec<String> = serde_json::from_value(found).unwrap();
                let at = |fault| format!("{view} at {width}x{height}: {fault}");
                faults.extend(found.into_iter().map(at));
            }
            let Some(folder) = &folder else { continue };
            let taken = hands.0.devtools("Page.captureScreenshot").await;
            let png = BASE64_STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
            let name = format!("{view}-{width}x{height}-{scheme}.png");
            std::fs::write(folder.join(name), png).unwrap();
        }
    }
}

#[tokio::test]
async fn no_text_of_it_overlaps_or_is_cut_at_any_size() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let demo = Demo::start(&["--endpoints", "haproxy"]);
    let hands = Hands::open(&demo).await;
    let mut faults = Vec::new();
    look(&hands, "own-empty", &mut faults).await;
    hands.type_in("repeats", "2").await;
    assert_eq!(hands.asked(90).await, "finished", "{}", hands.0.text().await);
    look(&hands, "own", &mut faults).await;
    hands.type_in("address", "no address").await;
    hands.click("[data-act=ask]").await;
    look(&hands, "own-fault", &mut faults).await;
    hands.choose("way", "direct").await;
    hands.type_in("address", "http://127.0.0.1:9/v1/chat/completions").await;
    assert_eq!(hands.asked(30).await, "failed");
    look(&hands, "own-blocked", &mut faults).await;
    hands.0.close().await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_engine_sees_the_hold_on_the_paths_side_without_a_hand() {
    let _alone = alone();
    let demo = Demo::start(&["--endpoints", "haproxy"]);
    let target = format!("{}/v1/chat/completions?{QUERY}", demo.lane("haproxy"));
    let output = holdup(&["browse", "--target", &target, "--prompt", PROMPT, "--runs", "2"])
        .args(["--key-env", "OWN_PAGE_KEY", "--browser", "all", "--json"])
        .env("OWN_PAGE_KEY", KEY)
        .output()
        .unwrap();
    let (document, said) = (String::from_utf8_lossy(&output.stdout).into_owned(), stderr(&output));
    println!("{said}");
    for secret in [KEY, PROMPT] {
        assert!(!document.contains(secret) && !said.contains(secret), "{secret}");
    }
    let document: Value = serde_json::from_str(&document).unwrap_or_else(|_| panic!("{said}"));
    let (mut seen, mut missing) = (0, None);
    for part in document["engines"].as_array().unwrap() {
        let engine = part["engine"].as_str().unwrap();
        if let Some(why) = part["failed"].as_str() {
            assert!(why.contains(" not found: there is no "), "{engine}: {why}");
            missing = Some(format!("SKIPPED({why})"));
            continue;
        }
        let target = &part["document"]["targets"][0];
        if target["side"] == "unknown" {
            missing = Some(format!("SKIPPED(void: {engine}: {})", target["because"]));
            continue;
        }
        assert_eq!(target["side"], "path", "{engine}: {target:#}");
        assert_eq!(target["answers"], 2, "{engine}");
        assert!(target["events_per_read"].as_f64().unwrap() > 2.0, "{engine}: {target:#}");
        seen += 1;
    }
    match missing {
        Some(line) => println!("{line}"),
        None => assert_eq!((seen, status(&output)), (3, 0)),
    }
}

#[test]
fn what_the_gateway_cannot_speak_is_refused_before_a_browser_is_started() {
    let refused = |arguments: &[&str]| {
        let prompt = ["browse", "--prompt", "x", "--target"];
        let output = holdup(&prompt).args(arguments).output().unwrap();
        assert_eq!(status(&output), 2, "{}", stderr(&output));
        stderr(&output)
    };
    let plain = "http://127.0.0.1:1/v1/chat/completions";
    assert!(refused(&[plain, "--http", "3"]).contains("HTTP/3 is always encrypted"));
    assert!(refused(&[plain, "--http", "2", "--way", "direct"]).contains("the gateway speaks"));
    assert!(refused(&[plain, "--http", "4"]).contains("1.1, 2, 3"));
}
