//! Requests: plain ones, and byte for byte what Chromium sends.

use measure::cell::HeaderSet;

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

/// The request's bytes. `accept_encoding` replaces the header set's own; an empty one leaves
/// the header out.
pub fn render(target: &Target, headers: HeaderSet, accept_encoding: Option<&str>) -> Vec<u8> {
    let Target { host, path, origin } = target;
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
    let mut request = format!("GET {path} HTTP/1.1\r\n");
    for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    request.into_bytes()
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
        String::from_utf8(render(&target, headers, encoding)).unwrap()
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
