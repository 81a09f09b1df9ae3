//! The local certificate authority: made on first use, for localhost and loopback only.
//!
//! What speaks TLS here (the emitter, the proxies) shows a leaf certificate of this authority,
//! made anew at each start. The authority itself is one file that only its owner can read, and
//! its certificate carries critical name constraints: whoever trusts it in an everyday browser
//! trusts it for `localhost` and the loopback addresses, and for nothing else, even if the key
//! were stolen.
//!
//! Parts: [`authority`] makes, keeps and checks it; [`leaf`] is what servers and proxies are given.

pub mod authority;
mod keep;
pub mod leaf;

pub use authority::{Authority, Found};
pub use leaf::{Files, Leaf};

use std::io;
use std::path::PathBuf;

/// No certificates can be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The authority's folder, or a file in it, cannot be made or written.
    #[error("cannot write {path}: {source}; make it writable, or name another data folder", path = .path.display())]
    Write {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The authority is there and cannot be read.
    #[error("cannot read {path}: {source}; it must be readable by you", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else could read the key, or put another in its place.
    #[error("{path} is open to others (mode {mode:03o}): whoever reads the key can pass for localhost; run `chmod {wanted:03o} {path}`, or delete it if others have used this machine", path = .path.display())]
    OpenToOthers {
        /// The folder or file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
        /// What they should be.
        wanted: u32,
    },
    /// The file holds no authority of ours.
    #[error("cannot use {path}: {why}; delete it, and a new authority is made", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, in a few words.
        why: String,
    },
    /// A key or certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Make(#[from] rcgen::Error),
    /// A certificate that was made here is not taken by the TLS library.
    #[error("cannot serve TLS with the certificate: {0}")]
    Serve(#[from] rustls::Error),
}
