//! The page of one's own configuration in real browsers: article B's is pasted, its wrong turn is
//! named, and what is written instead is measured beside it.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(clippy::await_holding_lock, reason = "each test has a thread and a runtime of its own")]

mod common;
#[path = "gateway/web.rs"]
#[allow(dead_code, reason = "each test file uses its part")]
mod demo;
#[allow(dead_code, reason = "each test file uses its part")]
mod engines;
mod page;

use std::time::Duration;

use common::alone;
use demo::Demo;
use engines::{Driven, ENGINES};
use page::{Browser, no_browser};
use serde_json::{Value, json};

const SHADOWED: &str = include_str!("configurations/shadowed.conf");

struct Hands(Browser);

impl Hands {
    async fn open(demo: &Demo) -> Hands {
        let hands = Hands(Browser::start().await);
        hands.0.open(&format!("{}/configuration", demo.origin)).await;
        hands.0.state(&["ready"], Duration::from_secs(60)).await;
        hands
    }

    /// Types into a field, over what stands in it.
    async fn type_in(&self, field: &str, text: &str) {
        let script = "const field = document.querySelector(`#conf-${arguments[0]}`);
            field.focus(); field.select();";
        self.0.run(script, vec![json!(field)]).await;
        self.0.devtools_with("Input.insertText", json!({ "text": text })).await;
    }

    /// A key, where the focus is.
    async fn key(&self, key: &str, control: bool) {
        for kind in ["rawKeyDown", "keyUp"] {
            let code = match key {
                "Enter" => 13,
                "Escape" => 27,
                _ => 9,
            };
            let told = json!({ "type": kind, "key": key, "code": key,
                "windowsVirtualKeyCode": code, "modifiers": if control { 2 } else { 0 } });
            self.0.devtools_with("Input.dispatchKeyEvent", told).await;
            if kind == "rawKeyDown" && key == "Enter" {
                let typed = json!({ "type": "char", "text": "\r" });
                self.0.devtools_with("Input.dispatchKeyEvent", typed).await;
            }
        }
    }

    async fn text(&self, selector: &str) -> String {
        let script = format!("document.querySelector('{selector}')?.innerText ?? ''");
        self.0.ask(&script).await.as_str().unwrap_or_default().into()
    }

    /// Reads a configuration by keys alone; the state it comes to.
    async fn read(&self, text: &str, path: &str) -> String {
        self.type_in("text", text).await;
        self.type_in("path", path).await;
        self.key("Enter", true).await;
        self.0.state(&["read", "failed"], Duration::from_secs(30)).await
    }
}

#[tokio::test]
async fn the_wrong_turn_is_named_and_the_cure_is_measured_by_keys_alone() {
    let _alone = alone();
    if no_browser() {
        return;
    }
    let demo = Demo::start(&["--endpoints", "direct"]);
    let hands = Hands::open(&demo).await;
    hands.type_in("version", "1.24.0").await;
    assert_eq!(hands.read(SHADOWED, "/api/chat").await, "read", "{}", hands.0.text().await);
    let meant = hands.text(".steps .meant").await;
    assert!(meant.contains("location /api/chat") && meant.contains("the wrong turn"), "{meant}");
    let chosen = hands.text(".steps .chosen").await;
    assert!(chosen.contains("location ~ ^/api/") && chosen.contains("cors.conf:1"), "{chosen}");
    let block = hands.text(".block-text").await;
    for line in [
        "location ^~ /api/chat {",
        "add_header Access-Control-Allow-Origin https://app.example.com always;",
        "proxy_http_version 1.1;",
    ] {
        assert!(block.contains(line), "{line} in {block}");
    }
    // Secrets stand in the field and nowhere else.
    let shown = "document.querySelector('main').outerHTML";
    assert!(!hands.0.ask(shown).await.to_string().contains("S3CRET"));
    hands.0.run("document.querySelector('#measure-it').focus()", Vec::new()).await;
    hands.key("Enter", false).await;
    hands.0.state(&["running"], Duration::from_secs(10)).await;
    hands.0.state(&["finished", "failed"], Duration::from_secs(120)).await;
    let who = "[...document.querySelectorAll('.proof .lane')].map((own) =>
        [own.dataset.name, own.dataset.who, own.querySelector('.value').textContent])";
    let lanes = hands.0.ask(who).await;
    println!("{lanes}");
    if lanes.to_string().contains("unknown") {
        println!("SKIPPED(void: {})", hands.text(".proof").await.replace('\n', " "));
        return;
    }
    assert_eq!((lanes[0][0].as_str(), lanes[0][1].as_str()), (Some("yours"), Some("path")));
    assert_eq!((lanes[1][0].as_str(), lanes[1][1].as_str()), (Some("corrected"), Some("nobody")));
    let ttft = |lane: &Value| lane[2].as_str().unwrap().parse::<f64>().unwrap();
    assert!(ttft(&lanes[0]) > 5.0 * ttft(&lanes[1]), "{lanes}");
    let proof = hands.text(".proof h2").await;
    assert_eq!(proof, "Held as it is, live as corrected.");
    assert!(!hands.0.ask(shown).await.to_string().contains("S3CRET"));

    // What is no configuration is said where it belongs, and nothing of it is markup.
    let script = "server { location /<script>window.hit=1</script> { proxy_pass http://a; } }";
    assert_eq!(hands.read(script, "/<script>window.hit=1</script>/x").await, "read");
    assert!(hands.text(".steps .chosen").await.contains("<script>"));
    assert_eq!(hands.0.ask("window.hit ?? 0").await, 0);
    for (text, said) in [
        ("\u{1}\u{2}<script>window.hit=1</script>", "is expected here"),
        ("server {\n  listen 80\n}\n", "line 3, column 1"),
    ] {
        assert_eq!(hands.read(text, "/x").await, "failed");
        let fault = hands.text("#why-text").await;
        assert!(fault.contains(said), "{said}: {fault}");
    }
    // Files, dropped: a small one, one without end, one that is no text.
    for (file, field, said) in [
        ("'server {}'", "#conf-text", "server {}"),
        (
            "new Uint8Array(10_000_000)",
            "#why-text",
            "It has 10 MB, and 8 MB is the most that is read: is it a configuration?",
        ),
        ("new Uint8Array(1_000)", "#why-text", "given.conf holds zero bytes"),
    ] {
        let drop = format!(
            "const transfer = new DataTransfer();
             transfer.items.add(new File([{file}], 'given.conf'));
             document.body.dispatchEvent(new DragEvent('drop',
                 {{ dataTransfer: transfer, bubbles: true, cancelable: true }}));"
        );
        hands.0.run(&drop, Vec::new()).await;
        let shown = format!(
            "(document.querySelector('{field}').value ?? document.querySelector('{field}').innerText)"
        );
        let end = std::time::Instant::now() + Duration::from_secs(20);
        while !hands.0.ask(&shown).await.to_string().contains(said) {
            assert!(std::time::Instant::now() < end, "{said}: {}", hands.0.text().await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    assert_eq!(hands.0.ask("window.hit ?? 0").await, 0);
    hands.0.close().await;
}

#[tokio::test]
async fn every_engine_reads_and_stops_a_proof() {
    let _alone = alone();
    let demo = Demo::start(&["--endpoints", "direct"]);
    let mut skipped = None;
    for name in ENGINES {
        let engine = match Driven::start(name).await {
            Ok(engine) => engine,
            Err(why) => {
                skipped = Some(format!("SKIPPED({name}: {why} here)"));
                continue;
            }
        };
        engine.open(&format!("{}/configuration", demo.origin)).await;
        engine.state(&["ready"], Duration::from_secs(60)).await;
        engine.click("[data-act=example]").await;
        engine.state(&["read"], Duration::from_secs(30)).await;
        let meant = engine.text("document.querySelector('.steps .meant').innerText").await;
        assert!(meant.contains("location /api/chat"), "{name}: {meant}");
        engine.click("#measure-it").await;
        let progress = "document.querySelector('.progress').innerText";
        let end = std::time::Instant::now() + Duration::from_secs(60);
        while !engine.text(progress).await.contains("run 2 of 12") {
            assert!(std::time::Instant::now() < end, "{name}: {}", engine.text(progress).await);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        engine.click("[data-act=stop]").await;
        engine.state(&["read"], Duration::from_secs(10)).await;
        assert!(engine.text(progress).await.starts_with("Stopped"), "{name}");
        engine.close().await;
        println!("{name}: read, and stopped");
        // The run under way is finished before the next proof is let in.
        tokio::time::sleep(Duration::from_millis(1_500)).await;
    }
    // Every engine there is was looked at first.
    if let Some(line) = skipped {
        println!("{line}");
    }
}
