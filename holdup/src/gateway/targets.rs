//! Which targets the gateway goes to: those that the person named at start, or confirmed in the
//! page. Nothing else, whatever a request says.
//!
//! What is confirmed is an origin (scheme, host, port) together with the neighbourhood that it
//! led to at that moment. A name that leads to a nearer one later, as a rebinding name server
//! makes it, has to be confirmed anew.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use url::Url;

/// Most origins that are remembered: far more than a person confirms in one sitting.
const MAX_ORIGINS: usize = 64;
/// Longest URL that is looked at: what common servers take in a request line.
pub(crate) const MAX_URL: usize = 8 * 1024;

/// Where an address lies, the nearest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Neighbourhood {
    /// The internet.
    Public,
    /// A private network.
    Private,
    /// This machine.
    Here,
}

impl Neighbourhood {
    /// Of an address; `None` for those that no chat service has: link-local ones, where cloud
    /// machines find their credentials, multicast, unspecified, and broadcast.
    fn of(ip: IpAddr) -> Option<Neighbourhood> {
        match ip.to_canonical() {
            ip if ip.is_unspecified() || ip.is_multicast() => None,
            ip if ip.is_loopback() => Some(Neighbourhood::Here),
            IpAddr::V4(ip) if ip.is_link_local() || ip.is_broadcast() => None,
            IpAddr::V4(ip) if ip.is_private() || is_shared(ip.octets()) => {
                Some(Neighbourhood::Private)
            }
            IpAddr::V6(ip) if is_link_local(ip) => None,
            IpAddr::V6(ip) if ip.is_unique_local() => Some(Neighbourhood::Private),
            _ => Some(Neighbourhood::Public),
        }
    }

    /// In words, for the question whether it is meant.
    fn words(self) -> &'static str {
        match self {
            Neighbourhood::Public => "on the internet",
            Neighbourhood::Private => "in a private network",
            Neighbourhood::Here => "on this machine, and is not Holdup's emitter",
        }
    }
}

/// 100.64.0.0/10, shared by carriers (RFC 6598).
fn is_shared(octets: [u8; 4]) -> bool {
    octets[0] == 100 && octets[1] & 0xc0 == 64
}

/// fe80::/10, and fd00:ec2::254, where one cloud keeps its credentials.
fn is_link_local(ip: Ipv6Addr) -> bool {
    ip.segments()[0] & 0xffc0 == 0xfe80 || ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
}

/// Why a target is not gone to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotThere {
    /// It is none at all.
    Bad(String),
    /// It is one where no chat service is.
    Never(String),
    /// The person has to say that it is meant.
    Confirm {
        /// What is to be confirmed.
        origin: String,
        /// Where it lies, in words.
        lies: &'static str,
    },
}

/// The origins that may be gone to.
#[derive(Debug, Default)]
pub(crate) struct Targets(Mutex<BTreeMap<String, Neighbourhood>>);

impl Targets {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Neighbourhood>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a URL's origin be gone to wherever it leads: the person named it at start, or it is
    /// one of Holdup's own endpoints.
    pub(crate) fn name(&self, url: &Url) {
        self.lock().insert(origin_of(url), Neighbourhood::Here);
    }

    /// Lets an origin be gone to: the person confirmed it in the page.
    ///
    /// # Errors
    /// When it is one that nobody can confirm.
    pub(crate) fn confirm(&self, url: &Url, found: &[SocketAddr]) -> Result<(), NotThere> {
        let nearest = nearest(url, found)?;
        let mut origins = self.lock();
        let origin = origin_of(url);
        if origins.len() >= MAX_ORIGINS && !origins.contains_key(&origin) {
            let most = format!("{MAX_ORIGINS} targets are confirmed already: start anew");
            return Err(NotThere::Never(most));
        }
        let confirmed = origins.entry(origin).or_insert(nearest);
        *confirmed = nearest.max(*confirmed);
        Ok(())
    }

    /// Whether a URL that leads to these addresses may be gone to.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn admit(&self, url: &Url, found: &[SocketAddr]) -> Result<(), NotThere> {
        let origin = origin_of(url);
        let confirmed = self.lock().get(&origin).copied();
        let nearest = match nearest(url, found) {
            // Who names such an address at start means it.
            Err(NotThere::Never(_)) if confirmed == Some(Neighbourhood::Here) => return Ok(()),
            nearest => nearest?,
        };
        match confirmed {
            Some(confirmed) if nearest <= confirmed => Ok(()),
            _ => Err(NotThere::Confirm { origin, lies: nearest.words() }),
        }
    }
}

/// The nearest of the addresses that a URL leads to.
fn nearest(url: &Url, found: &[SocketAddr]) -> Result<Neighbourhood, NotThere> {
    let host = url.host_str().unwrap_or_default();
    let mut nearest = None;
    for address in found {
        let Some(lies) = Neighbourhood::of(address.ip()) else {
            let why = format!("{host} leads to {}, where no chat service is", address.ip());
            return Err(NotThere::Never(why));
        };
        nearest = nearest.max(Some(lies));
    }
    nearest.ok_or_else(|| NotThere::Bad(format!("{host} has no address")))
}

/// Takes a target's URL, as the page sends it.
///
/// # Errors
/// What is wrong with it; its text is not repeated, since it may hold a key.
pub(crate) fn parse(text: &str) -> Result<Url, NotThere> {
    let bad = |why: &str| NotThere::Bad(why.into());
    if text.len() > MAX_URL {
        return Err(bad("the address is longer than 8 KB"));
    }
    let mut url = Url::parse(text)
        .map_err(|_| bad("the address is no URL: write http://HOST[:PORT]/PATH, or https://"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("only http:// and https:// addresses are gone to"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(bad("the address names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("the address holds a user name or password: put it into a header"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// Scheme, host and port.
pub(crate) fn origin_of(url: &Url) -> String {
    url.origin().ascii_serialization()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ip: &str) -> Vec<SocketAddr> {
        vec![SocketAddr::new(ip.parse().unwrap(), 443)]
    }

    fn url(text: &str) -> Url {
        parse(text).unwrap()
    }

    #[test]
    fn nothing_is_gone_to_that_was_neither_named_nor_confirmed() {
        let targets = Targets::default();
        let chat = url("https://chat.example/v1/chat/completions");
        let origin = "https://chat.example".to_string();
        let confirm = NotThere::Confirm { origin, lies: "on the internet" };
        assert_eq!(targets.admit(&chat, &at("192.0.2.1")), Err(confirm));
        targets.confirm(&chat, &at("192.0.2.1")).unwrap();
        assert_eq!(targets.admit(&chat, &at("192.0.2.1")), Ok(()));
        for other in ["http://chat.example/", "https://chat.example:444/", "https://a.example/"] {
            assert!(targets.admit(&url(other), &at("192.0.2.1")).is_err(), "{other}");
        }
    }

    #[test]
    fn a_name_that_leads_nearer_later_is_asked_about_again() {
        let targets = Targets::default();
        let chat = url("http://chat.example/");
        targets.confirm(&chat, &at("192.0.2.1")).unwrap();
        for (ip, lies) in
            [("127.0.0.1", "this machine"), ("::1", "this machine"), ("10.0.0.1", "private")]
        {
            let said = targets.admit(&chat, &at(ip));
            assert!(
                matches!(&said, Err(NotThere::Confirm { lies: said, .. }) if said.contains(lies)),
                "{ip}: {said:?}"
            );
        }
        // One far address beside a near one does not cover it.
        let both = [at("192.0.2.1"), at("127.0.0.1")].concat();
        assert!(targets.admit(&chat, &both).is_err());
        targets.confirm(&chat, &at("127.0.0.1")).unwrap();
        assert_eq!(targets.admit(&chat, &at("10.0.0.1")), Ok(()));
    }

    #[test]
    fn where_clouds_keep_their_credentials_cannot_be_confirmed() {
        for ip in [
            "169.254.169.254",
            "fd00:ec2::254",
            "fe80::1",
            "0.0.0.0",
            "::",
            "224.0.0.1",
            "255.255.255.255",
            "::ffff:169.254.169.254",
        ] {
            let targets = Targets::default();
            let chat = url("http://metadata.example/");
            assert!(matches!(targets.confirm(&chat, &at(ip)), Err(NotThere::Never(_))), "{ip}");
            assert!(targets.admit(&chat, &at(ip)).is_err(), "{ip}");
            targets.name(&chat);
            assert_eq!(targets.admit(&chat, &at(ip)), Ok(()), "named at start: {ip}");
        }
    }

    #[test]
    fn only_so_many_are_remembered() {
        let targets = Targets::default();
        for port in 1..=MAX_ORIGINS {
            let confirmed = targets.confirm(&url(&format!("http://a.example:{port}/")), &at("::1"));
            assert_eq!(confirmed, Ok(()));
        }
        let more = url("http://b.example/");
        assert!(matches!(targets.confirm(&more, &at("::1")), Err(NotThere::Never(_))));
    }

    #[test]
    fn what_is_no_target_is_refused_without_repeating_it() {
        for text in [
            "chat",
            "ftp://chat.example/secret",
            "file:///etc/passwd",
            "javascript:secret",
            "http://user:secret@chat.example/",
            &format!("http://a/{}", "secret".repeat(2000)),
        ] {
            let Err(NotThere::Bad(why)) = parse(text) else { panic!("{text}") };
            assert!(!why.contains("secret") && why.lines().count() == 1, "{why}");
        }
        assert_eq!(url("http://a/x#secret").as_str(), "http://a/x");
    }
}
