//! Where a request goes: a URL, taken apart and resolved.

use std::fmt;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use percent_encoding::percent_decode_str;
use recv_client::{Ask, Form, Http, Secure, Trust};
use url::Url;

use crate::exit::Problem;

/// How long a name with several addresses is tried at each: as a connection of the readers.
const CONNECT: Duration = Duration::from_secs(5);

/// Chat routes of the emitter, which are those of the real services: by their end, and by what a
/// model's name follows.
const CHAT_ENDS: [&str; 5] =
    ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat", "/api/generate"];
const CHAT_FOLDERS: [&str; 2] = ["/v1beta/models/", "/v1/models/"];

/// A stream's address.
#[derive(Clone)]
pub(crate) struct Target {
    url: Url,
    /// Where to connect.
    pub(crate) address: SocketAddr,
    /// `user:password` of the URL, as the header that carries it.
    credentials: Option<(String, String)>,
    /// TLS, once it is known whom to trust.
    secure: Option<Secure>,
    /// Which HTTP to speak.
    http: Http,
}

impl fmt::Debug for Target {
    /// Without credentials and query: they may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.shown(), self.address)
    }
}

impl Target {
    /// Takes a URL apart and finds its address.
    pub(crate) fn resolve(text: &str) -> Result<Target, Problem> {
        let (url, credentials) = parse(text)?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or(80);
        let found: Vec<SocketAddr> = (host, port)
            .to_socket_addrs()
            .map_err(|error| Problem::nothing(format!("cannot find {host}: {error}")))?
            .collect();
        let answers = |address: &SocketAddr| TcpStream::connect_timeout(address, CONNECT).is_ok();
        let address = match found.as_slice() {
            [] => return Err(Problem::nothing(format!("{host} has no address"))),
            // Its first request tells as well as a try.
            [only] => *only,
            // A name such as localhost may have two addresses, of which one is served.
            several => several.iter().copied().find(answers).unwrap_or(several[0]),
        };
        Ok(Target { url, address, credentials, secure: None, http: Http::default() })
    }

    /// Whether it is asked over TLS.
    pub(crate) fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether it is asked by HTTP/3.
    pub(crate) fn is_http3(&self) -> bool {
        self.http == Http::Three
    }

    /// The same, spoken to in that HTTP, and over TLS with those who are trusted.
    pub(crate) fn spoken(mut self, http: Http, trust: Option<&Trust>) -> Result<Target, Problem> {
        if http == Http::Three && !self.is_secure() {
            return Err(Problem::usage(format!(
                "HTTP/3 is always encrypted: ask {} by https://, or with --http 1.1 or 2",
                self.host()
            )));
        }
        self.http = http;
        if let Some(trust) = trust.filter(|_| self.is_secure()) {
            self.secure = Some(self.secure(trust)?);
        }
        Ok(self)
    }

    /// TLS with this host.
    pub(crate) fn secure(&self, trust: &Trust) -> Result<Secure, Problem> {
        trust.secure(self.url.host_str().unwrap_or_default()).map_err(Problem::usage)
    }

    /// A request for a path and query there.
    pub(crate) fn ask(&self, path: String) -> Ask {
        let mut ask = Ask::plain(self.address, String::new());
        ask.target = self.to(path);
        ask.secure.clone_from(&self.secure);
        ask.http = self.http;
        ask
    }

    /// The URL without what may be secret: credentials and query.
    pub(crate) fn shown(&self) -> String {
        let mut url = self.url.clone();
        url.set_query(None);
        url.to_string()
    }

    /// Whether the URL itself says who asks.
    pub(crate) fn has_credentials(&self) -> bool {
        self.credentials.is_some()
    }

    /// The path without the query.
    pub(crate) fn bare_path(&self) -> &str {
        self.url.path()
    }

    /// The `Host` header.
    fn host(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or(host.to_string(), |port| format!("{host}:{port}"))
    }

    /// Path and query.
    pub(crate) fn path(&self) -> String {
        match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_string(),
        }
    }

    /// The query, percent-decoded into pairs.
    pub(crate) fn query(&self) -> Vec<(String, String)> {
        self.url.query_pairs().into_owned().collect()
    }

    /// The path of a route that stands beside this one: the last part of the path replaced.
    pub(crate) fn sibling(&self, name: &str) -> String {
        format!("{}/{name}", self.folder())
    }

    /// What stands before a route of the emitter: a chat route has several parts.
    fn folder(&self) -> &str {
        let path = self.url.path();
        let ends = CHAT_ENDS.iter().find_map(|end| path.strip_suffix(end));
        let within = || CHAT_FOLDERS.iter().find_map(|within| path.split_once(within));
        ends.or_else(|| within().map(|(before, _)| before))
            .or_else(|| path.rsplit_once('/').map(|(folder, _)| folder))
            .unwrap_or_default()
    }

    /// Whether Holdup's emitter could be what stands here, by its path.
    pub(crate) fn may_be_emitter(&self) -> bool {
        matches!(self.url.path().rsplit('/').next(), Some("" | "stream"))
    }

    /// For the native client, with another path and query.
    pub(crate) fn to(&self, path: String) -> recv_client::Target {
        let origin = format!("{}://{}", self.url.scheme(), self.host());
        recv_client::Target { host: self.host(), path, origin }
    }

    /// The form of a request with the URL's credentials in it.
    pub(crate) fn form(&self, form: &Form) -> Form {
        let mut form = form.clone();
        let asked = form.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        form.fields.extend(self.credentials.clone().filter(|_| !asked));
        form
    }

    /// Where a `Location` leads, without what may be secret.
    pub(crate) fn location(&self, location: &str) -> String {
        match self.url.join(location) {
            Ok(mut url) => {
                let _ = url.set_password(None);
                let _ = url.set_username("");
                url.set_query(None);
                url.set_fragment(None);
                url.to_string()
            }
            Err(_) => "an address that is none".into(),
        }
    }
}

type Credentials = Option<(String, String)>;

fn parse(text: &str) -> Result<(Url, Credentials), Problem> {
    let shown: String = text.chars().take(80).collect();
    let usage = |why: &str| Problem::usage(format!("{shown:?} {why}"));
    let mut url = Url::parse(text)
        .map_err(|error| usage(&format!("is no URL ({error}): write http://HOST[:PORT]/PATH")))?;
    match url.scheme() {
        "http" | "https" => {}
        other => return Err(usage(&format!("is a {other} URL: write http://HOST[:PORT]/PATH"))),
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(usage("names no host: write http://HOST[:PORT]/PATH"));
    }
    // A fragment never leaves a client.
    url.set_fragment(None);
    let credentials = (!url.username().is_empty() || url.password().is_some()).then(|| {
        let decoded = |part| percent_decode_str(part).collect::<Vec<u8>>();
        let (user, password) = (url.username(), url.password().unwrap_or_default());
        let pair = [&decoded(user)[..], b":", &decoded(password)].concat();
        ("Authorization".to_string(), format!("Basic {}", BASE64_STANDARD.encode(pair)))
    });
    let cleared = url.set_password(None).and_then(|()| url.set_username(""));
    cleared.map_err(|()| usage("has credentials that cannot be taken out of it"))?;
    Ok((url, credentials))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        Target::resolve(text).unwrap_err().to_string()
    }

    #[test]
    fn a_url_is_taken_apart_and_its_secrets_are_not_shown() {
        let target =
            Target::resolve("http://us%40er:p%3Ass@127.0.0.1:8080/v1/stream?key=secret#top")
                .unwrap();
        assert_eq!(target.shown(), "http://127.0.0.1:8080/v1/stream");
        assert_eq!(target.path(), "/v1/stream?key=secret");
        assert_eq!(target.host(), "127.0.0.1:8080");
        assert_eq!(target.sibling("instance"), "/v1/instance");
        for (path, instance) in [
            ("", "/instance"),
            ("/ai/v1/chat/completions?x=1", "/ai/instance"),
            ("/v1beta/models/m:streamGenerateContent", "/instance"),
            ("/a/stream", "/a/instance"),
        ] {
            let target = Target::resolve(&format!("http://127.0.0.1{path}")).unwrap();
            assert_eq!(target.sibling("instance"), instance, "{path}");
        }
        let form = target.form(&Form::default());
        // printf 'us@er:p:ss' | base64
        assert_eq!(form.fields, [("Authorization".into(), "Basic dXNAZXI6cDpzcw==".into())]);
        let debug = format!("{target:?}");
        assert!(!debug.contains("secret") && !debug.contains("Basic"), "{debug}");
        let own =
            Form { fields: vec![("authorization".into(), "Bearer x".into())], ..Form::default() };
        assert_eq!(target.form(&own).fields, own.fields, "a header that was asked for goes first");
    }

    #[test]
    fn what_cannot_be_asked_is_one_line_with_what_to_do() {
        assert!(said("example").starts_with("\"example\" is no URL"), "{}", said("example"));
        assert!(said("ftp://host/x").contains("is a ftp URL: write http://"));
        let secure = Target::resolve("https://127.0.0.1/x").unwrap();
        assert_eq!(secure.address.port(), 443);
        assert!(secure.is_secure());
        assert!(said("http://name.invalid/").starts_with("cannot find name.invalid: "));
    }

    #[test]
    fn only_paths_of_the_emitter_are_taken_for_it() {
        for (url, may) in [
            ("http://127.0.0.1/", true),
            ("http://127.0.0.1/stream?frames=3", true),
            ("http://127.0.0.1/x/stream", true),
            ("http://127.0.0.1/v1/chat/completions", false),
        ] {
            assert_eq!(Target::resolve(url).unwrap().may_be_emitter(), may, "{url}");
        }
    }

    #[test]
    fn a_location_is_made_absolute() {
        let target = Target::resolve("http://127.0.0.1:1/a/stream").unwrap();
        assert_eq!(target.location("/login"), "http://127.0.0.1:1/login");
        assert_eq!(target.location("http://u:p@other/x"), "http://other/x");
    }
}
