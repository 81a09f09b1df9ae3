//! Requests: plain ones, and byte for byte what Chromium sends.

use std::fmt;

use measure::cell::HeaderSet;
use wire::http1::Head;

use crate::ask::Ask;

pub use measure::plan::BROWSER_ENCODINGS;

/// The version that the Chromium header sets were taken from, on Linux, with `Headless` left
/// out of the product's name.
pub const CHROMIUM_VERSION: u32 = 156;

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The `Host` header.
    pub host: String,
    /// Path and query.
    pub path: String,
    /// The page's origin, for a browser's header sets.
    pub origin: String,
}

/// What a request is besides its target and its header set.
#[derive(Clone, PartialEq, Eq)]
pub struct Form {
    /// The method.
    pub method: String,
    /// Minor version of HTTP/1 that it names: 1, or 0 for an answer without chunks. HTTP/2 has
    /// none.
    pub minor: u8,
    /// More header fields; each takes the place of one of its name. They must be free of line
    /// ends.
    pub fields: Vec<(String, String)>,
    /// The body; its length is said when there is one.
    pub body: Vec<u8>,
}

impl Default for Form {
    fn default() -> Form {
        Form { method: "GET".into(), minor: 1, fields: Vec::new(), body: Vec::new() }
    }
}

impl fmt::Debug for Form {
    /// Without values: they may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.fields.iter().map(|(name, _)| name).collect();
        f.debug_struct("Form")
            .field("method", &self.method)
            .field("minor", &self.minor)
            .field("fields", &names)
            .field("body_bytes", &self.body.len())
            .finish()
    }
}

/// The request's bytes in HTTP/1. `accept_encoding` replaces the header set's own; an empty one
/// leaves the header out.
pub fn render(
    target: &Target,
    headers: HeaderSet,
    accept_encoding: Option<&str>,
    form: &Form,
) -> Vec<u8> {
    let mut request = format!("{} {} HTTP/1.{}\r\n", form.method, target.path, form.minor);
    for (name, value) in fields(target, headers, accept_encoding, form) {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    [request.as_bytes(), &form.body].concat()
}

/// The same request for HTTP/2: without the fields that belong to one HTTP/1 connection
/// (RFC 9113, 8.2.2), names in lower case. The order of the pseudo-header fields is the library's.
pub(crate) fn http2(ask: &Ask) -> Result<http::Request<()>, http::Error> {
    multiplexed(ask, http::Version::HTTP_2)
}

/// The same for HTTP/3, whose rules are HTTP/2's (RFC 9114, 4.2).
pub(crate) fn http3(ask: &Ask) -> Result<http::Request<()>, http::Error> {
    multiplexed(ask, http::Version::HTTP_3)
}

fn multiplexed(ask: &Ask, version: http::Version) -> Result<http::Request<()>, http::Error> {
    let Ask { target, form, .. } = ask;
    let scheme = if ask.secure.is_some() { "https" } else { "http" };
    let mut request = http::Request::builder()
        .method(form.method.as_str())
        .uri(format!("{scheme}://{}{}", target.host, target.path))
        .version(version);
    let encoding = ask.accept_encoding.as_deref();
    for (name, value) in fields(target, ask.headers, encoding, form) {
        let name = name.to_ascii_lowercase();
        if !OF_ONE_CONNECTION.contains(&name.as_str()) {
            request = request.header(name, value);
        }
    }
    request.body(())
}

/// An answer's head as HTTP/2 and HTTP/3 have it, without a minor version.
pub(crate) fn head(status: http::StatusCode, fields: &http::HeaderMap, bytes: usize) -> Head {
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Head {
        status: status.as_u16(),
        minor: 0,
        headers: fields
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), text(value)))
            .collect(),
        bytes,
    }
}

/// Fields that HTTP/2 and HTTP/3 forbid, and `host`, which `:authority` stands for.
const OF_ONE_CONNECTION: [&str; 7] =
    ["connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"];

fn fields(
    target: &Target,
    headers: HeaderSet,
    accept_encoding: Option<&str>,
    form: &Form,
) -> Vec<(String, String)> {
    let Target { host, origin, .. } = target;
    let agent = format!(
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{CHROMIUM_VERSION}.0.0.0 Safari/537.36"
    );
    let brands = format!("\"Not:A-Brand\";v=\"8\", \"Chromium\";v=\"{CHROMIUM_VERSION}\"");
    let product = concat!("holdup/", env!("CARGO_PKG_VERSION"));
    let referer = format!("{origin}/");
    let own_encoding = match headers {
        HeaderSet::Plain => "",
        _ => BROWSER_ENCODINGS,
    };
    let encoding = accept_encoding.unwrap_or(own_encoding);
    let fields: Vec<(&str, &str)> = match headers {
        HeaderSet::Plain | HeaderSet::Browser => vec![
            ("Host", host),
            ("User-Agent", product),
            ("Accept", "*/*"),
            ("Accept-Encoding", encoding),
        ],
        HeaderSet::ChromiumFetch => vec![
            ("Host", host),
            ("Connection", "keep-alive"),
            ("Pragma", "no-cache"),
            ("Cache-Control", "no-cache"),
            ("sec-ch-ua-platform", "\"Linux\""),
            ("User-Agent", &agent),
            ("sec-ch-ua", &brands),
            ("sec-ch-ua-mobile", "?0"),
            ("Accept", "*/*"),
            ("Origin", origin),
            ("Sec-Fetch-Site", "same-site"),
            ("Sec-Fetch-Mode", "cors"),
            ("Sec-Fetch-Dest", "empty"),
            ("Referer", &referer),
            ("Accept-Encoding", encoding),
            ("Accept-Language", "en-US,en;q=0.9"),
        ],
        HeaderSet::ChromiumEventsource => vec![
            ("Host", host),
            ("Connection", "keep-alive"),
            ("Pragma", "no-cache"),
            ("Cache-Control", "no-cache"),
            ("sec-ch-ua-platform", "\"Linux\""),
            ("User-Agent", &agent),
            ("Accept", "text/event-stream"),
            ("sec-ch-ua", &brands),
            ("sec-ch-ua-mobile", "?0"),
            ("Origin", origin),
            ("Sec-Fetch-Site", "same-site"),
            ("Sec-Fetch-Mode", "cors"),
            ("Sec-Fetch-Dest", "empty"),
            ("Referer", &referer),
            ("Accept-Encoding", encoding),
            ("Accept-Language", "en-US,en;q=0.9"),
        ],
    };
    let length = form.body.len().to_string();
    let own = fields.into_iter().filter(|(name, value)| {
        let replaced = form.fields.iter().any(|(field, _)| field.eq_ignore_ascii_case(name));
        // HTTP/1.0 has its own meaning of it: a length, and no close at the end.
        let kept = form.minor == 0 && *name == "Connection";
        !value.is_empty() && !replaced && !kept
    });
    let more = form.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let body = (!form.body.is_empty()).then_some(("Content-Length", length.as_str()));
    own.chain(more).chain(body).map(|(name, value)| (name.into(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(headers: HeaderSet, encoding: Option<&str>) -> String {
        let target = Target {
            host: "127.0.0.1:4000".into(),
            path: "/stream?run=1".into(),
            origin: "http://127.0.0.1:4001".into(),
        };
        String::from_utf8(render(&target, headers, encoding, &Form::default())).unwrap()
    }

    #[test]
    fn a_form_changes_the_line_and_replaces_fields() {
        let target = Target { host: "h".into(), path: "/v1".into(), origin: "http://h".into() };
        let form = Form {
            method: "POST".into(),
            minor: 0,
            fields: vec![
                ("accept".into(), "text/event-stream".into()),
                ("Authorization".into(), "Bearer secret".into()),
            ],
            body: b"{}".to_vec(),
        };
        let request = render(&target, HeaderSet::ChromiumFetch, Some(""), &form);
        let request = String::from_utf8(request).unwrap();
        assert!(request.starts_with("POST /v1 HTTP/1.0\r\nHost: h\r\nPragma"), "{request}");
        assert!(request.ends_with("Content-Length: 2\r\n\r\n{}"), "{request}");
        assert!(!request.contains("Accept: */*") && !request.contains("Connection"), "{request}");
        assert!(request.contains("\r\naccept: text/event-stream\r\n"), "{request}");
        assert!(!format!("{form:?}").contains("secret"), "{form:?}");
    }

    #[test]
    fn a_plain_client_offers_no_encoding() {
        let request = text(HeaderSet::Plain, None);
        assert!(request.starts_with("GET /stream?run=1 HTTP/1.1\r\nHost: 127.0.0.1:4000\r\n"));
        assert!(request.ends_with("Accept: */*\r\n\r\n"), "{request}");
        assert!(text(HeaderSet::Plain, Some("gzip")).contains("Accept-Encoding: gzip\r\n"));
    }

    #[test]
    fn chromiums_sets_offer_what_browsers_offer_and_differ_in_accept() {
        for (set, accept) in [
            (HeaderSet::ChromiumEventsource, "\r\nAccept: text/event-stream\r\n"),
            (HeaderSet::ChromiumFetch, "\r\nAccept: */*\r\n"),
        ] {
            let request = text(set, None);
            assert!(request.contains("\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n"));
            assert!(request.contains(accept), "{request}");
            assert!(request.contains("\r\nReferer: http://127.0.0.1:4001/\r\n"));
            assert!(!text(set, Some("")).contains("Accept-Encoding"));
        }
    }
}
