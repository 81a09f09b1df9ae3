//! A page in this document, the emitter behind it made of a few lines of JavaScript; and
//! documents to bring to it.

#![allow(dead_code, reason = "each test file uses its part")]

use std::cell::Cell;

use gloo_timers::future::TimeoutFuture;
use js_sys::{Array, Function, Promise, Reflect};
use measure::arrivals::{Arrivals, Delivery, FrameMark, Reader};
use measure::cell::{Cell as RunCell, HeaderSet, Link, Request};
use measure::guards::Guards;
use measure::page::{Lane, Lanes, Way};
use measure::results::{Browser, CellResult, Document, Endpoint, Machine, RunRecord, SCHEMA};
use measure::verdict::{Finding, Thresholds};
use measure::{RunId, Script, Stamp, Verdict, summary};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, HtmlElement};

/// A row without figures.
pub(crate) fn row(endpoint: &str, reader: Reader, verdict: Verdict) -> CellResult {
    let in_browser = reader.in_browser();
    let cell = RunCell {
        endpoint: endpoint.into(),
        preset: "headline".into(),
        reader,
        engine: in_browser.then(|| "chromium".into()),
        request: Request {
            headers: if in_browser { HeaderSet::Browser } else { HeaderSet::Plain },
            ..Request::plain()
        },
        link: Link { mss: Some(1_448), pooled: None, nagle: false },
        concurrency: 1,
        stream: None,
        page_work_us: None,
        script: Script::headline(),
    };
    let mut summary = summary::summarise(&[], None, &Thresholds::standard());
    summary.verdict = Finding::new(verdict, format!("because of {}", verdict.name()));
    let browser = in_browser.then(|| Browser {
        name: "chromium".into(),
        version: "156".into(),
        isolated: true,
        clock_step_us: 5,
    });
    CellResult { id: cell.id(), cell, browser, summary }
}

fn endpoint(name: &str) -> Endpoint {
    match name {
        "direct" => Endpoint::direct(),
        _ => Endpoint {
            name: name.into(),
            label: "stock `mode http`".into(),
            proxy: Some(name.into()),
            version: Some("2.8.25-5cf5d0683".into()),
            ..Endpoint::direct()
        },
    }
}

/// A document with these rows.
pub(crate) fn document_of(cells: Vec<CellResult>) -> Document {
    Document {
        schema: SCHEMA.into(),
        complete: true,
        command: vec!["holdup".into(), "measure".into()],
        seed: 7,
        started_at: "2026-01-02T03:04:05Z".into(),
        machine: Machine {
            kernel: "linux 6".into(),
            cpus: 2,
            load_before: Some(0.26),
            ..Machine::default()
        },
        guards: Guards::default(),
        endpoints: vec![endpoint("direct"), endpoint("haproxy")],
        cells,
    }
}

/// What stands behind the page: two lanes with two ways each, and one that is down.
pub(crate) fn lanes() -> Lanes {
    let way = |mss| Way { mss, origin: "http://127.0.0.1:1".into(), quic: false };
    let lane =
        |name: &str| Lane { endpoint: endpoint(name), ways: vec![way(Some(1_448)), way(None)] };
    let down = Endpoint { failed: Some("port 80 is taken".into()), ..endpoint("envoy") };
    Lanes {
        instance: "i".into(),
        version: "0.1.0".into(),
        kernel: "linux 6".into(),
        cpus: 2,
        load: Some(0.5),
        mss: Some(1_448),
        lanes: vec![lane("direct"), lane("haproxy"), Lane { endpoint: down, ways: Vec::new() }],
    }
}

/// A run of which one frame came, at that time after the call.
pub(crate) fn record(cell: &str, at: i64) -> RunRecord {
    let mut arrivals = Arrivals::begin(RunId(1), Reader::Fetch, Stamp(0));
    let frame = FrameMark { seq: Some(0), event: true, text: true, terminal: false, end: None };
    arrivals.deliveries = vec![Delivery { frames: vec![frame], ..Delivery::at(Stamp(at)) }];
    let entry = serde_json::json!({ "seq": 0, "due": 0, "before": 0, "after": 0, "write": 1 });
    serde_json::from_value(serde_json::json!({
        "cell": cell, "round": 0, "position": 0, "arrivals": arrivals, "ledger": {
            "run": RunId(1), "instance": "i", "attempts": 1, "script": Script::headline(),
            "upstream_protocol": "HTTP/1.1", "started": 0, "writes": 2, "body_bytes": 60,
            "entries": [entry],
        },
    }))
    .unwrap()
}

/// The emitter: it knows its lanes and its clock, and no stream.
const EMITTER: &str = "
    window.fetch = (input) => {
        const path = new URL(input.url ?? input, location.href).pathname;
        if (path === '/lanes') return Promise.resolve(new Response(lanes));
        if (path === '/clock')
            return Promise.resolve(new Response(JSON.stringify({
                now_us: Math.round(performance.now() * 1000) })));
        return Promise.reject(new TypeError('no stream is played here'));
    };
    const style = document.createElement('style');
    style.textContent = css;
    document.head.append(style);
    history.replaceState(null, '', '?readers=fetch');
    window.kept = [];
    const made = URL.createObjectURL;
    URL.createObjectURL = (blob) => { window.kept.push(blob); return made.call(URL, blob); };
    document.addEventListener('click', (event) => {
        if (event.target.download) event.preventDefault();
    });";

const DROP: &str = "
    const transfer = new DataTransfer();
    for (const [name, text] of files) transfer.items.add(new File([text], name));
    document.body.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));";

const DRAG: &str = "
    const transfer = new DataTransfer();
    transfer.items.add(new File(['x'], 'x'));
    const event = new DragEvent(name, { dataTransfer: transfer, bubbles: true, cancelable: true });
    document.body.dispatchEvent(event);
    return event.defaultPrevented";

const CLIPBOARD: &str = "
    const clipboard = there ? { writeText: (text) => { window.copied = text; return Promise.resolve(); } } : undefined;
    Object.defineProperty(navigator, 'clipboard', { value: clipboard, configurable: true });";

fn run(arguments: &str, body: &str, with: &JsValue) -> JsValue {
    Function::new_with_args(arguments, body).call1(&JsValue::NULL, with).unwrap()
}

/// Drops files on the page.
pub(crate) fn drop_files(files: &[(&str, &str)]) {
    let files: Array = files
        .iter()
        .map(|(name, text)| Array::of2(&JsValue::from_str(name), &JsValue::from_str(text)))
        .collect();
    run("files", DROP, &files);
}

/// Drags a file over the page, or away from it; whether the page takes it.
pub(crate) fn drag(name: &str) -> bool {
    run("name", DRAG, &JsValue::from_str(name)).is_truthy()
}

thread_local! {
    static OPENED: Cell<bool> = const { Cell::new(false) };
}

/// The page, opened once for all tests of a file, which run one after the other.
pub(crate) async fn page() -> Page {
    if !OPENED.replace(true) {
        let css = JsValue::from_str(include_str!("../../style.css"));
        let lanes = JsValue::from_str(&serde_json::to_string(&lanes()).unwrap());
        Function::new_with_args("lanes, css", EMITTER).call2(&JsValue::NULL, &lanes, &css).unwrap();
        web_client::open();
    }
    Page.until("html[data-state=ready]").await;
    Page
}

/// What a person does and sees.
pub(crate) struct Page;

impl Page {
    fn document(&self) -> web_sys::Document {
        web_sys::window().unwrap().document().unwrap()
    }

    pub(crate) fn find(&self, selector: &str) -> Option<Element> {
        self.document().query_selector(selector).unwrap()
    }

    fn the(&self, selector: &str) -> HtmlElement {
        self.find(selector).unwrap_or_else(|| panic!("{selector} is not there")).unchecked_into()
    }

    pub(crate) async fn pause(&self, ms: u32) {
        TimeoutFuture::new(ms).await;
    }

    async fn until_holds(&self, what: &str, holds: impl Fn() -> bool) {
        // Far longer than anything here takes.
        for _ in 0..500 {
            if holds() {
                return;
            }
            self.pause(20).await;
        }
        panic!("{what} did not come; the page says {:?}", self.said());
    }

    pub(crate) async fn until(&self, selector: &str) {
        self.until_holds(selector, || self.find(selector).is_some()).await;
    }

    pub(crate) async fn until_gone(&self, selector: &str) {
        self.until_holds(selector, || self.find(selector).is_none()).await;
    }

    pub(crate) async fn until_said(&self, text: &str) {
        self.until_holds(text, || self.said().contains(text)).await;
    }

    pub(crate) fn said(&self) -> String {
        self.find(".take .said").and_then(|said| said.text_content()).unwrap_or_default()
    }

    pub(crate) fn text(&self, selector: &str) -> String {
        self.the(selector).text_content().unwrap()
    }

    pub(crate) fn texts(&self, selector: &str) -> Vec<String> {
        let list = self.document().query_selector_all(selector).unwrap();
        (0..list.length()).map(|at| list.get(at).unwrap().text_content().unwrap()).collect()
    }

    pub(crate) fn property(&self, selector: &str, name: &str) -> JsValue {
        Reflect::get(&self.the(selector), &JsValue::from_str(name)).unwrap()
    }

    pub(crate) fn value(&self, selector: &str) -> String {
        self.property(selector, "value").as_string().unwrap()
    }

    pub(crate) fn is_checked(&self, selector: &str) -> bool {
        self.property(selector, "checked").is_truthy()
    }

    pub(crate) fn is_disabled(&self, selector: &str) -> bool {
        self.property(selector, "disabled").is_truthy()
    }

    pub(crate) fn is_seen(&self, selector: &str) -> bool {
        self.the(selector).offset_width() > 0
    }

    pub(crate) fn style(&self, selector: &str, name: &str) -> String {
        let window = web_sys::window().unwrap();
        let style = window.get_computed_style(&self.the(selector)).unwrap().unwrap();
        style.get_property_value(name).unwrap()
    }

    pub(crate) fn click(&self, selector: &str) {
        self.the(selector).click();
    }

    /// Types into a field and leaves it.
    pub(crate) fn set(&self, selector: &str, text: &str) {
        let field = self.the(selector);
        Reflect::set(&field, &"value".into(), &text.into()).unwrap();
        let init = web_sys::EventInit::new();
        init.set_bubbles(true);
        let event = web_sys::Event::new_with_event_init_dict("change", &init).unwrap();
        field.dispatch_event(&event).unwrap();
    }

    /// The key of what has the focus.
    pub(crate) fn focused(&self) -> String {
        let focused = self.document().active_element().unwrap();
        focused.get_attribute("data-key").unwrap_or_default()
    }

    pub(crate) fn search(&self) -> String {
        web_sys::window().unwrap().location().search().unwrap()
    }

    pub(crate) fn scheme(&self, scheme: &str) {
        self.the("html").style().set_property("color-scheme", scheme).unwrap();
    }

    pub(crate) fn clipboard(&self, there: bool) {
        run("there", CLIPBOARD, &JsValue::from_bool(there));
    }

    pub(crate) fn copied(&self) -> String {
        run("_", "return window.copied", &JsValue::NULL).as_string().unwrap()
    }

    pub(crate) fn selected(&self) -> String {
        let body = "const area = document.querySelector('.take textarea');
            return area.value.slice(area.selectionStart, area.selectionEnd)";
        run("_", body, &JsValue::NULL).as_string().unwrap()
    }

    /// The picture, as it is handed to the browser to keep.
    pub(crate) async fn picture(&self) -> String {
        self.click(".take [data-key=picture]");
        let last: Promise = run("_", "return window.kept.at(-1).text()", &JsValue::NULL).into();
        JsFuture::from(last).await.unwrap().as_string().unwrap()
    }

    /// Whether a text is XML, as strictly as browsers take it.
    pub(crate) fn well_formed(&self, svg: &str) {
        let body = "return new DOMParser().parseFromString(text, 'image/svg+xml')
            .querySelector('parsererror')?.textContent ?? ''";
        assert_eq!(run("text", body, &JsValue::from_str(svg)), JsValue::from_str(""));
    }
}
