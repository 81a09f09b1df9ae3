//! The settings as a person uses them: every field, its fault beside it, and the address.

// Clippy takes these for plain functions, not for tests.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Page, page};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// What the address has when nothing was changed.
const STANDARD: &str = "?preset=headline&readers=fetch&runs=1&seed=1";

/// The page with its settings open, each time as it was at first.
async fn opened() -> Page {
    let page = page().await;
    if page.find("#settings").is_none() {
        page.click("[data-act=settings]");
        page.until("#settings").await;
    }
    page
}

/// Sets what comes as pairs of a field and its text, and leaves nothing behind for other tests.
async fn back(page: &Page) {
    page.set("#set-preset", "gzip");
    page.pause(0).await;
    page.set("#set-preset", "headline");
    for (field, text) in [("runs", "1"), ("seed", "1"), ("mss", ""), ("at_once", "")] {
        page.set(&format!("#set-{field}"), text);
    }
    page.pause(20).await;
    assert_eq!(page.search(), STANDARD);
}

async fn address(page: &Page) -> String {
    page.pause(20).await;
    page.search()
}

#[wasm_bindgen_test]
async fn the_address_always_carries_the_settings() {
    let page = opened().await;
    assert_eq!(address(&page).await, STANDARD);
    for (field, text, parameter) in [
        ("runs", "3", "runs=3"),
        ("seed", "18446744073709551615", "seed=18446744073709551615"),
        ("interval_ms", "12.5", "interval_ms=12.5"),
        ("frame_bytes", "1100", "frame_bytes=1100"),
        ("frames", " 12 ", "frames=12"),
        ("framing", "close", "framing=close"),
        ("header", "X-Odd: a & b", "header=X-Odd%3A%20a%20%26%20b"),
        ("mss", "loopback", "mss=loopback"),
        ("busy_ms", "250", "busy_ms=250"),
        ("at_once", "1", "at_once=1"),
    ] {
        page.set(&format!("#set-{field}"), text);
        let now = address(&page).await;
        assert!(now.contains(parameter), "{parameter} is not in {now}");
        assert_eq!(page.value(&format!("#set-{field}")), text.trim());
        assert!(page.texts(".why").iter().all(String::is_empty), "{:?}", page.texts(".why"));
    }
    for (flag, parameter) in [("nagle", "nagle=on"), ("accel", "X-Accel-Buffering%3A%20no")] {
        page.click(&format!("#set-{flag}-"));
        let now = address(&page).await;
        assert!(now.contains(parameter) && now.contains("X-Odd"), "{parameter} is not in {now}");
        page.click(&format!("#set-{flag}-"));
        assert!(!address(&page).await.contains(parameter));
    }
    page.set("#set-header", "");
    assert!(!address(&page).await.contains("header"));
    // All that was changed of the stream goes together.
    page.click("[data-act=own-stream]");
    let now = address(&page).await;
    assert!(!now.contains("frames") && !now.contains("framing") && now.contains("runs=3"), "{now}");
    assert_eq!(page.value("#set-frames"), "41");
    back(&page).await;
}

#[wasm_bindgen_test]
async fn what_cannot_be_set_is_told_beside_its_field_and_changes_nothing() {
    let page = opened().await;
    for (field, text, said) in [
        ("frames", "0", "It must be from 1 to 99999."),
        ("frames", "x", "It must be a whole number."),
        ("frames", "", "It must be a whole number."),
        ("interval_ms", "-1", "It must be from 0.0 ms to 60000 ms."),
        (
            "interval_ms",
            "60000",
            "The stream's duration is 2400000 ms: it must be from 0.0 ms to 600000 ms.",
        ),
        ("frame_bytes", "59", "It must be from 60 to 1048576."),
        ("header", "no colon", "It must be written Name: value."),
        ("runs", "0", "It must be a number from 1 to 1000."),
        ("runs", "1e9", "It must be a number from 1 to 1000."),
        ("seed", "-1", "It must be a number from 0 to 18446744073709551615."),
        ("busy_ms", "2001", "It must be a number from 0 to 2000."),
    ] {
        let selector = format!("#set-{field}");
        page.set(&selector, text);
        assert_eq!(page.text(&format!("#why-{field}")), said, "{field} {text:?}");
        assert_eq!(page.find(&selector).unwrap().get_attribute("aria-invalid").unwrap(), "true");
        // What was typed stays to be corrected, and others may be set meanwhile.
        page.set("#set-at_once", "1");
        page.set("#set-at_once", "");
        assert_eq!(address(&page).await, STANDARD);
        assert_eq!(page.value(&selector), text);
        page.click("[data-act=settings]");
        page.until_gone("#settings").await;
        page.click("[data-act=settings]");
        page.until("#settings").await;
        assert!(page.texts(".why").iter().all(String::is_empty));
    }
    page.set("#set-header", "Transfer-Encoding: chunked");
    let said = page.text("#why-header");
    assert!(said.starts_with("Header \"Transfer-Encoding\" may not be set: "), "{said}");
    page.set("#set-header", "");
    assert_eq!(page.text("#why-header"), "");
    back(&page).await;
}

#[wasm_bindgen_test]
async fn readers_and_lanes_are_chosen_by_boxes() {
    let page = opened().await;
    assert!(page.is_checked("#set-readers-fetch") && !page.is_checked("#set-readers-recv"));
    page.click("#set-readers-recv");
    page.click("#set-readers-eventsource");
    assert!(address(&page).await.contains("readers=eventsource%2Cfetch%2Crecv"));
    page.click("#set-readers-eventsource");
    page.click("#set-readers-fetch");
    // The last of the browser's own stays, and says why.
    assert!(page.is_checked("#set-readers-fetch"));
    assert!(
        page.texts(".why").contains(&"One of the browser’s own readers must read.".to_string())
    );
    page.click("#set-readers-recv");
    assert_eq!(address(&page).await, STANDARD);
    // The control is in every plan; one that is down takes part and says so.
    assert!(page.is_checked("#set-endpoints-direct") && page.is_disabled("#set-endpoints-direct"));
    assert!(page.is_checked("#set-endpoints-haproxy") && page.is_checked("#set-endpoints-envoy"));
    page.until(".lanes .lane:nth-of-type(3)").await;
    assert!(page.texts(".lanes .because").contains(&"Port 80 is taken.".to_string()));
    page.click("#set-endpoints-envoy");
    assert!(address(&page).await.contains("endpoints=haproxy"));
    page.click("#set-endpoints-haproxy");
    assert!(address(&page).await.contains("endpoints=direct"));
    assert_eq!(page.texts(".lanes .lane h2").len(), 1);
    page.click("#set-endpoints-envoy");
    assert!(address(&page).await.contains("endpoints=envoy"));
    page.click("#set-endpoints-haproxy");
    assert_eq!(address(&page).await, STANDARD);
}

#[wasm_bindgen_test]
async fn a_preset_comes_with_its_own() {
    let page = opened().await;
    page.set("#set-frames", "12");
    page.set("#set-busy_ms", "5");
    page.set("#set-runs", "2");
    page.set("#set-preset", "frame-size");
    let now = address(&page).await;
    assert_eq!(now, "?preset=frame-size&readers=fetch&runs=2&seed=1");
    // Two streams have no one size; the first thing set makes one of them.
    assert_eq!(
        (page.value("#set-frame_bytes").as_str(), page.value("#set-frames").as_str()),
        ("", "")
    );
    let field = page.find("#set-frame_bytes").unwrap();
    assert_eq!(field.get_attribute("placeholder").unwrap(), "several");
    page.set("#set-frame_bytes", "200");
    assert!(address(&page).await.contains("frames=41&interval_ms=50&frame_bytes=200"));
    back(&page).await;
}

#[wasm_bindgen_test]
async fn only_segment_sizes_that_the_lanes_have_are_offered() {
    let page = opened().await;
    assert_eq!(
        page.texts("#set-mss option"),
        ["the lanes’ own: 1448 B, Ethernet’s", "1448 B, Ethernet’s", "loopback’s, about 65 KB"]
    );
    page.set("#set-mss", "1448");
    assert!(address(&page).await.contains("mss=1448"));
    back(&page).await;
}
