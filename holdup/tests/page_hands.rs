//! The page under a keyboard, and a story from its click to its telling. In Chromium, with real key
//! presses.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::await_holding_lock, reason = "each test has a thread and a runtime of its own")]

mod common;
mod page;

use std::time::{Duration, Instant};

use common::alone;
use page::{Browser, demo, free_port, no_browser};
use serde_json::json;

/// What the address of a page asks for whose runs are short.
const SHORT: &str = "frames=6&interval_ms=20&frame_bytes=60";

struct Hands(Browser);

impl Hands {
    /// A real key press, which whatever has the focus hears first.
    async fn press(&self, key: &str, text: &str) {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "ArrowDown" => 40,
            "ArrowRight" => 39,
            _ => 0,
        };
        for kind in ["keyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "text": text,
                "windowsVirtualKeyCode": code });
            self.0.devtools_with("Input.dispatchKeyEvent", event).await;
        }
    }

    async fn text(&self, selector: &str) -> String {
        let script = format!("document.querySelector('{selector}')?.innerText ?? ''");
        self.0.ask(&script).await.as_str().unwrap_or_default().into()
    }

    /// Waits until a condition of the page holds.
    async fn until(&self, condition: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        while self.0.ask(condition).await != json!(true) {
            assert!(Instant::now() < end, "waited for {condition}:\n{}", self.0.text().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The lanes that can be seen, from the top.
    async fn lanes(&self) -> Vec<String> {
        let names =
            "[...document.querySelectorAll('.lane')].filter((lane) => lane.checkVisibility())
            .map((lane) => lane.querySelector('.open').innerText)";
        serde_json::from_value(self.0.ask(names).await).unwrap()
    }

    /// The text of a part of a lane.
    async fn of_lane(&self, lane: &str, part: &str) -> String {
        let script = format!(
            "[...document.querySelectorAll('.lane')].find((lane) =>
                lane.querySelector('.open').innerText === '{lane}')?.querySelector('{part}')
                ?.innerText ?? ''"
        );
        self.0.ask(&script).await.as_str().unwrap_or_default().into()
    }

    /// Whether the machine was too noisy for a lane: says so.
    async fn is_void(&self, lane: &str) -> bool {
        let verdict = self.of_lane(lane, ".verdict").await;
        let void =
            ["Void", "Live, but the page", "Cannot tell"].iter().any(|it| verdict.starts_with(it));
        if void {
            println!("SKIPPED(void: {lane}: {})", self.of_lane(lane, ".because").await);
        }
        void
    }

    async fn focus(&self, selector: &str) {
        self.0.run(&format!("document.querySelector('{selector}').focus()"), Vec::new()).await;
    }
}

#[tokio::test]
async fn everything_can_be_reached_by_keys_and_the_focus_comes_back() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let (_demo, url) = demo(free_port(), "haproxy");
    let hands = Hands(Browser::start().await);
    hands.0.open(&format!("{url}/?{SHORT}")).await;
    hands.0.state(&["ready"], Duration::from_secs(60)).await;

    hands.press("r", "r").await;
    hands.0.state(&["running"], Duration::from_secs(10)).await;
    hands.0.state(&["finished"], Duration::from_secs(60)).await;
    assert!(hands.text(".answer p").await.starts_with("In Chromium, by fetch in a worker: "));

    // From lane to lane, and into its evidence.
    hands.focus(".lane .open").await;
    hands.press("ArrowDown", "").await;
    let second = "document.activeElement === document.querySelectorAll('.lane .open')[1]";
    hands.until(second).await;
    assert_eq!(hands.text(".lane[data-open=yes]").await, "");
    hands.press("Enter", "\r").await;
    hands.until("document.activeElement.getAttribute('aria-expanded') === 'true'").await;
    let evidence = hands.text(".lane[data-open=yes] .detail").await;
    for part in ["Why", "Who had the tokens how long", "By reader", "The configuration that ran"] {
        assert!(evidence.contains(part), "{part} in {evidence}");
    }
    hands.focus(".lane[data-open=yes] pre").await;
    hands.press("Escape", "").await;
    hands.until(&format!("{second} && !document.querySelector('.lane[data-open=yes]')")).await;

    hands.press("?", "?").await;
    hands.until("!!document.querySelector('.help .keys')").await;
    hands.press("Escape", "").await;
    hands.until("!document.querySelector('.help .keys')").await;

    hands.press("p", "p").await;
    hands.until("document.documentElement.dataset.view === 'presenter'").await;
    assert_eq!(hands.text(".presenter h2").await, "Who is holding up your tokens?");
    let seen = "[...document.querySelectorAll('.lane')].filter((lane) => lane.checkVisibility())
        .map((lane) => lane.querySelector('.open').innerText).join()";
    assert_eq!(hands.0.ask(seen).await, json!("direct,haproxy"));
    hands.press("ArrowRight", "").await;
    hands
        .until("!document.querySelector('.presenter .text').innerText.startsWith('In Chromium')")
        .await;
    hands.press("Escape", "").await;
    hands.until("document.documentElement.dataset.view === 'page'").await;
    hands.0.close().await;
}

#[tokio::test]
async fn a_story_is_one_click_and_says_what_its_run_showed() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let (_demo, url) = demo(free_port(), "haproxy,haproxy-no-delay");
    let hands = Hands(Browser::start().await);
    hands.0.open(&url).await;
    hands.0.state(&["ready"], Duration::from_secs(60)).await;

    // One that needs lanes which are not there says so, and starts nothing.
    hands.0.run("document.querySelector('[data-key=gzip]').click()", Vec::new()).await;
    hands.until("document.querySelector('.told .mark')?.innerText === 'Not here'").await;
    let why = hands.text(".told .text").await;
    assert!(why.starts_with("This Holdup was started without nginx-gzip"), "{why}");
    assert_eq!(hands.0.ask("document.documentElement.dataset.state").await, json!("ready"));

    hands.0.run("document.querySelector('[data-key=cork]').click()", Vec::new()).await;
    hands.0.state(&["running"], Duration::from_secs(10)).await;
    assert!(hands.text(".told .text").await.starts_with("A stock HAProxy keeps"));
    hands.0.state(&["finished"], Duration::from_secs(120)).await;
    let search = hands.0.ask("location.search").await;
    assert!(search.as_str().unwrap().contains("story=cork"), "{search}");
    let (mark, told) = (hands.text(".told .mark").await, hands.text(".told .text").await);
    match mark.as_str() {
        "Shown" => assert!(told.contains("With option http-no-delay the first came"), "{told}"),
        "Not shown" => assert!(told.starts_with("This run does not show it"), "{told}"),
        other => println!("SKIPPED(void: {other}: {told})"),
    }

    // Figures and tokens are quiet; what speaks up is the answer, and what went wrong.
    let loud = "[...document.querySelectorAll('[aria-live], [role=status], [role=alert]')]
        .filter((loud) => loud.closest('.lane, .stories')).length";
    assert_eq!(hands.0.ask(loud).await, json!(0));
    hands.0.close().await;
}

#[tokio::test]
async fn the_cure_of_a_held_lane_runs_beside_it() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let (_demo, url) = demo(free_port(), "haproxy,haproxy-no-delay");
    let hands = Hands(Browser::start().await);
    // The lane that holds, without its cure: 21 events 50 ms apart are several of its bursts.
    let held = "endpoints=haproxy&runs=1&frames=21&interval_ms=50&frame_bytes=60&go=1";
    hands.0.open(&format!("{url}/?{held}")).await;
    hands.0.state(&["finished"], Duration::from_secs(60)).await;
    assert_eq!(hands.lanes().await, ["direct", "haproxy"]);

    hands.0.run("[...document.querySelectorAll('.lane .open')][1].click()", Vec::new()).await;
    hands.until("!!document.querySelector('.lane[data-open=yes] .cure')?.innerText").await;
    if hands.is_void("haproxy").await {
        return hands.0.close().await;
    }
    let cure = hands.text(".lane[data-open=yes] .cure").await;
    assert!(cure.contains("option http-no-delay"), "{cure}");
    assert_eq!(
        hands.0.ask("document.querySelector('[data-act=cure]').dataset.key").await,
        json!("haproxy haproxy-no-delay"),
        "{cure}"
    );
    hands.0.run("document.querySelector('[data-act=cure]').click()", Vec::new()).await;
    hands.0.state(&["running"], Duration::from_secs(10)).await;
    hands.0.state(&["finished"], Duration::from_secs(60)).await;
    assert_eq!(hands.lanes().await, ["direct", "haproxy", "haproxy-no-delay"]);
    for lane in ["haproxy", "haproxy-no-delay"] {
        if hands.is_void(lane).await {
            return hands.0.close().await;
        }
    }
    // Both of the same stream, under one ruler: what held it still does, what cures it does not.
    let held = hands.of_lane("haproxy", ".verdict").await;
    assert!(["Held", "Corked"].iter().any(|word| held.contains(word)), "{held}");
    let cured = hands.of_lane("haproxy-no-delay", ".verdict").await;
    let because = hands.of_lane("haproxy-no-delay", ".because").await;
    assert!(cured.starts_with("Live: "), "{cured}: {because}");
    let mut ttft = Vec::new();
    for lane in ["haproxy", "haproxy-no-delay"] {
        let shown = hands.of_lane(lane, ".ttft .value").await;
        ttft.push(shown.parse::<f64>().unwrap_or_else(|_| panic!("{lane} measured {shown:?}")));
    }
    assert!(ttft[1] * 2.0 < ttft[0], "{ttft:?}");
    hands.0.close().await;
}

#[tokio::test]
async fn an_address_can_carry_a_story_and_bad_ones_are_named() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let (_demo, url) = demo(free_port(), "haproxy");
    let hands = Hands(Browser::start().await);
    hands.0.open(&format!("{url}/?story=header&{SHORT}&go=1")).await;
    hands.0.state(&["finished"], Duration::from_secs(60)).await;
    assert_eq!(
        hands.text(".told button").await,
        "The header that does nothing here",
        "the story of the address is the one that is told"
    );
    hands.0.open(&format!("{url}/?story=nope")).await;
    hands.0.state(&["failed"], Duration::from_secs(30)).await;
    let said = hands.text(".state").await;
    assert!(said.contains("no story is called \"nope\": there are cork, "), "{said}");
    hands.0.close().await;
}
