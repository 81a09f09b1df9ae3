//! The form: the configuration, and the request whose way is asked for.

use wasm_bindgen::JsCast;
use web_sys::{HtmlElement, HtmlInputElement, HtmlTextAreaElement};

use super::answer::Fault;
use super::state::Question;
use crate::view::markup::{filled, joined};
use crate::view::place::{By, find, put};

/// Bytes of a configuration at most, as at the reader.
const MOST_BYTES: usize = 8 << 20;

/// Article B's: a location written with care, and an older regular expression in an included file.
const EXAMPLE: &str = r#"# configuration file /etc/nginx/nginx.conf:
events { worker_connections 768; }
http {
    upstream chat { server 10.1.2.3:8000; keepalive 8; }
    include /etc/nginx/conf.d/*.conf;
}

# configuration file /etc/nginx/conf.d/chat.conf:
server {
    listen 443 ssl;
    server_name chat.example.com;
    ssl_certificate /etc/ssl/chat.pem;
    ssl_certificate_key /etc/ssl/chat.key;
    proxy_set_header Host $host;
    include snippets/cors.conf;

    location /api/chat {
        proxy_pass http://chat;
        proxy_buffering off;
        proxy_cache off;
        gzip off;
    }
    location / {
        proxy_pass http://chat;
    }
}
server {
    listen 80;
    server_name chat.example.com;
    return 301 https://$host$request_uri;
}

# configuration file /etc/nginx/snippets/cors.conf:
location ~ ^/api/ {
    proxy_pass http://chat;
    proxy_hide_header Access-Control-Allow-Origin;
    add_header Access-Control-Allow-Origin https://app.example.com always;
}
"#;

/// The fields that can be at fault.
pub(super) const FIELDS: [&str; 4] = ["text", "path", "host", "version"];

fn field(id: &str, name: &str, control: &str) -> String {
    filled(
        "<div class=\"field\"><label for=\"conf-¤\">¤</label>¤\
         <div class=\"fault\" id=\"why-¤\" role=\"alert\"></div></div>",
        &[id, name, control, id],
    )
}

fn input(id: &str, more: &str) -> String {
    joined(&[
        "<input type=\"text\" id=\"conf-",
        id,
        "\" autocomplete=\"off\" spellcheck=\"false\" ",
        more,
        ">",
    ])
}

/// The form's markup.
pub(super) fn markup() -> String {
    joined(&[
        "<form class=\"asks\" autocomplete=\"off\" aria-label=\"The configuration and the request\">",
        &field(
            "text",
            "Configuration: the output of <code>nginx -T</code>, a haproxy.cfg or a Caddyfile",
            "<textarea id=\"conf-text\" spellcheck=\"false\" wrap=\"off\" autocapitalize=\"off\" \
             placeholder=\"Paste it here, or drop its file anywhere on this page\"></textarea>",
        ),
        "<div class=\"files\"><label for=\"conf-file\">or a file</label>\
         <input type=\"file\" id=\"conf-file\">\
         <button type=\"button\" data-act=\"example\">An example</button></div>",
        "<div class=\"pair\">",
        &field("path", "Path of the stream", &input("path", "placeholder=\"/api/chat\"")),
        &field(
            "product",
            "Product",
            "<select id=\"conf-product\"><option value=\"\">recognised by itself</option>\
             <option value=\"nginx\">nginx</option><option value=\"haproxy\">HAProxy</option>\
             <option value=\"caddy\">Caddy</option>\
             <option value=\"traefik\">Traefik</option><option value=\"envoy\">Envoy</option></select>",
        ),
        "</div><div class=\"pair three\">",
        &field("host", "Host, if several answer", &input("host", "placeholder=\"any\"")),
        &field("port", "Port", &input("port", "inputmode=\"numeric\" placeholder=\"any\"")),
        &field("version", "Version", &input("version", "placeholder=\"not known\"")),
        "</div><p class=\"hint\">Nothing leaves this machine. Keys, passwords and tokens are masked \
         in all that is shown.</p></form>",
    ])
}

fn element(id: &str) -> Option<web_sys::Element> {
    find(&["#conf-", id].concat())
}

fn value(id: &str) -> String {
    let Some(element) = element(id) else { return String::new() };
    if let Some(input) = element.dyn_ref::<HtmlInputElement>() {
        return input.value();
    }
    if let Some(area) = element.dyn_ref::<HtmlTextAreaElement>() {
        return area.value();
    }
    let value = js_sys::Reflect::get(&element, &"value".into()).unwrap_or_default();
    value.as_string().unwrap_or_default()
}

pub(super) fn set(id: &str, value: &str) {
    if let Some(element) = element(id) {
        put(&element, By::Value, value);
    }
}

/// Puts the focus into a field, and so brings it into sight.
pub(super) fn focus(id: &str) {
    if let Some(field) = element(id) {
        // What cannot be focused is left alone.
        let _ = field.unchecked_into::<HtmlElement>().focus();
    }
}

/// Selects a line of the configuration, from 1, and so brings it into sight.
pub(super) fn select_line(line: u32) {
    let Some(area) = element("text").and_then(|own| own.dyn_into::<HtmlTextAreaElement>().ok())
    else {
        return;
    };
    let text = area.value();
    // The browser counts in units of UTF-16.
    let length = |text: &str| text.encode_utf16().count() as u32;
    let mut start = 0;
    for (index, own) in text.split('\n').enumerate() {
        if index as u32 + 1 == line {
            let end = start + length(own);
            // Without a selection the line is still told below the field.
            let _ = area.focus();
            let _ = area.set_selection_range(start, end);
            let lines = text.split('\n').count().max(1) as f64;
            let height = f64::from(area.scroll_height()) / lines;
            area.set_scroll_top(((f64::from(line) - 4.0).max(0.0) * height) as i32);
            return;
        }
        start += length(own) + 1;
    }
}

/// Why so many bytes are not read.
pub(super) fn too_large(bytes: usize) -> Option<String> {
    (bytes > MOST_BYTES).then(|| {
        filled(
            "It has ¤ MB, and ¤ MB is the most that is read: is it a configuration?",
            &[&bytes.div_ceil(1 << 20).to_string(), &(MOST_BYTES >> 20).to_string()],
        )
    })
}

/// Fills in the example.
pub(super) fn example() {
    for (id, value) in [
        ("text", EXAMPLE),
        ("path", "/api/chat"),
        ("product", ""),
        ("host", ""),
        ("port", ""),
        ("version", "1.24.0"),
    ] {
        set(id, value);
    }
}

/// What is asked.
pub(super) fn question() -> Result<Question, Fault> {
    let of =
        |about: &str, why: &str| Fault { why: why.into(), about: about.into(), ..Fault::default() };
    let text = value("text");
    if text.trim().is_empty() {
        return Err(of("text", "Paste a configuration, or drop its file on this page."));
    }
    if let Some(why) = too_large(text.len()) {
        return Err(of("text", &why));
    }
    let path = value("path").trim().to_string();
    if path.is_empty() {
        return Err(of("path", "Say which path is streamed, such as /api/chat."));
    }
    let port = value("port").trim().to_string();
    let number = port.parse::<u16>().ok();
    if !port.is_empty() && number.is_none() {
        return Err(of("host", "A port is a number up to 65535."));
    }
    Ok(Question {
        product: value("product"),
        text,
        path,
        host: value("host").trim().into(),
        port: number.map(u32::from),
        version: value("version").trim().into(),
    })
}
