//! What the command serves to its page beside the emitter's own routes: the lanes there are,
//! what the taps saw, and a place for the arrivals that the page posts.

pub(crate) mod assets;
pub(crate) mod inbox;
pub(crate) mod native;
pub(crate) mod routes;

pub(crate) use inbox::Inbox;
