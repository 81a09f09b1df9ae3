//! Who may use the gateway: the served page, and nobody else.
//!
//! A gateway that fetches whatever it is told is what every other site in the person's browser
//! would like to have. So each request has to pass all of these, the cheapest first:
//!
//! | look at | refuses | with |
//! |---|---|---|
//! | who connected | other machines, unless told otherwise | 403 |
//! | `Host` | a name that is not ours: DNS rebinding | 421 |
//! | `Origin`, `Sec-Fetch-Site` | other sites' pages, and a POST that does not say whose it is | 403 |
//! | `holdup-gateway` | whoever does not know the secret of this start | 403 |
//! | `Content-Type` of a POST | what a form or a simple request could send | 415 |
//!
//! Nothing here answers a preflight, so a page of another origin cannot even send the header.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

/// The header that carries the secret.
pub(crate) const HEADER: &str = "holdup-gateway";

/// Why a request is refused, in one line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) why: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, why: impl Into<String>) -> Refusal {
        Refusal { status, why: why.into() }
    }

    fn forbidden(why: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::FORBIDDEN, why)
    }
}

/// 128 bits that are made at each start. They are shown to nobody but the page.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    /// A new one, from the system's own source of randomness.
    ///
    /// # Errors
    /// When the system has none.
    pub(crate) fn new() -> std::io::Result<Secret> {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
        Ok(Secret(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// For the served page.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on where the two differ.
    fn is(&self, told: &[u8]) -> bool {
        let own = self.0.as_bytes();
        let differing = own.iter().zip(told).fold(0, |sum, (a, b)| sum | (a ^ b));
        own.len() == told.len() && differing == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The door.
#[derive(Clone, Debug)]
pub(crate) struct Door {
    /// `Host` values under which the page is served, in lower case.
    hosts: Vec<String>,
    secret: Secret,
    /// Whether other machines may come in.
    open: bool,
}

impl Door {
    /// A door for a page that is served at an address, under a name of its own if it has one.
    pub(crate) fn new(
        address: SocketAddr,
        public_host: Option<&str>,
        open: bool,
        secret: Secret,
    ) -> Door {
        let port = address.port();
        let mut hosts: Vec<String> =
            ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}")).into();
        let ip = address.ip();
        if !ip.is_unspecified() && !ip.is_loopback() {
            hosts.push(SocketAddr::new(ip, port).to_string());
        }
        if let Some(name) = public_host {
            hosts.push(format!("{}:{port}", name.to_ascii_lowercase()));
        }
        if port == 80 {
            // Browsers leave the scheme's own port out.
            let bare: Vec<String> = hosts
                .iter()
                .filter_map(|host| host.strip_suffix(":80"))
                .map(String::from)
                .collect();
            hosts.extend(bare);
        }
        Door { hosts, secret, open }
    }

    /// For the served page.
    pub(crate) fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Whether the page itself may be handed out: it holds the secret, so a rebound name must
    /// not get it.
    ///
    /// # Errors
    /// Who may not.
    pub(crate) fn page(&self, remote: IpAddr, headers: &HeaderMap) -> Result<(), Refusal> {
        self.near(remote)?;
        self.host(headers)?;
        Ok(())
    }

    /// Whether a request may come in.
    ///
    /// # Errors
    /// Who may not.
    pub(crate) fn admit(
        &self,
        remote: IpAddr,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<(), Refusal> {
        self.near(remote)?;
        let host = self.host(headers)?;
        self.origin(host, method, headers)?;
        let told = only(headers, HeaderName::from_static(HEADER))?;
        if !told.is_some_and(|told| self.secret.is(told.as_bytes())) {
            return Err(Refusal::forbidden(
                "the gateway answers only the page that it served since its last start: reload the page",
            ));
        }
        if *method == Method::POST && !is_json(headers) {
            return Err(Refusal::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the gateway takes application/json",
            ));
        }
        Ok(())
    }

    fn near(&self, remote: IpAddr) -> Result<(), Refusal> {
        let here = remote.to_canonical().is_loopback();
        if here || self.open {
            return Ok(());
        }
        Err(Refusal::forbidden(
            "the gateway answers this machine only; start with --gateway-open to let others in",
        ))
    }

    fn host<'a>(&self, headers: &'a HeaderMap) -> Result<&'a str, Refusal> {
        let misdirected = |why: &str| Refusal::new(StatusCode::MISDIRECTED_REQUEST, why);
        let host = only(headers, header::HOST)?
            .ok_or_else(|| misdirected("a request without a Host is for nobody here"))?;
        if self.hosts.contains(&host.to_ascii_lowercase()) {
            return Ok(host);
        }
        Err(misdirected("this Host is not the page's own; where it is, start with --public-host"))
    }

    fn origin(&self, host: &str, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let other = || Refusal::forbidden("the gateway answers its own page only");
        match only(headers, header::ORIGIN)? {
            Some(origin) if !origin.eq_ignore_ascii_case(&format!("http://{host}")) => {
                return Err(other());
            }
            // Browsers name the origin of every POST.
            None if *method != Method::GET => return Err(other()),
            _ => {}
        }
        match only(headers, HeaderName::from_static("sec-fetch-site"))? {
            Some("same-origin") | None => Ok(()),
            Some(_) => Err(other()),
        }
    }
}

/// The one value of a header: two are a contradiction that somebody made on purpose.
fn only(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, Refusal> {
    let bad = || Refusal::new(StatusCode::BAD_REQUEST, format!("more than one {name}, or no text"));
    let mut values = headers.get_all(&name).iter();
    let first = values.next().map(|value| value.to_str().map_err(|_| bad())).transpose()?;
    if values.next().is_some() {
        return Err(bad());
    }
    Ok(first)
}

fn is_json(headers: &HeaderMap) -> bool {
    let told = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = told.unwrap_or_default().split(';').next().unwrap_or_default();
    media.trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn door() -> Door {
        let secret = Secret("0123456789abcdef0123456789abcdef".into());
        Door::new("127.0.0.1:4700".parse().unwrap(), Some("Rig.example"), false, secret)
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    const GOOD: [(&str, &str); 5] = [
        ("host", "127.0.0.1:4700"),
        ("origin", "http://127.0.0.1:4700"),
        ("sec-fetch-site", "same-origin"),
        (HEADER, "0123456789abcdef0123456789abcdef"),
        ("content-type", "application/json; charset=utf-8"),
    ];

    fn with(name: &'static str, value: &str) -> HeaderMap {
        let mut changed = headers(&GOOD);
        changed.insert(name, HeaderValue::from_str(value).unwrap());
        changed
    }

    fn status(door: &Door, remote: IpAddr, headers: &HeaderMap) -> Result<(), u16> {
        door.admit(remote, &Method::POST, headers).map_err(|refusal| refusal.status.as_u16())
    }

    #[test]
    fn the_served_page_comes_in_under_each_of_its_names() {
        assert_eq!(status(&door(), HERE, &headers(&GOOD)), Ok(()));
        for host in ["localhost:4700", "LOCALHOST:4700", "[::1]:4700", "rig.example:4700"] {
            let mut named = with("host", host);
            named.insert("origin", HeaderValue::from_str(&format!("http://{host}")).unwrap());
            assert_eq!(status(&door(), HERE, &named), Ok(()), "{host}");
        }
    }

    #[test]
    fn each_look_refuses_alone() {
        let door = door();
        for (name, value, wanted) in [
            ("host", "evil.example:4700", 421),
            ("host", "127.0.0.1", 421),
            ("host", "127.0.0.1:4701", 421),
            ("host", "127.0.0.1:4700.evil.example", 421),
            ("origin", "http://evil.example", 403),
            ("origin", "null", 403),
            ("origin", "https://127.0.0.1:4700", 403),
            ("origin", "http://localhost:4700", 403),
            ("sec-fetch-site", "cross-site", 403),
            ("sec-fetch-site", "same-site", 403),
            ("sec-fetch-site", "none", 403),
            (HEADER, "", 403),
            (HEADER, "0123456789abcdef0123456789abcdee", 403),
            (HEADER, "0123456789abcdef0123456789abcdef00", 403),
            ("content-type", "text/plain", 415),
            ("content-type", "application/x-www-form-urlencoded", 415),
        ] {
            assert_eq!(status(&door, HERE, &with(name, value)), Err(wanted), "{name}: {value}");
        }
        for (name, wanted) in [("host", 421), ("origin", 403), (HEADER, 403), ("content-type", 415)]
        {
            let mut without = headers(&GOOD);
            without.remove(name);
            assert_eq!(status(&door, HERE, &without), Err(wanted), "no {name}");
        }
    }

    #[test]
    fn what_is_said_twice_is_refused() {
        for (name, value) in GOOD.into_iter().take(4) {
            let mut twice = headers(&GOOD);
            twice.append(name, HeaderValue::from_str(value).unwrap());
            assert_eq!(status(&door(), HERE, &twice), Err(400), "{name}");
        }
    }

    #[test]
    fn other_machines_come_in_only_where_they_are_let_in() {
        let other: IpAddr = "192.0.2.7".parse().unwrap();
        assert_eq!(status(&door(), other, &headers(&GOOD)), Err(403));
        let mapped: IpAddr = "::ffff:127.0.0.1".parse().unwrap();
        assert_eq!(status(&door(), mapped, &headers(&GOOD)), Ok(()));
        let open = Door { open: true, ..door() };
        assert_eq!(status(&open, other, &headers(&GOOD)), Ok(()));
        assert_eq!(status(&open, other, &with(HEADER, "x")), Err(403), "the secret all the same");
    }

    #[test]
    fn the_page_with_the_secret_is_not_handed_to_a_rebound_name() {
        let door = door();
        assert!(door.page(HERE, &headers(&[("host", "localhost:4700")])).is_ok());
        let rebound = door.page(HERE, &headers(&[("host", "evil.example:4700")]));
        assert_eq!(rebound.unwrap_err().status, StatusCode::MISDIRECTED_REQUEST);
    }

    #[test]
    fn secrets_differ_and_are_not_printed() {
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.reveal().len(), 32);
        assert!(!format!("{:?}", door()).contains("0123"));
    }
}
