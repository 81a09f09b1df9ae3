//! A WebDriver service: a driver of our own, or any other, such as a Selenium Grid.

use std::time::Duration;

use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use url::Url;

use crate::browser::error::{DriverError, cause, too_late};

/// How long a service may take to say that it is there.
const LIMIT: Duration = Duration::from_secs(10);

/// A service by its address, which ends with a slash: commands are joined to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service(Url);

impl std::str::FromStr for Service {
    type Err = String;

    fn from_str(text: &str) -> Result<Service, String> {
        let mut url: Url =
            text.parse().map_err(|error| format!("{error}: it is written http://HOST:PORT"))?;
        if url.scheme() != "http" || url.host_str().is_none_or(str::is_empty) {
            return Err("it is written http://HOST:PORT; https is not supported".into());
        }
        url.set_query(None);
        url.set_fragment(None);
        if !url.path().ends_with('/') {
            url.set_path(&format!("{}/", url.path()));
        }
        Ok(Service(url))
    }
}

impl Service {
    /// The driver that was started here.
    pub(crate) fn own(port: u16) -> Result<Service, String> {
        format!("http://127.0.0.1:{port}").parse()
    }

    /// The address with all that it takes to use it.
    pub(crate) fn address(&self) -> &str {
        self.0.as_str()
    }

    /// The address as it may be shown: without user and password.
    pub(crate) fn shown(&self) -> String {
        let mut url = self.0.clone();
        // Refused only for addresses without a host, and this has one.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.as_str().trim_end_matches('/').to_string()
    }

    /// Whether it runs on this machine, as far as its address tells.
    pub(crate) fn is_here(&self) -> bool {
        match self.0.host() {
            Some(url::Host::Domain(name)) => name == "localhost",
            Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
            Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
            None => false,
        }
    }

    /// Asks whether anybody is there.
    ///
    /// # Errors
    /// When nothing answers in time.
    pub(crate) async fn check(&self) -> Result<(), DriverError> {
        let failed = |why: String| DriverError::Service { service: self.shown(), why };
        let status = format!("{}/status", self.shown());
        let status = status.parse().map_err(|error| failed(format!("{error}")))?;
        let client: legacy::Client<HttpConnector, String> =
            legacy::Client::builder(TokioExecutor::new()).build(HttpConnector::new());
        match tokio::time::timeout(LIMIT, client.get(status)).await {
            // Whatever it says: that it cannot be used now is said again, and better, when a
            // session is asked for.
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(failed(cause(&error))),
            Err(_) => Err(failed(too_late(LIMIT))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_shown_and_placed() {
        for (text, shown, here) in [
            ("http://127.0.0.1:4444", "http://127.0.0.1:4444", true),
            ("http://localhost:4444/", "http://localhost:4444", true),
            ("http://[::1]:4444", "http://[::1]:4444", true),
            ("http://grid:4444/wd/hub", "http://grid:4444/wd/hub", false),
            ("http://me:secret@grid:4444/wd/hub?x", "http://grid:4444/wd/hub", false),
        ] {
            let service: Service = text.parse().unwrap();
            assert_eq!((service.shown().as_str(), service.is_here()), (shown, here));
            assert!(service.address().ends_with('/'));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["grid:4444", "https://grid", "4444", "", "http://"] {
            assert!(text.parse::<Service>().is_err(), "{text}");
        }
    }
}
