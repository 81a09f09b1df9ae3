//! Real reverse proxies: what is pinned, how it is fetched, configured, started and ended.
//!
//! `registry.toml` names engines and `endpoints.toml` endpoints; the code knows none by
//! name. One folder for each program holds its real configuration files. [`Proxies`] is
//! the way in.
//!
//! Everything here blocks: call it outside of async tasks. Children run under a
//! [supervisor](supervise), so that none outlives the program, however it ends.

pub mod embedded;
pub mod launcher;
mod names;
pub mod node;
mod pool;
pub mod registry;
pub mod source;
pub mod supervise;
mod template;

pub use launcher::{Probe, Running, StartError, StartOptions};
pub use names::{
    DebianPackage, DebianVersion, EndpointName, EngineName, NameError, PackageName, Platform,
    Sha256Hash, Version,
};
pub use pool::{Fetched, Listing, Proxies, ProxyError};
pub use registry::{OwnConfig, Registry, RegistryError, UpstreamProtocol};
pub use source::{OwnProgram, Program, Progress, Source, Sources, State, cache_folder};
pub use template::RenderError;
