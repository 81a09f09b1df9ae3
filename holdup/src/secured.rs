//! What the rig's own TLS is made with: an authority that lives as long as the command, what the
//! emitter and the proxies show, and whom the native reader believes.

use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use certs::{Authority, Leaf};
use emitter::Tls;
use recv_client::{Secure, Trust};
use sha2::{Digest as _, Sha256};

use crate::authority;
use crate::exit::Problem;
use crate::rig::any_port;

/// The host that all of it is reached under.
const HOST: &str = "127.0.0.1";

/// TLS for everything between reader and emitter.
pub(crate) struct Secured {
    authority: Authority,
    leaf: Arc<Leaf>,
    secure: Secure,
}

impl Secured {
    /// With an authority in memory: nobody but this command is to believe it.
    pub(crate) fn in_memory() -> Result<Secured, Problem> {
        Secured::of(Authority::in_memory().map_err(Problem::nothing)?)
    }

    /// With the person's own authority, so that a browser that trusts it trusts this; where it
    /// cannot be had, with one in memory, and that is said.
    pub(crate) fn of_user() -> Result<Secured, Problem> {
        match authority::of_user() {
            Ok(authority) => Secured::of(authority),
            Err(why) => {
                eprintln!("{why}");
                eprintln!("an authority in memory takes its place: no browser will trust it");
                Secured::in_memory()
            }
        }
    }

    /// With an authority that is kept.
    pub(crate) fn of(authority: Authority) -> Result<Secured, Problem> {
        let leaf = authority.leaf().map_err(Problem::nothing)?;
        let trust = Trust::only(authority.certificate_pem()).map_err(Problem::nothing)?;
        let secure = trust.secure(HOST).map_err(Problem::nothing)?;
        Ok(Secured { authority, leaf: Arc::new(leaf), secure })
    }

    /// What a proxy shows.
    pub(crate) fn leaf(&self) -> Arc<Leaf> {
        Arc::clone(&self.leaf)
    }

    /// The hashes of the keys that the emitter and the proxies show, as a browser is told to accept
    /// them: SHA-256 in base64.
    pub(crate) fn pins(&self, emitter: &Tls) -> Vec<String> {
        let pin = |leaf: &Leaf| BASE64_STANDARD.encode(Sha256::digest(leaf.public_key_der()));
        vec![pin(&emitter.leaf), pin(&self.leaf)]
    }

    /// For the native reader.
    pub(crate) fn secure(&self) -> Secure {
        self.secure.clone()
    }

    /// The emitter's second port, at the same address as its first.
    pub(crate) fn port(&self, near: Option<SocketAddr>) -> Result<Tls, Problem> {
        self.port_at(near.map_or_else(any_port, |near| SocketAddr::new(near.ip(), 0)))
    }

    /// The emitter's second port.
    pub(crate) fn port_at(&self, listen: SocketAddr) -> Result<Tls, Problem> {
        Ok(Tls { listen, leaf: self.authority.leaf().map_err(Problem::nothing)? })
    }
}
