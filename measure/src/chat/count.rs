//! Events, reads and tokens: three counts that are easily taken for each other.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A count, in words.
fn counted(f: &mut fmt::Formatter<'_>, count: u64, word: &str) -> fmt::Result {
    write!(f, "{count} {word}{}", if count == 1 { "" } else { "s" })
}

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident($inner:ty), $word:literal;)*) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                counted(f, self.0.into(), $word)
            }
        }
    )*};
}

counts! {
    /// What a parser dispatched. One event may hold many tokens, and a frame may hold no event.
    Events(u32), "event";
    /// Successful reads: how often the bytes came, whatever they were.
    Reads(u32), "read";
    /// Tokens, as the service counted them in its usage. Nothing else counts tokens.
    Tokens(u64), "token";
}
