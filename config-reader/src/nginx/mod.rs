//! nginx: its grammar, its choice of server and location, its inheritance.
//!
//! [`tree`] reads the text, [`site`] finds servers and locations in it, [`choose`] and [`server`]
//! pick one for a request, [`force`] says what is in force there. [`serve`](serve::serve) is all
//! of it for one request.

pub mod choose;
pub mod correct;
pub mod diagnose;
mod edit;
pub mod error;
pub mod force;
mod glob;
pub mod known;
pub mod mark;
pub mod pattern;
pub mod sandbox;
pub mod serve;
pub mod server;
pub mod site;
pub mod source;
pub mod token;
pub mod tree;
pub mod uri;
pub mod version;
pub mod way;

pub use error::{Place, ReadError};
pub use force::InForce;
pub use site::Site;
pub use tree::{Directive, Tree};
pub use version::Version;
